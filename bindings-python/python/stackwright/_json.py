"""JSON of values that callers pass: what has no JSON of its own is refused by its place, and never turned into something else."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from .errors import InvalidInputError

__all__ = ["MAX_DEPTH", "document_of_options", "text_of"]

MAX_DEPTH: Final = 600
"""How deep values may nest; the interpreter's own limit is near."""

_STAND_IN: Final = "\0"
"""The only member of what stands in a document for a value that has no JSON; it describes the value."""

_MAX_PATH_LENGTH: Final = 200
"""How much of a path is shown; that of a value which contains itself has no end."""


def text_of(option: str, value: object, max_depth: int = MAX_DEPTH) -> str:
    """Returns the JSON of a value: ``None``, booleans, numbers, texts, mappings by texts, and lists and tuples of such values.

    :raises InvalidInputError: that names the option and the place of a value that is none of those, without the value.
    """
    try:
        misfit = _misfit(value, max_depth)
    except RecursionError:
        misfit = _Misfit("", "the value is nested too deep, or contains itself")
    except Exception as error:
        raise InvalidInputError(f"{option}: the value cannot be read: {type(error).__name__}") from error
    if misfit is not None:
        path = misfit.path if len(misfit.path) <= _MAX_PATH_LENGTH else f"{misfit.path[:_MAX_PATH_LENGTH]}…"
        raise InvalidInputError(f"{option}{path}: {misfit.reason}")
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except (RecursionError, TypeError, ValueError):
        # The error may show what is in the value.
        raise InvalidInputError(f"{option}: the value cannot be written as JSON") from None


def document_of_options(options: Mapping[str, object]) -> bytes:
    """Returns the JSON of options by name; those that are ``None`` are left out.

    A function, or another option without JSON, has a stand-in, so that the engine names the option, which can be misspelt, and what it
    takes.

    :raises InvalidInputError: that names the option and the place of a value in it that has no JSON.
    """
    given = ((name, value) for name, value in options.items() if value is not None)
    members = (f"{json.dumps(name)}: {text_of(name, _standing_in(value))}" for name, value in given)
    return f"{{{', '.join(members)}}}".encode()


def _standing_in(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return {_STAND_IN: str(value)}
    is_json = isinstance(value, (bool, int, float, str, Mapping)) or (
        isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview))
    )
    return value if is_json else {_STAND_IN: f"a value of type {type(value).__name__}"}


class _Misfit(NamedTuple):
    """What cannot be written, and where: as ``['key']`` and ``[index]``."""

    path: str
    reason: str


def _misfit(value: object, depth: int) -> _Misfit | None:
    if value is None or isinstance(value, (bool, int)):
        return None
    if isinstance(value, str):
        return None if _is_encodable(value) else _unwritable("a text with a lone surrogate")
    if isinstance(value, float):
        return None if math.isfinite(value) else _Misfit("", f"{value} cannot be written as JSON; give a finite number")
    if depth < 0:
        return _Misfit("", "the value is nested too deep, or contains itself")
    if isinstance(value, Mapping):
        return _misfit_in_mapping(value, depth)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        for index, element in enumerate(value):
            if (found := _misfit(element, depth - 1)) is not None:
                return _Misfit(f"[{index}]{found.path}", found.reason)
        return None
    return _unwritable(f"a value of type {type(value).__name__}")


def _misfit_in_mapping(mapping: Mapping[Any, Any], depth: int) -> _Misfit | None:
    for key, member in mapping.items():
        if not isinstance(key, str):
            return _Misfit("", f"a key of type {type(key).__name__} cannot be written as JSON; keys are texts")
        if not _is_encodable(key):
            return _unwritable("a key with a lone surrogate")
        if (found := _misfit(member, depth - 1)) is not None:
            return _Misfit(f"[{key!r}]{found.path}", found.reason)
    return None


def _is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unwritable(what: str) -> _Misfit:
    return _Misfit("", f"{what} cannot be written as JSON")


def _plain(value: object) -> object:
    """Returns the mappings and sequences that the encoder does not know as those that it does."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"a value of type {type(value).__name__}")
