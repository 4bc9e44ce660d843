"""Where the methods of providers run: blocking ones on threads, ``async`` ones on one event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from ._bridge import completions_of, unwatch
from ._stackwright import Completions, Reply, Worker
from .errors import ProviderError, Status

_workers: Final[set[threading.Thread]] = set()


def start_thread(worker: Worker) -> None:
    """Starts a thread that runs blocking methods."""

    def serve() -> None:
        try:
            worker.serve()
        finally:
            _workers.discard(threading.current_thread())

    thread = threading.Thread(target=serve, name="stackwright provider", daemon=True)
    _workers.add(thread)
    try:
        thread.start()
    except BaseException:
        _workers.discard(thread)
        raise


def join_threads(seconds: float) -> None:
    """Waits for the threads of providers that have been closed, all in all for ``seconds`` at most."""
    deadline = time.monotonic() + seconds
    for thread in list(_workers):
        thread.join(max(0.0, deadline - time.monotonic()))


def interrupt_threads() -> None:
    """Has the methods that still run raise :class:`SystemExit`, as soon as they are in the interpreter."""
    workers = list(_workers)
    if not workers:
        return
    # Not needed by a process whose methods have ended.
    import ctypes

    for thread in workers:
        if thread.ident is not None:
            raising = ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(*raising)


def start_task(method: Callable[..., Awaitable[Any]], arguments: tuple[Any, ...], reply: Reply) -> asyncio.Task[None]:
    """Runs an ``async`` method on the providers' event loop; called on that loop."""

    async def run() -> None:
        try:
            value = await method(*arguments)
        except asyncio.CancelledError:
            # The engine has abandoned the call, or the loop ends. A caller may still wait for the reply.
            reply.fail(ProviderError("the call was cancelled", status=Status.CANCELLED))
            raise
        except BaseException as error:  # noqa: BLE001  # the engine waits for a reply
            reply.fail(error)
        else:
            reply.succeed(value)

    return asyncio.get_running_loop().create_task(run())


class ProviderLoop:
    """The event loop on which ``async`` methods run, and such functions of the host: a thread of its own, if needed."""

    def __init__(self, needed: bool) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self.queue = Completions(silent=True)
        if needed:
            self.start()

    def start(self) -> None:
        """Starts the thread, unless it runs; from then on :attr:`queue` is another."""
        if self._loop is not None:
            return
        self._loop = asyncio.new_event_loop()
        # Not yet running, so that this thread may set it up.
        self.queue = completions_of(self._loop)
        threading.Thread(target=_serve, args=(self._loop,), name="stackwright providers", daemon=True).start()

    def as_blocking(self, described: tuple[Callable[..., Any], bool]) -> tuple[Callable[..., Any], bool]:
        """Returns a function that blocks until the loop, which it starts, has run an asynchronous one."""
        function, is_async = described
        if not is_async:
            return described
        self.start()
        loop = self._loop
        assert loop is not None

        async def outcome(arguments: tuple[Any, ...]) -> tuple[Any, BaseException | None]:
            # An exit that a task raises would end the loop, and with it all that runs on it.
            try:
                return await function(*arguments), None
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001  # raised again where the function is called
                return None, error

        def run(*arguments: Any) -> Any:
            value, error = asyncio.run_coroutine_threadsafe(outcome(arguments), loop).result()
            if error is not None:
                raise error
            return value

        return run, False

    def close(self) -> None:
        """Ends the loop; calls that still run are cancelled."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        unwatch(loop)
        loop.close()
