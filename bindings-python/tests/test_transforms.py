"""Transforms of resources, of the stack and of functions, from programs of this package's own API."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
import stackwright as sw
import stackwright.sync

from conftest import MakeEngine, Memory, on_loop, states

THING = "mem:index:Thing"


def adding(**inputs: Any) -> sw.Transform:
    """Returns a transform that adds inputs."""
    return lambda args: sw.TransformResult(inputs={**args.inputs, **inputs})


def adding_async(**inputs: Any) -> sw.Transform:
    async def add(args: sw.TransformArgs) -> sw.TransformResult:
        await asyncio.sleep(0)
        return sw.TransformResult(inputs={**args.inputs, **inputs})

    return add


async def inputs_after(engine: sw.Engine, program: Any) -> dict[str, dict[str, Any]]:
    """Returns the recorded inputs of an update by name."""
    stack = await engine.stack("shop/dev", program)
    await stack.up()
    return {name: state.get("inputs", {}) for name, state in states(await stack.export_deployment()).items()}


@pytest.mark.parametrize("make", [adding, adding_async])
@on_loop
async def test_a_transform_changes_inputs_in_both_kinds_of_programs(make_engine: MakeEngine, memory: Memory, make: Any) -> None:
    def blocking(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"size": 1}, transforms=[make(tag="own")])
        ctx.resource(THING, "b", {"size": 2}, transforms=[make(tag="own")]).wait()

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"size": 1}, transforms=[make(tag="own")])
        await ctx.resource(THING, "b", {"size": 2}, transforms=[make(tag="own")])

    for kind in (blocking, program):
        async with make_engine(mem=memory) as engine:
            found = await inputs_after(engine, kind)
            assert (found["a"], found["b"]) == ({"size": 1, "tag": "own"}, {"size": 2, "tag": "own"})


def test_transforms_work_in_programs_of_the_synchronous_api(memory: Memory, tmp_path: Any) -> None:
    def program(ctx: sw.Context) -> None:
        ctx.transform(adding_async(tag="all"))
        ctx.resource(THING, "a", {"size": 1}, transforms=[adding(own=True)]).wait()

    with stackwright.sync.Engine(store=f"file://{tmp_path / 'state'}", providers={"mem": memory}) as engine:
        engine.stack("shop/dev", program).up()
    assert list(memory.things.values()) == [{"size": 1, "own": True, "tag": "all"}]


@on_loop
async def test_own_transforms_run_first_then_those_of_parents_then_those_of_the_stack(
    make_engine: MakeEngine, memory: Memory
) -> None:
    order: list[tuple[str, str]] = []

    def noting(label: str) -> sw.Transform:
        def note(args: sw.TransformArgs) -> None:
            order.append((label, args.name))

        return note

    async def program(ctx: sw.Context) -> None:
        ctx.transform(noting("first"))
        ctx.transform(noting("second"))
        far = ctx.component("box:index:Box", "far", transforms=[noting("far")])
        near = ctx.component("box:index:Box", "near", parent=far, transforms=[noting("near")])
        ctx.resource(THING, "a", {}, parent=near, transforms=[noting("own"), noting("other")])

    async with make_engine(mem=memory) as engine:
        await (await engine.stack("shop/dev", program)).up()
    assert [label for label, name in order if name == "a"] == ["own", "other", "near", "far", "first", "second"]
    assert [label for label, name in order if name == "near"] == ["near", "far", "first", "second"]


@on_loop
async def test_a_transform_of_the_stack_sees_what_is_registered_after_it(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[tuple[str, bool, str]] = []

    def look(args: sw.TransformArgs) -> None:
        seen.append((args.name, args.custom, (args.parent or "").rsplit("::", 1)[-1]))

    async def program(ctx: sw.Context) -> None:
        await ctx.resource(THING, "before", {})
        ctx.transform(look)
        box = ctx.component("box:index:Box", "box")
        ctx.resource(THING, "inside", {}, parent=box)
        ctx.provider("mem", "mine")

    async with make_engine(mem=memory) as engine:
        await (await engine.stack("shop/dev", program)).up()
    assert sorted(seen) == [("box", False, "shop-dev"), ("inside", True, "box"), ("mine", True, "shop-dev")]


@on_loop
async def test_options_that_a_transform_names_change_and_the_others_stay(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[sw.ResourceOptions] = []

    def guard(args: sw.TransformArgs) -> sw.TransformResult:
        seen.append(args.options)
        aliases: list[str | sw.Alias] = ["urn:pulumi:dev::shop::mem:index:Thing::old", {"name": "older"}]
        return sw.TransformResult(options={"protect": True, "custom_timeouts": None, "aliases": aliases})

    async def program(ctx: sw.Context) -> None:
        first = ctx.resource(THING, "first", {})
        ctx.resource(
            THING,
            "a",
            {"size": 1},
            depends_on=[first],
            retain_on_delete=True,
            ignore_changes=["size"],
            custom_timeouts={"create": 5},
            replacement_trigger=sw.secret("once"),
            transforms=[guard, lambda args: seen.append(args.options)],
        )

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        known = states(await stack.export_deployment())
    first = known["first"]["urn"]
    assert seen[0]["retain_on_delete"] is True and seen[0]["ignore_changes"] == ["size"]
    assert seen[0]["depends_on"] == [first] and seen[0]["custom_timeouts"] == {"create": 5.0}
    assert seen[0]["replacement_trigger"] == sw.Secret("once")
    record = known["a"]
    assert (record["protect"], record["retainOnDelete"], record["ignoreChanges"]) == (True, True, ["size"])
    assert record["dependencies"] == [first] and "customTimeouts" not in record
    assert "replacementTrigger" in record
    changed = {**seen[0], "protect": True, "aliases": ["urn:pulumi:dev::shop::mem:index:Thing::old", {"name": "older"}]}
    del changed["custom_timeouts"]
    assert dict(seen[1]) == changed


@on_loop
async def test_secrets_unknowns_and_dependencies_pass_through_a_transform(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[tuple[bool, dict[str, Any]]] = []

    async def program(ctx: sw.Context) -> None:
        def look(args: sw.TransformArgs) -> sw.TransformResult:
            seen.append((ctx.dry_run, dict(args.inputs)))
            return sw.TransformResult(inputs={**args.inputs, "copy": args.inputs["key"], "deep": {"list": [args.inputs["key"]]}})

        first = ctx.resource(THING, "first", {"size": 1})
        key = sw.secret("hyacinth")
        ctx.resource(THING, "a", {"of": first["made"], "key": key, "plain": [1, {"x": None}]}, transforms=[look])

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.preview()
        await stack.up()
        text = str(await stack.export_deployment())
        record = states(await stack.export_deployment())["a"]
        again = await stack.up()
        assert dict(again.changes) == {"same": 3}
    preview, update = seen[0], seen[1]
    assert preview[0] and sw.is_unknown(preview[1]["of"]) and preview[1]["key"] == sw.Secret("hyacinth")
    assert update == (False, {"of": True, "key": sw.Secret("hyacinth"), "plain": [1, {"x": None}]})
    assert "hyacinth" not in text, "every copy is encrypted"
    first = record["dependencies"][0]
    assert first.endswith("::first")
    assert record["propertyDependencies"] == {"of": [first], "key": [], "copy": [], "deep": [], "plain": []}


@on_loop
async def test_a_secret_that_a_transform_makes_is_kept_out_of_texts(make_engine: MakeEngine, memory: Memory) -> None:
    def leak(_args: sw.TransformArgs) -> None:
        value = sw.secret("a-very-long-secret")
        raise ValueError(f"cannot use {value.value}")

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {}, transforms=[leak])

    async with make_engine(mem=memory) as engine:
        operation = (await engine.stack("shop/dev", program)).up()
        events = str([event.json async for event in operation])
        result = await operation.wait()
    assert "cannot use [secret]" in events and "a-very-long-secret" not in events
    assert result.error is not None and "a-very-long-secret" not in str(result.error)


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "blocking"])
@on_loop
async def test_outputs_that_a_transform_returns_become_dependencies(
    make_engine: MakeEngine, memory: Memory, is_async: bool
) -> None:
    def declare(ctx: sw.Context) -> list[sw.Resource]:
        first = ctx.resource(THING, "first", {"size": 3})
        last = ctx.resource(THING, "last", {})

        def connect(args: sw.TransformArgs) -> sw.TransformResult:
            return sw.TransformResult(
                inputs={**args.inputs, "size": first["size"].apply(lambda size: size + 1)}, options={"depends_on": [last]}
            )

        async def connect_async(args: sw.TransformArgs) -> sw.TransformResult:
            return sw.TransformResult(inputs={**args.inputs, "id": first.id})

        return [
            ctx.resource(THING, "a", {"x": 1}, transforms=[connect]),
            ctx.resource(THING, "b", {"x": 1}, transforms=[connect_async]),
        ]

    async def program(ctx: sw.Context) -> None:
        declare(ctx)

    def blocking(ctx: sw.Context) -> None:
        for resource in declare(ctx):
            resource.wait()

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program if is_async else blocking)
        await stack.preview()
        await stack.up()
        known = states(await stack.export_deployment())
    first, last = known["first"]["urn"], known["last"]["urn"]
    assert known["a"]["inputs"] == {"x": 1, "size": 4} and known["b"]["inputs"]["id"].startswith("first-")
    assert known["a"]["dependencies"] == [last, first] or set(known["a"]["dependencies"]) == {first, last}
    assert known["a"]["propertyDependencies"] == {"x": [], "size": [first]}
    assert known["b"]["dependencies"] == [first]


@on_loop
async def test_a_transform_of_the_stack_that_returns_an_output_adds_a_dependency_as_a_whole(
    make_engine: MakeEngine, memory: Memory
) -> None:
    async def program(ctx: sw.Context) -> None:
        first = ctx.resource(THING, "first", {"size": 3})

        def connect(args: sw.TransformArgs) -> sw.TransformResult | None:
            return sw.TransformResult(inputs={"size": first["size"]}) if args.name == "a" else None

        ctx.transform(connect)
        ctx.resource(THING, "a", {})

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        known = states(await stack.export_deployment())
        assert known["a"]["dependencies"] == [known["first"]["urn"]] and known["a"]["inputs"] == {"size": 3}


def raises(_args: Any) -> Any:
    raise KeyError("region")


async def raises_async(_args: Any) -> Any:
    raise ValueError("no such region") from KeyError("region")


def not_awaited(_args: Any) -> Any:
    return raises_async(_args)


def exits(_args: Any) -> Any:
    raise SystemExit(3)


async def exits_async(_args: Any) -> Any:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (raises, "KeyError: 'region'"),
        (raises_async, "ValueError: no such region\ncaused by: KeyError: 'region'"),
        (lambda args: 3, "it returned int; a transform returns TransformResult or None"),
        (lambda args: args, "it returned TransformArgs; a transform returns TransformResult or None"),
        (not_awaited, "the transform returned coroutine; declare it with async def"),
        (lambda args: sw.TransformResult(inputs=[1]), "inputs takes a mapping of values by name, not list"),  # type: ignore[arg-type]
        (lambda args: sw.TransformResult(inputs={"x": object()}), "a value of type object is not a property value"),
        (lambda args: sw.TransformResult(options={"protct": True}), "unknown option 'protct' of the resource 'a'; did you mean 'protect'?"),
        (lambda args: sw.TransformResult(options={"protect": "yes"}), "protect"),
        (lambda args: sw.TransformResult(options={"parent": "x"}), "a transform cannot change parent"),
        (lambda args: args.inputs.update(size=2), "AttributeError"),
        (exits, "SystemExit: 3"),
        (exits_async, "SystemExit: 3"),
    ],
)
@on_loop
async def test_a_transform_that_fails_names_resource_transform_and_cause(
    make_engine: MakeEngine, memory: Memory, transform: Any, text: str
) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "fine", {})
        ctx.resource(THING, "a", {"size": 1}, transforms=[lambda args: None, transform])

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        result = await stack.up().wait()
        error = result.error
        assert isinstance(error, sw.StackwrightError) and result.outcome == "failed"
        assert "transform 2 of resource 'a'" in error.message
        assert text in str(error), str(error)
        assert memory.calls.count(("create", "a")) == 0
        if transform in (exits, exits_async):
            assert isinstance(error.__cause__, SystemExit)


@on_loop
async def test_what_a_transform_raised_is_the_cause_of_the_error_of_its_resource(
    make_engine: MakeEngine, memory: Memory
) -> None:
    caught: list[BaseException] = []

    async def program(ctx: sw.Context) -> None:
        box = ctx.component("box:index:Box", "box", transforms=[lambda args: raises(args) if args.name == "a" else None])
        try:
            await ctx.resource(THING, "a", {}, parent=box)
        except sw.StackwrightError as error:
            caught.append(error)

    async with make_engine(mem=memory) as engine:
        await (await engine.stack("shop/dev", program)).up()
    assert "transform 1 of 'box' for resource 'a'" in str(caught[0])
    assert isinstance(caught[0].__cause__, KeyError)


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "blocking"])
@on_loop
async def test_what_a_transform_raised_is_the_cause_of_the_error_of_the_operation(
    make_engine: MakeEngine, memory: Memory, is_async: bool
) -> None:
    async def program(ctx: sw.Context) -> None:
        await ctx.resource(THING, "a", {}, transforms=[raises])

    def blocking(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {}, transforms=[raises])

    async with make_engine(mem=memory) as engine:
        result = await (await engine.stack("shop/dev", program if is_async else blocking)).up().wait()
    error = result.error
    assert isinstance(error, sw.StackwrightError) and "transform 1 of resource 'a'" in error.message
    assert isinstance(error.__cause__, KeyError)
    assert (error.urn, error.phase) == ("urn:pulumi:dev::shop::mem:index:Thing::a", "transform")


@on_loop
async def test_a_call_in_a_transform_of_functions_is_not_transformed(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        async def asks(args: sw.InvokeTransformArgs) -> sw.InvokeTransformResult:
            found = await ctx.invoke("mem:index:lookup", {"inner": True})
            return sw.InvokeTransformResult(arguments={**args.arguments, "found": found["echo"]})

        def returns(args: sw.InvokeTransformArgs) -> sw.InvokeTransformResult:
            return sw.InvokeTransformResult(arguments={**args.arguments, "again": ctx.invoke("mem:index:lookup", {"x": 1})["echo"]})

        ctx.transform_invokes(asks)
        ctx.transform_invokes(returns)
        ctx.export("echo", ctx.invoke("mem:index:lookup", {"outer": True})["echo"])

    async with make_engine(mem=memory) as engine:
        result = await asyncio.wait_for((await engine.stack("shop/dev", program)).up().wait(), 60)
    assert result.error is None, str(result.error)
    assert result.outputs["echo"].value == {"outer": True, "found": {"inner": True}, "again": {"x": 1}}


@on_loop
async def test_transforms_reach_remote_components_and_what_they_construct(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[str] = []

    class Boxes(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> dict[str, Any]:
            own = ctx.resource(THING, f"{request.name}-lid", {"size": request.inputs["size"]}, transforms=[adding(own=True)])
            return {"size": own["size"]}

    class Blocking(sw.Provider):
        def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> dict[str, Any]:
            own = ctx.resource(THING, f"{request.name}-lid", {"size": request.inputs["size"]}, transforms=[adding_async(own=True)])
            own.wait()
            return {"size": own["size"]}

    def look(args: sw.TransformArgs) -> sw.TransformResult | None:
        seen.append(args.name)
        if args.type == THING:
            return sw.TransformResult(inputs={**args.inputs, "tag": "all"})
        return None

    async def program(ctx: sw.Context) -> None:
        ctx.transform(look)
        grown = adding(size=4)
        made = ctx.remote_component("box:index:Box", "box", {"size": 3}, transforms=[lambda a: grown(a) if a.name == "box" else None])
        other = ctx.remote_component("crate:index:Crate", "crate", {"size": 5})
        ctx.export("sizes", [made["size"], other["size"]])

    async with make_engine(mem=memory, box=Boxes(), crate=Blocking()) as engine:
        stack = await engine.stack("shop/dev", program)
        result = await stack.up()
        assert result.outputs["sizes"].value == [4, 5]
        known = states(await stack.export_deployment())
    assert known["box-lid"]["inputs"] == {"size": 4, "own": True, "tag": "all"}
    assert known["crate-lid"]["inputs"] == {"size": 5, "own": True, "tag": "all"}
    assert {"box", "box-lid", "crate", "crate-lid"} <= set(seen)


@on_loop
async def test_transforms_of_functions_change_arguments_in_their_order(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[Any] = []

    def pinned(args: sw.InvokeTransformArgs) -> sw.InvokeTransformResult:
        seen.append((args.token, dict(args.arguments), dict(args.options)))
        return sw.InvokeTransformResult(arguments={**args.arguments, "region": "north"})

    async def zoned(args: sw.InvokeTransformArgs) -> sw.InvokeTransformResult:
        return sw.InvokeTransformResult(arguments={**args.arguments, "zone": args.arguments["region"] + "-1"})

    async def program(ctx: sw.Context) -> None:
        first = ctx.resource(THING, "first", {"size": 3})
        ctx.transform_invokes(pinned)
        ctx.transform_invokes(zoned)
        ctx.transform_invokes(lambda args: sw.InvokeTransformResult(arguments={**args.arguments, "size": first["size"]}))
        ctx.export("echo", ctx.invoke("mem:index:lookup", {"x": sw.secret("hidden")})["echo"])

    async with make_engine(mem=memory) as engine:
        result = await (await engine.stack("shop/dev", program)).up()
    assert result.outputs["echo"].value == {"x": "hidden", "region": "north", "zone": "north-1", "size": 3}
    assert result.outputs["echo"].secret
    assert seen == [("mem:index:lookup", {"x": sw.Secret("hidden")}, {})]


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (raises, "KeyError: 'region'"),
        (exits, "SystemExit: 3"),
        (lambda args: sw.TransformResult(), "it returned TransformResult; a transform returns InvokeTransformResult or None"),
        (lambda args: sw.InvokeTransformResult(options={"depends_on": []}), "a transform cannot change depends_on"),
    ],
)
@on_loop
async def test_a_transform_of_functions_that_fails_names_the_function(
    make_engine: MakeEngine, memory: Memory, transform: Any, text: str
) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.transform_invokes(transform)
        await ctx.invoke("mem:index:lookup", {})

    async with make_engine(mem=memory) as engine:
        result = await (await engine.stack("shop/dev", program)).up().wait()
    assert isinstance(result.error, sw.StackwrightError)
    assert "transform 1 of function 'mem:index:lookup'" in str(result.error) and text in str(result.error)
    assert memory.count("invoke") == 0


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "blocking"])
@on_loop
async def test_a_cancelled_operation_gives_up_a_transform_that_hangs(
    make_engine: MakeEngine, memory: Memory, is_async: bool
) -> None:
    loop, begun, released = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    given_up = asyncio.Event()

    async def hang_async(_args: sw.TransformArgs) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()

    def hang(_args: sw.TransformArgs) -> None:
        loop.call_soon_threadsafe(begun.set)
        released.wait(60)

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {}, transforms=[hang_async if is_async else hang])

    async with make_engine(mem=memory) as engine:
        operation = (await engine.stack("shop/dev", program)).up()
        await asyncio.wait_for(begun.wait(), 30)
        operation.cancel()
        result = await asyncio.wait_for(operation.wait(), 30)
        if is_async:
            await asyncio.wait_for(given_up.wait(), 30)
        released.set()
    assert result.outcome == "canceled" and isinstance(result.error, sw.CancelledError)
    assert memory.calls == []


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "blocking"])
@on_loop
async def test_an_async_function_may_await_other_resources_in_both_kinds_of_programs(
    make_engine: MakeEngine, memory: Memory, is_async: bool
) -> None:
    def declare(ctx: sw.Context) -> sw.Resource:
        first = ctx.resource(THING, "first", {"size": 3})
        second = ctx.resource(THING, "second", {"of": first["size"]})

        async def look(args: sw.TransformArgs) -> sw.TransformResult:
            return sw.TransformResult(inputs={"size": await first["size"], "id": (await second).id, "of": await second["of"]})

        return ctx.resource(THING, "a", {}, transforms=[look])

    async def program(ctx: sw.Context) -> None:
        declare(ctx)

    def blocking(ctx: sw.Context) -> None:
        declare(ctx).wait()

    async with make_engine(mem=memory) as engine:
        found = await inputs_after(engine, program if is_async else blocking)
    assert found["a"] == {"size": 3, "id": "second-2", "of": 3}


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "blocking"])
@on_loop
async def test_an_ordinary_function_that_waits_is_refused_at_once(
    make_engine: MakeEngine, memory: Memory, is_async: bool
) -> None:
    def declare(ctx: sw.Context) -> None:
        far = ctx.resource(THING, "far", {}, transforms=[lambda args: sw.TransformResult(inputs={"x": 1})])
        late = ctx.resource(THING, "late", {}, depends_on=[far])

        def look(_args: sw.TransformArgs) -> None:
            late.wait()

        ctx.resource(THING, "a", {}, parent=None, transforms=[look])

    async def program(ctx: sw.Context) -> None:
        declare(ctx)

    def blocking(ctx: sw.Context) -> None:
        declare(ctx)

    class Gate(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            opened.wait(30)
            return super().create(request)

    opened = threading.Event()
    async with make_engine(mem=Gate()) as engine:
        operation = (await engine.stack("shop/dev", program if is_async else blocking)).up()
        async for event in operation:
            if isinstance(event, sw.DiagnosticEvent) and "wait()" in event.message:
                opened.set()
        result = await operation.wait()
    assert opened.is_set() and "make the function async and await, or return the output" in str(result.error)


@on_loop
async def test_calls_of_transforms_are_concurrent(make_engine: MakeEngine, memory: Memory) -> None:
    both = threading.Barrier(2)

    def meet(args: sw.TransformArgs) -> None:
        if args.name in ("a", "b"):
            both.wait(30)

    async def program(ctx: sw.Context) -> None:
        ctx.transform(meet)
        ctx.resource(THING, "a", {})
        ctx.resource(THING, "b", {})

    async with make_engine(mem=memory) as engine:
        await (await engine.stack("shop/dev", program)).up()
    assert memory.count("create") == 2


@on_loop
async def test_what_is_no_transform_is_refused_where_it_is_given(make_engine: MakeEngine, memory: Memory) -> None:
    refusals: list[str] = []

    async def program(ctx: sw.Context) -> None:
        for attempt in (
            lambda: ctx.transform(3),  # type: ignore[arg-type]
            lambda: ctx.transform(lambda: None),  # type: ignore[arg-type,misc]
            lambda: ctx.transform_invokes(None),  # type: ignore[arg-type]
            lambda: ctx.resource(THING, "a", {}, transforms=raises),  # type: ignore[arg-type]
            lambda: ctx.resource(THING, "a", {}, transforms=["x"]),  # type: ignore[list-item]
        ):
            with pytest.raises(sw.InvalidInputError) as caught:
                attempt()
            refusals.append(str(caught.value))

    async with make_engine(mem=memory) as engine:
        result = await (await engine.stack("shop/dev", program)).up().wait()
        assert isinstance(result.error, sw.InvalidInputError), "a resource was not declared"
    assert refusals == [
        "transform() takes a function, not int",
        "transform() takes a function that is called with one argument, not one without parameters",
        "transform_invokes() takes a function, not NoneType",
        "transforms of the resource 'a' takes a list of functions, not function",
        "transforms of the resource 'a' takes a function, not the text 'x'",
    ]


@on_loop
async def test_the_functions_of_a_run_are_released_with_it(make_engine: MakeEngine, memory: Memory) -> None:
    import gc
    import weakref

    class Thing:
        pass

    held: list[weakref.ref[Thing]] = []

    async def program(ctx: sw.Context) -> None:
        thing = Thing()
        held.append(weakref.ref(thing))

        def look(_args: Any) -> None:
            # The function keeps the context, and with that the run.
            assert thing is not None and ctx is not None

        ctx.transform(look)
        ctx.register_hook(sw.Hook("look", look))
        ctx.resource(THING, "a", {}, hooks=sw.Hooks(after_create=["look"]), transforms=[look])

    async with make_engine(mem=memory) as engine:
        await (await engine.stack("shop/dev", program)).up()

        async def released() -> None:
            while held[0]() is not None:
                gc.collect()
                await asyncio.sleep(0)

        await asyncio.wait_for(released(), 30)


@on_loop
async def test_a_transform_cannot_give_a_resource_to_the_provider_of_another_package(make_engine: MakeEngine, memory: Memory) -> None:
    other = Memory()
    changes = {"resource": False, "function": False}

    async def program(ctx: sw.Context) -> None:
        provider = ctx.provider("other", "p")
        if changes["resource"]:
            ctx.transform(lambda args: sw.TransformResult(options={"provider": provider}) if args.type == THING else None)
        if changes["function"]:
            ctx.transform_invokes(lambda args: sw.InvokeTransformResult(options={"provider": provider}))
        ctx.resource(THING, "a", {})
        if changes["function"]:
            await ctx.invoke("mem:index:find", {})

    async with make_engine(mem=memory, other=other) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        for changed in changes:
            changes.update(dict.fromkeys(changes, False), **{changed: True})
            for operation in (stack.preview, stack.up):
                failed = (await operation().wait()).error
                assert 'provider is a provider of the package "other" for the package "mem"' in str(failed)
        changes.update(dict.fromkeys(changes, False))
        assert (await stack.up()).changes == {"same": 3} and not other.things
        await stack.destroy()
        assert not memory.things
