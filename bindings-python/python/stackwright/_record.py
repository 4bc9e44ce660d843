"""The classes of values of the package: data classes whose methods are made at their first use.

:func:`dataclasses.dataclass` compiles the methods of a class when the class is defined, and for all classes of this package
that takes longer than the rest of its import. A program uses a few of them. So a class gets from :mod:`dataclasses` what it is
to have when the first of that is looked up: most often ``__init__``, by the first instance.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

__all__ = ["field", "record"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import field as field
else:

    def record(*, frozen: bool, slots: bool = False, kw_only: bool = False):
        """Makes a class a data class, which is frozen."""
        options = {"frozen": frozen, "slots": slots, "kw_only": kw_only}
        return lambda cls: _deferred(cls, options)

    def field(**options: Any) -> _Field:
        """Describes a member as :func:`dataclasses.field` does."""
        return _Field(options)


_METHODS: Final = (
    "__init__",
    "__repr__",
    "__eq__",
    "__hash__",
    "__match_args__",
    "__dataclass_params__",
    "__dataclass_fields__",
    *(("__replace__",) if sys.version_info >= (3, 13) else ()),
)
"""What a class gets at its first use, unless its body defines it. All of it is looked up in the class."""
_METHODS_OF_SLOTS: Final = ("__getstate__", "__setstate__")
"""What one with slots gets as well."""


class _Field:
    """A member whose class is not complete."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options


class _Deferred:
    """Stands in a class for what the class gets at its first use."""

    __slots__ = ("_class", "_name", "_namespace", "_options")

    def __init__(self, cls: type, name: str, namespace: dict[str, Any], options: dict[str, bool]) -> None:
        self._class = cls
        self._name = name
        self._namespace = namespace
        self._options = options

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        _complete(self._class, self._namespace, self._options)
        found = self._class.__dict__[self._name]
        bind = getattr(type(found), "__get__", None)
        return found if bind is None else bind(found, instance, owner)


def _deferred(cls: type, options: dict[str, bool]) -> type:
    """Returns the class with what it has from the beginning: slots, and that it is frozen."""
    members = cls.__annotations__
    namespace = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    namespace["__annotations__"] = members
    namespace["__qualname__"] = cls.__qualname__
    methods = _METHODS
    if options["slots"]:
        # A class cannot get slots afterwards. Those of its bases stay theirs.
        inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__["__slots__"]}
        own = {name: value for name, value in namespace.items() if name not in members}
        own["__slots__"] = tuple(name for name in members if name not in inherited)
        cls = type(cls)(cls.__name__, cls.__bases__, own)
        methods += _METHODS_OF_SLOTS
    for name in methods:
        if name not in namespace:
            setattr(cls, name, _Deferred(cls, name, namespace, options))
    cls.__setattr__ = _refuse_assignment  # type: ignore[method-assign, assignment]
    cls.__delattr__ = _refuse_deletion  # type: ignore[method-assign, assignment]
    return cls


def _complete(cls: type, namespace: dict[str, Any], options: dict[str, bool]) -> None:
    """Gives a class the methods of a data class of the same body. Threads may do this at the same time: what they make is equal,
    and without a lock a fork cannot leave one behind."""
    # Not needed by a program that has no values.
    import dataclasses

    body = {
        name: dataclasses.field(**value.options) if isinstance(value, _Field) else value
        for name, value in namespace.items()
    }
    made: type = dataclasses.dataclass(**options)(type(cls)(cls.__name__, cls.__bases__, body))
    for name, value in list(cls.__dict__.items()):
        if isinstance(value, _Deferred):
            setattr(cls, name, made.__dict__[name])


def _refuse_assignment(self: Any, name: str, value: object) -> None:
    if _is_fixed(self, name):
        raise _frozen(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_deletion(self: Any, name: str) -> None:
    if _is_fixed(self, name):
        raise _frozen(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_fixed(value: Any, name: str) -> bool:
    """Returns whether an attribute cannot change: any of the class itself; in a class derived from it, those of its members."""
    return "__dataclass_fields__" in type(value).__dict__ or name in value.__dataclass_fields__


def _frozen(message: str) -> Exception:
    # Only misuse needs the class.
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError(message)
