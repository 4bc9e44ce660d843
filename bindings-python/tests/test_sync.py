"""The sync API: the same methods, programs as ordinary functions, and no event loop of the caller."""

from __future__ import annotations

import asyncio
import inspect
import os
from pathlib import Path

import pytest
import stackwright as sw
from stackwright import sync

from conftest import Memory

THING = "mem:index:Thing"


def engine_at(tmp_path: Path, memory: Memory) -> sync.Engine:
    return sync.Engine(store=f"file://{tmp_path}/state", passphrase="x", providers={"mem": memory})


def test_a_program_without_async_waits_for_resources(tmp_path: Path, memory: Memory) -> None:
    def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, "a", {"x": 1}).wait()
        made = a["made"].wait()
        echo = ctx.invoke("mem:index:echo", {"x": a["x"]}).wait()
        if not ctx.dry_run:
            assert echo["echo"] == {"x": 1}
        ctx.export("x", a["x"].wait())
        ctx.export("made", made)

    with engine_at(tmp_path, memory) as engine:
        stack = engine.stack("shop/dev", program)
        plan = stack.preview()
        assert plan.changes == {"create": 2}
        assert sw.unwrap(stack.up(plan).outputs) == {"x": 1, "made": True}
        assert sw.unwrap(stack.outputs()) == {"x": 1, "made": True}
        assert [stack.name for stack in engine.stacks()] == ["shop/dev"]
        memory.things.clear()
        assert stack.refresh().changes["delete"] == 1
        stack.destroy()
        assert len(stack.history()) == 3
        stack.remove()


def test_an_async_program_runs_on_the_background_loop(tmp_path: Path, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        await asyncio.sleep(0)
        ctx.export("made", (await ctx.resource(THING, "a", {}))["made"])

    with engine_at(tmp_path, memory) as engine:
        assert sw.unwrap(engine.stack("shop/dev", program).up().outputs) == {"made": True}


def test_events_can_be_iterated_during_the_operation(tmp_path: Path, memory: Memory) -> None:
    def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {})

    with engine_at(tmp_path, memory) as engine:
        operation = engine.stack("shop/dev", program).start_up()
        kinds = [type(event) for event in operation]
        assert kinds[0] is sw.PreludeEvent and kinds[-1] is sw.CancelEvent
        assert operation.result().outcome == "succeeded"


def test_errors_are_those_of_the_async_api(tmp_path: Path, memory: Memory) -> None:
    def program(ctx: sw.Context) -> None:
        raise ValueError("oh")

    with engine_at(tmp_path, memory) as engine:
        with pytest.raises(sw.ProgramError, match="oh") as caught:
            engine.stack("shop/dev", program).up()
        assert caught.value.result is not None


def test_the_sync_api_can_be_used_inside_of_a_running_event_loop(tmp_path: Path, memory: Memory) -> None:
    def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {})

    async def main() -> sw.Result:
        with engine_at(tmp_path, memory) as engine:
            return engine.stack("shop/dev", program).up()

    assert asyncio.run(main()).outcome == "succeeded"


TWINS = [(sync.Engine, sw.Engine), (sync.Stack, sw.Stack), (sync.Project, sw.Project), (sync.Operation, sw.Operation), (sync.FleetOperation, sw.FleetOperation)]


def public(of: type) -> dict[str, object]:
    return {name: member for name, member in inspect.getmembers(of) if not name.startswith("_")}


@pytest.mark.parametrize(("twin", "original"), TWINS)
def test_no_public_method_is_missing(twin: type, original: type) -> None:
    assert public(original).keys() <= public(twin).keys()
    if original is sw.Engine:
        parameters = inspect.signature(original.__init__).parameters
        assert list(parameters) == list(inspect.signature(twin.__init__).parameters)  # type: ignore[misc]


@pytest.mark.parametrize(("twin", "original"), TWINS)
def test_methods_take_what_their_twins_take_and_nothing_is_left_to_await(twin: type, original: type) -> None:
    methods = {name: member for name, member in public(original).items() if inspect.isfunction(member)}
    assert methods
    for name, method in methods.items():
        of_twin = getattr(twin, name)
        assert not inspect.iscoroutinefunction(of_twin), name
        expected, found = (inspect.signature(each).parameters for each in (method, of_twin))
        if "options" in found:
            # Options that are members of a type instead of parameters.
            assert expected.keys() <= {*found, *sync.CallOptions.__annotations__, "options"}, name
        else:
            described = [[(each.name, each.kind, repr(each.default)) for each in of.values()] for of in (expected, found)]
            assert described[0] == described[1], name


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_a_fork_an_old_engine_is_refused_and_a_new_one_works(tmp_path: Path, memory: Memory) -> None:
    def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {})

    engine = engine_at(tmp_path, memory)
    engine.stack("shop/dev", program).preview()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            try:
                engine.stack("shop/dev", program)
            except sw.InvalidInputError as error:
                assert "forked" in error.message
                engine_at(tmp_path / "child", Memory()).stack("shop/dev", program).up()
                code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    engine.close()
