"""Transforms and hooks that components of plugins register in Construct: the engine calls them also when Construct has ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import Host, Memory, Vault, on_loop, package_of, served, states

pulumi = pytest.importorskip("pulumi")


class Guards:
    """A stack with the component `Guarded` of a package."""

    def __init__(self, package: str, log: Path) -> None:
        self.package = package
        self.log = log
        self.inputs: dict[str, Any] | None = None

    def program(self, ctx: sw.Context) -> None:
        ctx.resource("things:index:Thing", "other", {"size": 101})
        if self.inputs is not None:
            guard = ctx.remote_component(f"{self.package}:index:Guarded", "guard", self.inputs)
            ctx.export("size", guard["size"])

    def called(self) -> list[str]:
        """Returns the hooks that have run, and forgets them."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return sorted(lines)


@pytest.fixture(scope="session")
def called(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("guarded") / "called"


@pytest.fixture
def log(called: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which hooks of components add a line: processes that serve several tests have it in their environment."""
    monkeypatch.setenv("GUARDED_LOG", str(called))
    called.unlink(missing_ok=True)
    return called


@pytest.fixture(scope="module")
def tsbox_logging(called: Path, tsbox_own: list[str]) -> Iterator[list[str]]:
    """Returns the component plugin in TypeScript with one process for these tests, whose hooks add lines to the file."""
    host = Host(["env", f"GUARDED_LOG={called}", *tsbox_own])
    yield host
    host.end()


def engine(tmp_path: Path, memory: Memory, package: str, command: list[str]) -> sw.Engine:
    return sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory},
        **served({package: command}),
    )


@pytest.fixture(params=["pybox", "gobox_newest"])
def package(request: pytest.FixtureRequest) -> tuple[str, list[str]]:
    """Returns a package whose components have hooks, and the command of its plugin."""
    return package_of(request.param, request)


@on_loop
async def test_hooks_of_a_component_run_after_its_construct(
    tmp_path: Path, memory: Memory, log: Path, package: tuple[str, list[str]]
) -> None:
    guards = Guards(package[0], log)
    async with engine(tmp_path, memory, *package) as running:
        stack = await running.stack("shop/dev", guards.program)

        async def up(**inputs: Any) -> BaseException | None:
            guards.inputs = inputs or None
            return (await stack.up().wait()).error

        guards.inputs = {"size": 1, "count": 2}
        await stack.preview()
        assert guards.called() == [], "hooks do not run in previews"
        assert await up(size=1, count=2) is None
        assert guards.called() == ["after_create guard-0", "after_create guard-1", "before_create guard-0", "before_create guard-1"]
        assert {thing["size"] for thing in memory.things.values()} == {101}, "the transform of the component applies"
        assert await up(size=2, count=2) is None
        assert guards.called() == ["after_update guard-0", "after_update guard-1", "before_update guard-0", "before_update guard-1"]
        # A thing that the component no longer has is deleted when its Construct has ended.
        error = await up(size=2, count=1, refused="before_delete")
        assert isinstance(error, sw.FailedError)
        assert 'before hook "guard before_delete" failed: no before_delete of guard-1 today' in str(error)
        assert guards.called() == ["before_delete guard-1"] and len(memory.things) == 3
        assert await up(size=2, count=1) is None
        assert guards.called() == ["after_delete guard-1", "before_delete guard-1"] and len(memory.things) == 2
        error = await up(size=3, count=1, refused="after_update")
        assert 'after hook "guard after_update" failed: no after_update of guard-0 today' in str(error)
        assert states(await stack.export_deployment())["guard-0"]["outputs"]["size"] == 103
        assert guards.called() == ["after_update guard-0", "before_update guard-0"]
        # Only Construct registers the hooks.
        error = await up()
        assert isinstance(error, sw.FailedError) and 'hook "guard before_delete" was not registered' in str(error)
        with pytest.raises(sw.StackwrightError, match="delete hooks"):
            await stack.destroy()
        assert len(memory.things) == 2
        guards.inputs = {"size": 3, "count": 1}
        await stack.destroy(destroy_program=True)
        assert guards.called() == ["after_delete guard-0", "before_delete guard-0"] and memory.things == {}


NO_ANSWER = r"failed: the program's functions at 127\.0\.0\.1:\d+ did not answer"


@pytest.mark.parametrize(("moment", "recorded"), [("before_create", False), ("after_create", True)])
@on_loop
async def test_a_component_host_that_dies_in_a_hook_fails_the_resource_or_the_component(
    tmp_path: Path, memory: Memory, log: Path, package: tuple[str, list[str]], moment: str, recorded: bool
) -> None:
    guards = Guards(package[0], log)
    guards.inputs = {"size": 1, "count": 1, "dies": moment}
    async with engine(tmp_path, memory, *package) as running:
        stack = await running.stack("shop/dev", guards.program)
        # Construct waits for the resource: either failure can be noticed first.
        hook = rf'resource `guard-0` .* hook "guard {moment}" {NO_ANSWER}'
        construct = f"{package[0]}:index:Guarded resource 'guard' has a problem: .* died during Construct"
        with pytest.raises(sw.StackwrightError, match=f"{hook}|{construct}"):
            await stack.up()
        known = states(await stack.export_deployment())
        assert ("guard-0" in known) == recorded == any(id.startswith("guard-0") for id in memory.things)
        # Another process takes the place of that one.
        guards.inputs = {"size": 1, "count": 1}
        await stack.up()
        assert memory.count("create") == 2, "nothing is created twice"


@on_loop
async def test_a_component_host_that_dies_in_a_hook_after_construct_fails_the_resource(
    tmp_path: Path, memory: Memory, log: Path, package: tuple[str, list[str]]
) -> None:
    guards = Guards(package[0], log)
    async with engine(tmp_path, memory, *package) as running:
        stack = await running.stack("shop/dev", guards.program)
        guards.inputs = {"size": 1, "count": 1}
        await stack.up()
        guards.inputs = {"size": 1, "count": 0, "dies": "before_delete"}
        with pytest.raises(sw.FailedError, match=rf'resource `guard-0` .*before hook "guard before_delete" {NO_ANSWER}'):
            await stack.up()
        known = states(await stack.export_deployment())
        assert known["guard-0"]["id"] in memory.things, "it is not deleted"
        # Another process takes the place of that one.
        guards.inputs = {"size": 1, "count": 0}
        await stack.up()
        assert len(memory.things) == 1


@pytest.mark.parametrize("host", ["gobox", "gobox_newest"])
@on_loop
async def test_a_transform_of_a_component_in_go_applies_to_its_things(
    tmp_path: Path, memory: Memory, log: Path, request: pytest.FixtureRequest, host: str
) -> None:
    guards = Guards("gobox", log)
    async with engine(tmp_path, memory, *package_of(host, request)) as running:
        stack = await running.stack("shop/dev", guards.program)
        guards.inputs = {"size": 1, "count": 2}
        await stack.up()
        assert [thing["size"] for thing in memory.things.values()] == [101, 101, 101]
        guards.inputs = {"size": 2, "count": 2, "refused": "guard-1"}
        with pytest.raises(sw.StackwrightError, match="(?s)'guard-1'.*no size of guard-1 today"):
            await stack.up()
        known = states(await stack.export_deployment())
        assert known["guard-1"]["inputs"]["size"] == 101, "the refused change is not made"
        # Only Construct registers the hooks that the things of the newest host have.
        guards.inputs = None if host == "gobox" else {"size": 2, "count": 0}
        await stack.up()
        assert [thing["size"] for thing in memory.things.values()] == [101]


class Flaky(Memory):
    """Fails the next creations of `guard-0`."""

    failures = 0

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if request.name == "guard-0" and self.failures > 0:
            self.failures -= 1
            self.note("failed", request.name)
            raise sw.ProviderError(f"throttled, {self.failures} to go")
        return super().create(request)


@pytest.mark.parametrize("host", ["pybox", "tsbox_logging", "gobox_newest"])
@on_loop
async def test_an_error_hook_of_a_component_decides_whether_a_failed_operation_is_repeated(
    tmp_path: Path, log: Path, request: pytest.FixtureRequest, host: str
) -> None:
    package, command = package_of(host, request)
    guards, memory = Guards(package, log), Flaky()
    on_error = "onError" if host == "tsbox_logging" else "on_error"

    async with engine(tmp_path, memory, package, command) as running:
        stack = await running.stack("shop/dev", guards.program)

        async def up(failures: int, **inputs: Any) -> tuple[str, int, int]:
            """Returns the failure of an update, how often the hook has run, and how often the creation has failed."""
            memory.failures, before = failures, memory.count("failed")
            guards.inputs = {"size": 1, "count": 2, **inputs}
            error = (await stack.up().wait()).error
            failed = "guard-0" not in states(await stack.export_deployment())
            assert (error is not None) == failed, "what is not created is not recorded"
            ran = guards.called().count(f"{on_error} guard-0")
            return str(error or ""), ran, memory.count("failed") - before

        text, *times = await up(1, refused=on_error, retries=2)
        assert re.search(rf"(?s)resource `guard-0`.*no {on_error} of guard-0 today", text) and times == [1, 1]
        text, *times = await up(3, retries=1)
        assert re.search("(?s)resource `guard-0`.*throttled, 1 to go", text) and times == [2, 2]
        assert await up(2, retries=2) == ("", 2, 2)
        assert [thing["size"] for thing in memory.things.values()] == [101, 101, 101]
        await stack.destroy(destroy_program=True)
        assert memory.things == {}


@pytest.mark.parametrize(
    ("host", "moment"),
    [("pybox", "transform"), ("tsbox_own", "transform"), ("pybox", "on_error"), ("tsbox_own", "onError"), ("gobox_newest", "on_error")],
)
@on_loop
async def test_a_component_host_that_dies_in_a_transform_or_an_error_hook_leaves_a_valid_state(
    tmp_path: Path, log: Path, request: pytest.FixtureRequest, host: str, moment: str
) -> None:
    package, command = package_of(host, request)
    guards, memory = Guards(package, log), Flaky()
    is_transform = moment == "transform"

    async with engine(tmp_path, memory, package, command) as running:
        stack = await running.stack("shop/dev", guards.program)
        guards.inputs = {"size": 1, "count": 1, "dies": moment, "retries": 5}
        memory.failures = 0 if is_transform else 5
        # Construct waits for the resource: either failure can be noticed first.
        function = rf"(?s)'guard-0'.*{NO_ANSWER}" if is_transform else rf'resource `guard-0` .*error hook "guard {moment}" {NO_ANSWER}'
        construct = f"{package}:index:Guarded resource 'guard' has a problem: .* died during Construct"
        with pytest.raises(sw.StackwrightError, match=f"{function}|{construct}"):
            await stack.up()
        left = await stack.export_deployment()
        assert "pending_operations" not in left["deployment"] and states(left).keys() & {"guard", "guard-0", "other"} == {"guard", "other"}
        ran = [line for line in guards.called() if line.startswith("on")]
        assert ran == ([] if is_transform else [f"{moment} guard-0"])
        assert memory.count("failed") == len(ran), "a failed operation is not repeated without the hook"
        # Another process takes the place of that one.
        memory.failures = 0
        guards.inputs = {"size": 1, "count": 1}
        await stack.up()
        assert [thing["size"] for thing in memory.things.values()] == [101, 101] and memory.count("create") == 2
        await stack.destroy(destroy_program=True)
        assert memory.things == {}
