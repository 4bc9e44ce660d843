"""Every option of the operations of stacks over the Automation API, and what they return."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi.automation._stack import ImportResource
from stackwright import automation as auto

from automation_support import Open, Thing, counts, open_stack, shop
from conftest import Memory

URN = "urn:pulumi:dev::shop::mem:index:Thing::"

NO_EFFECT = ["warning: --logflow", "warning: --logtostderr", "warning: --verbose"]
"""How the warnings of the options of logs begin."""


def chain() -> None:
    """Two resources, of which one depends on the other, and a third beside them."""
    size = Thing("size", {"size": pulumi.Config().get_int("size") or 1})
    Thing("after", {"made_first": size.made}, pulumi.ResourceOptions(depends_on=[size]))
    Thing("beside", {"size": pulumi.Config().get_int("size") or 1})
    pulumi.export("size", pulumi.Config().get("size"))


def warnings(stderr: str) -> list[str]:
    return [line.split(" has no effect")[0] for line in stderr.splitlines() if "has no effect" in line]


@pytest.fixture
def special(tmp_path: Path) -> str:
    """A settings file with another size."""
    file = tmp_path / "special.yaml"
    file.write_text('config:\n  shop:size: "7"\n')
    return str(file)


def changed(stack: auto.Stack, **options: Any) -> dict[str, int]:
    return counts(stack.up(**options).summary.resource_changes)


def test_previews_show_their_options_and_change_nothing(open_stack: Open, memory: Memory, special: str) -> None:
    stack = open_stack(program=chain)
    stack.up()
    before = stack.export_stack().deployment
    lines: list[str] = []
    errors: list[str] = []
    events: list[auto.EngineEvent] = []
    preview = stack.preview(
        message="look",
        parallel=1,
        color="never",
        log_flow=True,
        log_verbosity=3,
        log_to_std_err=True,
        debug=True,
        diff=True,
        suppress_outputs=True,
        suppress_progress=True,
        config_file=special,
        on_output=lines.append,
        on_error=errors.append,
        on_event=events.append,
    )
    # What depends on a resource that changes can change.
    assert counts(preview.change_summary) == {"same": 1, "update": 3}
    assert "size: 1 => 7" in preview.stdout and "Outputs:" not in preview.stdout
    assert lines == preview.stdout.split("\n") and errors == preview.stderr.splitlines()
    assert warnings(preview.stderr) == NO_EFFECT
    assert [event.sequence for event in events] == list(range(len(events)))
    assert stack.export_stack().deployment == before and memory.count("update") == 0


def test_previews_are_limited_to_resources(open_stack: Open, special: str) -> None:
    stack = open_stack(program=chain)
    stack.up()
    size, beside = f"{URN}size", f"{URN}beside"

    def summary(preview: auto.PreviewResult) -> dict[str, int]:
        return counts(preview.change_summary)

    assert summary(stack.preview(config_file=special, target=[size])) == {"same": 3, "update": 1}
    assert summary(stack.preview(config_file=special, target=[beside], target_dependents=True)) == {"same": 3, "update": 1}
    assert summary(stack.preview(config_file=special, exclude=[size])) == {"same": 3, "update": 1}
    assert summary(stack.preview(config_file=special, exclude=[size], exclude_dependents=True)) == {"same": 3, "update": 1}
    assert summary(stack.preview(replace=[beside])) == {"same": 3, "replace": 1}
    assert summary(stack.preview(expect_no_changes=True)) == {"same": 4}


def test_a_refresh_before_an_operation_finds_what_has_changed_outside(open_stack: Open, memory: Memory) -> None:
    stack = open_stack(program=chain)
    stack.up()
    memory.things = {name: thing for name, thing in memory.things.items() if not name.startswith("beside")}
    assert counts(stack.preview().change_summary) == {"same": 4}
    assert counts(stack.preview(refresh=True).change_summary)["create"] == 1
    assert counts(stack.preview(refresh=True, run_program=True).change_summary)["create"] == 1
    assert changed(stack) == {"same": 4}
    assert counts(stack.up(refresh=True).summary.resource_changes)["create"] == 1
    memory.things = {name: thing for name, thing in memory.things.items() if not name.startswith("beside")}
    assert counts(stack.up(refresh=True, run_program=True).summary.resource_changes)["create"] == 1
    memory.things = {name: thing for name, thing in memory.things.items() if not name.startswith("beside")}
    memory.calls.clear()
    stack.preview_destroy(refresh=True)
    assert memory.count("read") == 3 and memory.count("delete") == 0
    stack.destroy(refresh=True)
    assert memory.count("delete") == 2, "what the refresh did not find is not deleted"


def test_the_document_of_a_preview_is_json(open_stack: Open) -> None:
    stack = open_stack(program=chain)
    preview = stack.preview(json=True)
    assert {step["op"] for step in json.loads(preview.stdout)["steps"]} == {"create"}


def test_updates_have_every_option_of_the_display(open_stack: Open, special: str) -> None:
    stack = open_stack(program=chain)
    stack.up()
    errors: list[str] = []
    up = stack.up(
        message="sized",
        parallel=2,
        color="never",
        log_flow=True,
        log_verbosity=3,
        log_to_std_err=True,
        debug=True,
        diff=True,
        suppress_outputs=True,
        suppress_progress=True,
        config_file=special,
        continue_on_error=True,
        on_error=errors.append,
    )
    assert "size: 1 => 7" in up.stdout and "Outputs:" not in up.stdout and "updating" not in up.stdout
    assert warnings(up.stderr) == NO_EFFECT and errors == up.stderr.splitlines()
    summary = up.summary
    # States in folders have no version.
    assert (summary.kind, summary.message, summary.result, summary.version) == ("update", "sized", "succeeded", 0)
    assert counts(summary.resource_changes) == {"same": 2, "update": 2} and summary.Deployment is None
    assert isinstance(summary.start_time, datetime.datetime) and summary.end_time is not None
    assert summary.start_time <= summary.end_time and summary.environment["exec.kind"] == "auto.inline"


def test_updates_are_limited_with_and_without_dependents(open_stack: Open, memory: Memory, special: str) -> None:
    stack = open_stack(program=chain)
    stack.up()
    up = stack.up(config_file=special, exclude=[f"{URN}size"], exclude_dependents=True)
    assert counts(up.summary.resource_changes) == {"same": 3, "update": 1}
    up = stack.up(config_file=special, target=[f"{URN}size"], target_dependents=True)
    assert counts(up.summary.resource_changes) == {"same": 3, "update": 1}
    assert [name for method, name in memory.calls if method == "update"] == ["beside", "size"]


def test_secrets_of_the_configuration_are_shown_where_that_is_asked_for(open_stack: Open) -> None:
    stack = open_stack()
    stack.set_config("password", auto.ConfigValue("hush", secret=True))

    def shown(summary: auto.UpdateSummary | None) -> str | None:
        assert summary is not None
        return summary.config["shop:password"].value

    assert shown(stack.up().summary) == "hush"
    hidden = [
        stack.up(show_secrets=False).summary,
        stack.refresh(show_secrets=False).summary,
        stack.info(show_secrets=False),
        stack.history(show_secrets=False)[0],
        stack.rename("live").summary,
        stack.destroy(show_secrets=False).summary,
    ]
    assert {shown(summary) for summary in hidden} == {"[secret]"}
    assert shown(stack.rename("later", show_secrets=True).summary) == "hush"
    assert shown(stack.info()) == "hush"


def test_refreshes_have_every_option(open_stack: Open, memory: Memory, special: str) -> None:
    stack = open_stack(program=chain)
    stack.up()
    lines: list[str] = []
    errors: list[str] = []
    events: list[auto.EngineEvent] = []
    refresh = stack.refresh(
        message="looked",
        parallel=1,
        color="never",
        log_flow=True,
        log_verbosity=3,
        log_to_std_err=True,
        debug=True,
        diff=True,
        suppress_outputs=True,
        suppress_progress=True,
        config_file=special,
        expect_no_changes=True,
        clear_pending_creates=True,
        run_program=False,
        on_output=lines.append,
        on_error=errors.append,
        on_event=events.append,
    )
    assert (refresh.summary.kind, refresh.summary.message) == ("refresh", "looked")
    assert lines == refresh.stdout.split("\n") and errors == refresh.stderr.splitlines()
    assert warnings(refresh.stderr) == NO_EFFECT and events[-1].cancel_event is not None
    memory.things.clear()
    # The result of a refresh that is only a preview has the summary of the operation before.
    assert stack.refresh(preview_only=True).summary.message == "looked"
    limited = stack.refresh(target=[f"{URN}beside"], target_dependents=True)
    assert counts(limited.summary.resource_changes)["delete"] == 1
    limited = stack.refresh(exclude=[f"{URN}size"], exclude_dependents=True)
    assert counts(limited.summary.resource_changes).get("delete", 0) == 0
    with pytest.raises(auto.CommandError, match="no changes were expected"):
        stack.refresh(expect_no_changes=True)


def test_refreshes_run_the_program_where_that_is_asked_for(open_stack: Open) -> None:
    ran: list[str] = []

    def program() -> None:
        ran.append(pulumi.get_stack())

    stack = open_stack(program=program)
    stack.up()
    ran.clear()
    stack.refresh()
    stack.preview_refresh(run_program=False)
    assert not ran
    stack.refresh(run_program=True)
    stack.preview_refresh(run_program=True)
    stack.preview_destroy(run_program=True)
    stack.destroy(run_program=True)
    assert ran == ["dev"] * 4

    def other() -> None:
        ran.append("other")

    ran.clear()
    stack.refresh(program=other, run_program=True)
    stack.preview_refresh(program=other, run_program=True)
    stack.preview_destroy(program=other, run_program=True)
    stack.destroy(program=other, run_program=True)
    assert ran == ["other"] * 4


def test_previews_of_refreshes_have_every_option(open_stack: Open, memory: Memory, special: str) -> None:
    stack = open_stack(program=chain)
    stack.up()
    lines: list[str] = []
    errors: list[str] = []
    events: list[auto.EngineEvent] = []
    preview = stack.preview_refresh(
        message="look",
        parallel=1,
        color="never",
        log_flow=True,
        log_verbosity=3,
        log_to_std_err=True,
        debug=True,
        diff=True,
        suppress_outputs=True,
        suppress_progress=True,
        config_file=special,
        expect_no_changes=True,
        clear_pending_creates=True,
        on_output=lines.append,
        on_error=errors.append,
        on_event=events.append,
    )
    assert counts(preview.change_summary) == {"same": 4} and "Previewing refresh" in preview.stdout
    assert lines == preview.stdout.split("\n") and errors == preview.stderr.splitlines()
    assert warnings(preview.stderr) == NO_EFFECT and events[-1].cancel_event is not None
    memory.things.clear()
    assert counts(stack.preview_refresh(target=[f"{URN}beside"], target_dependents=True).change_summary)["delete"] == 1
    assert counts(stack.preview_refresh(exclude=[f"{URN}size"], exclude_dependents=True).change_summary)["delete"] == 1
    assert counts(stack.preview_refresh(show_secrets=False).change_summary)["delete"] == 3
    assert [row.kind for row in stack.history()] == ["update"]


def test_destroys_have_every_option(open_stack: Open, memory: Memory, special: str) -> None:
    stack = open_stack(program=chain)
    stack.up()
    lines: list[str] = []
    errors: list[str] = []
    events: list[auto.EngineEvent] = []
    # The result of a destroy that is only a preview has the summary of the operation before.
    assert stack.destroy(preview_only=True).summary.kind == "update" and memory.count("delete") == 0
    limited = stack.destroy(target=[f"{URN}size"], target_dependents=True)
    assert counts(limited.summary.resource_changes)["delete"] == 2 and memory.count("delete") == 2
    destroyed = stack.destroy(
        message="gone",
        parallel=1,
        color="never",
        log_flow=True,
        log_verbosity=3,
        log_to_std_err=True,
        debug=True,
        diff=True,
        suppress_outputs=True,
        suppress_progress=True,
        config_file=special,
        continue_on_error=True,
        run_program=False,
        remove=True,
        on_output=lines.append,
        on_error=errors.append,
        on_event=events.append,
    )
    assert (destroyed.summary.kind, destroyed.summary.message) == ("destroy", "gone")
    assert lines == destroyed.stdout.split("\n") and errors == destroyed.stderr.splitlines()
    assert warnings(destroyed.stderr) == NO_EFFECT and events[-1].cancel_event is not None
    assert not memory.things and stack.workspace.list_stacks() == []


def test_previews_of_destroys_have_every_option(open_stack: Open, memory: Memory, special: str) -> None:
    stack = open_stack(program=chain)
    stack.up()
    lines: list[str] = []
    errors: list[str] = []
    events: list[auto.EngineEvent] = []
    preview = stack.preview_destroy(
        message="look",
        parallel=1,
        color="never",
        log_flow=True,
        log_verbosity=3,
        log_to_std_err=True,
        debug=True,
        diff=True,
        suppress_outputs=True,
        suppress_progress=True,
        config_file=special,
        continue_on_error=True,
        exclude_protected=True,
        on_output=lines.append,
        on_error=errors.append,
        on_event=events.append,
    )
    assert counts(preview.change_summary) == {"delete": 4} and "Previewing destroy" in preview.stdout
    assert lines == preview.stdout.split("\n") and errors == preview.stderr.splitlines()
    assert warnings(preview.stderr) == NO_EFFECT and events[-1].cancel_event is not None
    limited = stack.preview_destroy(target=[f"{URN}size"], target_dependents=True)
    assert counts(limited.change_summary)["delete"] == 2
    assert counts(stack.preview_destroy(remove=True, show_secrets=False).change_summary) == {"delete": 4}
    assert memory.count("delete") == 0 and [row.name for row in stack.workspace.list_stacks()] == ["dev"]


Operation = Callable[[auto.Stack], object]


TRACED: list[Operation] = [
    lambda stack: stack.preview(tracing="file:trace.json"),
    lambda stack: stack.up(tracing="file:trace.json"),
    lambda stack: stack.refresh(tracing="file:trace.json"),
    lambda stack: stack.preview_refresh(tracing="file:trace.json"),
    lambda stack: stack.destroy(tracing="file:trace.json"),
    lambda stack: stack.preview_destroy(tracing="file:trace.json"),
]


@pytest.mark.parametrize("operation", TRACED)
def test_an_option_without_effect_warns(open_stack: Open, operation: Operation) -> None:
    stack = open_stack()
    stack.up()
    result: Any = operation(stack)
    assert warnings(result.stderr) == ["warning: --tracing"]


def test_an_option_that_is_not_supported_is_refused_by_name(open_stack: Open) -> None:
    with pytest.raises(auto.CommandError, match="--attach-debugger is not supported"):
        open_stack().up(attach_debugger=True)


def importable() -> None:
    site = pulumi.ComponentResource("shop:index:Site", "site")
    own = pulumi.ProviderResource("mem", "own", {"zone": "a", "token": pulumi.Output.secret("hunter2")})
    Thing("site", {}, pulumi.ResourceOptions(parent=site, provider=own))


def test_a_preview_writes_a_request_that_imports_what_it_would_create(open_stack: Open, tmp_path: Path) -> None:
    file = tmp_path / "import.json"
    stack = open_stack(program=importable)
    preview = stack.preview(import_file=str(file))
    assert json.loads(file.read_text()) == {
        "resources": [
            {"type": "shop:index:Site", "name": "site", "component": True},
            {"type": "pulumi:providers:mem", "name": "own", "inputs": {"zone": "a"}},
            {
                "type": "mem:index:Thing",
                "name": "siteThing",
                "id": "<PLACEHOLDER>",
                "parent": "site",
                "provider": "own",
                "logicalName": "site",
            },
        ]
    }
    assert "the input token of the provider own is secret" in preview.stderr and "hunter2" not in preview.stderr
    stack.up()

    def more() -> None:
        importable()
        Thing("other", {})

    stack.preview(program=more, import_file=str(file))
    assert json.loads(file.read_text()) == {
        "resources": [{"type": "mem:index:Thing", "name": "other", "id": "<PLACEHOLDER>"}]
    }

    def fails() -> None:
        Thing("third", {})
        raise ValueError("no")

    with pytest.raises(auto.CommandError):
        stack.preview(program=fails, import_file=str(tmp_path / "failed.json"))
    assert not (tmp_path / "failed.json").exists()


def test_imports_have_every_option(open_stack: Open, memory: Memory) -> None:
    memory.things.update({"parent-1": {"size": 1}, "mine-1": {"size": 7}})
    stack = open_stack()
    stack.up()
    lines: list[str] = []
    resources: list[ImportResource] = [
        {
            "type": "mem:index:Thing",
            "name": "mine",
            "id": "mine-1",
            "logicalName": "renamed",
            "parent": "owner",
            # The SDK declares a text, and the engine takes a list.
            "properties": ["size"],  # type: ignore[typeddict-item]
        },
        {"type": "shop:index:Site", "name": "site", "component": True},
    ]
    imported = stack.import_resources(
        message="adopted",
        resources=resources,
        name_table={"owner": f"{URN}size"},
        protect=True,
        generate_code=False,
        show_secrets=False,
        on_output=lines.append,
    )
    assert imported.summary.message == "adopted" and imported.generated_code == ""
    assert "\n".join(lines) == imported.stdout and not imported.stderr
    records = {record["id"]: record for record in (stack.export_stack().deployment or {})["resources"] if "id" in record}
    mine = records["mine-1"]
    assert mine["urn"].endswith("::renamed") and mine["protect"] and mine["parent"] == f"{URN}size"


def test_imports_name_their_provider_with_its_version(open_stack: Open, memory: Memory) -> None:
    memory.things["mine-1"] = {"size": 7}

    def program() -> None:
        pulumi.ProviderResource("mem", "own", {"region": "eu"})

    stack = open_stack(program=program)
    stack.up()
    urn = "urn:pulumi:dev::shop::pulumi:providers:mem::own"
    resources: list[ImportResource] = [
        {"type": "mem:index:Thing", "name": "mine", "id": "mine-1", "provider": "own", "version": "1.0.0"},
        {"type": "shop:index:Site", "name": "site", "component": True, "remote": False, "pluginDownloadUrl": ""},
    ]
    stack.import_resources(resources=resources, name_table={"own": urn}, generate_code=False)
    records = (stack.export_stack().deployment or {})["resources"]
    (mine,) = [record for record in records if record["type"] == "mem:index:Thing"]
    assert mine["provider"].startswith(f"{urn}::") and [r["urn"] for r in records if r["type"] == "shop:index:Site"]


def test_imports_through_converters_are_refused(open_stack: Open) -> None:
    with pytest.raises(auto.CommandError, match="no converter plugin 'pulumi-converter-terraform' found"):
        open_stack().import_resources(converter="terraform", converter_args=["state.tf"])


def test_a_renamed_stack_reports_to_functions(open_stack: Open) -> None:
    stack = open_stack()
    lines: list[str] = []
    errors: list[str] = []
    renamed = stack.rename("live", on_output=lines.append, on_error=errors.append)
    assert renamed.summary is None and lines == renamed.stdout.splitlines() and errors == renamed.stderr.splitlines()
    assert "Renamed dev to live" in renamed.stdout
