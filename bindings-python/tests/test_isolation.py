"""Concurrent stacks: resources built outside of a run, or without its context, are registered in none of them."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pulumi
import pytest
import stackwright as sw

from conftest import MakeEngine, Memory


class Thing(pulumi.CustomResource):
    def __init__(self, name: str) -> None:
        super().__init__("mem:index:Thing", name, {"x": 1})


class Box(pulumi.ComponentResource):
    def __init__(self, name: str) -> None:
        super().__init__("box:index:Box", name)


def with_loop(build: Callable[[], object]) -> object:
    """Calls ``build`` on a thread with an event loop, which the SDK requires."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return build()
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def caught(build: Callable[[], object]) -> BaseException | None:
    try:
        with_loop(build)
    except BaseException as error:  # noqa: BLE001
        return error
    return None


BUILDS: dict[str, Callable[[], object]] = {
    "a resource": lambda: Thing("stray"),
    "a component": lambda: Box("stray"),
    "an existing resource": lambda: pulumi.CustomResource("mem:index:Thing", "stray", {}, pulumi.ResourceOptions(id="x")),
    "a stack reference": lambda: pulumi.StackReference("organization/shop/left"),
    "an invoke": lambda: pulumi.runtime.invoke("mem:index:echo", {"x": 1}),
}


def on_a_thread(build: Callable[[], object]) -> BaseException | None:
    found: list[BaseException | None] = []
    thread = threading.Thread(target=lambda: found.append(caught(build)))
    thread.start()
    thread.join(30)
    return found[0]


def in_an_executor(build: Callable[[], object]) -> BaseException | None:
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(caught, build).result(30)


def in_an_empty_context(build: Callable[[], object]) -> BaseException | None:
    # On another thread, because the SDK runs event loops on the program's thread.
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(contextvars.Context().run, caught, build).result(30)


class Both:
    """Two programs whose runs overlap until both have called ``act``."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.begun = threading.Barrier(2, timeout=60)
        self.done = threading.Barrier(2, timeout=60)
        self.act = act

    def program(self) -> None:
        Thing(f"of-{pulumi.get_stack()}")
        self.begun.wait()
        self.act()
        self.done.wait()

    async def run(self, engine: sw.Engine) -> list[sw.Result]:
        stacks = [await engine.stack(f"shop/{name}", self.program) for name in ("left", "right")]
        return list(await asyncio.gather(*(stack.up() for stack in stacks)))


def names_of(results: list[sw.Result]) -> list[set[str]]:
    return [{step.name for step in result.steps if step.type == "mem:index:Thing"} for result in results]


@pytest.mark.parametrize("what", BUILDS)
@pytest.mark.parametrize("lost", [on_a_thread, in_an_executor, in_an_empty_context])
def test_a_build_without_context_is_an_error_and_registers_in_neither_stack(
    make_engine: MakeEngine, memory: Memory, what: str, lost: Callable[[Callable[[], object]], BaseException | None]
) -> None:
    errors: list[BaseException | None] = []
    both = Both(lambda: errors.append(lost(BUILDS[what])))

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            assert names_of(await both.run(engine)) == [{"of-left"}, {"of-right"}]

    asyncio.run(run())
    assert len(errors) == 2
    for error in errors:
        assert isinstance(error, sw.InvalidInputError) and "no deployment is running" in str(error), repr(error)
    assert {name for _, name in memory.calls} == {"of-left", "of-right"}


def test_a_thread_without_context_has_access_to_neither_stack(make_engine: MakeEngine) -> None:
    seen: list[tuple[Any, ...]] = []

    def look() -> None:
        config = pulumi.Config("shop")
        seen.append((pulumi.get_stack(), config.get("where"), pulumi.runtime.get_root_resource()))

    def program() -> None:
        begun.wait()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(30)
        done.wait()

    begun, done = threading.Barrier(2, timeout=60), threading.Barrier(2, timeout=60)

    async def run() -> None:
        async with make_engine() as engine:
            stacks = [
                await engine.stack(f"shop/{name}", program, config={"where": name}) for name in ("left", "right")
            ]
            await asyncio.gather(*(stack.up() for stack in stacks))

    asyncio.run(run())
    assert len(seen) == 2
    for stack, where, root in seen:
        assert stack not in ("left", "right") and where is None and root is None


def test_a_build_outside_of_two_running_stacks_is_an_error(make_engine: MakeEngine, memory: Memory) -> None:
    errors: list[BaseException | None] = []
    inside = threading.Barrier(3, timeout=60)
    leave = threading.Event()

    def act() -> None:
        inside.wait()
        assert leave.wait(60)

    both = Both(act)

    def outside() -> None:
        inside.wait()
        errors.extend(caught(build) for build in BUILDS.values())
        leave.set()

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            results, _ = await asyncio.gather(both.run(engine), asyncio.to_thread(outside))
            assert names_of(results) == [{"of-left"}, {"of-right"}]

    asyncio.run(run())
    assert [type(error) for error in errors] == [sw.InvalidInputError] * len(BUILDS)
    assert {name for _, name in memory.calls} == {"of-left", "of-right"}


def test_a_thread_with_a_copied_context_uses_its_stack(make_engine: MakeEngine, memory: Memory) -> None:
    async def program() -> None:
        begun.wait()
        carried = contextvars.copy_context()
        with ThreadPoolExecutor(1) as executor:
            stack = executor.submit(carried.run, pulumi.get_stack).result(30)
        Thing(f"of-{stack}-{await asyncio.to_thread(pulumi.get_stack)}")
        done.wait()

    begun, done = threading.Barrier(2, timeout=60), threading.Barrier(2, timeout=60)

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stacks = [await engine.stack(f"shop/{name}", program) for name in ("left", "right")]
            results = await asyncio.gather(*(stack.up() for stack in stacks))
            assert names_of(list(results)) == [{"of-left-left"}, {"of-right-right"}]

    asyncio.run(run())


def test_a_context_of_the_native_api_is_valid_in_its_run_only(make_engine: MakeEngine, memory: Memory) -> None:
    kept: list[sw.Context] = []
    leave = asyncio.Event()
    begun = asyncio.Event()

    async def left(ctx: sw.Context) -> None:
        kept.append(ctx)
        ctx.resource("mem:index:Thing", "of-left", {})

    async def right(ctx: sw.Context) -> None:
        ctx.resource("mem:index:Thing", "of-right", {})
        begun.set()
        await leave.wait()

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            operation = (await engine.stack("shop/right", right)).up()
            await begun.wait()
            await (await engine.stack("shop/left", left)).up()
            # The run of `left` has ended, that of `right` has not.
            with pytest.raises(sw.StackwrightError) as error:
                await kept[0].resource("mem:index:Thing", "late", {})
            assert "shut" in str(error.value) or "ended" in str(error.value)
            leave.set()
            assert names_of([await operation]) == [{"of-right"}]

    asyncio.run(run())
    assert {name for _, name in memory.calls} == {"of-left", "of-right"}
