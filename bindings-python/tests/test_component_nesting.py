"""Components of plugins in three languages inside each other, up to three deep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import Memory, Vault, on_loop, served, states

pulumi = pytest.importorskip("pulumi")

# Each language is outside, in the middle and inside, next to each of the others.
NESTS = [
    ("tsbox", "pybox"),
    ("pybox", "gobox"),
    ("gobox", "tsbox"),
    ("tsbox", "gobox", "pybox"),
    ("gobox", "pybox", "tsbox"),
    ("pybox", "tsbox", "gobox"),
]
BOXES = sum(len(nest) for nest in NESTS)


class Box(pulumi.ComponentResource):  # type: ignore[misc, name-defined]
    """A component as a program of the SDK sees it."""

    doubled: Any
    label: Any

    def __init__(self, package: str, name: str, props: dict[str, Any]) -> None:
        super().__init__(f"{package}:index:Box", name, {"doubled": None, "label": None, **props}, None, remote=True)


def sdk_program(size: Callable[[], int]) -> sw.Program:
    def program() -> None:
        for number, (outer, *inner) in enumerate(NESTS):
            props = {"size": size(), "label": pulumi.Output.secret("hush-hush"), "inner": inner}
            box = Box(outer, f"box{number}", props)
            pulumi.export(f"doubled{number}", box.doubled)
            pulumi.export(f"label{number}", box.label)

    return program


def own_program(size: Callable[[], int]) -> sw.Program:
    async def program(ctx: sw.Context) -> None:
        for number, (outer, *inner) in enumerate(NESTS):
            inputs = {"size": size(), "label": sw.secret("hush-hush"), "inner": inner}
            box = ctx.remote_component(f"{outer}:index:Box", f"box{number}", inputs)
            ctx.export(f"doubled{number}", box["doubled"])
            ctx.export(f"label{number}", box["label"])

    return program


def check(result: sw.Result, size: int) -> None:
    """The output of a box is twice that of the box inside it."""
    for number, nest in enumerate(NESTS):
        assert result.outputs[f"doubled{number}"].value == size * 2 ** len(nest)
        label = result.outputs[f"label{number}"]
        assert (label.value, label.secret) == ("hush-hush", True)


@on_loop
async def test_components_of_three_languages_nest(
    tmp_path: Path, memory: Memory, pybox: list[str], tsbox: list[str], gobox: list[str]
) -> None:
    size = 3
    async with sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory},
        **served({"pybox": pybox, "tsbox": tsbox, "gobox": gobox}),
    ) as engine:
        for written in (sdk_program, own_program):
            stack = await engine.stack(f"shop/{written.__name__}", written(lambda: size))
            size = 3
            await stack.preview()
            assert memory.things == {}
            check(await stack.up(), size)
            deployment = await stack.export_deployment()
            assert "hush-hush" not in str(deployment)
            known = states(deployment)
            for number, nest in enumerate(NESTS):
                name = f"box{number}"
                for outer, inner in zip(nest, nest[1:]):
                    assert known[name]["type"] == f"{outer}:index:Box"
                    assert known[f"{name}-in"]["type"] == f"{inner}:index:Box"
                    assert known[f"{name}-in"]["parent"] == known[name]["urn"]
                    name += "-in"
                assert known[f"{name}-lid"]["parent"] == known[name]["urn"]
            assert len(memory.things) == BOXES
            again = await stack.up()
            assert set(again.changes) == {"same"}
            size = 4
            changed = await stack.up()
            check(changed, size)
            assert changed.changes["update"] >= BOXES and set(changed.changes) == {"same", "update"}
            await stack.destroy()
            assert memory.things == {}
