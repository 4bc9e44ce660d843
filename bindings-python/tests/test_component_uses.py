"""Errors of components and methods in plugins state where the program of the Pulumi SDK uses them."""

from __future__ import annotations

import asyncio
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import ROOT, Memory, Vault, on_loop, package_of, served

pulumi = pytest.importorskip("pulumi")
from pulumi.runtime.proto import resource_pb2, source_pb2  # noqa: E402


class Remote(pulumi.ComponentResource):  # type: ignore[misc, name-defined]
    def __init__(self, type: str, inputs: dict[str, Any]) -> None:
        super().__init__(type, "box", inputs, None, remote=True)


def line(function: Any, text: str) -> int:
    """Returns the number of the line of a function that contains a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, found in enumerate(lines) if text in found)


async def failure(
    tmp_path: Path, memory: Memory, commands: dict[str, list[str]], program: Any, **providers: sw.Provider
) -> str:
    async with sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory, **providers},
        **served(commands),
    ) as engine:
        stack = await engine.stack("shop/dev", program, root_directory=Path(__file__).parent)
        with pytest.raises(sw.StackwrightError) as caught:
            await stack.up()
        return str(caught.value)


PLACES = [(host, place) for host in ("pybox", "tsbox_checked", "gobox") for place in ("construct", "input", "output")]
# The SDK for Node prints the resource of an error whole, which takes seconds; once is enough.
PLACES.remove(("tsbox_checked", "output"))


@pytest.mark.parametrize(("host", "place"), PLACES)
@on_loop
async def test_a_failed_component_states_the_line_of_the_sdk_program(
    tmp_path: Path, memory: Memory, request: pytest.FixtureRequest, host: str, place: str
) -> None:
    package, command = package_of(host, request)

    def program() -> None:
        Remote(f"{package}:index:Guarded", {"size": 1, "count": 1, "refused": place})

    text = await failure(tmp_path, memory, {package: command}, program)
    assert f"{package}:index:Guarded resource 'box' has a problem: " in text and f"no {place} of box today" in text
    place = f"{Path(__file__).name}:{line(program, 'Remote(')}"
    assert f"hint: the component is used at {place}" in text


@on_loop
async def test_every_input_that_a_component_refuses_is_named_with_its_path(
    tmp_path: Path, memory: Memory, tsbox: list[str]
) -> None:
    def program() -> None:
        Remote("tsbox:index:Guarded", {"size": 1, "count": 1, "refused": "inputs"})

    text = await failure(tmp_path, memory, {"tsbox": tsbox}, program)
    assert "no inputs of box today" in text
    assert "size" in text and "too small" in text and "count[0].of" in text and "not a number" in text, text


@pytest.mark.parametrize("package", ["pymodule", "gobox"])
@on_loop
async def test_a_failed_method_states_where_it_is_called(
    tmp_path: Path, memory: Memory, request: pytest.FixtureRequest, package: str
) -> None:
    method = {"pymodule": "pymodule:index:Module/open", "gobox": "gobox:index:Box/open"}[package]
    host = [sys.executable, "-u", str(ROOT / "testkit" / "python-module")]
    command = host if package == "pymodule" else request.getfixturevalue(package)

    async def program() -> None:
        # The SDK for Go states the place of a call; that for Python does not.
        call = resource_pb2.ResourceCallRequest(
            tok=method, sourcePosition=source_pb2.SourcePosition(uri=f"file://{Path(__file__).parent}/main.go", line=7)
        )
        call.args.update({"by": 1, "raise": True})
        await asyncio.to_thread(pulumi.runtime.settings.get_monitor().Call, call)

    text = await failure(tmp_path, memory, {package: command}, program)
    assert f"call to function '{method}' failed: " in text and "no such key" in text
    assert "hint: the method is called at main.go:7" in text


class Nested(sw.Provider):
    """Constructs components with one inside, which fails."""

    async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> dict[str, Any]:
        if request.type.endswith(":Inner"):
            raise sw.ProviderError("no room")
        await ctx.remote_component("nested:index:Inner", "inner")["x"]
        return {}


@on_loop
async def test_a_failed_component_of_the_host_inside_another_one_states_the_line_of_the_sdk_program(
    tmp_path: Path, memory: Memory
) -> None:
    def program() -> None:
        Remote("nested:index:Outer", {})

    text = await failure(tmp_path, memory, {}, program, nested=Nested())
    assert "nested:index:Inner resource 'inner' has a problem: no room" in text
    assert f"hint: the component is used at {Path(__file__).name}:{line(program, 'Remote(')}" in text
