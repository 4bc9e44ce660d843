"""What runs in a worker of an executor: one stack of a set, with an engine that the stacks of the process share."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import platform
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from .. import events as _events
from .._bridge import answer
from ..engine import Engine
from ..errors import InternalError, InvalidInputError, StackwrightError
from ..operation import called
from ..result import Result
from ..values import OutputValue
from ._report import StackReport
from ._sets import FleetEvent, Verb
from ._spec import StackSpec, WorkerSetup

__all__ = ["StackTask", "TaskEnd", "cancel_run", "read_references", "run_stack"]

_READS: Final = 16
"""How many states a worker reads at a time."""


class StackTask(NamedTuple):
    """One stack of a set, to be run once."""

    spec: StackSpec
    verb: Verb
    run_id: str
    unfinished: tuple[str, ...]
    """The stacks of the set whose outputs are not there yet."""
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


_engines: Final[dict[tuple[object, ...], Engine]] = {}
_engines_lock = threading.Lock()


def _renew_lock() -> None:
    global _engines_lock
    _engines_lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


def worker_name() -> str:
    """Returns the host and the number of this process."""
    return f"{platform.node()}:{os.getpid()}"


def run_stack(task: StackTask) -> TaskEnd:
    """Runs one stack, in a worker. What fails, fails in the report: an exception of this function is none of the stack."""
    from ..sync import _background

    return _background.run(_run(task))


def read_references(specs: Sequence[StackSpec], max_calls_per_plugin: int) -> list[list[str] | str]:
    """Returns the stacks that the recorded references of each name, or the text of the error."""
    from ..sync import _background

    return _background.run(_read_references(specs, max_calls_per_plugin))


def cancel_run(spec: StackSpec, run_id: str, requests: int | None) -> None:
    """Leaves the mark of a run's cancellation in the store of a stack, or removes it: ``requests`` is ``None``. An executor may repeat
    it."""
    from ..sync import _background

    _background.run(mark(spec, run_id, requests))


async def mark(spec: StackSpec, run_id: str, requests: int | None) -> None:
    """Does the work of :func:`cancel_run` in this loop."""
    engine = _engine_of(spec, await _setup_of(spec), 0)
    await (engine.forget_run(run_id) if requests is None else engine.cancel_run(run_id, requests=requests))


async def _read_references(specs: Sequence[StackSpec], max_calls_per_plugin: int) -> list[list[str] | str]:
    turns = asyncio.Semaphore(_READS)

    async def read(spec: StackSpec) -> list[str] | str:
        async with turns:
            try:
                setup = await _setup_of(spec)
                stack = await _engine_of(spec, setup, max_calls_per_plugin).stack(spec.stack, None, **_settings(spec, setup))
                return await stack.referenced_stacks()
            except StackwrightError as error:
                return error.message

    return list(await asyncio.gather(*(read(spec) for spec in specs)))


async def _run(task: StackTask) -> TaskEnd:
    try:
        return await _run_opened(task)
    except Exception as error:
        return TaskEnd(_failed(task, error), (), ())


async def _run_opened(task: StackTask) -> TaskEnd:
    spec = task.spec
    setup = await _setup_of(spec)
    engine = _engine_of(spec, setup, task.max_calls_per_plugin)
    program = None if spec.program is None else _named(spec.program)
    stack = await engine.stack(spec.stack, program, **_settings(spec, setup))
    options: dict[str, Any] = {**spec.options, "run_id": task.run_id}
    if task.unfinished and task.verb != "destroy":
        options["unfinished_stacks"] = list(task.unfinished)
    operation = getattr(stack, task.verb)(policies=setup.policies, **options)
    events: list[tuple[str, bool]] = []
    sunk: Exception | None = None
    if task.sends_events or task.event_sink is not None:
        stream = operation._native.events(False)
        while batch := await answer(stream.next):
            for line, internal, _ in batch:
                if task.event_sink is None:
                    events.append((line, internal))
                elif sunk is None:
                    try:
                        await called(task.event_sink, FleetEvent(stack=spec.stack, event=_events.parse(line, internal)))
                    except Exception as error:
                        # The operation goes on; its result has the error.
                        sunk = error
    result = await operation.wait()
    report = _report(task, result)
    if sunk is not None and report.error is None:
        report = _failed(task, sunk, report)
    return TaskEnd(report, tuple(result.unfinished_reads), tuple(events))


def _report(task: StackTask, result: Result) -> StackReport:
    steps = tuple(_without_cause(step) for step in result.steps)
    return StackReport(
        stack=task.spec.stack,
        outcome=result.outcome,
        run_id=task.run_id,
        error=result.error,
        changes=dict(result.changes),
        outputs={name: OutputValue(None if output.secret else output.value, output.secret) for name, output in result.outputs.items()},
        steps=steps,
        diagnostics=result.diagnostics,
        duration=result.duration,
        worker=worker_name(),
        is_recorded=result.is_recorded,
        text=result.tree(),
    )


def _without_cause(step: Any) -> Any:
    """Returns a step whose error has no reference to the result."""
    if isinstance(step.error, StackwrightError):
        step.error.result = None
    return step


def _failed(task: StackTask, error: Exception, done: StackReport | None = None) -> StackReport:
    """Returns the report of a stack that could not be run, or whose listener has failed."""
    if not isinstance(error, StackwrightError):
        # Its class need not be known elsewhere, and its text may hold a secret value.
        kind = f"{type(error).__module__}.{type(error).__qualname__}"
        what = "the event sink" if done is not None else "opening the stack"
        error = InternalError(f"{what} raised {kind} in the worker {worker_name()}")
    error.result = None
    given: dict[str, Any] = {} if done is None else {name: getattr(done, name) for name in ("changes", "outputs", "steps", "diagnostics", "duration", "text")}
    return StackReport(stack=task.spec.stack, outcome="failed", run_id=task.run_id, error=error, worker=worker_name(), **given)


def _settings(spec: StackSpec, setup: WorkerSetup) -> Any:
    settings: dict[str, Any] = {**spec.settings, **setup.settings}
    config = {**spec.config, **setup.config}
    return {**settings, "config": config} if config else settings


async def _setup_of(spec: StackSpec) -> WorkerSetup:
    if spec.setup is None:
        return WorkerSetup()
    setup = _named(spec.setup)(spec)
    if inspect.isawaitable(setup):
        setup = await setup
    if not isinstance(setup, WorkerSetup):
        raise InvalidInputError(f"{spec.setup} returned no WorkerSetup, but {type(setup).__name__}")
    return setup


def _engine_of(spec: StackSpec, setup: WorkerSetup, max_calls_per_plugin: int) -> Engine:
    """Returns the engine of this process for the store of a stack."""
    given = dict(setup.engine)
    if spec.store is not None:
        given["store"] = spec.store
    if "store" not in given:
        raise InvalidInputError(f"neither the specification of {spec.stack} nor {spec.setup} has a store")
    # A store that is an object may be another one at each call: the function stands for it.
    own = given["store"] if isinstance(given["store"], str) else None
    key = (os.getpid(), own, spec.setup, max_calls_per_plugin)
    with _engines_lock:
        engine = _engines.get(key)
        if engine is None:
            engine = _engines[key] = Engine(**given, max_calls_per_plugin=max_calls_per_plugin)
        return engine


def _named(path: str) -> Any:
    """Imports what a path names."""
    module, _, name = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(f"the worker {worker_name()} cannot import {path}: {error}") from error
    return found
