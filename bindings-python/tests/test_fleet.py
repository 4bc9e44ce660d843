"""Operations on a set of stacks: order, waits, failures, events, lines, cancellation."""

from __future__ import annotations

import asyncio
import functools
import io
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest
import stackwright as sw
from stackwright import sync


class Things:
    """Creates things; those that are named ``broken`` fail, and ``held`` waits for ``release``."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.begun = threading.Event()
        self.release = threading.Event()
        self.running = 0
        self.most = 0
        self.lock = threading.Lock()

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if request.preview:
            return sw.CreateResult("", {**request.inputs, "size": sw.UNKNOWN})
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.begun.set()
        if request.name == "held":
            assert self.release.wait(60)
        with self.lock:
            self.running -= 1
        if request.name == "broken":
            raise ValueError("it is broken")
        self.calls.append(f"create {request.name}")
        return sw.CreateResult(f"id-{request.name}", {**request.inputs, "size": 3})

    def delete(self, request: sw.DeleteRequest) -> None:
        self.calls.append(f"delete {request.id}")


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Returns a test that runs in an event loop."""

    @functools.wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


def program(name: str, *reads: str) -> sw.Program:
    """A program with one thing that reads other stacks with references."""

    async def run(ctx: sw.Context) -> None:
        found: dict[str, Any] = {}
        for stack in reads:
            reference = ctx.read("pulumi:pulumi:StackReference", stack.replace("/", "-"), stack, {"name": stack})
            found[stack] = reference["outputs"]
        thing = ctx.resource("shop:index:Thing", name, {"found": found})
        ctx.export("size", thing["size"])
        ctx.export("found", found)

    return run


async def opened(engine: sw.Engine, name: str, *reads: str) -> sw.Stack:
    return await engine.stack(f"shop/{name}", program(name, *reads))


def engine_with(things: Things) -> sw.Engine:
    return sw.Engine(store="memory://", providers={"shop": things})


@in_loop
async def test_a_program_waits_for_an_unfinished_stack_and_a_destroy_goes_in_reverse() -> None:
    things = Things()
    async with engine_with(things) as engine:
        stacks = [await opened(engine, "c", "shop/b"), await opened(engine, "b", "shop/a"), await opened(engine, "a")]
        for limit in (1, None):
            result = await engine.up_all(stacks, max_stacks=limit)
            assert result.outcome == "succeeded" and result.skipped == ()
            assert list(result.stacks) == ["shop/c", "shop/b", "shop/a"]
            assert result.stacks["shop/b"].outputs["found"].value == {"shop/a": {"size": 3, "found": {}}}
        assert things.calls == ["create a", "create b", "create c"]
        assert (await engine.refresh_all(stacks)).error is None
        things.calls.clear()
        result = await engine.destroy_all(stacks)
        assert things.calls == ["delete id-c", "delete id-b", "delete id-a"]
        assert result.changes["delete"] == 6
        assert "shop/a: succeeded" in str(result)


@in_loop
async def test_a_preview_of_new_stacks_reads_what_is_computed() -> None:
    async with engine_with(Things()) as engine:
        result = await engine.preview_all([await opened(engine, "b", "shop/a"), await opened(engine, "a")])
        assert result.changes == {"create": 4}
        assert result.stacks["shop/b"].is_preview
        assert sw.is_unknown(result.stacks["shop/a"].outputs["size"].value)
        assert [summary.last_update for summary in await engine.stacks()] == [None, None]


@in_loop
async def test_a_failure_skips_what_depends_on_it_and_raises_its_cause() -> None:
    things = Things()
    async with engine_with(things) as engine:
        broken, other, dependent = [await opened(engine, name) for name in ("broken", "other", "dependent")]
        runs: list[sw.StackRun | sw.Stack] = [sw.StackRun(dependent, depends_on=[broken]), broken, sw.StackRun(other, message="a note")]
        with pytest.raises(sw.FailedError, match="1 of 3 stacks failed, 1 did not begin; shop/broken: ") as raised:
            await engine.up_all(runs)
        assert isinstance(raised.value.__cause__, sw.FailedError)
        assert isinstance(raised.value.__cause__.__cause__, ValueError)
        result = raised.value.fleet_result
        assert result is not None and raised.value.result is None
        assert result.skipped == ("shop/dependent",)
        skipped = result.stacks["shop/dependent"].error
        assert str(skipped).startswith("the stack 'shop/dependent' was not updated: the stack 'shop/broken' has failed")
        assert result.stacks["shop/other"].outcome == "succeeded"
        assert (await other.history())[0]["message"] == "a note"
        assert things.calls == ["create other"]


@in_loop
async def test_events_and_lines_have_the_name_of_their_stack() -> None:
    async with engine_with(Things()) as engine:
        events: list[sw.FleetEvent] = []
        lines: list[str] = []
        stacks = [await opened(engine, name) for name in ("a", "b")]
        operation = engine.up_all(stacks, on_event=events.append, on_output=lines.append)
        await operation
        assert list(operation.operations) == ["shop/a", "shop/b"] and operation.done
        for stack in ("shop/a", "shop/b"):
            own = [event.event for event in events if event.stack == stack]
            assert [event.sequence for event in own] == list(range(len(own)))
            assert isinstance(own[-1], sw.CancelEvent)
            assert f"{stack} | Updating ({stack[-1]}):" in lines
        assert sum(line.endswith("ended (2 of 2 stacks)") for line in lines) == 1


@in_loop
async def test_the_display_has_the_lines_of_all_stacks() -> None:
    async with engine_with(Things()) as engine:
        shown = io.StringIO()
        result = await sw.display(engine.up_all([await opened(engine, "a"), await opened(engine, "b")]), file=shown)
        assert result.outcome == "succeeded" and list(result.stacks) == ["shop/a", "shop/b"]
        assert "shop/a | Updating (a):\n" in shown.getvalue() and "ended (2 of 2 stacks)\n" in shown.getvalue()


@in_loop
async def test_the_iteration_has_the_events_of_all_stacks() -> None:
    async with engine_with(Things()) as engine:
        operation = engine.up_all([await opened(engine, "a"), await opened(engine, "b")])
        ended = {event.stack async for event in operation if isinstance(event.event, sw.CancelEvent)}
        assert ended == {"shop/a", "shop/b"}


@in_loop
async def test_a_cancelled_task_cancels_the_set_and_waits_for_its_end() -> None:
    things = Things()
    async with engine_with(things) as engine:
        held, after = await opened(engine, "held"), await opened(engine, "after")
        operation = engine.up_all([held, sw.StackRun(after, depends_on=["shop/held"])])

        async def wait() -> None:
            await operation

        task = asyncio.ensure_future(wait())
        assert await asyncio.to_thread(things.begun.wait, 60)
        task.cancel()
        # The cancellation reaches the operation before the step may end.
        await asyncio.sleep(0)
        things.release.set()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(task), 60)
        result = await operation.wait()
        assert result.outcome == "canceled" and result.skipped == ("shop/after",)
        assert isinstance(result.error, sw.CancelledError)
        assert things.calls == ["create held"], "the running step is complete"


@in_loop
async def test_the_calls_of_a_plugin_are_limited_in_all_stacks_together() -> None:
    things = Things()
    async with engine_with(things) as engine:
        await engine.up_all([await opened(engine, f"s{number}") for number in range(6)], max_calls_per_plugin=1)
        assert things.most == 1 and len(things.calls) == 6


@in_loop
async def test_programs_that_read_each_other_fail_with_the_cycle() -> None:
    async with engine_with(Things()) as engine:
        stacks = [await opened(engine, "a", "shop/b"), await opened(engine, "b", "shop/a")]
        result = await engine.up_all(stacks).wait()
        texts = " ".join(str(own.error) for own in result.stacks.values())
        texts += " ".join(note.message for own in result.stacks.values() for note in own.diagnostics)
        assert "the stacks of the set need each other: 'shop/" in texts


@in_loop
async def test_what_is_no_set_is_refused() -> None:
    async with engine_with(Things()) as engine:
        stack = await opened(engine, "a")
        refused: Sequence[tuple[Any, str]] = [
            (lambda: engine.up_all(stack), "runs takes a list of stacks or of StackRun"),  # type: ignore[arg-type]
            (lambda: engine.up_all(["shop/a"]), "stack takes a stack"),  # type: ignore[list-item]
            (lambda: engine.up_all([stack], max_stacks=-1), "max_stacks takes a whole number from 0"),
            (lambda: engine.up_all([sw.StackRun(stack, continue_on_eror=True)]), "did you mean 'continue_on_error'"),  # type: ignore[call-arg]
            (lambda: engine.preview_all([sw.StackRun(stack, dry_run=False)]), "a preview is a dry run"),
            (lambda: sw.StackRun(stack, depends_on=[3]), "depends_on takes stacks or their names"),  # type: ignore[list-item]
        ]
        for call, text in refused:
            with pytest.raises(sw.InvalidInputError, match=text):
                call()
        with pytest.raises(sw.InvalidInputError, match="which is not in the set"):
            await engine.up_all([sw.StackRun(stack, depends_on=["shop/other"])])
        with pytest.raises(sw.InvalidInputError, match="'shop/a' depends on 'shop/b', 'shop/b' depends on 'shop/a'"):
            other = await opened(engine, "b")
            await engine.up_all([sw.StackRun(stack, depends_on=[other]), sw.StackRun(other, depends_on=[stack])])


def test_the_blocking_twin_updates_a_set() -> None:
    with sync.Engine(store="memory://") as engine:
        seen: list[str] = []

        def named(ctx: sw.Context) -> None:
            ctx.export("name", "x")

        first, second = engine.stack("shop/a", named), engine.stack("shop/b", named)
        runs: list[sw.StackRun | sync.Stack] = [sw.StackRun(second, depends_on=[first]), first]
        result = engine.up_all(runs, on_event=lambda event: seen.append(event.stack))
        assert result.outcome == "succeeded" and set(seen) == {"shop/a", "shop/b"}
        assert seen.index("shop/a") < seen.index("shop/b")
        assert engine.preview_all([first, second]).outcome == "succeeded"
        assert engine.refresh_all([first, second]).outcome == "succeeded"
        shown = io.StringIO()
        assert sync.display(engine.start_refresh_all([first]), file=shown).outcome == "succeeded"
        assert "shop/a | Refreshing (a):\n" in shown.getvalue()
        handle = engine.start_destroy_all([first, second])
        assert {event.stack for event in handle} == {"shop/a", "shop/b"}
        assert handle.result().changes == {"delete": 2} and handle.done
        assert handle.operations["shop/a"].result().changes == {"delete": 1}


@in_loop
async def test_programs_of_the_sdk_read_stacks_of_the_set_also_while_they_are_only_previewed() -> None:
    pulumi = pytest.importorskip("pulumi")

    class Thing(pulumi.CustomResource):  # type: ignore[name-defined, misc]
        size: Any

        def __init__(self, name: str) -> None:
            super().__init__("shop:index:Thing", name, {"size": None})

    def base() -> None:
        pulumi.export("size", Thing("base").size)
        pulumi.export("name", "base")

    def reading() -> None:
        other = pulumi.StackReference("organization/shop/base")
        pulumi.export("size", other.get_output("size"))
        pulumi.export("name", other.require_output("name"))

    async with engine_with(Things()) as engine:
        stacks = [await engine.stack("shop/reading", reading), await engine.stack("shop/base", base)]
        preview = await engine.preview_all(stacks)
        outputs = preview.stacks["shop/reading"].outputs
        assert sw.is_unknown(outputs["size"].value), outputs
        result = await engine.up_all(stacks, max_stacks=1)
        outputs = result.stacks["shop/reading"].outputs
        assert (outputs["size"].value, outputs["name"].value) == (3, "base")
