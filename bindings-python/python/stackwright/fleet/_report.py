"""Reports: what the stacks of a set came to on an executor. They can be pickled, and hold no secret value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from .._record import field, record
from .._results import Diagnostic, Step
from ..values import OutputValue, PropertyValue

__all__ = ["FleetReport", "StackOutcome", "StackReport"]

StackOutcome = Literal["succeeded", "failed", "canceled", "skipped", "unknown"]
"""How a stack ended. ``skipped`` did not begin; of ``unknown`` it is not known, because what ran it was lost."""


@record(frozen=True, slots=True, kw_only=True)
class StackReport:
    """What one stack of a set came to on an executor."""

    stack: str
    """The name, as ``project/stack``."""
    outcome: StackOutcome
    """How it ended."""
    run_id: str = ""
    """The id of its run, which its history has."""
    error: BaseException | None = None
    """Why it did not succeed."""
    changes: Mapping[str, int] = field(default_factory=dict)
    """How many resources each kind of step was applied to."""
    outputs: Mapping[str, OutputValue[PropertyValue]] = field(default_factory=dict)
    """The stack's outputs by name. The values of secret ones are left out: they are ``None``."""
    steps: Sequence[Step] = ()
    """What was done, or would be, and what failed; see :attr:`stackwright.Result.steps`."""
    diagnostics: Sequence[Diagnostic] = ()
    """The messages of the engine, the providers and the program."""
    duration: float = 0.0
    """How long the operation took, in seconds."""
    worker: str = ""
    """The host and the number of the process that ran it."""
    attempts: int = 0
    """How often it was submitted: more than once where what ran it was lost, or its program had read an unfinished stack."""
    is_recorded: bool = False
    """Whether the run had ended before it was submitted again: counts and outputs are the recorded ones, and there are no steps."""
    text: str = ""
    """The steps as a tree for display."""

    def tree(self) -> str:
        """Returns the steps as a tree for display."""
        return self.text


class FleetReport:
    """What a set of stacks came to on an executor. ``print(report)`` shows a tree of the steps of each stack.

    It can be pickled. As ``resume`` of another call it makes that finish what this one has left.
    """

    def __init__(
        self,
        stacks: Mapping[str, StackReport],
        error: BaseException | None,
        was_cancelled: bool,
        duration: float,
        run_id: str,
        verb: Literal["up", "preview", "refresh", "destroy"],
        warnings: Sequence[str] = (),
    ) -> None:
        self.stacks: Final = stacks
        """What each stack came to by its name, in the order of the call."""
        self.error: Final = error
        """Why the set did not succeed; it names the stacks that did not. The error of the first of them is its cause (``__cause__``)."""
        self.duration: Final = duration
        """How long it took, in seconds."""
        self.run_id: Final = run_id
        """The id of the set, with which the ids of its runs begin."""
        self.verb: Final = verb
        """The operation: only the same one can finish it with ``resume``."""
        self.warnings: Final[Sequence[str]] = tuple(warnings)
        """What has failed beside the stacks: a listener or an event sink, the mark of a cancellation. No text has a secret value."""
        self.outcome: Final[Literal["succeeded", "failed", "canceled"]] = (
            "succeeded" if error is None else "canceled" if was_cancelled else "failed"
        )
        """How it ended."""
        changes: dict[str, int] = {}
        for report in stacks.values():
            for kind, count in report.changes.items():
                changes[kind] = changes.get(kind, 0) + count
        self.changes: Final[Mapping[str, int]] = changes
        """How many resources of all stacks each kind of step was applied to."""
        if error is not None:
            failed = (report.error for report in stacks.values() if report.outcome in ("failed", "unknown", "canceled"))
            error.__cause__ = next((cause for cause in failed if cause is not None), None)

    @property
    def skipped(self) -> tuple[str, ...]:
        """The names of the stacks that did not begin: one that they need did not succeed, or the set was cancelled."""
        return self._those("skipped")

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names of the stacks whose end is not known: each attempt to run one was lost. It may still run. A call with ``resume``
        finishes them."""
        return self._those("unknown")

    def _those(self, outcome: StackOutcome) -> tuple[str, ...]:
        return tuple(name for name, report in self.stacks.items() if report.outcome == outcome)

    def tree(self) -> str:
        """Returns what each stack came to, one after the other, for display."""
        lines = []
        for name, report in self.stacks.items():
            reason = f": {report.error}" if report.outcome in ("skipped", "unknown") else ""
            lines.append(f"{name}: {report.outcome}{reason}")
            lines += [f"    {line}".rstrip() for line in report.text.splitlines()]
        if self.error is not None:
            lines.append(str(self.error))
        else:
            lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.tree()

    def __repr__(self) -> str:
        return f"<operation on {len(self.stacks)} stacks {self.outcome}: {dict(self.changes)}>"
