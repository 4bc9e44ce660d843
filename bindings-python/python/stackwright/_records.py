"""Recorded resources, pending operations and listed stacks, from the members that the engine gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypedDict

from ._results import CallMetrics, EditedRecord, EditReport, JournalMetrics, LastUpdate, LockHolder, LockMetrics, Metrics, MoveReport, OperationMetrics, PendingOperation, PluginProcessMetrics, RemovedReference, ResourceRecord, StackSummary, StoreMetrics
from .values import OutputValue

__all__ = ["HistoryEntry", "edit_report_of", "history_of", "metrics_of", "move_report_of", "pending_of", "record_of", "summaries_of"]


def _shown(members: Mapping[str, Any], names: tuple[str, ...], show_secrets: bool) -> dict[str, Any]:
    """Returns members whose output values have their secrets in text for display, where these are to be shown."""
    shown = dict(members)
    if show_secrets:
        for name in names:
            values: Mapping[str, OutputValue[Any]] = members[name]
            shown[name] = {key: value.shown() for key, value in values.items()}
    return shown


def record_of(members: Mapping[str, Any], show_secrets: bool = False) -> ResourceRecord:
    """Returns a record."""
    return ResourceRecord(**_shown(members, ("inputs", "outputs"), show_secrets))


def pending_of(members: Mapping[str, Any], show_secrets: bool = False) -> PendingOperation:
    """Returns a pending operation."""
    return PendingOperation(**_shown(members, ("inputs",), show_secrets))


def edit_report_of(text: bytes) -> EditReport:
    """Returns the report of an edit of a JSON document."""
    return _report_of(json.loads(text))


def move_report_of(text: bytes) -> MoveReport:
    """Returns the report of a move of resources of a JSON document."""
    document = json.loads(text)
    return MoveReport(
        source=_report_of(document["source"]),
        destination=_report_of(document["destination"]),
        text=document["text"],
    )


def _report_of(document: Mapping[str, Any]) -> EditReport:
    return EditReport(
        dry_run=document["dryRun"],
        records=tuple(_edited_of(record) for record in document["records"]),
        settings=document["settings"],
        warnings=tuple(document["warnings"]),
        text=document["text"],
    )


def _edited_of(record: Mapping[str, Any]) -> EditedRecord:
    return EditedRecord(
        kind=record["kind"],
        urn=record["urn"],
        former_urn=record["formerUrn"],
        fields=tuple(record["fields"]),
        removed_references=tuple(RemovedReference(**reference) for reference in record["removedReferences"]),
        pending_deletion=record["pendingDeletion"],
        pending_operation=record["pendingOperation"],
    )


def summaries_of(text: str) -> list[StackSummary]:
    """Returns the listed stacks of a JSON document."""
    return [_summary_of(document) for document in json.loads(text)]


def _summary_of(document: Mapping[str, Any]) -> StackSummary:
    update, lock = document["lastUpdate"], document["lock"]
    return StackSummary(
        name=document["name"],
        last_update=None if update is None else LastUpdate(**update),
        modified=document["modified"],
        lock=None if lock is None else LockHolder(is_running=lock.pop("isRunning"), **lock),
        resource_count=document["resourceCount"],
        problems=tuple(document["problems"]),
    )


def metrics_of(text: str) -> Metrics:
    """Returns what an engine has counted, of a JSON document."""
    document = json.loads(text)
    store, locks = document["store"], document["locks"]
    return Metrics(
        operations=tuple(
            OperationMetrics(is_preview=counts.pop("isPreview"), **counts) for counts in document["operations"]
        ),
        provider_calls={
            package: CallMetrics(in_flight=calls.pop("inFlight"), **calls)
            for package, calls in document["providerCalls"].items()
        },
        plugins=tuple(
            PluginProcessMetrics(resident_memory=process.pop("residentMemory"), **process) for process in document["plugins"]
        ),
        plugins_started=document["pluginsStarted"],
        journal=JournalMetrics(**document["journal"]),
        store=StoreMetrics(calls=store["calls"], failed=store["failed"]),
        locks=LockMetrics(**locks),
    )


class _Recorded(TypedDict):
    """What every entry of a history has."""

    kind: str
    """The operation: ``update``, ``refresh``, ``destroy``, ``import``, ``resource-import`` or ``rename``."""
    startTime: int
    """When it began, in seconds since 1970."""
    endTime: int
    """When it ended, likewise."""
    message: str
    """The message of its options."""
    environment: dict[str, str]
    """Facts about where it ran."""
    config: Any
    """The configuration in the form of the files of stacks; secrets are encrypted."""
    result: str
    """``succeeded``, ``failed`` or ``in-progress``."""
    version: int
    """The number by which :meth:`~stackwright.Stack.restore` takes the entry, counted from 1, the oldest."""


class HistoryEntry(_Recorded, total=False):
    """An entry of the history of a stack: a dictionary, with the names of the stored record."""

    resourceChanges: dict[str, int]
    """How many resources each kind of step was applied to; left out where that is not recorded."""


def history_of(texts: list[str]) -> list[HistoryEntry]:
    """Returns the entries of a history."""
    return [json.loads(text) for text in texts]
