"""Functions of the host: how the native half is told to call them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .errors import InvalidInputError

Described = tuple[Callable[[Any], Any], bool]
"""A function of one argument, and whether it is asynchronous."""


def is_async(function: Callable[..., Any]) -> bool:
    """Tells whether a function, or an object that is called like one, is asynchronous."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


def require(option: str, value: object, kind: type | tuple[type, ...], wanted: str) -> None:
    """Refuses a value of another kind for an option, before anything starts; ``None`` is no value.

    :raises TypeError: that names the option.
    """
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"{option} takes {wanted}, not {type(value).__name__}")


def require_function(option: str, value: object, wanted: str = "a function") -> None:
    """Refuses what cannot be called, as :func:`require` does."""
    if value is not None and not callable(value):
        raise TypeError(f"{option} takes {wanted}, not {type(value).__name__}")


def described(
    what: str,
    function: Callable[[Any], Any],
    before: Callable[[Any], Any] | None = None,
    after: Callable[[Any], Any] | None = None,
) -> Described:
    """Describes a function of the host, with what is done to its argument before and to its result after."""
    if not callable(function):
        raise InvalidInputError(f"{what} is a function, not {type(function).__name__}")
    prepare = before or _unchanged
    finish = after or _unchanged
    if is_async(function):

        async def call_async(argument: Any) -> Any:
            return finish(await function(prepare(argument)))

        return call_async, True
    return (lambda argument: finish(function(prepare(argument)))), False


def _unchanged(value: Any) -> Any:
    return value
