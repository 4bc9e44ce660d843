"""The native API: lifecycle, eager registration, components, functions, providers, options."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest
import stackwright as sw

from conftest import MakeEngine, Memory, states

THING = "mem:index:Thing"


def test_a_stack_runs_from_preview_to_destroy(make_engine: MakeEngine, memory: Memory) -> None:
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
            assert result.outcome == "succeeded" and result.outputs == {"size": sw.OutputValue(1)} and len(memory.things) == 2
            assert not (await stack.up()).has_changes
            size = 2
            assert (await stack.up()).changes == {"update": 2, "same": 1}
            memory.things.clear()
            assert (await stack.refresh()).changes["delete"] == 2
            assert (await stack.up()).changes["create"] == 2
            assert await stack.outputs() == {"size": sw.OutputValue(2)}
            assert [stack.name for stack in await engine.stacks("shop")] == ["shop/dev"]
            assert (await stack.destroy()).changes["delete"] == 3
            assert not memory.things
            kinds = [entry["kind"] for entry in await stack.history()]
            assert kinds == ["destroy", "update", "refresh", "update", "update", "update"]
            await stack.remove()
            assert await engine.stacks() == []

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
            assert results == [{"x": 7}] and sw.unwrap(result.outputs) == {"echo": 7}

    asyncio.run(run())


def test_an_explicit_provider_and_a_read_resource(make_engine: MakeEngine, memory: Memory) -> None:
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


def test_the_version_is_that_of_the_command() -> None:
    command = [sys.executable, "-m", "stackwright", "version", "--json"]
    document = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)
    assert sw.__version__ == document["stackwright"]
    assert "__version__" in sw.__all__
