"""What shows operations in scripts and notebooks."""

from __future__ import annotations

import asyncio
import io
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import stackwright as sw
from stackwright import sync

from conftest import MakeEngine, Memory, on_loop

THING = "mem:index:Thing"


def shop(ctx: sw.Context) -> None:
    ctx.resource(THING, "a", {"size": 1, "password": sw.Secret("hunter2")})
    ctx.resource(THING, "b", {"text": "it is hunter2"})
    ctx.export("password", sw.Secret("hunter2"))


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@on_loop
async def test_on_output_gets_the_lines_of_a_plain_display(make_engine: MakeEngine, memory: Memory) -> None:
    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", shop)
        lines: list[str] = []
        events: list[sw.Event] = []
        await stack.up(on_output=lines.append, on_event=events.append)
        assert lines[:2] == ["Updating (dev):", ""]
        assert any(line.startswith(f" +  {THING} a created (") for line in lines)
        assert "    + 2 created" in lines or "    + 3 created" in lines
        assert "    password: [secret]" in lines and not any("hunter2" in line for line in lines)
        assert lines[-2].startswith("Duration: ")
        assert events[0].sequence == 0 and isinstance(events[-1], sw.CancelEvent)
        heads: list[str] = []
        await stack.preview(on_output=heads.append)
        await stack.refresh(on_output=heads.append)
        await stack.destroy(on_output=heads.append)
        assert [line for line in heads if line.endswith("(dev):")] == [
            "Previewing update (dev):",
            "Refreshing (dev):",
            "Destroying (dev):",
        ]


@on_loop
async def test_what_on_output_raises_is_raised_at_the_end(make_engine: MakeEngine, memory: Memory) -> None:
    def wrong(_line: str) -> None:
        raise ValueError("the pipe is closed")

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", shop)
        with pytest.raises(ValueError, match="the pipe is closed"):
            await stack.up(on_output=wrong)
        assert memory.count("create") == 2
        with pytest.raises(sw.InvalidInputError, match="on_output"):
            stack.up(on_output="print")  # type: ignore[arg-type]


def test_the_sync_interface_has_the_same(make_engine: MakeEngine, memory: Memory, tmp_path: Any) -> None:
    with sync.Engine(store=f"file://{tmp_path / 'sync'}", passphrase="correct horse", providers={"mem": memory}) as engine:
        stack = engine.stack("shop/dev", shop)
        lines: list[str] = []
        stack.up(on_output=lines.append)
        assert lines[0] == "Updating (dev):"
        shown = io.StringIO()
        result = sync.display(stack.start_destroy(), file=shown)
        assert result.outcome == "succeeded" and shown.getvalue().startswith("Destroying (dev):\n\n")


@on_loop
async def test_display_writes_lines_and_returns_the_result(make_engine: MakeEngine, memory: Memory) -> None:
    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", shop)
        shown = io.StringIO()
        result = await sw.display(stack.up(), file=shown)
        assert result.changes["create"] >= 2
        assert shown.getvalue().startswith("Updating (dev):\n\n") and "\x1b" not in shown.getvalue()

        async def broken(ctx: sw.Context) -> None:
            raise ValueError("no such luck")

        with pytest.raises(sw.ProgramError, match="no such luck"):
            await sw.display(stack.up(program=broken), file=shown)
        assert "ValueError: no such luck" in shown.getvalue()


class Pty(io.StringIO):
    """A file that is a terminal of a size."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError("no descriptor")


@on_loop
async def test_display_updates_a_tree_on_a_terminal(
    make_engine: MakeEngine, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", shop)
        shown = Pty()
        # Another listener has the first events: the end is whole nevertheless.
        await sw.display(stack.up(on_event=lambda _event: None), file=shown)
        end = shown.getvalue().rsplit("\x1b[J", 1)[1]
        assert "\x1b[32mcreated (" in end and " a " in end and " b " in end and "hunter2" not in end
        monkeypatch.setenv("NO_COLOR", "1")
        shown = Pty()
        await sw.display(stack.destroy(), file=shown)
        assert "deleted (" in shown.getvalue() and "\x1b[3" not in shown.getvalue()


class Page:
    """What a notebook shows in one place."""

    def __init__(self, html: str) -> None:
        self.versions = [html]

    def update(self, shown: HTML) -> None:
        self.versions.append(shown.data)


class HTML:
    def __init__(self, data: str) -> None:
        self.data = data


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Page]]:
    """Stands in for IPython in the kernel of a notebook; yields what it has shown."""
    pages: list[Page] = []

    def display(shown: HTML, *, display_id: bool) -> Page:
        assert display_id
        pages.append(Page(shown.data))
        return pages[-1]

    package: Any = types.ModuleType("IPython")
    package.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    package.display = types.SimpleNamespace(display=display, HTML=HTML)
    monkeypatch.setitem(sys.modules, "IPython", package)
    yield pages


async def until(holds: Callable[[], bool]) -> None:
    """Lets the event loop run until a condition holds."""

    async def wait() -> None:
        while not holds():
            await asyncio.sleep(0)

    await asyncio.wait_for(wait(), 60)


@on_loop
async def test_a_notebook_shows_a_table_that_is_updated(
    make_engine: MakeEngine, memory: Memory, notebook: list[Page]
) -> None:
    going = asyncio.Event()

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "<first>", {"size": 1, "password": sw.Secret("hunter2")})
        await going.wait()
        ctx.resource(THING, "second", {})

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        operation = stack.up()
        operation._ipython_display_()
        assert len(notebook) == 1, "it is shown at once"
        await until(lambda: any("&lt;first&gt;" in page.versions[-1] for page in notebook))
        assert "second" not in notebook[0].versions[-1]
        going.set()
        await operation
        await until(lambda: "Duration:" in notebook[0].versions[-1])
    assert len(notebook) == 1 and len(notebook[0].versions) > 1, "one output is updated"
    last = notebook[0].versions[-1]
    assert "second" in last and last.count("created (") >= 2
    assert "<first>" not in last and "hunter2" not in last


@on_loop
async def test_a_display_that_is_cancelled_cancels_the_operation(make_engine: MakeEngine, memory: Memory) -> None:
    begun = asyncio.Event()

    async def program(ctx: sw.Context) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        operation = stack.up()
        shown = io.StringIO()
        showing = asyncio.ensure_future(sw.display(operation, file=shown))
        await begun.wait()
        showing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await showing
        assert (await operation.wait()).outcome == "canceled"
