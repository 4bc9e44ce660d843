"""The test kit: components, other stacks, real providers, what is retained, and refactorings of options and outputs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import stackwright as sw
from stackwright.testing import SimulatedStack, configurations, crash_everywhere, kill, refactoring, simulate

MACHINE = "cloud:index:Machine"


def shop(ctx: sw.Context) -> None:
    ctx.resource(MACHINE, "web", {"size": ctx.config.get("size", "small")})


def boxed(ctx: sw.Context) -> None:
    box = ctx.remote_component("cloud:index:Box", "box", {"size": 1})
    ctx.resource(MACHINE, "web", {"address": box["address"]})


def test_a_program_with_a_remote_component_is_stable() -> None:
    outputs = {"cloud:index:Box": {"address": "10.0.0.1"}}
    stack = simulate(boxed, outputs=outputs)
    stack.preview().assert_no_changes()
    stack.up().assert_no_changes()
    assert len(crash_everywhere(boxed, outputs=outputs, every=3)) > 3
    refactoring(stack.stack().export_deployment(), boxed, outputs=outputs)
    box = {"inputProperties": {"size": {"type": "integer"}}, "properties": {"address": {"type": "string"}}, "required": ["address"]}
    machine = {"inputProperties": {"address": {"type": "string"}}}
    simulate(
        boxed, schemas=[{"name": "cloud", "resources": {"cloud:index:Box": box, MACHINE: machine}}]
    ).preview().assert_no_changes()


STACKS = {"org/other/dev": {"url": "https://other", "key": sw.secret("k-31337")}}


def test_stack_references_read_the_stacks_of_the_test() -> None:
    def program(ctx: sw.Context) -> None:
        other = ctx.read("pulumi:pulumi:StackReference", "other", "org/other/dev", {"name": "org/other/dev"})
        ctx.resource(MACHINE, "web", {"url": other["outputs"]["url"], "key": other["outputs"]["key"]})

    stack = simulate(program, stacks=STACKS)
    inputs = stack.resources["web"].inputs
    assert inputs["url"] == "https://other" and isinstance(inputs["key"], sw.Secret)
    stack.preview().assert_no_changes()
    with pytest.raises(sw.StackwrightError, match="in the option `stacks`"):
        simulate(program)


def test_stack_references_of_the_sdk_read_the_stacks_of_the_test() -> None:
    pulumi = pytest.importorskip("pulumi")

    def program() -> None:
        other = pulumi.StackReference("other/dev")
        pulumi.export("url", other.get_output("url"))
        pulumi.export("key", other.get_output("key"))

    stack = simulate(program, stacks=STACKS)
    assert stack.outputs["url"].value == "https://other" and stack.outputs["key"].secret
    stack.preview().assert_no_changes()


class Cloud(sw.Provider):
    """A real provider, in place of a plugin."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        return sw.CreateResult(id=f"i-{request.name}", outputs=request.inputs)

    def update(self, request: sw.UpdateRequest) -> dict[str, Any]:
        return {**request.inputs}

    def delete(self, request: sw.DeleteRequest) -> None:
        pass


class Numbered(Cloud):
    """A provider each of whose things has another id."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        self.made.append(f"i-{len(self.made)}")
        return sw.CreateResult(id=self.made[-1], outputs=request.inputs)

    def read(self, request: sw.ReadRequest) -> sw.ReadResult | None:
        inputs = request.inputs or {"size": "small"}
        return sw.ReadResult(id=request.id, inputs=inputs, outputs=inputs) if request.id in self.made else None


@pytest.mark.parametrize("provider", [Cloud, Numbered])
@pytest.mark.parametrize("verb", ["up", "destroy"])
def test_crashes_with_real_providers_are_completed(provider: type[Cloud], verb: Any) -> None:
    assert len(crash_everywhere(shop, providers={"cloud": provider()}, verb=verb)) > 10


def test_a_thing_that_a_real_provider_creates_twice_is_reported() -> None:
    with pytest.raises(AssertionError, match=r"web \(cloud:index:Machine\) exists with the id i-\d+, and no record has it"):
        crash_everywhere(shop, providers={"cloud": Numbered()}, recover=None)


def retained(ctx: sw.Context) -> None:
    ctx.resource(MACHINE, "web", {"size": "small"}, retain_on_delete=True)


def test_what_is_retained_is_no_discrepancy() -> None:
    stack = simulate(retained)
    stack.destroy()
    assert len(stack.world) == 1 and stack.discrepancies() == []
    crash_everywhere(retained, verb="destroy")
    crash_everywhere(shop, before=lambda ctx: ctx.resource(MACHINE, "old", {}, retain_on_delete=True))


def test_a_destroy_that_leaves_something_is_reported() -> None:
    def recover(stack: SimulatedStack) -> None:
        # The next run destroys nothing.
        destroy = stack.destroy
        stack.destroy = lambda **options: destroy(**options) if options.get("dry_run") else stack.refresh(check=False)  # type: ignore[method-assign]

    with pytest.raises(AssertionError, match="it left something to do: delete of web"):
        crash_everywhere(shop, verb="destroy", recover=recover, every=30)


def options(protect: bool, output: int) -> sw.Program:
    def program(ctx: sw.Context) -> None:
        ctx.resource(MACHINE, "web", {"size": "small"}, protect=protect)
        ctx.export("o", output)

    return program


def test_a_refactoring_changes_neither_options_nor_outputs() -> None:
    refactoring(options(True, 1), options(True, 1))
    with pytest.raises(AssertionError) as raised:
        refactoring(options(True, 1), options(False, 2))
    assert "web (cloud:index:Machine)  protect: true -> false" in str(raised.value) and "o: 1 -> 2" in str(raised.value)
    with pytest.raises(AssertionError, match="changes 1 output of the stack\n"):
        refactoring(options(True, 1), options(True, 2))
    # As in the counts of an operation, an option of the record is no change.
    simulate(options(True, 1)).preview(options(False, 1)).assert_no_changes()


def grouped(*, aliased: bool) -> sw.Program:
    def program(ctx: sw.Context) -> None:
        group = ctx.component("my:index:Group", "group")
        aliases: list[str | sw.Alias] = [{"no_parent": True}] if aliased else []
        web = ctx.resource(MACHINE, "web", {"size": "small"}, parent=group, aliases=aliases)
        ctx.resource("cloud:index:Record", "dns", {"of": web.id})

    return program


def flat(ctx: sw.Context) -> None:
    web = ctx.resource(MACHINE, "web", {"size": "small"})
    ctx.resource("cloud:index:Record", "dns", {"of": web.id})


def test_a_refactoring_may_put_resources_into_a_component() -> None:
    refactoring(flat, grouped(aliased=True), allow_components=True)
    with pytest.raises(AssertionError, match=r"no alias explains:\n.*my:index:Group"):
        refactoring(flat, grouped(aliased=True))
    with pytest.raises(AssertionError) as raised:
        refactoring(flat, grouped(aliased=False), allow_components=True)
    text = str(raised.value)
    assert "web (cloud:index:Machine)  aliases=" in text and "dns" not in text and "no alias explains" not in text


def renamed(ctx: sw.Context) -> None:
    group = ctx.component("my:index:Group", "group")
    web = ctx.resource(MACHINE, "group-web", {"size": "small"}, parent=group)
    ctx.resource("cloud:index:Record", "group-dns", {"of": web.id}, parent=group)


def test_a_refactoring_names_all_aliases_also_those_that_only_others_show() -> None:
    with pytest.raises(AssertionError) as raised:
        refactoring(flat, renamed, allow_components=True)
    text = str(raised.value)
    assert text.startswith("the second program changes 4 resources\naliases are missing:"), text
    assert "group-web (cloud:index:Machine)  aliases=" in text and "group-dns (cloud:index:Record)  aliases=" in text
    assert "explains" not in text, text


class Constructing(Cloud):
    """A provider of a component."""

    def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> dict[str, Any]:
        web = ctx.resource(MACHINE, f"{request.name}-machine", {"size": request.inputs["size"]})
        return {"address": web.id}


def test_a_recording_with_components_needs_their_provider_or_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "recorded.json"
    with pytest.raises(sw.StackwrightError, match="a recording cannot have the remote component box"):
        simulate(boxed, record=file, providers={"cloud": Constructing()})
    assert not file.exists()
    settings: dict[str, Any] = {"record": file, "providers": {"cloud": Constructing()}, "real": ["cloud"]}
    simulate(boxed, **settings)
    played = simulate(boxed, **settings)
    assert "box-machine" in played.resources.names and played.resources["web"].inputs["address"] == "i-box-machine"
    played.preview().assert_no_changes()


def test_an_update_of_what_was_removed_by_hand_is_refused() -> None:
    stack = simulate(shop)
    del stack.world["web"]
    with pytest.raises(sw.StackwrightError, match="the simulated world has no cloud:index:Machine"):
        stack.up(config={"size": "large"})
    stack.refresh().assert_deletes("web")
    stack.up().assert_creates("web")


def test_an_operation_after_a_killed_run_names_restart() -> None:
    stack = simulate(shop, run=False)
    stack.up(faults=[kill("create", name="web")], check=False)
    with pytest.raises(sw.CancelledError) as raised:
        stack.up()
    assert any("restart()" in hint for hint in raised.value.hints)
    stack.restart()
    stack.up()


def test_a_key_that_is_not_declared_is_refused_with_the_nearest_one() -> None:
    strategies = hypothesis.strategies
    with pytest.raises(sw.InvalidInputError, match="unknown key 'sise' of the declared configuration; did you mean 'size'"):
        configurations({"size": "string"}, sise=strategies.just("small"))
    drawn = configurations({"shop:size": "string"}, size=strategies.just("small"))
    assert hypothesis.find(drawn, lambda _: True) == {"shop:size": "small"}


SNAPSHOT = """
from stackwright.testing import simulate as start

def program(ctx):
    ctx.resource("cloud:index:Machine", "web", {"size": "small"})

def test_imported():
    start(program, run=False).preview().assert_matches_snapshot("imported.txt")

def test_fixture(simulate):
    simulate(program, run=False).preview().assert_matches_snapshot("fixture.txt")
"""


def test_the_option_of_pytest_updates_snapshots_with_and_without_the_fixture(tmp_path: Path) -> None:
    (tmp_path / "test_plans.py").write_text(SNAPSHOT)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "test_plans.py"]

    def run(*arguments: str) -> str:
        return subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120).stdout

    assert "2 failed" in run()
    assert "2 passed" in run("--update-plans")
    assert (tmp_path / "imported.txt").read_text() == (tmp_path / "fixture.txt").read_text()
    assert "2 passed" in run()
