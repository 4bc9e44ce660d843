"""Components, methods and policies of the host that answer when their operation has ended: the answer has no effect."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
import stackwright as sw

from conftest import MakeEngine, Memory, on_loop, states

THING = "things:index:Thing"


class Late:
    """Functions that return when the test lets them, also when they are cancelled before."""

    def __init__(self) -> None:
        self.asked, self.released, self.answered = threading.Event(), threading.Event(), threading.Event()
        self.refused: list[BaseException] = []

    def wait(self) -> None:
        self.asked.set()
        assert self.released.wait(30)

    async def wait_async(self) -> None:
        self.asked.set()
        waiting = asyncio.ensure_future(asyncio.to_thread(self.released.wait, 30))
        while not waiting.done():
            try:
                await asyncio.shield(waiting)
            except asyncio.CancelledError:
                continue

    def answer(self, answer: Any) -> Any:
        self.answered.set()
        return answer


class BlockingBoxes(sw.Provider):
    """Answers late from one method."""

    def __init__(self, late: Late, method: str) -> None:
        self.late, self.method = late, method

    def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Any:
        lid = ctx.resource(THING, f"{request.name}-lid", {"size": 1})
        return self.too_late(ctx) if self.method == "construct" else {"size": lid["size"]}

    def call(self, ctx: sw.Context, request: sw.MethodRequest) -> Any:
        return self.too_late(ctx) if self.method == "call" else {"size": 2}

    def too_late(self, ctx: sw.Context) -> Any:
        self.late.wait()
        try:
            ctx.resource(THING, "late").wait()
        except BaseException as error:  # noqa: BLE001
            self.late.refused.append(error)
        return self.late.answer({"size": "too late"})


class AsyncBoxes(BlockingBoxes):
    """The same with coroutines."""

    async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Any:
        made = super().construct(ctx, request)
        return await made if self.method == "construct" else made

    async def call(self, ctx: sw.Context, request: sw.MethodRequest) -> Any:
        return await self.too_late(ctx) if self.method == "call" else {"size": 2}

    async def too_late(self, ctx: sw.Context) -> Any:
        await self.late.wait_async()
        try:
            await ctx.resource(THING, "late")
        except BaseException as error:  # noqa: BLE001
            self.late.refused.append(error)
        return self.late.answer({"size": "too late"})


def program(ctx: sw.Context) -> None:
    made = ctx.remote_component("box:index:Box", "box", {})
    ctx.export("opened", ctx.call("box:index:Box/open", made, {})["size"])


def things(ctx: sw.Context) -> None:
    ctx.resource(THING, "first", {"size": 1})


@pytest.mark.parametrize("way", ["async", "blocking"])
@pytest.mark.parametrize("method", ["construct", "call", "check", "remediate", "check_stack"])
@on_loop
async def test_an_answer_after_the_end_of_the_operation_has_no_effect(
    make_engine: MakeEngine, memory: Memory, method: str, way: str
) -> None:
    late, events = Late(), list[sw.Event]()
    failures: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    boxes = (AsyncBoxes if way == "async" else BlockingBoxes)(late, method)

    def is_asked(judged: Any) -> bool:
        return method == "check_stack" or judged.type == THING

    def answer(judged: Any) -> Any:
        return late.answer({**judged.inputs, "size": "too late"} if method == "remediate" else "too late")

    def blocking(judged: Any) -> Any:
        if not is_asked(judged):
            return None
        late.wait()
        return answer(judged)

    async def waiting(judged: Any) -> Any:
        if not is_asked(judged):
            return None
        await late.wait_async()
        return answer(judged)

    judge = waiting if way == "async" else blocking
    is_policy = method not in ("construct", "call")
    functions: dict[str, Any] = {method: judge}
    options: dict[str, Any] = {"policies": [sw.Policy("late", **functions)]} if is_policy else {}

    async def run() -> None:
        async with make_engine(things=memory, box=boxes) as engine:
            stack = await engine.stack("shop/dev", things if is_policy else program)
            operation = stack.up(on_event=events.append, **options)
            assert await asyncio.to_thread(late.asked.wait, 20)
            operation.cancel()
            operation.cancel()
            result = await operation.wait()
            assert isinstance(result.error, sw.CancelledError) and not late.answered.is_set()
            before = (await stack.export_deployment(), len(events), list(memory.calls))
            late.released.set()
            assert await asyncio.to_thread(late.answered.wait, 20)
            # What another operation needs is far more than the answer does.
            other = await engine.stack("shop/other", things)
            await other.up()
            memory.calls.remove(("create", "first"))
            assert (await stack.export_deployment(), len(events), memory.calls) == before
            assert "too late" not in str([before, events, result.diagnostics, result.outputs])
            if is_policy:
                assert late.refused == []
            else:
                (refused,) = late.refused
                assert isinstance(refused, sw.CancelledError)
                assert str(refused) == "the operation has ended: nothing is taken any more", refused
            # The next operation is answered in time.
            boxes.method = ""
            assert (await stack.up()).outcome == "succeeded"
            assert not {"late"} & states(await stack.export_deployment()).keys()

    await asyncio.wait_for(run(), 60)
    assert failures == []
