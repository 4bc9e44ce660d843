"""Transforms: functions that change resources and calls of functions before the engine acts on them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import cleandoc
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Union

from . import resource_options as _declared
from ._checks import refusal, require_function, require_given
from ._functions import Described, describe, known
from ._record import record
from ._substitution import checked
from ._work import in_invoke_transform
from .errors import InvalidInputError
from .hooks import Hooks, bind, named
from .resource_options import INVOKE_OPTIONS, RESOURCE_OPTIONS, InvokeOptions
from .values import PropertyValue

if TYPE_CHECKING:
    from ._work import Work
    from .resource import Resource

__all__ = [
    "InvokeTransform",
    "InvokeTransformArgs",
    "InvokeTransformResult",
    "ResourceOptions",
    "Transform",
    "TransformArgs",
    "TransformResult",
]

Values = Mapping[str, PropertyValue]


@record(frozen=True, slots=True, kw_only=True)
class TransformArgs:
    """A resource as a transform sees it, before it is registered.

    Secret values are :class:`~stackwright.Secret`, and unknown ones, which only previews have, are :data:`~stackwright.UNKNOWN`:
    :func:`~stackwright.unwrap` and :func:`~stackwright.is_unknown` are for them.
    """

    type: str
    """The type."""
    name: str
    """The name."""
    custom: bool
    """``True`` for a resource that a provider manages, ``False`` for a component."""
    parent: str | None
    """The URN of the parent."""
    inputs: Values
    """The inputs; they cannot be changed in place."""
    options: ResourceOptions
    """The options that are set, those that the resource inherits included: resources are URNs, and providers are references. They
    cannot be changed in place."""


@record(frozen=True, slots=True, kw_only=True)
class TransformResult:
    """What a transform changes; what is left out is unchanged."""

    inputs: Values | None = None
    """All inputs of the resource. They may contain outputs and resources, which the resource then depends on. An input that keeps
    its name keeps the dependencies that it had."""
    options: ResourceOptions | Mapping[str, Any] | None = None
    """The options that change, as :class:`~stackwright.ResourceOptions`; an option that is ``None`` is removed. ``parent`` and ``transforms`` cannot be changed."""


@record(frozen=True, slots=True, kw_only=True)
class InvokeTransformArgs:
    """A function's call as a transform sees it; values are those of :class:`TransformArgs`."""

    token: str
    """The function, as ``package:module:member``."""
    arguments: Values
    """The arguments; they cannot be changed in place."""
    options: InvokeOptions
    """The options that choose the provider, as far as they are set: ``provider``, ``version``, ``plugin_download_url``."""


@record(frozen=True, slots=True, kw_only=True)
class InvokeTransformResult:
    """What a transform changes of a function's call; what is left out is unchanged."""

    arguments: Values | None = None
    """All arguments; they may contain outputs."""
    options: InvokeOptions | Mapping[str, Any] | None = None
    """The options that change: ``provider``, ``version`` and ``plugin_download_url``. One that is ``None`` is removed."""


Transform = Callable[[TransformArgs], Union[TransformResult, None, Awaitable[Union[TransformResult, None]]]]
"""Changes a resource before it is registered: returns a :class:`TransformResult`, or ``None`` to leave it as it is. It is an ordinary
function, which runs on a thread, or an ``async`` one; calls for several resources are concurrent. One that takes longer than five
minutes fails, and a cancelled operation gives it up. What it raises refuses the resource, with an error that names both."""

InvokeTransform = Callable[
    [InvokeTransformArgs], Union[InvokeTransformResult, None, Awaitable[Union[InvokeTransformResult, None]]]
]
"""Changes a function's call before its provider is chosen, as :data:`Transform` does resources. Calls are one after the other. A
transform may call functions itself, which are not transformed then."""


class ResourceOptions(_declared.ResourceOptions, total=False):
    """The options of a resource.

    - ``hooks`` (Hooks | None): Functions that run before and after its steps.
    - ``transforms`` (Sequence[Transform] | None): Functions that change it, and all that is below it, before it is registered: its own
      in their order, then those of its parents from the nearest to the furthest, then those of the stack.
    """

    hooks: Hooks | None
    transforms: Sequence[Transform] | None


ResourceOptions.__doc__ = "\n".join(
    [cleandoc(ResourceOptions.__doc__ or ""), cleandoc(_declared.ResourceOptions.__doc__ or "").partition("\n\n")[2]]
)

_FIXED: Final = ("parent", "transforms")
"""Options of resources that no transform changes."""

_FIXED_OF_CALLS: Final = ("parent", "depends_on")
"""Options of calls that no transform changes."""

Attached = tuple[list[Described], dict[str, list[str]]]
"""The transforms of a resource, and the names of its hooks by moment."""


def attached(context: Work, resource: Resource, options: Mapping[str, Any]) -> tuple[dict[str, Any], Attached]:
    """Returns options without the functions among them, and these, with the hooks registered.

    :raises InvalidInputError: for what is neither a transform nor a hook.
    """
    others = dict(options)
    transforms, hooks = others.pop("transforms", None), others.pop("hooks", None)
    if transforms is not None:
        option = f"transforms of the resource {resource.name!r}"
        require_given(option, transforms, (list, tuple), "a list of functions")
        for transform in transforms:
            required(option, transform)
    described = [of_resources(context, transform) for transform in transforms or ()]
    bindings = {} if hooks is None else bind(context, hooks, resource.type, resource.name)
    return others, (described, bindings)


def required(option: str, transform: object) -> None:
    """Refuses what is no transform.

    :raises InvalidInputError: that names the option.
    """
    if transform is None:
        raise refusal(option, "a function", transform)
    require_function(option, transform)


def of_resources(context: Work, transform: Transform) -> Described:
    """Describes a transform of resources."""

    def finish(args: TransformArgs, returned: Any) -> Any:
        return None if returned is None else _changed(context, args, returned)

    def keep(args: TransformArgs, error: BaseException) -> None:
        context._failures[f"{args.type}::{args.name}"] = error

    return describe(context, "the transform", transform, _args, finish, keep)


def of_invokes(context: Work, transform: InvokeTransform) -> Described:
    """Describes a transform of calls of functions."""

    def finish(args: InvokeTransformArgs, returned: Any) -> Any:
        return None if returned is None else _changed_call(context, args, returned)

    def keep(args: InvokeTransformArgs, error: BaseException) -> None:
        context._failures[args.token] = error

    return describe(context, "the transform", transform, _call_args, finish, keep, in_invoke_transform)


def _args(facts: dict[str, Any]) -> TransformArgs:
    options = facts["options"]
    if "hooks" in options:
        options["hooks"] = named(options["hooks"])
    facts["inputs"], facts["options"] = MappingProxyType(facts["inputs"]), MappingProxyType(options)
    return TransformArgs(**facts)


def _call_args(facts: dict[str, Any]) -> InvokeTransformArgs:
    facts["arguments"], facts["options"] = MappingProxyType(facts["arguments"]), MappingProxyType(facts["options"])
    return InvokeTransformArgs(**facts)


def _require_result(returned: Any, kind: type) -> None:
    if not isinstance(returned, kind):
        raise InvalidInputError(f"it returned {type(returned).__name__}; a transform returns {kind.__name__} or None")


def _values(member: str, values: Any) -> dict[str, Any] | None:
    if values is None:
        return None
    require_given(member, values, Mapping, "a mapping of values by name")
    return dict(values)


def _options(changes: Any, fixed: tuple[str, ...]) -> dict[str, Any] | None:
    if changes is None:
        return None
    require_given("options", changes, Mapping, "a mapping of options by name")
    for name in fixed:
        if name in changes:
            raise InvalidInputError(f"a transform cannot change {name}")
    return dict(changes)


def _changed(context: Work, args: TransformArgs, returned: Any) -> Any:
    _require_result(returned, TransformResult)
    inputs, options = _values("inputs", returned.inputs), _options(returned.options, _FIXED)
    owner = f"the resource {args.name!r}"
    hooks: dict[str, list[str]] | None = None
    names = list(options or ())
    if options is not None:
        given = options.pop("hooks", None)
        hooks = {} if given is None else bind(context, given, args.type, args.name)
        options = dict(checked("resource", RESOURCE_OPTIONS, options, owner))

    def made(values: dict[str, Any], by_property: Any, named: dict[str, Any], urns: list[str]) -> Any:
        return (None if inputs is None else values), by_property, (None if options is None else named), names, hooks, urns

    return known(context, inputs or {}, options or {}, owner, made)


def _changed_call(context: Work, args: InvokeTransformArgs, returned: Any) -> Any:
    _require_result(returned, InvokeTransformResult)
    arguments = _values("arguments", returned.arguments)
    options = _options(returned.options, _FIXED_OF_CALLS)
    names = list(options or ())
    owner = f"the call of {args.token!r}"
    if options is not None:
        options = dict(checked("invoke", INVOKE_OPTIONS, options, owner))

    def made(values: dict[str, Any], _by_property: Any, named: dict[str, Any], _urns: list[str]) -> Any:
        return (None if arguments is None else values), (None if options is None else named), names

    return known(context, arguments or {}, options or {}, owner, made)
