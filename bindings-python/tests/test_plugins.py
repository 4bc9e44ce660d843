"""Installed plugins: listing, installing and removing them, and downloads on demand."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
import stackwright as sw
from stackwright import sync

from archive_server import archive, archive_server, sha256


def test_a_plugin_is_installed_from_a_file_listed_and_removed(tmp_path: Path) -> None:
    cache, file = tmp_path / "plugins", tmp_path / "shop.tar.gz"
    file.write_bytes(archive("shop", "shelf"))

    async def run() -> None:
        async with sw.Engine(store="memory://", plugins=sw.Plugins(cache=cache)) as engine:
            assert await engine.plugins() == []
            installed = await engine.install_plugin("shop", "1.0.0", file=file, checksum=sha256(file.read_bytes()))
            folder = cache / "resource-shop-v1.0.0"
            assert (installed.kind, installed.name, installed.version) == ("resource", "shop", "1.0.0")
            assert (installed.path, installed.size) == (str(folder), 5)
            assert installed.installed is not None and installed.last_used is not None
            assert os.access(folder / "pulumi-resource-shop", os.X_OK)
            await engine.install_plugin("shop", "v2.0.0", file=str(file))
            assert [plugin.version for plugin in await engine.plugins("shop")] == ["1.0.0", "2.0.0"]
            assert [plugin.version for plugin in await engine.plugins(versions=">=1.5.0")] == ["2.0.0"]
            assert await engine.plugins(kind="tool") == await engine.plugins("other") == []
            removed = await engine.remove_plugin("shop", "<2.0.0")
            assert [plugin.version for plugin in removed] == ["1.0.0"]
            assert not folder.exists()

    asyncio.run(run())


def test_a_download_reports_its_progress_and_a_wrong_checksum_installs_nothing(tmp_path: Path) -> None:
    content = archive("shop", "shelf")
    with archive_server() as server, sync.Engine(
        store="memory://", plugins=sw.Plugins(cache=tmp_path / "plugins", server=server.url)
    ) as engine:
        server.archives["/pulumi-resource-shop-v1.0.0-"] = content
        with pytest.raises(sw.PluginError) as caught:
            engine.install_plugin("shop", "1.0.0", checksum="0" * 64)
        assert sha256(content) in str(caught.value) and "0" * 64 in str(caught.value)
        assert engine.plugins() == []
        seen: list[sw.PluginProgress] = []
        engine.install_plugin("shop", "1.0.0", checksum=sha256(content), on_progress=seen.append)
        assert [progress.stage for progress in seen] == ["downloading", "downloading", "unpacking", "unpacking", "installed"]
        assert [progress.bytes for progress in seen] == [0, len(content), 0, len(content), 0]
        assert {progress.total for progress in seen[:4]} == {len(content)}
        kept = engine.install_plugin("shop", "1.0.0")
        assert len(server.asked) == 2 and kept.version == "1.0.0"
        engine.install_plugin("shop", "1.0.0", server=f"{server.url}/", reinstall=True)
        assert len(server.asked) == 3


def test_what_a_progress_function_raises_is_raised_after_the_installation(tmp_path: Path) -> None:
    file = tmp_path / "shop.tar.gz"
    file.write_bytes(archive("shop", "shelf"))

    def fail(progress: sw.PluginProgress) -> None:
        raise LookupError(progress.stage)

    with sync.Engine(store="memory://", plugins=sw.Plugins(cache=tmp_path / "plugins")) as engine:
        with pytest.raises(LookupError, match="unpacking"):
            engine.install_plugin("shop", "1.0.0", file=file, on_progress=fail)
        assert len(engine.plugins()) == 1


def test_wrong_requests_are_refused_by_name(tmp_path: Path) -> None:
    with sync.Engine(store="memory://") as engine:
        with pytest.raises(sw.InvalidInputError, match="no folder of installed plugins") as caught:
            engine.plugins()
        assert any("cache" in hint for hint in caught.value.hints)
    with sync.Engine(store="memory://", plugins=sw.Plugins(cache=tmp_path)) as engine:
        with pytest.raises(sw.InvalidInputError, match="takes one of file, url and server"):
            engine.install_plugin("shop", "1.0.0")
        with pytest.raises(sw.InvalidInputError, match="takes one of file, url and server"):
            engine.install_plugin("shop", "1.0.0", url="https://example.com", file="shop.tar.gz")
        with pytest.raises(sw.InvalidInputError, match="no semantic version"):
            engine.install_plugin("shop", "newest", file="shop.tar.gz")
        with pytest.raises(sw.InvalidInputError, match="the name of a plugin"):
            engine.install_plugin("../shop", "1.0.0", file="shop.tar.gz")
        with pytest.raises(sw.InvalidInputError, match="its scheme ftp is not supported"):
            engine.install_plugin("shop", "1.0.0", url="ftp://example.com")
        with pytest.raises(sw.InvalidInputError, match="is no range of versions"):
            engine.plugins(versions="new")
        with pytest.raises(sw.NotFoundError, match="nowhere.tar.gz"):
            engine.install_plugin("shop", "1.0.0", file=tmp_path / "nowhere.tar.gz")


def test_the_usual_settings_are_those_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path))
    file = tmp_path / "shop.tar.gz"
    file.write_bytes(archive("shop", "shelf"))
    with sync.Engine(store="memory://", plugins=sw.Plugins.default()) as engine:
        installed = engine.install_plugin("shop", "1.0.0", file=file)
        assert installed.path == str(tmp_path / "plugins" / "resource-shop-v1.0.0")


def test_a_missing_plugin_is_downloaded_when_that_is_allowed(tmp_path: Path, gofiles: Path) -> None:
    content = archive("gofiles", f'#!/bin/sh\nexec "{gofiles}" "$@"\n')

    def program(ctx: sw.Context) -> None:
        inputs: dict[str, sw.PropertyValue] = {"path": str(tmp_path / "a.txt"), "content": "hello\n"}
        ctx.resource("gofiles:index:File", "file", inputs, version="1.2.3")

    with archive_server() as server:
        server.archives["/pulumi-resource-gofiles-v1.2.3-"] = content
        for download in (None, True):
            plugins = sw.Plugins(cache=tmp_path / "plugins", server=server.url, download=download)
            with sync.Engine(store="memory://", plugins=plugins) as engine:
                stack = engine.stack("shop/dev", program)
                if download is None:
                    with pytest.raises(sw.StackwrightError, match="`gofiles` in version 1.2.3 was not found"):
                        stack.up()
                    assert server.asked == []
                else:
                    events: list[sw.Event] = []
                    stack.up(on_event=events.append)
                    assert (tmp_path / "a.txt").read_text() == "hello\n" and len(server.asked) == 1
                    progress = [event for event in events if isinstance(event, sw.ProgressEvent)]
                    assert {event.type for event in progress} == {"plugin-download", "plugin-install"}
                    assert {event.id for event in progress} == {"resource-gofiles-v1.2.3"}
                    assert progress[1].received == progress[1].total == len(content) and progress[1].done
                    assert progress[-1].type == "plugin-install" and progress[-1].done


def test_all_missing_plugins_of_a_state_are_named_before_anything_changes(tmp_path: Path) -> None:
    calls: list[str] = []

    class Mem(sw.Provider):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            return sw.CreateResult(request.name, request.inputs)

        def delete(self, request: sw.DeleteRequest) -> None:
            calls.append(request.name)

    def program(ctx: sw.Context) -> None:
        for package in ("mem", "first", "second"):
            ctx.resource(f"{package}:index:Thing", package, {})

    store = f"file://{tmp_path}"
    with sync.Engine(store=store, providers={"mem": Mem(), "first": Mem(), "second": Mem()}) as engine:
        engine.stack("shop/dev", program).up()
    with sync.Engine(store=store, providers={"mem": Mem()}) as engine:
        stack = engine.stack("shop/dev")
        for operation in (stack.destroy, stack.refresh):
            with pytest.raises(sw.PluginError) as caught:
                operation()
            assert "plugins of 2 providers in the state are missing; nothing was changed" in str(caught.value)
            assert caught.value.result is not None
            missing = [diagnostic.message for diagnostic in caught.value.result.diagnostics if "was not found" in diagnostic.message]
            assert len(missing) == 2
            assert all(any(f"`{name}`" in message for message in missing) for name in ("first", "second"))
            assert calls == []
        urn = next(record.urn for record in stack.resources() if record.urn.endswith("::mem"))
        stack.destroy(targets=[urn])
        assert calls == ["mem"]
