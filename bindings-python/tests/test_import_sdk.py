"""Programs of the Pulumi SDK that an import generates: run with classes in the form of generated SDKs, they change nothing."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import stackwright as sw

from conftest import on_loop

pulumi = pytest.importorskip("pulumi")

RULE = {"fromPort": 80, "publicIPs": ["10.0.0.1"], "labels": {"weird-Key": "x"}, "target": {"hostName": "web", "maxTries": 3}, "mode": "fast"}

THINGS: dict[str, dict[str, Any]] = {
    "disk-1": {"size": 3, "rules": [RULE, {"fromPort": 81, "mode": "slow"}], "byName": {"firstRule": {"fromPort": 82, "mode": "slow"}}},
    "link-1": {"kmsKeyId": "k", "token": sw.secret("s3cret-token")},
    "link-2": {"kmsKeyId": "l", "either": {"hostName": "web", "maxTries": 4}},
}

TARGET = {"properties": {"hostName": {"type": "string"}, "maxTries": {"type": "integer"}, "userName": {"type": "string"}}}
RULE_PROPERTIES = {
    "fromPort": {"type": "integer"},
    "publicIPs": {"type": "array", "items": {"type": "string"}},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "target": {"$ref": "#/types/cloud:compute%2Fv1:Target"},
    "mode": {"type": "string", "default": "slow"},
}
RULES = {"type": "array", "items": {"$ref": "#/types/cloud:compute%2Fv1:Rule"}}
BY_NAME = {"type": "object", "additionalProperties": {"$ref": "#/types/cloud:compute%2Fv1:Rule"}}
EITHER = {"oneOf": [{"type": "string"}, {"$ref": "#/types/cloud:compute%2Fv1:Rule"}, {"$ref": "#/types/cloud:compute%2Fv1:Target"}]}

SCHEMA = {
    "name": "cloud",
    "version": "1.0.0",
    "language": {"python": {"moduleNameOverrides": {"compute/v1": "compute/one"}}},
    "provider": {
        "inputProperties": {
            "region": {"type": "string"},
            "retries": {"type": "integer", "default": 5},
            "ratio": {"type": "number"},
            "verbose": {"type": "boolean"},
            "target": {"$ref": "#/types/cloud:compute%2Fv1:Target"},
            "zones": {"type": "array", "items": {"type": "string"}},
            "mode": {"$ref": "#/types/cloud:index:Mode"},
            "apiKey": {"type": "string", "secret": True},
            "login": {"$ref": "#/types/cloud:compute%2Fv1:Target", "secret": True},
        }
    },
    "resources": {
        "cloud:compute/v1:Disk": {"inputProperties": {"size": {"type": "integer"}, "rules": RULES, "byName": BY_NAME}},
        "cloud:appMesh:Link": {"inputProperties": {"kmsKeyId": {"type": "string"}, "token": {"type": "string"}, "either": EITHER}},
        "cloud:index:Group": {"isComponent": True},
    },
    "types": {
        "cloud:compute/v1:Rule": {"type": "object", "properties": RULE_PROPERTIES},
        "cloud:compute/v1:Target": {"type": "object", **TARGET},
        "cloud:index:Mode": {"type": "string", "enum": [{"value": "fast"}]},
    },
}


class Cloud(sw.Provider):
    """Things that exist. A creation would be a bug: programs of imports create nothing."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        raise AssertionError(f"{request.urn} is created")

    def read(self, request: sw.ReadRequest) -> sw.ReadResult:
        return sw.ReadResult(id=request.id, inputs=THINGS[request.id], outputs=THINGS[request.id])

    def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> None:
        return None

    def get_schema(self, request: sw.SchemaRequest) -> str:
        return json.dumps(SCHEMA)


def input_class(**members: tuple[str, Any]) -> Any:
    """Returns a class of inputs as a generated SDK has it: by the name in Python the name in the schema, and the type."""

    def member(name: str, schema_name: str, kind: Any) -> Any:
        def get(self: Any) -> Any:
            return pulumi.get(self, name)

        get.__name__, get.__annotations__ = name, {"return": kind}
        return property(pulumi.getter(name=schema_name)(get))

    body = {name: member(name, schema_name, kind) for name, (schema_name, kind) in members.items()}
    return pulumi.input_type(type("Args", (), body))


TargetArgs = input_class(host_name=("hostName", str), max_tries=("maxTries", int), user_name=("userName", str))
RuleArgs = input_class(
    from_port=("fromPort", int),
    public_ips=("publicIPs", Sequence[str]),
    labels=("labels", Mapping[str, str]),
    target=("target", TargetArgs),
    mode=("mode", str),
)
DiskArgs = input_class(size=("size", int), rules=("rules", Sequence[RuleArgs]), by_name=("byName", Mapping[str, RuleArgs]))  # type: ignore[valid-type]
LinkArgs = input_class(kms_key_id=("kmsKeyId", str), token=("token", str), either=("either", TargetArgs))
ProviderArgs = input_class(api_key=("apiKey", str))


def arguments(kind: Any, **values: Any) -> Any:
    made = kind.__new__(kind)
    made.__dict__.update(values)
    return made


class Disk(pulumi.CustomResource):  # type: ignore[misc, name-defined]
    def __init__(self, name: str, opts: Any = None, *, by_name: Any = None, rules: Any = None, size: Any = None) -> None:
        super().__init__("cloud:compute/v1:Disk", name, arguments(DiskArgs, by_name=by_name, rules=rules, size=size), opts)


class Link(pulumi.CustomResource):  # type: ignore[misc, name-defined]
    def __init__(self, name: str, opts: Any = None, *, either: Any = None, kms_key_id: Any = None, token: Any = None) -> None:
        values = arguments(LinkArgs, either=either, kms_key_id=kms_key_id, token=pulumi.Output.secret(token) if token else None)
        super().__init__("cloud:appMesh:Link", name, values, opts)


class Group(pulumi.ComponentResource):  # type: ignore[misc, name-defined]
    def __init__(self, name: str, opts: Any = None) -> None:
        super().__init__("cloud:index:Group", name, {}, opts, remote=True)


class Provider(pulumi.ProviderResource):  # type: ignore[misc, name-defined]
    """As generated classes do, it writes what is no string as JSON."""

    def __init__(
        self, name: str, opts: Any = None, *, api_key: Any = None, login: Any = None, mode: Any = None, ratio: Any = None,
        region: Any = None, retries: Any = None, target: Any = None, verbose: Any = None, zones: Any = None,
    ) -> None:  # fmt: skip
        def encoded(value: Any) -> Any:
            return pulumi.Output.from_input(value).apply(pulumi.runtime.to_json) if value is not None else None

        values = arguments(
            ProviderArgs,
            api_key=None if api_key is None else pulumi.Output.secret(api_key),
            login=encoded(pulumi.Output.secret(login)) if login is not None else None,
            mode=encoded(mode),
            ratio=encoded(ratio),
            region=region,
            retries=encoded(5 if retries is None else retries),
            target=encoded(target),
            verbose=encoded(verbose),
            zones=encoded(zones),
        )
        super().__init__("cloud", name, values, opts)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = types.ModuleType("pulumi_cloud")
    compute, one, appmesh = (types.ModuleType(name) for name in ("compute", "one", "appmesh"))
    one.Disk, compute.one, appmesh.Link = Disk, one, Link  # type: ignore[attr-defined]
    cloud.compute, cloud.appmesh, cloud.Group, cloud.Provider = compute, appmesh, Group, Provider  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "pulumi_cloud", cloud)


async def source_without_changes(tmp_path: Any, rows: list[sw.ImportResource], records: int) -> tuple[str, dict[str, Any]]:
    """Imports the rows, and runs the program that declares them."""
    async with sw.Engine(store=f"file://{tmp_path}", passphrase="p", providers={"cloud": Cloud()}) as engine:
        stack = await engine.stack("shop/dev")
        report = (await stack.import_resources(rows)).imported
        assert report is not None and report.code.sdk_python is not None
        source = report.code.sdk_python
        code = compile(source, "sdk.py", "exec")
        stack = await engine.stack("shop/dev", lambda: exec(code, {}), config=dict(report.configuration))  # noqa: S102
        update = await stack.up()
        assert update.changes == {"same": records}, f"{update}\n{source}"
        return source, dict(report.configuration)


@on_loop
async def test_a_provider_gets_the_values_that_its_class_writes_as_json(tmp_path: Any, package: None) -> None:
    configuration: dict[str, Any] = {
        "region": "12",
        "retries": "3",
        "ratio": "1.5",
        "verbose": "true",
        "target": '{"maxTries": 3, "hostName": "h\\u00f6st"}',
        "zones": '["a", "b"]',
        "mode": '"fast"',
        "apiKey": sw.secret("123"),
        "login": sw.secret('{"userName": "hunter2"}'),
    }
    rows: list[sw.ImportResource] = [
        {"type": "pulumi:providers:cloud", "name": "mine", "inputs": configuration},
        {"type": "cloud:appMesh:Link", "name": "first", "id": "link-1", "provider": "mine"},
    ]
    source, secrets = await source_without_changes(tmp_path, rows, 3)
    for line in (
        'region="12",',
        "retries=3,",
        "ratio=1.5,",
        "verbose=True,",
        'target={"maxTries": 3, "hostName": "höst"},',
        'zones=["a", "b"],',
        'mode="fast",',
        'api_key=config.require_secret("mineApiKey"),',
        'login=config.require_secret_object("mineLogin"),',
    ):
        assert line in source, source
    assert "hunter2" not in source and secrets["shop:mineLogin"] == sw.secret('{"userName": "hunter2"}')


@on_loop
async def test_a_provider_has_its_plugin_as_options_and_no_defaults(tmp_path: Any, package: None) -> None:
    row: sw.ImportResource = {"type": "pulumi:providers:cloud", "name": "mine", "inputs": {"retries": "5", "verbose": "false"}}
    plugin: sw.ImportResource = {"version": "1.2.0", "plugin_download_url": "https://plugins.example"}
    options = 'pulumi.ResourceOptions(version="1.2.0", plugin_download_url="https://plugins.example")'
    expected = f'    "mine",\n    verbose=False,\n    opts={options},\n)'
    source, _ = await source_without_changes(tmp_path, [{**row, **plugin}], 2)
    assert expected in source, source
    # The record has the plugin, whether the list names it again or not.
    source, _ = await source_without_changes(tmp_path, [row], 2)
    assert expected in source, source


@on_loop
async def test_classes_of_modules_get_objects_in_the_names_of_the_sdk(tmp_path: Any, package: None) -> None:
    rows: list[sw.ImportResource] = [
        {"type": "cloud:compute/v1:Disk", "name": "disk", "id": "disk-1"},
        {"type": "cloud:index:Group", "name": "group", "component": True, "remote": True},
        {"type": "cloud:appMesh:Link", "name": "link", "id": "link-1", "parent": "group"},
        {"type": "cloud:appMesh:Link", "name": "below", "id": "link-2", "parent": "link"},
    ]
    source, _ = await source_without_changes(tmp_path, rows, 5)
    for part in (
        'cloud.compute.one.Disk(\n    "disk",\n    by_name={"firstRule": {"from_port": 82, "mode": "slow"}},',
        '"public_ips": ["10.0.0.1"]',
        '"target": {"host_name": "web", "max_tries": 3}',
        '"labels": {"weird-Key": "x"}',
        'group = cloud.Group("group", opts=pulumi.ResourceOptions(protect=True))',
        'link = cloud.appmesh.Link(\n    "link",\n    kms_key_id="k",\n    token=config.require_secret("linkToken"),',
        'either={"host_name": "web", "max_tries": 4}',
    ):
        assert part in source, source


@on_loop
async def test_a_resource_of_the_default_provider_asks_for_its_version(tmp_path: Any, package: None) -> None:
    plugin: sw.ImportResource = {"version": "1.2.0", "plugin_download_url": "https://plugins.example"}
    rows: list[sw.ImportResource] = [{"type": "cloud:compute/v1:Disk", "name": "disk", "id": "disk-1", **plugin}]
    source, _ = await source_without_changes(tmp_path, rows, 2)
    expected = 'opts=pulumi.ResourceOptions(version="1.2.0", plugin_download_url="https://plugins.example", protect=True)'
    assert expected in source, source
