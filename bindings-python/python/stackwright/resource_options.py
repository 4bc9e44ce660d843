"""Options of resources: what can be said, and how the native half reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypedDict

from ._checks import described
from .errors import InvalidInputError
from .output import Deferred, substitute
from .resource import Resource
from .values import Awaited, PropertyValue

__all__ = ["Alias", "CustomTimeouts", "InvokeOptions", "ResourceOptions"]


class CustomTimeouts(TypedDict, total=False):
    """How long each call to the provider may take, in seconds; a provider in this process is told, and has to see to it.

    - ``create`` (float)
    - ``update`` (float)
    - ``delete`` (float)
    - ``read`` (float)
    """

    create: float
    update: float
    delete: float
    read: float


class Alias(TypedDict, total=False):
    """A former name of a resource: the parts that differ.

    - ``name`` (str)
    - ``type`` (str)
    - ``stack`` (str)
    - ``project`` (str)
    - ``parent`` (Resource | str)
    - ``no_parent`` (bool): It had no parent.
    """

    name: str
    type: str
    stack: str
    project: str
    parent: Resource | str
    no_parent: bool


class ResourceOptions(TypedDict, total=False):
    """Options of a resource; each can be given by name to :meth:`Context.resource`.

    - ``parent`` (Resource | None): The parent; the stack when there is none.
    - ``depends_on`` (Awaited | str | Sequence[Awaited | str]): Resources, outputs and calls of functions that must be
      there before it, or URNs of resources.
    - ``provider`` (Resource | str | None): The provider that manages it, as :meth:`Context.provider` returned it.
    - ``providers`` (Mapping[str, Resource | str]): A component's providers for its children, by package.
    - ``version`` (str): The version of the package.
    - ``plugin_download_url`` (str): Where the package's plugin can be had, for the resolver and the installer.
    - ``protect`` (bool | None): Never delete or replace it.
    - ``delete_before_replace`` (bool | None): A replacement deletes the old thing first.
    - ``retain_on_delete`` (bool | None): Forget it instead of deleting it.
    - ``ignore_changes`` (Sequence[str]): Paths of inputs whose changes count for nothing.
    - ``replace_on_changes`` (Sequence[str]): Paths of properties whose changes replace it.
    - ``additional_secret_outputs`` (Sequence[str]): Outputs that are secret.
    - ``hide_diffs`` (Sequence[str]): Paths whose differences are not shown.
    - ``aliases`` (Sequence[str | Alias]): Former names: URNs, or the parts that differ (``name``, ``type``, ``stack``,
      ``project``, ``parent``, ``no_parent``).
    - ``import_id`` (str): The id of an existing thing that is to be taken over.
    - ``custom_timeouts`` (CustomTimeouts): Seconds by ``create``, ``update``, ``delete`` and ``read``.
    - ``deleted_with`` (Resource | None): The resource with whose deletion it goes by itself.
    - ``replace_with`` (Resource | str | Sequence[Resource | str]): Resources whose replacement replaces this one too,
      or their URNs.
    - ``replacement_trigger`` (PropertyValue): A value whose change replaces it.
    """

    parent: Resource | None
    depends_on: Awaited | str | Sequence[Awaited | str]
    provider: Resource | str | None
    providers: Mapping[str, Resource | str]
    version: str
    plugin_download_url: str
    protect: bool | None
    delete_before_replace: bool | None
    retain_on_delete: bool | None
    ignore_changes: Sequence[str]
    replace_on_changes: Sequence[str]
    additional_secret_outputs: Sequence[str]
    hide_diffs: Sequence[str]
    aliases: Sequence[str | Alias]
    import_id: str
    custom_timeouts: CustomTimeouts
    deleted_with: Resource | None
    replace_with: Resource | str | Sequence[Resource | str]
    replacement_trigger: PropertyValue


class InvokeOptions(TypedDict, total=False):
    """Options of a function's call; each can be given by name to :meth:`Context.invoke`.

    - ``parent`` (Resource | None): The resource whose provider is used when no other is named.
    - ``depends_on`` (Awaited | str | Sequence[Awaited | str]): Resources, outputs and calls of functions that must be
      there before it, or URNs of resources.
    - ``provider`` (Resource | str | None): The provider that is asked, as :meth:`Context.provider` returned it.
    - ``version`` (str): The version of the package.
    - ``plugin_download_url`` (str): Where the package's plugin can be had, for the resolver and the installer.
    """

    parent: Resource | None
    depends_on: Awaited | str | Sequence[Awaited | str]
    provider: Resource | str | None
    version: str
    plugin_download_url: str


NAMES: Final = ResourceOptions.__annotations__
INVOKE_NAMES: Final = InvokeOptions.__annotations__


def plain_options(options: Mapping[str, Any]) -> list[Any]:
    """Returns the options' values, with nothing but lists and dictionaries around what is looked for."""
    return [dict(value) if isinstance(value, Mapping) else list(value) if _is_list(value) else value for value in options.values()]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def dependencies_of(option: str, value: Any, owner: str) -> list[Awaited | str]:
    """Returns what an option names: one resource or several, each itself or by its URN.

    :raises InvalidInputError: when it names something else.
    """
    single = isinstance(value, (Awaited, str)) or not isinstance(value, Iterable)
    named = [] if value is None else [value] if single else list(value)
    for one in named:
        if not isinstance(one, Awaited) and not (isinstance(one, str) and one.startswith("urn:")):
            raise InvalidInputError(
                f"{option} takes resources or their URNs, not {described(one)}, in the options of {owner}"
            )
    return named


def urns_of(sources: Iterable[Deferred[Any]]) -> list[str]:
    return [source.registered.urn for source in sources if isinstance(source, Resource)]


def resolve_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options as the native half reads them: URNs and references in the place of resources."""
    resolved: dict[str, Any] = {}
    for name, value in options.items():
        if name in ("parent", "deleted_with"):
            resolved[name] = _urn_of(value)
        elif name == "provider":
            resolved[name] = value._reference() if isinstance(value, Resource) else value
        elif name == "providers":
            providers = value if isinstance(value, Mapping) else {_package_of(item): item for item in value}
            resolved[name] = {
                package: item._reference() if isinstance(item, Resource) else item
                for package, item in providers.items()
            }
        elif name == "replace_with":
            resolved[name] = [_urn_of(item) for item in value]
        elif name == "aliases":
            resolved[name] = [
                alias
                if isinstance(alias, str)
                else {key: _urn_of(part) if key == "parent" else part for key, part in alias.items()}
                for alias in value
            ]
        elif name == "replacement_trigger":
            resolved[name] = substitute(value)
        elif _is_list(value):
            resolved[name] = list(value)
        else:
            resolved[name] = value
    return resolved


def _urn_of(value: Any) -> str:
    return value.registered.urn if isinstance(value, Resource) else str(value)


def _package_of(provider: Resource) -> str:
    return provider.type.rsplit(":", 1)[-1]
