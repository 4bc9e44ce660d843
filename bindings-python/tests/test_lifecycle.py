"""The lifecycle of a stack on real files with three kinds of provider: an in-process class, the SDK's dynamic
resources, and a plugin process in Go. The scenario runs with SDK programs, native programs, and both in turn."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw
from stackwright import sync

HOST, DYNAMIC, PLUGIN = "host", "dynamic", "plugin"

Wanted = dict[str, tuple[str, str]]
"""The goal of a program: path and content of each file, by resource name."""

FIRST: Wanted = {
    "kept": ("kept.txt", "stays\n"),
    "edited": ("edited.txt", "one\n"),
    "moved": ("old.txt", "here\n"),
    "gone": ("gone.txt", "soon\n"),
}
THEN: Wanted = {"kept": FIRST["kept"], "edited": ("edited.txt", "two\n"), "moved": ("new.txt", "here\n")}


class Files(sw.Provider):
    """The in-process provider: one file for each resource."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def diff(self, request: sw.DiffRequest) -> sw.DiffResult:
        changed = [name for name in ("path", "content") if request.inputs[name] != request.old_inputs[name]]
        return sw.DiffResult(bool(changed), replaces=[name for name in changed if name == "path"], diffs=changed)

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        return sw.CreateResult(request.inputs["path"], self.write(request.inputs))

    def read(self, request: sw.ReadRequest) -> sw.ReadResult | None:
        place = self.folder / request.id
        if not place.exists():
            return None
        inputs = {"path": request.id, "content": place.read_text()}
        return sw.ReadResult(request.id, {**inputs, "size": place.stat().st_size}, inputs)

    def update(self, request: sw.UpdateRequest) -> sw.UpdateResult:
        return sw.UpdateResult(self.write(request.inputs))

    def delete(self, request: sw.DeleteRequest) -> None:
        (self.folder / request.id).unlink(missing_ok=True)

    def write(self, inputs: dict[str, Any]) -> dict[str, Any]:
        place = self.folder / inputs["path"]
        place.write_text(inputs["content"])
        return {**inputs, "size": place.stat().st_size}


def dynamic_file(name: str, path: Path, content: str) -> Any:
    """Makes a dynamic resource. Its provider is a local class, which is serialized by value."""
    from pulumi import dynamic

    class DynamicFiles(dynamic.ResourceProvider):
        def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> dynamic.DiffResult:
            replaces = ["path"] if olds["path"] != news["path"] else []
            return dynamic.DiffResult(bool(replaces) or olds["content"] != news["content"], replaces, [], False)

        def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
            Path(props["path"]).write_text(props["content"])
            return dynamic.CreateResult(props["path"], {**props, "process": os.getpid()})

        def read(self, id_: str, props: dict[str, Any]) -> dynamic.ReadResult:
            if not Path(id_).exists():
                return dynamic.ReadResult("", {})
            return dynamic.ReadResult(id_, {**props, "content": Path(id_).read_text()})

        def update(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> dynamic.UpdateResult:
            Path(news["path"]).write_text(news["content"])
            return dynamic.UpdateResult({**olds, **news})

        def delete(self, id_: str, _props: dict[str, Any]) -> None:
            Path(id_).unlink(missing_ok=True)

    class DynamicFile(dynamic.Resource):
        process: Any

    return DynamicFile(DynamicFiles(), name, {"path": str(path), "content": content, "process": None})


class Scenario:
    """A folder with a subfolder for each kind of provider, and the files that the program currently declares."""

    def __init__(self, folder: Path, plugin: Path, kinds: tuple[str, ...]) -> None:
        self.folder = folder
        self.kinds = kinds
        self.wanted = FIRST
        self.processes: set[int] = set()
        """The processes that served dynamic resources."""
        for kind in kinds:
            (folder / kind).mkdir()
        self.engine: dict[str, Any] = {
            "store": f"file://{folder / 'state'}",
            "passphrase": "a passphrase",
            "providers": {"files": Files(folder / HOST)},
            "plugins": sw.Plugins(directories=[plugin.parent]),
        }
        self.config: dict[str, sw.PropertyValue] = {"gofiles:root": str(folder / PLUGIN)}

    def sdk_program(self) -> None:
        import pulumi

        processes = []
        for name, (path, content) in self.wanted.items():
            inputs = {"path": path, "content": content}
            pulumi.CustomResource("files:index:File", f"{HOST}-{name}", {**inputs})
            pulumi.CustomResource("gofiles:index:File", f"{PLUGIN}-{name}", {**inputs})
            if DYNAMIC in self.kinds:
                resource = dynamic_file(f"{DYNAMIC}-{name}", self.folder / DYNAMIC / path, content)
                processes.append(resource.process)
        pulumi.export("processes", pulumi.Output.all(*processes))

    async def native_program(self, ctx: sw.Context) -> None:
        for name, (path, content) in self.wanted.items():
            ctx.resource("files:index:File", f"{HOST}-{name}", {"path": path, "content": content})
            ctx.resource("gofiles:index:File", f"{PLUGIN}-{name}", {"path": path, "content": content})

    def native_program_without_async(self, ctx: sw.Context) -> None:
        for name, (path, content) in self.wanted.items():
            ctx.resource("files:index:File", f"{HOST}-{name}", {"path": path, "content": content})
            ctx.resource("gofiles:index:File", f"{PLUGIN}-{name}", {"path": path, "content": content})

    def on_disk(self, kind: str) -> dict[str, str]:
        return {path.name: path.read_text() for path in (self.folder / kind).iterdir()}

    def expect_on_disk(self, wanted: Wanted) -> None:
        for kind in self.kinds:
            assert self.on_disk(kind) == dict(wanted.values()), kind

    def ops(self, result: sw.Result, name: str) -> dict[str, list[str]]:
        """Returns the steps on the resources of one name, by kind of provider."""
        return {
            kind: [step.op for step in result.steps if step.name == f"{kind}-{name}"] for kind in self.kinds
        }

    def each(self, *ops: str) -> dict[str, list[str]]:
        return {kind: list(ops) for kind in self.kinds}

    def play(self, run: Callable[[str], sw.Result], records: Callable[[], dict[str, dict[str, Any]]]) -> None:
        """Plays the scenario: ``run`` runs an operation, ``records`` returns the state by resource name."""
        each = len(self.kinds)

        plan = run("preview")
        assert plan.changes == {"create": 1 + 4 * each}
        self.expect_on_disk({})
        assert not records(), "a preview records nothing"

        created = run("up")
        assert created.changes == plan.changes
        self.processes = set(sw.unwrap(created.outputs).get("processes", ()))
        self.expect_on_disk(FIRST)
        for kind in self.kinds:
            record = records()[f"{kind}-edited"]
            assert record["inputs"]["content"] == "one\n" and record["id"].endswith("edited.txt")

        before = records()
        assert run("up").changes == {"same": 1 + 4 * each}
        assert records() == before
        self.expect_on_disk(FIRST)

        self.wanted = THEN
        changed = run("up")
        assert changed.changes == {"same": 1 + each, "update": each, "replace": each, "delete": each}
        assert self.ops(changed, "kept") == self.each(), "nothing was done to what is the same"
        assert self.ops(changed, "edited") == self.each("update")
        assert self.ops(changed, "moved") == self.each("create-replacement", "replace", "delete-replaced")
        assert self.ops(changed, "gone") == self.each("delete")
        self.expect_on_disk(THEN)
        after = records()
        assert not any(name.endswith("-gone") for name in after)
        for kind in self.kinds:
            assert after[f"{kind}-edited"]["outputs"]["content"] == "two\n"
            assert after[f"{kind}-moved"]["id"].endswith("new.txt")
            assert before[f"{kind}-moved"]["id"].endswith("old.txt")

        for kind in self.kinds:
            (self.folder / kind / "kept.txt").write_text("by hand\n")
            (self.folder / kind / "edited.txt").unlink()
        refreshed = run("refresh")
        assert refreshed.changes == {"same": 1 + each, "update": each, "delete": each}
        after = records()
        for kind in self.kinds:
            assert after[f"{kind}-kept"]["outputs"]["content"] == "by hand\n", kind
            assert f"{kind}-edited" not in after
            assert self.on_disk(kind)["kept.txt"] == "by hand\n", "a refresh only reads"

        destroyed = run("destroy")
        assert destroyed.changes == {"delete": 1 + 2 * each}
        self.expect_on_disk({})
        assert not records()


def records_of(deployment: dict[str, Any]) -> dict[str, dict[str, Any]]:
    resources = deployment["deployment"].get("resources") or []
    kinds = (HOST, DYNAMIC, PLUGIN)
    return {
        name: resource
        for resource in resources
        if (name := resource["urn"].rsplit("::", 1)[-1]).split("-")[0] in kinds
    }


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def play_async(scenario: Scenario, loop: asyncio.AbstractEventLoop, program: Callable[[str], sw.Program]) -> None:
    """Plays a scenario with the async API; ``program`` returns the program of each operation."""

    async def run(verb: str) -> sw.Result:
        stack = await engine.stack("shop/dev", program(verb), config=scenario.config)
        result: sw.Result = await getattr(stack, verb)()
        return result

    async def records() -> dict[str, dict[str, Any]]:
        stack = await engine.stack("shop/dev")
        return records_of(await stack.export_deployment(show_secrets=True))

    engine = sw.Engine(**scenario.engine)
    try:
        scenario.play(
            lambda verb: loop.run_until_complete(run(verb)),
            lambda: loop.run_until_complete(records()),
        )
    finally:
        loop.run_until_complete(engine.close())


def test_an_sdk_program_with_three_kinds_of_providers(
    tmp_path: Path, gofiles: Path, loop: asyncio.AbstractEventLoop
) -> None:
    scenario = Scenario(tmp_path, gofiles, (HOST, DYNAMIC, PLUGIN))
    play_async(scenario, loop, lambda _verb: scenario.sdk_program)
    assert scenario.processes and os.getpid() not in scenario.processes
    for process in scenario.processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_a_native_program(tmp_path: Path, gofiles: Path, loop: asyncio.AbstractEventLoop) -> None:
    scenario = Scenario(tmp_path, gofiles, (HOST, PLUGIN))
    play_async(scenario, loop, lambda _verb: scenario.native_program)


def test_a_native_program_without_async(tmp_path: Path, gofiles: Path) -> None:
    scenario = Scenario(tmp_path, gofiles, (HOST, PLUGIN))
    with sync.Engine(**scenario.engine) as engine:
        stack = engine.stack("shop/dev", scenario.native_program_without_async, config=scenario.config)

        def run(verb: str) -> sw.Result:
            result: sw.Result = getattr(stack, verb)()
            return result

        scenario.play(run, lambda: records_of(stack.export_deployment(show_secrets=True)))


def test_sdk_and_native_programs_deploy_one_stack_in_turn(
    tmp_path: Path, gofiles: Path, loop: asyncio.AbstractEventLoop
) -> None:
    scenario = Scenario(tmp_path, gofiles, (HOST, PLUGIN))
    turns = 0

    def program(_verb: str) -> sw.Program:
        nonlocal turns
        turns += 1
        # The preview and the first update run the SDK program, all later operations the native program.
        return scenario.sdk_program if turns <= 2 else scenario.native_program

    play_async(scenario, loop, program)
