"""Workspaces over the Automation API: settings, stacks, plugins, the command, and what is refused."""

from __future__ import annotations

import datetime
import getpass
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw
from pulumi.automation._local_workspace import DockerImageCredentials, ExecutorImage
from pulumi.automation._stack import ImportResource, ImportResult, RenameResult
from pulumi.automation._stack_settings import StackSettingsSecureConfigValue
from pulumi.automation._tag import TagMap
from pulumi.automation._workspace import TokenInformation
from semver import VersionInfo
from stackwright import automation as auto
from stackwright.automation import errors

from automation_support import Open, environment, open_stack, shop
from conftest import MakeEngine, Memory


def local(stack: auto.Stack) -> auto.LocalWorkspace:
    workspace = stack.workspace
    assert isinstance(workspace, auto.LocalWorkspace)
    return workspace


def test_a_workspace_keeps_the_settings_that_it_is_given(make_engine: MakeEngine, memory: Memory, tmp_path: Path) -> None:
    command = auto.Command(make_engine(mem=memory))
    project = auto.ProjectSettings(
        name="shop",
        runtime=auto.ProjectRuntimeInfo(name="python", options={"virtualenv": "venv"}),
        main="app",
        description="A shop.",
        author="The shop",
        website="https://example.com",
        license="Apache-2.0",
        config="settings",
        template=auto.ProjectTemplate(
            description="A template.",
            quickstart="Begin here.",
            config={"size": auto.ProjectTemplateConfigValue(description="How big.", default="3", secret=False)},
            important=True,
        ),
        backend=auto.ProjectBackend(url="file://~"),
    )
    workspace = auto.LocalWorkspace(
        work_dir=str(tmp_path),
        pulumi_home=str(tmp_path / "home"),
        program=shop,
        env_vars={"SHOP_TOKEN": "given"},
        secrets_provider="passphrase",
        project_settings=project,
        stack_settings={"dev": auto.StackSettings(config={"shop:size": "4"})},
        pulumi_command=command,
    )
    assert (workspace.work_dir, workspace.pulumi_home) == (str(tmp_path), str(tmp_path / "home"))
    assert workspace.program is shop and workspace.env_vars == {"SHOP_TOKEN": "given"}
    assert workspace.secrets_provider == "passphrase" and workspace.pulumi_command is command
    found = workspace.project_settings()
    assert isinstance(found.runtime, auto.ProjectRuntimeInfo) and found.template is not None and found.backend is not None
    assert (found.runtime.name, found.runtime.options) == ("python", {"virtualenv": "venv"})
    assert (found.name, found.main, found.description, found.author) == ("shop", "app", "A shop.", "The shop")
    assert (found.website, found.license, found.config) == ("https://example.com", "Apache-2.0", "settings")
    assert (found.template.description, found.template.quickstart, found.template.important) == ("A template.", "Begin here.", True)
    value = found.template.config["size"]
    assert (value.description, value.default, value.secret) == ("How big.", "3", False) and found.backend.url == "file://~"
    assert workspace.stack_settings("dev").config == {"shop:size": "4"}


def test_the_settings_of_a_stack_are_those_that_the_command_writes(open_stack: Open) -> None:
    stack = open_stack()
    stack.set_config("size", auto.ConfigValue("3"))
    stack.set_config("password", auto.ConfigValue("hush", secret=True))
    workspace = local(stack)
    settings: auto.StackSettings = workspace.stack_settings("dev")
    assert settings.config is not None and settings.config["shop:size"] == "3"
    secret = settings.config["shop:password"]
    assert isinstance(secret, StackSettingsSecureConfigValue) and secret.secure == "v:hsuh"
    assert settings.encryption_salt is None and settings.encrypted_key is None and settings.secrets_provider is None
    settings.config["shop:size"] = "8"
    workspace.save_stack_settings("dev", settings)
    assert stack.get_config("size").value == "8" and stack.get_config("password").value == "hush"
    project = workspace.project_settings()
    project.description = "Changed."
    workspace.save_project_settings(project)
    assert workspace.project_settings().description == "Changed." and stack.up().outputs["size"].value == "8"


def test_the_settings_of_passphrases_have_a_salt(environment: dict[str, str]) -> None:
    opts = auto.LocalWorkspaceOptions(env_vars=environment, secrets_provider="passphrase")
    stack = auto.create_stack("dev", project_name="shop", program=shop, opts=opts)
    stack.set_config("password", auto.ConfigValue("hush", secret=True))
    settings = stack.workspace.stack_settings("dev")
    assert (settings.encryption_salt or "").startswith("v1:") and settings.encrypted_key is None
    assert stack.get_config("password").value == "hush"


def test_settings_that_are_read_and_saved_keep_values_environments_and_comments(open_stack: Open) -> None:
    workspace = open_stack().workspace
    file = Path(workspace.work_dir) / "Pulumi.dev.yaml"
    text = (
        "# Of the team.\nenvironment:\n  - shared/base\nconfig:\n  shop:size: 4 # servers\n  shop:tags:\n    team: payments\n"
        "    sizes: [1, 2]\n  shop:token:\n    secure: v1:abc\nowner: ops\n"
    )
    file.write_text(text)
    settings = workspace.stack_settings("dev")
    assert settings.config is not None and settings.config["shop:size"] == 4
    assert settings.config["shop:tags"] == {"team": "payments", "sizes": [1, 2]}
    assert settings.config["shop:token"].secure == "v1:abc"
    workspace.save_stack_settings("dev", settings)
    assert file.read_text() == text
    settings.config["shop:size"] = "8"
    workspace.save_stack_settings("dev", settings)
    assert file.read_text() == text.replace("shop:size: 4", 'shop:size: "8"')
    # What another writer has changed meanwhile, and the type does not have, stays.
    file.write_text(file.read_text().replace("shared/base", "shared/newer"))
    workspace.save_stack_settings("dev", settings)
    assert "shared/newer" in file.read_text() and "shared/base" not in file.read_text()
    file.write_text(file.read_text().replace("shared/newer", "shared/base"))
    # Settings for a new stack have the entries of the file that they are from.
    workspace.save_stack_settings("live", settings)
    copied = (Path(workspace.work_dir) / "Pulumi.live.yaml").read_text()
    assert "shared/base" in copied and "team: payments" in copied and "owner: ops" in copied
    # Settings that are made anew replace what the type has, and nothing else.
    workspace.save_stack_settings("dev", auto.StackSettings(config={"shop:size": "1"}))
    assert file.read_text() == '# Of the team.\nenvironment:\n  - shared/base\nconfig:\n  shop:size: "1" # servers\nowner: ops\n'
    file.write_text("config: [")
    with pytest.raises(sw.InvalidInputError, match=r"Pulumi\.dev\.yaml"):
        workspace.save_stack_settings("dev", settings)
    assert file.read_text() == "config: ["


def test_stack_settings_of_options_are_written_first(make_engine: MakeEngine, memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    opts = auto.LocalWorkspaceOptions(
        work_dir=str(folder),
        pulumi_command=auto.Command(make_engine(mem=memory)),
        pulumi_home=str(tmp_path / "home"),
        stack_settings={"dev": auto.StackSettings(config={"shop:size": "4"})},
    )
    # A folder with a project keeps its settings.
    assert auto.create_stack("inline", project_name="shop", program=shop, opts=opts).workspace.work_dir == str(folder)
    created = auto.create_stack("dev", work_dir=str(folder), opts=opts)
    assert created.get_config("size").value == "4"
    selected = auto.select_stack("dev", work_dir=str(folder), opts=opts)
    assert selected.get_config("size").value == "4" and selected.workspace.work_dir == str(folder)
    assert auto.create_or_select_stack("dev", work_dir=str(folder), opts=opts).name == "dev"


def test_a_workspace_does_for_each_stack_what_a_stack_does(open_stack: Open) -> None:
    workspace = local(open_stack())
    workspace.create_stack("live")
    assert {row.name: row.current for row in workspace.list_stacks()} == {"dev": False, "live": True}
    workspace.select_stack("dev")
    current = workspace.stack()
    assert current is not None and current.name == "dev"
    workspace.set_config("live", "plain", auto.ConfigValue("1"))
    workspace.set_config("live", "tags.team", auto.ConfigValue("payments"), path=True)
    workspace.set_all_config("live", {"tags.owner": auto.ConfigValue("me"), "a": auto.ConfigValue("x")}, path=True)
    workspace.set_all_config_json("live", '{"shop:b": {"value": "y", "secret": true}}')
    assert workspace.get_config("live", "plain").value == "1"
    assert workspace.get_config("live", "tags.team", path=True).value == "payments"
    every: auto.ConfigMap = workspace.get_all_config("live")
    assert every["shop:b"].secret and every["shop:tags"].value == '{"owner":"me","team":"payments"}'
    workspace.remove_config("live", "tags.team", path=True)
    workspace.remove_config("live", "plain")
    workspace.remove_all_config("live", ["tags.owner", "a", "b"], path=True)
    assert not [key for key in workspace.get_all_config("live") if key != "shop:tags"]
    assert not workspace.get_all_config("dev")
    workspace.set_tag("live", "owner", "payments")
    tags: TagMap = workspace.list_tags("live")
    assert workspace.get_tag("live", "owner") == "payments" and tags == {"owner": "payments"}
    workspace.remove_tag("live", "owner")
    assert workspace.list_tags("live") == {}
    exported = workspace.export_stack("live")
    workspace.import_stack("live", exported)
    outputs: auto.OutputMap = workspace.stack_outputs("live")
    assert outputs == {}
    with pytest.raises(auto.CommandError, match="no previous deployment|has no deployment|no history|never been updated"):
        workspace.refresh_config("live")


def test_stacks_are_listed_with_their_last_update(open_stack: Open) -> None:
    stack = open_stack()
    (row,) = stack.workspace.list_stacks(include_all=True)
    assert not row.resource_count and not row.update_in_progress and row.url is None
    created = row.last_update
    stack.up()
    (row,) = stack.workspace.list_stacks()
    assert row.resource_count == 4 and row.last_update is not None
    assert created is None or created < row.last_update


def test_configuration_of_paths_is_set_at_once_and_removed(open_stack: Open) -> None:
    stack = open_stack()
    stack.set_all_config({"tags.team": auto.ConfigValue("payments"), "tags.owner": auto.ConfigValue("me")}, path=True)
    stack.remove_config("tags.team", path=True)
    assert stack.get_config("tags").value == '{"owner":"me"}'


def test_a_removed_stack_takes_its_resources_and_settings_only_where_asked(open_stack: Open, memory: Memory) -> None:
    stack = open_stack()
    stack.set_config("size", auto.ConfigValue("3"))
    stack.up()
    with pytest.raises(auto.CommandError, match="still has resources"):
        stack.workspace.remove_stack("dev")
    settings = Path(stack.workspace.work_dir, "Pulumi.dev.yaml")
    stack.workspace.remove_stack("dev", force=True, preserve_config=True)
    assert settings.exists() and memory.things and stack.workspace.list_stacks() == []
    created = auto.Stack.create_or_select(stack_name="dev", workspace=stack.workspace)
    assert created.get_config("size").value == "3"
    stack.workspace.remove_stack("dev")
    assert not settings.exists()


def test_hooks_of_workspaces_are_called_with_each_command(make_engine: MakeEngine, memory: Memory, tmp_path: Path) -> None:
    called: list[str] = []
    arguments: list[str] = []

    class Hooked(auto.LocalWorkspace):
        def serialize_args_for_op(self, stack_name: str) -> list[str]:
            called.append(f"arguments of {stack_name}")
            return arguments

        def post_command_callback(self, stack_name: str) -> None:
            called.append(f"after {stack_name}")

    workspace = Hooked(
        pulumi_command=auto.Command(make_engine(mem=memory)),
        pulumi_home=str(tmp_path / "home"),
        project_settings=auto.ProjectSettings(name="shop", runtime="python"),
        program=shop,
    )
    plain = auto.LocalWorkspace(pulumi_command=workspace.pulumi_command, project_settings=workspace.project_settings())
    assert plain.serialize_args_for_op("dev") == []
    plain.post_command_callback("dev")
    stack = auto.Stack.create("dev", workspace)
    stack.cancel()
    assert "after dev" in called
    arguments.append("--nonsense")
    with pytest.raises(auto.CommandError, match="unknown flag: --nonsense"):
        stack.up()
    assert "arguments of dev" in called


def test_the_user_and_the_store_are_known(open_stack: Open, tmp_path: Path) -> None:
    known = open_stack().workspace.who_am_i()
    token: TokenInformation | None = known.token_information
    assert known.user == getpass.getuser() and known.url == f"file://{tmp_path / 'state'}"
    assert not known.organizations and token is None


def test_plugins_are_listed_and_removed(open_stack: Open, tmp_path: Path) -> None:
    workspace = local(open_stack())
    for version in ("1.0.0", "2.0.0"):
        archive = tmp_path / f"{version}.tar.gz"
        with tarfile.open(archive, "w:gz") as file:
            info = tarfile.TarInfo("pulumi-resource-shop")
            info.size = 5
            file.addfile(info, io.BytesIO(b"shelf"))
        home = {"PULUMI_HOME": str(tmp_path / "home")}
        arguments = ["plugin", "install", "resource", "shop", version, "--file", str(archive)]
        lines: list[str] = []
        errors: list[str] = []
        result = workspace.pulumi_command.run(
            arguments, workspace.work_dir, home, on_output=lines.append, on_error=errors.append
        )
        assert result.code == 0 and lines == result.stdout.splitlines() and errors == result.stderr.splitlines()
        assert "installing" in result.stderr
    found = {plugin.version: plugin for plugin in workspace.list_plugins()}
    assert set(found) == {"1.0.0", "2.0.0"}
    plugin: auto.PluginInfo = found["1.0.0"]
    assert (plugin.name, plugin.kind, plugin.size) == ("shop", "resource", 5)
    assert isinstance(plugin.install_time, datetime.datetime) and isinstance(plugin.last_used, datetime.datetime)
    workspace.remove_plugin("shop", ">=2.0.0", kind="resource")
    assert [plugin.version for plugin in workspace.list_plugins()] == ["1.0.0"]
    workspace.remove_plugin("shop", version_range="1.0.0")
    assert workspace.list_plugins() == []


def test_what_is_installed_for_programs_is_reported(open_stack: Open) -> None:
    lines: list[str] = []
    workspace = local(open_stack())
    workspace.install(
        no_plugins=True, no_dependencies=True, reinstall=False, use_language_version_tools=False, on_output=lines.append
    )
    assert lines == []
    # The project of an inline program has no packages of its own.
    workspace.install(reinstall=True, use_language_version_tools=True, on_output=lines.append)
    assert "Finished installing dependencies" in "\n".join(lines)


def test_the_command_has_a_version_and_is_not_installed(open_stack: Open) -> None:
    workspace = local(open_stack())
    command: auto.PulumiCommand = workspace.pulumi_command
    assert command.command == "pulumi" and str(command.version) == workspace.pulumi_version == "3.260.0"
    installed = auto.PulumiCommand.install(root="/nowhere", version=VersionInfo(3, 0, 0), skip_version_check=True)
    assert isinstance(installed, auto.Command) and installed.version == command.version
    assert not Path("/nowhere").exists()


def test_the_command_takes_what_that_of_the_sdk_takes_and_engines_of_both_kinds() -> None:
    for command in (
        auto.PulumiCommand("/opt/pulumi"),
        auto.PulumiCommand(root="/opt/pulumi", version=VersionInfo(3, 0, 0), skip_version_check=True),
        auto.Command(sw.sync.Engine(store="memory://", passphrase="correct horse")),
    ):
        assert command.version is not None and command.run(["version"], "/", {}).code == 0
    with pytest.raises(sw.InvalidInputError, match=r"engine takes a stackwright\.Engine, not dict"):
        auto.Command({})  # type: ignore[arg-type]


def test_the_history_names_values_that_the_present_passphrase_does_not_decrypt(environment: dict[str, str], tmp_path: Path) -> None:
    def open(**variables: str) -> auto.Stack:
        opts = auto.LocalWorkspaceOptions(work_dir=str(tmp_path), env_vars={**environment, **variables})
        return auto.create_or_select_stack("dev", project_name="shop", program=lambda: None, opts=opts)

    stack = open()
    stack.set_config("password", auto.ConfigValue("hunter2", secret=True))
    stack.set_config("size", auto.ConfigValue("3"))
    stack.up()
    command = stack.workspace.pulumi_command
    arguments = ["stack", "change-secrets-provider", "passphrase", "--stack", "dev"]
    command.run(arguments, str(tmp_path), environment, stdin=b"battery staple\n")  # type: ignore[call-arg]
    changed = open(PULUMI_CONFIG_PASSPHRASE="battery staple")
    (summary,) = changed.history()
    assert summary.config["shop:password"].value == "ERROR_UNABLE_TO_DECRYPT" and summary.config["shop:password"].secret
    assert summary.config["shop:size"].value == "3"
    assert changed.get_config("password").value == "hunter2"


def test_many_workspaces_of_a_folder_write_one_project(make_engine: MakeEngine, memory: Memory, tmp_path: Path) -> None:
    command = auto.Command(make_engine(mem=memory))
    project = auto.ProjectSettings("shop", "python", description="x" * 20_000)
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\npackages:\n  aws: 7.0.0 # pinned\n")

    def deploy(number: int) -> str | None:
        opts = auto.LocalWorkspaceOptions(
            work_dir=str(tmp_path), project_settings=project, pulumi_command=command, env_vars={"PULUMI_HOME": str(tmp_path / "home")}
        )
        stack = auto.create_or_select_stack(f"dev-{number}", project_name="shop", program=lambda: None, opts=opts)
        return stack.up().summary.result

    with ThreadPoolExecutor(25) as threads:
        assert list(threads.map(deploy, range(50))) == ["succeeded"] * 50
    assert "aws: 7.0.0 # pinned" in (tmp_path / "Pulumi.yaml").read_text()


def test_tags_are_set_by_many_threads(open_stack: Open) -> None:
    stack = open_stack()
    workspace = stack.workspace
    with ThreadPoolExecutor(40) as threads:
        list(threads.map(lambda number: workspace.set_tag("dev", f"tag-{number}", str(number)), range(40)))
    assert workspace.list_tags("dev") == {f"tag-{number}": str(number) for number in range(40)}


def test_errors_have_the_result_of_the_command(open_stack: Open) -> None:
    with pytest.raises(errors.StackNotFoundError) as caught:
        auto.Stack.select("nothing", open_stack().workspace)
    assert caught.value.name == "StackNotFoundError" and "code: 6" in str(caught.value)
    given = auto.CommandResult(stdout="out", stderr="err", code=3)
    assert auto.CommandError(given).name == "CommandError" and "code: 3" in str(auto.CommandError(given))
    assert auto.ConcurrentUpdateError(given).name == "ConcurrentUpdateError"
    assert auto.StackAlreadyExistsError(given).name == "StackAlreadyExistsError"
    assert auto.InlineSourceRuntimeError(given).name == "InlineSourceRuntimeError"
    assert auto.RuntimeError(given).name == "RuntimeError"
    assert auto.CompilationError(given).name == "CompilationError"
    result = open_stack().workspace.pulumi_command.run(["version"], ".", {})
    assert (result.code, result.stdout, result.stderr) == (0, "v3.260.0", "")
    # A newer major version of the command would be refused by the SDK.
    assert issubclass(auto.InvalidVersionError, Exception) and not issubclass(auto.InvalidVersionError, auto.CommandError)


def test_names_of_stacks_with_organization_and_project_are_known(open_stack: Open) -> None:
    stack = open_stack()
    name = auto.fully_qualified_stack_name("organization", "shop", "dev")
    assert name == "organization/shop/dev" and auto.Stack.select(name, stack.workspace).up().summary.result == "succeeded"
    assert [row.name for row in stack.workspace.list_stacks()] == ["dev"]


def test_the_results_of_imports_have_the_code_of_the_program(open_stack: Open, memory: Memory) -> None:
    memory.things["mine-1"] = {"size": 7}
    stack = open_stack()
    resources: list[ImportResource] = [{"type": "mem:index:Thing", "name": "mine", "id": "mine-1"}]
    imported: ImportResult = stack.import_resources(resources=resources, generate_code=False)
    assert imported.generated_code == "" and "mine" in imported.stdout and not imported.stderr
    renamed: RenameResult = stack.rename("live")
    assert renamed.summary is not None and renamed.summary.kind == "resource-import"
    assert renamed.stderr == "" and "live" in renamed.stdout


Refused = Callable[[auto.LocalWorkspace], object]


REFUSED: list[tuple[Refused, str]] = [
    (lambda workspace: workspace.add_environments("dev", "base"), "does not support environments"),
    (lambda workspace: workspace.list_environments("dev"), "does not support environments"),
    (lambda workspace: workspace.remove_environment("dev", "base"), "does not support environments"),
    (lambda workspace: workspace.org_get_default(), "do not support organizations"),
    (lambda workspace: workspace.org_set_default("acme"), "unable to set a default organization"),
    (lambda workspace: workspace.install_plugin("aws", "v6.0.0", kind="resource"), "no server of its archive is known"),
    (
        lambda workspace: workspace.new(
            "python",
            ai="a shop",
            config=["a=b"],
            config_path=True,
            description="A shop.",
            dir="shop",
            force=True,
            generate_only=True,
            language="python",
            list_templates=True,
            name="shop",
            offline=True,
            remote_stack_config=True,
            runtime_options=["virtualenv=venv"],
            secrets_provider="passphrase",
            stack="dev",
            template_mode=True,
            on_output=print,
        ),
        "`new` is not supported",
    ),
    (lambda workspace: workspace.cli_api.about_env(), "`about env` is not supported"),
    (lambda workspace: workspace.cli_api.state_edit(), "`state edit` is not supported"),
    (lambda workspace: workspace.cli_api.state_upgrade(), "`state upgrade` is not supported"),
    (lambda workspace: workspace.cli_api.about(logflow=True, transitive=True), "unknown flag: --transitive"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_the_engine_does_not_have_is_refused(open_stack: Open, call: Refused, text: str) -> None:
    with pytest.raises(auto.CommandError, match=text):
        call(local(open_stack()))


StackCall = Callable[[auto.Stack], object]


ENVIRONMENTS: list[StackCall] = [
    lambda stack: stack.add_environments("base"),
    lambda stack: stack.list_environments(),
    lambda stack: stack.remove_environment("base"),
]


@pytest.mark.parametrize("call", ENVIRONMENTS)
def test_environments_of_stacks_are_refused(open_stack: Open, call: StackCall) -> None:
    with pytest.raises(auto.CommandError, match="does not support environments"):
        call(open_stack())


def remote() -> tuple[auto.RemoteWorkspaceOptions, auto.RemoteGitAuth]:
    image = ExecutorImage("example/image", credentials=DockerImageCredentials(username="me", password="hush"))
    options = auto.RemoteWorkspaceOptions(
        env_vars={"TOKEN": auto.Secret("hush"), "REGION": "eu"},
        pre_run_commands=["make"],
        skip_install_dependencies=True,
        executor_image=image,
        inherit_settings=True,
    )
    return options, auto.RemoteGitAuth(
        ssh_private_key_path="key",
        ssh_private_key="hush",
        password="hush",
        personal_access_token="hush",
        username="me",
    )


Remote = Callable[[auto.RemoteWorkspaceOptions, auto.RemoteGitAuth], auto.RemoteStack]


REMOTE: list[Remote] = [
    lambda opts, auth: auto.create_remote_stack_git_source(
        "a/b/c", "https://example.com/x.git", branch="main", commit_hash="1", project_path="p", auth=auth, opts=opts
    ),
    lambda opts, auth: auto.select_remote_stack_git_source(
        "a/b/c", "https://example.com/x.git", branch="main", commit_hash="1", project_path="p", auth=auth, opts=opts
    ),
    lambda opts, auth: auto.create_or_select_remote_stack_git_source(
        "a/b/c", "https://example.com/x.git", branch="main", commit_hash="1", project_path="p", auth=auth, opts=opts
    ),
]


@pytest.mark.parametrize("create", REMOTE)
def test_remote_workspaces_are_refused(create: Remote) -> None:
    with pytest.raises(sw.InvalidInputError, match="remote workspaces run on the Pulumi service") as caught:
        create(*remote())
    assert "hush" not in str(caught.value)


def test_stacks_with_the_interface_of_remote_ones_forward_to_this_engine(open_stack: Open) -> None:
    stack = auto.RemoteStack(open_stack())
    lines: list[str] = []
    events: list[auto.EngineEvent] = []
    on_output: auto.OnOutput = lines.append
    on_event: auto.OnEvent = events.append
    assert stack.name == "dev" and stack.preview(on_output=on_output, on_event=on_event).change_summary == {"create": 3}
    up = stack.up(on_output=on_output, on_event=on_event)
    changes: auto.OpMap = up.summary.resource_changes or {}
    assert changes == {auto.OpType.CREATE: 3} and stack.outputs()["password"].value == "hunter2"
    stack.refresh(on_output=on_output, on_event=on_event)
    assert [row.kind for row in stack.history(page_size=1, page=1)] == ["refresh"]
    stack.import_stack(stack.export_stack())
    stack.cancel()
    assert stack.destroy(on_output=on_output, on_event=on_event).summary.result == "succeeded"
    ends = [event for event in events if event.cancel_event is not None]
    assert len(ends) == 4 and [line for line in lines if line.startswith("Destroying (dev)")]


def test_a_line_ends_only_where_the_executable_ends_one(open_stack: Open) -> None:
    stack = open_stack()
    odd = "a\x85b\u2028c\x0bd"
    stack.set_config("odd", auto.ConfigValue(odd))
    assert stack.get_config("odd").value == odd
    stack.set_tag("odd", odd)
    assert stack.get_tag("odd") == odd


def test_a_folder_that_is_not_there_is_named(make_engine: MakeEngine, memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        auto.LocalWorkspace(work_dir=str(tmp_path / "absent"), pulumi_command=auto.Command(make_engine(mem=memory))).list_stacks()


def deployment_of(stack: auto.Stack) -> Mapping[str, Any]:
    deployment = stack.export_stack().deployment
    assert deployment is not None
    return deployment


def test_an_import_removes_pending_operations_with_a_warning(open_stack: Open) -> None:
    stack = open_stack()
    stack.up()
    deployment = dict(deployment_of(stack))
    record = next(record for record in deployment["resources"] if record["urn"].endswith("::size"))
    deployment["pending_operations"] = [{"type": "creating", "resource": record}]
    warned: list[str] = []
    workspace = local(stack)
    command = workspace.pulumi_command
    assert isinstance(command, auto.Command)
    document = json.dumps({"version": 3, "deployment": deployment}).encode()
    command.run(["stack", "import", "--stack", "dev"], workspace.work_dir, {}, on_error=warned.append, stdin=document)
    assert any(f"removing pending operation 'creating' on '{record['urn']}' from snapshot" in line for line in warned)
    assert "pending_operations" not in deployment_of(stack)


def test_the_version_of_a_language_is_not_installed(open_stack: Open, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    (tmp_path / ".python-version").write_text("3.12\n")
    workspace = auto.LocalWorkspace(work_dir=str(tmp_path), pulumi_command=local(open_stack()).pulumi_command)
    with pytest.raises(auto.CommandError, match="does not install the version of the language that `.python-version` names"):
        workspace.install(no_plugins=True, use_language_version_tools=True)
