"""Opening stacks: create, select, create or select, and errors for unknown names."""

from __future__ import annotations

import asyncio

import pytest
import stackwright as sw
from conftest import MakeEngine, Memory
from stackwright import sync


def program(ctx: sw.Context) -> None:
    ctx.resource("mem:index:Thing", "a", {})


def test_a_stack_is_created_selected_or_either_and_errors_name_similar_stacks(
    make_engine: MakeEngine, memory: Memory
) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            with pytest.raises(sw.NotFoundError, match="no stack named 'shop/dev' found"):
                await engine.select_stack("shop/dev", program)
            stack = await engine.create_stack("shop/dev", program)
            assert (await stack.up()).changes == {"create": 2}
            with pytest.raises(sw.ConflictError, match=r"already exists(.|\n)*hint: select_stack\(\) selects it"):
                await engine.create_stack("shop/dev")
            assert await (await engine.select_stack("shop/dev")).outputs() == {}
            with pytest.raises(sw.NotFoundError, match=r"did you mean 'shop/dev'\?(.|\n)*hint: create_stack\(\) creates a stack$"):
                await engine.select_stack("shop/dve")
            await engine.create_or_select_stack("shop/dev")
            await engine.create_or_select_stack("shop/new")
            assert [stack.name for stack in await engine.stacks()] == ["shop/dev", "shop/new"]
            with pytest.raises(sw.InvalidInputError, match="create is an option of stack"):
                await engine.create_stack("shop/x", create=False)  # type: ignore[call-arg]
            assert repr(engine).startswith("<Engine on ")

    asyncio.run(run())


def test_a_stack_that_is_opened_without_a_program_is_created_by_its_first_update_and_not_by_a_read(
    make_engine: MakeEngine, memory: Memory
) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev")
            with pytest.raises(sw.NotFoundError):
                await stack.outputs()
            with pytest.raises(sw.NotFoundError):
                await stack.destroy()
            assert (await stack.preview(program=program)).changes == {"create": 2}
            assert await engine.stacks() == []
            await stack.up(program=program)
            assert [stack.name for stack in await engine.stacks()] == ["shop/dev"]

    asyncio.run(run())


def test_the_sync_engine_opens_stacks_in_the_same_ways() -> None:
    with sync.Engine(store="memory://") as engine:
        with pytest.raises(sw.NotFoundError):
            engine.select_stack("shop/dev")
        engine.create_stack("shop/dev")
        with pytest.raises(sw.ConflictError):
            engine.create_stack("shop/dev")
        engine.create_or_select_stack("shop/dev")
        assert [stack.name for stack in engine.stacks()] == ["shop/dev"]
        assert repr(engine) == "<Engine on memory://>"
