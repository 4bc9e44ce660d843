"""Hooks and error hooks of resources, from programs of this package's own API."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
import stackwright as sw
import stackwright.sync

from conftest import MakeEngine, Memory, on_loop, states

THING = "mem:index:Thing"
MOMENTS = ("before_create", "after_create", "before_update", "after_update", "before_delete", "after_delete")


class Flaky(Memory):
    """Fails the first calls of a method."""

    def __init__(self, method: str, failures: int) -> None:
        super().__init__()
        self._method = method
        self._failures = failures

    def _attempt(self, method: str, name: str) -> None:
        if method == self._method and self._failures > 0:
            self._failures -= 1
            self.note(method, name)
            raise sw.ProviderError(f"throttled, {self._failures} to go")

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        self._attempt("create", request.name)
        return super().create(request)

    def update(self, request: sw.UpdateRequest) -> sw.UpdateResult:
        self._attempt("update", request.name)
        return super().update(request)

    def delete(self, request: sw.DeleteRequest) -> None:
        self._attempt("delete", request.name)
        super().delete(request)


def noting(memory: Memory, *, is_async: bool = False, prefix: str = "hook") -> Callable[[str], sw.Hook]:
    """Returns a maker of hooks that record their calls among those of the provider."""

    def make(name: str) -> sw.Hook:
        def note(args: sw.HookArgs) -> None:
            memory.note(name, args.name)

        async def note_async(args: sw.HookArgs) -> None:
            await asyncio.sleep(0)
            memory.note(name, args.name)

        return sw.Hook(name, note_async if is_async else note)

    return make


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "blocking"])
@on_loop
async def test_hooks_run_before_and_after_each_kind_of_step(make_engine: MakeEngine, memory: Memory, is_async: bool) -> None:
    size = 1
    make = noting(memory, is_async=is_async)
    given: dict[str, Any] = {moment: [make(moment)] for moment in MOMENTS}
    hooks = sw.Hooks(**given)

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"size": size}, hooks=hooks)

    def blocking(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"size": size}, hooks=hooks).wait()

    for kind in (program, blocking):
        memory.calls.clear()
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", kind)
            await stack.preview()
            assert memory.calls == [], "hooks leave previews out"
            await stack.up()
            assert memory.calls == [("before_create", "a"), ("create", "a"), ("after_create", "a")]
            memory.calls.clear()
            size += 1
            await stack.up()
            assert memory.calls == [("before_update", "a"), ("update", "a"), ("after_update", "a")]
            memory.calls.clear()
            await stack.destroy(destroy_program=True)
            assert memory.calls == [("before_delete", "a"), ("delete", "a"), ("after_delete", "a")]


def test_hooks_run_in_programs_of_the_synchronous_api(memory: Memory, tmp_path: Any) -> None:
    def program(ctx: sw.Context) -> None:
        first, second = noting(memory, is_async=True)("first"), noting(memory)("second")
        ctx.resource(THING, "a", {}, hooks=sw.Hooks(before_create=[first], after_create=[second]))

    with stackwright.sync.Engine(store=f"file://{tmp_path / 'state'}", providers={"mem": memory}) as engine:
        engine.stack("shop/dev", program).up()
    assert memory.calls == [("first", "a"), ("create", "a"), ("second", "a")]


@on_loop
async def test_hooks_receive_what_the_step_knows(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[sw.HookArgs] = []
    size = 1

    async def program(ctx: sw.Context) -> None:
        first = ctx.resource(THING, "first", {})
        look = sw.Hook("look", seen.append)
        hooks = sw.Hooks(before_create=[look], after_create=[look], before_update=[look], before_delete=[look])
        ctx.resource(
            THING, "a", {"size": size, "key": sw.secret("hyacinth")}, depends_on=[first], ignore_changes=["x"],
            custom_timeouts={"create": 5}, hooks=hooks,
        )

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        size = 2
        await stack.up()
        await stack.destroy(destroy_program=True)
    before, after, update, delete = seen
    inputs = {"size": 1, "key": sw.Secret("hyacinth")}
    assert (before.id, before.name, before.type, before.new_inputs) == ("", "a", THING, inputs)
    assert (before.old_inputs, before.old_outputs, before.new_outputs, before.old_options) == (None, None, None, None)
    assert before.urn == after.urn and before.urn.endswith("::a")
    assert after.id.startswith("a-") and after.new_outputs == {**inputs, "made": True}
    assert update.old_inputs == inputs and update.new_inputs == {**inputs, "size": 2} and update.old_outputs == after.new_outputs
    assert delete.new_inputs is None and delete.new_options is None and (delete.old_inputs or {})["size"] == 2
    options = before.new_options
    assert options is not None and options.dependencies[0].endswith("::first")
    assert (options.protect, options.ignore_changes, options.custom_timeouts) == (False, ["x"], {"create": 5.0})
    assert options.hooks.before_create == ("look",) and options.parent is not None and options.provider.count("::") > 3


@on_loop
async def test_a_hook_on_dry_run_sees_unknowns_in_previews(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[Any] = []

    async def program(ctx: sw.Context) -> None:
        first = ctx.resource(THING, "first", {})
        look = sw.Hook("look", lambda args: seen.append((args.new_inputs or {})["of"]), on_dry_run=True)
        ctx.resource(THING, "a", {"of": first["made"]}, hooks=sw.Hooks(before_create=[look]))

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.preview()
        await stack.up()
    assert sw.is_unknown(seen[0]) and seen[1:] == [True]


def broken(_args: Any) -> None:
    raise KeyError("valve")


async def broken_async(_args: Any) -> None:
    raise ValueError("closed") from KeyError("valve")


async def not_awaited(_args: Any) -> None: ...


def exits(_args: Any) -> None:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (broken, "before hook \"gate\" failed: KeyError: 'valve'"),
        (broken_async, 'before hook "gate" failed: ValueError: closed\ncaused by: KeyError: \'valve\''),
        (lambda args: not_awaited(args), "the hook 'gate' returned coroutine; declare it with async def"),
        (exits, 'before hook "gate" failed: SystemExit: 3'),
    ],
)
@on_loop
async def test_a_hook_that_fails_before_a_step_fails_the_step(
    make_engine: MakeEngine, memory: Memory, function: Any, text: str
) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {}, hooks=sw.Hooks(before_create=[sw.Hook("gate", function)]))

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        result = await stack.up().wait()
        error = result.error
        assert isinstance(error, sw.StackwrightError) and text in error.message, str(error)
        assert (error.urn or "").endswith("::a") and memory.calls == []
        assert isinstance(error.__cause__, (KeyError, ValueError, SystemExit, sw.InvalidInputError))
        assert [step.status for step in result.steps if step.name == "a"] == ["failed"]
        assert "a" not in states(await stack.export_deployment())


@on_loop
async def test_a_hook_that_fails_after_a_step_fails_the_operation_and_keeps_the_resource(
    make_engine: MakeEngine, memory: Memory
) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {}, hooks=sw.Hooks(after_create=[sw.Hook("note", broken)]))

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        with pytest.raises(sw.FailedError, match="after hook \"note\" failed: KeyError: 'valve'"):
            await stack.up()
        assert "a" in states(await stack.export_deployment())


@on_loop
async def test_ignored_errors_are_warnings(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        gate = sw.Hook("gate", broken, ignore_errors=True)
        ctx.resource(THING, "a", {}, hooks=sw.Hooks(before_create=[gate], after_create=[gate]))

    async with make_engine(mem=memory) as engine:
        result = await (await engine.stack("shop/dev", program)).up()
    warnings = [item.message for item in result.diagnostics if item.severity == "warning"]
    assert warnings == [f"{which} hook \"gate\" failed: KeyError: 'valve'" for which in ("before", "after")]


@on_loop
async def test_plain_functions_get_names_of_resource_moment_and_position(make_engine: MakeEngine, memory: Memory) -> None:
    calls: list[str] = []

    def first(args: sw.HookArgs) -> None:
        calls.append(f"first {args.urn.split('$')[0][-5:]}")

    def second(_args: sw.HookArgs) -> None:
        calls.append("second")

    def noting_name(name: str) -> Callable[[sw.HookArgs], None]:
        return lambda args: calls.append(name)

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {}, hooks=sw.Hooks(before_create=[first, second], after_update=[second]))
        for name in ("x", "y"):
            box = ctx.component(f"box:index:{name.upper()}", name)
            # The same type and name below another parent, with a function of its own.
            ctx.resource(THING, "same", {}, parent=box, hooks=sw.Hooks(before_create=[noting_name(name)]))

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        resources = (await stack.export_deployment())["deployment"]["resources"]
    assert calls.index("second") > 0 and {"x", "y"} <= set(calls) and len(calls) == 4
    hooks = {resource["urn"]: resource.get("resourceHooks") for resource in resources}
    own = next(found for urn, found in hooks.items() if urn.endswith("::a"))
    assert own == {
        "BeforeCreate": [f"{THING}_a_before_create_0", f"{THING}_a_before_create_1"],
        "AfterUpdate": [f"{THING}_a_after_update_0"],
    }
    same = [found["BeforeCreate"] for urn, found in hooks.items() if urn.endswith("::same") and found is not None]
    assert sorted(same) == [[f"{THING}_same_before_create_0"], [f"{THING}_same_before_create_0_2"]]


@on_loop
async def test_one_hook_serves_many_resources_and_a_name_belongs_to_one_hook(make_engine: MakeEngine, memory: Memory) -> None:
    calls: list[str] = []
    shared = sw.Hook("shared", lambda args: calls.append(args.name))
    refused: list[str] = []

    async def program(ctx: sw.Context) -> None:
        for name in ("a", "b"):
            ctx.resource(THING, name, {}, hooks=sw.Hooks(before_create=[shared], after_create=["shared"]))
        ctx.register_hook(shared)
        for other in (sw.Hook("shared", broken), sw.ErrorHook("shared", lambda args: True), sw.Hook("", broken)):
            with pytest.raises(sw.StackwrightError) as caught:
                ctx.register_hook(other)
            refused.append(caught.value.message)

    async with make_engine(mem=memory) as engine:
        await (await engine.stack("shop/dev", program)).up()
    assert sorted(calls) == ["a", "a", "b", "b"]
    taken = 'resource hook already registered for name "shared"'
    assert refused == [taken, taken, "resource hook name cannot be empty"]


@on_loop
async def test_two_hooks_of_one_name_in_the_options_of_resources_fail_the_run(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {}, hooks=sw.Hooks(before_create=[sw.Hook("gate", print)]))
        ctx.resource(THING, "b", {}, hooks=sw.Hooks(before_create=[sw.Hook("gate", print)]))

    async with make_engine(mem=memory) as engine:
        result = await (await engine.stack("shop/dev", program)).up().wait()
    assert 'already registered for name "gate"' in str(result.error)


@on_loop
async def test_delete_hooks_need_the_program(make_engine: MakeEngine, memory: Memory) -> None:
    make = noting(memory)
    drain = make("drain")

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {}, hooks=sw.Hooks(before_delete=[drain]))

    async def without(ctx: sw.Context) -> None:
        ctx.resource(THING, "b", {})

    async def registering(ctx: sw.Context) -> None:
        ctx.register_hook(make("drain"))

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        refused = await stack.destroy().wait()
        assert "Resource has delete hooks registered, but the program is not running. Hooks: drain" in [
            item.message for item in refused.diagnostics
        ]
        assert refused.outcome == "failed" and memory.count("delete") == 0
        missing = await stack.up(program=without).wait()
        assert 'hook "drain" was not registered' in str(missing.error) and memory.count("delete") == 0
        assert "a" in states(await stack.export_deployment())
    # Another engine: the state names the hook, and the program brings its function.
    memory.calls.clear()
    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", registering)
        await stack.destroy(destroy_program=True)
    assert ("drain", "a") in memory.calls
    assert memory.calls.index(("drain", "a")) < memory.calls.index(("delete", "a"))


@on_loop
async def test_hooks_of_components_run_with_their_outputs(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[tuple[str, Any]] = []
    make = noting(memory)

    async def program(ctx: sw.Context) -> None:
        note = sw.Hook("note", lambda args: seen.append((args.name, args.new_outputs)))
        box = ctx.component("box:index:Box", "box", {"n": 1}, hooks=sw.Hooks(before_create=[make("gate")], after_create=[note]))
        inner = ctx.resource(THING, "a", {"size": 2}, parent=box)
        box.register_outputs({"size": inner["size"]})

    async with make_engine(mem=memory) as engine:
        await (await engine.stack("shop/dev", program)).up()
    assert memory.calls == [("gate", "box"), ("create", "a")] and seen == [("box", {"size": 2})]


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "blocking"])
@on_loop
async def test_hooks_in_the_code_of_components_and_on_remote_ones(
    make_engine: MakeEngine, memory: Memory, is_async: bool
) -> None:
    async_hook, shared = noting(memory, is_async=True)("async"), noting(memory)("shared")

    def declare(ctx: sw.Context, request: sw.ConstructRequest) -> sw.Resource:
        hooks = sw.Hooks(before_create=[async_hook], after_create=[shared])
        return ctx.resource(THING, f"{request.name}-lid", {}, hooks=hooks)

    class Boxes(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> dict[str, Any]:
            return {"made": declare(ctx, request)["made"]}

    class Blocking(sw.Provider):
        def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> dict[str, Any]:
            return {"made": declare(ctx, request)["made"].wait()}

    async def program(ctx: sw.Context) -> None:
        for name in ("box", "crate"):
            ctx.remote_component("box:index:Box", name, {}, hooks=sw.Hooks(after_create=[shared]))

    async with make_engine(mem=memory, box=Boxes() if is_async else Blocking()) as engine:
        await (await engine.stack("shop/dev", program)).up()
    for name in ("box", "crate"):
        calls = [call for call in memory.calls if call[1] == f"{name}-lid"]
        assert calls == [("async", f"{name}-lid"), ("create", f"{name}-lid"), ("shared", f"{name}-lid")]
        assert memory.calls.count(("shared", name)) == 1


@pytest.mark.parametrize("method", ["create", "update", "delete"])
@on_loop
async def test_an_error_hook_has_a_failed_step_tried_again(make_engine: MakeEngine, method: str) -> None:
    memory = Flaky(method, 2)
    seen: list[sw.ErrorHookArgs] = []
    size = 1

    async def patient(args: sw.ErrorHookArgs) -> bool:
        seen.append(args)
        # A delay is what the function waits.
        await asyncio.sleep(0.001)
        return len(args.errors) < 3

    async def program(ctx: sw.Context) -> None:
        hooks = sw.Hooks(on_error=[sw.ErrorHook("never", lambda args: None), sw.ErrorHook("patient", patient)])
        ctx.resource(THING, "a", {"size": size, "key": sw.secret("hyacinth")}, hooks=hooks)

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        size = 2
        await stack.up()
        await stack.destroy(destroy_program=True)
    assert memory.count(method) == 3 and memory.things == {}
    assert [args.failed_operation for args in seen] == [method, method]
    assert [len(args.errors) for args in seen] == [1, 2] and "throttled, 0 to go" in seen[1].errors[0]
    old = seen[0].old_inputs
    assert (old is None) == (method == "create") and (seen[0].new_inputs is None) == (method == "delete")
    assert sw.Secret("hyacinth") in (seen[0].new_inputs or old or {}).values()


@on_loop
async def test_a_blocking_error_hook_in_a_blocking_program_may_give_up(make_engine: MakeEngine) -> None:
    memory = Flaky("create", 99)

    def program(ctx: sw.Context) -> None:
        again = sw.ErrorHook("again", lambda args: len(args.errors) < 4)
        ctx.resource(THING, "a", {}, hooks=sw.Hooks(on_error=[again])).wait()

    async with make_engine(mem=memory) as engine:
        with pytest.raises(sw.StackwrightError, match="throttled"):
            await (await engine.stack("shop/dev", program)).up()
    assert memory.count("create") == 4


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (broken, "error hook \"again\" failed: KeyError: 'valve'"),
        (lambda args: "yes", "it returned str; a hook after a failure returns True or False"),
        (lambda args: 1, "it returned int; a hook after a failure returns True or False"),
    ],
)
@on_loop
async def test_an_error_hook_that_fails_ends_the_step_with_both_errors(
    make_engine: MakeEngine, function: Any, text: str
) -> None:
    memory = Flaky("create", 99)

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {}, hooks=sw.Hooks(on_error=[sw.ErrorHook("again", function)]))

    async with make_engine(mem=memory) as engine:
        result = await (await engine.stack("shop/dev", program)).up().wait()
    assert memory.count("create") == 1
    assert text in str(result.error) and "throttled" in str(result.error)


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "blocking"])
@on_loop
async def test_a_cancelled_operation_gives_up_a_hook_that_hangs(
    make_engine: MakeEngine, memory: Memory, is_async: bool
) -> None:
    loop, begun, released = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    given_up = asyncio.Event()

    async def hang_async(_args: sw.HookArgs) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()

    def hang(_args: sw.HookArgs) -> None:
        loop.call_soon_threadsafe(begun.set)
        released.wait(60)

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {}, hooks=sw.Hooks(before_create=[sw.Hook("gate", hang_async if is_async else hang)]))

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        operation = stack.up()
        await asyncio.wait_for(begun.wait(), 30)
        operation.cancel()
        result = await asyncio.wait_for(operation.wait(), 30)
        if is_async:
            await asyncio.wait_for(given_up.wait(), 30)
        released.set()
        assert isinstance(result.error, sw.CancelledError) and memory.calls == []
        deployment = await stack.export_deployment()
    assert "a" not in states(deployment) and not deployment["deployment"].get("pending_operations")


@on_loop
async def test_a_secret_that_a_hook_reads_is_kept_out_of_texts(make_engine: MakeEngine, memory: Memory) -> None:
    def leak(args: sw.HookArgs) -> None:
        raise ValueError(f"cannot use {sw.unwrap(args.new_inputs)} and {sw.secret('another-secret').value}")

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"key": sw.secret("hyacinth-secret")}, hooks=sw.Hooks(before_create=[leak]))

    async with make_engine(mem=memory) as engine:
        operation = (await engine.stack("shop/dev", program)).up()
        events = str([event.json async for event in operation])
        result = await operation.wait()
    for text in (events, str(result.error)):
        assert "cannot use" in text and "hyacinth-secret" not in text and "another-secret" not in text


@on_loop
async def test_what_is_no_hook_is_refused_where_it_is_given(make_engine: MakeEngine, memory: Memory) -> None:
    given: list[Any] = [
        [broken],
        sw.Hooks(before_create=broken),  # type: ignore[arg-type]
        sw.Hooks(before_create=[3]),  # type: ignore[list-item]
        sw.Hooks(before_create=[sw.ErrorHook("again", lambda args: True)]),  # type: ignore[list-item]
        sw.Hooks(before_delete=[broken]),
        sw.Hooks(on_error=[broken]),  # type: ignore[list-item]
        sw.Hooks(after_update=[lambda: None]),  # type: ignore[list-item,misc]
    ]
    refusals: list[str] = []

    async def program(ctx: sw.Context) -> None:
        for hooks in given:
            with pytest.raises(sw.InvalidInputError) as caught:
                ctx.resource(THING, "a", {}, hooks=hooks)
            refusals.append(str(caught.value))
        with pytest.raises(sw.InvalidInputError):
            ctx.register_hook(broken)  # type: ignore[arg-type]

    async with make_engine(mem=memory) as engine:
        result = await (await engine.stack("shop/dev", program)).up().wait()
        assert isinstance(result.error, sw.InvalidInputError), "a resource was not declared"
    assert refusals == [
        "hooks of the resource 'a' takes stackwright.Hooks, not list",
        "before_create of the resource 'a' takes a list of hooks, not function",
        "before_create of the resource 'a' takes objects of the class Hook, their names, and functions, not int",
        "before_create of the resource 'a' takes objects of the class Hook, their names, and functions, not ErrorHook",
        "before_delete of the resource 'a' takes objects of the class Hook, or their names, because a later run has to find them; "
        "use Hook(name, function)",
        "on_error of the resource 'a' takes objects of the class ErrorHook, or their names, not function",
        "after_update of the resource 'a' takes a function that is called with one argument, not one without parameters",
    ]
    for attempt in (
        lambda: sw.Hook(3, broken),  # type: ignore[arg-type]
        lambda: sw.Hook("a", None),  # type: ignore[arg-type]
        lambda: sw.Hook("a", broken, on_dry_run="yes"),  # type: ignore[arg-type]
        lambda: sw.ErrorHook("a", lambda: True),  # type: ignore[arg-type,misc]
    ):
        with pytest.raises(sw.InvalidInputError):
            attempt()


def test_a_misspelt_moment_of_hooks_is_refused_with_the_most_similar_one() -> None:
    with pytest.raises(sw.InvalidInputError, match="unknown moment 'before_creat' of hooks; did you mean 'before_create'\\?"):
        sw.Hooks(before_creat=[])  # type: ignore[call-arg]
    assert sw.Hooks(on_error=["patient"]).on_error == ["patient"]


@on_loop
async def test_transforms_see_and_change_the_hooks_of_a_resource(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[sw.Hooks | None] = []
    make = noting(memory)
    own, added = make("own"), make("added")

    def extend(args: sw.TransformArgs) -> sw.TransformResult | None:
        hooks = args.options.get("hooks")
        seen.append(hooks)
        if args.name == "b":
            return sw.TransformResult(options={"hooks": None})
        before = [] if hooks is None else list(hooks.before_create)
        return sw.TransformResult(options={"hooks": sw.Hooks(before_create=[*before, added])})

    async def program(ctx: sw.Context) -> None:
        ctx.register_hook(own)
        for name in ("a", "b"):
            ctx.resource(THING, name, {}, hooks=sw.Hooks(before_create=["own"]), transforms=[extend])

    async with make_engine(mem=memory) as engine:
        await (await engine.stack("shop/dev", program)).up()
    assert seen == [sw.Hooks(before_create=("own",))] * 2
    assert [call for call in memory.calls if call[1] == "a"] == [("own", "a"), ("added", "a"), ("create", "a")]
    assert [call for call in memory.calls if call[1] == "b"] == [("create", "b")]
