"""Events as typed values: those of the reference engine's logs, and the resource and step that each is about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import stackwright as sw
from stackwright import events

LOGS = sorted((Path(__file__).parents[2] / "core/tests/fixtures/events").glob("*.jsonl"))


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_every_line_of_the_reference_logs_has_a_class(log: Path) -> None:
    for line in log.read_text().splitlines():
        event = events.parse(line, False)
        assert not isinstance(event, sw.OtherEvent) and event.json == json.loads(line)
        if isinstance(event, (sw.ResourcePreEvent, sw.ResourceOutputsEvent, sw.ResourceFailedEvent)):
            step = event.json[next(reversed(event.json))]["metadata"]
            assert (event.urn, event.op) == (event.metadata.urn, event.metadata.op) == (step["urn"], step["op"])
            assert (event.metadata.old is None) == (step["old"] is None)
        else:
            assert event.op is None


def test_an_event_about_a_resource_has_its_urn() -> None:
    violation = {
        "resourceUrn": "urn:x", "message": "no\n", "color": "never", "policyName": "p", "policyPackName": "k",
        "policyPackVersion": "1", "policyPackVersionTag": "1", "enforcementLevel": "mandatory",
    }
    event = events.parse(json.dumps({"sequence": 1, "timestamp": 2, "policyEvent": violation}), False)
    assert isinstance(event, sw.PolicyEvent)
    assert (event.urn, event.op, event.resource_urn, event.enforcement_level) == ("urn:x", None, "urn:x", "mandatory")
    assert event.severity is None and event.policy_pack_name == "k"
    later = events.parse('{"sequence": 1, "timestamp": 2, "laterEvent": {}}', False)
    assert isinstance(later, sw.OtherEvent) and later.urn is None
