"""Transforms and hooks of programs of the Pulumi SDK in processes of their own: the engine calls the server of the SDK there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import stackwright as sw

from conftest import MakeEngine, Memory, on_loop, states

pulumi = pytest.importorskip("pulumi")

START = """
import asyncio, pathlib, pulumi
from pulumi import ResourceHook, ResourceHookBinding, ResourceOptions

def note(line):
    with pathlib.Path("calls").open("a") as file:
        file.write(f"{line}\\n")

class Thing(pulumi.CustomResource):
    def __init__(self, name, props, opts=None):
        super().__init__("mem:index:Thing", name, props, opts)
"""
TRANSFORMS = """
def trail(mark):
    async def transform(args):
        await asyncio.sleep(0)
        if args.name == "bad":
            raise ValueError("bad is not allowed")
        if "trail" not in args.props:
            return None
        options = ResourceOptions.merge(args.opts, ResourceOptions(ignore_changes=[mark]))
        return pulumi.ResourceTransformResult({**args.props, "trail": pulumi.Output.concat(args.props["trail"], ",", mark)}, options)
    return transform

async def doubled(args):
    await asyncio.sleep(0)
    return pulumi.InvokeTransformResult({**args.args, "x": args.args["x"] * 2}, args.opts)

class Box(pulumi.ComponentResource):
    def __init__(self, name, opts):
        super().__init__("box:index:Box", name, {}, opts)
        Thing("inner", {"trail": "made"}, ResourceOptions(parent=self, transforms=[trail("own")]))
        self.register_outputs({})

pulumi.runtime.register_resource_transform(trail("stack"))
pulumi.runtime.register_invoke_transform(doubled)
Box("box", ResourceOptions(transforms=[trail("component")]))
Thing("plain", {"trail": pulumi.Output.secret("made")})
if pulumi.Config().get_bool("bad"):
    Thing("bad", {}, ResourceOptions(transforms=[lambda args: None]))
pulumi.export("blocking", pulumi.runtime.invoke("mem:index:echo", {"x": 3}).value["echo"]["x"])
echo = pulumi.runtime.invoke_output("mem:index:echo", {"x": pulumi.Output.from_input(4)})
pulumi.export("output", echo.apply(lambda value: value["echo"]["x"]))
"""
HOOKS = """
MOMENTS = ("before_create", "after_create", "before_update", "after_update", "before_delete", "after_delete")
content = pulumi.Config().require("content")
refused = pulumi.Config().get("refused")

def hook(moment):
    async def run(args):
        await asyncio.sleep(0)
        if refused == moment:
            raise ValueError("the window is closed")
        values = (args.new_inputs, args.old_inputs, args.new_outputs, args.old_outputs)
        note(" ".join([moment, args.name, *(str(value["content"]) if value else "-" for value in values)]))
    return ResourceHook(moment, run)

hooks = ResourceHookBinding(**{moment: [hook(moment)] for moment in MOMENTS})
Thing("other", {})
if content != "none":
    Thing("a", {"content": content}, ResourceOptions(hooks=hooks))
"""
RETRIES = """
async def retry(args):
    note(f"{args.failed_operation} {len(args.errors)} {args.errors[0]}")
    await asyncio.sleep(0.001)
    return len(args.errors) <= pulumi.Config().require_int("retries")

Thing("a", {}, ResourceOptions(hooks=ResourceHookBinding(on_error=[pulumi.ErrorHook("retry", retry)])))
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a project with a program in Python."""
    folder = tmp_path / "shop"
    folder.mkdir()

    def write(program: str) -> Path:
        (folder / "Pulumi.yaml").write_text(
            f"name: shop\nruntime:\n  name: python\n  options:\n    virtualenv: {sys.prefix}\n"
        )
        (folder / "__main__.py").write_text(START + program)
        return folder

    return write


def called(folder: Path) -> list[str]:
    """Returns what functions of the program have noted, and forgets it."""
    calls = folder / "calls"
    lines = calls.read_text().splitlines() if calls.exists() else []
    calls.unlink(missing_ok=True)
    return lines


@on_loop
async def test_transforms_of_a_program_in_its_process_apply_in_order(
    write: Callable[[str], Path], make_engine: MakeEngine, memory: Memory
) -> None:
    folder = write(TRANSFORMS)
    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("dev", project=folder)
        await stack.preview()
        result = await stack.up()
        assert result.changes == {"create": 4}
        assert sw.unwrap(result.outputs) == {"blocking": 6, "output": 8}
        trails = {id.rsplit("-", 1)[0]: thing["trail"] for id, thing in memory.things.items()}
        assert trails["inner"] == "made,own,component,stack"
        plain = trails["plain"]
        assert sw.unwrap({"plain": plain}) == {"plain": "made,stack"}
        known = states(await stack.export_deployment())
        assert sorted(known["inner"]["ignoreChanges"]) == ["component", "own", "stack"]
        assert "made,stack" not in str(known["plain"]), "the transform keeps the secret"
        await (await engine.project(folder)).set_config("dev", "bad", "true")
        with pytest.raises(sw.StackwrightError, match=r"resource 'bad'(?s:.*)bad is not allowed"):
            await stack.up()
        assert not any(id.startswith("bad-") for id in memory.things)
        await stack.destroy()
        assert not memory.things


@on_loop
async def test_hooks_of_a_program_in_its_process_run_also_after_its_end(
    write: Callable[[str], Path], make_engine: MakeEngine, memory: Memory
) -> None:
    folder = write(HOOKS)

    def exists() -> bool:
        return any(id.startswith("a-") for id in memory.things)

    async with make_engine(mem=memory) as engine:
        project = await engine.project(folder)
        stack = await engine.stack("dev", project=project)

        async def up(content: str, refused: str = "") -> BaseException | None:
            await project.set_config("dev", "content", content)
            await project.set_config("dev", "refused", refused)
            return (await stack.up().wait()).error

        error = await up("one", "before_create")
        assert isinstance(error, sw.FailedError) and 'before hook "before_create" failed: the window is closed' in str(error)
        assert not exists()
        await project.set_config("dev", "refused", "")
        await stack.preview()
        assert called(folder) == [], "no hook runs in a preview"
        assert await up("one") is None
        assert called(folder) == ["before_create a one - - -", "after_create a one - one -"]
        assert await up("two") is None
        assert called(folder) == ["before_update a two one - one", "after_update a two one two one"]
        with pytest.raises(sw.StackwrightError, match="delete hooks"):
            await stack.destroy()
        assert exists() and called(folder) == []
        # The program ends only when the hooks of what it no longer registers have run.
        error = await up("none", "before_delete")
        assert isinstance(error, sw.FailedError) and 'before hook "before_delete" failed: the window is closed' in str(error)
        assert exists()
        assert await up("none") is None
        assert called(folder) == ["before_delete a - two - two", "after_delete a - two - two"] and not exists()
        assert await up("three") is None
        called(folder)
        await stack.destroy(destroy_program=True)
        assert called(folder) == ["before_delete a - three - three", "after_delete a - three - three"]
        assert not memory.things


class Flaky(Memory):
    """Fails the first two creations of each run."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if self.count("attempt") < 2:
            self.note("attempt", request.name)
            raise sw.ProviderError(f"attempt {self.count('attempt')} failed")
        return super().create(request)


@on_loop
async def test_an_error_hook_of_a_program_in_its_process_decides_on_retries(
    write: Callable[[str], Path], make_engine: MakeEngine
) -> None:
    provider = Flaky()
    folder = write(RETRIES)
    async with make_engine(mem=provider) as engine:
        project = await engine.project(folder)
        stack = await engine.stack("dev", project=project)
        await project.set_config("dev", "retries", "0")
        with pytest.raises(sw.FailedError, match="attempt 1 failed"):
            await stack.up()
        assert [line.split(" ", 2)[:2] for line in called(folder)] == [["create", "1"]]
        provider.calls.clear()
        await project.set_config("dev", "retries", "2")
        await stack.up()
        asked = called(folder)
        assert [line.split(" ", 2)[:2] for line in asked] == [["create", "1"], ["create", "2"]] and "attempt" in asked[0]
        assert len(provider.things) == 1
