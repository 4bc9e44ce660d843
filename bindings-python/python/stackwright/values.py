"""Property values: what Python has no type for (secrets, unknowns, assets, references)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, Generic, Literal, NoReturn, TypeVar

from ._record import record
from ._secrecy import learn
from .errors import InvalidInputError

__all__ = [
    "UNKNOWN",
    "Archive",
    "Asset",
    "Ciphertext",
    "OutputValue",
    "PropertyValue",
    "ResourceReference",
    "Secret",
    "Unknown",
    "is_unknown",
    "secret",
    "unwrap",
]

PropertyValue = Any
"""A property value: ``None``, ``bool``, ``int``, ``float``, ``str``, ``bytes``, a list or dictionary of such, or one
of the classes of this module. The only public type of this package that is ``Any``."""

T = TypeVar("T")

UnknownKind = Literal["bool", "number", "string", "array", "asset", "archive", "object"]


class Awaited:
    """Base of what stands for a value that a resource will have; only inputs of other resources may contain it."""

    __slots__ = ()

    # Without these two, Python would ask for element after element, and an output has one for every number.
    def __iter__(self) -> NoReturn:
        raise TypeError(f"{_named(self)} has no elements before it is known; await it, or use apply()")

    def __contains__(self, element: object) -> NoReturn:
        raise TypeError(f"{_named(self)} has no members before it is known; await it, or use apply()")


def _named(value: object) -> str:
    name = type(value).__name__.lower()
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


class Secret(Generic[T]):
    """A value that is encrypted in the state and never shown."""

    __slots__ = ("value",)

    value: T

    def __init__(self, value: T) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash((Secret, self.value))

    def __str__(self) -> str:
        raise TypeError("a secret has no text that may be shown; use its value, or Output.format() for a secret text")

    def __format__(self, specification: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return "[secret]"


class OutputValue(Generic[T]):
    """An output of a stack: its value, and whether that is secret. As an input of a resource it is passed on as what it is.

    Text for display has ``[secret]`` in place of a secret value; :func:`unwrap` returns the values of a whole mapping.
    """

    __slots__ = ("_is_shown", "secret", "value")

    value: T
    """The plain value, without any :class:`Secret` around it or inside it."""
    secret: bool
    """Whether the value is secret, or holds a secret."""

    def __init__(self, value: T, secret: bool = False) -> None:
        self.value = value
        self.secret = secret
        self._is_shown = False

    def shown(self) -> OutputValue[T]:
        """Returns the same output with its value in text for display, also where it is secret."""
        shown = OutputValue(self.value, self.secret)
        shown._is_shown = True
        return shown

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputValue) and self.secret == other.secret and bool(self.value == other.value)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        text = "[secret]" if self.secret and not self._is_shown else repr(self.value)
        return f"OutputValue(value={text}, secret={self.secret})"


class Ciphertext:
    """A secret of a stack's configuration in its encrypted form, as a ``Pulumi.STACK.yaml`` has it under ``secure``.

    Only configuration may contain it; the stack's secrets manager decrypts it.
    """

    __slots__ = ("text",)

    text: str

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ciphertext) and self.text == other.text

    def __hash__(self) -> int:
        return hash((Ciphertext, self.text))

    def __repr__(self) -> str:
        return f"Ciphertext({self.text!r})"


def secret(value: T) -> Secret[T]:
    """Marks a value as secret. What is secret already stays as it is.

    Inside of a program, the value is kept out of its operation's texts from now on.
    """
    if isinstance(value, Secret):
        return value
    learn(value)
    return Secret(value)


class Unknown:
    """A value that is not known before the resource that makes it exists; occurs only in previews.

    It is neither true nor false: asking it raises, so that no program decides by a value that is not there.
    """

    __slots__ = ("kind",)

    kind: UnknownKind

    def __init__(self, kind: UnknownKind = "string") -> None:
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self.kind == other.kind

    def __hash__(self) -> int:
        return hash((Unknown, self.kind))

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false; ask is_unknown() first")

    def __repr__(self) -> str:
        return "[unknown]"


# In the order of the engine's own list of kinds.
_UNKNOWNS: Final = [
    Unknown("bool"),
    Unknown("number"),
    Unknown("string"),
    Unknown("array"),
    Unknown("asset"),
    Unknown("archive"),
    Unknown("object"),
]

UNKNOWN: Final = _UNKNOWNS[2]
"""The unknown that stands for anything."""


def is_unknown(value: object) -> bool:
    """Returns whether a value is unknown, also when it is secret."""
    return isinstance(value.value if isinstance(value, (Secret, OutputValue)) else value, Unknown)


def unwrap(value: PropertyValue) -> PropertyValue:
    """Returns the value without any :class:`Secret` or :class:`OutputValue` around it or inside it. Never log the result."""
    if isinstance(value, (Secret, OutputValue)):
        return unwrap(value.value)
    if isinstance(value, Mapping):
        return {key: unwrap(element) for key, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [unwrap(element) for element in value]
    return value


@record(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file's worth of data: exactly one of a text, a path (relative to the program's directory) and a URI."""

    text: str | None = None
    path: str | os.PathLike[str] | None = None
    uri: str | None = None
    hash: str = ""
    """Lower-case hex SHA-256 of the contents; the engine computes it."""

    def __post_init__(self) -> None:
        if sum(source is not None for source in (self.text, self.path, self.uri)) != 1:
            raise InvalidInputError("an asset has exactly one of text, path and uri")


@record(frozen=True, slots=True, kw_only=True)
class Archive:
    """A tree of assets: exactly one of assets by name, a path (directory or archive file) and a URI."""

    assets: Mapping[str, Asset | Archive] | None = None
    path: str | os.PathLike[str] | None = None
    uri: str | None = None
    hash: str = ""
    """Lower-case hex SHA-256; the engine computes it."""

    def __post_init__(self) -> None:
        if sum(source is not None for source in (self.assets, self.path, self.uri)) != 1:
            raise InvalidInputError("an archive has exactly one of assets, path and uri")


@record(frozen=True, slots=True)
class ResourceReference:
    """A reference to another resource."""

    urn: str
    id: str | Unknown | None = None
    """The id; ``None`` for a component."""
    package_version: str = ""
