"""Components of the host: providers with ``construct`` and ``call``, in programs of both APIs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import stackwright as sw

from conftest import MakeEngine, Memory, on_loop, states


class Boxes(sw.Provider):
    """Constructs boxes: a lid and a floor each."""

    async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> dict[str, Any]:
        lid = ctx.resource("things:index:Thing", f"{request.name}-lid", {"size": request.inputs["size"]})
        floor = ctx.resource("things:index:Thing", f"{request.name}-floor", {"of": lid["size"]}, parent=lid)
        return {"size": lid["size"], "floor": floor.id}

    async def call(self, ctx: sw.Context, request: sw.MethodRequest) -> sw.InvokeResult | dict[str, Any]:
        if "by" not in request.arguments:
            return sw.InvokeResult(failures=[sw.CheckFailure("is missing", "by")])
        opened = ctx.resource("things:index:Thing", "opened", {"by": request.arguments["by"]})
        return {"by": opened["by"], "box": request.arguments["__self__"].urn}


class BlockingBoxes(Boxes):
    """The same with ordinary methods."""

    def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> dict[str, Any]:  # type: ignore[override]
        lid = ctx.resource("things:index:Thing", f"{request.name}-lid", {"size": request.inputs["size"]})
        lid.wait()
        floor = ctx.resource("things:index:Thing", f"{request.name}-floor", {"of": lid["size"]}, parent=lid)
        return {"size": lid["size"], "floor": floor.id}


async def box(ctx: sw.Context) -> None:
    made = ctx.remote_component("box:index:Box", "box", {"size": 3})
    ctx.export("size", made["size"])
    ctx.export("floor", made["floor"])


@pytest.mark.parametrize("boxes", [Boxes(), BlockingBoxes()], ids=["async", "blocking"])
@on_loop
async def test_a_component_of_the_host_lives_with_what_is_below_it(
    make_engine: MakeEngine, memory: Memory, boxes: Boxes
) -> None:
    async with make_engine(things=memory, box=boxes) as engine:
        stack = await engine.stack("shop/dev", box)
        await stack.preview()
        result = await stack.up()
        assert (result.outputs["size"].value, result.outputs["floor"].value) == (3, "box-floor-2")
        known = states(await stack.export_deployment())
        assert known["box-lid"]["parent"] == known["box"]["urn"]
        assert known["box-floor"]["parent"] == known["box-lid"]["urn"]
        assert known["box"]["outputs"] == {"size": 3, "floor": "box-floor-2"}
        again = await stack.up()
        assert dict(again.changes) == {"same": 4}
        await stack.destroy()
        assert memory.things == {}


@on_loop
async def test_components_inside_components_belong_to_their_parents(make_engine: MakeEngine, memory: Memory) -> None:
    class Crates(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> dict[str, Any]:
            made = [ctx.remote_component("box:index:Box", f"{request.name}-{n}", {"size": n}) for n in range(3)]
            return {"sizes": [box["size"] for box in made]}

    async def program(ctx: sw.Context) -> None:
        crates = [ctx.remote_component("crate:index:Crate", name, {}) for name in ("a", "b")]
        ctx.export("sizes", [crate["sizes"] for crate in crates])

    async with make_engine(things=memory, box=Boxes(), crate=Crates()) as engine:
        stack = await engine.stack("shop/dev", program)
        result = await stack.up(parallel=1)
        assert result.outputs["sizes"].value == [[0, 1, 2], [0, 1, 2]]
        known = states(await stack.export_deployment())
        assert known["b-1"]["parent"] == known["b"]["urn"]
        assert known["a-2-lid"]["parent"] == known["a-2"]["urn"]


@on_loop
async def test_a_request_has_the_options_of_the_component(make_engine: MakeEngine, memory: Memory) -> None:
    requests: list[sw.ConstructRequest] = []

    class Recording(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> None:
            requests.append(request)

    async def program(ctx: sw.Context) -> None:
        first = ctx.resource("things:index:Thing", "first", {"size": 1})
        ctx.remote_component(
            "box:index:Box",
            "box",
            protect=True,
            ignore_changes=["x"],
            depends_on=[first],
            deleted_with=first,
            aliases=[{"name": "case"}],
            custom_timeouts={"create": 30},
            replacement_trigger=sw.secret("one"),
        )
        ctx.remote_component("box:index:Box", "plain")

    async with make_engine(things=memory, box=Recording()) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        urn = states(await stack.export_deployment())["first"]["urn"]
    by_name = {request.name: request.options for request in requests}
    given = {
        "protect": True,
        "ignore_changes": ["x"],
        "depends_on": [urn],
        "deleted_with": urn,
        "aliases": ["urn:pulumi:dev::shop::box:index:Box::case"],
        "custom_timeouts": {"create": 30},
        "replacement_trigger": sw.secret("one"),
    }
    assert by_name == {"box": given, "plain": {}}


@on_loop
async def test_secrets_and_unknowns_stay_what_they_are(make_engine: MakeEngine, memory: Memory) -> None:
    class Secretive(Boxes):
        accept_secrets = True

    async def program(ctx: sw.Context) -> None:
        thing = ctx.resource("things:index:Thing", "thing", {"size": sw.secret("hunter2")})
        made = ctx.remote_component("box:index:Box", "box", {"size": thing["size"]})
        ctx.export("size", made["size"])

    async with make_engine(things=memory, box=Secretive()) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.preview()
        result = await stack.up()
        assert result.outputs["size"].secret and result.outputs["size"].value == "hunter2"
        known = states(await stack.export_deployment())
        assert "hunter2" not in str(known), "every copy is encrypted"


@on_loop
async def test_a_method_gets_its_resource_and_may_register_others(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        made = ctx.remote_component("box:index:Box", "box", {"size": 3})
        opened = ctx.call("box:index:Box/open", made, {"by": made["size"]})
        ctx.export("by", opened["by"])
        ctx.export("box", opened["box"])

    async with make_engine(things=memory, box=Boxes()) as engine:
        result = await (await engine.stack("shop/dev", program)).up()
        assert result.outputs["by"].value == 3
        assert result.outputs["box"].value.endswith("box:index:Box::box")


@on_loop
async def test_failures_of_arguments_are_raised_where_the_method_is_awaited(
    make_engine: MakeEngine, memory: Memory
) -> None:
    async def program(ctx: sw.Context) -> None:
        made = ctx.remote_component("box:index:Box", "box", {"size": 3})
        with pytest.raises(sw.InvalidInputError, match="by: is missing"):
            await ctx.call("box:index:Box/open", made, {})

    async with make_engine(things=memory, box=Boxes()) as engine:
        await (await engine.stack("shop/dev", program)).up()


@on_loop
async def test_an_exception_in_construct_fails_the_operation_with_type_and_name(
    make_engine: MakeEngine, memory: Memory
) -> None:
    class Broken(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> None:
            await ctx.resource("things:index:Thing", "made", {})
            raise ValueError("no more wood")

    async def program(ctx: sw.Context) -> None:
        ctx.remote_component("box:index:Box", "box")

    async with make_engine(things=memory, box=Broken()) as engine:
        stack = await engine.stack("shop/dev", program)
        with pytest.raises(sw.StackwrightError, match="box:index:Box resource 'box' has a problem: .*no more wood") as failed:
            await stack.up()
        assert isinstance(failed.value.__cause__, ValueError)
        assert (failed.value.urn, failed.value.phase) == ("urn:pulumi:dev::shop::box:index:Box::box", "construct")
        assert "made" in states(await stack.export_deployment()), "what was made is recorded"


@on_loop
@pytest.mark.parametrize("way", ["returned", "raised", "malformed", "raised malformed"])
async def test_a_component_refuses_its_inputs_with_every_failure(
    make_engine: MakeEngine, memory: Memory, way: str
) -> None:
    class Strict(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> sw.InvokeResult:
            failures = [sw.CheckFailure("is odd", "size"), sw.CheckFailure("is required", "wood")]
            if way == "raised":
                raise sw.ProviderError("no such box", input_errors=failures)
            if way == "raised malformed":
                raise sw.ProviderError("no such box", input_errors=["is odd"])  # type: ignore[list-item]
            return sw.InvokeResult({}, failures if way == "returned" else 3)  # type: ignore[arg-type]

    async def program(ctx: sw.Context) -> None:
        ctx.remote_component("box:index:Box", "box", {"size": 3})

    texts = {
        "returned": "the inputs are invalid",
        "raised": "no such box",
        "malformed": "InvalidInputError: Strict.construct returned failures of the type int, expected a sequence of CheckFailure",
        "raised malformed": "InvalidInputError: input_errors of the ProviderError 'no such box' takes a list of objects of the class CheckFailure, not one of str",
    }
    listed = (
        "\n- property size with value '3' has a problem: is odd"
        "\n- property wood with value '<nil>' has a problem: is required"
    )
    async with make_engine(things=memory, box=Strict()) as engine:
        stack = await engine.stack("shop/dev", program)
        with pytest.raises(sw.StackwrightError) as failed:
            await stack.up()
        expected = f"box:index:Box resource 'box' has a problem: {texts[way]}"
        assert (expected if "malformed" in way else expected + listed) in str(failed.value)


@on_loop
async def test_an_exception_in_a_method_is_the_cause_of_the_error_which_has_the_component(
    make_engine: MakeEngine, memory: Memory
) -> None:
    class Stuck(Boxes):
        async def call(self, ctx: sw.Context, request: sw.MethodRequest) -> sw.InvokeResult:
            raise KeyError("lid")

    async def program(ctx: sw.Context) -> None:
        ctx.call("box:index:Box/open", ctx.remote_component("box:index:Box", "box", {"size": 3}), {"by": 1})

    async with make_engine(things=memory, box=Stuck()) as engine:
        with pytest.raises(sw.StackwrightError, match="call to function 'box:index:Box/open' failed") as failed:
            await (await engine.stack("shop/dev", program)).up()
    error = failed.value
    assert isinstance(error.__cause__, KeyError)
    assert (error.urn, error.phase) == ("urn:pulumi:dev::shop::box:index:Box::box", "call")


@on_loop
async def test_a_construct_that_waits_ends_with_a_cancelled_operation(make_engine: MakeEngine, memory: Memory) -> None:
    began = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Waiting(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> None:
            loop.call_soon_threadsafe(began.set)
            await asyncio.Event().wait()

    async def program(ctx: sw.Context) -> None:
        ctx.remote_component("box:index:Box", "box")

    async with make_engine(things=memory, box=Waiting()) as engine:
        stack = await engine.stack("shop/dev", program)
        operation = stack.up()
        await asyncio.wait_for(began.wait(), 20)
        operation.cancel()
        operation.cancel()
        result = await asyncio.wait_for(operation.wait(), 20)
        assert result.outcome == "canceled"


@on_loop
async def test_a_component_has_no_stack_outputs(make_engine: MakeEngine, memory: Memory) -> None:
    class Exporting(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> None:
            ctx.export("x", 1)

    async def program(ctx: sw.Context) -> None:
        ctx.remote_component("box:index:Box", "box")

    async with make_engine(things=memory, box=Exporting()) as engine:
        with pytest.raises(sw.StackwrightError, match="return its outputs from construct"):
            await (await engine.stack("shop/dev", program)).up()


def test_a_construct_needs_two_parameters() -> None:
    class Wrong:
        def construct(self, request: object) -> None: ...

    with pytest.raises(sw.InvalidInputError, match="construct"):
        sw.Engine(store="memory://", passphrase="x", providers={"box": Wrong()})


class Wrong(Boxes):
    """Answers with values of other types than a component and a method have."""

    def __init__(self, answer: Any, method: str) -> None:
        self.answers = {method: answer}

    def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Any:
        return self.answers.get("construct", {})

    def call(self, ctx: sw.Context, request: sw.MethodRequest) -> Any:
        return self.answers.get("call", {})


@pytest.mark.parametrize("method", ["construct", "call"])
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ([1], "Wrong.{} returned list, expected InvokeResult or a mapping"),
        ("text", "Wrong.{} returned str, expected InvokeResult or a mapping"),
        (sw.InvokeResult([1]), "outputs of a component or a method takes a dictionary of values by name, not list"),  # type: ignore[arg-type]
        (sw.InvokeResult({}, 7), "Wrong.{} returned failures of the type int, expected a sequence of CheckFailure"),  # type: ignore[arg-type]
        (sw.InvokeResult({}, ["x"]), "element 0 of the failures of the InvokeResult takes an object of the class CheckFailure, "),  # type: ignore[list-item]
        ({1: 2}, "the outputs that {}() returned: a key is a value of type int; keys are texts"),
        ({"lid": {1: 2}}, "the outputs that {}() returned: lid: a key is a value of type int; keys are texts"),
        ({"lid": object()}, "the outputs that {}() returned: lid: a value of type object is not a property value"),
    ],
)
@on_loop
async def test_an_answer_of_another_type_is_refused_with_the_method_and_the_type(
    make_engine: MakeEngine, answer: Any, text: str, method: str
) -> None:
    async def program(ctx: sw.Context) -> None:
        made = ctx.remote_component("box:index:Box", "box", {})
        if method == "call":
            ctx.export("answer", ctx.call("box:index:Box/open", made, {}))

    async with make_engine(box=Wrong(answer, method)) as engine:
        stack = await engine.stack("shop/dev", program)
        with pytest.raises(sw.StackwrightError) as caught:
            await stack.up()
        assert text.format(method) in str(caught.value)
        assert isinstance(caught.value.__cause__, sw.StackwrightError)


@pytest.mark.parametrize("late", ["component", "method"])
@on_loop
async def test_what_is_registered_after_the_end_of_a_component_or_a_method_is_refused_with_its_name(
    make_engine: MakeEngine, memory: Memory, late: str
) -> None:
    kept: list[sw.Context] = []

    class Careless(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> dict[str, Any]:
            kept.append(ctx)
            return {}

        async def call(self, ctx: sw.Context, request: sw.MethodRequest) -> dict[str, Any]:
            kept.append(ctx)
            return {}

    async def program(ctx: sw.Context) -> None:
        if late == "component":
            await ctx.remote_component("box:index:Box", "crate")
        else:
            await ctx.call("box:index:Box/open")
        kept[0].resource("things:index:Thing", "late")

    name = "the component 'crate'" if late == "component" else "the method 'box:index:Box/open'"
    async with make_engine(things=memory, box=Careless()) as engine:
        stack = await engine.stack("shop/dev", program)
        with pytest.raises(sw.StackwrightError, match=f"the resource 'late' came after {name} had ended, and is left out"):
            await stack.up()
        assert memory.things == {}
