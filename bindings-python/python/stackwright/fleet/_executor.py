"""Operations on a set of stacks on an executor: each stack is a call of it, which is submitted again when it is lost."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import time
import uuid
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypedDict

from .. import events as _events
from .._annotations import Unpack
from .._checks import require_function, require_given
from .._stackwright import FleetOrder
from ..errors import CancelledError, ConflictError, FailedError, InvalidInputError, StackwrightError, UnavailableError
from ..operation import called, joined
from ._report import FleetReport, StackReport
from ._sets import FleetEvent, Verb
from ._spec import StackSpec
from ._worker import StackTask, TaskEnd, cancel_run, holds, is_held, mark, packed, read_references, run_stack

__all__ = ["ExecutorOperation", "ExecutorOptions", "destroy_all", "preview_all", "refresh_all", "up_all"]

RESUBMISSIONS: Final = 3
"""How often a lost call is submitted again."""

_RESUBMISSION_PAUSE: Final = 0.5
"""The time before a lost call is submitted again, in seconds, which doubles: a connection that was cut may come back."""

_MAX_STACKS: Final = 16
"""How many stacks are submitted at a time by default."""

_MARK_SECONDS: Final = 60.0
"""How long this process tries to leave a mark in a store, and how long it waits for the executor to do so after that."""

_REFERENCE_READS: Final = 25
"""How many stacks one call reads the references of."""


class ExecutorFuture(Protocol):
    """What an executor returns for a call."""

    def result(self) -> Any: ...
    def cancel(self) -> bool: ...
    def done(self) -> bool: ...
    def add_done_callback(self, callback: Callable[[Any], object], /) -> object: ...


class FleetExecutor(Protocol):
    """What runs functions elsewhere: :class:`concurrent.futures.Executor` and all with its interface."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any: ...


_RESUBMIT_AFTER: Final = 600.0
"""When a call that has not ended is submitted once more, in seconds, by default."""

OnFleetEvent = Callable[[FleetEvent], object]


class ExecutorOptions(TypedDict, total=False):
    """The options of an operation on an executor."""

    max_stacks: int | None
    """How many stacks are submitted at a time; 16 when left out. About as many as the executor has places."""
    max_calls_per_plugin: int | None
    """How many steps, checks and diffs of each package's providers run at a time in each worker process."""
    on_event: OnFleetEvent | None
    """Called here with the events of a stack when it has ended; may be ``async``."""
    event_sink: OnFleetEvent | None
    """Called in the worker with each event at once, and pickled for that; ``on_event`` gets none then. What it raises changes nothing of the
    stack: it gets no further event of that one, and the operation raises an error at its end, as it does for ``on_event``."""
    resubmit_after: float | None
    """When a call that has not ended is submitted once more, in seconds: some executors lose calls without a notice, as Dask does while its
    client reconnects. It waits where the first one still runs, and does not repeat what that has done. 600 when left out; three times at
    most, and not while the executor states that the call runs. After that the stack is *unknown* once no operation holds it and no call of
    the set has ended for as long."""
    resume: FleetReport | None
    """The report of a former call, which this one finishes: stacks that had succeeded are not run again, and those whose end was unknown
    keep the id of their run."""


class _Options(NamedTuple):
    """The options of an operation."""

    max_stacks: int
    max_calls_per_plugin: int
    on_event: OnFleetEvent | None
    event_sink: OnFleetEvent | None
    resubmit_after: float


_CONTINUED: Final = ("create", "update", "delete")
"""The steps of a former run that count although a later run finds their resources unchanged."""


class _Foreign(Exception):
    """What a call has ended with that is no exception of this process: its text holds nothing of the call."""


class _Part:
    """A stack of the set, and what has been submitted for it."""

    def __init__(self, spec: StackSpec, run_id: str) -> None:
        self.spec = spec
        self.run_id = run_id
        self.reads = 0
        """How often its program has read an unfinished stack."""
        self.losses = 0
        """How often the present run was lost."""
        self.repetitions = 0
        """How often the present run was submitted once more without a loss."""
        self.attempts = 0
        self.calls: list[ExecutorFuture] = []
        """The calls of the present run that have not ended."""
        self.is_resubmitted = False
        """Whether it is submitted again after a pause."""
        self.is_unaccounted = False
        """Whether a call of it was lost that may still run, or is still to begin, and would not find the record of its run."""
        self.former: StackReport | None = None
        """What its former runs came to, which have read an unfinished stack."""
        self.report: StackReport | None = None

    @property
    def own_run(self) -> str:
        """The id of the present run: what has failed because of an unfinished stack is run again as another one."""
        return f"{self.run_id}.{self.reads}" if self.reads else self.run_id


class ExecutorOperation:
    """A running operation on a set of stacks, on an executor. Await it for its report.

    It goes on when this object is dropped. When the task that awaits it is cancelled, the operation is cancelled too, and the await goes
    on until its end.
    """

    def __init__(
        self,
        executor: FleetExecutor,
        verb: Verb,
        specs: Sequence[StackSpec],
        options: _Options,
        resume: FleetReport | None,
    ) -> None:
        self.run_id: Final = uuid.uuid4().hex
        """The id of the set, with which the ids of its runs begin."""
        self._executor = executor
        self._verb: Final[Verb] = verb
        self._options = options
        self._parts = [_Part(spec, f"{self.run_id}/{place}") for place, spec in enumerate(specs)]
        self._by_name = {part.spec.stack: part for part in self._parts}
        self._finished = _resumed(self._parts, verb, resume)
        self._inbox: asyncio.Queue[tuple[int, ExecutorFuture | BaseException]] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._timers: dict[ExecutorFuture, asyncio.TimerHandle] = {}
        self._cancellations = 0
        self._asked = asyncio.Event()
        self._markings: list[asyncio.Task[None]] = []
        self._doubts: set[asyncio.Task[None]] = set()
        self._last_end = time.monotonic()
        self._unfinished: tuple[list[int], bytes] = ([], packed(()))
        """The places of the unfinished stacks of the last submission, and their names."""
        self._began = time.monotonic()
        self._raised: Exception | None = None
        self._warnings: list[str] = []
        self._failed_sinks: list[str] = []
        self._ended: asyncio.Future[FleetReport] = asyncio.ensure_future(self._run())

    def cancel(self) -> None:
        """Requests the end: no further stack begins, and a mark in the stores lets the workers finish and record what runs. Each reads it
        as often as it renews its lease, which is 10 seconds for buckets and databases by default, and 1 second for folders. A second time,
        workers abandon running calls of providers, and what has not ended is no longer awaited: its end is unknown."""
        self._cancellations += 1
        self._asked.set()

    @property
    def done(self) -> bool:
        """Whether every stack has ended."""
        return self._ended.done()

    async def wait(self) -> FleetReport:
        """Waits for the end and returns the report, also that of a failed operation: see :attr:`FleetReport.error`.

        What a listener (``on_event``) raised is raised when all is done, and that ``event_sink`` has failed: ``fleet_result`` of the error
        is the report.
        """
        report = await joined(self._ended, None, self.cancel)
        if self._raised is not None and report.error is None:
            raise self._raised
        return report

    def __await__(self) -> Generator[Any, None, FleetReport]:
        return self._succeed().__await__()

    async def _succeed(self) -> FleetReport:
        report = await self.wait()
        if report.error is not None:
            if isinstance(report.error, StackwrightError):
                report.error.fleet_result = report
            raise report.error
        return report

    def __repr__(self) -> str:
        return f"<operation on {len(self._parts)} stacks on an executor, {'done' if self.done else 'running'}>"

    # The work, all of it on the event loop.

    async def _run(self) -> FleetReport:
        try:
            order = await self._order()
        except StackwrightError as refusal:
            return self._refused(refusal)
        while True:
            if self._cancellations:
                # Before the next turns: it may have been asked for while the order was not known.
                order.cancel()
            self._take_turns(order)
            if order.is_over():
                break
            message = asyncio.ensure_future(self._inbox.get())
            asked = asyncio.ensure_future(self._asked.wait())
            await asyncio.wait({message, asked}, return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            if self._asked.is_set():
                self._asked.clear()
                order.cancel()
                self._leave_marks()
                if self._cancellations > 1:
                    self._give_up(order)
            if message.done():
                await self._receive(order, *message.result())
            else:
                message.cancel()
        for timer in self._timers.values():
            timer.cancel()
        for doubt in self._doubts:
            doubt.cancel()
        self._account(order)
        if self._markings:
            await asyncio.gather(*self._markings)
            # What may still begin must find the marks.
            if not any(part.report is not None and part.report.outcome == "unknown" for part in self._parts):
                await self._mark_all(None)
        return self._reported(order.error())

    async def _order(self) -> FleetOrder:
        """Orders the stacks by what their specifications state, and by the references that their states have: unless the set is cancelled
        before these are read."""
        reading = asyncio.ensure_future(self._references())
        asked = asyncio.ensure_future(self._asked.wait())
        await asyncio.wait({reading, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if reading.done():
            references = reading.result()
        else:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            references = [[] for _ in self._parts]
        described = [
            (part.spec.stack, list(part.spec.depends_on), found) for part, found in zip(self._parts, references, strict=True)
        ]
        return FleetOrder(self._verb, described, self._options.max_stacks)

    def _account(self, order: FleetOrder) -> None:
        """Reports stacks as unknown of which a call may still run, or is still to begin, although they did not succeed."""
        for place, part in enumerate(self._parts):
            if part.is_unaccounted and part.report is not None and part.report.outcome not in ("succeeded", "unknown"):
                self._settle_unknown(order, place, "a call of it was lost", part.report.error)
        if self._cancellations and not self._markings and any(part.is_unaccounted for part in self._parts):
            self._leave_marks()

    async def _references(self) -> list[list[str]]:
        names: list[list[str]] = []
        for begin in range(0, len(self._parts), _REFERENCE_READS):
            names += [[] for _ in self._parts[begin : begin + _REFERENCE_READS]]
        chunks = range(0, len(self._parts), _REFERENCE_READS)
        reads = [self._read(self._parts[begin : begin + _REFERENCE_READS]) for begin in chunks]
        for begin, found in zip(chunks, await asyncio.gather(*reads), strict=True):
            for offset, stacks in enumerate(found):
                if isinstance(stacks, list):
                    names[begin + offset] = stacks
                elif self._verb == "destroy":
                    stack = self._parts[begin + offset].spec.stack
                    raise FailedError(
                        f"the recorded references of the stack '{stack}' cannot be read: {stacks}",
                        hints=["nothing was destroyed: the order is not known without the references of each stack"],
                    )
        return names

    async def _read(self, parts: Sequence[_Part]) -> list[list[str] | str]:
        specs = [part.spec for part in parts]
        failure: Exception | None = None
        for loss in range(RESUBMISSIONS + 1):
            if loss:
                await asyncio.sleep(_RESUBMISSION_PAUSE * 2 ** (loss - 1))
            try:
                call = self._call(read_references, specs, self._options.max_calls_per_plugin)
                found = await asyncio.wait_for(call, self._options.resubmit_after)
                if isinstance(found, list) and len(found) == len(parts):
                    return found
                failure = _Foreign(f"an answer of type {type(found).__name__}")
            except (Exception, asyncio.TimeoutError) as error:
                failure = error
        return [f"the executor has lost the call: {_described(failure)}" for _ in parts]

    async def _call(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Returns what a call of the executor returns. It is cancelled when it is no longer awaited."""
        future = self._executor.submit(function, *arguments)
        done: asyncio.Future[None] = self._loop.create_future()
        future.add_done_callback(lambda _future: self._later(_set, done))
        try:
            await done
        except asyncio.CancelledError:
            future.cancel()
            raise
        try:
            return future.result()
        except Exception:
            raise
        except BaseException as error:
            # It is about the call, and not about this process.
            raise _Foreign(_described(error)) from None

    def _take_turns(self, order: FleetOrder) -> None:
        # Repetitions take the places of stacks that have not begun.
        while self._cancellations or sum(len(part.calls) for part in self._parts) < self._options.max_stacks:
            turn = order.next_turn()
            if turn is None:
                break
            place, skipped = turn
            part = self._parts[place]
            if skipped is not None and part.former is not None:
                # It has begun before, and read a stack that has not succeeded since.
                part.report = _changed(part.former, attempts=part.attempts)
            elif skipped is not None:
                part.report = StackReport(stack=part.spec.stack, outcome="skipped", error=skipped)
            elif part.spec.stack in self._finished:
                part.report = self._finished[part.spec.stack]
                order.ended(place)
            else:
                self._submit(place, order)

    def _submit(self, place: int, order: FleetOrder) -> None:
        part = self._parts[place]
        part.attempts += 1
        task = StackTask(
            part.spec,
            self._verb,
            part.own_run,
            self._unfinished_names(order),
            self._options.max_calls_per_plugin,
            self._options.event_sink,
            self._options.on_event is not None and self._options.event_sink is None,
        )
        try:
            future: ExecutorFuture = self._executor.submit(run_stack, task)
        except Exception as error:
            self._inbox.put_nowait((place, error))
            return
        part.calls.append(future)
        self._timers[future] = self._loop.call_later(self._options.resubmit_after, self._repeat_overdue, place, future, order)
        future.add_done_callback(lambda _done: self._later(self._inbox.put_nowait, (place, future)))

    def _unfinished_names(self, order: FleetOrder) -> bytes:
        """Returns the names of the unfinished stacks, which are put together once after each end."""
        places = order.unfinished()
        if places != self._unfinished[0]:
            self._unfinished = (places, packed(self._parts[place].spec.stack for place in places))
        return self._unfinished[1]

    def _repeat_overdue(self, place: int, future: ExecutorFuture, order: FleetOrder) -> None:
        """Submits a call once more that has not ended: the executor may have lost it."""
        part = self._parts[place]
        if future not in part.calls or self._cancellations:
            return
        is_running = getattr(future, "running", None)
        if is_running is not None and is_running():
            # It is not lost: the executor would notice.
            self._look_later(place, future, order)
        elif part.repetitions < RESUBMISSIONS:
            part.repetitions += 1
            self._submit(place, order)
        else:
            doubt = asyncio.ensure_future(self._doubt(place, future, order))
            self._doubts.add(doubt)
            doubt.add_done_callback(self._doubts.discard)

    def _look_later(self, place: int, future: ExecutorFuture, order: FleetOrder) -> None:
        self._timers[future] = self._loop.call_later(self._options.resubmit_after, self._repeat_overdue, place, future, order)

    async def _doubt(self, place: int, future: ExecutorFuture, order: FleetOrder) -> None:
        """Settles a stack as unknown all of whose calls are overdue, unless it is held, or the executor still ends other calls: then they wait
        for a place."""
        part = self._parts[place]
        is_quiet = time.monotonic() - self._last_end >= self._options.resubmit_after
        is_lost = is_quiet and not await self._is_held(part.spec)
        if future not in part.calls or part.report is not None or self._cancellations:
            return
        if not is_lost:
            self._look_later(place, future, order)
            return
        self._settle_unknown(order, place, "none of them has answered")
        # The work waits for a message.
        self._inbox.put_nowait((place, UnavailableError("")))

    async def _is_held(self, spec: StackSpec) -> bool:
        """Returns whether an operation holds the lock of a stack, as this process sees it or, without access to the store, a worker."""
        for attempt in (lambda: holds(spec), lambda: self._call(is_held, spec)):
            try:
                return bool(await asyncio.wait_for(attempt(), _MARK_SECONDS))
            except (Exception, asyncio.TimeoutError):
                continue
        return False

    def _later(self, function: Callable[..., object], *arguments: object) -> None:
        """Calls a function on the event loop, from any thread."""
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            pass  # The loop is closed: no caller waits.

    async def _receive(self, order: FleetOrder, place: int, message: ExecutorFuture | BaseException) -> None:
        part = self._parts[place]
        self._last_end = time.monotonic()
        if not isinstance(message, BaseException) and (timer := self._timers.pop(message, None)) is not None:
            timer.cancel()
        if part.report is not None:
            return  # It was given up, or another call of it has ended.
        if not isinstance(message, BaseException):
            if message not in part.calls:
                return  # It was a call of a former run.
            part.calls.remove(message)
        try:
            if isinstance(message, BaseException):
                raise message
            end: TaskEnd = message.result()
            if not isinstance(end, TaskEnd):
                raise _Foreign(f"an answer of type {type(end).__name__}")
        except BaseException as error:  # An interrupt or an exit of the call is none of this process.
            if not isinstance(message, BaseException):
                part.is_unaccounted = True
            if not part.calls:
                self._lost(order, place, error)
            return
        if end.warning is not None:
            self._warnings.append(f"{part.spec.stack}: {end.warning}")
            self._failed_sinks.append(part.spec.stack)
        for line, internal in end.events:
            await self._listen(FleetEvent(stack=part.spec.stack, event=_events.parse(line, internal)))
        report = end.report
        if end.is_settled:
            # Another call of the run finds its record.
            part.is_unaccounted = False
        if end.unfinished_reads and report.error is not None and not self._cancellations:
            try:
                order.run_again(place, list(end.unfinished_reads))
            except StackwrightError as refusal:
                report = _changed(report, error=refusal)
            else:
                self._forget_calls(part, end.is_settled)
                part.former = _continued(part.former, report)
                part.reads += 1
                part.losses = part.repetitions = 0
                part.is_resubmitted = False
                return
        is_open = not end.is_settled and report.outcome != "succeeded" and bool(part.is_unaccounted or part.calls)
        is_repeatable = part.losses < RESUBMISSIONS and not self._cancellations
        is_repeated = isinstance(report.error, ConflictError) and part.attempts > 1 and is_repeatable
        if report.error is not None and (is_open or is_repeated):
            # Another call of the same run may hold the stack, or has ended it a moment ago.
            if not (self._cancellations and part.calls):
                self._lost(order, place, report.error)
            return
        self._forget_calls(part, end.is_settled)
        part.report = _changed(_continued(part.former, report), attempts=part.attempts)
        order.ended(place, _parts_of(report.error))

    def _forget_calls(self, part: _Part, is_settled: bool) -> None:
        """Cancels the calls of a run that has ended: one that waits for a place would begin after the set, with what has been replaced since.
        That a call is cancelled does not mean that it has not begun: clusters cancel as well as they can."""
        for call in part.calls:
            if (timer := self._timers.pop(call, None)) is not None:
                timer.cancel()
            call.cancel()
            part.is_unaccounted |= not is_settled
        part.calls.clear()

    async def _listen(self, event: FleetEvent) -> None:
        if self._options.on_event is not None and self._raised is None:
            try:
                await called(self._options.on_event, event)
            except (Exception, SystemExit, GeneratorExit) as error:
                # An exit would end the loop, with all that runs on it.
                raised = f"on_event raised {_described(error)}"
                self._raised = error if isinstance(error, Exception) else FailedError(raised)
                self._warnings.append(f"{event.stack}: on_event raised {_described(error)}, and got no further event")

    def _lost(self, order: FleetOrder, place: int, error: BaseException) -> None:
        """Submits a call again that was cancelled or lost without our asking, until that has happened too often."""
        part = self._parts[place]
        if part.is_resubmitted:
            return
        if part.losses < RESUBMISSIONS and not self._cancellations:
            part.losses += 1
            part.is_resubmitted = True
            pause = _RESUBMISSION_PAUSE * 2 ** (part.losses - 1)
            self._loop.call_later(pause, self._submit_again, place, part.own_run, order)
            return
        if isinstance(error, StackwrightError):
            self._settle_unknown(order, place, "the last call has failed", error)
        else:
            self._settle_unknown(order, place, _described(error))

    def _submit_again(self, place: int, run: str, order: FleetOrder) -> None:
        part = self._parts[place]
        if part.own_run != run:
            return  # Another call of that run has ended.
        part.is_resubmitted = False
        if part.report is not None or self._cancellations and part.calls:
            return
        if self._cancellations:
            self._settle_unknown(order, place, "the set was cancelled")
            # The work waits for a message.
            self._inbox.put_nowait((place, UnavailableError("")))
        else:
            self._submit(place, order)

    def _settle_unknown(
        self, order: FleetOrder, place: int, reason: str, cause: BaseException | None = None
    ) -> None:
        part = self._parts[place]
        hints = ["a call with resume=<this report> finishes it: a run that has ended is not repeated, and one that still runs is waited for"]
        if self._cancellations:
            set_id = part.run_id.partition("/")[0]
            hints = [
                f"the mark of the cancelled set stays in the store, and ends what still runs or begins; forget_run('{set_id}') of an engine "
                "removes it when no call is left"
            ]
        if isinstance(cause, StackwrightError):
            text = f"the end of the stack is not known: {reason}: {cause.message}"
            hints = [*cause.hints, *hints]
        else:
            times = f"{part.attempts} calls" if part.attempts > 1 else "its call"
            text = f"the executor has lost {times}, and the end of the stack is not known: {reason}"
        error = UnavailableError(text, hints=hints)
        self._forget_calls(part, False)
        part.is_unaccounted = True
        part.report = StackReport(
            stack=part.spec.stack, outcome="unknown", run_id=part.own_run, error=error, attempts=part.attempts
        )
        order.ended(place, _parts_of(error), True)

    def _give_up(self, order: FleetOrder) -> None:
        """Waits no longer for what has not ended."""
        for place, part in enumerate(self._parts):
            if part.report is None:
                self._settle_unknown(order, place, "the set was cancelled a second time")

    def _leave_marks(self) -> None:
        self._markings.append(asyncio.ensure_future(self._mark_all(min(self._cancellations, 2))))

    async def _mark_all(self, requests: int | None) -> None:
        """Leaves the marks of the set in each store, or removes them: ``requests`` is ``None``."""
        stores: dict[tuple[str, str | None, str | None], StackSpec] = {}
        for part in self._parts:
            for run in {self.run_id, part.run_id.partition("/")[0]}:
                stores.setdefault((run, part.spec.store, part.spec.setup), part.spec)
        await asyncio.gather(*(self._mark(spec, run, requests) for (run, _, _), spec in stores.items()))

    async def _mark(self, spec: StackSpec, run: str, requests: int | None) -> None:
        """Leaves or removes a mark here, without waiting for a place among the stacks that it is to end. Where this process has no access to
        the store, a worker does it."""
        failures: list[str] = []
        for attempt in (lambda: mark(spec, run, requests), lambda: self._call(cancel_run, spec, run, requests)):
            try:
                await asyncio.wait_for(attempt(), _MARK_SECONDS)
                return
            except (Exception, asyncio.TimeoutError) as error:
                failures.append(error.message if isinstance(error, StackwrightError) else _described(error))
        what = "left, so that the workers of this set do not end early" if requests is not None else "removed"
        self._warnings.append(
            f"the mark of the cancelled set {run} could not be {what}: in this process: {failures[0]}; in a worker: {failures[1]}"
        )

    def _refused(self, refusal: StackwrightError) -> FleetReport:
        for part in self._parts:
            part.report = StackReport(stack=part.spec.stack, outcome="skipped", error=refusal)
        return self._reported(refusal)

    def _reported(self, error: BaseException | None) -> FleetReport:
        reports = {part.spec.stack: part.report for part in self._parts if part.report is not None}
        duration = time.monotonic() - self._began
        was_cancelled = isinstance(error, CancelledError)
        report = FleetReport(reports, error, was_cancelled, duration, self.run_id, self._verb, tuple(self._warnings))
        if isinstance(error, StackwrightError):
            error.hints = (*error.hints, *self._warnings)
        if self._raised is None and self._failed_sinks:
            stacks = ", ".join(sorted(set(self._failed_sinks)))
            self._raised = FailedError(f"the event sink has failed, and the stacks have not: {stacks}", hints=self._warnings)
        if self._raised is not None:
            # An exception without attributes leaves the report to the caller of `wait`, who gets none for another reason.
            with contextlib.suppress(AttributeError, TypeError):
                self._raised.fleet_result = report  # type: ignore[attr-defined]
        return report


def _set(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)


def _changed(report: StackReport, **members: Any) -> StackReport:
    from dataclasses import replace

    return replace(report, **members)


def _continued(former: StackReport | None, report: StackReport) -> StackReport:
    """Returns the report of a run with what a former one, which it has continued, did: a resource that the former one has created is no
    unchanged one."""
    if former is None or report.is_recorded:
        return report
    done = {step.urn: step for step in former.steps if step.op in _CONTINUED and step.error is None}
    for step in report.steps:
        if step.op != "same":
            done.pop(step.urn, None)
    steps = [*done.values(), *(step for step in report.steps if step.urn not in done)]
    changes = dict(report.changes)
    for earlier in done.values():
        changes[earlier.op] = changes.get(earlier.op, 0) + 1
        if earlier.op != "delete":
            # The last run has found it unchanged.
            changes["same"] = changes.get("same", 0) - 1
    counted = {op: count for op, count in changes.items() if count > 0}
    return _changed(report, steps=tuple(steps), changes=counted, duration=former.duration + report.duration)


def _described(error: BaseException | None) -> str:
    """Returns the class of an error of an executor. Its text may hold what the call was about."""
    if isinstance(error, _Foreign):
        return str(error)
    return f"{type(error).__module__}.{type(error).__qualname__}"


def _parts_of(error: BaseException | None) -> tuple[str, str] | None:
    if error is None:
        return None
    return (error.kind, error.message) if isinstance(error, StackwrightError) else ("failed", str(error))


def _resumed(parts: Sequence[_Part], verb: Verb, former: FleetReport | None) -> dict[str, StackReport]:
    """Gives the runs whose end is unknown their former ids, and returns the reports of the stacks that have succeeded."""
    finished: dict[str, StackReport] = {}
    if former is None:
        return finished
    if former.verb != verb:
        raise InvalidInputError(f"resume is the report of {former.verb}_all, which {verb}_all cannot finish")
    for part in parts:
        report = former.stacks.get(part.spec.stack)
        if report is None:
            continue
        if report.outcome == "succeeded":
            finished[part.spec.stack] = report
        elif report.outcome == "unknown":
            part.is_unaccounted = True
            # The mark of a cancelled set would end its run again: that one may still hold the stack, and is waited for.
            if former.outcome != "canceled":
                part.run_id = report.run_id
    return finished


def _start(
    executor: FleetExecutor,
    verb: Verb,
    specs: Sequence[StackSpec],
    *,
    max_stacks: int | None = None,
    max_calls_per_plugin: int | None = None,
    on_event: OnFleetEvent | None = None,
    event_sink: OnFleetEvent | None = None,
    resubmit_after: float | None = None,
    resume: FleetReport | None = None,
) -> ExecutorOperation:
    require_given("specs", specs, (list, tuple), "a list of StackSpec")
    for spec in specs:
        require_given("specs", spec, StackSpec, "a list of StackSpec")
    if not callable(getattr(executor, "submit", None)):
        raise InvalidInputError("executor takes an object with the interface of concurrent.futures.Executor")
    require_function("on_event", on_event)
    require_function("event_sink", event_sink)
    for option, number in (("max_stacks", max_stacks), ("max_calls_per_plugin", max_calls_per_plugin)):
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 2**31):
            raise InvalidInputError(f"{option} takes a number from 0 to 2147483647, not {number!r}")
    for named, given in (("event_sink", event_sink), ("specs", list(specs))):
        try:
            pickle.dumps(given)
        except Exception as error:
            raise InvalidInputError(f"{named} cannot be pickled: {error}") from error
    if resume is not None:
        require_given("resume", resume, FleetReport, "the report of a former call (`fleet_result` of its error)")
    if resubmit_after is None:
        resubmit_after = _RESUBMIT_AFTER
    if not isinstance(resubmit_after, (int, float)) or isinstance(resubmit_after, bool) or not resubmit_after > 0:
        raise InvalidInputError(f"resubmit_after takes a number of seconds above 0, not {resubmit_after!r}")
    options = _Options(max_stacks or _MAX_STACKS, max_calls_per_plugin or 0, on_event, event_sink, resubmit_after)
    return ExecutorOperation(executor, verb, specs, options, resume)


def up_all(
    executor: FleetExecutor, specs: Sequence[StackSpec], **options: Unpack[ExecutorOptions]
) -> ExecutorOperation:
    """Updates a set of stacks on an executor: ``report = await fleet.up_all(executor, specs)``.

    The order is that of :meth:`stackwright.Engine.up_all`. A program that reads an unfinished stack of the set fails at once, and is run
    again after that stack. Each run has an id of its own, which the store records: a call that is cancelled or lost without our asking is
    submitted again up to three times, and does not repeat what has ended. After that the end of the stack is *unknown*.

    :param executor: Runs the stacks: threads, processes, Dask's ``client.get_executor(pure=False)``, :func:`ray_executor`.
    :param specs: The stacks.
    :param options: Those of :class:`ExecutorOptions`.
    :raises StackwrightError: A stack has not succeeded; ``fleet_result`` of the error is the report. :meth:`ExecutorOperation.wait`
        returns it instead.
    """
    return _start(executor, "up", specs, **options)


def preview_all(
    executor: FleetExecutor, specs: Sequence[StackSpec], **options: Unpack[ExecutorOptions]
) -> ExecutorOperation:
    """Previews the update of a set of stacks on an executor. A program that reads another stack gets its recorded outputs, not those that
    its preview computes: previews of workers do not exchange values."""
    return _start(executor, "preview", specs, **options)


def refresh_all(
    executor: FleetExecutor, specs: Sequence[StackSpec], **options: Unpack[ExecutorOptions]
) -> ExecutorOperation:
    """Reads every resource of a set of stacks on an executor, and records what is there."""
    return _start(executor, "refresh", specs, **options)


def destroy_all(
    executor: FleetExecutor, specs: Sequence[StackSpec], **options: Unpack[ExecutorOptions]
) -> ExecutorOperation:
    """Deletes every resource of a set of stacks on an executor, in the reverse order of :func:`up_all`. None is destroyed when the recorded
    references of one cannot be read."""
    return _start(executor, "destroy", specs, **options)
