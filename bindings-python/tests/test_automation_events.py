"""The events of operations over the Automation API, as objects of the SDK's classes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pulumi
import pytest
import stackwright as sw
from stackwright import automation as auto

from automation_support import Open, Thing, open_stack
from conftest import MakeEngine, Memory

OPERATIONS = {
    "same": auto.OpType.SAME,
    "create": auto.OpType.CREATE,
    "update": auto.OpType.UPDATE,
    "delete": auto.OpType.DELETE,
    "replace": auto.OpType.REPLACE,
    "create-replacement": auto.OpType.CREATE_REPLACEMENT,
    "delete-replaced": auto.OpType.DELETE_REPLACED,
    "read": auto.OpType.READ,
    "read-replacement": auto.OpType.READ_REPLACEMENT,
    "refresh": auto.OpType.REFRESH,
    "discard": auto.OpType.DISCARD,
    "discard-replaced": auto.OpType.DISCARD_REPLACED,
    "remove-pending-replace": auto.OpType.REMOVE_PENDING_REPLACE,
    "import": auto.OpType.IMPORT,
    "import-replacement": auto.OpType.IMPORT_REPLACEMENT,
}


KINDS: dict[tuple[str, bool], Any] = {
    ("add", False): "add",
    ("add", True): "add-replace",
    ("delete", False): "delete",
    ("delete", True): "delete-replace",
    ("update", False): "update",
    ("update", True): "update-replace",
}
"""The kinds of differences, by what a property does and whether that replaces the resource."""


class Strict(Memory):
    """Replaces resources when ``kind`` changes, reports each change in detail, and fails for inputs with ``bad``."""

    def diff(self, request: sw.DiffRequest) -> sw.DiffResult:
        self.note("diff", request.name)
        old, new = request.old_inputs, request.inputs
        changed = sorted({key for key in {*old, *new} if old.get(key) != new.get(key)})
        replaced = [key for key in changed if key == "kind"]
        detailed: dict[str, Any] = {}
        for key in changed:
            kind = "add" if key not in old else "delete" if key not in new else "update"
            detailed[key] = sw.PropertyDiff(KINDS[kind, key in replaced], input_diff=True)
        return sw.DiffResult(
            changes=bool(changed), diffs=changed, replaces=replaced, detailed=detailed, delete_before_replace=True
        )

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if "bad" in request.inputs:
            raise OSError("the disk is full")
        return super().create(request)


@pytest.fixture
def memory() -> Memory:
    return Strict()


def only(name: str, inputs: dict[str, Any]) -> None:
    Thing(name, inputs)


def collected(stack: auto.Stack, program: auto.PulumiFn) -> list[auto.EngineEvent]:
    events: list[auto.EngineEvent] = []
    stack.up(program=program, on_event=events.append)
    return events


def steps(events: list[auto.EngineEvent]) -> Iterator[auto.StepEventMetadata]:
    for event in events:
        if event.resource_pre_event is not None:
            metadata: auto.StepEventMetadata = event.resource_pre_event.metadata
            if metadata.type == "mem:index:Thing":
                yield metadata


def test_the_events_of_steps_have_the_states_before_and_after(open_stack: Open) -> None:
    def program() -> None:
        owner = pulumi.ComponentResource("shop:index:Site", "site")
        options = pulumi.ResourceOptions(parent=owner, protect=True, retain_on_delete=True)
        Thing("thing", {"size": 1}, options)

    stack = open_stack(program=program)
    events = collected(stack, program)
    (metadata,) = steps(events)
    assert metadata.op is auto.OpType.CREATE and metadata.old is None and metadata.logical
    assert metadata.urn.endswith("::thing") and not metadata.keys and not metadata.diffs and not metadata.detailed_diff
    assert metadata.provider.startswith("urn:pulumi:dev::shop::pulumi:providers:mem::default")
    outputs = [event.res_outputs_event for event in events if event.res_outputs_event is not None]
    (done,) = [event for event in outputs if event.metadata.type == "mem:index:Thing"]
    state = done.metadata.new
    assert state is not None and done.planning is not True
    assert (state.type, state.urn, state.custom) == ("mem:index:Thing", metadata.urn, True)
    assert state.id == "thing-1" and state.parent.endswith("::site") and state.provider == metadata.provider
    assert state.inputs == {"size": 1} and state.outputs == {"size": 1, "made": True}
    assert state.protect and state.retain_on_delete and not state.delete and not state.taint and not state.init_errors
    previewed: list[auto.EngineEvent] = []
    stack.preview(on_event=previewed.append)
    planned = [event.resource_pre_event for event in previewed if event.resource_pre_event is not None]
    assert planned and all(event.planning for event in planned)


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ({"size": 1}, {"size": 2}, {"size": auto.DiffKind.UPDATE}),
        ({}, {"size": 2}, {"size": auto.DiffKind.ADD}),
        ({"size": 1}, {}, {"size": auto.DiffKind.DELETE}),
        ({"kind": "a"}, {"kind": "b"}, {"kind": auto.DiffKind.UPDATE_REPLACE}),
        ({}, {"kind": "b"}, {"kind": auto.DiffKind.ADD_REPLACE}),
        ({"kind": "a"}, {}, {"kind": auto.DiffKind.DELETE_REPLACE}),
    ],
)
def test_the_differences_of_properties_have_their_kinds(
    open_stack: Open, before: dict[str, object], after: dict[str, object], kinds: dict[str, auto.DiffKind]
) -> None:
    stack = open_stack()
    stack.up(program=lambda: only("thing", before))
    found = list(steps(collected(stack, lambda: only("thing", after))))
    differing = next(metadata for metadata in found if metadata.detailed_diff)
    assert {path: diff.diff_kind for path, diff in (differing.detailed_diff or {}).items()} == kinds
    assert all(diff.input_diff for diff in (differing.detailed_diff or {}).values())
    assert differing.diffs == list(kinds)
    replaces = [name for name in kinds if name == "kind"]
    assert (differing.keys or []) == replaces
    if not replaces:
        assert differing.old is not None and differing.new is not None
        assert (differing.old.inputs, differing.new.inputs) == (before, after)


def test_the_operations_of_steps_are_members_of_the_enumeration(open_stack: Open, memory: Memory) -> None:
    memory.things["read-1"] = {"size": 3}
    memory.things["mine-1"] = {"size": 1}
    stack = open_stack()
    seen: set[auto.OpType] = set()

    def program(kind: str, size: int, extra: bool) -> auto.PulumiFn:
        def run() -> None:
            Thing("same", {})
            Thing("replaced", {"kind": kind})
            Thing("updated", {"size": size})
            if extra:
                Thing("deleted", {})
                Thing("read", {}, pulumi.ResourceOptions(id="read-1"))
            Thing("mine", {"size": 1}, pulumi.ResourceOptions(import_="mine-1"))

        return run

    for events in (
        collected(stack, program("a", 1, True)),
        collected(stack, program("b", 2, False)),
    ):
        seen |= {metadata.op for metadata in steps(events)}
    refreshed: list[auto.EngineEvent] = []
    stack.refresh(on_event=refreshed.append)
    seen |= {metadata.op for metadata in steps(refreshed)}
    assert {auto.OpType.SAME, auto.OpType.CREATE, auto.OpType.UPDATE, auto.OpType.DELETE} <= seen
    assert {auto.OpType.CREATE_REPLACEMENT, auto.OpType.DELETE_REPLACED, auto.OpType.REPLACE} <= seen
    assert {auto.OpType.IMPORT, auto.OpType.READ, auto.OpType.REFRESH} <= seen
    # Each is what a document has as a text, those included that no step above has.
    assert {name: auto.OpType(name) for name in OPERATIONS} == OPERATIONS and set(OPERATIONS.values()) == set(auto.OpType)


def test_messages_are_events(open_stack: Open) -> None:
    def program() -> None:
        thing = Thing("thing", {})
        pulumi.log.warn("take care", thing)
        pulumi.log.info("a line", ephemeral=True, stream_id=7)

    events: list[auto.EngineEvent] = []
    stack = open_stack()
    stack.set_config("size", auto.ConfigValue("3"))
    stack.set_config("password", auto.ConfigValue("hush", secret=True))
    stack.up(program=program, on_event=events.append)
    messages = [event.diagnostic_event for event in events if event.diagnostic_event is not None]
    (warning,) = [message for message in messages if message.severity == "warning"]
    assert "take care" in warning.message and (warning.urn or "").endswith("::thing")
    assert warning.color == "never" and "warning" in (warning.prefix or "")
    (line,) = [message for message in messages if "a line" in message.message]
    # The SDK looks for another name of the stream than documents have.
    assert line.severity == "info" and line.ephemeral and line.stream_id is None
    prelude = events[0].prelude_event
    assert prelude is not None and prelude.config == {"shop:size": "3", "shop:password": "[secret]"}
    (summary,) = [event.summary_event for event in events if event.summary_event is not None]
    assert not summary.maybe_corrupt and summary.duration_seconds >= 0
    assert summary.resource_changes == {auto.OpType.CREATE: 2} and not summary.policy_packs
    assert isinstance(events[-1].cancel_event, auto.CancelEvent)
    assert all(isinstance(event.timestamp, int) and event.timestamp > 0 for event in events)


def test_a_step_that_fails_is_an_event(open_stack: Open) -> None:
    events: list[auto.EngineEvent] = []
    with pytest.raises(auto.CommandError, match="the disk is full"):
        open_stack().up(program=lambda: only("bad", {"bad": True}), on_event=events.append)
    (failed,) = [event.res_op_failed_event for event in events if event.res_op_failed_event is not None]
    assert failed.metadata.op is auto.OpType.CREATE and failed.metadata.urn.endswith("::bad")
    assert failed.status == 0 and failed.steps == 3


def test_the_document_of_a_preview_is_an_event_of_text(open_stack: Open) -> None:
    events: list[auto.EngineEvent] = []
    open_stack().preview(on_event=events.append)
    texts = [event.stdout_event for event in events if event.stdout_event is not None]
    assert all(text.message and text.color for text in texts)
    # No operation of this engine waits for a debugger.
    assert not [event for event in events if event.start_debugging_event is not None]


def test_an_error_of_on_event_is_a_warning_and_neither_ends_the_operation_nor_keeps_later_events_back(open_stack: Open) -> None:
    events: list[auto.EngineEvent] = []

    def listener(event: auto.EngineEvent) -> None:
        events.append(event)
        raise ValueError("the listener is out of paper")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = open_stack().up(program=lambda: only("thing", {}), on_event=listener)
    assert result.summary.result == "succeeded" and result.summary.resource_changes == {"create": 2}
    assert [event.sequence for event in events] == list(range(len(events)))
    assert events[-1].cancel_event is not None
    texts = [str(warning.message) for warning in caught]
    assert sum("the listener is out of paper" in text for text in texts) == len(events)
