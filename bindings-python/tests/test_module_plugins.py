"""Components with a state resource in plugins that a Pulumi SDK hosts: its calls wait for Construct, and Construct for them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import ROOT, Memory, Vault, on_loop, states

pytest.importorskip("pulumi")

# Each Construct waits on one thread of the SDK for its state, on one more for an inner component, and on a further one for
# what it registers then.
THREADS = 32

OUTER = ["pymodule", "gobox"]
TOP = 4
COUNT = 2 * TOP


async def soon(operation: sw.Operation) -> sw.Result:
    return await asyncio.wait_for(operation, 60)


class Modules:
    """A stack with eight modules: four of the program, and one inside each of them."""

    def __init__(self, stack: sw.Stack, limits: dict[str, Any]) -> None:
        self.stack = stack
        self.limits = limits

    async def live(self, memory: Memory, resize: Any) -> None:
        """Plays all operations."""
        stack, limits = self.stack, self.limits
        await soon(stack.preview(**limits))
        assert memory.things == {}
        made = await soon(stack.up(**limits))
        assert made.changes["create"] == 1 + 4 * COUNT
        same = await soon(stack.up(**limits))
        assert set(same.changes) == {"same"}
        resize()
        changed = await soon(stack.up(**limits))
        assert changed.changes["update"] == 3 * COUNT, changed.changes
        await soon(stack.refresh(**limits))
        await soon(stack.refresh(refresh_program=True, **limits))
        known = states(await stack.export_deployment())
        assert known["module-3-in"]["parent"] == known["module-3"]["urn"]
        assert known["module-3-in-1"]["parent"] == known["module-3-in"]["urn"]
        await soon(stack.destroy(**limits))
        assert memory.things == {}


@pytest.fixture
def commands(gobox: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    monkeypatch.setenv("MODULE_THREADS", str(THREADS))
    return {"pymodule": [sys.executable, "-u", str(ROOT / "testkit" / "python-module")], "gobox": gobox}


@pytest.mark.parametrize("inner", ["same", "other"])
@pytest.mark.parametrize("parallel", [1, 2, 0], ids=["one", "two", "unbounded"])
@on_loop
async def test_calls_that_wait_for_construct_never_hang(
    tmp_path: Path, memory: Memory, commands: dict[str, list[str]], parallel: int, inner: str
) -> None:
    size = 1

    def resize() -> None:
        nonlocal size
        size += 1

    async def program(ctx: sw.Context) -> None:
        for number in range(TOP):
            outer = OUTER[number % 2]
            inside = outer if inner == "same" else OUTER[1 - number % 2]
            ctx.remote_component(f"{outer}:index:Module", f"module-{number}", {"size": size, "inner": [inside]})

    async with sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory},
        plugins=sw.Plugins(commands=commands),
    ) as engine:
        stack = await engine.stack("shop/dev", program)
        await Modules(stack, {"parallel": parallel} if parallel else {}).live(memory, resize)


@pytest.mark.parametrize("parallel", [1, 0], ids=["one", "unbounded"])
@on_loop
async def test_all_threads_of_the_sdk_but_one_can_wait(tmp_path: Path, memory: Memory, parallel: int) -> None:
    # The number of threads that asyncio makes; each component without another one inside waits on one.
    count = min(8, (os.cpu_count() or 1) + 4 - 1)

    async def program(ctx: sw.Context) -> None:
        for number in range(count):
            ctx.remote_component("pymodule:index:Module", f"module-{number}", {"size": 1, "inner": []})

    command = [sys.executable, "-u", str(ROOT / "testkit" / "python-module")]
    async with sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory},
        plugins=sw.Plugins(commands={"pymodule": command}),
    ) as engine:
        stack = await engine.stack("shop/dev", program)
        limits: dict[str, Any] = {"parallel": parallel} if parallel else {}
        made = await soon(stack.up(**limits))
        assert made.changes["create"] == 1 + 4 * count
        await soon(stack.destroy(**limits))
        assert memory.things == {}
