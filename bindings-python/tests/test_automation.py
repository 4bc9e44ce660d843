"""The Automation API over this engine: scripts as they are written for ``pulumi.automation``, with one changed import."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest
import stackwright as sw
from pulumi import automation as upstream
from stackwright import automation as auto

from conftest import MakeEngine, Memory

DEADLINE = 60
"""How long a test waits for another thread, in seconds."""


class Thing(pulumi.CustomResource):
    made: pulumi.Output[bool]

    def __init__(self, name: str, props: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("mem:index:Thing", name, {"made": None, **props}, opts)


def shop() -> None:
    config = pulumi.Config()
    size = Thing("size", {"size": config.get_int("size") or 1})
    Thing("after", {"made_first": size.made}, pulumi.ResourceOptions(depends_on=[size]))
    pulumi.export("size", config.get("size"))
    pulumi.export("password", pulumi.Output.secret("hunter2"))
    pulumi.export("nested", {"list": [1, pulumi.Output.secret("hush")]})
    pulumi.export("text", "[secret]")


Open = Callable[..., auto.Stack]


@pytest.fixture
def open_stack(make_engine: MakeEngine, memory: Memory, tmp_path: Path) -> Iterator[Open]:
    """Opens stacks on an engine with the provider in memory."""
    command = auto.Command(make_engine(mem=memory))

    def open(name: str = "dev", program: auto.PulumiFn = shop, **options: Any) -> auto.Stack:
        opts = auto.LocalWorkspaceOptions(pulumi_command=command, pulumi_home=str(tmp_path / "home"), **options)
        return auto.create_or_select_stack(name, project_name="shop", program=program, opts=opts)

    yield open


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a store in a folder, with a passphrase."""
    (tmp_path / "state").mkdir()
    return {
        "PULUMI_BACKEND_URL": f"file://{tmp_path / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE": "correct horse",
        "PULUMI_HOME": str(tmp_path / "home"),
    }


def children() -> set[int]:
    """Returns the child processes of all threads."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        # A thread can end meanwhile.
        with contextlib.suppress(FileNotFoundError):
            found.update(int(child) for child in (task / "children").read_text().split())
    return found


def counts(changes: Any) -> dict[str, int]:
    """Returns the counts of a summary by the names of operations."""
    return dict(changes or {})


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


def test_existing_resources_are_imported(open_stack: Open, memory: Memory) -> None:
    memory.things["mine-1"] = {"size": 7}
    stack = open_stack()
    resources: list[auto.ImportResource] = [{"type": "mem:index:Thing", "name": "mine", "id": "mine-1"}]  # type: ignore[name-defined]
    imported = stack.import_resources(resources=resources, protect=False, generate_code=False)
    assert imported.summary.kind == "resource-import" and counts(imported.summary.resource_changes)["import"] == 1
    records = (stack.export_stack().deployment or {})["resources"]
    assert [record["id"] for record in records if record["type"] == "mem:index:Thing"] == ["mine-1"]


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


def test_a_second_update_is_refused_while_one_runs_and_a_cancel_removes_its_lock(open_stack: Open) -> None:
    begun, proceed = threading.Event(), threading.Event()

    def waiting() -> None:
        if not pulumi.runtime.is_dry_run():
            begun.set()
            assert proceed.wait(DEADLINE)

    outcome: list[auto.UpResult] = []
    stack = open_stack(program=waiting)
    thread = threading.Thread(target=lambda: outcome.append(stack.up()))
    thread.start()
    try:
        assert begun.wait(DEADLINE)
        with pytest.raises(auto.ConcurrentUpdateError, match="the stack is currently locked by 1 lock"):
            open_stack(program=waiting).up()
    finally:
        proceed.set()
        thread.join(DEADLINE)
    assert outcome[0].summary.result == "succeeded"
    stack.cancel()


def test_what_a_callback_raises_cancels_the_operation_and_is_raised(open_stack: Open, memory: Memory) -> None:
    def refuse(line: str) -> None:
        raise LookupError(f"refused: {line}")

    stack = open_stack()
    with pytest.raises(LookupError, match="refused: Updating"):
        stack.up(on_output=refuse)
    assert stack.up().summary.result == "succeeded", "the lock is free again"


def test_stacks_of_many_threads_do_not_see_each_other(open_stack: Open) -> None:
    count = 12

    def deploy(number: int) -> None:
        def program() -> None:
            Thing(f"thing-{number}", {"password": pulumi.Output.secret(f"hush-{number}")})
            pulumi.export("stack", pulumi.get_stack())

        stack = open_stack(f"dev-{number}", program)
        outputs[number] = stack.up().outputs["stack"].value
        states[number] = json.dumps(stack.export_stack().deployment)

    outputs: dict[int, str] = {}
    states: dict[int, str] = {}
    threads = [threading.Thread(target=deploy, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert outputs == {number: f"dev-{number}" for number in range(count)}
    for number, state in states.items():
        others = (other for other in range(count) if other != number)
        assert f"thing-{number}" in state and not any(f'thing-{other}"' in state for other in others)


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


def test_the_cause_of_a_failed_program_is_what_it_has_raised(open_stack: Open) -> None:
    async def program() -> None:
        Thing("made", {})
        raise KeyError("missing")

    with pytest.raises(auto.InlineSourceRuntimeError, match="'missing'") as caught:
        open_stack(program=program).up()
    assert isinstance(caught.value.__cause__, KeyError)

    def leaving() -> None:
        raise SystemExit(3)

    with pytest.raises(auto.InlineSourceRuntimeError, match="python inline source runtime error: 3"):
        open_stack(program=leaving).up()


def test_inline_programs_use_no_socket_of_the_engine(open_stack: Open, memory: Memory) -> None:
    """The SDK's own server is idle: nothing connects to it."""

    def connections() -> int:
        lines = Path("/proc/self/net/tcp").read_text().splitlines()[1:]
        return sum(line.split()[3] == "01" for line in lines)

    seen: list[int] = []

    def program() -> None:
        Thing("made", {})
        seen.append(connections())

    before = connections()
    open_stack(program=program).up()
    assert seen == [before]


def test_hooks_and_transforms_of_inline_programs_run(open_stack: Open, memory: Memory) -> None:
    ran: list[str] = []

    def grow(arguments: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
        return pulumi.ResourceTransformResult({**arguments.props, "grown": True}, arguments.opts)

    def program() -> None:
        hook = pulumi.ResourceHook("after", lambda arguments: ran.append(arguments.name))
        hooks = pulumi.ResourceHookBinding(after_create=[hook])
        Thing("made", {}, pulumi.ResourceOptions(transforms=[grow], hooks=hooks))

    open_stack(program=program).up()
    assert ran == ["made"] and [thing["grown"] for thing in memory.things.values()] == [True]


def test_a_program_of_an_operation_precedes_that_of_the_workspace(open_stack: Open) -> None:
    def other() -> None:
        pulumi.export("other", True)

    stack = open_stack()
    assert set(stack.up(program=other).outputs) == {"other"}
    assert stack.preview(program=other).change_summary == {"same": 1}
    assert "other" not in stack.up().outputs


def test_providers_have_the_variables_of_the_workspace(environment: dict[str, str]) -> None:
    pytest.importorskip("dill")
    from pulumi import dynamic

    class Reader(dynamic.ResourceProvider):
        def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
            import os as own

            return dynamic.CreateResult("read-1", {"token": own.environ.get("SHOP_TOKEN")})

    class Read(dynamic.Resource):
        token: pulumi.Output[str]

        def __init__(self, name: str) -> None:
            super().__init__(Reader(), name, {"token": None})

    def program() -> None:
        pulumi.export("token", Read("read").token)

    before = children()
    opts = auto.LocalWorkspaceOptions(env_vars={**environment, "SHOP_TOKEN": "from the workspace"})
    stack = auto.create_or_select_stack("dev", project_name="shop", program=program, opts=opts)
    assert stack.up().outputs["token"].value == "from the workspace"
    assert "SHOP_TOKEN" not in os.environ and children() == before, "the provider has ended"


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


def test_options_of_the_display_and_of_logs_are_known(open_stack: Open) -> None:
    stack = open_stack()
    quiet = stack.up(color="never", suppress_outputs=True, suppress_progress=True)
    assert "Outputs:" not in quiet.stdout and "creating" not in quiet.stdout and "+ 3 created" in quiet.stdout
    stack.set_config("size", auto.ConfigValue("2"))

    def talking() -> None:
        shop()
        pulumi.log.debug("a detail")

    shown = stack.preview(program=talking, diff=True, debug=True, log_flow=True, log_to_std_err=True, log_verbosity=3)
    assert "size: 1 → 2" in shown.stdout and "debug: a detail" in shown.stdout
    assert "a detail" not in stack.preview(program=talking).stdout
    assert [line.split(" has no effect")[0] for line in shown.stderr.splitlines()] == [
        "warning: --logflow",
        "warning: --logtostderr",
        "warning: --verbose",
    ]
    with pytest.raises(auto.CommandError, match="unknown flag: --tracing"):
        stack.preview(tracing="file:trace.json")
    with pytest.raises(auto.CommandError, match="unknown flag: --attach-debugger"):
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


def test_the_low_level_interface_runs_the_same_command(open_stack: Open, tmp_path: Path) -> None:
    workspace = open_stack().workspace
    assert isinstance(workspace, auto.LocalWorkspace)
    with pytest.raises(auto.CommandError, match="do not support organizations"):
        workspace.org_get_default()
    with pytest.raises(auto.CommandError, match="`new` is not supported"):
        workspace.new("python")
    with pytest.raises(auto.CommandError, match="plugins are not downloaded"):
        workspace.install_plugin("aws", "v6.0.0")
    workspace.remove_plugin("aws")
