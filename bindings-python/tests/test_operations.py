"""Operations: failures, events and concurrency."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import stackwright as sw

from conftest import MakeEngine, Memory, Vault

THING = "mem:index:Thing"


def one_thing(ctx: sw.Context) -> None:
    ctx.resource(THING, "a", {"size": 1})


def test_an_error_of_the_program_is_reported_with_its_traceback(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {})
        raise ValueError("no such luck")

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.ProgramError, match="ValueError: no such luck") as caught:
                await stack.up()
            result = caught.value.result
            assert result is not None and result.outcome == "failed"
            errors = [diagnostic.message for diagnostic in result.diagnostics if diagnostic.severity == "error"]
            text = next(message for message in errors if message.startswith("Program failed with an unhandled exception:"))
            assert "in program" in text and "_runner.py" not in text

    asyncio.run(run())


def test_a_failed_resource_fails_its_dependents_and_the_operation(make_engine: MakeEngine, memory: Memory) -> None:
    class Picky(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            if request.name == "bad":
                raise sw.ProviderError("the quota is used up", status=sw.Status.RESOURCE_EXHAUSTED)
            return super().create(request)

    picky = Picky()

    async def program(ctx: sw.Context) -> None:
        bad = ctx.resource(THING, "bad", {})
        ctx.resource(THING, "needs-bad", {"x": bad["made"]})

    async def run() -> None:
        async with make_engine(mem=picky) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.StackwrightError) as caught:
                await stack.up()
            result = caught.value.result
            assert result is not None
            assert any("the quota is used up" in diagnostic.message for diagnostic in result.diagnostics)
            assert picky.count("create") == 0

    asyncio.run(run())


def test_a_second_operation_on_the_same_stack_is_a_conflict(make_engine: MakeEngine) -> None:
    release = asyncio.Event()
    begun = asyncio.Event()

    async def program(ctx: sw.Context) -> None:
        begun.set()
        await release.wait()

    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", program)
            first = stack.up()
            await begun.wait()
            with pytest.raises(sw.ConflictError):
                await stack.up()
            release.set()
            await first

    asyncio.run(run())


def test_events_are_typed_and_end_with_cancel(make_engine: MakeEngine, memory: Memory) -> None:
    received: list[sw.Event] = []

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"x": 1})
        ctx.log("hello", severity="warning")

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program, config={"k": "v"})
            operation = stack.up(on_event=received.append)
            result = await operation
            assert [event.sequence for event in received] == sorted(event.sequence for event in received)
            assert isinstance(received[0], sw.PreludeEvent) and received[0].config == {"shop:k": "v"}
            assert isinstance(received[-1], sw.CancelEvent)
            outputs = [event for event in received if isinstance(event, sw.ResourceOutputsEvent)]
            assert any(event.metadata.urn.endswith("::a") and event.metadata.op == "create" for event in outputs)
            assert all((event.urn, event.op) == (event.metadata.urn, event.metadata.op) for event in outputs)
            [summary] = [event for event in received if isinstance(event, sw.SummaryEvent)]
            assert summary.resource_changes == result.changes and summary.result == "succeeded"
            assert any(isinstance(event, sw.DiagnosticEvent) and event.message == "hello\n" for event in received)
            assert received[0].json["preludeEvent"]["config"] == {"shop:k": "v"}

    asyncio.run(run())


def test_the_program_of_a_call_overrides_that_of_the_stack(make_engine: MakeEngine, memory: Memory) -> None:
    async def one(ctx: sw.Context) -> None:
        ctx.resource(THING, "one", {})

    async def two(ctx: sw.Context) -> None:
        ctx.resource(THING, "two", {})

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", one)
            assert [step.name for step in (await stack.preview(program=two)).steps if step.type == THING] == ["two"]

    asyncio.run(run())


def test_an_exported_deployment_can_be_imported(make_engine: MakeEngine, memory: Memory) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"x": sw.secret(1)})

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
            deployment = await stack.export_deployment()
            await stack.destroy()
            await stack.import_deployment(deployment)
            assert not (await stack.up()).has_changes
            with pytest.raises(sw.StateError):
                await stack.import_deployment("no JSON")

    asyncio.run(run())


def test_a_hundred_concurrent_stacks_are_isolated(tmp_path: Path, memory: Memory) -> None:
    together = asyncio.Event()
    begun = 0

    async def program(ctx: sw.Context) -> None:
        nonlocal begun
        begun += 1
        if begun == 100:
            together.set()
        await together.wait()
        things = [ctx.resource(THING, f"{ctx.stack}-{number}", {"of": ctx.stack}) for number in range(10)]
        ctx.export("of", [thing["of"] for thing in things])

    async def run() -> None:
        async with sw.Engine(store=f"file://{tmp_path}", secrets=Vault(), providers={"mem": memory}) as engine:
            stacks = [await engine.stack(f"shop/s{number}", program) for number in range(100)]
            results = await asyncio.gather(*(stack.up() for stack in stacks))
            assert [result.outputs["of"].value for result in results] == [[f"s{number}"] * 10 for number in range(100)]
            assert len(memory.things) == 1000
            assert all(id.startswith(f"{thing['of']}-") for id, thing in memory.things.items())

    asyncio.run(run())


def test_a_dry_run_changes_nothing(make_engine: MakeEngine, memory: Memory) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", one_thing)
            dry = await stack.up(dry_run=True)
            assert dry.is_preview and dry.changes == {"create": 2}
            assert not memory.things
            with pytest.raises(sw.InvalidInputError, match="up\\(\\) is not"):
                stack.preview(dry_run=False)
            for operation in (stack.up, stack.destroy, stack.refresh):
                with pytest.raises(sw.InvalidInputError, match="dry_run takes True or False, not a string"):
                    operation(dry_run="no")  # type: ignore[arg-type]

    asyncio.run(run())


def test_none_is_refused_as_a_plan(make_engine: MakeEngine, memory: Memory) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", one_thing)
            plan = (await stack.preview()).plan
            assert plan is None
            with pytest.raises(sw.InvalidInputError, match="generate_plan=True"):
                stack.up(plan)  # type: ignore[arg-type]
            with pytest.raises(sw.InvalidInputError, match="generate_plan=True"):
                stack.up(plan=None)  # type: ignore[arg-type]
            assert not memory.things

    asyncio.run(run())


def test_a_listener_may_be_a_coroutine_function(make_engine: MakeEngine, memory: Memory) -> None:
    async def run() -> None:
        received: list[int] = []

        async def listen(event: sw.Event) -> None:
            await asyncio.sleep(0)
            received.append(event.sequence)

        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", one_thing)
            await stack.up(on_event=listen)
        assert received == list(range(len(received))) and len(received) > 3

    asyncio.run(run())


def test_a_slow_listener_delays_no_operation_and_receives_all_events(make_engine: MakeEngine) -> None:
    count = 300
    received: list[sw.Event] = []

    def program(ctx: sw.Context) -> None:
        for index in range(count):
            ctx.resource(THING, f"t{index}", {})

    async def run() -> None:
        created = asyncio.Event()
        loop = asyncio.get_running_loop()

        class Counting(Memory):
            def create(self, request: sw.CreateRequest) -> sw.CreateResult:
                result = super().create(request)
                if len(self.things) == count:
                    loop.call_soon_threadsafe(created.set)
                return result

        async def listen(event: sw.Event) -> None:
            # The first event is processed after the last resource has been created.
            await asyncio.wait_for(created.wait(), 60)
            received.append(event)

        async with make_engine(mem=Counting()) as engine:
            stack = await engine.stack("shop/dev", program)
            result = await stack.up(on_event=listen)
        assert result.changes == {"create": count + 1}
        assert [event.sequence for event in received] == list(range(len(received)))
        assert len(received) > 2 * count and isinstance(received[-1], sw.CancelEvent)

    asyncio.run(run())


@pytest.mark.parametrize("is_async", [True, False])
def test_an_exception_of_a_listener_has_the_result(make_engine: MakeEngine, memory: Memory, is_async: bool) -> None:
    raised = RuntimeError("cannot listen")

    def listen(event: sw.Event) -> None:
        raise raised

    async def listen_async(event: sw.Event) -> None:
        listen(event)

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", one_thing)
            operation = stack.up(on_event=listen_async if is_async else listen)
            with pytest.raises(RuntimeError, match="cannot listen") as caught:
                await operation
            assert caught.value is raised
            result: sw.Result = raised.result  # type: ignore[attr-defined]
            assert result.outcome == "succeeded" and result.changes["create"] == 2
            with pytest.raises(RuntimeError, match="cannot listen"):
                await operation.wait()
            assert (await stack.up()).changes == {"same": 2}

    asyncio.run(run())
