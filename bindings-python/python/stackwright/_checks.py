"""Checks of what callers pass: each option that is wrong is named, with what it takes and what was given.

All that is wrong raises :class:`InvalidInputError`, types included.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .errors import InvalidInputError

__all__ = ["described", "named_options", "read_file", "refusal", "require", "require_folder", "require_function", "require_given", "write_file"]


def described(value: object) -> str:
    """Names the type of a value; of texts, returns the content as well."""
    return f"the text {value!r}" if isinstance(value, str) else type(value).__name__


def refusal(option: str, wanted: str, value: object, owner: str = "") -> InvalidInputError:
    """Returns the error of a value that an option, which ``owner`` has where there are several, does not take."""
    of = f" {owner}" if owner else ""
    return InvalidInputError(f"{option}{of} takes {wanted}, not {described(value)}")


def require(option: str, value: object, kind: type | tuple[type, ...], wanted: str) -> None:
    """Refuses a value of another kind for an option, before anything starts; ``None`` is no value.

    :raises InvalidInputError: that names the option.
    """
    if value is not None:
        require_given(option, value, kind, wanted)


def require_given(option: str, value: object, kind: type | tuple[type, ...], wanted: str) -> None:
    """Does what :func:`require` does, for an option that must be given."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise refusal(option, wanted, value)


def read_file(option: str, path: Path) -> bytes:
    """Returns what the file of an option has."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{option}: {path} cannot be read: {error.strerror}") from error


def write_file(option: str, path: Path, content: bytes) -> None:
    """Writes the file of an option, in a folder that is made where it is missing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise InvalidInputError(f"{option}: {path} cannot be written: {error.strerror}") from error


def require_folder(option: str, value: object) -> None:
    """Refuses what is no path of a folder."""
    require(option, value, (str, os.PathLike), "the path of a folder")
    if value is not None and not os.path.isdir(value):  # type: ignore[arg-type]
        raise InvalidInputError(f"{option} takes the path of a folder that exists, and {os.fspath(value)!r} is none")  # type: ignore[call-overload]


def require_function(option: str, value: object, arguments: int = 1, wanted: str = "a function") -> None:
    """Refuses what cannot be called, or not with as many arguments; ``None`` is no value."""
    if value is None:
        return
    if not callable(value):
        raise refusal(option, wanted, value)
    if not takes(value, arguments):
        count = "without arguments" if arguments == 0 else "with one argument" if arguments == 1 else f"with {arguments} arguments"
        raise InvalidInputError(f"{option} takes {wanted} that is called {count}, not one {parameters_of(value)}")


def takes(function: Callable[..., Any], arguments: int) -> bool:
    """Returns whether a function can be called with so many arguments; true when it has no readable signature."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*(None,) * arguments)
    except TypeError:
        return False
    return True


def parameters_of(function: Callable[..., Any]) -> str:
    """Names the parameters of a function."""
    names = list(inspect.signature(function).parameters)
    return f"with the parameters ({', '.join(names)})" if names else "without parameters"


_Method = TypeVar("_Method", bound=Callable[..., Any])


def named_options(method: _Method) -> _Method:
    """Makes a method refuse keyword arguments that it does not have as all calls with options do."""
    parameters = inspect.signature(method).parameters.values()
    names = [each.name for each in parameters if each.name != "self" and each.kind is not each.VAR_POSITIONAL]

    def check(given: Mapping[str, Any]) -> None:
        for name in given:
            if name not in names:
                # Only errors need it.
                import difflib

                near = difflib.get_close_matches(name, names, n=1)
                advice = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(names)}"
                raise InvalidInputError(f"unknown option {name!r} of {method.__name__}(); {advice}")

    @functools.wraps(method)
    def checked(*arguments: Any, **options: Any) -> Any:
        check(options)
        return method(*arguments, **options)

    @functools.wraps(method)
    async def checked_later(*arguments: Any, **options: Any) -> Any:
        check(options)
        return await method(*arguments, **options)

    return checked_later if inspect.iscoroutinefunction(method) else checked  # type: ignore[return-value]
