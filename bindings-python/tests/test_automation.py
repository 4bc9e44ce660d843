"""The Automation API over this engine: scripts as they are written for ``pulumi.automation``, with one changed import."""

from __future__ import annotations

import json
import os
import platform
import sys
import threading
from pathlib import Path

import pulumi
import pytest
import stackwright as sw
from pulumi import automation as upstream
from stackwright import automation as auto

from automation_support import DEADLINE, Open, Thing, children, counts, environment, open_stack, shop
from conftest import MakeEngine, Memory


def test_every_name_of_the_automation_api_is_there_and_mostly_the_same_object() -> None:
    own = {
        "LocalWorkspace",
        "PulumiCommand",
        "Stack",
        "create_or_select_remote_stack_git_source",
        "create_or_select_stack",
        "create_remote_stack_git_source",
        "create_stack",
        "select_remote_stack_git_source",
        "select_stack",
    }
    for name in upstream.__all__:
        if name not in own and name not in ("errors", "events"):
            assert getattr(auto, name) is getattr(upstream, name), name
    assert issubclass(auto.LocalWorkspace, upstream.LocalWorkspace) and issubclass(auto.Stack, upstream.Stack)
    assert auto.errors.CommandError is upstream.errors.CommandError
    assert auto.events.EngineEvent is upstream.events.EngineEvent


def test_a_stack_lives_from_its_creation_to_its_removal_without_a_process(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    for name in environment:
        monkeypatch.delenv(name, raising=False)

    def program() -> None:
        pulumi.ComponentResource("shop:index:Site", "site")
        pulumi.export("region", pulumi.Config("aws").get("region"))
        pulumi.export("password", pulumi.Config().require_secret("password"))

    before = (dict(os.environ), os.getcwd(), children())
    opts = auto.LocalWorkspaceOptions(env_vars=environment)
    stack = auto.create_stack("dev", project_name="shop", program=program, opts=opts)
    assert opts.program is None and opts.project_settings is None, "the caller's options are not changed"
    assert auto.select_stack("dev", project_name="shop", program=program, opts=opts).name == "dev"
    stack.set_config("aws:region", auto.ConfigValue("eu"))
    stack.set_config("password", auto.ConfigValue("hunter2", secret=True))
    preview = stack.preview()
    assert preview.change_summary == {"create": 2} and "Previewing update (dev):" in preview.stdout
    events: list[auto.EngineEvent] = []
    lines: list[str] = []
    up = stack.up(message="first", on_output=lines.append, on_event=events.append)
    assert "\n".join(lines) == up.stdout and "    + 2 created" in lines and not up.stderr
    assert [event.sequence for event in events] == list(range(len(events))), "the event log has no gaps"
    assert events[0].prelude_event is not None and events[-1].cancel_event is not None
    assert repr(up.outputs) == "{'password': [secret], 'region': 'eu'}" and up.outputs["password"].value == "hunter2"
    assert up.summary.kind == "update" and up.summary.message == "first" and up.summary.resource_changes == {"create": 2}
    assert up.summary.environment["exec.kind"] == "auto.inline" and up.summary.config["shop:password"].value == "hunter2"
    assert up.summary.environment["runtime.version"] == platform.python_version()
    assert up.summary.environment["runtime.executable"] == sys.executable
    assert stack.refresh().summary.resource_changes == {"same": 2}
    assert stack.destroy().summary.result == "succeeded"
    assert [row.kind for row in stack.history()] == ["destroy", "refresh", "update"]
    assert [row.kind for row in stack.history(page_size=1, page=2)] == ["refresh"]
    assert stack.workspace.who_am_i().url == environment["PULUMI_BACKEND_URL"]
    stack.workspace.remove_stack("dev")
    assert stack.workspace.list_stacks() == []
    assert (dict(os.environ), os.getcwd(), children()) == before, "the process is as it was"


def test_configuration_is_set_at_paths_listed_and_removed(open_stack: Open) -> None:
    stack = open_stack()
    stack.set_config("plain", auto.ConfigValue("1"))
    stack.set_config("hyphen", auto.ConfigValue("--value"))
    stack.set_config("tags.team", auto.ConfigValue("payments"), path=True)
    stack.set_all_config({"a": auto.ConfigValue("x=y"), "b": auto.ConfigValue("hush", secret=True)})
    stack.set_all_config_json(json.dumps({"shop:c": {"value": "3", "secret": True}}))
    every = stack.get_all_config()
    assert {key: (entry.value, entry.secret) for key, entry in every.items()} == {
        "shop:a": ("x=y", False),
        "shop:b": ("hush", True),
        "shop:c": ("3", True),
        "shop:hyphen": ("--value", False),
        "shop:plain": ("1", False),
        "shop:tags": ('{"team":"payments"}', False),
    }
    assert stack.get_config("tags.team", path=True).value == "payments"
    stack.remove_config("plain")
    stack.remove_all_config(["a", "b", "c", "tags.team"], path=True)
    assert set(stack.get_all_config()) == {"shop:hyphen", "shop:tags"}
    with pytest.raises(auto.CommandError, match="configuration key 'plain' not found for stack 'dev'"):
        stack.get_config("plain")


def test_outputs_are_secret_where_anything_inside_them_is(open_stack: Open) -> None:
    stack = open_stack()
    stack.set_config("size", auto.ConfigValue("3"))
    outputs = stack.up().outputs
    assert {name: (output.value, output.secret) for name, output in outputs.items()} == {
        "nested": ({"list": [1, "hush"]}, True),
        "password": ("hunter2", True),
        "size": ("3", False),
        "text": ("[secret]", False),
    }


def test_the_configuration_of_the_last_update_comes_back(open_stack: Open) -> None:
    stack = open_stack()
    stack.set_config("size", auto.ConfigValue("3"))
    stack.set_config("password", auto.ConfigValue("hush", secret=True))
    stack.up()
    stack.set_config("size", auto.ConfigValue("4"))
    stack.refresh_config()
    assert {key: entry.value for key, entry in stack.get_all_config().items()} == {"shop:size": "3", "shop:password": "hush"}


def test_existing_resources_are_imported(open_stack: Open, memory: Memory) -> None:
    memory.things["mine-1"] = {"size": 7}
    stack = open_stack()
    resources: list[auto.ImportResource] = [{"type": "mem:index:Thing", "name": "mine", "id": "mine-1"}]  # type: ignore[name-defined]
    imported = stack.import_resources(resources=resources, protect=False, generate_code=False)
    assert imported.summary.kind == "resource-import" and counts(imported.summary.resource_changes)["import"] == 1
    records = (stack.export_stack().deployment or {})["resources"]
    assert [record["id"] for record in records if record["type"] == "mem:index:Thing"] == ["mine-1"]


def test_an_import_for_which_no_code_is_generated_succeeds(open_stack: Open, memory: Memory) -> None:
    memory.things["mine-1"] = {"size": 7}
    # The provider serves no schema.
    imported = open_stack().import_resources(resources=[{"type": "mem:index:Thing", "name": "mine", "id": "mine-1"}])
    assert imported.generated_code == "" and imported.summary.result == "succeeded"
    assert "no code was generated" in imported.stderr


def test_states_are_exported_with_secrets_and_imported(open_stack: Open) -> None:
    stack = open_stack()
    stack.up()
    exported = stack.export_stack()
    assert exported.version == 3 and '"plaintext": "\\"hunter2\\""' in json.dumps(exported.deployment)
    stack.import_stack(auto.Deployment(version=3, deployment={}))
    assert stack.outputs() == {}
    stack.import_stack(exported)
    assert stack.outputs()["password"].value == "hunter2"
    with pytest.raises(auto.CommandError):
        stack.import_stack(auto.Deployment(version=99, deployment={}))


def test_a_stack_is_renamed_with_its_configuration_tags_and_history(open_stack: Open) -> None:
    stack = open_stack()
    stack.set_config("size", auto.ConfigValue("3"))
    stack.set_tag("owner", "payments")
    stack.up()
    renamed = stack.rename("live")
    assert renamed.summary is not None and renamed.summary.kind == "update" and stack.name == "live"
    assert stack.get_config("size").value == "3" and stack.list_tags() == {"owner": "payments"}
    assert stack.get_tag("owner") == "payments"
    stack.remove_tag("owner")
    assert stack.list_tags() == {} and stack.up().summary.resource_changes == {"same": 3}
    summaries = stack.workspace.list_stacks()
    assert [(found.name, found.current, found.resource_count) for found in summaries] == [("live", True, 4)]


def test_errors_have_the_classes_that_scripts_catch(open_stack: Open, tmp_path: Path) -> None:
    workspace = open_stack().workspace
    with pytest.raises(auto.StackNotFoundError, match="no stack named 'nothing' found"):
        auto.Stack.select("nothing", workspace)
    with pytest.raises(auto.StackAlreadyExistsError, match="stack 'organization/shop/dev' already exists"):
        auto.Stack.create("dev", workspace)

    def broken() -> None:
        raise ValueError("the program is wrong")

    with pytest.raises(auto.InlineSourceRuntimeError, match="the program is wrong"):
        open_stack(program=broken).up()

    def refused() -> None:
        raise pulumi.RunError("not today")

    with pytest.raises(auto.RuntimeError, match="not today"):
        open_stack(program=refused).preview()
    with pytest.raises(auto.CommandError, match="unknown flag: --nonsense"):
        auto.Command().run(["up", "--nonsense"], str(tmp_path), {})
    with pytest.raises(auto.CommandError, match="does not support environments"):
        workspace.add_environments("dev", "base")
    with pytest.raises(sw.InvalidInputError, match="remote workspaces run on the Pulumi service"):
        auto.create_remote_stack_git_source("dev", "https://example.com/shop.git")


def test_callers_that_race_for_a_new_stack_all_get_it(open_stack: Open, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    opened: list[str] = []

    def race() -> None:
        opened.append(open_stack("dev", work_dir=str(folder)).name)

    threads = [threading.Thread(target=race) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert opened == ["dev"] * 4


def test_the_command_serves_the_unchanged_automation_api(make_engine: MakeEngine, memory: Memory, tmp_path: Path) -> None:
    opts = upstream.LocalWorkspaceOptions(
        pulumi_command=auto.Command(make_engine(mem=memory)), env_vars={"PULUMI_HOME": str(tmp_path / "home")}
    )
    stack = upstream.create_or_select_stack("dev", project_name="shop", program=shop, opts=opts)
    assert stack.up().summary.resource_changes == {"create": 3}
    assert stack.workspace.pulumi_version == "3.260.0"
    assert isinstance(stack.workspace, upstream.LocalWorkspace)
    stack.workspace.install(no_plugins=True, no_dependencies=True)
    assert stack.workspace.list_plugins() == []


def test_secrets_are_in_no_file_and_no_process(open_stack: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    stack = open_stack()
    stack.set_config("password", auto.ConfigValue("a-rare-secret", secret=True))

    def program() -> None:
        password = pulumi.Config().require_secret("password")
        Thing("made", {"password": password})
        pulumi.export("password", password)

    up = stack.up(program=program)
    stack.import_stack(stack.export_stack())
    with pytest.raises(auto.CommandError):
        stack.import_stack(auto.Deployment(version=99, deployment={"secret": "a-rare-secret"}))
    assert up.outputs["password"].value == "a-rare-secret" and "a-rare-secret" not in up.stdout
    texts = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert not [path for path, text in texts.items() if b"a-rare-secret" in text]
    assert b"a-rare-secret" not in Path("/proc/self/cmdline").read_bytes()


def test_the_low_level_interface_runs_the_same_command(open_stack: Open, tmp_path: Path) -> None:
    workspace = open_stack().workspace
    assert isinstance(workspace, auto.LocalWorkspace)
    with pytest.raises(auto.CommandError, match="do not support organizations"):
        workspace.org_get_default()
    with pytest.raises(auto.CommandError, match="`new` is not supported"):
        workspace.new("python")
    with pytest.raises(auto.CommandError, match="no server of its archive is known"):
        workspace.install_plugin("aws", "v6.0.0")
    workspace.remove_plugin("aws")


def test_each_command_gets_the_environment_as_it_is_then(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command = auto.Command()

    def backend() -> str:
        result = command.run(["whoami", "--json"], str(tmp_path), {"PULUMI_HOME": str(tmp_path / "home")})
        return str(json.loads(result.stdout)["url"])

    for name in ("a", "b", "b", "a"):
        (tmp_path / name).mkdir(exist_ok=True)
        monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path / name}")
        assert backend() == f"file://{tmp_path / name}"
    # A mapping in the place of the environment, as tests have it.
    monkeypatch.setattr(os, "environ", {**os.environ, "PULUMI_BACKEND_URL": f"file://{tmp_path / 'b'}"})
    assert backend() == f"file://{tmp_path / 'b'}"
