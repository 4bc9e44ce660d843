"""Component packages in plugins that a Pulumi SDK hosts, used by programs of both APIs."""

from __future__ import annotations

import inspect
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import Memory, Vault, on_loop, package_of, served, states

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
LID = '''
        class Lid(pulumi.CustomResource):
            size: pulumi.Output[int]
            def __init__(lid, name, props, opts):
                super().__init__("things:index:Thing", name, props, opts)
        args = dict(args, size=Lid(name + "-lid", {"size": args["size"]}, pulumi.ResourceOptions(parent=self)).size)'''
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
        **served(commands),
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
        pulumi.CustomResource("things:index:Thing", "user", {"of": box.doubled})
        pulumi.export("doubled", box.doubled)
        pulumi.export("label", box.label)

    return program


def own_program(package: str = "pybox") -> Callable[[sw.Context], Any]:
    async def program(ctx: sw.Context) -> None:
        box = ctx.remote_component(f"{package}:index:Box", "box", {"size": 3, "label": sw.secret("hush-hush")})
        ctx.resource("things:index:Thing", "user", {"of": box["doubled"]})
        ctx.export("doubled", box["doubled"])
        ctx.export("label", box["label"])

    return program


@pytest.mark.parametrize(
    ("host", "written"),
    [
        *((host, written) for host in ("pybox", "gobox") for written in (sdk_program, own_program)),
        ("tsbox_own", own_program),
        ("tsbox", sdk_program),
    ],
)
@on_loop
async def test_a_component_of_a_plugin_lives_through_all_operations(
    tmp_path: Path,
    memory: Memory,
    request: pytest.FixtureRequest,
    host: str,
    written: Callable[[str], sw.Program],
) -> None:
    package, command = package_of(host, request)
    async with engine(tmp_path, memory, **{package: command}) as running:
        stack = await running.stack("shop/dev", written(package))
        await stack.preview()
        assert memory.things == {}
        result = await stack.up()
        assert result.outputs["doubled"].value == 6
        assert result.outputs["label"].value == "hush-hush" and result.outputs["label"].secret
        known = states(await stack.export_deployment())
        assert known["box-lid"]["parent"] == known["box"]["urn"]
        assert known["box"]["urn"] in known["user"]["propertyDependencies"]["of"]
        assert "hush-hush" not in str(known)
        again = await stack.up()
        assert set(again.changes) == {"same"}
        await stack.refresh()
        await stack.destroy()
        assert memory.things == {}


@pytest.mark.parametrize("written", [sdk_program, own_program], ids=["sdk", "own"])
@on_loop
async def test_what_uses_an_output_depends_on_what_the_output_comes_from(
    tmp_path: Path, memory: Memory, plugin: Callable[..., list[str]], written: Callable[[], sw.Program]
) -> None:
    async with engine(tmp_path, memory, pybox=plugin("pybox", LID)) as running:
        stack = await running.stack("shop/dev", written())
        await stack.up()
        known = states(await stack.export_deployment())
        assert known["user"]["inputs"] == {"of": 6}
        for dependencies in (known["user"]["dependencies"], known["user"]["propertyDependencies"]["of"]):
            assert known["box-lid"]["urn"] in dependencies


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


def processes_with(text: str) -> list[str]:
    """Returns the command lines of the running processes that contain a text."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line:
            found.append(line)
    return found


SECOND = '''
        import os, pathlib
        pathlib.Path(__file__).with_name("pid").write_text(str(os.getpid()))
        options = pulumi.ResourceOptions(parent=self, depends_on=[lid])
        second = pulumi.CustomResource("things:index:Thing", name + "-second", {"size": 1}, options)
        args = {**args, "size": second.id.apply(lambda _: 1)}'''


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@on_loop
async def test_a_host_killed_in_the_middle_of_construct_leaves_its_children_recorded_and_no_process(
    tmp_path: Path, plugin: Callable[..., list[str]]
) -> None:
    command = plugin("pybox", "lid = " + THING + SECOND)

    class Killing(Memory):
        """Kills the host of the component while its second child is created."""

        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            if request.name == "box-second":
                os.kill(int((tmp_path / "pybox" / "pid").read_text()), signal.SIGKILL)
            return super().create(request)

    memory = Killing()
    async with engine(tmp_path, memory, pybox=command) as running:
        stack = await running.stack("shop/dev", own_program())
        with pytest.raises(sw.StackwrightError, match="(?s)pybox:index:Box resource 'box' has a problem.*died"):
            await stack.up()
        known = states(await stack.export_deployment())
        assert known["box-lid"]["parent"] == known["box"]["urn"] == known["box-second"]["parent"]
        assert {known["box-lid"]["id"], known["box-second"]["id"]} == set(memory.things)
        assert "pending_operations" not in (await stack.export_deployment())["deployment"]
        # The next run has another process, and nothing is created twice.
        with pytest.raises(sw.StackwrightError):
            await stack.up(policies=[sw.Policy("none", level="mandatory", check=lambda resource: "no")])
        assert len(memory.things) == 2
        await stack.destroy()
        assert memory.things == {}
    assert processes_with(str(tmp_path)) == []


@pytest.mark.parametrize("written", [sdk_program, own_program], ids=["sdk", "own"])
@on_loop
async def test_a_failed_component_states_where_the_program_uses_it(
    tmp_path: Path, memory: Memory, plugin: Callable[..., list[str]], written: Callable[[], Any]
) -> None:
    command = plugin("pybox", 'raise RuntimeError("no more wood")')
    async with engine(tmp_path, memory, pybox=command) as running:
        root = Path(__file__).parent
        stack = await running.stack("shop/dev", written(), root_directory=root)
        with pytest.raises(sw.StackwrightError) as caught:
            await stack.up()
        text = str(caught.value)
        assert "pybox:index:Box resource 'box' has a problem: " in text and "no more wood" in text
        # The line in the component, from its host.
        assert "box.py" in text
        if written is sdk_program:
            line = inspect.getsourcelines(sdk_program)[1] + 2
            assert f"hint: the component is used at test_component_plugins.py:{line}" in text
