"""The step journal, as a host receives it: every change of a stack's state, before the engine goes on."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Union, cast

from ._callback import Described, described
from ._record import record

__all__ = ["Journal", "JournalEntry", "Record"]

Kind = Literal["begin", "success", "failure", "outputs", "base-written", "base-rebuilt", "extension"]
Mark = Literal["delete", "pendingReplacement"]


@record(frozen=True, slots=True)
class Record:
    """A resource's state and its stable identity. The records of the base are numbered 0, 1, 2… in their order."""

    id: int
    state: Mapping[str, Any]
    """The state in the form of deployments; secrets as the ``b64`` secrets manager writes them: keep them safe."""


@record(frozen=True, slots=True)
class JournalEntry:
    """One entry. Each kind has its own fields; those of other kinds are empty.

    Every prefix of a journal, applied to the base that it began with, gives a valid snapshot.
    """

    sequence: int
    """Its place in the journal of this operation, from 0 on."""
    operation: int
    """The step that it belongs to: a beginning and its end have the same number."""
    kind: Kind
    """``begin`` comes before the provider is called; ``success`` or ``failure`` ends it."""
    op: str | None
    """What the step does: ``create``, ``update``, ``delete``, ``same``…"""
    result_op: str | None
    """What it came to, which differs from ``op`` for a refresh, for instance."""
    pending: str | None
    """``creating``, ``updating``, ``deleting``…: what becomes a pending operation if no end follows."""
    old: int | None
    """The record that the step starts from."""
    state: Mapping[str, Any] | None
    """The record as it is to become; of a skipped creation, what the program asked for and nothing records."""
    keys: tuple[str, ...]
    """The properties that force a replacement."""
    diffs: tuple[str, ...]
    """The properties that differ."""
    detailed_diff: Mapping[str, Mapping[str, Any]] | None
    removed: tuple[int, ...]
    """Records that are gone."""
    marked: tuple[tuple[int, Mark], ...]
    """Records that are to be deleted, or that have been and are to be made anew."""
    new: Record | None
    """The record that is there now."""
    in_place: bool
    """Whether ``new`` takes the place of the record with the same identity."""
    elided: bool
    """Whether the engine leaves the entry out of its own journal, as it changes nothing."""
    persisted_refresh: bool
    """Whether a refresh was asked for by the program's registration: the record stands at the end from now on."""
    deleted_by_refresh: bool
    """Whether a refresh found nothing: the record is gone."""
    untargeted: bool
    """Whether the record was left out by targets or excludes, and was taken over as it is."""
    skipped_create: bool
    """Whether the program asked for something (``state``) that this run does not make, and of which nothing is recorded."""
    view: bool
    """Whether it is a step on a view, which only the provider of its owner has worked on."""
    order: tuple[int, ...]
    """The identities of all records, in the order that they have from now on."""
    records: tuple[Record, ...]
    """The records of a new base, or those that were repaired."""
    pending_operations: tuple[tuple[str, Mapping[str, Any]], ...] | None
    """All pending operations of a state that an edit has replaced: the kind (``creating``, ``updating``…) and the resource of
    each; ``None`` when they are unchanged."""
    clear_pending: bool
    """Whether there are no pending operations any more."""
    extension_ref: str | None
    """The name of an extension in the ``extensionRef`` of later records."""
    extension: Mapping[str, str] | None
    """An extension that a provider has been given: ``name``, ``version``, and ``value`` in base64. It is to be kept with the state
    while records refer to it."""
    line: str
    """The entry as one line of JSON."""

    @property
    def json(self) -> dict[str, Any]:
        """The entry as a dictionary."""
        parsed: dict[str, Any] = json.loads(self.line)
        return parsed


Journal = Callable[[JournalEntry], Union[Awaitable[None], None]]
"""Receives a stack's journal: a function, ``async`` or not, that is given each entry in order, and has it safe when it
returns. The engine goes on only then. What it raises refuses the entry, and the operation ends with that error."""


def _record(value: Mapping[str, Any]) -> Record:
    return Record(value["id"], value["state"])


def parse(line: str) -> JournalEntry:
    """Makes an entry of its JSON text."""
    value = json.loads(line)
    old, new, pending = value.get("old"), value.get("new"), value.get("pendingOperations")
    return JournalEntry(
        sequence=value["sequence"],
        operation=value["operation"],
        kind=value["kind"],
        op=value.get("op"),
        result_op=value.get("resultOp"),
        pending=value.get("pending"),
        old=None if old is None else old["id"],
        state=value.get("state"),
        keys=tuple(value.get("keys") or ()),
        diffs=tuple(value.get("diffs") or ()),
        detailed_diff=value.get("detailedDiff"),
        removed=tuple(value.get("removed") or ()),
        marked=tuple((mark["id"], mark["mark"]) for mark in value.get("marked") or ()),
        new=None if new is None else _record(new),
        in_place=value.get("inPlace", False),
        elided=value.get("elided", False),
        persisted_refresh=value.get("persistedRefresh", False),
        deleted_by_refresh=value.get("deletedByRefresh", False),
        untargeted=value.get("untargeted", False),
        skipped_create=value.get("skippedCreate", False),
        view=value.get("view", False),
        order=tuple(value.get("order") or ()),
        records=tuple(_record(record) for record in value.get("records") or ()),
        pending_operations=None if pending is None else tuple((operation["kind"], operation["state"]) for operation in pending),
        clear_pending=value.get("clearPending", False),
        extension_ref=value.get("extensionRef"),
        extension=value.get("extension"),
        line=line,
    )


def describe(journal: Journal) -> Described:
    """Wraps a receiver so that it can be given texts."""
    return described("journal", cast("Callable[[JournalEntry], Any]", journal), parse)
