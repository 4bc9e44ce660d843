"""Crashes: a run is killed at each of its moments, and the next one has to complete what it left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, Union

from .._annotations import Unpack
from .._record import record
from .._results import PendingOperation
from .._runner import Program
from ..errors import InvalidInputError, StackwrightError
from ..sync import Stack as SyncStack
from ._result import SimulatedResult
from ._settings import RunSettings, SimulationSettings, one_of, refuse_unknown, refuse_unrepeatable, require_program, split
from ._stack import SimulatedStack, simulate

__all__ = ["Crash", "CrashReport", "crash_everywhere"]

__tracebackhide__ = True

Recovery = Union[Literal["adopt"], Callable[[SimulatedStack], object], None]

_VERBS: Final = ("up", "destroy", "refresh")

_MAX_SHOWN: Final = 5
"""How many crashes with problems the text of an error lists."""


@record(frozen=True, slots=True)
class Crash:
    """A run that was killed."""

    moment: int
    """The number of the moment, from 0."""
    place: str
    """The moment: ``before the create of web (cloud:index:Machine)``, ``in the middle of appending to the journal``…"""
    problems: tuple[str, ...]
    """What was wrong after the next run; none when it has completed everything."""


@record(frozen=True, slots=True)
class CrashReport:
    """The crashes of :func:`crash_everywhere`."""

    crashes: tuple[Crash, ...]
    """The crashes, in the order of their moments."""

    def __len__(self) -> int:
        return len(self.crashes)


def crash_everywhere(
    program: Program,
    *,
    before: Program | None = None,
    verb: Literal["up", "destroy", "refresh"] = "up",
    recover: Recovery = "adopt",
    every: int = 1,
    **settings: Unpack[RunSettings],
) -> CrashReport:
    """Kills a run at each of its moments, and asserts that the next run completes it and nothing exists twice.

    The moments are before and after each call of a provider and each write of the store, and in the middle of appends to the journal. A
    killed run has no further effect; the next one has another engine on the same store. It has to succeed, to leave nothing to do, and
    to leave a world in which everything is recorded once. Of real providers, what they have created is compared with the records; what their
    things have become is not.

    :param program: The program that is killed.
    :param before: The program whose state it begins with: for updates, replacements and deletions. With ``verb="destroy"`` and
        ``"refresh"`` it is ``program`` when left out.
    :param verb: The operation that is killed.
    :param recover: What is done before the next run, as by an operator: ``"adopt"`` looks up what interrupted creations have made and
        records it (:meth:`~stackwright.Stack.adopt_pending`), or deletes it where the state has another one, or where a real provider cannot
        read it. A function gets the stack instead; ``None`` does nothing, and the next run creates such things again.
    :param every: Kills at every such moment only.
    :param settings: Those of :func:`simulate`, and options of the operation. ``parallel`` is 1 when left out.
    :raises AssertionError: that lists the moments after which something was wrong; for patterns that match nothing, and for a program
        that has something to do in a second run without a crash, too.
    :raises StackwrightError: that of a program which fails without a crash, too.
    :raises InvalidInputError: for ``every`` below 1, for another ``verb`` or ``recover``, and for the options ``dry_run`` and ``run_id``.
    """
    if not isinstance(every, int) or every < 1:
        raise InvalidInputError(f"every takes a whole number from 1 on, not {every!r}")
    one_of("verb", verb, _VERBS)
    if recover is not None and recover != "adopt" and not callable(recover):
        raise InvalidInputError(f"recover takes 'adopt', a function of the stack, or None, not {recover!r}")
    refuse_unknown("crash_everywhere", settings, _PARAMETERS)
    refuse_unrepeatable("crash_everywhere", settings)
    if before is not None:
        require_program("before", before)
    if program is not None or settings.get("project") is None:
        require_program("program", program)
    own, options = split(settings)
    options.setdefault("parallel", 1)
    allow_unmatched = own.pop("allow_unmatched", False)
    own["allow_unmatched"] = True
    first = before if before is not None or verb == "up" else program
    with _begun(first, program, own, options) as stack:
        _uncrashed("the program", lambda: getattr(stack, verb)(**options))
        if unstable := _unfinished(stack, verb, options):
            raise AssertionError(f"crash_everywhere() has killed no run, because a second run without a crash is not empty: {unstable}")
        if not allow_unmatched:
            stack._refuse_unmatched(options)
    crashes: list[Crash] = []
    moment = 0
    while True:
        with _begun(first, program, own, options) as stack:
            place = _kill(stack, verb, moment, options)
            if place is None:
                break
            stack.restart()
            crashes.append(Crash(moment, place, tuple(_problems(stack, verb, recover, options))))
        moment += every
    broken = [crash for crash in crashes if crash.problems]
    if broken:
        raise AssertionError(_text(broken, len(crashes)))
    return CrashReport(tuple(crashes))


_PARAMETERS: Final = (*SimulationSettings.__annotations__, "program", "before", "verb", "recover", "every")


def _begun(first: Program | None, program: Program, settings: dict[str, Any], options: dict[str, Any]) -> SimulatedStack:
    """Returns a stack in the state of the first program, with the program that is killed."""
    stack = simulate(program if first is None else first, run=False, **settings)
    if first is not None:
        _uncrashed("the program whose state it begins with", lambda: stack.up(**options))
    stack.program = program
    return stack


def _uncrashed(which: str, run: Callable[[], object]) -> None:
    """Runs an operation that is not killed. Its error has a text that names that."""
    try:
        run()
    except StackwrightError as error:
        error.message = f"crash_everywhere() has killed no run, because {which} fails without a crash: {error.message}"
        error.args = (error.message,)
        raise


def _kill(stack: SimulatedStack, verb: str, moment: int, options: dict[str, Any]) -> str | None:
    """Kills an operation at a moment, and returns its description; ``None`` when it has ended before."""
    # A stack that exists is opened without a write.
    stack.stack()
    stack._simulation.begin_run(moment)
    try:
        getattr(stack, verb)(check=False, **options)
    except StackwrightError:
        if stack.killed_at is None:
            raise
    return stack.killed_at


def _text(broken: list[Crash], count: int) -> str:
    lines = [f"after {len(broken)} of {count} crashes the next run did not complete what was left:"]
    for crash in broken[:_MAX_SHOWN]:
        lines.append(f"  killed {crash.place} (moment {crash.moment}):")
        lines.extend(f"    {problem}" for problem in crash.problems)
    if len(broken) > _MAX_SHOWN:
        lines.append(f"  and {len(broken) - _MAX_SHOWN} more")
    return "\n".join(lines)


def _problems(stack: SimulatedStack, verb: str, recover: Recovery, options: dict[str, Any]) -> list[str]:
    if recover == "adopt":
        _adopt(stack)
    elif recover is not None:
        recover(stack)
    completed = getattr(stack, verb)(check=False, **options)
    if completed.error is not None:
        return [f"it failed: {completed.error}"]
    unfinished = _unfinished(stack, verb, options)
    return [*stack.discrepancies(), *([unfinished] if unfinished else [])]


def _unfinished(stack: SimulatedStack, verb: str, options: dict[str, Any]) -> str | None:
    """Returns what an operation that has completed left to do; ``None`` when there is nothing."""
    again = _again(stack, verb, options)
    if again.error is not None:
        return f"the preview after it failed: {again.error}"
    if not again.has_changes:
        return None
    changes = ", ".join(f"{step.op} of {step.urn.split('::', 3)[3]}" for step in again.steps)
    return f"it left something to do: {changes or 'the outputs of the stack change'}"


def _again(stack: SimulatedStack, verb: str, options: dict[str, Any]) -> SimulatedResult:
    """Previews the operation once more: it has nothing left to do."""
    if verb == "up":
        return stack.preview(check=False, **options)
    if verb == "refresh":
        return stack.refresh(check=False, dry_run=True, **options)
    return stack.destroy(check=False, dry_run=True, **options)


def _adopt(stack: SimulatedStack) -> None:
    """Records what interrupted creations have made, and deletes it where the state has another one, or where it cannot be read."""
    opened = stack.stack()
    pending = [each for each in opened.pending() if each.kind == "creating"]
    if not pending:
        return
    records = opened.resources()
    recorded = {(each.type, each.id) for each in records}
    urns = {each.urn for each in records if not each.delete}
    for each in pending:
        made = [key for key in stack._simulation.existing_of(each.urn) if key not in recorded]
        if len(made) == 1 and each.urn not in urns and _adopted(opened, each, made[0][1]):
            continue
        for type, id in made:
            stack._simulation.remove(type, id)
        opened.forget_pending(each)


def _adopted(stack: SyncStack, pending: PendingOperation, id: str) -> bool:
    """Adopts what a creation has made. A real provider may have no method that reads it."""
    try:
        stack.adopt_pending(pending, id)
    except StackwrightError:
        return False
    return True
