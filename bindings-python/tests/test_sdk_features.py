"""Programs of the Pulumi SDK where options take features of the monitor away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
import pytest
import stackwright as sw

from conftest import MakeEngine, Memory, on_loop, states

REFERENCE = "5cf8f73096256a8f31e491e813e4eb8e"


class Thing(pulumi.CustomResource):
    size: pulumi.Output[int]

    def __init__(self, name: str, props: dict[str, Any]) -> None:
        super().__init__("mem:index:Thing", name, {"size": None, **props})


class Box(pulumi.ComponentResource):
    size: pulumi.Output[int]

    def __init__(self, name: str, props: dict[str, Any]) -> None:
        super().__init__("box:index:Box", name, {"size": None, **props}, None, remote=True)


class Boxes(sw.Provider):
    def __init__(self) -> None:
        self.got: list[Mapping[str, Any]] = []

    async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Mapping[str, Any]:
        self.got.append(dict(request.inputs))
        return {"size": request.inputs["size"]}


@pytest.mark.parametrize("taken", [False, True], ids=["announced", "taken away"])
@on_loop
async def test_programs_send_references_and_output_values_only_where_they_are_announced(
    make_engine: MakeEngine, memory: Memory, taken: bool
) -> None:
    def program() -> None:
        first = Thing("first", {"size": 3})
        Thing("second", {"size": 1, "of": first})
        box = Box("box", {"size": first.size, "of": first})
        pulumi.export("size", box.size)

    boxes = Boxes()
    async with make_engine(mem=memory, box=boxes) as engine:
        stack = await engine.stack("shop/dev", program)
        for _ in range(2):
            result = await stack.up(disable_resource_references=taken, disable_output_values=taken)
        known = states(await stack.export_deployment())
        reference = known["second"]["inputs"]["of"]
        if taken:
            assert reference == known["first"]["id"]
        else:
            assert REFERENCE in reference.values() and reference["urn"] == known["first"]["urn"]
        assert result.outputs["size"].value == 3 and dict(result.changes) == {"same": 4}
        assert known["first"]["urn"] in known["second"]["propertyDependencies"]["of"]
        of = boxes.got[-1]["of"]
        assert isinstance(of, str) if taken else not isinstance(of, str), of
        await stack.destroy()
