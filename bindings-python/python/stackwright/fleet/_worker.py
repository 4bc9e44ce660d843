"""What runs in a worker of an executor: one stack of a set, with an engine that the stacks of the process share."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import os
import platform
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from .. import events as _events
from .._bridge import answer
from .._results import Diagnostic, StackSummary
from ..engine import Engine
from ..errors import FailedError, InternalError, InvalidInputError, StackwrightError
from ..operation import called
from ..result import Result
from ..stack import Stack
from ..values import OutputValue
from ._engines import shared_engine
from ._report import StackReport
from ._sets import FleetEvent, Verb
from ._spec import StackSpec, WorkerSetup

__all__ = ["StackTask", "TaskEnd", "cancel_run", "mark", "packed", "read_references", "run_stack"]

_READS: Final = 16
"""How many states a worker reads at a time."""

_RECOGNISED_RUNS: Final = 8
"""How many of the newest records of a history show that a run has ended."""


class StackTask(NamedTuple):
    """One stack of a set, to be run once."""

    spec: StackSpec
    verb: Verb
    run_id: str
    unfinished: bytes
    """The stacks of the set whose outputs are not there yet, :func:`packed`."""
    max_calls_per_plugin: int
    event_sink: Callable[[FleetEvent], object] | None
    sends_events: bool
    """Whether the events come with the end."""


class TaskEnd(NamedTuple):
    """What a task came to."""

    report: StackReport
    unfinished_reads: tuple[str, ...]
    """The unfinished stacks that the program has tried to read: it runs again after these."""
    events: tuple[tuple[str, bool], ...]
    """The events as JSON texts, each with whether it is internal."""
    is_settled: bool
    """Whether no other call of the run changes the stack any more: one that begins later finds the run's record."""
    warning: str | None
    """What has failed beside the stack."""


def packed(names: Iterable[str]) -> bytes:
    """Returns names of stacks as few bytes: each task of a set has nearly all of them."""
    return zlib.compress("\n".join(names).encode())


def worker_name() -> str:
    """Returns the host and the number of this process."""
    return f"{platform.node()}:{os.getpid()}"


def run_stack(task: StackTask) -> TaskEnd:
    """Runs one stack, in a worker. What fails, fails in the report: an exception of this function is none of the stack. An interrupt, as a
    terminal sends one to all processes and Ray to a task that it cancels, does not end the wait: the operation goes on, and its worker is
    not free."""
    from ..sync import _background

    ended = _background.submit(_run(task))
    while True:
        try:
            return ended.result()
        except KeyboardInterrupt:
            continue


def read_references(specs: Sequence[StackSpec], max_calls_per_plugin: int) -> list[list[str] | str]:
    """Returns the stacks that the recorded references of each name, or the text of the error."""
    from ..sync import _background

    return _background.run(_read_references(specs, max_calls_per_plugin))


def cancel_run(spec: StackSpec, run_id: str, requests: int | None) -> None:
    """Leaves the mark of a run's cancellation in the store of a stack, or removes it: ``requests`` is ``None``. An executor may repeat
    it."""
    from ..sync import _background

    _background.run(mark(spec, run_id, requests))


def is_held(spec: StackSpec) -> bool:
    """Returns whether an operation holds the lock of a stack."""
    from ..sync import _background

    return _background.run(holds(spec))


async def holds(spec: StackSpec) -> bool:
    """Does the work of :func:`is_held` in this loop."""
    parts = spec.stack.split("/")
    async with _engine_for(spec, 0) as (engine, _, _):
        stacks: list[StackSummary] = await _guarded("listing the stacks", lambda: engine.stacks(parts[-2]))
        return any(found.lock is not None for found in stacks if found.name.split("/")[-2:] == parts[-2:])


async def mark(spec: StackSpec, run_id: str, requests: int | None) -> None:
    """Does the work of :func:`cancel_run` in this loop."""
    async with _engine_for(spec, 0) as (engine, _, _):
        await _guarded(
            "the mark of the run",
            lambda: engine.forget_run(run_id) if requests is None else engine.cancel_run(run_id, requests=requests),
        )


async def _read_references(specs: Sequence[StackSpec], max_calls_per_plugin: int) -> list[list[str] | str]:
    turns = asyncio.Semaphore(_READS)

    async def read(spec: StackSpec) -> list[str] | str:
        async with turns:
            try:
                async with _engine_for(spec, max_calls_per_plugin) as (engine, _, settings):
                    stack: Stack = await _guarded("opening the stack", lambda: engine.stack(spec.stack, None, **settings))
                    names: list[str] = await _guarded("reading the stack", stack.referenced_stacks)
                    return names
            except StackwrightError as error:
                return error.message

    return list(await asyncio.gather(*(read(spec) for spec in specs)))


async def _run(task: StackTask) -> TaskEnd:
    try:
        return await _run_opened(task)
    except StackwrightError as error:
        return _failed(task, error)
    except BaseException as error:  # One that leaves the loop would end it, with all that the worker runs.
        return _failed(task, InternalError(_text_of(error, "running the stack")))


async def _run_opened(task: StackTask) -> TaskEnd:
    spec = task.spec
    async with _engine_for(spec, task.max_calls_per_plugin) as (engine, setup, settings):
        program = None if spec.program is None else _named(spec.program)
        stack: Stack = await _guarded("opening the stack", lambda: engine.stack(spec.stack, program, **settings))
        options: dict[str, Any] = {**spec.options, "run_id": task.run_id}
        unfinished = [name for name in zlib.decompress(task.unfinished).decode().split("\n") if name not in ("", spec.stack)]
        if unfinished and task.verb != "destroy":
            options["unfinished_stacks"] = unfinished
        operation = getattr(stack, task.verb)(policies=setup.policies, **options)
        events: list[tuple[str, bool]] = []
        warning: str | None = None
        if task.sends_events or task.event_sink is not None:
            stream = operation._native.events(False)
            while batch := await answer(stream.next):
                for line, internal, _ in batch:
                    if task.event_sink is None:
                        events.append((line, internal))
                    elif warning is None:
                        try:
                            await called(task.event_sink, FleetEvent(stack=spec.stack, event=_events.parse(line, internal)))
                        except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit) as error:
                            # The operation goes on, and the stack has what it comes to.
                            warning = _text_of(error, "the event sink") + ", and got no further event"
        result = await operation.wait()
        is_settled = await _is_settled(task, stack, result)
        warnings = [text for text in (warning, await _left_by_interruption(task, stack, result)) if text is not None]
    return TaskEnd(_report(task, result, warnings), tuple(result.unfinished_reads), tuple(events), is_settled, warning)


async def _is_settled(task: StackTask, stack: Stack, result: Result) -> bool:
    if task.verb == "preview" or result.outcome == "succeeded" or result.is_recorded:
        return True
    try:
        records = await stack.history(limit=_RECOGNISED_RUNS)
    except Exception:
        return False
    return any((record.get("environment") or {}).get("stackwright.runId") == task.run_id for record in records)


async def _left_by_interruption(task: StackTask, stack: Stack, result: Result) -> str | None:
    """Returns what an interrupted call of a cancelled run has left: clusters begin a call again whose worker has died, and a cancelled run
    does not begin again."""
    if task.verb == "preview" or result.outcome != "canceled" or result.steps:
        return None
    try:
        pending = await stack.pending()
    except Exception:
        return None
    named = ", ".join(f"{operation.kind} of {operation.urn}" for operation in pending)
    return f"an interrupted run has left pending operations, which the next one reports: {named}" if pending else None


def _report(task: StackTask, result: Result, texts: Sequence[str]) -> StackReport:
    steps = tuple(_without_cause(step) for step in result.steps)
    if isinstance(result.error, StackwrightError):
        result.error.result = None
    warnings = (_warning(text) for text in texts)
    return StackReport(
        stack=task.spec.stack,
        outcome=result.outcome,
        run_id=task.run_id,
        error=result.error,
        changes=dict(result.changes),
        outputs={name: OutputValue(None if output.secret else output.value, output.secret) for name, output in result.outputs.items()},
        steps=steps,
        diagnostics=(*result.diagnostics, *warnings),
        duration=result.duration,
        worker=worker_name(),
        is_recorded=result.is_recorded,
        text=result.tree(),
    )


def _warning(text: str) -> Diagnostic:
    return Diagnostic(
        message=text, message_arguments=None, message_code=None, reference_message=text, severity="warning", urn=None
    )


def _without_cause(step: Any) -> Any:
    """Returns a step whose error has no reference to the result."""
    if isinstance(step.error, StackwrightError):
        step.error.result = None
    return step


def _failed(task: StackTask, error: StackwrightError) -> TaskEnd:
    """Returns the end of a stack that could not be run."""
    error.result = None
    report = StackReport(stack=task.spec.stack, outcome="failed", run_id=task.run_id, error=error, worker=worker_name())
    return TaskEnd(report, (), (), False, None)


@contextlib.asynccontextmanager
async def _engine_for(
    spec: StackSpec, max_calls_per_plugin: int
) -> AsyncIterator[tuple[Engine, WorkerSetup, dict[str, Any]]]:
    """Returns the engine of this process for a stack, and the settings with which the stack is opened."""
    setup = await _setup_of(spec)
    given = dict(setup.engine)
    if spec.store is not None:
        given["store"] = spec.store
    if "store" not in given:
        raise InvalidInputError(f"neither the specification of {spec.stack} nor {spec.setup} has a store")
    settings: dict[str, Any] = {**spec.settings, **setup.settings}
    config = {**spec.config, **setup.config}
    if config:
        settings["config"] = config
    if not any(given.get(name) for name in ("encrypt_store", "secrets")) and not any(
        settings.get(name) for name in ("passphrase", "secrets")
    ):
        # Stacks with passphrases of their own share an engine.
        if given.get("passphrase"):
            settings["passphrase"] = given.pop("passphrase")
    async with contextlib.AsyncExitStack() as shared:
        engine: Engine = await _guarded(
            "making the engine", lambda: shared.enter_async_context(shared_engine(given, max_calls_per_plugin))
        )
        yield engine, setup, settings


async def _setup_of(spec: StackSpec) -> WorkerSetup:
    if spec.setup is None:
        return WorkerSetup()
    function = _named(spec.setup)
    setup = await _guarded(spec.setup, lambda: function(spec), is_of_the_host=True)
    if not isinstance(setup, WorkerSetup):
        raise InvalidInputError(f"{spec.setup} returned no WorkerSetup, but {type(setup).__name__}")
    return setup


def _named(path: str) -> Any:
    """Imports what a path names."""
    module, _, name = path.partition(":")
    failure: str | None = None
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            if not hasattr(found, part):
                failure = f"{found.__name__} has no {part}"
                break
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        failure = _missing_module(error) or _text_of(error, "the import")
    if failure is not None:
        raise InvalidInputError(f"the worker {worker_name()} cannot import {path}: {failure}")
    return found


def _missing_module(error: BaseException) -> str | None:
    """Returns the text of an import of a module that there is not; ``None`` for other errors, whose texts can be about anything."""
    is_missing = isinstance(error, ModuleNotFoundError) and error.name and str(error).startswith(f"No module named {error.name!r}")
    return f"there is no module {error.name}" if is_missing and isinstance(error, ModuleNotFoundError) else None


async def _guarded(what: str, work: Callable[[], Any], is_of_the_host: bool = False) -> Any:
    """Returns what a function returns, and raises errors that code of the host has raised without their texts, which may hold secrets:
    such an error has only its class and its place. Errors of the engine are raised as they are, unless they have such a cause."""
    try:
        result = work()
        return await result if inspect.isawaitable(result) else result
    except asyncio.CancelledError:
        raise
    except (Exception, SystemExit) as error:
        cause: BaseException | None = error
        if isinstance(error, StackwrightError) and not is_of_the_host:
            cause = error.__cause__
        if cause is None:
            raise
        text = _text_of(cause, what)
    # Outside of the handler: the error has no reference to the other one.
    raise FailedError(text, hints=["the text of the error stays in the worker: it may hold a secret"])


def _text_of(error: BaseException, what: str) -> str:
    """Names the class and the place of an error, without its text: the last line of the host's own package on the way to it."""
    place = package = ""
    trace = error.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        root = module.partition(".")[0]
        if not package and root not in ("stackwright", "importlib"):
            package = root
        if package and root == package:
            place = f" at {module}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{what} raised {type(error).__module__}.{type(error).__qualname__}{place} in the worker {worker_name()}"
