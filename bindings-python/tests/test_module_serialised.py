"""Components with a state resource in a plugin of an SDK that constructs one component after the other: why they hang is explained."""

from __future__ import annotations

import asyncio
import re
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import stackwright as sw

from conftest import ROOT, Memory, Vault, on_loop, states

pytest.importorskip("pulumi")

SERIALISES = tuple(int(part) for part in version("pulumi").split(".")[:2]) < (3, 272)

# The engine looks every 5 seconds for what has stood still for 30; and the plugin has to start.
REPORT = 60
# Far more than it takes to end the operation, and to destroy what it has made.
PROMPT = 20

MODULE = "urn:pulumi:dev::shop::pymodule:index:Module::outer"
INNER = "urn:pulumi:dev::shop::pymodule:index:Module$pymodule:index:Module::outer-in"
WARNING = re.compile(
    rf"""no call has begun or ended for \d+ s, while these are in progress:
  construct of {re.escape(MODULE)} \(\d+ s\)
  construct of {re.escape(INNER)} \(\d+ s\), whose component is not registered yet
where these wait for each other, the plugin has to serve them at the same time: one with the Pulumi SDK for Python """
    r"constructs one component after the other before version 3\.272, and later has a thread for each of a few "
    r"registrations, by the number of processors\n?"
)


@pytest.mark.skipif(not SERIALISES, reason="this SDK constructs components at the same time")
@on_loop
async def test_a_component_inside_one_that_its_host_constructs_first_is_explained_and_can_be_cancelled(
    tmp_path: Path, memory: Memory
) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.remote_component("pymodule:index:Module", "outer", {"size": 1, "inner": ["pymodule"]})

    command = [sys.executable, "-u", str(ROOT / "testkit" / "python-module")]
    async with sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory},
        plugins=sw.Plugins(commands={"pymodule": command}),
    ) as engine:
        stack = await engine.stack("shop/dev", program)
        operation = stack.up()

        async def warning() -> str:
            async for event in operation:
                if isinstance(event, sw.DiagnosticEvent) and event.severity == "warning":
                    return event.message
            raise AssertionError("the operation has ended")

        text = await asyncio.wait_for(warning(), REPORT)
        assert WARNING.fullmatch(text), text
        # A first one gives Construct, which does not end, 30 seconds to return.
        for _ in range(2):
            operation.cancel()
        with pytest.raises(sw.CancelledError) as caught:
            await asyncio.wait_for(operation, PROMPT)
        assert caught.value.message == "update canceled"
        # What the outer one has registered before is recorded; nothing of the inner one is.
        known = states(await stack.export_deployment())
        assert {name for name in known if name.startswith("outer")} == {"outer", "outer-state", "outer-0", "outer-1"}
        await asyncio.wait_for(stack.destroy(), PROMPT)
        assert memory.things == {}
