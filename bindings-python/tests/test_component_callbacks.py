"""Transforms and hooks of an SDK program reach components of plugins, and what those register."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import Memory, Vault, on_loop, package_of, served, states

pulumi = pytest.importorskip("pulumi")


@pytest.mark.parametrize("host", ["pybox", "tsbox", "gobox", "gobox_newest"])
@on_loop
async def test_transforms_and_hooks_of_an_sdk_program_reach_the_component(
    tmp_path: Path, memory: Memory, request: pytest.FixtureRequest, host: str
) -> None:
    package, command = package_of(host, request)
    ran: list[str] = []
    size = 1

    class Box(pulumi.ComponentResource):  # type: ignore[misc, name-defined]
        doubled: Any

        def __init__(self, name: str, opts: Any) -> None:
            inputs = {"size": size, "label": pulumi.Output.secret("hunter2"), "doubled": None}
            super().__init__(f"{package}:index:Box", name, inputs, opts, remote=True)

    def larger(args: Any) -> Any:
        # The component that its host registers has no inputs.
        if args.type_ != f"{package}:index:Box" or "size" not in args.props:
            return None
        props = {**args.props, "size": pulumi.Output.from_input(args.props["size"]).apply(lambda size: int(size) + 10)}
        return pulumi.ResourceTransformResult(props, args.opts)

    def tagging(args: Any) -> Any:
        if args.type_ != "things:index:Thing":
            return None
        return pulumi.ResourceTransformResult({**args.props, "tag": "all"}, args.opts)

    def note(moment: str) -> Any:
        return pulumi.ResourceHook(moment, lambda args: ran.append(f"{moment} {args.name}"))

    def program() -> None:
        pulumi.runtime.register_resource_transform(tagging)
        hooks = pulumi.ResourceHookBinding(after_create=[note("created")], after_update=[note("updated")])
        box = Box("box", pulumi.ResourceOptions(transforms=[larger], hooks=hooks))
        pulumi.export("doubled", box.doubled)

    async with sw.Engine(
        store=f"file://{tmp_path / 'state'}", secrets=Vault(), providers={"things": memory}, **served({package: command})
    ) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.preview()
        assert ran == []
        assert (await stack.up()).outputs["doubled"].value == 22
        lid = states(await stack.export_deployment())["box-lid"]
        assert (lid["inputs"]["size"], lid["inputs"]["tag"]) == (11, "all")
        assert "hunter2" not in str(lid)
        # The library of providers 1.1 for Go leaves out hooks.
        created = [] if host == "gobox" else ["created box"]
        assert ran == created
        assert set((await stack.up()).changes) == {"same"}
        assert ran == created, "nothing was changed"
        size = 2
        assert (await stack.up()).outputs["doubled"].value == 24
