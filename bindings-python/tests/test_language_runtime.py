"""Programs in a language runtime that already runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pulumi
import pytest
import stackwright as sw

from conftest import MakeEngine, Memory


def serve(program: Callable[[], "Awaitable[None] | None"]) -> tuple[Any, str]:
    """Serves an SDK program as the SDK's automation API does."""
    from concurrent.futures import ThreadPoolExecutor

    import grpc
    from pulumi.automation._server import LanguageServer
    from pulumi.runtime.proto import language_pb2_grpc

    server = grpc.server(ThreadPoolExecutor(4))
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(LanguageServer(program), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, f"127.0.0.1:{port}"


def test_a_language_runtime_runs_the_program(make_engine: MakeEngine, memory: Memory) -> None:
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
                assert sw.unwrap(result.outputs) == {"where": "shop/dev", "id": "a-1", "password": "hunter2"}
                assert result.outputs["password"].secret and not result.outputs["id"].secret
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


def test_a_language_runtime_gets_the_schemas_of_the_hosts_providers(make_engine: MakeEngine, memory: Memory) -> None:
    pytest.importorskip("pulumi")
    import json
    from concurrent.futures import ThreadPoolExecutor

    import grpc
    from pulumi.runtime.proto import language_pb2, language_pb2_grpc
    from pulumi.runtime.proto.codegen import loader_pb2

    found: dict[str, Any] = {}

    class Language(language_pb2_grpc.LanguageRuntimeServicer):
        def Run(self, request: Any, context: Any) -> Any:
            with grpc.insecure_channel(request.loader_target) as channel:
                # The stub of the published package cannot be imported.
                get_schema = channel.unary_unary(
                    "/codegen.Loader/GetSchema",
                    request_serializer=loader_pb2.GetSchemaRequest.SerializeToString,
                    response_deserializer=loader_pb2.GetSchemaResponse.FromString,
                )
                for name in ("mapping", "text", "none", "wrong"):
                    try:
                        answer = get_schema(loader_pb2.GetSchemaRequest(package=name))
                        found[name] = json.loads(answer.schema)
                    except grpc.RpcError as error:
                        found[name] = error.details()
            return language_pb2.RunResponse()

    class OfSchema(Memory):
        def __init__(self, schema: Any) -> None:
            super().__init__()
            self.schema = schema

        def get_schema(self, request: sw.SchemaRequest) -> Any:
            assert request.subpackage_name == request.subpackage_version == ""
            return self.schema

    class Later(Memory):
        async def get_schema(self, request: sw.SchemaRequest) -> str:
            return '{"name": "text"}'

    async def run() -> None:
        server = grpc.server(ThreadPoolExecutor(4))
        language_pb2_grpc.add_LanguageRuntimeServicer_to_server(Language(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            providers = {"mapping": OfSchema({"name": "mapping", "version": 3}), "text": Later(), "none": memory, "wrong": OfSchema(5)}
            async with make_engine(**providers) as engine:
                stack = await engine.stack("shop/dev", sw.LanguageRuntime(f"127.0.0.1:{port}"))
                await stack.preview()
        finally:
            server.stop(None)

    asyncio.run(run())
    assert found["mapping"] == {"name": "mapping", "version": 3} and found["text"] == {"name": "text"}
    assert "has no schema" in found["none"]
    assert "OfSchema.get_schema returned int, expected str or a mapping" in found["wrong"]


def test_a_language_runtime_gets_the_mappings_of_the_hosts_providers(make_engine: MakeEngine, memory: Memory) -> None:
    pytest.importorskip("pulumi")
    from concurrent.futures import ThreadPoolExecutor

    import grpc
    from pulumi.runtime.proto import language_pb2, language_pb2_grpc
    from pulumi.runtime.proto.codegen import mapper_pb2

    questions = [("one", "several"), ("two", "several"), ("three", "several"), ("only", "single"), ("bad", "wrong"), ("odd", "odd")]
    found: dict[str, Any] = {}

    class Language(language_pb2_grpc.LanguageRuntimeServicer):
        def Run(self, request: Any, context: Any) -> Any:
            with grpc.insecure_channel(request.mapper_target) as channel:
                # The stub of the published package cannot be imported.
                get_mapping = channel.unary_unary(
                    "/codegen.Mapper/GetMapping",
                    request_serializer=mapper_pb2.GetMappingRequest.SerializeToString,
                    response_deserializer=mapper_pb2.GetMappingResponse.FromString,
                )
                for provider, hint in questions:
                    try:
                        found[provider] = get_mapping(mapper_pb2.GetMappingRequest(provider=provider, pulumi_provider=hint)).data
                    except grpc.RpcError as error:
                        found[provider] = error.details()
            return language_pb2.RunResponse()

    class Several(Memory):
        def get_mappings(self, key: str) -> tuple[str, ...]:
            assert key == "terraform"
            return "one", "two"

        def get_mapping(self, request: sw.MappingRequest) -> sw.MappingResult:
            return sw.MappingResult(request.provider, f"{request.key}/{request.provider}".encode() + b"\xff")

    class Single(Memory):
        async def get_mapping(self, request: sw.MappingRequest) -> sw.MappingResult | None:
            assert request.provider == ""
            return sw.MappingResult("only", b"{}") if request.key == "terraform" else None

    class Wrong(Memory):
        def get_mapping(self, request: sw.MappingRequest) -> Any:
            return {"provider": "bad"}

    class Odd(Memory):
        def get_mappings(self, key: str) -> Any:
            return 5

    async def run() -> None:
        server = grpc.server(ThreadPoolExecutor(4))
        language_pb2_grpc.add_LanguageRuntimeServicer_to_server(Language(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            async with make_engine(several=Several(), single=Single(), wrong=Wrong(), odd=Odd(), none=memory) as engine:
                stack = await engine.stack("shop/dev", sw.LanguageRuntime(f"127.0.0.1:{port}"))
                await stack.preview()
        finally:
            server.stop(None)

    asyncio.run(run())
    assert (found["one"], found["two"]) == (b"terraform/one\xff", b"terraform/two\xff")
    assert (found["three"], found["only"]) == (b"", b"{}")
    assert "Wrong.get_mapping returned dict, expected MappingResult or None" in found["bad"]
    assert "Odd.get_mappings returned a int that cannot be read" in found["odd"]


def test_the_error_of_a_missing_language_runtime_names_its_address(make_engine: MakeEngine) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", sw.LanguageRuntime("no host at all"))
            with pytest.raises(sw.InvalidInputError, match="no host at all"):
                await stack.up()

    asyncio.run(run())
