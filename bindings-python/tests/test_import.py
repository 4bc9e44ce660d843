"""Imports: existing things become resources, and the programs of the result change nothing."""

from __future__ import annotations

import json
import types
from typing import Any

import pytest

import stackwright as sw
from stackwright import sync

from conftest import on_loop

THINGS: dict[str, dict[str, Any]] = {
    "vm-1": {"size": 3, "tags": {"team": "core", "weird-key": [1, 2.5, None, True]}, "motd": 'a "quoted" \\ line\n', "token": "s3cret-token"},
    "vm-2": {"size": 4},
}

SCHEMA = {
    "name": "cloud",
    "version": "1.0.0",
    "resources": {
        "cloud:index:Machine": {
            "inputProperties": {
                "size": {"type": "integer"},
                "tags": {"type": "object"},
                "motd": {"type": "string", "default": "hello"},
                "token": {"type": "string", "secret": True},
            }
        }
    },
}


class Cloud(sw.Provider):
    """Things that exist. A creation would be a bug: imports and programs of imports create nothing."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        raise AssertionError(f"{request.urn} is created")

    def delete(self, request: sw.DeleteRequest) -> None:
        raise AssertionError(f"{request.urn} is deleted")

    def read(self, request: sw.ReadRequest) -> sw.ReadResult:
        if request.id not in THINGS:
            return sw.ReadResult(id="", inputs=None, outputs=None)
        inputs: dict[str, Any] = {**THINGS[request.id]}
        if "token" in inputs:
            inputs["token"] = sw.secret(inputs["token"])
        return sw.ReadResult(id=request.id, inputs=inputs, outputs=inputs)

    def get_schema(self, request: sw.SchemaRequest) -> str:
        return json.dumps(SCHEMA)


ROWS: list[sw.ImportResource] = [
    {"type": "cloud:index:Machine", "name": "web", "id": "vm-1", "parent": "shelf", "provider": "mine"},
    {"type": "cloud:index:Machine", "name": "class", "id": "vm-2", "parent": "web"},
    {"type": "shop:index:Shelf", "name": "shelf", "component": True},
    {"type": "pulumi:providers:cloud", "name": "mine", "inputs": {"region": "eu", "key": sw.secret("prov1der-key")}},
]


def loaded(source: str) -> Any:
    module = types.ModuleType("imported")
    exec(compile(source, "imported.py", "exec"), module.__dict__)  # noqa: S102  # the program under test
    return module.program


@on_loop
async def test_the_program_of_an_import_changes_nothing(tmp_path: Any) -> None:
    async with sw.Engine(store=f"file://{tmp_path}", passphrase="p", providers={"cloud": Cloud()}) as engine:
        stack = await engine.stack("shop/dev")
        preview = await stack.import_resources(ROWS, dry_run=True)
        assert preview.is_preview and preview.changes["import"] == 3
        result = await stack.import_resources(ROWS)
        report = result.imported
        assert report is not None
        assert [resource.outcome for resource in report.resources] == ["imported"] * 4
        assert report.resources[0].inputs["token"] == sw.secret("s3cret-token")
        assert report.resources[0].inputs["tags"] == THINGS["vm-1"]["tags"]
        assert dict(report.configuration) == {
            "shop:webToken": sw.secret("s3cret-token"),
            "shop:mineKey": sw.secret("prov1der-key"),
        }
        for text in (repr(result), repr(report), str(result), *vars_of(report.code)):
            assert "s3cret-token" not in text and "prov1der-key" not in text
        stack = await engine.stack("shop/dev", loaded(report.code.python), config=dict(report.configuration))
        update = await stack.up()
        assert update.changes == {"same": 5} and not update.has_changes


class UnmarkedCloud(Cloud):
    """Returns secrets without marks: its schema alone has them."""

    def read(self, request: sw.ReadRequest) -> sw.ReadResult:
        return sw.ReadResult(id=request.id, inputs=THINGS[request.id], outputs=THINGS[request.id])


@on_loop
async def test_what_is_secret_by_the_schema_alone_is_marked_in_the_report() -> None:
    async with sw.Engine(store="memory://", passphrase="p", providers={"cloud": UnmarkedCloud()}) as engine:
        stack = await engine.stack("shop/dev")
        result = await stack.import_resources([{"type": "cloud:index:Machine", "name": "web", "id": "vm-1"}])
        report = result.imported
        assert report is not None
        machine = report.resources[0]
        assert machine.inputs["token"] == sw.secret("s3cret-token") == machine.outputs["token"]
        assert machine.inputs["size"] == 3
        assert dict(report.configuration) == {"shop:webToken": sw.secret("s3cret-token")}
        for text in (repr(result), repr(report), repr(machine)):
            assert "s3cret-token" not in text


def vars_of(code: sw.ImportCode) -> list[str]:
    return [code.python, code.typescript, code.rust, code.c, code.sdk_python or "", code.sdk_typescript or ""]


@on_loop
async def test_the_program_of_the_sdk_changes_nothing(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pulumi = pytest.importorskip("pulumi")
    cloud = types.ModuleType("pulumi_cloud")

    class Machine(pulumi.CustomResource):  # type: ignore[misc, name-defined]
        def __init__(self, name: str, opts: Any = None, **inputs: Any) -> None:
            known = dict.fromkeys(("size", "tags", "motd", "token"))
            super().__init__("cloud:index:Machine", name, {**known, "motd": "hello", **inputs}, opts)

    class Provider(pulumi.ProviderResource):  # type: ignore[misc, name-defined]
        def __init__(self, name: str, opts: Any = None, **inputs: Any) -> None:
            super().__init__("cloud", name, inputs, opts)

    cloud.Machine, cloud.Provider = Machine, Provider  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "pulumi_cloud", cloud)
    monkeypatch.setitem(THINGS, "vm-2", {"size": 4, "motd": "hello"})
    monkeypatch.setitem(THINGS, "vm-3", {"size": 5, "motd": "hello"})
    rows: list[sw.ImportResource] = [
        *ROWS[:3],
        {"type": "pulumi:providers:cloud", "name": "mine"},
        {"type": "cloud:index:Machine", "name": "plain", "id": "vm-3"},
    ]
    async with sw.Engine(store=f"file://{tmp_path}", passphrase="p", providers={"cloud": Cloud()}) as engine:
        stack = await engine.stack("shop/dev")
        report = (await stack.import_resources(rows)).imported
        assert report is not None and report.code.sdk_python is not None
        source = report.code.sdk_python
        assert 'cloud.Machine("plain", size=5, opts=pulumi.ResourceOptions(protect=True))' in source, source
        code = compile(source, "sdk.py", "exec")
        stack = await engine.stack("shop/dev", lambda: exec(code, {}), config=dict(report.configuration))  # noqa: S102
        preview = await stack.preview()
        assert not preview.has_changes, f"{preview}\n{source}"


def test_what_fails_is_named_and_the_rest_is_kept(tmp_path: Any) -> None:
    with sync.Engine(store=f"file://{tmp_path}", passphrase="p", providers={"cloud": Cloud()}) as engine:
        stack = engine.stack("shop/dev")
        rows: list[sw.ImportResource] = [
            {"type": "cloud:index:Machine", "name": "web", "id": "vm-1"},
            {"type": "cloud:index:Machine", "name": "lost", "id": "vm-9"},
        ]
        with pytest.raises(sw.FailedError, match="resource 'vm-9' does not exist") as raised:
            stack.import_resources(rows)
        result = raised.value.result
        assert result is not None and result.imported is not None
        web, lost = result.imported.resources
        assert (web.outcome, web.error, web.protect) == ("imported", None, True)
        assert lost.outcome == "failed" and isinstance(lost.error, sw.FailedError) and lost.error.urn == lost.urn
        assert stack.history()[0]["kind"] == "resource-import"
        refreshed = stack.refresh(dry_run=True)
        assert refreshed.imported is None


@on_loop
async def test_an_import_file_is_taken_as_a_mapping_a_text_or_bytes(tmp_path: Any) -> None:
    file = {"resources": [{"type": "shop:index:Shelf", "name": "shelf", "component": True, "logicalName": "s"}]}
    async with sw.Engine(store=f"file://{tmp_path}", passphrase="p") as engine:
        forms: list[dict[str, Any] | str | bytes] = [file, json.dumps(file), json.dumps(file).encode()]
        for index, given in enumerate(forms):
            stack = await engine.stack(f"shop/dev{index}")
            result = await stack.import_resources(given, protect=False, generate_code=False)
            assert result.imported is not None
            assert result.imported.resources[0].urn == f"urn:pulumi:dev{index}::shop::shop:index:Shelf::s"
            assert (result.imported.resources[0].protect, result.imported.code.python) == (False, "")
        with pytest.raises(sw.InvalidInputError, match="unknown member 'parnt'.*did you mean 'parent'"):
            await stack.import_resources([{"type": "a:b:C", "name": "a", "id": "1", "parnt": "x"}])  # type: ignore[typeddict-unknown-key]
        with pytest.raises(sw.InvalidInputError, match="resources takes a list of resources"):
            await stack.import_resources(5)  # type: ignore[arg-type]
