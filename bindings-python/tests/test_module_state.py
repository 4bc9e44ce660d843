"""Components with a state resource in the same provider: its calls wait for what Construct registers, and Construct for them."""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import Memory, Vault, on_loop, states


class Modules(sw.Provider):
    """Constructs modules, with one inside each outer one; the calls on their state wait for Construct, while one runs."""

    supports_preview = True

    def __init__(self) -> None:
        self.met = 0
        self.runs_program = True
        self.meetings: dict[str, tuple[asyncio.Event, asyncio.Event]] = defaultdict(
            lambda: (asyncio.Event(), asyncio.Event())
        )

    async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> dict[str, Any]:
        old, new = self.meetings[request.name] = (asyncio.Event(), asyncio.Event())
        inputs = {"size": request.inputs["size"]}
        ctx.resource("module:index:State", f"{request.name}-state", inputs)
        if request.inputs["outer"]:
            ctx.remote_component("module:index:Module", f"{request.name}-in", {**inputs, "outer": False})
        await old.wait()
        things = [ctx.resource("things:index:Thing", f"{request.name}-{n}", inputs) for n in range(2)]
        for thing in things:
            await thing
        new.set()
        return {"made": len(things)}

    async def meet(self, urn: str) -> None:
        self.met += 1
        old, new = self.meetings[urn.rsplit("::", 1)[-1].removesuffix("-state")]
        old.set()
        await new.wait()

    async def diff(self, request: sw.DiffRequest) -> bool:
        await self.meet(request.urn)
        return request.old_inputs != request.inputs

    async def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        await self.meet(request.urn)
        return sw.CreateResult("" if request.preview else "state", request.inputs)

    async def update(self, request: sw.UpdateRequest) -> sw.UpdateResult:
        await self.meet(request.urn)
        return sw.UpdateResult(request.inputs)

    async def read(self, request: sw.ReadRequest) -> sw.ReadResult:
        if self.runs_program:
            await self.meet(request.urn)
        return sw.ReadResult(request.id, request.outputs, request.inputs)

    async def delete(self, request: sw.DeleteRequest) -> None: ...


TOP = 4
COUNT = 2 * TOP


@pytest.mark.parametrize("parallel", [1, 2, 0], ids=["one", "two", "unbounded"])
@on_loop
async def test_calls_that_wait_for_construct_never_hang(
    tmp_path: Path, memory: Memory, parallel: int
) -> None:
    sizes = itertools.count(1)
    size = next(sizes)

    async def program(ctx: sw.Context) -> None:
        for number in range(TOP):
            ctx.remote_component("module:index:Module", f"module-{number}", {"size": size, "outer": True})

    modules = Modules()
    providers: dict[str, object] = {"things": memory, "module": modules}
    async with sw.Engine(
        store=f"file://{tmp_path / 'state'}", secrets=Vault(), providers=providers
    ) as engine:
        stack = await engine.stack("shop/dev", program)
        limits: dict[str, Any] = {"parallel": parallel} if parallel else {}

        async def soon(operation: sw.Operation) -> sw.Result:
            return await asyncio.wait_for(operation, 60)

        await soon(stack.preview(**limits))
        made = await soon(stack.up(**limits))
        assert made.changes["create"] == 1 + 4 * COUNT
        same = await soon(stack.up(**limits))
        assert set(same.changes) == {"same"}
        size = next(sizes)
        changed = await soon(stack.up(**limits))
        assert changed.changes["update"] == 4 * COUNT
        modules.runs_program = False
        await soon(stack.refresh(**limits))
        modules.runs_program, modules.met = True, 0
        await soon(stack.refresh(refresh_program=True, **limits))
        assert modules.met >= COUNT, "each state was read while its module was constructed"
        known = states(await stack.export_deployment())
        assert known["module-3-1"]["parent"] == known["module-3"]["urn"]
        assert known["module-3-in"]["parent"] == known["module-3"]["urn"]
        assert known["module-3-in-1"]["parent"] == known["module-3-in"]["urn"]
        await soon(stack.destroy(**limits))
        assert memory.things == {}
