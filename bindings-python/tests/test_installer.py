"""Installers in Python: the host installs plugins on demand."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import stackwright as sw
from stackwright import sync


class Installing(sw.PluginInstaller):
    """Links a plugin into a cache, and records its calls."""

    def __init__(self, cache: Path, executable: Path) -> None:
        self.cache = cache
        self.executable = executable
        self.asked: list[str] = []

    def note(self, question: str, plugin: sw.ResolutionRequest) -> None:
        assert plugin.kind == "resource"
        self.asked.append(f"{question} {plugin.name} {plugin.version}")

    def is_installed(self, plugin: sw.ResolutionRequest) -> bool:
        self.note("installed?", plugin)
        return False

    def latest_version(self, plugin: sw.ResolutionRequest) -> str | None:
        self.note("latest", plugin)
        return "v1.2.3"

    def install(self, plugin: sw.ResolutionRequest) -> bool | None:
        self.note("install", plugin)
        if plugin.name != "gofiles":
            return False
        folder = self.cache / f"resource-{plugin.name}-v{plugin.version}"
        folder.mkdir(parents=True)
        (folder / self.executable.name).symlink_to(self.executable)
        return None


class InstallingAsync:
    """An installer with an ``async`` ``install`` and no other method."""

    def __init__(self, inner: Installing) -> None:
        self.inner = inner

    async def install(self, plugin: sw.ResolutionRequest) -> bool | None:
        await asyncio.sleep(0)
        folder = self.inner.cache / f"resource-{plugin.name}"
        folder.mkdir(parents=True)
        (folder / self.inner.executable.name).symlink_to(self.inner.executable)
        self.inner.note("install", plugin)
        return True


@pytest.mark.parametrize("is_async", [False, True])
def test_a_plugin_is_installed_on_demand_once_for_all_its_resources(
    tmp_path: Path, gofiles: Path, is_async: bool
) -> None:
    inner = Installing(tmp_path / "plugins", gofiles)
    installer = InstallingAsync(inner) if is_async else inner

    def program(ctx: sw.Context) -> None:
        for number in range(10):
            inputs: dict[str, sw.PropertyValue] = {"path": str(tmp_path / f"{number}.txt"), "content": "hello\n"}
            provider = ctx.provider("gofiles", f"explicit-{number}", {}) if number % 2 else None
            ctx.resource("gofiles:index:File", f"file-{number}", inputs, provider=provider)

    async def run() -> None:
        plugins = sw.Plugins(cache=tmp_path / "plugins")
        async with sw.Engine(store="memory://", plugins=plugins, installer=installer) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
            assert (tmp_path / "9.txt").read_text() == "hello\n"
            if is_async:
                assert inner.asked == ["install gofiles None"]
            else:
                assert inner.asked == ["installed? gofiles None", "latest gofiles None", "install gofiles 1.2.3"]
            await stack.destroy()
            assert not (tmp_path / "9.txt").exists()

    asyncio.run(run())


def test_plugins_of_recorded_providers_are_installed_beforehand_unless_skipped(tmp_path: Path, gofiles: Path) -> None:
    store = f"file://{tmp_path}/state"

    def program(ctx: sw.Context) -> None:
        ctx.resource("gofiles:index:File", "file", {"path": str(tmp_path / "a.txt"), "content": ""})

    def nothing(ctx: sw.Context) -> None:
        pass

    with sync.Engine(store=store, plugins=sw.Plugins(directories=[gofiles.parent])) as engine:
        engine.stack("shop/dev", program).up()
    asked: list[str] = []

    def decline(plugin: sw.ResolutionRequest) -> bool:
        asked.append(plugin.name)
        return False

    with sync.Engine(store=store, installer=decline) as engine:
        stack = engine.stack("shop/dev", nothing)
        for skip, times in ((False, 2), (True, 1)):
            with pytest.raises(sw.StackwrightError, match="the resource plugin `gofiles` was not found"):
                stack.refresh(skip_plugin_pre_install=skip)
            assert asked == ["gofiles"] * times
            asked.clear()


def test_errors_keep_the_message_of_an_installers_error_and_name_its_omissions() -> None:
    def program(ctx: sw.Context) -> None:
        ctx.resource("gofiles:index:File", "file", {})

    class Failing:
        def is_installed(self, plugin: sw.ResolutionRequest) -> bool:
            raise LookupError("The Mirror is down! {} %s")

    class Idle:
        def latest_version(self, plugin: sw.ResolutionRequest) -> str:
            return "2.0.0"

        def install(self, plugin: sw.ResolutionRequest) -> None:
            pass

    class Wrong:
        def latest_version(self, plugin: sw.ResolutionRequest) -> str:
            return "newest"

    for installer, expected in (
        (Failing(), "The Mirror is down! {} %s"),
        (
            Idle(),
            "the resource plugin 'gofiles' at version v2.0.0 was installed by the host, but is not where the engine looks"
            " for plugins",
        ),
        (Wrong(), "the latest version of the resource plugin 'gofiles' is \"newest\", which is no version"),
    ):
        with sync.Engine(store="memory://", installer=installer) as engine:
            with pytest.raises(sw.StackwrightError) as caught:
                engine.stack("shop/dev", program).up()
            assert caught.value.result is not None
            messages = [diagnostic.message for diagnostic in caught.value.result.diagnostics]
            assert any(expected in message for message in messages), messages


def test_invalid_installers_are_refused() -> None:
    with pytest.raises(sw.InvalidInputError, match="none of the methods is_installed, latest_version, install"):
        sw.Engine(store="memory://", installer=object())  # type: ignore[arg-type]
    with pytest.raises(sw.InvalidInputError, match="pass an instance"):
        sw.Engine(store="memory://", installer=Installing)  # type: ignore[arg-type]
    with pytest.raises(sw.InvalidInputError, match="none of the methods"):
        sw.Engine(store="memory://", installer=sw.PluginInstaller())
