"""The package's own API: lifecycles, dependencies, eagerness, secrets, components, failures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import MakeEngine, Memory, Vault

THING = "mem:index:Thing"


def states(deployment: dict[str, Any]) -> dict[str, dict[str, Any]]:
    resources = deployment["deployment"]["resources"]
    return {resource["urn"].rsplit("::", 1)[-1]: resource for resource in resources}


def test_a_stack_lives_from_preview_to_destroy(make_engine: MakeEngine, memory: Memory) -> None:
    size = 1

    async def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, "a", {"size": size})
        ctx.resource(THING, "b", {"of": a["size"]})
        ctx.export("size", a["size"])

    async def run() -> None:
        nonlocal size
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            plan = await stack.preview()
            assert plan.is_preview and plan.changes == {"create": 3} and not memory.calls
            assert "+" in str(plan) and "<pre" in plan._repr_html_()
            result = await stack.up(plan)
            assert result.outcome == "succeeded" and result.outputs == {"size": 1} and len(memory.things) == 2
            assert not (await stack.up()).has_changes
            size = 2
            assert (await stack.up()).changes == {"update": 2, "same": 1}
            memory.things.clear()
            assert (await stack.refresh()).changes["delete"] == 2
            assert (await stack.up()).changes["create"] == 2
            assert await stack.outputs() == {"size": 2}
            assert await engine.stacks("shop") == ["shop/dev"]
            assert (await stack.destroy()).changes["delete"] == 3
            assert not memory.things
            kinds = [entry["kind"] for entry in await stack.history()]
            assert kinds == ["destroy", "update", "refresh", "update", "update", "update"]
            await stack.remove()
            assert await engine.stacks() == []

    asyncio.run(run())


def test_outputs_among_inputs_become_dependencies(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, "a", {"x": 1})
        b = ctx.resource(THING, "b", {"x": 2})
        ctx.resource(
            THING,
            "c",
            {"plain": 0, "deep": [{"from": a["x"]}], "both": sw.Output.all(a["x"], b["x"]).apply(sum)},
            depends_on=[b],
        )

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
            recorded = states(await stack.export_deployment())
            a, b, c = (recorded[name] for name in "abc")
            assert set(c["dependencies"]) == {a["urn"], b["urn"]}
            assert c["propertyDependencies"]["deep"] == [a["urn"]]
            assert set(c["propertyDependencies"]["both"]) == {a["urn"], b["urn"]}
            assert not c["propertyDependencies"].get("plain")
            assert c["inputs"]["both"] == 3
            assert a["parent"] == recorded["shop-dev"]["urn"]

    asyncio.run(run())


def test_registrations_are_eager_and_need_no_await(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[int] = []

    async def program(ctx: sw.Context) -> None:
        last = ctx.resource(THING, "0", {"n": 0})
        for number in range(1, 30):
            last = ctx.resource(THING, str(number), {"n": last["n"].apply(lambda n: n + 1)})
        seen.append(await last["n"])
        assert (await last).outputs["n"] == 29

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
            assert seen == [29] and len(memory.things) == 30

    asyncio.run(run())


def test_what_a_preview_can_not_know_is_unknown(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[object] = []

    async def program(ctx: sw.Context) -> None:
        a = await ctx.resource(THING, "a", {"x": 1})
        seen.extend([await a.id, await a["made"], await a["made"].apply(lambda made: not made), await a["x"]])

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.preview()
            assert seen[:3] == [sw.UNKNOWN, sw.UNKNOWN, sw.UNKNOWN]
            seen.clear()
            await stack.up()
            assert seen == ["a-1", True, False, 1]

    asyncio.run(run())


def test_secrets_stay_secret_on_their_way(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, "a", {"password": ctx.config.secret("password"), "user": "bob"})
        ctx.export("upper", a["password"].apply(str.upper))
        ctx.export("user", a["user"])

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program, config={"password": sw.secret("hunter2")})
            operation = stack.up()
            lines = [event.line async for event in operation]
            result = await operation
            assert memory.things["a-1"]["password"] == "hunter2", "a provider without accept_secrets gets it in the clear"
            assert result.outputs["upper"] == sw.Secret("HUNTER2") and result.outputs["user"] == "bob"
            assert await stack.outputs() == result.outputs
            assert (await stack.outputs(show_secrets=True))["upper"] == "HUNTER2"
            shown = "\n".join([*lines, str(result), repr(result), str(await stack.export_deployment())])
            assert "hunter2" not in shown.lower()
            assert "HUNTER2" in str(await stack.export_deployment(show_secrets=True))

    asyncio.run(run())


def test_a_component_groups_resources_and_publishes_outputs(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        box = ctx.component("box:index:Box", "box")
        inner = ctx.resource(THING, "inner", {"x": 1}, parent=box)
        box.register_outputs({"x": inner["x"]})
        ctx.resource(THING, "after", {}, depends_on=[box])

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
            recorded = states(await stack.export_deployment())
            assert recorded["inner"]["parent"] == recorded["box"]["urn"]
            assert recorded["box"]["outputs"] == {"x": 1}
            assert recorded["inner"]["urn"] in recorded["after"]["dependencies"], "a component stands for its children"

    asyncio.run(run())


def test_functions_are_invoked_with_outputs(make_engine: MakeEngine, memory: Memory) -> None:
    results: list[object] = []

    async def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, "a", {"x": 7})
        invocation = ctx.invoke("mem:index:echo", {"x": a["x"]})
        results.append((await invocation)["echo"])
        ctx.export("echo", invocation["echo"]["x"])

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            result = await stack.up()
            assert results == [{"x": 7}] and result.outputs == {"echo": 7}

    asyncio.run(run())


def test_a_provider_of_its_own_and_a_read_resource(make_engine: MakeEngine, memory: Memory) -> None:
    memory.things["known"] = {"x": 5}

    async def program(ctx: sw.Context) -> None:
        provider = ctx.provider("mem", "mine", {"region": "here"})
        found = ctx.read(THING, "found", "known", provider=provider)
        ctx.resource(THING, "a", {"x": found["x"]}, provider=provider)

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
            recorded = states(await stack.export_deployment())
            assert recorded["a"]["provider"].startswith(recorded["mine"]["urn"] + "::")
            assert recorded["found"]["external"] is True and recorded["a"]["inputs"] == {"x": 5}

    asyncio.run(run())


def test_options_reach_the_engine(make_engine: MakeEngine, memory: Memory) -> None:
    protect = True

    async def program(ctx: sw.Context) -> None:
        old = ctx.resource(THING, "old", {"x": 1})
        ctx.resource(
            THING,
            "a",
            {"x": 1},
            protect=protect,
            ignore_changes=["y"],
            additional_secret_outputs=["made"],
            custom_timeouts={"create": 30},
            retain_on_delete=True,
            deleted_with=old,
            aliases=["urn:pulumi:dev::shop::mem:index:Thing::former", {"name": "older"}],
        )

    async def run() -> None:
        nonlocal protect
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
            a = states(await stack.export_deployment())["a"]
            assert a["protect"] and a["retainOnDelete"] and a["additionalSecretOutputs"] == ["made"]
            assert a["customTimeouts"] == {"create": 30} and a["deletedWith"].endswith("::old")
            with pytest.raises(sw.FailedError):
                await stack.destroy()
            protect = False
            await stack.up()
            await stack.destroy()
            assert list(memory.things) == ["a-2"] or list(memory.things) == ["a-1"], "it was retained"

    asyncio.run(run())


def test_an_unknown_resource_option_is_named(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {}, protekt=True)

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.ProgramError, match="protekt"):
                await stack.preview()

    asyncio.run(run())


def test_an_error_of_the_program_is_told_with_its_traceback(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {})
        raise ValueError("no such luck")

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.ProgramError, match="ValueError: no such luck") as caught:
                await stack.up()
            result = caught.value.result
            assert result is not None and result.outcome == "failed"
            errors = [diagnostic.message for diagnostic in result.diagnostics if diagnostic.severity == "error"]
            told = next(message for message in errors if message.startswith("Program failed with an unhandled exception:"))
            assert "in program" in told and "_runner.py" not in told

    asyncio.run(run())


def test_a_failed_resource_fails_what_needs_it_and_the_operation(make_engine: MakeEngine, memory: Memory) -> None:
    class Picky(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            if request.name == "bad":
                raise sw.ProviderError("the quota is used up", status=sw.Status.RESOURCE_EXHAUSTED)
            return super().create(request)

    picky = Picky()

    async def program(ctx: sw.Context) -> None:
        bad = ctx.resource(THING, "bad", {})
        ctx.resource(THING, "needs-bad", {"x": bad["made"]})

    async def run() -> None:
        async with make_engine(mem=picky) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.Error) as caught:
                await stack.up()
            result = caught.value.result
            assert result is not None
            assert any("the quota is used up" in diagnostic.message for diagnostic in result.diagnostics)
            assert picky.count("create") == 0

    asyncio.run(run())


def test_a_second_operation_on_the_same_stack_is_a_conflict(make_engine: MakeEngine) -> None:
    release = asyncio.Event()
    begun = asyncio.Event()

    async def program(ctx: sw.Context) -> None:
        begun.set()
        await release.wait()

    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", program)
            first = stack.up()
            await begun.wait()
            with pytest.raises(sw.ConflictError):
                await stack.up()
            release.set()
            await first

    asyncio.run(run())


def test_events_are_typed_and_end_with_cancel(make_engine: MakeEngine, memory: Memory) -> None:
    heard: list[sw.Event] = []

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"x": 1})
        ctx.log("hello", severity="warning")

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program, config={"k": "v"})
            operation = stack.up(on_event=heard.append)
            result = await operation
            assert [event.sequence for event in heard] == sorted(event.sequence for event in heard)
            assert isinstance(heard[0], sw.PreludeEvent) and heard[0].config == {"shop:k": "v"}
            assert isinstance(heard[-1], sw.CancelEvent)
            outputs = [event for event in heard if isinstance(event, sw.ResourceOutputsEvent)]
            assert any(event.metadata.urn.endswith("::a") and event.metadata.op == "create" for event in outputs)
            [summary] = [event for event in heard if isinstance(event, sw.SummaryEvent)]
            assert summary.resource_changes == result.changes and summary.result == "succeeded"
            assert any(isinstance(event, sw.DiagnosticEvent) and event.message == "hello\n" for event in heard)
            assert heard[0].json["preludeEvent"]["config"] == {"shop:k": "v"}

    asyncio.run(run())


def test_a_program_per_call_takes_the_place_of_the_stacks_own(make_engine: MakeEngine, memory: Memory) -> None:
    async def one(ctx: sw.Context) -> None:
        ctx.resource(THING, "one", {})

    async def two(ctx: sw.Context) -> None:
        ctx.resource(THING, "two", {})

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", one)
            assert [step.name for step in (await stack.preview(program=two)).steps if step.type == THING] == ["two"]

    asyncio.run(run())


def test_an_exported_deployment_can_be_imported(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"x": sw.secret(1)})

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
            deployment = await stack.export_deployment()
            await stack.destroy()
            await stack.import_deployment(deployment)
            assert not (await stack.up()).has_changes
            with pytest.raises(sw.StateError):
                await stack.import_deployment("no JSON")

    asyncio.run(run())


def test_an_output_can_not_be_mistaken_for_its_value(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, "a", {"x": 1})
        with pytest.raises(TypeError):
            f"{a['x']}"
        with pytest.raises(TypeError):
            bool(a["x"])
        with pytest.raises(sw.InvalidInputError, match="await"):
            a.outputs
        with pytest.raises(sw.InvalidInputError, match="await"):
            a.wait()
        ctx.export("text", sw.Output.format("{}!", a["x"]))

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            assert (await stack.up()).outputs == {"text": "1!"}

    asyncio.run(run())


def test_a_hundred_stacks_at_once_keep_to_themselves(tmp_path: Path, memory: Memory) -> None:
    together = asyncio.Event()
    begun = 0

    async def program(ctx: sw.Context) -> None:
        nonlocal begun
        begun += 1
        if begun == 100:
            together.set()
        await together.wait()
        things = [ctx.resource(THING, f"{ctx.stack}-{number}", {"of": ctx.stack}) for number in range(10)]
        ctx.export("of", [thing["of"] for thing in things])

    async def run() -> None:
        async with sw.Engine(store=f"file://{tmp_path}", secrets=Vault(), providers={"mem": memory}) as engine:
            stacks = [await engine.stack(f"shop/s{number}", program) for number in range(100)]
            results = await asyncio.gather(*(stack.up() for stack in stacks))
            assert [result.outputs["of"] for result in results] == [[f"s{number}"] * 10 for number in range(100)]
            assert len(memory.things) == 1000
            assert all(id.startswith(f"{thing['of']}-") for id, thing in memory.things.items())

    asyncio.run(run())


def test_a_dependency_is_one_resource_or_several_or_urns(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, "a")
        ctx.resource(THING, "b", depends_on=a, replace_with=a)
        ctx.resource(THING, "c", depends_on=a["made"])
        urn = (await a).registered.urn
        ctx.resource(THING, "d", depends_on=urn)
        ctx.resource(THING, "e", depends_on=(urn,), replace_with=[a])
        for wrong in ("a", ["a"], [1]):
            with pytest.raises(TypeError, match="depends_on takes resources or their URNs, not "):
                ctx.resource(THING, "f", depends_on=wrong)
        with pytest.raises(TypeError, match="replace_with takes resources"):
            ctx.resource(THING, "f", replace_with="a")

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
            recorded = states(await stack.export_deployment())
            assert "f" not in recorded
            for name in "bcde":
                assert recorded[name]["dependencies"] == [recorded["a"]["urn"]], name
            assert recorded["b"]["replaceWith"] == recorded["e"]["replaceWith"] == [recorded["a"]["urn"]]

    asyncio.run(run())


def test_what_is_not_known_yet_can_not_be_searched(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, "a")
        call = ctx.invoke("mem:index:echo", {})
        for value in (a, a["x"], call, call["echo"]):
            with pytest.raises(TypeError, match=r"use apply\(\)"):
                list(value)
            with pytest.raises(TypeError, match=r"use apply\(\)"):
                assert "x" in value
        with pytest.raises(TypeError):
            sw.Output.format("{}", *a["x"])

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            await (await engine.stack("shop/dev", program)).up()

    asyncio.run(run())


@pytest.mark.parametrize("is_async", [True, False])
def test_outputs_that_apply_returns_are_waited_for_and_depended_on(
    make_engine: MakeEngine, memory: Memory, is_async: bool
) -> None:
    calls = 0

    def register(ctx: sw.Context) -> None:
        nonlocal calls
        a = ctx.resource(THING, "a", {"x": 1})
        b = ctx.resource(THING, "b", {"x": 2, "of": a["x"]})

        def twice(_x: object) -> sw.Output[Any]:
            nonlocal calls
            calls += 1
            return b["x"].apply(lambda x: {"inner": c["x"], "x": x})

        c = ctx.resource(THING, "c", {"x": 3, "of": b["x"]})
        nested = a["x"].apply(twice)
        ctx.resource(THING, "one", {"in": nested})
        ctx.resource(THING, "all", {"in": sw.Output.all(nested["x"], a["x"]).apply(lambda both: [b, *both])})
        ctx.resource(THING, "explicit", {}, depends_on=nested)
        ctx.export("late", a["x"].apply(lambda _: ctx.resource(THING, "late", {"of": c["x"]})["made"]))

    async def program(ctx: sw.Context) -> None:
        register(ctx)
        nested = ctx.resource(THING, "p").id.apply(lambda _: ctx.resource(THING, "q", {"x": 4})["x"])
        assert await nested in (4, sw.UNKNOWN)

    def blocking_program(ctx: sw.Context) -> None:
        register(ctx)
        nested = ctx.resource(THING, "p").id.apply(lambda _: ctx.resource(THING, "q", {"x": 4})["x"])
        assert nested.wait() in (4, sw.UNKNOWN)

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program if is_async else blocking_program)
            await stack.preview()
            assert calls == 1, "a preview shows inputs as outputs"
            result = await stack.up()
            assert result.outputs["late"] is True and calls == 2, "once in each run, however many use it"
            recorded = states(await stack.export_deployment())
            urns = {name: recorded[name]["urn"] for name in "abc"}
            for name in ("one", "explicit"):
                assert set(recorded[name]["dependencies"]) == set(urns.values()), name
            assert set(recorded["one"]["propertyDependencies"]["in"]) == set(urns.values())
            assert recorded["one"]["inputs"]["in"] == {"inner": 3, "x": 2}
            assert set(recorded["all"]["dependencies"]) >= {urns["a"], urns["b"]}
            assert recorded["all"]["inputs"]["in"][1:] == [2, 1]

    asyncio.run(run())


def test_what_the_function_of_apply_raises_fails_who_uses_it(make_engine: MakeEngine, memory: Memory) -> None:
    calls = 0

    def broken(_x: object) -> None:
        nonlocal calls
        calls += 1
        raise LookupError("no such size")

    async def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, "a", {"x": 1})
        ctx.resource(THING, "b", {"x": a["x"].apply(broken)})

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            with pytest.raises(sw.ProgramError, match="no such size") as caught:
                await (await engine.stack("shop/dev", program)).up()
            assert isinstance(caught.value.__cause__, LookupError) and calls == 1

    asyncio.run(run())
