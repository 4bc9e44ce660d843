"""Events: what happens during an operation, typed, in the order in which it happened.

Each event also has the JSON of the reference engine's event log, as :attr:`Event.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from .result import Outcome, Severity

__all__ = [
    "CancelEvent",
    "DiagnosticEvent",
    "Event",
    "OtherEvent",
    "PolicyEvent",
    "PolicyLoadEvent",
    "PolicyRemediationEvent",
    "PolicySummaryEvent",
    "PreludeEvent",
    "ResourceFailedEvent",
    "ResourceOutputsEvent",
    "ResourcePreEvent",
    "StateMetadata",
    "StdoutEvent",
    "StepMetadata",
    "SummaryEvent",
]


@dataclass(frozen=True, slots=True)
class StateMetadata:
    """A resource's state as events show it; secrets are blinded."""

    urn: str
    type: str
    id: str
    parent: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    custom: bool = False
    protect: bool = False


@dataclass(frozen=True, slots=True)
class StepMetadata:
    """A step with the states before and after."""

    op: str
    urn: str
    type: str
    provider: str
    keys: tuple[str, ...]
    diffs: tuple[str, ...]
    detailed_diff: Mapping[str, Any] | None
    logical: bool
    old: StateMetadata | None
    new: StateMetadata | None


@dataclass(frozen=True, slots=True)
class Event:
    """One event, with its place in the operation's sequence."""

    sequence: int
    timestamp: int
    """Seconds since 1970."""
    internal: bool
    """True for what people did not ask for: default providers, hidden refreshes."""
    line: str
    """The event as one line of the event log."""

    @property
    def json(self) -> dict[str, Any]:
        """The event in the form of the event log."""
        parsed: dict[str, Any] = json.loads(self.line)
        return parsed


@dataclass(frozen=True, slots=True)
class PreludeEvent(Event):
    """The operation begins with this configuration."""

    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ResourcePreEvent(Event):
    """A step is about to run."""

    metadata: StepMetadata
    planning: bool


@dataclass(frozen=True, slots=True)
class ResourceOutputsEvent(Event):
    """A step has run; its outputs are known."""

    metadata: StepMetadata
    planning: bool


@dataclass(frozen=True, slots=True)
class ResourceFailedEvent(Event):
    """A step has failed."""

    metadata: StepMetadata
    status: int
    steps: int


@dataclass(frozen=True, slots=True)
class DiagnosticEvent(Event):
    """Somebody says something."""

    severity: Severity
    message: str
    """The text, with a newline at its end."""
    urn: str | None
    ephemeral: bool


@dataclass(frozen=True, slots=True)
class StdoutEvent(Event):
    """The program wrote to its standard output."""

    message: str


@dataclass(frozen=True, slots=True)
class SummaryEvent(Event):
    """The work is over."""

    maybe_corrupt: bool
    duration_seconds: int
    resource_changes: Mapping[str, int]
    is_preview: bool
    result: Outcome
    policy_packs: Mapping[str, str]
    """The policy packs that were asked: by name, the version, or ``(local)`` for a pack of the user's."""


@dataclass(frozen=True, slots=True)
class PolicyLoadEvent(Event):
    """Policy packs are being loaded."""


@dataclass(frozen=True, slots=True)
class PolicyEvent(Event):
    """A policy is violated."""

    urn: str
    """The resource; that of the stack where the policy is about all of them."""
    policy: str
    pack: str
    pack_version: str
    message: str
    """The policy's own words, with a newline at their end."""
    level: Literal["advisory", "mandatory"]
    """A violation of an advisory policy is only told, one of a mandatory policy fails the operation."""
    severity: Literal["low", "medium", "high", "critical"] | None


@dataclass(frozen=True, slots=True)
class PolicyRemediationEvent(Event):
    """A policy has rewritten the inputs of a resource."""

    urn: str
    policy: str
    pack: str
    pack_version: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PolicySummaryEvent(Event):
    """A policy pack has answered."""

    question: Literal["remediate", "analyze", "analyze_stack"]
    """Whether it would rewrite the inputs of a resource, what it thinks of it, or of the whole stack."""
    urn: str | None
    """The resource; ``None`` for the whole stack."""
    pack: str
    pack_version: str
    passed: tuple[str, ...]
    """Policies that found nothing."""
    failed: tuple[str, ...]
    """Policies that found something."""


_QUESTIONS: Final[Mapping[str, Literal["remediate", "analyze", "analyze_stack"]]] = {
    "policyRemediateSummaryEvent": "remediate",
    "policyAnalyzeSummaryEvent": "analyze",
    "policyAnalyzeStackSummaryEvent": "analyze_stack",
}


@dataclass(frozen=True, slots=True)
class CancelEvent(Event):
    """The stream ends; always the last event."""


@dataclass(frozen=True, slots=True)
class OtherEvent(Event):
    """An event of a kind that this version has no class for; see :attr:`json`."""


def _state(value: Any) -> StateMetadata | None:
    if not value:
        return None
    return StateMetadata(
        urn=value.get("urn", ""),
        type=value.get("type", ""),
        id=value.get("id", ""),
        parent=value.get("parent", ""),
        inputs=value.get("inputs") or {},
        outputs=value.get("outputs") or {},
        custom=value.get("custom", False),
        protect=value.get("protect", False),
    )


def _step(value: Any) -> StepMetadata:
    return StepMetadata(
        op=value["op"],
        urn=value["urn"],
        type=value["type"],
        provider=value.get("provider", ""),
        keys=tuple(value.get("keys") or ()),
        diffs=tuple(value.get("diffs") or ()),
        detailed_diff=value.get("detailedDiff"),
        logical=value.get("logical", False),
        old=_state(value.get("old")),
        new=_state(value.get("new")),
    )


def parse(line: str, internal: bool) -> Event:
    """Makes a typed event of a line of the event log."""
    value = json.loads(line)
    common = (value["sequence"], value["timestamp"], internal, line)
    if (body := value.get("resourcePreEvent")) is not None:
        return ResourcePreEvent(*common, _step(body["metadata"]), body.get("planning", False))
    if (body := value.get("resOutputsEvent")) is not None:
        return ResourceOutputsEvent(*common, _step(body["metadata"]), body.get("planning", False))
    if (body := value.get("resOpFailedEvent")) is not None:
        return ResourceFailedEvent(*common, _step(body["metadata"]), body["status"], body["steps"])
    if (body := value.get("diagnosticEvent")) is not None:
        return DiagnosticEvent(
            *common, body["severity"], body["message"], body.get("urn"), body.get("ephemeral", False)
        )
    if (body := value.get("preludeEvent")) is not None:
        return PreludeEvent(*common, body.get("config") or {})
    if (body := value.get("stdoutEvent")) is not None:
        return StdoutEvent(*common, body["message"])
    if (body := value.get("summaryEvent")) is not None:
        return SummaryEvent(
            *common,
            body["maybeCorrupt"],
            body["durationSeconds"],
            body["resourceChanges"],
            body.get("isPreview", False),
            body["result"],
            body.get("PolicyPacks") or {},
        )
    if value.get("cancelEvent") is not None:
        return CancelEvent(*common)
    return _policy(value, common) or OtherEvent(*common)


def _policy(value: Mapping[str, Any], common: tuple[int, int, bool, str]) -> Event | None:
    if (body := value.get("policyEvent")) is not None:
        return PolicyEvent(
            *common,
            body["resourceUrn"],
            body["policyName"],
            body["policyPackName"],
            body["policyPackVersion"],
            body["message"],
            body["enforcementLevel"],
            body.get("severity"),
        )
    if (body := value.get("policyRemediationEvent")) is not None:
        return PolicyRemediationEvent(
            *common,
            body["resourceUrn"],
            body["policyName"],
            body["policyPackName"],
            body["policyPackVersion"],
            body.get("before") or {},
            body.get("after") or {},
        )
    for member, question in _QUESTIONS.items():
        if (body := value.get(member)) is not None:
            return PolicySummaryEvent(
                *common,
                question,
                body.get("resourceUrn"),
                body["policyPackName"],
                body["policyPackVersion"],
                tuple(body.get("passed") or ()),
                tuple(body.get("failed") or ()),
            )
    return PolicyLoadEvent(*common) if value.get("policyLoadEvent") is not None else None
