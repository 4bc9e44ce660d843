"""Programs behind a language runtime that listens already."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pulumi
import pytest
import stackwright as sw

from conftest import MakeEngine, Memory


def serve(program: Callable[[], "Awaitable[None] | None"]) -> tuple[Any, str]:
    """Serves a program of the SDK the way the SDK's own automation API does it."""
    from concurrent.futures import ThreadPoolExecutor

    import grpc
    from pulumi.automation._server import LanguageServer
    from pulumi.runtime.proto import language_pb2_grpc

    server = grpc.server(ThreadPoolExecutor(4))
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(LanguageServer(program), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, f"127.0.0.1:{port}"


def test_a_program_behind_a_language_runtime(make_engine: MakeEngine, memory: Memory) -> None:
    def program() -> None:
        config = pulumi.Config()
        made = pulumi.CustomResource("mem:index:Thing", "a", {"x": config.require_int("x"), "made": None})
        pulumi.export("where", f"{pulumi.get_project()}/{pulumi.get_stack()}")
        pulumi.export("id", made.id)
        pulumi.export("password", config.require_secret("password"))

    def broken() -> None:
        raise ValueError("the program is broken")

    async def run() -> None:
        served, address = serve(program)
        served_broken, address_of_broken = serve(broken)
        try:
            async with make_engine(mem=memory) as engine:
                config = {"x": "3", "password": sw.secret("hunter2")}
                stack = await engine.stack("shop/dev", sw.LanguageRuntime(address), config=config)
                assert (await stack.preview()).changes == {"create": 2} and not memory.things
                result = await stack.up()
                assert result.outputs == {"where": "shop/dev", "id": "a-1", "password": sw.Secret("hunter2")}
                assert memory.things["a-1"]["x"] == 3
                assert (await stack.up()).changes == {"same": 2}
                with pytest.raises(sw.ProgramError) as caught:
                    await stack.up(program=sw.LanguageRuntime(address_of_broken))
                assert "the program is broken" in str(caught.value)
                await stack.destroy()
        finally:
            served.stop(None)
            served_broken.stop(None)

    asyncio.run(run())


def test_a_language_runtime_that_is_not_there_is_named(make_engine: MakeEngine) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", sw.LanguageRuntime("no host at all"))
            with pytest.raises(sw.InvalidInputError, match="no host at all"):
                await stack.up()

    asyncio.run(run())
