"""Functions of the host, described for the native half, which calls them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ._checks import require_function
from .errors import InvalidInputError

Described = tuple[Callable[[Any], Any], bool]
"""A function of one argument, and whether it is asynchronous."""


def is_async(function: Callable[..., Any]) -> bool:
    """Returns whether a function, or a callable object, is asynchronous."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


def described(
    what: str,
    function: Callable[[Any], Any],
    before: Callable[[Any], Any] | None = None,
    after: Callable[[Any], Any] | None = None,
) -> Described:
    """Describes a function of the host, with what is done to its argument before and to its result after; ``what`` is the
    option that names it.

    :raises InvalidInputError: for what is no function of one argument.
    """
    if function is None:
        raise InvalidInputError(f"{what} takes a function, not NoneType")
    require_function(what, function)
    prepare = before or _unchanged
    finish = after or _unchanged
    if is_async(function):

        async def call_async(argument: Any) -> Any:
            return finish(await function(prepare(argument)))

        return call_async, True
    return (lambda argument: finish(function(prepare(argument)))), False


def _unchanged(value: Any) -> Any:
    return value
