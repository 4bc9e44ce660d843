"""Plugins over the Automation API: installed from files and servers, for a project, and on demand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pulumi
import pytest
from stackwright import automation as auto

from archive_server import ArchiveServer, archive, archive_server, sha256
from automation_support import environment

OVERRIDES = "PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES"


def workspace_of(tmp_path: Path, variables: dict[str, str], runtime: Any = "python") -> auto.LocalWorkspace:
    folder = tmp_path / "project"
    folder.mkdir(exist_ok=True)
    return auto.LocalWorkspace(
        work_dir=str(folder),
        pulumi_home=variables["PULUMI_HOME"],
        project_settings=auto.ProjectSettings(name="shop", runtime=runtime),
        env_vars=variables,
    )


def shop_server(server: ArchiveServer, name: str = "shop") -> bytes:
    content = archive(name, "shelf")
    server.archives[f"/pulumi-resource-{name}-v1.0.0-"] = content
    return content


def versions(workspace: auto.LocalWorkspace) -> list[str]:
    return [f"{plugin.name}-{plugin.version}" for plugin in workspace.list_plugins()]


def test_a_plugin_is_installed_from_a_server_once(environment: dict[str, str], tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path, environment)
    with archive_server() as server:
        shop_server(server)
        for _ in range(2):
            workspace.install_plugin_from_server("shop", "v1.0.0", server.url)
        assert len(server.asked) == 1
        assert versions(workspace) == ["shop-1.0.0"]
        # One that is there needs no server.
        workspace.install_plugin("shop", "v1.0.0")
        workspace.remove_plugin("shop", "1.0.0")
        assert versions(workspace) == []


def test_a_plugin_is_installed_from_the_server_of_the_environment(environment: dict[str, str], tmp_path: Path) -> None:
    with archive_server() as server:
        shop_server(server)
        workspace = workspace_of(tmp_path, {**environment, OVERRIDES: f"^other$=http://127.0.0.1:1,^shop$={server.url}"})
        workspace.install_plugin("shop", "v1.0.0", kind="resource")
        assert versions(workspace) == ["shop-1.0.0"]
        with pytest.raises(auto.CommandError, match=r"\[resource plugin files-1.0.0\] is not installed: no server"):
            workspace.install_plugin("files", "v1.0.0")


def test_failed_downloads_and_wrong_checksums_have_the_texts_of_the_command(
    environment: dict[str, str], tmp_path: Path
) -> None:
    workspace = workspace_of(tmp_path, environment)
    with archive_server() as server:
        with pytest.raises(auto.CommandError) as caught:
            workspace.install_plugin_from_server("shop", "1.0.0", server.url)
        text = str(caught.value)
        assert "[resource plugin shop-1.0.0] installing\n" in text
        assert "warning: Error downloading plugin: " in text and "Will retry in 80ms [1/5]\n" in text
        failed = "failed to download plugin: shop-1.0.0: failed all 5 attempts"
        assert f"error: [resource plugin shop-1.0.0] downloading from {server.url}: {failed}" in text
        assert len(server.asked) == 5
        content = shop_server(server)
        command = ["plugin", "install", "resource", "shop", "1.0.0", "--server", server.url, "--checksum"]
        run = workspace.pulumi_command.run
        with pytest.raises(auto.CommandError, match=f"{sha256(content)} instead of {'0' * 64}"):
            run([*command, "0" * 64], workspace.work_dir, environment)
        assert versions(workspace) == []
        run([*command, sha256(content), "--exact"], workspace.work_dir, environment)
        run([*command, sha256(content), "--reinstall"], workspace.work_dir, environment)
        assert len(server.asked) == 8


def test_the_plugins_of_a_project_are_installed(environment: dict[str, str], tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    with archive_server() as server:
        for name, own in (("shop", server.url), ("files", "")):
            (packages / f"pulumi_{name}").mkdir(parents=True)
            manifest = {"resource": True, "name": name, "version": "1.0.0", "server": own}
            (packages / f"pulumi_{name}" / "pulumi-plugin.json").write_text(json.dumps(manifest))
            shop_server(server, name)
        interpreter = tmp_path / "python"
        interpreter.write_text(f"#!/bin/sh\necho '{json.dumps([str(packages)])}'\n")
        interpreter.chmod(0o755)
        python = {**environment, "PULUMI_PYTHON_CMD": str(interpreter)}
        workspace = workspace_of(tmp_path, {**python, OVERRIDES: "^nothing$=http://127.0.0.1:1"})
        with pytest.raises(auto.CommandError, match=r"plugins of the project are not installed: .*\[resource plugin files-1.0.0\]"):
            workspace.install(no_dependencies=True)
        assert versions(workspace) == []
        workspace = workspace_of(tmp_path, {**python, OVERRIDES: f".={server.url}"})
        for reinstall in (False, True, False):
            workspace.install(no_dependencies=True, reinstall=reinstall)
        assert versions(workspace) == ["files-1.0.0", "shop-1.0.0"]
        assert sorted(path.split("-v")[0] for path in server.asked) == [
            "/pulumi-resource-files",
            "/pulumi-resource-files",
            "/pulumi-resource-shop",
            "/pulumi-resource-shop",
        ]


class File(pulumi.CustomResource):
    def __init__(self, name: str, path: str, server: str) -> None:
        options = pulumi.ResourceOptions(version="1.2.3", plugin_download_url=server)
        super().__init__("gofiles:index:File", name, {"path": path, "content": "hello\n"}, options)


def test_a_missing_plugin_is_downloaded_on_demand_unless_that_is_disabled(
    environment: dict[str, str], tmp_path: Path, gofiles: Path
) -> None:
    with archive_server() as server:
        server.archives["/pulumi-resource-gofiles-v1.2.3-"] = archive("gofiles", f'#!/bin/sh\nexec "{gofiles}" "$@"\n')

        def program() -> None:
            File("file", str(tmp_path / "a.txt"), server.url)

        def stack_of(variables: dict[str, str]) -> auto.Stack:
            opts = auto.LocalWorkspaceOptions(pulumi_home=variables["PULUMI_HOME"], env_vars=variables)
            return auto.create_or_select_stack("dev", project_name="shop", program=program, opts=opts)

        disabled = {**environment, "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true"}
        with pytest.raises(auto.CommandError, match="no resource plugin 'pulumi-resource-gofiles' found"):
            stack_of(disabled).up()
        assert server.asked == []
        lines: list[str] = []
        stack_of(environment).up(on_error=lines.append)
        assert (tmp_path / "a.txt").read_text() == "hello\n"
        assert len(server.asked) == 1 and "[resource plugin gofiles-1.2.3] installing" in "".join(lines)


def test_a_plugin_at_a_path_of_the_project_file_serves_its_version(environment: dict[str, str], tmp_path: Path, gofiles: Path) -> None:
    folder = tmp_path / "project"
    (folder / "bin").mkdir(parents=True)
    started = tmp_path / "started"

    def write_project(version: str, path: str = "bin") -> None:
        entry = {"name": "gofiles", "path": path, "version": version}
        project = {"name": "shop", "runtime": "python", "plugins": {"providers": [entry]}}
        (folder / "Pulumi.yaml").write_text(json.dumps(project))

    def stack() -> auto.Stack:
        opts = auto.LocalWorkspaceOptions(work_dir=str(folder), pulumi_home=environment["PULUMI_HOME"], env_vars=environment)
        return auto.create_or_select_stack("dev", project_name="shop", program=program, opts=opts)

    def program() -> None:
        File("file", str(tmp_path / "a.txt"), "")

    write_project("1.2.3")
    # A command that only reads does not start the plugin, and does not look for it.
    assert stack().outputs() == {}
    with pytest.raises(auto.CommandError, match=rf"{folder}/bin/pulumi-resource-gofiles"):
        stack().up()
    plugin = folder / "bin" / "pulumi-resource-gofiles"
    plugin.write_text(f'#!/bin/sh\necho started >> "{started}"\nexec "{gofiles}" "$@"\n')
    plugin.chmod(0o755)
    assert stack().up().summary.resource_changes == {"create": 1, "same": 1}
    assert (tmp_path / "a.txt").read_text() == "hello\n"
    count = len(started.read_text().splitlines())
    assert count >= 1
    write_project("1.2.4")
    with pytest.raises(auto.CommandError, match="no resource plugin 'pulumi-resource-gofiles' found"):
        stack().up()
    assert len(started.read_text().splitlines()) == count
    write_project("v1.2.3", path=str(folder / "bin"))
    assert stack().destroy().summary.resource_changes == {"delete": 2}
    assert not (tmp_path / "a.txt").exists()
