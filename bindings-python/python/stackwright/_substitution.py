"""Options of resources and calls as the native half reads them: URNs and references in the place of resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ._stackwright import check_options
from .output import Deferred, substitute
from .resource import Resource
from .values import Awaited

__all__ = ["checked", "listed", "plain_options", "resolve_options", "urns_of"]

_LISTS: Final = ("depends_on", "replace_with")
"""Options that take one resource or several."""


def checked(of: str, known: Mapping[str, type | None], options: Mapping[str, Any], owner: str) -> Mapping[str, Any]:
    """Returns options that are right; ``known`` has their names, ``of`` and ``owner`` are those of the native check.

    :raises InvalidInputError: that names the option and its owner.
    """
    for name, value in options.items():
        kind = known.get(name)
        if kind is None or (value is not None and type(value) is not kind):
            break
    else:
        # The engine would find nothing: there are only names that exist, with values of the one type that is always right.
        return options
    options = {name: _plain(name, value) for name, value in options.items()}
    check_options(of, options, owner)
    return options


def _plain(name: str, value: Any) -> Any:
    if name in _LISTS and isinstance(value, Iterable) and not isinstance(value, (Awaited, Mapping, Sequence)):
        return list(value)
    if name == "providers" and _is_list(value) and all(isinstance(provider, Resource) for provider in value):
        return {provider.type.rsplit(":", 1)[-1]: provider for provider in value}
    return value


def listed(value: Any) -> list[Awaited | str]:
    """Returns what an option names, one resource or several, as a list."""
    if value is None:
        return []
    return [value] if isinstance(value, (Awaited, str)) else list(value)


def plain_options(options: Mapping[str, Any]) -> list[Any]:
    """Returns the options' values, with nothing but lists and dictionaries around what is looked for."""
    return [dict(value) if isinstance(value, Mapping) else list(value) if _is_list(value) else value for value in options.values()]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def urns_of(sources: Iterable[Deferred[Any]]) -> list[str]:
    """Returns the URNs of the resources among what is known."""
    return [urn for source in sources for urn in source._urns()]


def resolve_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options with URNs and references in the place of resources."""
    return {name: _resolved(name, value) for name, value in options.items()}


def _resolved(name: str, value: Any) -> Any:
    if isinstance(value, Resource) and name != "replacement_trigger":
        return _reference(name, value)
    if name == "replacement_trigger":
        return substitute(value)
    if name == "providers":
        return {package: _reference(name, provider) for package, provider in value.items()}
    if name == "replace_with":
        return [_reference(name, resource) for resource in listed(value)]
    if name == "aliases":
        return [
            {part: _reference(part, former) for part, former in alias.items()} if isinstance(alias, Mapping) else alias
            for alias in value
        ]
    return value


def _reference(name: str, value: Any) -> Any:
    if not isinstance(value, Resource):
        return value
    return value._reference() if name in ("provider", "providers") else value.registered.urn
