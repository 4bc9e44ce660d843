"""Options of operations over the Automation API."""

from __future__ import annotations

import json
from pathlib import Path

import pulumi
import pytest
import stackwright as sw
from stackwright import automation as auto

from automation_support import Open, Thing, counts, open_stack, shop
from conftest import MakeEngine, Memory


def test_targets_excludes_replacements_and_expectations_reach_the_engine(open_stack: Open, memory: Memory) -> None:
    stack = open_stack()
    urn = "urn:pulumi:dev::shop::mem:index:Thing::"
    # A resource outside of the targets counts as unchanged.
    assert stack.up(target=[f"{urn}size"]).summary.resource_changes == {"create": 2, "same": 1}
    assert memory.count("create") == 1
    assert stack.up(exclude=["**::size"]).summary.resource_changes == {"create": 1, "same": 2}
    assert stack.up(expect_no_changes=True).summary.resource_changes == {"same": 3}
    assert stack.up(replace=[f"{urn}after"], parallel=1).summary.resource_changes == {"replace": 1, "same": 2}
    stack.set_config("size", auto.ConfigValue("2"))
    with pytest.raises(auto.CommandError, match="no changes were expected for preview but changes were proposed") as caught:
        stack.preview(expect_no_changes=True)
    assert "code: 7" in str(caught.value)
    memory.things.clear()
    assert counts(stack.preview_refresh().change_summary)["delete"] == 2
    assert counts(stack.refresh(target=[f"{urn}size"]).summary.resource_changes)["delete"] == 1
    assert stack.preview_destroy().change_summary == {"delete": 2}
    assert counts(stack.destroy(target=[f"{urn}after"]).summary.resource_changes)["delete"] == 1


def test_a_plan_constrains_a_later_update(open_stack: Open, tmp_path: Path) -> None:
    def program() -> None:
        Thing("only", {"size": pulumi.Config().get_int("size") or 1})

    stack = open_stack(program=program)
    plan = str(tmp_path / "plan.json")
    assert f"Update plan written to '{plan}'" in stack.preview(plan=plan).stderr
    assert set(json.loads(Path(plan).read_text())) >= {"manifest", "resourcePlans"}
    stack.set_config("size", auto.ConfigValue("5"))
    with pytest.raises(auto.CommandError, match="violates plan"):
        stack.up(plan=plan)
    stack.remove_config("size")
    assert stack.up(plan=plan).summary.resource_changes is not None


def test_protected_resources_stay_where_that_is_asked_for(open_stack: Open, memory: Memory) -> None:
    def program() -> None:
        Thing("base", {})
        Thing("kept", {}, pulumi.ResourceOptions(protect=True))

    stack = open_stack(program=program)
    stack.up()
    assert counts(stack.destroy(exclude_protected=True).summary.resource_changes)["delete"] == 1
    assert list(memory.things) == [name for name in memory.things if name.startswith("kept")]
    assert "There were no unprotected resources to destroy" in stack.destroy(exclude_protected=True).stdout


def test_options_of_the_display_and_of_logs_are_known(open_stack: Open) -> None:
    stack = open_stack()
    quiet = stack.up(color="never", suppress_outputs=True, suppress_progress=True)
    assert "Outputs:" not in quiet.stdout and "creating" not in quiet.stdout and "+ 3 created" in quiet.stdout
    stack.set_config("size", auto.ConfigValue("2"))

    def talking() -> None:
        shop()
        pulumi.log.debug("a detail")

    shown = stack.preview(program=talking, diff=True, debug=True, log_flow=True, log_to_std_err=True, log_verbosity=3)
    assert "size: 1 => 2" in shown.stdout and "debug: a detail" in shown.stdout
    assert "a detail" not in stack.preview(program=talking).stdout
    assert [line.split(" has no effect")[0] for line in shown.stderr.splitlines()] == [
        "warning: --logflow",
        "warning: --logtostderr",
        "warning: --verbose",
    ]
    with pytest.raises(auto.CommandError, match="--attach-debugger is not supported"):
        stack.preview(attach_debugger=True)


def test_an_operation_can_have_another_configuration_file(open_stack: Open, tmp_path: Path) -> None:
    stack = open_stack()
    stack.set_config("size", auto.ConfigValue("3"))
    special = tmp_path / "special.yaml"
    special.write_text('config:\n  shop:size: "7"\n')
    assert stack.up(config_file=str(special)).outputs["size"].value == "7"
    assert stack.up().outputs["size"].value == "3"


class Full(Memory):
    """Fails for resources with an input ``bad``."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if "bad" in request.inputs:
            raise OSError("the disk is full")
        return super().create(request)


def test_errors_that_are_continued_after_leave_the_rest_deployed(make_engine: MakeEngine, tmp_path: Path) -> None:
    def program() -> None:
        Thing("bad", {"bad": True})
        Thing("good", {})

    full = Full()
    opts = auto.LocalWorkspaceOptions(
        pulumi_command=auto.Command(make_engine(mem=full)), pulumi_home=str(tmp_path / "home")
    )
    stack = auto.create_stack("dev", project_name="shop", program=program, opts=opts)
    with pytest.raises(auto.CommandError, match="the disk is full") as caught:
        stack.up(continue_on_error=True)
    assert type(caught.value) is auto.CommandError and list(full.things) == ["good-1"]
    info = stack.info()
    assert info is not None and info.result == "failed"
