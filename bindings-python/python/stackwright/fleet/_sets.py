"""Operations on a set of stacks: each runs after those that it needs, independent ones at the same time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from .. import events as _events
from .._annotations import Unpack
from .._bridge import answer, completions_of, resolver
from .._checks import require_function, require_given
from .._json import document_of_options
from .._record import record
from .._results import Outcome
from .._runner import Program
from .._stackwright import FleetOperation as NativeOperation
from .._stackwright import FleetOutcome, start_all
from ..errors import InvalidInputError, StackwrightError
from ..events import Event
from ..operation import Operation, called, hold, joined
from ..options import OperationOptions
from ..result import Result
from ..stack import Policies, Stack

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["FleetEvent", "FleetOperation", "FleetResult", "StackRun"]

Verb = Literal["up", "preview", "refresh", "destroy"]


class BlockingStack(Protocol):
    """A stack of :mod:`stackwright.sync`."""

    _stack: Stack

    @property
    def name(self) -> str: ...


class StackRun:
    """A stack of a set, and its part of an operation on the set.

    :param program: Takes the place of the stack's own, this once.
    :param depends_on: The stacks of the set that it needs, or their names (``project/stack``), beside those that its recorded stack
        references name.
    :param policies: What every resource is checked by; see :meth:`stackwright.Stack.preview`.
    :param options: The options of the stack's operation.
    """

    def __init__(
        self,
        stack: Stack | BlockingStack,
        *,
        program: Program | None = None,
        depends_on: Sequence[Stack | BlockingStack | str] = (),
        policies: Policies | None = None,
        **options: Unpack[OperationOptions],
    ) -> None:
        # Those of the API without `async` wrap one.
        own: Any = getattr(stack, "_stack", stack)
        require_given("stack", own, Stack, "a stack")
        self.stack: Final[Stack] = own
        require_given("depends_on", depends_on, (list, tuple), "a list of stacks or of their names")
        self.program: Final = program
        self.depends_on: Final = tuple(_name(stack) for stack in depends_on)
        self.policies: Final = policies
        self.options: Final = options

    def __repr__(self) -> str:
        return f"<StackRun of {self.stack.name}>"


def _name(stack: object) -> str:
    """Returns the name of a stack."""
    name = stack if isinstance(stack, str) else getattr(stack, "name", None)
    if not isinstance(name, str):
        raise InvalidInputError(f"depends_on takes stacks or their names, not {type(stack).__name__}")
    return name


@record(frozen=True, slots=True, kw_only=True)
class FleetEvent:
    """An event of a stack of a set."""

    stack: str
    """The name of the stack, as ``project/stack``."""
    event: Event
    """The event. Its sequence number is that of the stack's operation."""


class FleetResult:
    """What an operation on a set of stacks came to. ``print(result)`` shows a tree of the steps of each stack."""

    __slots__ = ("_native", "changes", "duration", "error", "outcome", "skipped", "stacks")

    def __init__(self, native: FleetOutcome, stacks: Mapping[str, Result]) -> None:
        self._native = native
        self.stacks: Final = stacks
        """The result of each stack by its name, in the order of the call. That of a skipped one is an error."""
        self.skipped: Final[tuple[str, ...]] = tuple(native.skipped)
        """The names of the stacks that did not begin: one that they need did not succeed, or the set was cancelled or refused."""
        self.outcome: Final[Outcome] = native.outcome
        """How it ended; ``canceled`` where the host cancelled it before every stack had ended."""
        self.changes: Final[Mapping[str, int]] = native.changes
        """How many resources of all stacks each kind of step was applied to."""
        self.duration: Final[float] = native.duration
        """How long it took, in seconds."""
        self.error: Final[BaseException | None] = native.error
        """Why it failed; it names the stacks that did. The error of the first of them is its cause (``__cause__``)."""
        failed = (result.error for name, result in stacks.items() if name not in self.skipped)
        if self.error is not None:
            self.error.__cause__ = next((error for error in failed if error is not None), None)

    def tree(self) -> str:
        """Returns what each stack came to, one after the other, for display."""
        return self._native.tree()

    def __str__(self) -> str:
        return self.tree()

    def __repr__(self) -> str:
        return f"<operation on {len(self.stacks)} stacks {self.outcome}: {dict(self.changes)}>"


class FleetOperation:
    """A running operation on a set of stacks. Await it for its result; iterate it for its events.

    It goes on when this object is dropped. When the task that awaits it is cancelled, the operation is cancelled too: the first time
    gracefully, no further stack begins, what runs is finished and recorded, and the await goes on until then; the second time at once.
    """

    def __init__(
        self,
        native: NativeOperation,
        parts: Sequence[Callable[[Any], Operation]],
        on_event: Callable[[FleetEvent], object] | None,
        on_output: Callable[[str], object] | None,
        engine: object,
    ) -> None:
        self._native = native
        operations = [part(own) for part, own in zip(parts, native.operations(), strict=True)]
        self.operations: Final[Mapping[str, Operation]] = {own.stack: own for own in operations}
        """The operation of each stack by its name, in the order of the call."""
        loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[FleetOutcome] = loop.create_future()
        # The engine lives until the operation is over.
        self._ended.add_done_callback(lambda _ended: hold(engine))
        native.wait(completions_of(loop), resolver(self._ended))
        self._result: FleetResult | None = None
        self._listener: asyncio.Task[None] | None = None
        if on_event is not None or on_output is not None:
            self._listener = loop.create_task(self._listen(on_event, on_output))

    def cancel(self) -> None:
        """Requests the end: no further stack begins, and what runs finishes and is recorded. A second time, running provider calls
        are abandoned."""
        self._native.cancel()

    @property
    def done(self) -> bool:
        """Whether every stack has ended."""
        return self._ended.done()

    async def wait(self) -> FleetResult:
        """Waits for the end and returns the result, also that of a failed operation: see :attr:`FleetResult.error`.

        What a listener (``on_event``) raised is raised when all is done, with the result as its ``fleet_result``.
        """
        outcome = await joined(self._ended, self._listener, self.cancel)
        if self._result is None:
            results = {name: await operation.wait() for name, operation in self.operations.items()}
            self._result = self._result or FleetResult(outcome, results)
        listener = self._listener
        raised = None if listener is None or listener.cancelled() else listener.exception()
        # Why the operation failed comes first.
        if raised is not None and self._result.error is None:
            with contextlib.suppress(AttributeError):
                raised.fleet_result = self._result  # type: ignore[attr-defined]
            raise raised
        return self._result

    def __await__(self) -> Generator[Any, None, FleetResult]:
        return self._succeed().__await__()

    async def _succeed(self) -> FleetResult:
        result = await self.wait()
        if result.error is not None:
            if isinstance(result.error, StackwrightError):
                result.error.fleet_result = result
            raise result.error
        return result

    async def events(self) -> AsyncIterator[FleetEvent]:
        """Yields the events of all stacks, those of each in their order: all of them for the first caller, those that are still to
        come for others."""
        stream = self._native.events(False)
        while batch := await answer(stream.next):
            for stack, line, internal, _ in batch:
                yield FleetEvent(stack=stack, event=_events.parse(line, internal))

    def __aiter__(self) -> AsyncIterator[FleetEvent]:
        return self.events()

    async def _listen(
        self, on_event: Callable[[FleetEvent], object] | None, on_output: Callable[[str], object] | None
    ) -> None:
        stream = self._native.events(on_output is not None)
        while batch := await answer(stream.next):
            for stack, line, internal, shown in batch:
                if on_event is not None:
                    await called(on_event, FleetEvent(stack=stack, event=_events.parse(line, internal)))
                if on_output is not None:
                    for text in shown.splitlines():
                        await called(on_output, text)

    def _ipython_display_(self) -> None:
        """Shows the operation in a notebook, and goes on to do so while it runs."""
        from .._display import show_in_background

        show_in_background(self)

    def __repr__(self) -> str:
        return f"<FleetOperation on {len(self.operations)} stacks, {'done' if self.done else 'running'}>"


def start(
    engine: Engine,
    verb: Verb,
    runs: Sequence[StackRun | Stack],
    limits: Mapping[str, int | None],
    on_event: Callable[[FleetEvent], object] | None,
    on_output: Callable[[str], object] | None,
) -> FleetOperation:
    """Starts an operation on a set."""
    called_as = f"{verb}_all()"
    engine._require_open()
    require_given("runs", runs, (list, tuple), "a list of stacks or of StackRun")
    require_function("on_event", on_event)
    require_function("on_output", on_output)
    options = document_of_options(dict(limits))
    natives, parts = [], []
    for run in runs:
        run = run if isinstance(run, StackRun) else StackRun(run)
        native, part = run.stack._in_set(verb, run.depends_on, run.program, run.policies, run.options)
        natives.append(native)
        parts.append(part)
    kind = "update" if verb in ("up", "preview") else verb
    return FleetOperation(
        start_all(engine._native, kind, natives, options, called_as), parts, on_event, on_output, engine
    )
