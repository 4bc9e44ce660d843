"""Sessions that are held after the result, and options of operations."""

from __future__ import annotations

import asyncio
import gc
import threading
from pathlib import Path

import pulumi
import pytest
import stackwright as sw
from stackwright import sync

from conftest import MakeEngine, Memory, Vault

THING = "mem:index:Thing"


def program_of(things: dict[str, int]) -> sw.Program:
    async def program(ctx: sw.Context) -> None:
        for name, number in things.items():
            ctx.resource(THING, name, {"x": number})

    return program


class Refusing(Memory):
    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        raise sw.ProviderError("refused")


def test_a_held_session_leaves_a_failed_registration_unanswered_until_it_is_released(make_engine: MakeEngine) -> None:
    answers: list[BaseException] = []
    answered = asyncio.Event()

    async def program(ctx: sw.Context) -> None:
        try:
            await ctx.resource(THING, "a", {})
        except sw.StackwrightError as error:
            answers.append(error)
            answered.set()
            raise

    async def run() -> None:
        async with make_engine(mem=Refusing()) as engine:
            stack = await engine.stack("shop/dev", program)
            operation = stack.up(hold_session=True)
            result = await operation.wait()
            assert isinstance(result.error, sw.StackwrightError) and not answers
            # The stack accepts further operations: only the session is held.
            await stack.destroy()
            assert not answers
            await operation.release()
            await operation.release()
            await asyncio.wait_for(answered.wait(), 20)
            assert len(answers) == 1 and "shut down" in str(answers[0])

    asyncio.run(run())


def test_the_sync_api_releases_a_session(tmp_path: Path) -> None:
    with sync.Engine(store="memory://", secrets=Vault(), providers={"mem": Refusing()}) as engine:

        def program(ctx: sw.Context) -> None:
            ctx.resource(THING, "a", {}).wait()

        operation = engine.stack("shop/dev", program).start_up(hold_session=True)
        assert isinstance(operation.wait().error, sw.StackwrightError)
        operation.release()
        operation.release()


def test_an_sdk_program_waits_until_the_release(make_engine: MakeEngine) -> None:
    unwound = threading.Event()

    async def program() -> None:
        try:
            await pulumi.CustomResource(THING, "a", {}).id.future()
        finally:
            unwound.set()

    async def run() -> None:
        async with make_engine(mem=Refusing()) as engine:
            operation = (await engine.stack("shop/dev", program)).up(hold_session=True)
            assert isinstance((await operation.wait()).error, sw.StackwrightError)
            assert not unwound.is_set()
            await operation.release()
            assert await asyncio.to_thread(unwound.wait, 20)

    asyncio.run(run())


def test_a_held_session_ends_with_the_last_handle(make_engine: MakeEngine) -> None:
    answered = asyncio.Event()

    async def program(ctx: sw.Context) -> None:
        try:
            await ctx.resource(THING, "a", {})
        finally:
            answered.set()

    async def run() -> None:
        async with make_engine(mem=Refusing()) as engine:
            operation = (await engine.stack("shop/dev", program)).up(hold_session=True)
            await operation.wait()
            assert not answered.is_set()
            del operation
            gc.collect()
            await asyncio.wait_for(answered.wait(), 20)

    asyncio.run(run())


def test_an_option_that_is_not_supported_is_named_and_nothing_happens(make_engine: MakeEngine, memory: Memory) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program_of({"a": 1}))
            with pytest.raises(sw.InvalidInputError, match=r"unsupported options: snippets, targetSnippets \(target_snippets in Python and Rust\)"):
                await stack.up(snippets=[{}], target_snippets=["a"])
            assert not memory.calls
            accepted: sw.OperationOptions = {
                "parallel_diff": True,
                "experimental": True,
                "skip_plugin_pre_install": True,
                "disable_output_values": True,
                "disable_resource_references": True,
                "disable_provider_preview": True,
            }
            assert (await stack.preview(**accepted)).changes == {"create": 2}

    asyncio.run(run())
