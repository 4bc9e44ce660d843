"""Checks of resource options where a program says them: what is misspelt or of a wrong kind is named, with the resource."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Real
from typing import Any, Final

from ._checks import described
from .errors import InvalidInputError
from .resource import Resource

__all__ = ["check_options"]


def check_options(options: Mapping[str, Any], known: Mapping[str, Any], owner: str) -> None:
    """Refuses options that ``known`` does not name, and values that they can not have; ``owner`` is whose they are.

    :raises InvalidInputError: that names the option and its owner.
    """
    for name, value in options.items():
        if name not in known:
            raise InvalidInputError(f"unknown option {name!r} of {owner}{_nearest(name, known)}")
        check = _CHECKS.get(name)
        if check is not None and value is not None:
            check(name, value, owner)


Check = Callable[[str, Any, str], None]


def _nearest(name: object, known: Collection[str]) -> str:
    near = difflib.get_close_matches(str(name), known, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(sorted(known))}"


def _refuse(option: str, wanted: str, value: object, owner: str) -> InvalidInputError:
    return InvalidInputError(f"{option} takes {wanted}, not {described(value)}, in the options of {owner}")


def _of(kind: type | tuple[type, ...], wanted: str) -> Check:
    def check(option: str, value: Any, owner: str) -> None:
        if not isinstance(value, kind):
            raise _refuse(option, wanted, value, owner)

    return check


def _elements(value: Any) -> Sequence[Any] | None:
    return value if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else None


def _texts(option: str, value: Any, owner: str) -> None:
    for element in (value,) if (elements := _elements(value)) is None else elements:
        if elements is None or not isinstance(element, str):
            raise _refuse(option, "a list of texts", element, owner)


def _providers(option: str, value: Any, owner: str) -> None:
    elements = list(value.values()) if isinstance(value, Mapping) else _elements(value)
    if elements is None:
        raise _refuse(option, "provider resources by package", value, owner)
    for element in elements:
        if not isinstance(element, Resource) and not (isinstance(element, str) and isinstance(value, Mapping)):
            raise _refuse(option, "provider resources by package", element, owner)


def _members(option: str, value: Mapping[Any, Any], checks: Mapping[str, Check], owner: str) -> None:
    for name, member in value.items():
        if name not in checks:
            raise InvalidInputError(f"unknown member {name!r} of {option} in the options of {owner}{_nearest(name, checks)}")
        if member is not None:
            checks[name](f"{option}[{name!r}]", member, owner)


def _timeouts(option: str, value: Any, owner: str) -> None:
    if not isinstance(value, Mapping):
        raise _refuse(option, "a dictionary of seconds", value, owner)
    _members(option, value, _TIMEOUTS, owner)


def _seconds(option: str, value: Any, owner: str) -> None:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise _refuse(option, "a number of seconds", value, owner)
    if not 0 <= float(value) < math.inf:
        raise InvalidInputError(f"{option} takes a number of seconds from 0 on, not {value}, in the options of {owner}")


def _aliases(option: str, value: Any, owner: str) -> None:
    elements = _elements(value)
    if elements is None:
        raise _refuse(option, "a list of URNs and dictionaries", value, owner)
    for index, alias in enumerate(elements):
        if isinstance(alias, Mapping):
            _members(f"{option}[{index}]", alias, _ALIAS, owner)
        elif not isinstance(alias, str) or not alias.startswith(_URN):
            raise _refuse(f"{option}[{index}]", "a URN or a dictionary", alias, owner)


def _resource(option: str, value: Any, owner: str) -> None:
    if not isinstance(value, Resource) and not (isinstance(value, str) and value.startswith(_URN)):
        raise _refuse(option, "a resource or its URN", value, owner)


_URN: Final = "urn:"
_FLAG: Final = _of(bool, "True or False")
_TEXT: Final = _of(str, "a text")
_RESOURCE: Final = _resource

_TIMEOUTS: Final[Mapping[str, Check]] = dict.fromkeys(("create", "update", "delete", "read"), _seconds)

_ALIAS: Final[Mapping[str, Check]] = {
    **dict.fromkeys(("name", "type", "stack", "project"), _TEXT),
    "parent": _RESOURCE,
    "no_parent": _FLAG,
}

_CHECKS: Final[Mapping[str, Check]] = {
    **dict.fromkeys(("protect", "delete_before_replace", "retain_on_delete"), _FLAG),
    **dict.fromkeys(("version", "plugin_download_url", "import_id"), _TEXT),
    **dict.fromkeys(("ignore_changes", "replace_on_changes", "additional_secret_outputs", "hide_diffs"), _texts),
    **dict.fromkeys(("parent", "deleted_with"), _RESOURCE),
    "provider": _of((Resource, str), "a provider resource"),
    "providers": _providers,
    "aliases": _aliases,
    "custom_timeouts": _timeouts,
}
