"""Outputs: dependencies, unknowns, secrets, and apply."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import stackwright as sw

from conftest import MakeEngine, Memory, states

THING = "mem:index:Thing"


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


def test_outputs_of_planned_resources_are_unknown(make_engine: MakeEngine, memory: Memory) -> None:
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


def test_secrets_stay_secret(make_engine: MakeEngine, memory: Memory) -> None:
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
            assert result.outputs == {"upper": sw.OutputValue("HUNTER2", True), "user": sw.OutputValue("bob")}
            assert await stack.outputs() == result.outputs
            assert "'HUNTER2'" in str((await stack.outputs(show_secrets=True))["upper"])
            outputs = str(await stack.outputs()) + str(result.outputs)
            assert "OutputValue(value=[secret], secret=True)" in outputs
            shown = "\n".join([*lines, str(result), repr(result), outputs, str(await stack.export_deployment())])
            assert "hunter2" not in shown.lower()
            assert "HUNTER2" in str(await stack.export_deployment(show_secrets=True))

    asyncio.run(run())


def test_an_output_refuses_to_act_as_its_value(make_engine: MakeEngine, memory: Memory) -> None:
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
            assert sw.unwrap((await stack.up()).outputs) == {"text": "1!"}

    asyncio.run(run())


def test_apply_refuses_async_functions(make_engine: MakeEngine, memory: Memory) -> None:
    async def later(value: int) -> int:
        raise AssertionError("it never runs")

    def hidden(value: int) -> Any:
        return later(value)

    async def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, "a", {"x": 1})
        with pytest.raises(sw.InvalidInputError, match="not an async one; in an async program, await the output"):
            a["x"].apply(later)
        # Detected only by its result.
        with pytest.raises(sw.InvalidInputError, match="not an async one"):
            await a["x"].apply(hidden)
        ctx.resource(THING, "b", {"x": a["x"].apply(hidden)})

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.ProgramError, match="not an async one"):
                await stack.up()
            assert memory.count("create") == 1

    asyncio.run(run())


def test_a_dependency_is_one_resource_or_several_or_urns(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, "a")
        ctx.resource(THING, "b", depends_on=a, replace_with=a)
        ctx.resource(THING, "c", depends_on=a["made"])
        urn = (await a).registered.urn
        ctx.resource(THING, "d", depends_on=urn)
        ctx.resource(THING, "e", depends_on=(urn,), replace_with=[a])

    def refused(ctx: sw.Context) -> None:
        for wrong in ("a", ["a"], [1]):
            with pytest.raises(sw.InvalidInputError, match="depends_on takes resources or their URNs, not "):
                ctx.resource(THING, "f", depends_on=wrong)  # type: ignore[arg-type]
        with pytest.raises(sw.InvalidInputError, match="replace_with takes resources"):
            ctx.resource(THING, "f", replace_with="a")

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
            failed = await stack.up(program=refused).wait()
            assert "depends_on takes resources or their URNs, not" in str(failed.error)
            recorded = states(await stack.export_deployment())
            assert "f" not in recorded
            for name in "bcde":
                assert recorded[name]["dependencies"] == [recorded["a"]["urn"]], name
            assert recorded["b"]["replaceWith"] == recorded["e"]["replaceWith"] == [recorded["a"]["urn"]]

    asyncio.run(run())


def test_unknown_outputs_cannot_be_searched(make_engine: MakeEngine, memory: Memory) -> None:
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
def test_outputs_that_apply_returns_are_awaited_and_become_dependencies(
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
            assert result.outputs["late"].value is True and calls == 2, "once in each run, however many use it"
            recorded = states(await stack.export_deployment())
            urns = {name: recorded[name]["urn"] for name in "abc"}
            for name in ("one", "explicit"):
                assert set(recorded[name]["dependencies"]) == set(urns.values()), name
            assert set(recorded["one"]["propertyDependencies"]["in"]) == set(urns.values())
            assert recorded["one"]["inputs"]["in"] == {"inner": 3, "x": 2}
            assert set(recorded["all"]["dependencies"]) >= {urns["a"], urns["b"]}
            assert recorded["all"]["inputs"]["in"][1:] == [2, 1]

    asyncio.run(run())


def test_an_exception_of_applys_function_fails_the_uses_of_its_output(make_engine: MakeEngine, memory: Memory) -> None:
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


@pytest.mark.parametrize("is_async", [True, False])
def test_applys_function_runs_when_its_output_is_unused(
    make_engine: MakeEngine, memory: Memory, is_async: bool
) -> None:
    seen: list[object] = []

    def register(ctx: sw.Context) -> None:
        a, b = ctx.resource(THING, "a", {"x": 1}), ctx.resource(THING, "b", {"x": 2})

        def then(both: tuple[int, int]) -> None:
            seen.append(both)
            ctx.resource(THING, "c", {"x": sum(both)})["x"].apply(seen.append)

        sw.Output.all(a["x"], b["x"]).apply(then)
        a.id.apply(seen.append)
        assert not seen, "no function runs before apply() has returned"

    async def program(ctx: sw.Context) -> None:
        register(ctx)
        (await ctx.resource(THING, "known", {"x": 4}))["x"].apply(seen.append)

    def blocking_program(ctx: sw.Context) -> None:
        register(ctx)
        ctx.resource(THING, "known", {"x": 4}).wait()["x"].apply(seen.append)
        # A function may wait for other outputs, also for simultaneous ones.
        b = ctx.resource(THING, "d", {"x": 5})
        ctx.resource(THING, "e", {"x": 6})["x"].apply(lambda _: seen.append(b["x"].wait()))

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program if is_async else blocking_program)
            await stack.preview()
            assert (1, 2) in seen and 3 in seen and len(seen) == (3 if is_async else 4), "unknowns call no function"
            seen.clear()
            await stack.up()
            assert (1, 2) in seen and 3 in seen and 4 in seen and any(str(one).startswith("a-") for one in seen)
            assert len(seen) == (4 if is_async else 5)
            assert "c" in states(await stack.export_deployment())

    asyncio.run(run())


@pytest.mark.parametrize("is_async", [True, False])
def test_an_exception_of_applys_function_fails_the_program_unless_it_is_handled(
    make_engine: MakeEngine, memory: Memory, is_async: bool
) -> None:
    def broken(_x: object) -> None:
        raise LookupError("no such size")

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"x": 1})["x"].apply(broken)

    def blocking_program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"x": 1})["x"].apply(broken)

    async def careful(ctx: sw.Context) -> None:
        with pytest.raises(LookupError):
            await ctx.resource(THING, "a", {"x": 1})["x"].apply(broken)

    def blocking_careful(ctx: sw.Context) -> None:
        with pytest.raises(LookupError):
            ctx.resource(THING, "a", {"x": 1})["x"].apply(broken).wait()

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", careful if is_async else blocking_careful)
            await stack.up()
            result = await stack.up(program=program if is_async else blocking_program).wait()
            assert isinstance(result.error, sw.ProgramError) and isinstance(result.error.__cause__, LookupError)
            assert str(result.error) == "LookupError: no such size"
            errors = [found.message for found in result.diagnostics if "Traceback" in found.message]
            assert len(errors) == 1 and "in broken" in errors[0] and "stackwright/output.py" not in errors[0]

    asyncio.run(run())


def test_applys_function_runs_at_once_on_known_outputs_of_another_run(make_engine: MakeEngine, memory: Memory) -> None:
    kept: list[sw.Output[Any]] = []
    seen: list[object] = []

    async def first(ctx: sw.Context) -> None:
        kept.append(ctx.resource(THING, "a", {"x": 1})["x"])

    async def second(ctx: sw.Context) -> None:
        kept[0].apply(seen.append)
        sw.Output.all(2, 3).apply(seen.append)
        for output in (kept[0], sw.Output.all(1)):
            with pytest.raises(LookupError, match="no such size"):
                output.apply(broken)

    def broken(_x: object) -> None:
        raise LookupError("no such size")

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            await (await engine.stack("shop/first", first)).up()
            await (await engine.stack("shop/second", second)).up()
            assert seen == [1, (2, 3)]

    asyncio.run(run())
