"""Components with a state resource in the same provider: its calls hand the recorded state to Construct, and wait for the new one."""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import Memory, Vault, on_loop, states


class Meeting:
    """The recorded state, which a call on it hands to Construct, and the new one."""

    def __init__(self) -> None:
        self.old: asyncio.Future[dict[str, Any]] = asyncio.Future()
        self.new: asyncio.Future[dict[str, Any]] = asyncio.Future()


class Modules(sw.Provider):
    """Constructs modules, with one inside each outer one; the calls on their state wait for Construct, while one runs.

    The state of a module has the sizes that the module has had, and the URNs of what its Construct has registered. The output
    `saw` of the module is the state that its Construct was given.
    """

    supports_preview = True

    def __init__(self) -> None:
        self.met = 0
        self.runs_program = True
        self.meetings: dict[str, Meeting] = defaultdict(Meeting)

    async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> dict[str, Any]:
        meeting = self.meetings[request.name] = Meeting()
        inputs = {"size": request.inputs["size"]}
        ctx.resource("module:index:State", f"{request.name}-state", inputs)
        if request.inputs["outer"]:
            ctx.remote_component("module:index:Module", f"{request.name}-in", {**inputs, "outer": False})
        old = await meeting.old
        things = [ctx.resource("things:index:Thing", f"{request.name}-{n}", inputs) for n in range(2)]
        made = [await thing.urn for thing in things]
        sizes = [size for size in old.get("sizes", []) if size != inputs["size"]]
        meeting.new.set_result({"sizes": [*sizes, inputs["size"]], "made": made})
        return {"made": len(things), "saw": old}

    async def meet(self, urn: str, recorded: dict[str, Any]) -> dict[str, Any]:
        """Hands the recorded state to Construct and returns the new one."""
        self.met += 1
        meeting = self.meetings[urn.rsplit("::", 1)[-1].removesuffix("-state")]
        if not meeting.old.done():
            meeting.old.set_result(recorded)
        return await asyncio.shield(meeting.new)

    async def diff(self, request: sw.DiffRequest) -> bool:
        new = await self.meet(request.urn, request.old_outputs)
        return request.old_outputs != new

    async def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        new = await self.meet(request.urn, {})
        return sw.CreateResult("" if request.preview else "state", new)

    async def update(self, request: sw.UpdateRequest) -> sw.UpdateResult:
        return sw.UpdateResult(await self.meet(request.urn, request.old_outputs))

    async def read(self, request: sw.ReadRequest) -> sw.ReadResult:
        if self.runs_program:
            await self.meet(request.urn, request.outputs)
        return sw.ReadResult(request.id, request.outputs, request.inputs)

    async def delete(self, request: sw.DeleteRequest) -> None: ...


TOP = 4
COUNT = 2 * TOP
# The largest number of calls at a time; without one, it is 16.
UNBOUNDED = 2**31 - 1


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
        limits: dict[str, Any] = {"parallel": parallel or UNBOUNDED}

        async def keeps(saw: list[int], sizes: list[int]) -> None:
            """Checks the recorded states, and those that the last Constructs were given."""
            known = states(await stack.export_deployment())
            for name in (f"module-{number}{inner}" for number in range(TOP) for inner in ("", "-in")):
                recorded = {"sizes": sizes, "made": [known[f"{name}-{number}"]["urn"] for number in range(2)]}
                assert known[f"{name}-state"]["outputs"] == recorded
                assert known[name]["outputs"] == {"made": 2, "saw": {**recorded, "sizes": saw} if saw else {}}

        async def soon(operation: sw.Operation) -> sw.Result:
            return await asyncio.wait_for(operation, 60)

        await soon(stack.preview(**limits))
        made = await soon(stack.up(**limits))
        assert made.changes["create"] == 1 + 4 * COUNT
        await keeps([], [1])
        same = await soon(stack.up(**limits))
        assert set(same.changes) == {"same"}
        await keeps([1], [1])
        size = next(sizes)
        changed = await soon(stack.up(**limits))
        assert changed.changes["update"] == 4 * COUNT
        await keeps([1], [1, 2])
        modules.runs_program = False
        await soon(stack.refresh(**limits))
        modules.runs_program, modules.met = True, 0
        await soon(stack.refresh(refresh_program=True, **limits))
        assert modules.met >= COUNT, "each state was read while its module was constructed"
        await keeps([1, 2], [1, 2])
        known = states(await stack.export_deployment())
        assert known["module-3-1"]["parent"] == known["module-3"]["urn"]
        assert known["module-3-in"]["parent"] == known["module-3"]["urn"]
        assert known["module-3-in-1"]["parent"] == known["module-3-in"]["urn"]
        await soon(stack.destroy(**limits))
        assert memory.things == {}
