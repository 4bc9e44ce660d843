"""Stores of the host: named objects with conditional writes, in which an engine keeps the states of its stacks."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, Union

from ._callback import Described, is_async
from ._checks import takes
from ._json import text_of
from ._record import record
from .errors import InvalidInputError

__all__ = ["Condition", "ObjectInfo", "Store", "StoredObject"]


class StoredObject(NamedTuple):
    """An object as it was read."""

    content: bytes
    """Its content."""
    version: str
    """What distinguishes this content from others that the object had or will have: a counter, or a hash of the whole history."""


class ObjectInfo(NamedTuple):
    """An object in a listing."""

    key: str
    """The full key."""
    size: int
    """The length of its content in bytes."""
    modified: datetime
    """The time of its last write, with a time zone."""


@record(frozen=True, slots=True)
class Condition:
    """The condition of a write. What is tested and what is written must be one step, whichever other host writes at that time."""

    kind: Literal["any", "absent", "match"]
    """``any``: there is no condition; ``absent``: there must be no object; ``match``: the object must have :attr:`version`."""
    version: str | None = None
    """The version that the object must have, for ``match``."""

    def holds(self, version: str | None) -> bool:
        """Returns whether it holds for an object of this version; ``None`` is no object."""
        return self.kind == "any" or version == self.version


class Store(Protocol):
    """A store of the host; each method may be ``async``. Keys are texts of segments with ``/`` between them.

    It has the states of stacks, their journals and their leases, as a bucket has: several hosts can use it at once. A write is durable
    when its method returns, and what was written is read from then on. Methods are called concurrently: ordinary ones on threads,
    ``async`` ones on an event loop of the engine's own. None is called after :meth:`stackwright.Engine.close` has returned.

    What they raise becomes a :class:`~stackwright.UnavailableError` that names the method and the key, with the exception as its
    cause (``__cause__``); a call without an answer does after two minutes. A write that raised may have been done.

    It may have the text ``url``, which names it in messages instead of its class, and a method ``copy(source, target)``, which copies the
    content of an object and raises :class:`~stackwright.NotFoundError` when there is none; without it, objects are read and written.
    """

    def get(self, key: str, /) -> tuple[bytes, str] | None | Awaitable[tuple[bytes, str] | None]:
        """Reads an object: returns a :class:`StoredObject`, or another pair of content and version; ``None`` when there is none."""

    def put(self, key: str, content: bytes, condition: Condition, /) -> str | Awaitable[str]:
        """Replaces an object as a whole if the condition holds, and returns the new version.

        Raises :class:`~stackwright.ConflictError` when the condition does not hold, and changes nothing then.
        """

    def list(self, prefix: str, /) -> Iterable[tuple[str, int, datetime]] | Awaitable[Iterable[tuple[str, int, datetime]]]:
        """Returns the objects whose keys start with ``prefix``, in any order: an :class:`ObjectInfo`, or another triple of key, size and
        time, for each."""

    def delete(self, key: str, /) -> None | Awaitable[None]:
        """Removes an object; does nothing when there is none."""


_REQUIRED = ("get", "put", "list", "delete")

_Before = Callable[[Any], tuple[Any, ...]]
_Methods = tuple[Described, Described, Described, Described, Union[Described, None]]


def describe_store(store: object) -> tuple[str, _Methods] | None:
    """Describes a store of the host for the native half, with its name; returns ``None`` for a URL, and for what is no
    store at all, which the engine refuses."""
    if isinstance(store, str):
        return None
    if inspect.isclass(store):
        raise InvalidInputError(f"store is the class {store.__name__}; pass an instance, {store.__name__}()")
    missing = [name for name in _REQUIRED if not callable(getattr(store, name, None))]
    if len(missing) == len(_REQUIRED):
        return None
    if missing:
        has = f"{type(store).__name__} has no {' and no '.join(missing)}"
        raise InvalidInputError(f"store takes a URL as a text, or an object with get, put, list and delete; {has}")
    url = getattr(store, "url", None)
    if url is not None and not isinstance(url, str):
        raise InvalidInputError(f"store takes an object whose url is a text, not {type(url).__name__}")
    copy = None if getattr(store, "copy", None) is None else _described(store, "copy", 2, _as_given, _nothing)
    methods = (
        _described(store, "get", 1, _alone, _stored),
        _described(store, "put", 3, _put, _version),
        _described(store, "list", 1, _alone, _listed),
        _described(store, "delete", 1, _alone, _nothing),
        copy,
    )
    return url or type(store).__name__, methods


def _described(store: object, name: str, arguments: int, before: _Before, after: Callable[[Any], Any]) -> Described:
    method = getattr(store, name)
    if not callable(method):
        raise InvalidInputError(f"store takes an object whose {name} is a method, not {type(method).__name__}")
    if not takes(method, arguments):
        raise InvalidInputError(f"store takes an object whose method {name} is called with {arguments} arguments")
    if is_async(method):

        async def call_async(given: Any) -> Any:
            return after(await method(*before(given)))

        return call_async, True
    return (lambda given: after(method(*before(given)))), False


def _alone(key: str) -> tuple[str]:
    return (key,)


def _as_given(keys: tuple[str, str]) -> tuple[str, str]:
    return keys


def _put(given: tuple[str, bytes, Literal["any", "absent", "match"], str | None]) -> tuple[str, bytes, Condition]:
    key, content, kind, version = given
    return key, content, Condition(kind, version)


def _wrong(returned: object, wanted: str) -> InvalidInputError:
    return InvalidInputError(f"it returned {type(returned).__name__}, not {wanted}")


def _nothing(returned: object) -> None:
    if inspect.isawaitable(returned):
        raise _wrong(returned, "None; an asynchronous method is an async def")


def _stored(returned: object) -> tuple[bytes, str] | None:
    if returned is None:
        return None
    wanted = "a pair of content (bytes) and version (str), or None"
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise _wrong(returned, wanted)
    content, version = returned
    if not isinstance(content, (bytes, bytearray, memoryview)) or not isinstance(version, str):
        raise InvalidInputError(f"it returned ({type(content).__name__}, {type(version).__name__}), not {wanted}")
    return bytes(content), version


def _version(returned: object) -> str:
    if not isinstance(returned, str) or not returned:
        given = "an empty str" if returned == "" else type(returned).__name__
        raise InvalidInputError(f"it returned {given}, not the new version (str); a condition that does not hold is a ConflictError")
    return returned


def _listed(returned: object) -> str:
    if not isinstance(returned, Iterable) or isinstance(returned, (str, bytes)):
        raise _wrong(returned, "objects, each with key, size and modified")
    return text_of("list", [_info(item) for item in returned])


def _info(item: object) -> dict[str, Any]:
    wanted = "a triple of key (str), size (int) and modified (datetime)"
    if not isinstance(item, Sequence) or isinstance(item, (str, bytes)) or len(item) != 3:
        raise InvalidInputError(f"it returned an object that is {type(item).__name__}, not {wanted}")
    key, size, modified = item
    is_right = isinstance(key, str) and isinstance(size, int) and not isinstance(size, bool) and isinstance(modified, datetime)
    if not is_right:
        types = ", ".join(type(part).__name__ for part in item)
        raise InvalidInputError(f"it returned an object that is ({types}), not {wanted}")
    if modified.tzinfo is None:
        raise InvalidInputError("it returned an object whose modified has no time zone")
    return {"key": key, "size": size, "modified": modified.isoformat()}
