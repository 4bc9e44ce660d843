"""Components with a state resource in plugins that a Pulumi SDK hosts: its calls wait for Construct, and Construct for them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import ROOT, Memory, Vault, on_loop, states

pulumi = pytest.importorskip("pulumi")

# Each Construct waits on one thread of the SDK for its state, on one more for an inner component, and on a further one for
# what it registers then.
THREADS = 32

OUTER = ["pymodule", "gobox"]
TOP = 4
COUNT = 2 * TOP
# The largest number of calls at a time; without one, it is 16.
UNBOUNDED = 2**31 - 1
NAMES = [f"module-{number}{inner}" for number in range(TOP) for inner in ("", "-in")]


# Far more than an operation takes, and less than any timer of the engine that reports a stall: that is 30 seconds.
PROMPT = 20


async def soon(operation: sw.Operation) -> sw.Result:
    result = await asyncio.wait_for(operation, PROMPT)
    # The report of a stall is a warning; nothing else here warns.
    warnings = [str(diagnostic) for diagnostic in result.diagnostics if diagnostic.severity == "warning"]
    assert not warnings, warnings
    return result


class Modules:
    """A stack with eight modules: four of the program, and one inside each of them."""

    def __init__(self, stack: sw.Stack, limits: dict[str, Any], log: Path) -> None:
        self.stack = stack
        self.limits = limits
        self.log = log

    async def meets(self, operation: sw.Operation, *methods: str) -> sw.Result:
        """Awaits an operation in which these methods, and no others, have waited for the Construct of each module."""
        result = await soon(operation)
        met = set(self.log.read_text().splitlines()) if self.log.exists() else set()
        self.log.unlink(missing_ok=True)
        assert met == {f"{method} {name}" for method in methods for name in NAMES}
        return result

    async def keeps(self, saw: list[int], sizes: list[int]) -> None:
        """Checks what is recorded: the state of each module is what its last Construct has made of the one it was given.

        `saw` has the sizes in the given state, which is otherwise like the new one; without sizes, there was none.
        """
        known = states(await self.stack.export_deployment())
        for name in NAMES:
            made = [known[f"{name}-{number}"]["urn"] for number in range(2)]
            recorded = {"module": name, "sizes": sizes, "made": made}
            assert known[f"{name}-state"]["outputs"] == recorded
            assert known[name]["outputs"] == {"made": 2, "saw": {**recorded, "sizes": saw} if saw else {}}

    async def live(self, memory: Memory, resize: Any) -> None:
        """Plays all operations."""
        stack, limits = self.stack, self.limits
        await self.meets(stack.preview(**limits), "create")
        assert memory.things == {}
        made = await self.meets(stack.up(**limits), "create")
        assert made.changes["create"] == 1 + 4 * COUNT
        await self.keeps([], [1])
        same = await self.meets(stack.up(**limits), "diff")
        assert set(same.changes) == {"same"}
        await self.keeps([1], [1])
        resize()
        await self.meets(stack.preview(**limits), "diff")
        # Construct has ended, or its things are made, before an update begins: its Diff has waited.
        changed = await self.meets(stack.up(**limits), "diff")
        assert changed.changes["update"] == 3 * COUNT, changed.changes
        await self.keeps([1], [1, 2])
        await self.meets(stack.refresh(**limits))
        await self.keeps([1], [1, 2])
        await self.meets(stack.refresh(refresh_program=True, **limits), "read")
        await self.keeps([1, 2], [1, 2])
        known = states(await stack.export_deployment())
        assert known["module-3-in"]["parent"] == known["module-3"]["urn"]
        assert known["module-3-in-1"]["parent"] == known["module-3-in"]["urn"]
        await self.meets(stack.destroy(**limits))
        assert memory.things == {}

    async def live_without_diff(self, memory: Memory, resize: Any) -> None:
        """Plays operations in which Diff does not wait: Construct waits for what comes after it. Each has changes, as nothing else follows Diff."""
        stack, limits = self.stack, self.limits
        await self.meets(stack.up(**limits), "create")
        await self.keeps([], [1])
        resize()
        await self.meets(stack.preview(**limits), "update")
        changed = await self.meets(stack.up(refresh=True, **limits), "update")
        assert changed.changes["update"] == 3 * COUNT, changed.changes
        await self.keeps([1], [1, 2])
        resize()
        # Its Read has waited before an update begins.
        changed = await self.meets(stack.up(refresh=True, refresh_program=True, **limits), "read")
        assert changed.changes["update"] == 3 * COUNT, changed.changes
        await self.keeps([1, 2], [1, 2, 3])
        await self.meets(stack.destroy(**limits))
        assert memory.things == {}


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which plugins note the calls that have waited for a Construct."""
    path = tmp_path / "met"
    monkeypatch.setenv("MODULE_LOG", str(path))
    return path


@pytest.fixture
def commands(gobox: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    monkeypatch.setenv("MODULE_THREADS", str(THREADS))
    return {"pymodule": [sys.executable, "-u", str(ROOT / "testkit" / "python-module")], "gobox": gobox}


class Remote(pulumi.ComponentResource):  # type: ignore[misc, name-defined]
    """A module as a program of the SDK sees it."""

    def __init__(self, outer: str, name: str, inputs: dict[str, Any]) -> None:
        super().__init__(f"{outer}:index:Module", name, inputs, None, remote=True)


def place(number: int, inner: str) -> tuple[str, list[str]]:
    """Returns the package of a module and that of the module inside it."""
    outer = OUTER[number % 2]
    return outer, [outer if inner == "same" else OUTER[1 - number % 2]]


def own_program(size: Callable[[], int], inner: str) -> sw.Program:
    async def program(ctx: sw.Context) -> None:
        for number in range(TOP):
            outer, inside = place(number, inner)
            ctx.remote_component(f"{outer}:index:Module", f"module-{number}", {"size": size(), "inner": inside})

    return program


def sdk_program(size: Callable[[], int], inner: str) -> sw.Program:
    def program() -> None:
        for number in range(TOP):
            outer, inside = place(number, inner)
            Remote(outer, f"module-{number}", {"size": size(), "inner": inside})

    return program


@pytest.mark.parametrize(
    ("parallel", "inner", "written"),
    [(parallel, inner, own_program) for parallel in (1, 2, 0) for inner in ("same", "other")] + [(2, "other", sdk_program), (0, "other", sdk_program)],
    ids=lambda value: getattr(value, "__name__", value),
)
@on_loop
async def test_calls_that_wait_for_construct_never_hang(
    tmp_path: Path,
    memory: Memory,
    commands: dict[str, list[str]],
    log: Path,
    parallel: int,
    inner: str,
    written: Callable[..., sw.Program],
) -> None:
    async with modules(tmp_path, memory, commands, log, parallel, written, inner) as (played, resize):
        await played.live(memory, resize)


@pytest.mark.parametrize(
    ("parallel", "written"),
    [(1, own_program), (2, own_program), (1, sdk_program), (2, sdk_program), (0, sdk_program)],
    ids=lambda value: getattr(value, "__name__", value),
)
@on_loop
async def test_an_update_waits_for_construct_where_its_diff_does_not(
    tmp_path: Path,
    memory: Memory,
    commands: dict[str, list[str]],
    log: Path,
    parallel: int,
    written: Callable[..., sw.Program],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MODULE_SKIPS", "diff")
    async with modules(tmp_path, memory, commands, log, parallel, written, "other") as (played, resize):
        await played.live_without_diff(memory, resize)


@contextlib.asynccontextmanager
async def modules(
    tmp_path: Path,
    memory: Memory,
    commands: dict[str, list[str]],
    log: Path,
    parallel: int,
    written: Callable[..., sw.Program],
    inner: str,
) -> AsyncIterator[tuple[Modules, Callable[[], None]]]:
    """Opens a stack of modules; the function changes their sizes."""
    size = 1

    def resize() -> None:
        nonlocal size
        size += 1

    async with sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory},
        plugins=sw.Plugins(commands=commands),
    ) as engine:
        stack = await engine.stack("shop/dev", written(lambda: size, inner))
        yield Modules(stack, {"parallel": parallel or UNBOUNDED}, log), resize


@pytest.mark.parametrize("parallel", [1, 0], ids=["one", "unbounded"])
@on_loop
async def test_all_threads_of_the_sdk_but_one_can_wait(tmp_path: Path, memory: Memory, parallel: int) -> None:
    # The number of threads that asyncio makes; each component without another one inside waits on one.
    count = min(8, (os.cpu_count() or 1) + 4 - 1)

    async def program(ctx: sw.Context) -> None:
        for number in range(count):
            ctx.remote_component("pymodule:index:Module", f"module-{number}", {"size": 1, "inner": []})

    command = [sys.executable, "-u", str(ROOT / "testkit" / "python-module")]
    async with sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory},
        plugins=sw.Plugins(commands={"pymodule": command}),
    ) as engine:
        stack = await engine.stack("shop/dev", program)
        limits: dict[str, Any] = {"parallel": parallel or UNBOUNDED}
        made = await soon(stack.up(**limits))
        assert made.changes["create"] == 1 + 4 * count
        await soon(stack.destroy(**limits))
        assert memory.things == {}
