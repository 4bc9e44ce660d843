"""SDK packages with lazily loaded modules, used by many programs concurrently for the first time."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import stackwright as sw
from conftest import Memory

STACKS = 100

PACKAGE = """
from pulumi import _utils

local = _utils.lazy_import("lazy_things.local")
broken = _utils.lazy_import("lazy_things.broken")
"""

MODULE = """
import pulumi

import lazy_gate

# Waits until all programs are about to use the module.
lazy_gate.wait()

from . import local as itself

assert itself.pulumi is pulumi


class Thing(pulumi.CustomResource):
    def __init__(self, name):
        super().__init__("mem:index:Thing", name, {})
"""

BROKEN = """
early = 1
raise RuntimeError("the module is broken")
"""

GATE = f"""
import threading

_arrived = threading.Semaphore(0)


def arrive():
    _arrived.release()


def wait():
    for _ in range({STACKS}):
        if not _arrived.acquire(timeout=60):
            raise TimeoutError("not all programs came to use the module")
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "lazy_gate.py").write_text(GATE)
    folder = tmp_path / "lazy_things"
    folder.mkdir()
    for name, text in {"__init__": PACKAGE, "local": MODULE, "broken": BROKEN}.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in [name for name in sys.modules if name.startswith("lazy_")]:
        del sys.modules[name]


@pytest.mark.usefixtures("packages")
def test_a_hundred_concurrent_programs_use_a_lazily_loaded_module_for_the_first_time() -> None:
    async def run() -> None:
        def program() -> None:
            import lazy_gate  # type: ignore[import-not-found]
            import lazy_things  # type: ignore[import-not-found]

            lazy_gate.arrive()
            lazy_things.local.Thing("a")

        provider = Memory()
        async with sw.Engine(store="memory://", providers={"mem": provider}) as engine:
            stacks = await asyncio.gather(*(engine.stack(f"shop/s{number}", program) for number in range(STACKS)))
            results = await asyncio.gather(*(stack.up() for stack in stacks))
        assert [result.changes for result in results] == [{"create": 2}] * STACKS
        assert len(provider.things) == STACKS

    asyncio.run(run())


@pytest.mark.usefixtures("packages")
def test_a_failing_lazily_loaded_module_fails_each_program_with_its_error() -> None:
    async def run() -> None:
        def program() -> None:
            import lazy_things

            lazy_things.broken.late  # noqa: B018

        async with sw.Engine(store="memory://") as engine:
            for number in range(2):
                stack = await engine.stack(f"shop/s{number}", program)
                with pytest.raises(sw.ProgramError, match="the module is broken"):
                    await stack.up()

    asyncio.run(run())


@pytest.mark.usefixtures("packages")
def test_threads_that_load_cyclic_modules_do_not_deadlock(tmp_path: Path) -> None:
    from stackwright import _sdk  # noqa: F401
    from stackwright._sdk import isolation

    isolation.install()
    body = """
import threading
import lazy_barrier
lazy_barrier.barrier.wait(30)
import lazy_things_two
lazy_things_two.{other}.__version__
"""
    (tmp_path / "lazy_barrier.py").write_text("import threading\nbarrier = threading.Barrier(2)\n")
    folder = tmp_path / "lazy_things_two"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from pulumi import _utils\n"
        'one = _utils.lazy_import("lazy_things_two.one")\n'
        'two = _utils.lazy_import("lazy_things_two.two")\n'
    )
    (folder / "one.py").write_text("__version__ = 1\n" + body.format(other="two"))
    (folder / "two.py").write_text("__version__ = 2\n" + body.format(other="one"))
    import lazy_things_two  # type: ignore[import-not-found]

    found = []
    threads = [
        threading.Thread(target=lambda name=name: found.append(getattr(lazy_things_two, name).__version__), daemon=True)
        for name in ("one", "two")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(found) == [1, 2]
