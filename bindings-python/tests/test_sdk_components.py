"""Components and methods of the host whose code is written with the Pulumi SDK, run without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pulumi
import pytest
import stackwright as sw

from conftest import MakeEngine, Memory, on_loop, states


class Thing(pulumi.CustomResource):
    size: pulumi.Output[Any]
    key: pulumi.Output[Any]

    def __init__(self, name: str, size: Any, opts: pulumi.ResourceOptions | None = None, **more: Any) -> None:
        super().__init__("things:index:Thing", name, {"size": size, **more}, opts)


class Box(pulumi.ComponentResource):
    """A component of the SDK: a lid, and a floor below it."""

    def __init__(self, name: str, inputs: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("box:index:Box", name, None, opts)
        self.lid = Thing(f"{name}-lid", inputs["size"], pulumi.ResourceOptions(parent=self))
        below = pulumi.ResourceOptions(parent=self.lid)
        self.floor = Thing(f"{name}-floor", self.lid.size.apply(lambda size: size + 1), below)
        self.register_outputs({"ignored": True})


class Boxes(sw.Provider):
    async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Mapping[str, Any]:
        def build(inputs: Mapping[str, Any]) -> dict[str, Any]:
            assert pulumi.get_stack() == ctx.stack and pulumi.get_project() == ctx.project
            box = Box(request.name, inputs)
            return {"size": box.lid.size, "floor": box.floor.id, "secret": pulumi.Output.secret("hunter2")}

        return await ctx.run_sdk(build, request.inputs)

    async def call(self, ctx: sw.Context, request: sw.MethodRequest) -> Mapping[str, Any]:
        def opened(inputs: Mapping[str, Any]) -> dict[str, Any]:
            return {"by": Thing("opened", inputs["by"]).size}

        return await ctx.run_sdk(opened, {"by": request.arguments["by"]})


class BlockingBoxes(Boxes):
    """The same with ordinary methods, and an async function of the SDK."""

    def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Mapping[str, Any]:  # type: ignore[override]
        async def build(inputs: Mapping[str, Any]) -> dict[str, Any]:
            await asyncio.sleep(0)
            box = Box(request.name, inputs)
            return {"size": box.lid.size, "floor": box.floor.id, "secret": pulumi.Output.secret("hunter2")}

        return ctx.run_sdk(build, request.inputs).wait()


async def box(ctx: sw.Context) -> None:
    made = ctx.remote_component("box:index:Box", "box", {"size": 3})
    ctx.resource("things:index:Thing", "user", {"size": made["size"]})
    ctx.export("size", made["size"])
    ctx.export("floor", made["floor"])
    ctx.export("secret", made["secret"])


@pytest.mark.parametrize("boxes", [Boxes(), BlockingBoxes()], ids=["async", "blocking"])
@on_loop
async def test_an_sdk_component_is_the_component_itself_with_what_is_below_it(
    make_engine: MakeEngine, memory: Memory, boxes: Boxes
) -> None:
    async with make_engine(things=memory, box=boxes) as engine:
        stack = await engine.stack("shop/dev", box)
        await stack.preview()
        result = await stack.up()
        assert (result.outputs["size"].value, result.outputs["floor"].value) == (3, "box-floor-2")
        assert result.outputs["secret"].secret and result.outputs["secret"].value == "hunter2"
        known = states(await stack.export_deployment())
        assert known["box-lid"]["parent"] == known["box"]["urn"]
        assert known["box-floor"]["parent"] == known["box-lid"]["urn"]
        assert known["box-floor"]["inputs"] == {"size": 4}
        assert set(known["box"]["outputs"]) == {"size", "floor", "secret"}
        assert known["box-lid"]["urn"] in known["user"]["dependencies"]
        again = await stack.up()
        assert dict(again.changes) == {"same": 5}
        await stack.destroy()
        assert memory.things == {}


@on_loop
async def test_secrets_and_unknowns_reach_the_sdk_as_outputs(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[tuple[bool, bool]] = []

    class Watching(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Mapping[str, Any]:
            async def build(inputs: Mapping[str, Any]) -> dict[str, Any]:
                size, key = pulumi.Output.from_input(inputs["size"]), pulumi.Output.from_input(inputs["key"])
                seen.append((await size.is_known(), await key.is_secret()))
                return {"key": Thing("made", size, key=key).key}

            return await ctx.run_sdk(build, request.inputs)

    async def program(ctx: sw.Context) -> None:
        first = ctx.resource("things:index:Thing", "first", {"size": 1})
        ctx.export("key", ctx.remote_component("box:index:Box", "box", {"size": first.id, "key": sw.secret("hunter2")})["key"])

    async with make_engine(things=memory, box=Watching()) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.preview()
        assert seen == [(False, True)]
        result = await stack.up()
        assert seen == [(False, True), (True, True)]
        assert result.outputs["key"].secret and result.outputs["key"].value == "hunter2"
        assert "hunter2" not in str(await stack.export_deployment())


@on_loop
async def test_several_run_at_the_same_time_each_below_its_own_component(make_engine: MakeEngine, memory: Memory) -> None:
    together = asyncio.Event()
    running: list[str] = []

    class Meeting(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Mapping[str, Any]:
            loop = asyncio.get_running_loop()

            def arrive() -> None:
                running.append(request.name)
                if len(running) == 8:
                    together.set()

            async def build(inputs: Mapping[str, Any]) -> dict[str, Any]:
                loop.call_soon_threadsafe(arrive)
                met = asyncio.run_coroutine_threadsafe(together.wait(), loop)
                await asyncio.wrap_future(met)
                return {"id": Thing(f"{request.name}-child", 1).id}

            return await ctx.run_sdk(build)

    async def program(ctx: sw.Context) -> None:
        for number in range(8):
            ctx.remote_component("box:index:Box", f"box-{number}")

    async with make_engine(things=memory, box=Meeting()) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        known = states(await stack.export_deployment())
        assert sorted(running) == [f"box-{number}" for number in range(8)]
        for name in running:
            assert known[f"{name}-child"]["parent"] == known[name]["urn"]


@on_loop
async def test_a_method_registers_resources_with_the_sdk(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        made = ctx.remote_component("box:index:Box", "box", {"size": 3})
        ctx.export("by", ctx.call("box:index:Box/open", made, {"by": 7})["by"])

    async with make_engine(things=memory, box=Boxes()) as engine:
        stack = await engine.stack("shop/dev", program)
        result = await stack.up()
        assert result.outputs["by"].value == 7
        assert "opened" in states(await stack.export_deployment())


@on_loop
async def test_a_program_may_use_an_sdk_component(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        first = ctx.resource("things:index:Thing", "first", {"size": 2})
        made = ctx.run_sdk(lambda inputs: {"floor": Box("box", inputs).floor.id}, {"size": first["size"]})
        ctx.export("floor", (await made)["floor"])

    async with make_engine(things=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        result = await stack.up()
        assert result.outputs["floor"].value == "box-floor-3"
        known = states(await stack.export_deployment())
        assert known["box-lid"]["parent"] == known["box"]["urn"] and known["box"]["parent"].endswith("::shop-dev")


def raises(_inputs: Mapping[str, Any]) -> None:
    raise ValueError("no such wood")


def fails(_inputs: Mapping[str, Any]) -> None:
    Thing("broken", "refused")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (raises, "no such wood"),
        (lambda _inputs: 7, "run_sdk() takes a function that returns a dictionary of values by name, not int"),
        (lambda _inputs: (yield), "a generator"),
        (fails, "refused by the provider"),
    ],
    ids=["raises", "wrong type", "generator", "registration fails"],
)
@on_loop
async def test_a_failure_of_the_code_fails_the_component(
    make_engine: MakeEngine, memory: Memory, code: Any, text: str
) -> None:
    class Failing(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Mapping[str, Any]:
            return await ctx.run_sdk(code)

    class Refusing(Memory):
        def check(self, request: Any) -> Any:
            if request.inputs.get("size") == "refused":
                raise sw.ProviderError("refused by the provider")
            return sw.CheckResult(request.inputs)

    async def program(ctx: sw.Context) -> None:
        ctx.remote_component("box:index:Box", "box")

    async with make_engine(things=Refusing(), box=Failing()) as engine:
        stack = await engine.stack("shop/dev", program)
        with pytest.raises(sw.StackwrightError) as caught:
            await stack.up()
        result = caught.value.result
        assert result is not None
        texts = [str(caught.value), *(str(diagnostic) for diagnostic in result.diagnostics)]
        assert any(text in line for line in texts), texts


@on_loop
async def test_code_that_waits_ends_with_a_cancelled_operation(make_engine: MakeEngine, memory: Memory) -> None:
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Waiting(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Mapping[str, Any]:
            async def build(inputs: Mapping[str, Any]) -> None:
                loop.call_soon_threadsafe(started.set)
                await asyncio.Event().wait()

            return await ctx.run_sdk(build)

    async def program(ctx: sw.Context) -> None:
        ctx.remote_component("box:index:Box", "box")

    async with make_engine(things=memory, box=Waiting()) as engine:
        stack = await engine.stack("shop/dev", program)
        operation = stack.up()
        await asyncio.wait_for(started.wait(), 20)
        operation.cancel()
        operation.cancel()
        result = await asyncio.wait_for(operation.wait(), 20)
        assert result.outcome == "canceled"


@on_loop
async def test_what_the_code_makes_depends_on_what_its_inputs_come_from(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        first = ctx.resource("things:index:Thing", "first", {"size": 2})
        await ctx.run_sdk(lambda inputs: {"id": Thing("made", inputs["size"]).id}, {"size": first["size"]})
        made = ctx.remote_component("box:index:Box", "box", {"size": 3})
        await ctx.call("box:index:Box/open", made, {"by": first["size"]})

    async with make_engine(things=memory, box=Boxes()) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        known = states(await stack.export_deployment())
        first = known["first"]["urn"]
        assert known["made"]["propertyDependencies"] == {"size": [first]}
        assert first in known["opened"]["dependencies"]


class Methods(Boxes):
    """The same with this package's own API."""

    async def call(self, ctx: sw.Context, request: sw.MethodRequest) -> Mapping[str, Any]:
        return {"by": ctx.resource("things:index:Thing", "opened", {"size": request.arguments["by"]})["size"]}


@on_loop
async def test_what_a_method_registers_depends_on_what_its_arguments_come_from(
    make_engine: MakeEngine, memory: Memory
) -> None:
    async def program(ctx: sw.Context) -> None:
        first = ctx.resource("things:index:Thing", "first", {"size": 2})
        made = ctx.remote_component("box:index:Box", "box", {"size": 3})
        ctx.export("by", ctx.call("box:index:Box/open", made, {"by": first["size"]})["by"])

    async with make_engine(things=memory, box=Methods()) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        known = states(await stack.export_deployment())
        assert known["first"]["urn"] in known["opened"]["dependencies"]


@on_loop
async def test_what_was_made_before_a_failure_is_registered(make_engine: MakeEngine, memory: Memory) -> None:
    fails = False

    def code(_inputs: Mapping[str, Any]) -> dict[str, Any]:
        made = Thing("made", 1)
        if fails:
            raise ValueError("later")
        return {"id": made.id}

    async def program(ctx: sw.Context) -> None:
        try:
            await ctx.run_sdk(code)
        except ValueError as error:
            assert fails and str(error) == "later"

    async with make_engine(things=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        fails = True
        assert dict((await stack.up()).changes) == {"same": 2}
        assert len(memory.things) == 1


@on_loop
async def test_hooks_and_transforms_of_the_code_are_served_until_the_end_of_the_run(
    make_engine: MakeEngine, memory: Memory
) -> None:
    ran: list[str] = []
    with_thing = True

    def tagged(args: Any) -> Any:
        if args.type_ == "things:index:Thing":
            return pulumi.ResourceTransformResult({**args.props, "tag": "all"}, args.opts)
        return None

    def code(_inputs: Mapping[str, Any]) -> None:
        drain = pulumi.ResourceHook("drain", lambda args: ran.append(f"{args.name}"))
        pulumi.runtime.register_resource_transform(tagged)
        if with_thing:
            Thing("made", 1, pulumi.ResourceOptions(hooks=pulumi.ResourceHookBinding(before_delete=[drain])))

    async def program(ctx: sw.Context) -> None:
        await ctx.run_sdk(code)
        await ctx.resource("things:index:Thing", "later", {"size": 2})

    async with make_engine(things=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        known = states(await stack.export_deployment())
        assert known["later"]["inputs"] == {"size": 2, "tag": "all"}
        with_thing = False
        await stack.up()
        assert ran == ["made"]


@on_loop
async def test_options_of_an_sdk_component_that_have_no_effect_are_refused(
    make_engine: MakeEngine, memory: Memory
) -> None:
    class Named(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Mapping[str, Any]:
            def build(inputs: Mapping[str, Any]) -> dict[str, Any]:
                former = pulumi.ResourceOptions(aliases=[pulumi.Alias(name="former")], protect=True)
                return {"id": Box(request.name, {"size": 1}, former).lid.id}

            return await ctx.run_sdk(build)

    async def program(ctx: sw.Context) -> None:
        ctx.remote_component("box:index:Box", "box")

    async with make_engine(things=memory, box=Named()) as engine:
        stack = await engine.stack("shop/dev", program)
        with pytest.raises(sw.StackwrightError, match="leave out aliases, protect"):
            await stack.up()
