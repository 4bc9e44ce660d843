"""A running operation: its events, its end, and how to cancel it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any, Final, TypeVar

from . import events as _events
from ._bridge import answer, completions_of, resolver
from ._stackwright import Operation as NativeOperation
from ._stackwright import OperationOutcome
from .errors import StackwrightError
from .events import Event
from .result import Result

__all__ = ["Operation"]

T = TypeVar("T")


class Operation:
    """A running operation. Await it for its result; iterate it for its events.

    It goes on when this object is dropped. When the task that awaits it is cancelled, the operation is cancelled too: the
    first time gracefully, what runs is finished and recorded, and the await goes on until then; the second time at once.

    As the value of a notebook's cell it is shown as a table, which is updated while it runs; see :func:`stackwright.display`.
    """

    def __init__(
        self,
        native: NativeOperation,
        is_preview: bool,
        on_event: Callable[[Event], object] | None,
        on_output: Callable[[str], object] | None,
        engine: object,
        stack: str,
        explain: Callable[[BaseException | None], None],
    ) -> None:
        self._native = native
        self._engine = engine
        self._is_preview = is_preview
        self.stack: Final = stack
        """The name of the stack, as ``project/stack``."""
        loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[OperationOutcome] = loop.create_future()
        # The engine lives until the operation is over, also when nothing refers to it or to this object.
        self._ended.add_done_callback(lambda _ended: hold(engine))
        self._explain = explain
        native.wait(completions_of(loop), resolver(self._ended))
        self._result: Result | None = None
        self._listener: asyncio.Task[None] | None = None
        if on_event is not None or on_output is not None:
            self._listener = loop.create_task(self._listen(on_event, on_output))

    def cancel(self) -> None:
        """Requests the end: what runs finishes and is recorded. A second time, running provider calls are abandoned."""
        self._native.cancel()

    @property
    def done(self) -> bool:
        """Whether it is over."""
        return self._ended.done()

    async def wait(self) -> Result:
        """Waits for the end and returns the result, also that of a failed operation: see :attr:`Result.error`.

        What a listener (``on_event``) raised is raised when all is done, with the result as its ``result``.
        """
        outcome = await joined(self._ended, self._listener, self.cancel)
        if self._result is None:
            self._result = Result(outcome, self._is_preview, self.stack)
            self._explain(self._result.error)
        listener = self._listener
        raised = None if listener is None or listener.cancelled() else listener.exception()
        # Why the operation failed comes first.
        if raised is not None and self._result.error is None:
            with contextlib.suppress(AttributeError):
                raised.result = self._result  # type: ignore[attr-defined]
            raise raised
        return self._result

    def __await__(self) -> Generator[Any, None, Result]:
        return self._succeed().__await__()

    async def _succeed(self) -> Result:
        result = await self.wait()
        error = result.error
        if error is not None:
            if isinstance(error, StackwrightError):
                error.result = result
            raise error
        return result

    async def release(self) -> None:
        """Ends the session of an operation with the option ``hold_session``, and waits until nothing of it is left.

        Unanswered calls fail, because the monitor has shut down, and the providers are released. A session also ends when
        this object is dropped. Of any other operation it waits for the end. Any number of calls is one.
        """
        await answer(self._native.release)

    async def events(self) -> AsyncIterator[Event]:
        """Yields the events: all of them for the first caller, those that are still to come for others."""
        stream = self._native.events(False)
        while batch := await answer(stream.next):
            for line, internal, _ in batch:
                yield _events.parse(line, internal)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self.events()

    async def _listen(
        self, on_event: Callable[[Event], object] | None, on_output: Callable[[str], object] | None
    ) -> None:
        stream = self._native.events(on_output is not None)
        while batch := await answer(stream.next):
            for line, internal, shown in batch:
                if on_event is not None:
                    await called(on_event, _events.parse(line, internal))
                if on_output is not None:
                    for text in shown.splitlines():
                        await called(on_output, text)

    def _ipython_display_(self) -> None:
        """Shows the operation in a notebook, and goes on to do so while it runs."""
        from ._display import show_in_background

        show_in_background(self)

    def __repr__(self) -> str:
        return f"<Operation {'done' if self.done else 'running'}>"


async def joined(
    ended: asyncio.Future[T], listener: asyncio.Task[None] | None, cancel: Callable[[], None]
) -> T:
    """Waits for the end of an operation and of its listener. When the waiting task is cancelled, so is the operation, and the wait goes
    on until its end."""
    cancelled: asyncio.CancelledError | None = None
    while True:
        try:
            outcome = await asyncio.shield(ended)
            if listener is not None:
                await asyncio.shield(asyncio.wait([listener]))
            break
        except asyncio.CancelledError as error:
            if ended.cancelled():
                raise
            if listener is not None and listener.done() and ended.done():
                raise
            cancel()
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return outcome


async def called(listener: Callable[[Any], object], given: object) -> None:
    """Calls a listener, and waits for one that is ``async``."""
    awaited = listener(given)
    if inspect.isawaitable(awaited):
        await awaited


def hold(_engine: object) -> None:
    """Does nothing, with something that must not go away before."""
