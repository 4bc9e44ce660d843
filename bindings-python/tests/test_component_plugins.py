"""Component packages in plugins that a Pulumi SDK hosts, used by programs of both APIs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import Memory, Vault, on_loop, states

pulumi = pytest.importorskip("pulumi")

BOX = '''
from typing import Optional, TypedDict
import pulumi

class BoxArgs(TypedDict):
    size: pulumi.Input[int]
    label: Optional[pulumi.Input[str]]

class Box(pulumi.ComponentResource):
    """A box with a lid."""
    doubled: pulumi.Output[int]
    label: pulumi.Output[Optional[str]]

    def __init__(self, name: str, args: BoxArgs, opts: Optional[pulumi.ResourceOptions] = None):
        super().__init__("{package}:index:Box", name, {{}}, opts)
        {make}
        self.doubled = pulumi.Output.from_input(args["size"]).apply(lambda size: int(size) * 2)
        self.label = pulumi.Output.from_input(args.get("label"))
        self.register_outputs({{"doubled": self.doubled, "label": self.label}})
'''
THING = '''pulumi.CustomResource("things:index:Thing", name + "-lid", {"size": args["size"], "label": args.get("label")}, pulumi.ResourceOptions(parent=self))'''
INNER = '''
        class Inner(pulumi.ComponentResource):
            def __init__(inner, name, props, opts):
                super().__init__("{inner}:index:Box", name, props, opts, remote=True)
        Inner(name + "-in", dict(args, doubled=None), pulumi.ResourceOptions(parent=self))'''
MAIN = '''
from pulumi.provider.experimental import component_provider_host
from box import Box
if __name__ == "__main__":
    component_provider_host(name="{package}", components=[Box])
'''


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[..., list[str]]:
    """Writes the package of a component in Python and returns the command that hosts it."""

    def write(package: str, make: str = THING) -> list[str]:
        folder = tmp_path / package
        folder.mkdir()
        (folder / "PulumiPlugin.yaml").write_text("runtime: python\n")
        (folder / "box.py").write_text(BOX.format(package=package, make=make))
        (folder / "__main__.py").write_text(MAIN.format(package=package))
        return [sys.executable, "-u", str(folder)]

    return write


def engine(tmp_path: Path, memory: Memory, **commands: list[str]) -> sw.Engine:
    return sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory},
        plugins=sw.Plugins(commands=commands),
    )


class Box(pulumi.ComponentResource):  # type: ignore[misc, name-defined]
    """The component as a program of the SDK sees it."""

    doubled: Any
    label: Any

    def __init__(self, package: str, name: str, props: dict[str, Any], opts: Any = None) -> None:
        props = {"doubled": None, "label": None, **props}
        super().__init__(f"{package}:index:Box", name, props, opts, remote=True)


def sdk_program(package: str = "pybox") -> Callable[[], None]:
    def program() -> None:
        box = Box(package, "box", {"size": 3, "label": pulumi.Output.secret("hush-hush")})
        pulumi.export("doubled", box.doubled)
        pulumi.export("label", box.label)

    return program


def own_program(package: str = "pybox") -> Callable[[sw.Context], Any]:
    async def program(ctx: sw.Context) -> None:
        box = ctx.remote_component(f"{package}:index:Box", "box", {"size": 3, "label": sw.secret("hush-hush")})
        ctx.export("doubled", box["doubled"])
        ctx.export("label", box["label"])

    return program


@pytest.mark.parametrize("written", [sdk_program, own_program], ids=["sdk", "own"])
@pytest.mark.parametrize("package", ["pybox", "tsbox", "gobox"])
@on_loop
async def test_a_component_of_a_plugin_lives_through_all_operations(
    tmp_path: Path,
    memory: Memory,
    request: pytest.FixtureRequest,
    package: str,
    written: Callable[[str], sw.Program],
) -> None:
    async with engine(tmp_path, memory, **{package: request.getfixturevalue(package)}) as running:
        stack = await running.stack("shop/dev", written(package))
        await stack.preview()
        assert memory.things == {}
        result = await stack.up()
        assert result.outputs["doubled"].value == 6
        assert result.outputs["label"].value == "hush-hush" and result.outputs["label"].secret
        known = states(await stack.export_deployment())
        assert known["box-lid"]["parent"] == known["box"]["urn"]
        assert "hush-hush" not in str(known)
        again = await stack.up()
        assert set(again.changes) == {"same"}
        await stack.refresh()
        await stack.destroy()
        assert memory.things == {}


@on_loop
async def test_components_of_three_plugins_nest(
    tmp_path: Path, memory: Memory, plugin: Callable[..., list[str]]
) -> None:
    commands = {
        "pybox": plugin("pybox", INNER.format(inner="middle")),
        "middle": plugin("middle", INNER.format(inner="core")),
        "core": plugin("core"),
    }
    async with engine(tmp_path, memory, **commands) as running:
        stack = await running.stack("shop/dev", sdk_program())
        result = await stack.up()
        assert result.outputs["doubled"].value == 6
        known = states(await stack.export_deployment())
        assert known["box-in"]["parent"] == known["box"]["urn"]
        assert known["box-in-in"]["parent"] == known["box-in"]["urn"]
        assert known["box-in-in-lid"]["parent"] == known["box-in-in"]["urn"]
        await stack.destroy()
        assert memory.things == {}


@on_loop
async def test_a_missing_input_is_named_with_its_path(
    tmp_path: Path, memory: Memory, plugin: Callable[..., list[str]]
) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.remote_component("pybox:index:Box", "box", {"label": "x"})

    async with engine(tmp_path, memory, pybox=plugin("pybox")) as running:
        stack = await running.stack("shop/dev", program)
        with pytest.raises(sw.StackwrightError, match="(?s)pybox:index:Box resource 'box' has a problem.*size"):
            await stack.up()


@on_loop
async def test_a_host_that_dies_in_construct_is_named_and_leaves_a_valid_state(
    tmp_path: Path, memory: Memory, plugin: Callable[..., list[str]]
) -> None:
    dying = THING + "\n        import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    async with engine(tmp_path, memory, pybox=plugin("pybox", dying)) as running:
        stack = await running.stack("shop/dev", own_program())
        with pytest.raises(sw.StackwrightError, match="(?s)pybox:index:Box resource 'box' has a problem.*died"):
            await stack.up()
        await stack.export_deployment()
        await stack.destroy()
        assert memory.things == {}
