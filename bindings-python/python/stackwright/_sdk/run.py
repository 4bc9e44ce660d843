"""Running one SDK program: a thread, an event loop and a context of its own."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

import grpc
import pulumi
from pulumi import runtime
from pulumi.runtime import settings

from .._bridge import unwatch
from .._generators import refuse_generator
from .._raised import causes_of, described, printable
from .._secrecy import enter
from .._stackwright import Run
from . import callbacks, isolation
from .loop import ProgramLoop
from .monitor import Engine, Monitor

UNWIND_TIMEOUT: Final = 1.0
"""How long a program may go on after its calls have been refused, in seconds, before its tasks are cancelled."""


Failure = tuple[str, bool]
"""How a program failed, and whether that is reported already."""


Explain = Callable[[BaseException, Run], "Failure | None"]
"""Reports how a program ended that raised something."""


def start(
    program: Callable[[], Any],
    run: Run,
    failures: list[BaseException],
    explain: Explain | None = None,
    debug: bool = False,
) -> None:
    """Starts the thread of a program and returns; what the program raises is added to ``failures``.

    :param explain: Reports what it raises in other words.
    :param debug: Whether the engine gets messages for debugging, of which the SDK has several for each resource.
    """
    name = f"stackwright program {run.project}/{run.stack}"
    arguments = (_main, program, run, failures, explain or _explained, debug)
    thread = threading.Thread(target=contextvars.Context().run, args=arguments, name=name, daemon=True)
    thread.start()


def _main(
    program: Callable[[], Any], run: Run, failures: list[BaseException], explain: Explain, debug: bool
) -> None:
    enter(run)
    # The loop and its file descriptors are gone once the end of the run is reported.
    failure = _failure(program, run, failures, explain, debug)
    if failure is None or run.ended:
        run.succeed()
    else:
        run.fail(*failure)


def _failure(
    program: Callable[[], Any], run: Run, failures: list[BaseException], explain: Explain, debug: bool
) -> Failure | None:
    """Runs the program in a loop of its own and returns how it failed."""
    try:
        isolation.install()
        loop = ProgramLoop()
    except BaseException as error:  # noqa: BLE001  # the operation waits for an end
        return f"the program could not be started: {error}", False
    try:
        asyncio.set_event_loop(loop)
        monitor = Monitor(run)
        configure(run, loop, monitor, debug)
        callbacks.serve(run, monitor, loop.completions, failures)
        failure = _outcome(program, run, loop, failures, explain)
        end_tasks(loop)
    except BaseException as error:  # noqa: BLE001
        return f"the program could not be run: {error}", False
    finally:
        unwatch(loop)
        asyncio.set_event_loop(None)
        loop.close()
    return failure


def configure(run: Run, loop: ProgramLoop, monitor: Monitor, debug: bool = False) -> None:
    """Configures the SDK for this run, in this context only."""
    loop.serve(monitor)
    settings.ROOT.set(None)
    runtime.configure(
        runtime.Settings(
            project=run.project,
            stack=run.stack,
            organization=run.organization,
            monitor=monitor,
            engine=Engine(run, debug),
            parallel=run.parallel,
            dry_run=run.dry_run,
            root_directory=run.root_directory,
        )
    )
    runtime.set_all_config(run.config, run.config_secret_keys)


def _outcome(
    program: Callable[[], Any], run: Run, loop: ProgramLoop, failures: list[BaseException], explain: Explain
) -> Failure | None:
    """Runs the program to its end and returns how it failed."""

    def checked() -> Any:
        returned = program()
        refuse_generator(returned)
        return returned

    main = loop.create_task(runtime.run_in_stack(checked))

    cancel_at_end(run, loop, main)
    loop.set_exception_handler(quiet)
    try:
        loop.run_until_complete(main)
    except asyncio.CancelledError:
        return "the program was cancelled", False
    except BaseException as error:  # noqa: BLE001  # it is the program's error
        # The SDK raises an error of its own in a program whose monitor has ended: that follows from what ended the run.
        is_consequence = run.ended and isinstance(error, pulumi.RunError)
        if not is_consequence and not isinstance(error, (grpc.RpcError, SystemExit)):
            failures.append(error)
        return explain(error, run)
    return None


def _explained(error: BaseException, run: Run) -> Failure | None:
    if isinstance(error, pulumi.RunError):
        text = "\n".join([str(error), *causes_of(error)])
        return _report(run, text, text)
    if isinstance(error, grpc.RpcError):
        return _report(run, f"RPC error: {error.details()}", error.details())
    if isinstance(error, SystemExit):
        return None if error.code in (None, 0) else _report(run, None, f"the program exited with {error.code}")
    text, summary = described(error, _user_traceback(error.__traceback__))
    return _report(run, "Program failed with an unhandled exception:\n" + text, summary)


def _report(run: Run, diagnostic: str | None, failure: str) -> Failure:
    if diagnostic is None or run.ended:
        return printable(failure), False
    diagnostic = printable(diagnostic)
    run.log("error", diagnostic)
    return printable(failure), True


def quiet(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Ignores what asyncio reports about tasks that failed with the program: the program's own error is reported."""
    if "exception" not in context:
        loop.default_exception_handler(context)


def _user_traceback(frames: TracebackType | None) -> TracebackType | None:
    """Returns the traceback from the program's own first frame on, the SDK's and asyncio's left out."""
    first = frames
    while frames is not None:
        module = frames.tb_frame.f_globals.get("__name__", "")
        if not module.startswith(("asyncio", "pulumi.runtime", "stackwright._sdk")):
            return frames
        frames = frames.tb_next
    return first


def cancel_at_end(run: Run, loop: ProgramLoop, main: asyncio.Task[Any]) -> None:
    """Has code cancelled some time after its run has ended: calls of the engine have been answered then.

    The SDK may wait for other tasks of a function that is cancelled. These are cancelled next, until the code ends.
    """

    def cancel_all() -> None:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.call_later(UNWIND_TIMEOUT, cancel_all)

    def cancel() -> None:
        main.cancel()
        loop.call_later(UNWIND_TIMEOUT, cancel_all)

    def ended(_value: object, _error: object) -> None:
        loop.call_later(UNWIND_TIMEOUT, cancel)

    run.on_end(loop.completions, ended)


def end_tasks(loop: ProgramLoop) -> None:
    """Ends what the code left running."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=UNWIND_TIMEOUT))
    loop.run_until_complete(loop.shutdown_asyncgens())
