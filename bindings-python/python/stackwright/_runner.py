"""How programs are set going: on the operation's event loop, on a thread of their own, or as programs of an SDK."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final, Union

from ._bridge import completions_of
from ._callback import is_async
from ._checks import parameters_of, refusal, require_function, require_given, takes
from ._generators import is_generator, never_runs, refuse_generator
from ._raised import Raised, described
from ._record import record
from ._sdk_import import sdk
from ._secrecy import enter
from ._stackwright import Completions, Run
from .errors import CancelledError, InvalidInputError, StackwrightError
from .program import Context
from .values import Awaited

__all__ = ["LanguageRuntime", "Program", "PulumiProgram", "pulumi_program"]


@record(frozen=True)
class PulumiProgram:
    """A program written for the Pulumi SDK: a function without parameters, ``async`` or not."""

    function: Callable[[], Any]


def pulumi_program(function: Callable[[], Any]) -> PulumiProgram:
    """Marks ``function`` as a program for the Pulumi SDK (package ``pulumi``), which also has no parameters."""
    return PulumiProgram(function)


@record(frozen=True)
class LanguageRuntime:
    """A program behind a language runtime that is running already and serves the protocol ``LanguageRuntime``.

    Each run has a monitor server of its own on loopback, whose address is passed to the runtime.
    """

    address: str
    """``host:port``, or a URL."""


Program = Union[Callable[[Context], Union[Awaitable[None], None]], Callable[[], Any], PulumiProgram, LanguageRuntime]
"""A program: a function with one parameter (of this package's API) or without any (of the Pulumi SDK), or a language
runtime's address."""

_OWN_FOLDER: Final = os.path.dirname(__file__)

Prepared = Union[tuple[Callable[[Run], None], "Completions | None", bool], str]


def check(program: object) -> None:
    """Refuses what cannot be a program.

    :raises InvalidInputError: that states why.
    """
    if program is None:
        return
    if isinstance(program, LanguageRuntime):
        require_given("LanguageRuntime", program.address, str, "an address as a text")
        return
    is_sdk = isinstance(program, PulumiProgram)
    function = program.function if isinstance(program, PulumiProgram) else program
    if not callable(function):
        raise refusal("pulumi_program()" if is_sdk else "program", "a function", function)
    if is_generator(function):
        raise never_runs(getattr(function, "__name__", type(function).__name__))
    if is_sdk:
        require_function("pulumi_program()", function, 0)
    elif not takes(function, 0) and not takes(function, 1):
        wanted = "a function of the context, or one without parameters that is written for the Pulumi SDK"
        raise InvalidInputError(f"program takes {wanted}, not one {parameters_of(function)}")


def prepare(program: Program | None, failures: list[BaseException], raised: Raised) -> Prepared | None:
    """Returns what the native half needs to start a program; called on the event loop of the operation.

    What the program raises is added to ``failures``, and what its hooks raise to ``raised``.
    """
    if program is None:
        return None
    if isinstance(program, LanguageRuntime):
        return program.address
    check(program)
    function: Callable[..., Any] = program.function if isinstance(program, PulumiProgram) else program
    if isinstance(program, PulumiProgram) or not _takes_context(function):
        return _sdk_program(function, failures)
    loop = asyncio.get_running_loop()
    completions = completions_of(loop)
    if is_async(function):

        def start(run: Run) -> None:
            context = Context(run, completions, loop, raised)
            _start_task(loop, _run_async(lambda: function(context), run, context, failures), run, context)

        return start, completions, True

    def start_thread(run: Run) -> None:
        name = f"stackwright program {run.project}/{run.stack}"
        arguments = (function, run, loop, completions, failures, raised)
        threading.Thread(target=_run_blocking, args=arguments, name=name, daemon=True).start()

    return start_thread, None, True


def _start_task(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None], run: Run, context: Context
) -> None:
    """Starts a program on its event loop; called on that loop."""
    task = loop.create_task(work)

    def ended(_value: object, _error: object) -> None:
        # Replies to registrations are delivered first. Everything else that the program awaits is cancelled then.
        context._when_settled(lambda: loop.call_soon(task.cancel))

    run.on_end(context._completions, ended)


def _takes_context(program: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(program).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(
        parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        for parameter in parameters
    )


def _sdk_program(function: Callable[[], Any], failures: list[BaseException]) -> Prepared:
    hint = "or give the program one parameter, the context of this package's own API"
    start = sdk("a program without parameters is written for", (hint,)).start
    return (lambda run: start(function, run, failures)), None, False


def _refuse_returned(value: object) -> None:
    """Refuses what a program has returned when it would be ignored: a generator, another program, or outputs, as a program without parameters returns them."""
    refuse_generator(value)
    if inspect.isroutine(value):
        raise InvalidInputError("the program returned a function, which would be ignored", hints=["pass the engine what a factory of programs returns"])
    if isinstance(value, Mapping):
        raise InvalidInputError(
            "the program returned a dictionary, which would be ignored", hints=["make outputs with export(name, value) of the program's context"]
        )


async def _run_async(
    program: Callable[[], Awaitable[object]], run: Run, context: Context, failures: list[BaseException]
) -> None:
    enter(run)
    try:
        _refuse_returned(await program())
        await context._complete()
    except asyncio.CancelledError:
        if not run.ended:
            run.fail("the program was cancelled")
            raise
        run.succeed()
    except BaseException as error:  # noqa: BLE001  # it is the operation's to report
        _report(run, error, failures)
        # The loop is the host's: a program that calls sys.exit() ends itself and nothing else. Only an interrupt of the
        # main thread is raised again, because it is addressed to the host.
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise
    else:
        run.succeed()
    finally:
        context._over = True


def _run_blocking(
    program: Callable[[Context], Any],
    run: Run,
    loop: asyncio.AbstractEventLoop,
    completions: Completions,
    failures: list[BaseException],
    raised: Raised,
) -> None:
    enter(run)
    own = Completions(silent=True)
    context = Context(run, own, None, raised, async_queue=completions)
    try:
        returned = program(context)
        _refuse_returned(returned)
        if inspect.iscoroutine(returned) and context._move(completions, loop):
            # An async program behind a callable that does not look like one. It has not begun to run.
            work = _run_async(lambda: returned, run, context, failures)
            loop.call_soon_threadsafe(_start_task, loop, work, run, context)
            return
        # A resource, which the program's end waits for anyway, may be returned.
        if inspect.isawaitable(returned) and not isinstance(returned, Awaited):
            if inspect.iscoroutine(returned):
                returned.close()
            raise InvalidInputError(f"the program returned {type(returned).__name__}; declare it with async def")
        context._complete_blocking()
    except BaseException as error:  # noqa: BLE001  # the operation reports it
        context._over = True
        _report(run, error, failures)
    else:
        run.succeed()
    finally:
        own.close()


def _report(run: Run, error: BaseException, failures: list[BaseException]) -> None:
    """Reports to the engine how a program failed. A failed registration is reported already."""
    if run.ended:
        run.succeed()
        return
    if isinstance(error, StackwrightError) and error.kind in ("failed", "cancelled"):
        run.fail(error.message)
        return
    failures.append(error)
    text, summary = described(error, _user_traceback(error))
    with suppress(CancelledError):
        # The operation may have ended meanwhile, which takes no messages any more.
        run.log("error", "Program failed with an unhandled exception:\n" + text)
    run.fail(summary, True)


def _user_traceback(error: BaseException) -> Any:
    """Returns the traceback from the program's own first frame on; all of it where it has none."""
    frames = error.__traceback__
    while frames is not None and os.path.dirname(frames.tb_frame.f_code.co_filename) == _OWN_FOLDER:
        frames = frames.tb_next
    return frames or error.__traceback__
