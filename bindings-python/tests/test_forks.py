"""Hosts that fork: children inherit lock files and plugins' pipes, but keep no stack locked and no plugin alive."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import stackwright as sw
from stackwright import sync

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="processes are observed in /proc"),
    # Python warns about each fork of a process with threads.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

DEADLINE = 60

# A host that forks a child during an operation, prints the process IDs of the child and of the plugin, and waits. The
# child outlives the host.
HOST = """
import os, sys
import stackwright as sw
from stackwright import sync

class Forking(sw.Provider):
    def create(self, request):
        child = os.fork()
        if child == 0:
            sys.stdin.read()
            os._exit(0)
        print(child, request.inputs["plugin"].split()[0], flush=True)
        sys.stdin.read()
        raise RuntimeError("the input ended")

    def delete(self, request):
        pass

def program(ctx):
    plugin = "0"
    if plugins.directories:
        plugin = ctx.invoke("gofiles:index:readFile", {"path": "/proc/self/stat"})["content"]
    ctx.resource("mem:index:Thing", "thing", {"plugin": plugin})

plugins = sw.Plugins(directories=sys.argv[2:])
engine = sync.Engine(store=sys.argv[1], passphrase="x", providers={"mem": Forking()}, plugins=plugins)
engine.stack("shop/dev", program).up()
"""


class Host:
    """A host with a forked child. Both are killed at the end of the test."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOST, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.child, self.plugin = (int(number) for number in self.process.stdout.readline().split())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(DEADLINE)

    def end(self) -> None:
        self.process.kill()
        os.kill(self.child, signal.SIGKILL)
        self.process.communicate(timeout=DEADLINE)


@pytest.fixture
def hosts() -> Iterator[list[Host]]:
    started: list[Host] = []
    yield started
    for host in started:
        host.end()


def nothing(ctx: sw.Context) -> None:
    pass


def wait_for_end(pid: int) -> None:
    descriptor = os.pidfd_open(pid)
    try:
        ended, _, _ = select.select([descriptor], [], [], DEADLINE)
        assert ended, f"process {pid} still runs"
    finally:
        os.close(descriptor)


def runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_a_process_pool_of_a_program_does_not_keep_the_stack_locked(tmp_path: Path) -> None:
    store = f"file://{tmp_path}"
    pools = []

    def program(ctx: sw.Context) -> None:
        pool = multiprocessing.get_context("fork").Pool(2)
        pools.append(pool)
        assert pool.map(abs, [-1, 2]) == [1, 2]

    try:
        with sync.Engine(store=store, passphrase="x") as engine:
            engine.stack("shop/dev", program).up()
            engine.stack("shop/dev", nothing).refresh()
        with sync.Engine(store=store, passphrase="x") as another:
            another.stack("shop/dev", nothing).up()
    finally:
        for pool in pools:
            pool.terminate()
            pool.join()


def test_a_forked_child_that_ends_does_not_release_the_lock_of_its_parent(tmp_path: Path) -> None:
    store = f"file://{tmp_path}"

    def program(ctx: sw.Context) -> None:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        with sync.Engine(store=store, passphrase="x") as another, pytest.raises(sw.ConflictError):
            another.stack("shop/dev", nothing).up()

    with sync.Engine(store=store, passphrase="x") as engine:
        engine.stack("shop/dev", program).up()


@pytest.mark.parametrize("unlocks", [True, False])
def test_the_lock_of_a_dead_host_is_replaced_while_its_child_runs(
    tmp_path: Path, hosts: list[Host], unlocks: bool
) -> None:
    store = f"file://{tmp_path}"
    host = Host(store)
    hosts.append(host)
    with sync.Engine(store=store, passphrase="x") as engine:
        stack = engine.stack("shop/dev", nothing)
        with pytest.raises(sw.ConflictError):
            stack.up()
        host.kill()
        assert runs(host.child)
        if unlocks:
            assert stack.unlock() == 1
        stack.up()
        assert runs(host.child)


def test_a_plugin_ends_with_its_host_while_a_forked_child_runs(
    tmp_path: Path, hosts: list[Host], gofiles: Path
) -> None:
    host = Host(f"file://{tmp_path}", str(gofiles.parent))
    hosts.append(host)
    assert runs(host.plugin)
    host.kill()
    wait_for_end(host.plugin)
    assert runs(host.child)
