"""The synchronous API behind the methods of the asynchronous one: each call waits on a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import AsyncIterator, Callable
from typing import Any

import stackwright as sw
from stackwright import sync

# As many calls as a scenario makes at a time, and those of its operations.
_threads = concurrent.futures.ThreadPoolExecutor(max_workers=32)

# Methods that return the handle of an operation; those of the asynchronous name return its result.
_STARTS = ("preview", "up", "refresh", "destroy", "import_resources", "adopt_pending")


async def on_thread(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Waits for a blocking call."""
    return await asyncio.get_running_loop().run_in_executor(_threads, lambda: call(*arguments, **named))


class Blocking:
    """An engine, a stack or a project of the synchronous API."""

    def __init__(self, twin: sync.Engine | sync.Stack | sync.Project) -> None:
        self._twin = twin

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if isinstance(self._twin, sync.Stack) and name in _STARTS:
            start: Callable[..., sync.Operation] = getattr(self._twin, f"start_{name}")
            return lambda *arguments, **named: Started(start(*arguments, **named))
        method: Callable[..., Any] = getattr(self._twin, name)

        async def call(*arguments: Any, **named: Any) -> Any:
            found = await on_thread(method, *arguments, **{name: twin_of(value) for name, value in named.items()})
            return Blocking(found) if isinstance(found, (sync.Stack, sync.Project)) else found

        return call


class Started:
    """An operation of the synchronous API."""

    def __init__(self, twin: sync.Operation) -> None:
        self._twin = twin

    def cancel(self) -> None:
        self._twin.cancel()

    async def wait(self) -> sw.Result:
        result: sw.Result = await on_thread(self._twin.wait)
        return result

    async def __aiter__(self) -> AsyncIterator[sw.Event]:
        events = iter(self._twin)
        while (event := await on_thread(next, events, None)) is not None:
            yield event


def twin_of(value: Any) -> Any:
    """Returns what the synchronous API takes for an argument."""
    return value._twin if isinstance(value, Blocking) else value


def engine(**settings: Any) -> Blocking:
    """Makes an engine of the synchronous API."""
    return Blocking(sync.Engine(**settings))
