"""What an operation came to: outcome, counts, outputs, steps and diagnostics; printing it shows a tree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ._results import DiffKind, Diagnostic, DroppedOperation, ImportCode, ImportedResource, ImportReport, MovedResource, Outcome, PropertyChange, Severity, Step, StepOp, StepStatus, SuggestedMove
from ._stackwright import OperationOutcome
from .picture import Picture
from .values import OutputValue, PropertyValue

__all__ = ["Diagnostic", "DiffKind", "ImportCode", "ImportReport", "ImportedResource", "MovedResource", "Outcome", "PropertyChange", "Result", "Severity", "Step", "StepOp", "StepStatus", "SuggestedMove"]


class Result:
    """What an operation came to. ``print(result)`` shows a tree of the steps; a notebook shows it as a picture."""

    __slots__ = ("_diagnostics", "_imported", "_moves", "_native", "_steps", "changes", "duration", "error", "is_preview", "outcome", "outputs", "stack")

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
        self.outputs: Final[Mapping[str, OutputValue[PropertyValue]]] = native.outputs
        """The stack's outputs by name."""
        self.duration: Final[float] = native.duration
        """How long it took, in seconds."""
        self.error: Final[BaseException | None] = native.error
        """Why it failed. What a program or a provider of the host raised is its cause (``__cause__``)."""
        # Of many thousand steps an object each is only made when they are read.
        self._steps: tuple[Step, ...] | None = None
        self._diagnostics: tuple[Diagnostic, ...] | None = None
        self._imported: ImportReport | None = None
        self._moves: tuple[SuggestedMove, ...] | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was done, or would be, and what failed, in its order; what stays the same is left out."""
        if self._steps is None:
            self._steps = tuple(
                Step(**{**step, "changes": tuple(PropertyChange(**change) for change in step["changes"])})
                for step in self._native.steps
            )
        return self._steps

    @property
    def suggested_moves(self) -> tuple[SuggestedMove, ...]:
        """The moves that were applied, and those that a preview of an update suggests, the most probable ones first.

        ``stack.up(accept_moves=True)``, or a list of them in the place of ``True``, applies them.
        """
        if self._moves is None:
            self._moves = tuple(
                SuggestedMove(**{**move, "following": tuple(MovedResource(**moved) for moved in move["following"])})
                for move in self._native.suggested_moves
            )
        return self._moves

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The messages of the engine, the providers and the program."""
        if self._diagnostics is None:
            self._diagnostics = tuple(Diagnostic(**members) for members in self._native.diagnostics)
        return self._diagnostics

    @property
    def dropped_pending(self) -> tuple[DroppedOperation, ...]:
        """The pending operations of an earlier run that were dropped from the state without being resolved: no step has worked
        on their resources. An operation that succeeds drops all but creations, as the reference engine does."""
        return tuple(DroppedOperation(**members) for members in self._native.dropped_pending)

    @property
    def plan(self) -> dict[str, Any] | None:
        """The plan as a document, where ``generate_plan=True`` asked for one; secrets in it are encrypted.

        Saved as JSON, it can hold an update of another process: ``stack.up(json.load(file))``. An update of this process
        is held by the result itself, ``stack.up(result)``, and needs no document.
        """
        document = self._native.plan_document
        return None if document is None else json.loads(document)

    @property
    def imported(self) -> ImportReport | None:
        """What has become of the resources of an import, with programs that declare them; ``None`` for other operations.

        ``configuration`` has the secrets that the programs read: it can be the ``config`` of a stack.
        """
        if self._imported is None and (report := self._native.imported) is not None:
            values = report["values"]
            pairs = zip(report["resources"], values["resources"], strict=True)
            self._imported = ImportReport(
                resources=tuple(ImportedResource(**resource, **own) for resource, own in pairs),
                code=ImportCode(**report["code"]),
                configuration=values["configuration"],
            )
        return self._imported

    def deployment(self) -> dict[str, Any] | None:
        """Returns the state that the operation left, also one that failed or was cancelled, as a deployment document,
        which :meth:`~stackwright.Stack.import_deployment` and ``deployment`` of :meth:`stackwright.Engine.stack` take; secrets in it are encrypted.

        It is written at each call. ``None`` for a preview, and for an operation that failed before it read the state, or so
        that it is not known what is saved of it.

        :raises SecretsError: The operation could not encrypt what it was to save.
        """
        document = self._native.deployment()
        return None if document is None else json.loads(document)

    @property
    def is_recorded(self) -> bool:
        """Whether an operation with the same ``run_id`` had ended before: counts and outputs are the recorded ones, and there are no
        steps."""
        return self._native.is_recorded

    @property
    def unfinished_reads(self) -> tuple[str, ...]:
        """The stacks of the option ``unfinished_stacks`` that the program has tried to read."""
        return tuple(self._native.unfinished_reads)

    @property
    def has_changes(self) -> bool:
        """Whether anything was changed, or would be: a resource, or the stack's outputs."""
        return self._native.has_changes

    def picture(self) -> Picture:
        """Returns the resources with what was done, or would be, to be drawn. After an operation that failed before it read the state, the
        picture is empty."""
        return Picture(self._native.picture())

    def to_html(self) -> str:
        """Returns the picture as one HTML page; see :meth:`Picture.to_html`."""
        return self.picture().to_html()

    def to_mermaid(self) -> str:
        """Returns the picture as a flowchart of Mermaid."""
        return self.picture().to_mermaid()

    def to_dot(self) -> str:
        """Returns the picture as a digraph of Graphviz."""
        return self.picture().to_dot()

    def tree(self) -> str:
        """Returns the steps as a tree for display."""
        return self._native.tree()

    def __str__(self) -> str:
        return self.tree()

    def __repr__(self) -> str:
        return f"<{'preview' if self.is_preview else 'operation'} {self.outcome}: {dict(self.changes)}>"

    def _repr_html_(self) -> str:
        return f"{_coloured(self.tree())}<details><summary>Graph</summary>{self.picture()._repr_html_()}</details>"


_COLOURS: Final = {"+": "#1a7f37", "~": "#9a6700", "-": "#cf222e", "!": "#cf222e"}


def _coloured(tree: str) -> str:
    """Returns the tree as HTML, each line in the colour of what happens in it."""
    # Not needed outside of notebooks.
    import html

    lines = []
    for line in tree.splitlines():
        # The lines of properties stand behind the line that leads to the next resource.
        mark = line.lstrip(" │")[:2]
        colour = _COLOURS["~"] if mark == "+-" else _COLOURS.get(mark[:1])
        text = html.escape(line) or "&nbsp;"
        lines.append(f'<span style="color:{colour}">{text}</span>' if colour else text)
    return '<pre style="line-height:1.35">' + "\n".join(lines) + "</pre>"
