"""Methods of components in plugins that a Pulumi SDK hosts, called by programs of both APIs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import ROOT, Host, Memory, Vault, on_loop, served, states

pulumi = pytest.importorskip("pulumi")

TYPES = {"pymodule": "pymodule:index:Module", "gobox": "gobox:index:Box", "tsmodule": "tsmodule:index:Module"}


def results(type: str) -> tuple[str, str, str]:
    """Returns the names of what `open` returns. The host for Node leaves out results with the name `id`."""
    return ("by", "box", "opened" if type == TYPES["tsmodule"] else "id")


@pytest.fixture(scope="module")
def tsmodule(tsbox_own: list[str]) -> Iterator[list[str]]:
    """Returns the component with methods in TypeScript with one process for all tests."""
    host = Host([*tsbox_own[:-1], str(ROOT / "testkit" / "node-module")])
    yield host
    host.end()


@pytest.fixture(params=TYPES)
def component(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, list[str]]]:
    """Returns the type of a component with the method `open`, and the command of its plugin."""
    monkeypatch.delenv("MODULE_LOG", raising=False)
    package = request.param
    if package == "pymodule":
        command = [sys.executable, "-u", str(ROOT / "testkit" / "python-module")]
    elif package == "tsmodule":
        command = request.getfixturevalue("tsmodule")
    else:
        command = request.getfixturevalue(package)
    return TYPES[package], {package: command}


def engine(tmp_path: Path, memory: Memory, commands: dict[str, list[str]]) -> sw.Engine:
    return sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory},
        **served(commands),
    )


class Thing(pulumi.CustomResource):  # type: ignore[misc, name-defined]
    size: Any

    def __init__(self, name: str, size: Any) -> None:
        super().__init__("things:index:Thing", name, {"size": size})


class Component(pulumi.ComponentResource):  # type: ignore[misc, name-defined]
    def __init__(self, type: str) -> None:
        super().__init__(type, "box", {"size": 1}, None, remote=True)


def own_program(type: str) -> sw.Program:
    async def program(ctx: sw.Context) -> None:
        first = ctx.resource("things:index:Thing", "first", {"size": sw.secret(7)})
        box = ctx.remote_component(type, "box", {"size": 1})
        opened = ctx.call(f"{type}/open", box, {"by": first["size"]})
        for name in results(type):
            ctx.export(name, opened[name])
        ctx.resource("things:index:Thing", "user", {"size": opened["by"]})

    return program


def sdk_program(type: str) -> sw.Program:
    def program() -> None:
        first = Thing("first", pulumi.Output.secret(7))
        box = Component(type)
        opened = pulumi.runtime.call(f"{type}/open", {"by": first.size, "__self__": box}, box)
        for name in results(type):
            pulumi.export(name, opened[name])
        Thing("user", opened["by"])

    return program


@pytest.mark.parametrize("written", [own_program, sdk_program], ids=["own", "sdk"])
@on_loop
async def test_a_method_gets_its_resource_and_registers_others(
    tmp_path: Path, memory: Memory, component: tuple[str, dict[str, list[str]]], written: Any
) -> None:
    type, commands = component
    async with engine(tmp_path, memory, commands) as running:
        stack = await running.stack("shop/dev", written(type))
        await stack.preview()
        assert memory.things == {}
        made = await stack.up()
        known = states(await stack.export_deployment())
        first, opened = known["first"], known["opened"]
        assert (made.outputs["by"].value, made.outputs["by"].secret) == (7, True)
        assert made.outputs["box"].value == known["box"]["urn"]
        assert made.outputs[results(type)[2]].value == opened["id"]
        assert memory.things[opened["id"]]["size"] == 7
        if type != TYPES["pymodule"]:
            # In methods the host for Python registers resources without marks of secrets.
            assert "ciphertext" in opened["inputs"]["size"]
            assert opened["parent"] == known["box"]["urn"]
        if type != TYPES["gobox"]:
            # The host for Go leaves out what arguments and results depend on.
            assert first["urn"] in opened["dependencies"]
            if written is sdk_program:
                assert first["urn"] in known["user"]["dependencies"]
        assert set((await stack.up()).changes) == {"same"}
        await stack.destroy()
        assert memory.things == {}


@on_loop
async def test_failures_of_arguments_are_raised_with_each_property(
    tmp_path: Path, memory: Memory, component: tuple[str, dict[str, list[str]]]
) -> None:
    type, commands = component

    async def program(ctx: sw.Context) -> None:
        box = ctx.remote_component(type, "box", {"size": 1})
        with pytest.raises(sw.InvalidInputError, match=r"(?s)by: is missing.*lock\[0\]: is stuck"):
            await ctx.call(f"{type}/open", box, {})

    async with engine(tmp_path, memory, commands) as running:
        stack = await running.stack("shop/dev", program)
        # The failures are the program's to handle: the run succeeds.
        await stack.up()
        assert "opened" not in states(await stack.export_deployment())


@on_loop
async def test_failures_of_arguments_end_a_program_of_the_sdk(
    tmp_path: Path, memory: Memory, component: tuple[str, dict[str, list[str]]]
) -> None:
    type, commands = component

    def program() -> None:
        box = Component(type)
        pulumi.runtime.call(f"{type}/open", {"__self__": box}, box)

    async with engine(tmp_path, memory, commands) as running:
        stack = await running.stack("shop/dev", program)
        # The SDK raises the first of the failures.
        with pytest.raises(sw.StackwrightError, match=r"Module/open failed: is missing \(by\)|Box/open failed: is missing \(by\)"):
            await stack.up()


@on_loop
async def test_a_method_that_raises_fails_the_operation_with_its_token(
    tmp_path: Path, memory: Memory, component: tuple[str, dict[str, list[str]]]
) -> None:
    type, commands = component

    async def program(ctx: sw.Context) -> None:
        box = ctx.remote_component(type, "box", {"size": 1})
        await ctx.call(f"{type}/open", box, {"by": 1, "raise": True})

    async with engine(tmp_path, memory, commands) as running:
        stack = await running.stack("shop/dev", program)
        with pytest.raises(sw.StackwrightError) as caught:
            await stack.up()
        assert f"call to function '{type}/open' failed: " in str(caught.value)
        assert "no such key" in str(caught.value)
        await stack.destroy()
        assert memory.things == {}


class Lock(pulumi.CustomResource):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__("tsmodule:index:Lock", "lock", {})


def own_lock(ctx: sw.Context) -> None:
    first = ctx.resource("things:index:Thing", "first", {"size": 7})
    lock = ctx.resource("tsmodule:index:Lock", "lock", {})
    turned = ctx.call("tsmodule:index:Lock/turn", lock, {"by": first["size"]})
    ctx.export("lock", turned["lock"])
    ctx.resource("things:index:Thing", "user", {"size": turned["turned"]})


def sdk_lock() -> None:
    first, lock = Thing("first", 7), Lock()
    turned = pulumi.runtime.call("tsmodule:index:Lock/turn", {"by": first.size, "__self__": lock}, lock)
    pulumi.export("lock", turned["lock"])
    Thing("user", turned["turned"])


@pytest.mark.parametrize("component", ["tsmodule"], indirect=True)
@pytest.mark.parametrize("program", [own_lock, sdk_lock], ids=["own", "sdk"])
@on_loop
async def test_a_method_of_a_resource_gets_the_resource_and_returns_what_its_argument_depends_on(
    tmp_path: Path, memory: Memory, component: tuple[str, dict[str, list[str]]], program: sw.Program
) -> None:
    async with engine(tmp_path, memory, component[1]) as running:
        stack = await running.stack("shop/dev", program)
        made = await stack.up()
        known = states(await stack.export_deployment())
        assert made.outputs["lock"].value == known["lock"]["urn"]
        assert known["user"]["inputs"]["size"] == 7
        assert known["first"]["urn"] in known["user"]["propertyDependencies"]["size"]
        await stack.destroy()
        assert memory.things == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [("pybox", "Unknown method pybox:index:Box/open"), ("tsbox", "unknown function tsbox:index:Box/open")],
)
@on_loop
async def test_a_host_of_components_alone_has_no_methods(
    tmp_path: Path, memory: Memory, request: pytest.FixtureRequest, name: str, text: str
) -> None:
    type = f"{name}:index:Box"

    async def program(ctx: sw.Context) -> None:
        await ctx.call(f"{type}/open", ctx.remote_component(type, "box", {"size": 1}), {"by": 1})

    async with engine(tmp_path, memory, {name: request.getfixturevalue(name)}) as running:
        stack = await running.stack("shop/dev", program)
        with pytest.raises(sw.StackwrightError) as caught:
            await stack.up()
        assert f"call to function '{type}/open' failed: " in str(caught.value)
        assert text in str(caught.value)
        await stack.destroy()
        assert memory.things == {}
