"""The display of a running operation: a tree on a terminal, a table in a notebook, lines elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import Any, Final, Protocol, TextIO, overload

from ._bridge import answer
from ._checks import require_given
from ._stackwright import Display as NativeDisplay
from .fleet import FleetOperation, FleetResult
from .operation import Operation
from .result import Result

__all__ = ["display"]

_DEFAULT_SIZE: Final = (80, 24)
"""Columns and rows of a terminal that reports none."""

_shown: Final[set[asyncio.Task[None]]] = set()
"""The tasks that update tables of notebooks: the event loop alone does not keep them."""


@overload
async def display(operation: Operation, *, file: TextIO | None = None) -> Result: ...


@overload
async def display(operation: FleetOperation, *, file: TextIO | None = None) -> FleetResult: ...


async def display(operation: Operation | FleetOperation, *, file: TextIO | None = None) -> Result | FleetResult:
    """Shows a running operation until its end, and returns its result. ::

        result = await sw.display(stack.up())

    On a terminal it is a tree, or for a set of stacks a table of those that run, whose rows are updated in place, in colour unless the environment has ``NO_COLOR``; in a
    notebook a table; and elsewhere lines, as ``on_output`` of the operation gets them. Secrets are masked. Where something
    else listens to the operation's events, it is shown from now on, and the end has all rows in any case.

    When the task is cancelled, so is the operation, as when the operation itself is awaited.

    :param file: Where it is shown; the standard output when left out.
    :raises StackwrightError: The operation failed.
    """
    view = view_on(operation, file)
    while True:
        following = asyncio.ensure_future(view.next())
        try:
            piece = await asyncio.shield(following)
        except asyncio.CancelledError:
            operation.cancel()
            await _show_rest(view, following)
            raise
        if piece is None:
            return await operation
        view.show(piece)


async def _show_rest(view: View, following: asyncio.Future[str | None]) -> None:
    """Shows an operation that has been cancelled to its end; another cancellation of the task ends this."""
    while (piece := await following) is not None:
        view.show(piece)
        following = asyncio.ensure_future(view.next())


def show_in_background(operation: Operation | FleetOperation) -> None:
    """Shows an operation in the output of a notebook's cell, while the event loop runs."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        print(repr(operation))
        return
    view = view_on(operation, None)
    if isinstance(view, PageView):
        # Not needed outside of notebooks.
        import html

        # Only what is shown at once belongs to the cell; later pieces replace it.
        view.show(f"<pre>{html.escape(repr(operation))}</pre>")

    async def follow() -> None:
        while (piece := await view.next()) is not None:
            view.show(piece)

    task = loop.create_task(follow())
    _shown.add(task)
    task.add_done_callback(_shown.discard)


class Page(Protocol):
    """A part of a notebook's output that can be replaced."""

    def update(self, shown: object) -> None: ...


class View:
    """Shows the pieces of a display."""

    def __init__(self, native: NativeDisplay) -> None:
        self._native = native

    def size(self) -> tuple[int, int]:
        """Returns the columns and rows of the terminal, where there is one."""
        return _DEFAULT_SIZE

    async def next(self) -> str | None:
        """Waits for the next piece; ``None`` after the last one."""
        columns, rows = self.size()
        piece: str | None = await answer(lambda queue, callback: self._native.next(columns, rows, queue, callback))
        return piece

    def show(self, piece: str) -> None:
        """Shows a piece."""
        raise NotImplementedError


class TextView(View):
    """Writes lines, or what updates a terminal, to a file."""

    def __init__(self, native: NativeDisplay, file: TextIO) -> None:
        super().__init__(native)
        self._file = file

    def size(self) -> tuple[int, int]:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            return os.get_terminal_size(self._file.fileno())
        return _DEFAULT_SIZE

    def show(self, piece: str) -> None:
        self._file.write(piece)
        self._file.flush()


class PageView(View):
    """Replaces a table in a notebook."""

    def __init__(self, native: NativeDisplay) -> None:
        super().__init__(native)
        self._page: Page | None = None

    def show(self, piece: str) -> None:
        # Loaded already: this is a notebook.
        shown: Any = sys.modules["IPython"].display
        page = shown.HTML(piece)
        if self._page is None:
            self._page = shown.display(page, display_id=True)
        else:
            self._page.update(page)


def view_on(operation: Operation | FleetOperation, file: TextIO | None) -> View:
    """Returns what shows an operation in a file, or where the standard output of this process is shown."""
    require_given("operation", operation, (Operation, FleetOperation), "what a method such as up() returns")
    if file is None and _is_notebook():
        return PageView(operation._native.display("page", False))
    file = sys.stdout if file is None else file
    is_terminal = file.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    coloured = is_terminal and not os.environ.get("NO_COLOR")
    return TextView(operation._native.display("screen" if is_terminal else "lines", coloured), file)


def _is_notebook() -> bool:
    """Returns whether the interpreter is the kernel of a notebook, which shows HTML; IPython is not loaded for that."""
    package: Any = sys.modules.get("IPython")
    shell = None if package is None else package.get_ipython()
    return getattr(shell, "kernel", None) is not None
