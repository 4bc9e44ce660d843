"""Programs of the Pulumi SDK that register packages with a parameter, and map variables of the environment for plugins."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest
import stackwright as sw
from pulumi.runtime import settings
from pulumi.runtime.proto import resource_pb2

from conftest import Vault, on_loop, states

PLUGIN = [sys.executable, "-u", str(Path(__file__).with_name("parameterized_plugin.py"))]
MAPPINGS = {"MAPPED_FROM": "MAPPED_TO", "MAPPED_NOT_THERE": "MAPPED_OTHER"}


class Thing(pulumi.CustomResource):
    parameter: pulumi.Output[str]
    known: pulumi.Output[str]
    variable: pulumi.Output[str]

    def __init__(self, package: str, name: str, size: Any, opts: Any = None, ref: Any = None) -> None:
        outputs = {"parameter": None, "known": None, "variable": None}
        super().__init__(f"{package}:index:Thing", name, {"size": size, **outputs}, opts, package_ref=ref)


async def reference(kind: str, **package: Any) -> str:
    """Registers a package of the plugin `base`, as a generated SDK does; `kind` is the field of the request."""
    parameter = resource_pb2.Parameterization(**package)
    request = resource_pb2.RegisterPackageRequest(name="base", **{kind: parameter})
    monitor: Any = settings.get_monitor()
    return str((await asyncio.to_thread(monitor.RegisterPackage, request)).ref)


def engine(tmp_path: Path) -> sw.Engine:
    plugins = sw.Plugins(commands={"base": PLUGIN}, pool_capacity=0)
    return sw.Engine(store=f"file://{tmp_path / 'state'}", secrets=Vault(), plugins=plugins)


def outputs_of(thing: Thing) -> Any:
    return pulumi.Output.all(thing.parameter, thing.known)


@on_loop
async def test_a_resource_of_a_package_that_replaces_its_plugin_has_a_provider_with_the_parameter(tmp_path: Path) -> None:
    def program() -> None:
        made: Callable[[], Any] = lambda: reference("parameterization", name="made", version="2.1.0", value=b"into made")
        plain = Thing("base", "plain", 1)
        a = Thing("made", "a", 1, ref=made())
        b = Thing("made", "b", a.parameter, ref=made())
        pulumi.export("plain", outputs_of(plain))
        pulumi.export("made", [outputs_of(a), outputs_of(b)])

    async with engine(tmp_path) as running:
        stack = await running.stack("shop/dev", program)
        assert (await stack.preview()).changes == {"create": 4}
        result = await stack.up()
        assert sw.unwrap(result.outputs) == {"plain": ["", ""], "made": [["into made 2.1.0", "made"]] * 2}
        deployment = await stack.export_deployment()
        known = states(deployment)
        provider = next(each for each in known.values() if each["type"] == "pulumi:providers:made")
        base = next(each for each in known.values() if each["type"] == "pulumi:providers:base")
        internal = {"name": "base", "parameterization": "aW50byBtYWRl"}
        assert (provider["inputs"]["version"], provider["inputs"]["__internal"]) == ("2.1.0", internal)
        references = {name: known[name]["provider"].rsplit("::", 1)[0] for name in ("plain", "a", "b")}
        assert references == {"plain": base["urn"], "a": provider["urn"], "b": provider["urn"]}
        assert "extensions" not in deployment["deployment"] and "extensionRef" not in known["a"]
        assert (await stack.up()).changes == {"same": 4}
        # Another process of the plugin gets the parameter from the record of the provider.
        assert (await stack.destroy()).changes == {"delete": 4}


@on_loop
async def test_a_resource_of_a_package_that_extends_its_plugin_shares_the_provider_of_the_plugin(tmp_path: Path) -> None:
    def program() -> None:
        more: Callable[[], Any] = lambda: reference("extension", name="more", version="1.0.0", value=b"into more")
        plain = Thing("base", "plain", 1)
        a = Thing("more", "a", 1, ref=more())
        b = Thing("more", "b", a.parameter, ref=more())
        pulumi.export("plain", plain.parameter)
        pulumi.export("more", [outputs_of(a), outputs_of(b)])

    async with engine(tmp_path) as running:
        stack = await running.stack("shop/dev", program)
        assert (await stack.preview()).changes == {"create": 4}
        result = await stack.up()
        assert sw.unwrap(result.outputs) == {"plain": "", "more": [["into more 1.0.0", "more"]] * 2}
        deployment = (await stack.export_deployment())["deployment"]
        known = states({"deployment": deployment})
        (provider,) = (each for each in known.values() if each["type"].startswith("pulumi:providers:"))
        assert provider["type"] == "pulumi:providers:base" and "__internal" not in provider.get("inputs", {})
        assert {known[name]["provider"] for name in ("plain", "a", "b")} == {f"{provider['urn']}::{provider['id']}"}
        assert known["a"]["extensionRef"] == known["b"]["extensionRef"] and "extensionRef" not in known["plain"]
        assert len(deployment["extensions"]) == 1 and "aW50byBtb3Jl" in str(deployment["extensions"])
        assert (await stack.up()).changes == {"same": 4}
        # Another process of the plugin gets the extension from the state.
        assert (await stack.destroy()).changes == {"delete": 4}


@on_loop
async def test_a_provider_resource_maps_variables_of_the_environment_for_its_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAPPED_FROM", "of the host")
    monkeypatch.delenv("MAPPED_TO", raising=False)
    mappings: dict[str, str] | None = MAPPINGS
    on_thing = False

    def program() -> None:
        own = pulumi.ProviderResource("base", "own", {}, pulumi.ResourceOptions(env_var_mappings=mappings))
        mapped = Thing("base", f"mapped-{len(mappings or {})}", 1, pulumi.ResourceOptions(provider=own))
        plain = Thing("base", "plain", 1, pulumi.ResourceOptions(env_var_mappings=MAPPINGS if on_thing else None))
        pulumi.export("variables", [mapped.variable, plain.variable])

    async with engine(tmp_path) as running:
        stack = await running.stack("shop/dev", program)
        result = await stack.up()
        assert result.outputs["variables"].value == ["of the host", ""]
        assert states(await stack.export_deployment())["own"]["inputs"] == {"__internal": {"envVarMappings": MAPPINGS}}
        assert (await stack.up()).changes == {"same": 4}
        mappings = None
        result = await stack.up()
        assert result.outputs["variables"].value == ["", ""]
        assert not states(await stack.export_deployment())["own"].get("inputs")
        # The SDK sends the option of another resource; the engine refuses it.
        on_thing = True
        refused = (await stack.up().wait()).error
        assert refused is not None and "envVarMappings can only be used with provider resources" in str(refused)
