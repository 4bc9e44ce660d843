"""The event loop of one SDK program: calls of the engine wait in it without a thread, everything else as usual."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, Final

from .._bridge import completions_of
from .monitor import Call, Monitor

_THREADS: Final = 1024
"""How many functions of the program itself may block at a time; threads are started as they are needed."""


class ProgramLoop(asyncio.SelectorEventLoop):
    """An event loop that intercepts the functions by which the SDK makes its calls.

    The SDK runs each call on a thread of the default executor, which then only waits. Here it is started
    on the calling thread: the order of calls is the program's own, and thousands can be in flight.
    """

    def __init__(self) -> None:
        super().__init__()
        self._monitor: Monitor | None = None
        self.completions = completions_of(self)
        self.set_default_executor(ThreadPoolExecutor(_THREADS, "stackwright program"))

    def serve(self, monitor: Monitor) -> None:
        """Sets the monitor whose calls do not need threads; called on the loop's thread."""
        self._monitor = monitor

    def run_in_executor(  # type: ignore[override]  # the stubs need a syntax that Python 3.10 lacks
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        monitor = self._monitor
        if executor is None and not args and monitor is not None and _is_call(func):
            future: asyncio.Future[Any] = self.create_future()
            Call(monitor, self.completions, func, future).step()
            return future
        return super().run_in_executor(executor, func, *args)


def _is_call(function: Callable[..., Any]) -> bool:
    """Returns whether a function is one of the SDK's own around a call of the monitor."""
    return getattr(function, "__module__", "").startswith("pulumi.runtime.")
