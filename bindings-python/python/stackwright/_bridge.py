"""The bridge between the engine's threads and an event loop: one queue and one wake-up for many completions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from ._stackwright import Completions

T = TypeVar("T")

Callback = Callable[[T | None, BaseException | None], None]
"""Takes the one answer of a call: a value, or an exception."""

_queues: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Completions]] = WeakKeyDictionary()


def completions_of(loop: asyncio.AbstractEventLoop) -> Completions:
    """Returns the queue whose completions run on ``loop``; must be called on the loop's thread."""
    queue = _queues.get(loop)
    if queue is None:
        queue = _watch(loop)
        _queues[loop] = queue
    return queue


def _watch(loop: asyncio.AbstractEventLoop) -> Completions:
    try:
        queue = Completions()
        loop.add_reader(queue.fileno(), queue.drain)
    except (NotImplementedError, RuntimeError):
        # This loop cannot watch a file descriptor (Windows): it is called instead.
        def wake() -> None:
            try:
                loop.call_soon_threadsafe(queue.drain)
            except RuntimeError:
                pass  # The loop is closed: no caller waits for the results.

        queue = Completions(wake)
    return queue


def unwatch(loop: asyncio.AbstractEventLoop) -> None:
    """Removes the queue of a loop that is about to be closed, and closes its pipe. Later results are dropped."""
    queue = _queues.pop(loop, None)
    if queue is not None:
        try:
            loop.remove_reader(queue.fileno())
        except (NotImplementedError, RuntimeError):
            pass
        queue.close()


def resolver(future: asyncio.Future[T]) -> Callback[T]:
    """Returns the callback that completes ``future``. A future that is done already is left as it is."""

    def resolve(value: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]

    return resolve


async def answer(start: Callable[[Completions, Callback[Any]], None]) -> Any:
    """Starts a call of the native module and waits for its answer."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    start(completions_of(loop), resolver(future))
    return await future
