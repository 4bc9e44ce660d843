"""What a host can supply instead of the engine's own: encryption, the outputs of other stacks, remote assets, names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, Union

from ._callback import Described, described, is_async
from ._checks import require_function
from ._json import text_of
from ._record import record
from .errors import InvalidInputError, NotFoundError
from .values import PropertyValue

if TYPE_CHECKING:
    from .secrets import EnvironmentKeys

__all__ = ["Autonamer", "Fetch", "KeyService", "NamingRequest", "ProposedName", "Secrets", "StackReader"]

Values = Mapping[str, PropertyValue]


class Secrets(Protocol):
    """Encrypts the secret values of stacks the host's own way; each method may be ``async``.

    Beside its methods it has ``kind``, the name by which deployments record their encryption (``"vault"``, for instance;
    none of ``passphrase``, ``b64``, ``service`` and ``cloud``), and may have ``state``, which deployments store beside it to
    identify the key; never key material.

    What they raise ends the operation, and is the cause (``__cause__``) of its error: a
    :class:`~stackwright.SecretsError` for :meth:`encrypt`, a :class:`~stackwright.DecryptError` for :meth:`decrypt`, which
    names the key when it is about a value of the configuration. Their texts must hold no secret.
    """

    kind: str
    """The name by which deployments record their encryption, ``vault`` for instance; not that of another manager."""

    @property
    def state(self) -> Mapping[str, Any] | None:
        """What deployments store beside the name; never key material."""

    def encrypt(self, plaintexts: Sequence[str], /) -> Sequence[str] | Awaitable[Sequence[str]]:
        """Encrypts texts and returns the ciphertexts in the same order. Called concurrently."""

    def decrypt(self, ciphertexts: Sequence[str], /) -> Sequence[str] | Awaitable[Sequence[str]]:
        """Decrypts what :meth:`encrypt` returned, in the same order. Called concurrently."""


class KeyService(Protocol):
    """Wraps the data keys of stacks with the key of a key service; each method may be ``async``.

    The engine makes a data key of 32 bytes for each new stack, encrypts the stack's secrets with it, and stores it as this object has
    wrapped it, in the form of the reference engine's managers for key services. A data key is unwrapped once for each engine.
    :mod:`stackwright.secrets` has those of AWS, Azure, Google Cloud and HashiCorp Vault.

    What the methods raise ends the operation, and is the cause (``__cause__``) of its error: a
    :class:`~stackwright.SecretsError` for :meth:`wrap_key`, a :class:`~stackwright.DecryptError` for :meth:`unwrap_key`. Their texts
    must not hold the data key.
    """

    @property
    def url(self) -> str:
        """The URL of the key for new stacks, ``awskms://alias/shop`` for instance. States and settings files record it."""

    def wrap_key(self, url: str, key: bytes, /) -> bytes | Awaitable[bytes]:
        """Encrypts a data key with the key that ``url`` names: that of a stack, or of its settings file. Called concurrently."""

    def unwrap_key(self, url: str, wrapped: bytes, /) -> bytes | Awaitable[bytes]:
        """Decrypts what :meth:`wrap_key` returned, or what the reference engine has stored. Called concurrently."""


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

@record(frozen=True)
class NamingRequest:
    """Requests the name of the real thing of a resource."""

    urn: str
    type: str
    name: str
    random_seed: bytes
    """32 random bytes. A plan keeps them: names that are drawn from them are those that the preview showed."""
    preview: bool
    """True while previewing."""


@record(frozen=True)
class ProposedName:
    """The name of one real thing, as passed to its provider."""

    name: str
    """The name; empty for the mode ``disable``."""
    mode: Literal["propose", "enforce", "disable"] = "propose"
    """Whether the provider may change the name, must take it, or must make up none."""
    delete_before_replace: bool = False
    """The name would be the same again, so that a replacement must delete the old thing first."""
    warn_if_unsupported: bool = False
    """Whether a provider that ignores names is reported with a warning."""


Autonamer = Callable[[NamingRequest], Union[ProposedName, str, None, Awaitable[Union[ProposedName, str, None]]]]
"""Names real things, instead of ``pulumi:autonaming`` of the configuration: a function, ``async`` or not,
that is called once for each registration of a resource that is no component and no provider, concurrently. A text proposes a
name that the provider may change; ``None`` leaves the name to the provider. What it raises ends the operation."""

_MODES = ("propose", "enforce", "disable")
# The kinds that the engine encrypts itself. Those of key services are the host's to take over.
_OF_ENGINE = ("passphrase", "b64")


def describe_secrets(secrets: Secrets | KeyService) -> tuple[str | None, str | None, Described, Described]:
    """Describes encryption of the host; a key service has no kind, and its URL in the place of a state."""
    if hasattr(secrets, "wrap_key") or hasattr(secrets, "unwrap_key"):
        url = getattr(secrets, "url", None)
        if not isinstance(url, str):
            raise InvalidInputError(f"secrets takes a key service whose url is a text, not {type(url).__name__}")
        return None, url, *describe_key_service(secrets)
    missing = [name for name in ("kind", "encrypt", "decrypt") if not hasattr(secrets, name)]
    if missing:
        has = f"{type(secrets).__name__} has no {' and no '.join(missing)}"
        raise InvalidInputError(f"secrets takes an object with kind, encrypt and decrypt; {has}")
    kind = secrets.kind
    if not isinstance(kind, str) or not kind or kind in _OF_ENGINE:
        raise InvalidInputError(f"secrets takes an object whose kind is a name of its own, not {kind!r}")
    state = getattr(secrets, "state", None)
    return (
        kind,
        None if state is None else text_of("secrets.state", state),
        described("secrets.encrypt", secrets.encrypt, after=list),
        described("secrets.decrypt", secrets.decrypt, after=list),
    )


def describe_key_service(service: Any) -> tuple[Described, Described]:
    """Describes the functions of a key service, which get URL and key as one tuple."""
    missing = [name for name in ("wrap_key", "unwrap_key") if not hasattr(service, name)]
    if missing:
        raise InvalidInputError(f"secrets takes a key service with wrap_key and unwrap_key; {type(service).__name__} has no {missing[0]}")
    return (
        _of_two("secrets.wrap_key", service.wrap_key),
        _of_two("secrets.unwrap_key", service.unwrap_key),
    )


def describe_environment_keys(keys: EnvironmentKeys) -> tuple[Described, Described]:
    """Describes the key service of an environment without a look at its signatures: each command line has one."""
    return ((lambda request: keys.wrap_key(*request)), False), ((lambda request: keys.unwrap_key(*request)), False)


def _of_two(what: str, function: Any) -> Described:
    require_function(what, function, 2)
    if is_async(function):

        async def call_async(request: tuple[str, bytes]) -> bytes:
            return _key(what, await function(*request))

        return described(what, call_async)
    return described(what, lambda request: _key(what, function(*request)))


def _key(what: str, key: object) -> bytes:
    if not isinstance(key, (bytes, bytearray, memoryview)):
        raise InvalidInputError(f"{what} returns bytes, not {type(key).__name__}")
    return bytes(key)


def describe_stack_reader(reader: StackReader) -> tuple[Described, Described]:
    """Describes a reader of other stacks."""
    outputs: Any = getattr(reader, "outputs", reader)
    resources: Any = getattr(reader, "resource_outputs", None) or _no_resources
    return described("stack_reader", outputs), described("stack_reader.resource_outputs", resources)


def describe_fetch(fetch: Fetch) -> Described:
    """Describes a fetcher of remote assets."""
    return described("fetch", fetch)


def describe_autonamer(autonamer: Autonamer) -> Described:
    """Describes who names real things."""
    return described("autonamer", autonamer, before=_asked, after=_proposed)


def _asked(facts: tuple[str, str, str, bytes, bool]) -> NamingRequest:
    urn, type, name, seed, preview = facts
    return NamingRequest(urn, type, name, bytes(seed), preview)


def _proposed(answer: ProposedName | str | None) -> tuple[str, str, bool, bool] | None:
    if answer is None:
        return None
    if isinstance(answer, str):
        answer = ProposedName(answer)
    if not isinstance(answer, ProposedName):
        raise InvalidInputError(f"an autonamer returns a ProposedName, a str or None, not {type(answer).__name__}")
    if answer.mode not in _MODES:
        raise InvalidInputError(f"the mode of a name is one of {', '.join(_MODES)}, not {answer.mode!r}")
    return answer.name, answer.mode, answer.delete_before_replace, answer.warn_if_unsupported


def _no_resources(stack: str) -> Mapping[str, Values]:
    raise NotFoundError(f"the host provides no resources of the stack {stack}")
