"""What a host can supply instead of the engine's own: encryption, the outputs of other stacks, remote assets."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, Union

from ._callback import Described, described
from .errors import InvalidInputError, NotFoundError
from .values import PropertyValue

__all__ = ["Fetch", "Secrets", "StackReader"]

Values = Mapping[str, PropertyValue]


class Secrets(Protocol):
    """Encrypts the secret values of stacks the host's own way; each method may be ``async``.

    What they raise ends the operation, and is the cause (``__cause__``) of its error: a
    :class:`~stackwright.SecretsError` for :meth:`encrypt`, a :class:`~stackwright.DecryptError` for :meth:`decrypt`, which
    names the key when it is about a value of the configuration. Their texts must hold no secret.
    """

    kind: str
    """The name under which deployments say who encrypted them, ``vault`` for instance; not that of another manager."""

    @property
    def state(self) -> Mapping[str, Any] | None:
        """What deployments store beside the name; never key material."""

    def encrypt(self, plaintexts: Sequence[str], /) -> Sequence[str] | Awaitable[Sequence[str]]:
        """Encrypts texts and returns the ciphertexts in the same order. Called concurrently."""

    def decrypt(self, ciphertexts: Sequence[str], /) -> Sequence[str] | Awaitable[Sequence[str]]:
        """Decrypts what :meth:`encrypt` returned, in the same order. Called concurrently."""


class _Stacks(Protocol):
    def outputs(self, stack: str, /) -> Values | Awaitable[Values]:
        """Returns the outputs of a stack, secret ones as :class:`~stackwright.Secret`."""

    def resource_outputs(self, stack: str, /) -> Mapping[str, Values] | Awaitable[Mapping[str, Values]]:
        """Returns what there is of a stack's resources, by URN: ``{"type": …, "outputs": {…}}`` for each."""


StackReader = Union[Callable[[str], Union[Values, Awaitable[Values]]], _Stacks]
"""Answers references to other stacks: a function, ``async`` or not, from a stack's name, as the program wrote it, to its
outputs; or an object with the methods ``outputs`` and ``resource_outputs``. What it raises fails the reference."""

Fetch = Callable[[str], Union[bytes, Awaitable[bytes]]]
"""Gets what the URI of a remote asset or archive names, for its hash: a function, ``async`` or not, called concurrently. What
it raises fails the resource."""

_KNOWN = ("passphrase", "b64", "service", "cloud")


def describe_secrets(secrets: Secrets) -> tuple[str, str | None, Described, Described]:
    """Describes encryption of the host."""
    kind = getattr(secrets, "kind", None)
    if not isinstance(kind, str) or not kind or kind in _KNOWN:
        raise InvalidInputError(f"the kind of secrets of the host must be a name of its own, not {kind!r}")
    state = getattr(secrets, "state", None)
    return (
        kind,
        None if state is None else json.dumps(state, default=dict),
        described("encrypt", secrets.encrypt, after=list),
        described("decrypt", secrets.decrypt, after=list),
    )


def describe_stack_reader(reader: StackReader) -> tuple[Described, Described]:
    """Describes a reader of other stacks."""
    outputs: Any = getattr(reader, "outputs", reader)
    resources: Any = getattr(reader, "resource_outputs", None) or _no_resources
    return described("the stack reader", outputs), described("the stack reader", resources)


def describe_fetch(fetch: Fetch) -> Described:
    """Describes a fetcher of remote assets."""
    return described("fetch", fetch)


def _no_resources(stack: str) -> Mapping[str, Values]:
    raise NotFoundError(f"the host does not say what the resources of the stack {stack} are")
