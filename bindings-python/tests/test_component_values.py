"""Assets, archives and references to resources as inputs of components in plugins that a Pulumi SDK hosts, and as their outputs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import Memory, Vault, on_loop, package_of, served, states

pulumi = pytest.importorskip("pulumi")

NAMES = ("file", "files", "owner", "later")


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def own_program(package: str, text: Callable[[], str], path: Path) -> sw.Program:
    async def program(ctx: sw.Context) -> None:
        source = ctx.resource("things:index:Thing", "source", {"file": sw.Asset(text="of the source")})
        inside = sw.Archive(assets={"b.txt": sw.Asset(text="b")})
        inputs = {
            "file": sw.Asset(text=text()),
            "files": sw.Archive(assets={"a.txt": sw.Asset(path=path), "in": inside}),
            "owner": source,
            "later": source["file"],
        }
        crate = ctx.remote_component(f"{package}:index:Crate", "crate", inputs)
        for name in NAMES:
            ctx.export(name, crate[name])

    return program


class Source(pulumi.CustomResource):  # type: ignore[misc, name-defined]
    file: Any

    def __init__(self) -> None:
        super().__init__("things:index:Thing", "source", {"file": pulumi.StringAsset("of the source")})


class Crate(pulumi.ComponentResource):  # type: ignore[misc, name-defined]
    """The component as a program of the SDK sees it."""

    def __init__(self, package: str, inputs: dict[str, Any]) -> None:
        super().__init__(f"{package}:index:Crate", "crate", inputs, None, remote=True)


def sdk_program(package: str, text: Callable[[], str], path: Path) -> sw.Program:
    def program() -> None:
        source = Source()
        inside = pulumi.AssetArchive({"b.txt": pulumi.StringAsset("b")})
        inputs = {
            "file": pulumi.StringAsset(text()),
            "files": pulumi.AssetArchive({"a.txt": pulumi.FileAsset(str(path)), "in": inside}),
            "owner": source,
            "later": source.file,
        }
        crate = Crate(package, inputs)
        for name in NAMES:
            pulumi.export(name, getattr(crate, name))

    return program


@pytest.mark.parametrize("written", [own_program, sdk_program], ids=["own", "sdk"])
@pytest.mark.parametrize("package", ["pybox", "gobox", "tsbox"])
@on_loop
async def test_files_archives_and_references_reach_the_component_and_come_back(
    tmp_path: Path, memory: Memory, request: pytest.FixtureRequest, package: str, written: Any
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("from a file")
    text = "first"
    async with sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory},
        **served({package: request.getfixturevalue(package)}),
    ) as engine:
        stack = await engine.stack("shop/dev", written(package, lambda: text, path))
        preview = await stack.preview()
        # The stack, the source, the crate and its content; outputs of the source are not known yet.
        assert preview.changes == {"create": 4} and memory.things == {}

        made = await stack.up()
        known = states(await stack.export_deployment())
        source, content = known["source"], known["crate-content"]
        inputs = content["inputs"]
        assert content["parent"] == known["crate"]["urn"]
        assert (inputs["file"]["text"], inputs["file"]["hash"]) == ("first", sha("first"))
        assert (inputs["later"]["text"], inputs["later"]["hash"]) == ("of the source", sha("of the source"))
        assert inputs["files"]["assets"]["a.txt"]["hash"] == sha("from a file")
        assert inputs["files"]["assets"]["in"]["assets"]["b.txt"]["text"] == "b"
        assert (inputs["owner"]["urn"], inputs["owner"]["id"]) == (source["urn"], source["id"])
        assert source["urn"] in content["dependencies"]
        # The host for Go finds the sources of an input in its value alone, where the SDK of the program states only outputs.
        stated = ["later"] if package == "gobox" and written is sdk_program else ["owner", "later"]
        for name in stated:
            assert content["propertyDependencies"][name] == [source["urn"]]

        # The provider of the thing below the component gets values of their kinds.
        given = memory.things[content["id"]]
        assert given["file"] == sw.Asset(text="first", hash=sha("first"))
        assert isinstance(given["files"], sw.Archive) and set(given["files"].assets or {}) == {"a.txt", "in"}
        assert given["owner"] == sw.ResourceReference(source["urn"], source["id"])

        # The program gets them back, and they are the outputs of the stack.
        assert made.outputs["file"].value == sw.Asset(text="first", hash=sha("first"))
        assert made.outputs["later"].value == sw.Asset(text="of the source", hash=sha("of the source"))
        files = made.outputs["files"].value
        assert isinstance(files, sw.Archive) and set(files.assets or {}) == {"a.txt", "in"}
        # The SDK makes an id of a reference to a resource whose package the program has not loaded.
        reference = sw.ResourceReference(source["urn"], source["id"])
        assert made.outputs["owner"].value == (source["id"] if written is sdk_program else reference)
        assert not any(output.secret for output in made.outputs.values())

        assert set((await stack.up()).changes) == {"same"}
        text = "second"
        path.write_text("changed on disk")
        changed = await stack.up()
        assert memory.calls[-1] == ("update", "crate-content") and changed.changes["update"] >= 1
        inputs = states(await stack.export_deployment())["crate-content"]["inputs"]
        assert inputs["file"]["hash"] == sha("second")
        assert inputs["files"]["assets"]["a.txt"]["hash"] == sha("changed on disk")
        await stack.destroy()
        assert memory.things == {}


class Kept(pulumi.ComponentResource):  # type: ignore[misc, name-defined]
    """A crate whose outputs another resource uses."""

    later: Any
    content: Any

    def __init__(self, package: str, inputs: dict[str, Any]) -> None:
        super().__init__(f"{package}:index:Crate", "crate", {**inputs, "content": None}, None, remote=True)


def own_user(package: str) -> sw.Program:
    async def program(ctx: sw.Context) -> None:
        source = ctx.resource("things:index:Thing", "source", {"file": sw.Asset(text="of the source")})
        inputs = {"file": sw.Asset(text="a"), "files": sw.Archive(assets={}), "owner": source, "later": source["file"]}
        crate = ctx.remote_component(f"{package}:index:Crate", "crate", inputs)
        ctx.resource("things:index:Thing", "user", {"content": crate["content"], "later": crate["later"]})

    return program


def sdk_user(package: str) -> sw.Program:
    def program() -> None:
        source = Source()
        inputs = {"file": pulumi.StringAsset("a"), "files": pulumi.AssetArchive({}), "owner": source, "later": source.file}
        crate = Kept(package, inputs)
        pulumi.CustomResource("things:index:Thing", "user", {"content": crate.content, "later": crate.later})

    return program


@pytest.mark.parametrize("written", [own_user, sdk_user], ids=["own", "sdk"])
@pytest.mark.parametrize("host", ["pybox", "tsbox", "gobox", "gobox_newest"])
@on_loop
async def test_what_uses_an_output_of_a_component_depends_on_the_child_that_it_comes_from(
    tmp_path: Path, memory: Memory, request: pytest.FixtureRequest, host: str, written: Any
) -> None:
    package, command = package_of(host, request)
    async with sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory},
        **served({package: command}),
    ) as engine:
        stack = await engine.stack("shop/dev", written(package))
        await stack.up()
        known = states(await stack.export_deployment())
        assert known["user"]["inputs"]["content"] == known["crate-content"]["id"]
        by_property = known["user"]["propertyDependencies"]
        # The library of providers for Go leaves out where outputs come from.
        sent = package != "gobox"
        urns = {name: known[name]["urn"] for name in ("crate", "crate-content", "source")}
        assert set(by_property["content"]) == {urns["crate"], *([urns["crate-content"]] if sent else [])}
        assert set(by_property["later"]) == {urns["crate"], *([urns["source"]] if sent else [])}
