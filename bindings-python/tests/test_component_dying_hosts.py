"""Component hosts in three languages that are killed in Construct: the state is valid, no process is left, and the error names the component."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import stackwright as sw

from conftest import Memory, Vault, on_loop, package_of, states

pytest.importorskip("pulumi")
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def children() -> set[int]:
    """Returns the processes that this one has started, also those that have ended and are not waited for."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.add(int(folder.name))
    return found


def is_watcher(process: int) -> bool:
    """Returns whether a process is the one of the engine that ends plugins which are left."""
    return Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"/bin/sh\0")


class Killing(Memory):
    """Kills the host of the component while its lid is created."""

    def __init__(self) -> None:
        super().__init__()
        self.before = children()
        self.kills = True

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if self.kills:
            (host,) = (process for process in children() - self.before if not is_watcher(process))
            os.kill(host, signal.SIGKILL)
        return super().create(request)


@pytest.mark.parametrize("host", ["pybox", "tsbox_own", "gobox"])
@on_loop
async def test_a_host_killed_in_construct_is_named_and_leaves_a_valid_state(
    tmp_path: Path, request: pytest.FixtureRequest, host: str
) -> None:
    package, command = package_of(host, request)
    plugins = sw.Plugins(commands={package: command}, pool_capacity=0)
    memory = Killing()

    def program(ctx: sw.Context) -> None:
        ctx.remote_component(f"{package}:index:Box", "box", {"size": 1})

    store = f"file://{tmp_path / 'state'}"
    async with sw.Engine(store=store, secrets=Vault(), providers={"things": memory}, plugins=plugins) as engine:
        stack = await engine.stack("shop/dev", program)
        with pytest.raises(sw.StackwrightError, match=rf"(?s){package}:index:Box resource 'box' has a problem.*died"):
            await stack.up()
        assert children() <= memory.before
        left = await stack.export_deployment()
        assert "pending_operations" not in left["deployment"]
        known = states(left)
        assert known["box-lid"]["parent"] == known["box"]["urn"]
        assert {known["box-lid"]["id"]} == set(memory.things)
        # Another process finishes the component, and creates nothing twice.
        memory.kills = False
        await stack.up()
        assert memory.count("create") == 1
        await stack.destroy()
        assert memory.things == {}
    assert children() <= memory.before
