"""Hooks: functions that run before and after the steps of a resource, or decide whether a failed one is tried again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Union

from ._checks import refusal, require_function, require_given
from ._functions import describe
from ._record import record
from ._stackwright import refuse_name
from .errors import InvalidInputError
from .values import PropertyValue

if TYPE_CHECKING:
    from ._work import Work

__all__ = ["ErrorHook", "ErrorHookArgs", "Hook", "HookArgs", "HookResourceOptions", "Hooks"]

Values = Mapping[str, PropertyValue]


@record(frozen=True, slots=True, kw_only=True)
class HookResourceOptions:
    """The options of a resource, for hooks."""

    parent: str | None
    """The URN of the parent."""
    dependencies: Sequence[str]
    """The URNs of all resources that it depends on."""
    provider: str
    """The reference of the provider, ``<urn>::<id>``; empty for components and providers."""
    protect: bool
    """Whether deletion is refused."""
    retain_on_delete: bool
    """Whether deletion keeps the real resource."""
    aliases: Sequence[str]
    """Former URNs."""
    ignore_changes: Sequence[str]
    """Paths of inputs whose changes are ignored."""
    replace_on_changes: Sequence[str]
    """Paths of properties whose changes replace it."""
    additional_secret_outputs: Sequence[str]
    """Names of outputs that are secret."""
    import_id: str
    """The id that it is or was imported from; empty for none."""
    custom_timeouts: Mapping[str, float]
    """Limits of the provider's calls in seconds, by ``create``, ``update``, ``delete`` and ``read``."""
    deleted_with: str | None
    """The URN of the resource whose deletion deletes this one, too."""
    replace_with: Sequence[str]
    """The URNs of resources whose replacement replaces this one, too."""
    hide_diffs: Sequence[str]
    """Paths of properties whose differences are not shown."""
    replacement_trigger: PropertyValue
    """A value whose change replaces the resource; ``None`` for none."""
    hooks: Hooks
    """The names of its hooks."""


@record(frozen=True, slots=True, kw_only=True)
class HookArgs:
    """What a hook is called with. A creation has nothing old, a deletion nothing new.

    Secret values are :class:`~stackwright.Secret`; unknown ones, which only previews have, are :data:`~stackwright.UNKNOWN`.
    """

    urn: str
    """The URN of the resource."""
    id: str
    """The id; empty before the resource is created, and for components."""
    name: str
    """The name."""
    type: str
    """The type."""
    new_inputs: Values | None
    """The inputs that it gets; ``None`` for a deletion."""
    old_inputs: Values | None
    """The recorded inputs; ``None`` for a creation."""
    new_outputs: Values | None
    """The outputs of the step; ``None`` before it."""
    old_outputs: Values | None
    """The recorded outputs; ``None`` for a creation."""
    new_options: HookResourceOptions | None
    """The options that it gets; ``None`` for a deletion."""
    old_options: HookResourceOptions | None
    """The recorded options; ``None`` for a creation."""


@record(frozen=True, slots=True, kw_only=True)
class ErrorHookArgs:
    """What a hook that runs after a failed step is called with; see :class:`HookArgs`."""

    urn: str
    """The URN of the resource."""
    id: str
    """The id; empty when the resource does not exist."""
    name: str
    """The name."""
    type: str
    """The type."""
    new_inputs: Values | None
    """The inputs that it was to get; ``None`` for a deletion."""
    old_inputs: Values | None
    """The recorded inputs; ``None`` for a creation."""
    old_outputs: Values | None
    """The recorded outputs; ``None`` for a creation."""
    new_options: HookResourceOptions | None
    """The options that it was to get; ``None`` for a deletion."""
    old_options: HookResourceOptions | None
    """The recorded options; ``None`` for a creation."""
    failed_operation: Literal["create", "update", "delete"]
    """What failed."""
    errors: Sequence[str]
    """The errors of all attempts, the latest first."""


HookFunction = Callable[[HookArgs], Union[object, Awaitable[object]]]
ErrorHookFunction = Callable[[ErrorHookArgs], Union[bool, None, Awaitable[Union[bool, None]]]]


class Hook:
    """A function that runs before or after steps of resources, in :class:`Hooks`.

    ::

        def drain(args):
            subprocess.run(["drain", args.old_outputs["address"]], check=True)

        drained = sw.Hook("drain", drain)
        ctx.resource("vm:index:Machine", "web", {"size": "small"}, hooks=sw.Hooks(before_delete=[drained]))

    The state records the names of a resource's hooks. A run that deletes such a resource needs its delete hooks, whether or not
    the resource is in the program still: :meth:`Context.register_hook` registers a hook without a resource. A destroy needs
    ``destroy_program=True`` for it, and is refused otherwise.

    The function is an ordinary one, which runs on a thread, or ``async``; calls for several resources are concurrent. One that
    takes longer than five minutes fails, and a cancelled operation gives it up. What it raises fails the step, when it runs before,
    and is the cause of the operation's error. After a step it fails the operation alone, because the step is recorded. What it
    returns is not used.

    :param name: The name, which no other hook of the run has. One object can be used on any number of resources.
    :param on_dry_run: Whether it runs in previews as well.
    :param ignore_errors: Whether its failures are warnings alone.
    """

    __slots__ = ("function", "ignore_errors", "name", "on_dry_run")

    def __init__(
        self, name: str, function: HookFunction, *, on_dry_run: bool = False, ignore_errors: bool = False
    ) -> None:
        _require(name, function)
        require_given("on_dry_run", on_dry_run, bool, "True or False")
        require_given("ignore_errors", ignore_errors, bool, "True or False")
        self.name: Final = name
        self.function: Final = function
        self.on_dry_run: Final = on_dry_run
        self.ignore_errors: Final = ignore_errors

    def __repr__(self) -> str:
        return f"<Hook {self.name}>"


class ErrorHook:
    """A function that returns ``True`` to have a failed step tried again, for ``on_error`` of :class:`Hooks`.

    ::

        async def patient(args):
            await asyncio.sleep(5)
            return len(args.errors) < 3 and "throttled" in args.errors[0]

        ctx.resource("dns:index:Zone", "zone", {"domain": "example.com"}, hooks=sw.Hooks(on_error=[sw.ErrorHook("patient", patient)]))

    It runs after a create, an update or a delete that the provider has failed, in previews as well. Of several hooks all are
    asked, and one that returns ``True`` is enough; there are at most a hundred attempts. A delay is what the function waits.
    Otherwise as :class:`Hook`.
    """

    __slots__ = ("function", "name")

    def __init__(self, name: str, function: ErrorHookFunction) -> None:
        _require(name, function)
        self.name: Final = name
        self.function: Final = function

    def __repr__(self) -> str:
        return f"<ErrorHook {self.name}>"


def _require(name: str, function: object) -> None:
    require_given("name", name, str, "a text")
    if function is None:
        raise refusal(f"the hook {name!r}", "a function", function)
    require_function(f"the hook {name!r}", function)


HookEntries = Sequence[Union[Hook, HookFunction, str]]


@record(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The hooks of a resource or a component, by the moment at which they run, in their order.

    ::

        ctx.resource("db:index:Table", "orders", {"columns": ["id"]}, hooks=sw.Hooks(after_create=[seed], before_delete=[sw.Hook("dump", dump)]))

    An entry is a :class:`Hook`, the name of one that is registered, or a function. A function gets a name of its resource's
    type and name, of the moment and of its position. Hooks of deletions need a name of their own, because a later run has to
    find them by it; so do those after failures, each of which is an :class:`ErrorHook` or the name of one.

    The hooks after the creation and the update of a component run when it registers its outputs. A replacement is a creation and
    a deletion.
    """

    before_create: HookEntries = ()
    """Run before the resource is created."""
    after_create: HookEntries = ()
    """Run after it has been created."""
    before_update: HookEntries = ()
    """Run before it is updated."""
    after_update: HookEntries = ()
    """Run after it has been updated."""
    before_delete: HookEntries = ()
    """Run before it is deleted."""
    after_delete: HookEntries = ()
    """Run after it has been deleted."""
    on_error: Sequence[ErrorHook | str] = ()
    """Asked after a failed step whether it is tried again."""

    if not TYPE_CHECKING:

        def __new__(cls, *_arguments: object, **moments: object) -> Hooks:
            for name in moments:
                if name not in _MOMENTS:
                    refuse_name("moment", name, "hooks", sorted(_MOMENTS))
            return object.__new__(cls)


_MOMENTS: Final = {name: "".join(part.title() for part in name.split("_")) for name in Hooks.__annotations__}
"""The moments as records name them."""


def bind(context: Work, hooks: Hooks, type_: str, name: str) -> dict[str, list[str]]:
    """Registers the hooks of a resource; returns their names by moment.

    :raises InvalidInputError: for what is no hook, or a function without a name that needs one.
    """
    owner = f"of the resource {name!r}"
    require_given(f"hooks {owner}", hooks, Hooks, "stackwright.Hooks")
    bindings: dict[str, list[str]] = {}
    for moment, recorded in _MOMENTS.items():
        entries = getattr(hooks, moment)
        require_given(f"{moment} {owner}", entries, (list, tuple), "a list of hooks")
        if entries:
            prefix = f"{type_}_{name}_{moment}"
            names = [_bound(context, moment, entry, f"{prefix}_{index}", owner) for index, entry in enumerate(entries)]
            bindings[recorded] = names
    return bindings


def _bound(context: Work, moment: str, entry: Any, derived: str, owner: str) -> str:
    if isinstance(entry, str):
        return entry
    if moment == "on_error":
        if isinstance(entry, ErrorHook):
            return register(context, entry)
        raise refusal(moment, "objects of the class ErrorHook, or their names", entry, owner)
    if isinstance(entry, Hook):
        return register(context, entry)
    if isinstance(entry, ErrorHook) or not callable(entry):
        raise refusal(moment, "objects of the class Hook, their names, and functions", entry, owner)
    if moment in ("before_delete", "after_delete"):
        wanted = "objects of the class Hook, or their names, because a later run has to find them"
        raise InvalidInputError(f"{moment} {owner} takes {wanted}; use Hook(name, function)")
    require_function(f"{moment} {owner}", entry)
    return context._run.register_hook((derived, entry, _described(context, Hook(derived, entry)), (False, False)), True)


def register(context: Work, hook: Hook | ErrorHook) -> str:
    """Registers a hook, unless it is registered already; returns its name."""
    options = (hook.on_dry_run, hook.ignore_errors) if isinstance(hook, Hook) else None
    return context._run.register_hook((hook.name, hook, _described(context, hook), options), False)


def _described(context: Work, hook: Hook | ErrorHook) -> Any:
    def keep(args: HookArgs | ErrorHookArgs, error: BaseException) -> None:
        context._raised.keep(args.urn, error)

    if isinstance(hook, Hook):
        return describe(context, f"the hook {hook.name!r}", hook.function, _hook_args, _nothing, keep)

    def decided(_args: ErrorHookArgs, returned: Any) -> bool:
        if returned is not None and not isinstance(returned, bool):
            raise InvalidInputError(f"it returned {type(returned).__name__}; a hook after a failure returns True or False")
        return bool(returned)

    return describe(context, f"the hook {hook.name!r}", hook.function, _error_hook_args, decided, keep)


def _nothing(_args: HookArgs, _returned: object) -> None:
    return None


def named(bindings: Mapping[str, Sequence[str]]) -> Hooks:
    """Returns hooks of names by moment, as records have them."""
    return Hooks(**{moment: tuple(bindings.get(recorded, ())) for moment, recorded in _MOMENTS.items()})


def _with_options(facts: dict[str, Any]) -> dict[str, Any]:
    for member in ("new_options", "old_options"):
        options = facts[member]
        if options is not None:
            options["hooks"] = named(options["hooks"])
            facts[member] = HookResourceOptions(**options)
    return facts


def _hook_args(facts: dict[str, Any]) -> HookArgs:
    return HookArgs(**_with_options(facts))


def _error_hook_args(facts: dict[str, Any]) -> ErrorHookArgs:
    return ErrorHookArgs(**_with_options(facts))
