"""A host that is killed while a plugin constructs a component: no process is left, and the next run finishes the component."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import stackwright as sw

from conftest import Vault, on_loop, states

TIMEOUT_SECONDS = 60

BOX = '''
from pathlib import Path
from typing import Optional, TypedDict
import pulumi

# Held open as long as this process runs.
PATH = Path(__file__).with_name("alive")
ALIVE = PATH.open("w") if PATH.exists() else None

class Thing(pulumi.CustomResource):
    def __init__(self, name, props, opts):
        super().__init__("things:index:Thing", name, props, opts)

class BoxArgs(TypedDict):
    size: pulumi.Input[int]

class Box(pulumi.ComponentResource):
    size: pulumi.Output[int]

    def __init__(self, name: str, args: BoxArgs, opts: Optional[pulumi.ResourceOptions] = None):
        super().__init__("pybox:index:Box", name, {}, opts)
        lid = Thing(name + "-lid", {"size": args["size"]}, pulumi.ResourceOptions(parent=self))
        Thing(name + "-floor", {"of": lid.id}, pulumi.ResourceOptions(parent=self))
        self.size = pulumi.Output.from_input(args["size"])
        self.register_outputs({"size": self.size})
'''
MAIN = '''
from pulumi.provider.experimental import component_provider_host
from box import Box
if __name__ == "__main__":
    component_provider_host(name="pybox", components=[Box])
'''


class Things(sw.Provider):
    """Makes files. With ``holds``, the creation of the floor is announced and never ends."""

    def __init__(self, folder: Path, *, holds: bool) -> None:
        self.folder = folder
        self.holds = holds

    async def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if self.holds and request.name == "box-floor":
            print("held", flush=True)
            await asyncio.Event().wait()
        id = f"{request.name}-{len(list(self.folder.iterdir()))}"
        (self.folder / id).touch()
        return sw.CreateResult(id, request.inputs)

    async def delete(self, request: sw.DeleteRequest) -> None:
        (self.folder / request.id).unlink()


async def program(ctx: sw.Context) -> None:
    ctx.export("size", ctx.remote_component("pybox:index:Box", "box", {"size": 3})["size"])


def engine(folder: Path, *, holds: bool) -> sw.Engine:
    return sw.Engine(
        store=f"file://{folder / 'state'}",
        secrets=Vault(),
        providers={"things": Things(folder / "things", holds=holds)},
        plugins=sw.Plugins(commands={"pybox": [sys.executable, "-u", str(folder / "pybox")]}),
    )


async def host(folder: Path) -> None:
    """Updates the stack; runs in a process of its own."""
    async with engine(folder, holds=True) as running:
        await (await running.stack("shop/dev", program)).up()


def killed_in_construct(folder: Path, alive: Path) -> None:
    """Runs a host, kills it while the component is constructed, and waits for the end of the plugin."""
    ended: list[str] = []
    reader = threading.Thread(target=lambda: ended.append(alive.read_text()), daemon=True)
    reader.start()
    command = [sys.executable, __file__, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        deadline = threading.Timer(TIMEOUT_SECONDS, process.kill)
        deadline.start()
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert any(line == "held\n" for line in lines), "the host has ended"
        deadline.cancel()
        assert ended == [], "the plugin runs"
        os.kill(process.pid, signal.SIGKILL)
    # The other end of the fifo closes when the process of the plugin has ended.
    reader.join(TIMEOUT_SECONDS)
    assert ended == [""], "the plugin has ended"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a fifo")
@on_loop
async def test_a_host_killed_in_construct_leaves_no_process_and_the_next_run_finishes_the_component(tmp_path: Path) -> None:
    pytest.importorskip("pulumi")
    package, things = tmp_path / "pybox", tmp_path / "things"
    package.mkdir()
    things.mkdir()
    (package / "PulumiPlugin.yaml").write_text("runtime: python\n")
    (package / "box.py").write_text(BOX)
    (package / "__main__.py").write_text(MAIN)
    alive = package / "alive"
    os.mkfifo(alive)
    await asyncio.to_thread(killed_in_construct, tmp_path, alive)
    alive.unlink()

    async with engine(tmp_path, holds=False) as running:
        stack = await running.stack("shop/dev", program)
        left = await stack.export_deployment()
        known = states(left)
        assert known["box-lid"]["parent"] == known["box"]["urn"]
        assert [path.name for path in things.iterdir()] == ["box-lid-0"] and "box-floor" not in known
        (pending,) = left["deployment"]["pending_operations"]
        assert (pending["type"], pending["resource"]["urn"].rsplit("::", 1)[-1]) == ("creating", "box-floor")
        result = await stack.up()
        assert result.outputs["size"].value == 3
        assert result.changes["create"] == 1
        known = states(await stack.export_deployment())
        assert (known["box-lid"]["id"], known["box-floor"]["id"]) == ("box-lid-0", "box-floor-1")
        assert set((await stack.up()).changes) == {"same"}
        await stack.destroy()
        assert list(things.iterdir()) == []


if __name__ == "__main__":
    asyncio.run(host(Path(sys.argv[1])))
