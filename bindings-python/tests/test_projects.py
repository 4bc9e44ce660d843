"""Projects: files of a real folder, which keep their bytes where nothing is changed; stacks that take their settings from there."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
import stackwright as sw
from stackwright import sync

PROJECT = """\
# the shop
name: shop
runtime:
  name: python
  options:
    virtualenv: venv # kept
description: 'Sells things' # short
config:
  size: {type: integer, default: 3} # pieces
  token:
    type: string
    secret: true
  zone: {type: string}
"""

SETTINGS = """\
# settings of dev
config:
  # where
  aws:region: eu # here
  aws:tags:
    owner: 'net' # quoted
    ports:
      - 80 # web
"""

PASSPHRASE = "correct horse"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text(PROJECT)
    (folder / "Pulumi.dev.yaml").write_text(SETTINGS)
    return folder


def engine_of(tmp_path: Path, passphrase: str | None = PASSPHRASE) -> sw.Engine:
    return sw.Engine(store=f"file://{tmp_path / 'state'}", passphrase=passphrase)


def test_a_change_of_the_project_file_keeps_all_other_bytes(tmp_path: Path, folder: Path) -> None:
    async def run() -> None:
        async with engine_of(tmp_path) as engine:
            project = await engine.project(folder)
            assert os.fspath(project) == project.folder == str(folder)
            facts = await project.facts()
            assert (facts.name, facts.runtime, facts.runtime_options) == ("shop", "python", {"virtualenv": "venv"})
            assert (facts.description, facts.main, facts.path) == ("Sells things", None, str(folder / "Pulumi.yaml"))
            size, token, zone = facts.config
            assert (size.key, size.type, size.default, size.secret) == ("shop:size", "integer", 3, False)
            assert (token.key, token.type, token.default, token.secret) == ("shop:token", "string", None, True)
            assert (zone.key, zone.type) == ("shop:zone", "string")
            assert facts.document["description"] == "Sells things"
            await project.set("config.size.default", 4)
            await project.set("author", "me")
            assert (folder / "Pulumi.yaml").read_text() == PROJECT.replace("default: 3", "default: 4") + "author: me\n"
            assert await project.remove("author") and not await project.remove("author")
            await project.set("config.size.default", 3)
            assert (folder / "Pulumi.yaml").read_text() == PROJECT
            with pytest.raises(sw.InvalidInputError):
                await project.set("name", "no name!")
            with pytest.raises(sw.InvalidInputError, match="value"):
                await project.set("author", object())
            assert (folder / "Pulumi.yaml").read_text() == PROJECT

    asyncio.run(run())


def test_configuration_is_set_listed_and_removed_with_all_other_bytes_kept(tmp_path: Path, folder: Path) -> None:
    async def run() -> None:
        async with engine_of(tmp_path) as engine:
            project = await engine.project(folder)
            await project.set_config("dev", "aws:tags.ports[0]", "8080")
            await project.set_all_config("shop/dev", {"zone": "a", "aws:tags.ports[1]": "443"})
            changed = SETTINGS.replace("- 80 # web\n", "- 8080 # web\n      - 443\n") + "  shop:zone: a\n"
            assert (folder / "Pulumi.dev.yaml").read_text() == changed
            tags = await project.get_config("dev", "aws:tags")
            assert tags == sw.ConfigEntry(
                value='{"owner":"net","ports":[8080,443]}', object_value={"owner": "net", "ports": [8080, 443]}, secret=False
            )
            listed = await project.list_config("dev")
            assert {key: entry.value for key, entry in listed.items() if entry.object_value is None} == {
                "aws:region": "eu",
                "shop:size": "3",
                "shop:zone": "a",
            }
            assert await project.remove_config("dev", ["zone", "aws:tags.ports[1]", "nothing"]) == 2
            await project.set_config("dev", "aws:tags.ports[0]", 80)
            assert (folder / "Pulumi.dev.yaml").read_text() == SETTINGS
            with pytest.raises(sw.NotFoundError, match="configuration key 'zone' not found for stack 'dev'"):
                await project.get_config("dev", "zone")
            with pytest.raises(sw.InvalidInputError, match="doesn't match Pulumi.yaml"):
                await project.get_config("other/dev", "zone")
            with pytest.raises(sw.InvalidInputError, match="values takes a dictionary"):
                await project.set_all_config("dev", [])  # type: ignore[arg-type]
            with pytest.raises(sw.InvalidInputError, match="null is no value"):
                await project.set_config("dev", "zone", None)
            with pytest.raises(sw.InvalidInputError, match="zone is or holds"):
                await project.set_config("dev", "zone", object())
            assert (folder / "Pulumi.dev.yaml").read_text() == SETTINGS

    asyncio.run(run())


def test_secrets_are_encrypted_and_shown_only_when_asked_for(tmp_path: Path, folder: Path) -> None:
    async def run() -> None:
        async with engine_of(tmp_path) as engine, engine_of(tmp_path, "wrong") as wrong:
            project = await engine.project(folder)
            await project.set_config("dev", "key", "hunter2", secret=True)
            await project.set_config("dev", "token", "hunter3")
            await project.set_config("dev", "nested.password", sw.secret("hunter4"))
            text = (folder / "Pulumi.dev.yaml").read_text()
            assert text.startswith(SETTINGS[: SETTINGS.index("config:")]) and SETTINGS[SETTINGS.index("config:") :] in text
            assert "encryptionsalt: v1:" in text and "hunter" not in text
            settings = await project.settings("dev")
            assert settings.encryption_salt is not None and settings.encryption_salt in text
            assert (settings.path, settings.exists) == (str(folder / "Pulumi.dev.yaml"), True)
            assert not (await project.settings("live")).exists
            masked = await project.list_config("dev")
            assert [key for key, entry in masked.items() if entry.secret] == ["shop:key", "shop:nested", "shop:token"]
            assert all(entry.value is None for entry in masked.values() if entry.secret)
            shown = await project.list_config("dev", show_secrets=True)
            assert (shown["shop:key"].value, shown["shop:token"].value) == ("hunter2", "hunter3")
            assert shown["shop:nested"].object_value == {"password": "hunter4"}
            assert (await project.get_config("dev", "nested.password")).value == "hunter4"
            other = await wrong.project(folder)
            with pytest.raises(sw.DecryptError, match="incorrect passphrase") as refused:
                await other.set_config("dev", "key", "hunter5", secret=True)
            assert "hunter" not in str(refused.value)
            with pytest.raises(sw.DecryptError):
                await wrong.stack("dev", lambda ctx: None, project=other)
            assert (await other.get_config("dev", "key", passphrase=PASSPHRASE)).value == "hunter2"
            assert (folder / "Pulumi.dev.yaml").read_text() == text

    asyncio.run(run())


def test_a_stack_takes_configuration_defaults_and_salt_from_its_project(tmp_path: Path, folder: Path) -> None:
    seen: dict[str, object] = {}

    def program(ctx: sw.Context) -> None:
        seen.clear()
        seen.update({name: ctx.config[name] for name in ctx.config})

    async def run() -> None:
        async with engine_of(tmp_path) as engine:
            project = await engine.project(folder)
            stack = await engine.stack("dev", program, project=project, config={"own": "host"})
            assert stack.name == "shop/dev"
            with pytest.raises(sw.InvalidInputError, match="Stack 'dev' is missing configuration value.* 'token'"):
                await stack.up()
            await project.set_all_config("dev", {"token": "hunter2", "zone": "a", "size": "many"})
            with pytest.raises(sw.InvalidInputError, match="configuration key 'size' must be of type 'integer'"):
                await stack.up()
            await project.remove_config("dev", "size")
            await project.set_config("dev", "token", "hunter2", secret=False)
            with pytest.raises(sw.InvalidInputError, match="configuration key 'token' must be encrypted as it's secret") as refused:
                await stack.up()
            assert "hunter2" not in str(refused.value)
            await project.set_config("dev", "token", "hunter2")
            await stack.up()
            assert set(seen) == {"aws:region", "aws:tags", "shop:own", "shop:size", "shop:token", "shop:zone"}
            assert (seen["shop:size"], seen["shop:own"], seen["shop:zone"]) == ("3", "host", "a")
            assert seen["shop:token"] == sw.secret("hunter2")
            salt = (await project.settings("dev")).encryption_salt
            manager = (await stack.export_deployment())["deployment"]["secrets_providers"]
            assert manager == {"type": "passphrase", "state": {"salt": salt}}
            by_path = await engine.select_stack("organization/shop/dev", program, project=str(folder))
            assert (await by_path.preview()).changes == {"same": 1}
            with pytest.raises(sw.NotFoundError, match="no Pulumi.yaml"):
                await engine.stack("dev", program, project=tmp_path)
            with pytest.raises(sw.InvalidInputError, match="doesn't match"):
                await engine.stack("other/dev", program, project=project)
            with pytest.raises(sw.InvalidInputError, match="project takes the path of a folder"):
                await engine.stack("dev", program, project=5)  # type: ignore[arg-type]
            (folder / "Pulumi.yaml").write_text("name: [\n")
            with pytest.raises(sw.InvalidInputError, match="Pulumi.yaml"):
                await stack.preview()

    asyncio.run(run())


def test_tags_are_kept_with_a_stack(tmp_path: Path) -> None:
    async def run() -> None:
        async with engine_of(tmp_path) as engine:
            stack = await engine.stack("shop/dev", lambda ctx: None)
            await stack.up()
            await stack.set_tag("owner", "net")
            await stack.set_tag("tier", "1")
            await stack.set_tag("any name!", "x" * 300)
            with pytest.raises(sw.InvalidInputError, match="value takes a text"):
                await stack.set_tag("owner", 5)  # type: ignore[arg-type]
        async with engine_of(tmp_path) as engine:
            stack = await engine.select_stack("shop/dev")
            assert await stack.list_tags() == {"any name!": "x" * 300, "owner": "net", "tier": "1"}
            assert await stack.remove_tag("any name!")
            assert await stack.remove_tag("tier") and not await stack.remove_tag("tier")
            assert await stack.list_tags() == {"owner": "net"}

    asyncio.run(run())


def test_a_renamed_stack_keeps_its_settings_file_and_a_file_of_the_new_name_is_not_replaced(tmp_path: Path, folder: Path) -> None:
    async def run() -> None:
        async with engine_of(tmp_path) as engine:
            project = await engine.project(folder)
            await project.set_all_config("dev", {"token": sw.secret("hunter2"), "zone": "a"})
            text = (folder / "Pulumi.dev.yaml").read_text()
            stack = await engine.stack("dev", lambda ctx: None, project=project)
            await stack.up()
            (folder / "Pulumi.taken.yaml").write_text("config: {}\n")
            for dry_run in (True, False):
                with pytest.raises(sw.ConflictError, match="Pulumi.taken.yaml exists already"):
                    await stack.rename_stack("taken", dry_run=dry_run)
            assert [listed.name for listed in await engine.stacks()] == ["shop/dev"]
            await stack.rename_stack("live", dry_run=True)
            assert (folder / "Pulumi.dev.yaml").exists()
            await stack.rename_stack("live")
            assert not (folder / "Pulumi.dev.yaml").exists()
            assert (folder / "Pulumi.live.yaml").read_text() == text
            assert (folder / "Pulumi.taken.yaml").read_text() == "config: {}\n"
            live = await engine.stack("live", lambda ctx: None, project=project)
            assert (await live.up()).changes == {"same": 1}
            # Without the project, no file is touched.
            bare = await engine.select_stack("shop/live")
            await bare.rename_stack("bare")
            assert (folder / "Pulumi.live.yaml").exists() and not (folder / "Pulumi.bare.yaml").exists()

    asyncio.run(run())


def test_the_sync_api_has_projects_and_tags(tmp_path: Path, folder: Path) -> None:
    with sync.Engine(store=f"file://{tmp_path / 'state'}", passphrase=PASSPHRASE) as engine:
        project = engine.project(folder)
        assert (os.fspath(project), project.facts().name) == (str(folder), "shop")
        project.set("author", "me")
        assert project.remove("author")
        project.set_all_config("dev", {"token": "hunter2", "zone": "a"})
        project.set_config("dev", "size", 5)
        assert project.get_config("dev", "token").value == "hunter2"
        assert project.list_config("dev", show_secrets=True)["shop:size"].value == "5"
        assert project.settings("dev").exists
        stack = engine.stack("dev", lambda ctx: None, project=project)
        stack.up()
        stack.set_tag("owner", "net")
        assert stack.list_tags() == {"owner": "net"} and stack.remove_tag("owner")
        assert project.remove_config("dev", "size") == 1
    assert (folder / "Pulumi.yaml").read_text() == PROJECT


def test_a_closed_engine_opens_no_project(tmp_path: Path, folder: Path) -> None:
    async def run() -> None:
        engine = engine_of(tmp_path)
        project = await engine.project(folder)
        await engine.close()
        with pytest.raises(sw.InvalidInputError, match="closed"):
            await project.facts()
        with pytest.raises(sw.InvalidInputError, match="closed"):
            await engine.project(folder)

    asyncio.run(run())
