"""Edits of the state over the Automation API's interface of the command."""

from __future__ import annotations

import json
from typing import Any

import pytest
from stackwright import automation as auto

from automation_support import Open, open_stack

__all__ = ["open_stack"]


class Edits:
    """The interface of the command in the folder of a stack's workspace."""

    def __init__(self, stack: auto.Stack) -> None:
        workspace = stack.workspace
        assert isinstance(workspace, auto.LocalWorkspace)
        self.api = workspace.cli_api
        home = {"PULUMI_HOME": workspace.pulumi_home} if workspace.pulumi_home else {}
        self.place: dict[str, Any] = {"cwd": workspace.work_dir, "additional_env": {**workspace.env_vars, **home}}

    def __call__(self, name: str, *arguments: str, **options: Any) -> str:
        result = getattr(self.api, name)(*arguments, **options, **self.place)
        text: str = result.stdout
        return text


def urns(stack: auto.Stack) -> dict[str, str]:
    deployment = stack.export_stack().deployment
    assert deployment is not None
    return {resource["urn"].rsplit("::")[-1]: resource["urn"] for resource in deployment["resources"]}


def test_the_state_is_edited_over_the_interface_of_the_command(open_stack: Open) -> None:
    stack = open_stack()
    stack.up()
    edit, known = Edits(stack), urns(stack)
    assert edit("state_protect", known["size"]) == "1 resources protected"
    with pytest.raises(auto.CommandError, match="because it is protected. Re-run this command with --force"):
        edit("state_remove", known["size"], target_dependents=True)
    assert edit("state_unprotect", all=True) == "All resources unprotected"
    assert edit("state_taint", known["size"], known["after"]) == "2 resources tainted"
    assert edit("state_untaint", all=True) == "All resources untainted"
    assert edit("state_rename", known["after"], "later") == "Resource renamed"
    later = urns(stack)["later"]
    record = json.loads(edit("state_get", later, output="json"))
    assert record["urn"] == later and record["type"] in later
    assert edit("state_repair") == "The snapshot is already valid; skipping repair"
    with pytest.raises(auto.CommandError, match="the following resources depend on it"):
        edit("state_remove", known["size"])
    assert edit("state_remove", known["size"], target_dependents=True) == "Resource deleted"
    assert "size" not in urns(stack) and "later" not in urns(stack)


def test_resources_move_to_another_stack_over_the_interface_of_the_command(open_stack: Open) -> None:
    other, stack = open_stack("prod"), open_stack("dev")
    stack.up()
    edit, known = Edits(stack), urns(stack)
    with pytest.raises(auto.StackNotFoundError):
        edit("state_move", known["size"], source="nothing", dest="prod")
    moved = edit("state_move", known["size"], known["after"], source="dev", dest="prod")
    assert moved.endswith("Successfully moved resources from organization/shop/dev to organization/shop/prod")
    assert "size" not in urns(stack) and {"size", "after"} <= urns(other).keys()


def test_the_engine_and_the_configuration_are_shown_and_copied(open_stack: Open) -> None:
    open_stack("prod")
    stack = open_stack("dev")
    stack.set_config("size", auto.ConfigValue("4"))
    stack.set_config("token", auto.ConfigValue("hush", secret=True))
    edit = Edits(stack)
    assert edit("config_copy", stack="dev", dest="prod") == ""
    # Both settings files are in the folder of the workspace.
    copied = stack.workspace.get_all_config("prod")
    assert (copied["shop:size"].value, copied["shop:token"].value, copied["shop:token"].secret) == ("4", "hush", True)
    about = json.loads(edit("about", stack="dev"))
    assert about["cliAbout"]["version"] == "3.260.0" and about["errors"] == []
    assert about["currentStack"]["fullyQualifiedName"] == "organization/shop/dev"
    user = json.loads(edit("whoami", verbose=True))["user"]
    assert user == about["backend"]["user"]
