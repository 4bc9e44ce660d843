"""References to other stacks, answered from the engine's own store or by the host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
import pytest
import stackwright as sw
from stackwright import sync

from conftest import MakeEngine, Memory, Vault

THING = "mem:index:Thing"


async def network(ctx: sw.Context) -> None:
    ctx.resource(THING, "router", {"x": 1})
    ctx.export("address", "10.0.0.1")
    ctx.export("key", sw.secret("k3y"))


class Directory:
    """A stack reader of a host; records the requested stacks."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def outputs(self, stack: str) -> Mapping[str, sw.PropertyValue]:
        self.asked.append(stack)
        return {"address": "10.9.9.9", "key": sw.secret("theirs")}

    def resource_outputs(self, stack: str) -> Mapping[str, Mapping[str, sw.PropertyValue]]:
        self.asked.append(stack)
        return {"urn:pulumi:dev::net::a:b:C::c": {"type": "a:b:C", "outputs": {"x": 1}}}


def test_a_stack_reference_of_the_sdk_is_answered_from_the_store_or_by_the_host(
    tmp_path: Path, memory: Memory
) -> None:
    def program() -> None:
        net = pulumi.StackReference("organization/net/dev")
        pulumi.export("address", net.get_output("address"))
        pulumi.export("key", net.get_output("key"))

    def by_function(stack: str) -> Mapping[str, sw.PropertyValue]:
        assert stack == "organization/net/dev"
        return {"address": "10.8.8.8", "key": sw.secret("fetched")}

    async def outputs(name: str, **settings: Any) -> dict[str, sw.OutputValue[Any]]:
        store = f"file://{tmp_path}"
        async with sw.Engine(store=store, secrets=Vault(), providers={"mem": memory}, **settings) as engine:
            await (await engine.stack("net/dev", network)).up()
            stack = await engine.stack(name, program)
            assert not (await stack.preview()).error
            result = await stack.up()
            assert (await stack.up()).changes == {"same": 1}, "reading is no change"
            return dict(result.outputs)

    async def run() -> None:
        directory = Directory()
        own = {"address": sw.OutputValue("10.0.0.1"), "key": sw.OutputValue("k3y", True)}
        theirs = {"address": sw.OutputValue("10.9.9.9"), "key": sw.OutputValue("theirs", True)}
        fetched = {"address": sw.OutputValue("10.8.8.8"), "key": sw.OutputValue("fetched", True)}
        assert await outputs("shop/own") == own
        assert await outputs("shop/host", stack_reader=directory) == theirs
        assert set(directory.asked) == {"organization/net/dev"}
        assert await outputs("shop/function", stack_reader=by_function) == fetched

    asyncio.run(run())


def test_a_failing_stack_reader_fails_the_reference(make_engine: MakeEngine, tmp_path: Path) -> None:
    def failing(stack: str) -> Mapping[str, sw.PropertyValue]:
        raise LookupError(f"no access to {stack}")

    async def program(ctx: sw.Context) -> None:
        await ctx.invoke("pulumi:pulumi:readStackOutputs", {"name": "net/dev"})

    async def run() -> None:
        async with sw.Engine(store=f"file://{tmp_path}", secrets=Vault(), stack_reader=failing) as engine:
            with pytest.raises(sw.StackwrightError) as caught:
                await (await engine.stack("shop/dev", program)).up()
            result = caught.value.result
            assert result is not None
            assert any("no access to net/dev" in found.message for found in result.diagnostics)

    asyncio.run(run())


def test_the_native_api_reads_other_stacks(tmp_path: Path, memory: Memory) -> None:
    def program(ctx: sw.Context) -> None:
        outputs = ctx.invoke("pulumi:pulumi:readStackOutputs", {"name": "net/dev"})
        resources = ctx.invoke("pulumi:pulumi:readStackResourceOutputs", {"stackName": "net/dev"})
        ctx.export("address", outputs["outputs"]["address"])
        ctx.export("resources", resources["outputs"])

    store = f"file://{tmp_path}"
    with sync.Engine(store=store, secrets=Vault(), providers={"mem": memory}) as engine:
        engine.stack("net/dev", network).up()
        outputs = engine.stack("shop/dev", program).up().outputs
        assert outputs["address"].value == "10.0.0.1"
        [router] = [found for urn, found in outputs["resources"].value.items() if urn.endswith("::router")]
        assert router == {"type": THING, "outputs": {"x": 1, "made": True}}
    with sync.Engine(store=store, secrets=Vault(), stack_reader=Directory()) as engine:
        outputs = engine.stack("shop/dev", program).up().outputs
        assert outputs["address"].value == "10.9.9.9"
        assert outputs["resources"].value == {"urn:pulumi:dev::net::a:b:C::c": {"type": "a:b:C", "outputs": {"x": 1}}}


@pytest.mark.parametrize("name", ["net/dev", "organization/net/dev"])
def test_a_native_program_reads_another_stack_by_name(make_engine: MakeEngine, memory: Memory, name: str) -> None:
    async def program(ctx: sw.Context) -> None:
        net = ctx.read("pulumi:pulumi:StackReference", "net", name, {"name": name})
        ctx.resource(THING, "first", {"text": net["outputs"]["address"]})
        ctx.export("key", net["outputs"]["key"])

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            await (await engine.stack("net/dev", network)).up()
            stack = await engine.stack("shop/dev", program)
            assert (await stack.preview()).outputs == {"key": sw.OutputValue("k3y", True)}
            assert (await stack.up()).outputs == {"key": sw.OutputValue("k3y", True)}
            assert {"text": "10.0.0.1"} in memory.things.values()

    asyncio.run(run())
