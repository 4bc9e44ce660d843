"""What an operation came to: outcome, counts, outputs, steps and diagnostics; printing it shows a tree."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ._stackwright import OperationOutcome
from .values import PropertyValue

__all__ = ["Diagnostic", "Outcome", "PropertyChange", "Result", "Severity", "Step", "StepStatus"]

Outcome = Literal["succeeded", "failed", "canceled"]
Severity = Literal["debug", "info", "info#err", "warning", "error"]
StepStatus = Literal["planned", "succeeded", "refused", "failed", "partially_failed", "unknown"]


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """How one property of a resource changes that was there before."""

    path: str
    """The path of the property: ``tags.owner``, ``rules[0].port``."""
    kind: Literal["add", "add-replace", "delete", "delete-replace", "update", "update-replace"]
    old: PropertyValue = None
    """The value before, secrets masked; ``None`` where there was none, or where it is not known."""
    new: PropertyValue = None
    """The value after, likewise."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what was done to one resource, or would be."""

    op: str
    """What it does: ``create``, ``update``, ``delete``, ``same``, ``replace``, ``create-replacement``…"""
    urn: str
    type: str
    keys: tuple[str, ...] = ()
    """The properties that force a replacement."""
    diffs: tuple[str, ...] = ()
    """The properties that differ."""
    status: StepStatus = "succeeded"
    """How it ended: ``planned`` in a preview; ``refused`` where it was not tried (a failed check, a missing plugin, a duplicate
    URN, a policy), ``failed`` where nothing was changed, ``partially_failed`` where the resource exists all the same,
    ``unknown`` where it is not known what the step did: a pending operation stands for it in the state."""
    duration: float = 0.0
    """How long it took, in seconds."""
    error: BaseException | None = None
    """Why it failed."""
    changes: tuple[PropertyChange, ...] = ()
    """The properties that change in a resource that was there before, with their values."""

    @property
    def name(self) -> str:
        """The name of the resource."""
        return self.urn.split("::", 3)[3]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something that the engine, a provider or the program said."""

    severity: Severity
    message: str
    """The text for people."""
    urn: str | None = None
    reference_message: str = ""
    """The text that the reference engine gives such a message, for tools that match on it."""
    message_code: str | None = None
    """The stable name of the message, where it has one: ``target_not_found`` for instance."""
    message_arguments: Mapping[str, Any] | None = None
    """What a message with a code is about, by name."""


class Result:
    """What an operation came to. ``print(result)`` shows a tree of the steps; a notebook shows it as a picture."""

    __slots__ = ("_diagnostics", "_native", "_steps", "changes", "duration", "error", "is_preview", "outcome", "outputs", "stack")

    def __init__(self, native: OperationOutcome, is_preview: bool, stack: str) -> None:
        self._native = native
        self.stack: Final = stack
        """The name of the stack, as ``project/stack``."""
        self.is_preview: Final = is_preview
        self.outcome: Final[Outcome] = native.outcome
        """How it ended; ``canceled`` where the host cancelled it and it ended for that. The summary among the events counts as
        the reference engine does: there, one whose running calls were left to finish has ``failed``."""
        self.changes: Final[Mapping[str, int]] = native.changes
        """How many resources each kind of step was applied to."""
        self.outputs: Final[Mapping[str, PropertyValue]] = native.outputs
        """The stack's outputs; secret ones are :class:`~stackwright.Secret`."""
        self.duration: Final[float] = native.duration
        """How long it took, in seconds."""
        self.error: Final[BaseException | None] = native.error
        """Why it failed. What a program or a provider of the host raised is its cause (``__cause__``)."""
        # Of many thousand steps an object each is only made when somebody looks at them.
        self._steps: tuple[Step, ...] | None = None
        self._diagnostics: tuple[Diagnostic, ...] | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was done, or would be, and what failed, in its order; what stays the same is left out."""
        if self._steps is None:
            self._steps = tuple(
                Step(
                    op,
                    urn,
                    type_,
                    tuple(keys),
                    tuple(diffs),
                    status,
                    duration,
                    error,
                    tuple(PropertyChange(*change) for change in changes),
                )
                for op, urn, type_, keys, diffs, status, duration, error, changes in self._native.steps
            )
        return self._steps

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the engine, the providers and the program said."""
        if self._diagnostics is None:
            self._diagnostics = tuple(
                Diagnostic(severity, message, urn, reference, code, None if arguments is None else json.loads(arguments))
                for severity, message, urn, reference, code, arguments in self._native.diagnostics
            )
        return self._diagnostics

    @property
    def plan(self) -> dict[str, Any] | None:
        """The plan as a document, where ``generate_plan=True`` asked for one; secrets in it are encrypted.

        Saved as JSON, it can hold an update of another process: ``stack.up(json.load(file))``. An update of this process
        is held by the result itself, ``stack.up(result)``, and needs no document.
        """
        document = self._native.plan_document
        return None if document is None else json.loads(document)

    def deployment(self) -> dict[str, Any] | None:
        """Returns the state that the operation left, also one that failed or was cancelled, as a deployment document,
        which :meth:`~stackwright.Stack.import_deployment` and ``deployment`` of :meth:`stackwright.Engine.stack` take; secrets in it are encrypted.

        It is written at each call. ``None`` for a preview, and for an operation that failed before it read the state, or so
        that nobody knows what is saved of it.

        :raises SecretsError: The operation could not encrypt what it was to save.
        """
        document = self._native.deployment()
        return None if document is None else json.loads(document)

    @property
    def has_changes(self) -> bool:
        """Whether anything was changed, or would be: a resource, or the stack's outputs."""
        return self._native.has_changes

    def tree(self) -> str:
        """Returns the steps as a tree for people."""
        return self._native.tree()

    def __str__(self) -> str:
        return self.tree()

    def __repr__(self) -> str:
        return f"<{'preview' if self.is_preview else 'operation'} {self.outcome}: {dict(self.changes)}>"

    def _repr_html_(self) -> str:
        return _picture(self.tree())


_COLOURS: Final = {"+": "#1a7f37", "~": "#9a6700", "-": "#cf222e", "!": "#cf222e"}


def _picture(tree: str) -> str:
    """Returns the tree as HTML, each line in the colour of what happens in it."""
    lines = []
    for line in tree.splitlines():
        mark = line.lstrip()[:2]
        colour = _COLOURS["~"] if mark == "+-" else _COLOURS.get(mark[:1])
        text = html.escape(line) or "&nbsp;"
        lines.append(f'<span style="color:{colour}">{text}</span>' if colour else text)
    return '<pre style="line-height:1.35">' + "\n".join(lines) + "</pre>"
