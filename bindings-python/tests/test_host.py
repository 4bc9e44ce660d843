"""What a host supplies: its own journal, reader of stacks and secrets; and sessions that it holds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw
from stackwright import sync

from conftest import MakeEngine, Memory, Vault

THING = "mem:index:Thing"

Things = dict[str, int]


def program_of(things: Things) -> sw.Program:
    async def program(ctx: sw.Context) -> None:
        for name, number in things.items():
            ctx.resource(THING, name, {"x": number})

    return program


# ---- the journal


class Replay:
    """Applies entries to the records that an operation began with, by what their documentation says."""

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        self.records = dict(enumerate(records))

    def apply(self, entry: sw.JournalEntry) -> None:
        for id in entry.removed:
            del self.records[id]
        for record in (*entry.records, *([entry.new] if entry.new else ())):
            self.records[record.id] = record.state
        if entry.kind == "base-rebuilt":
            self.records = {id: self.records[id] for id in entry.order}

    def contents(self) -> dict[str, Any]:
        return {state["urn"]: (state.get("id"), state.get("outputs")) for state in self.records.values()}


async def resources(stack: sw.Stack) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await stack.export_deployment())["deployment"].get("resources") or []
    return found


@pytest.mark.parametrize("is_async", [False, True])
def test_a_journal_tells_all_that_becomes_of_the_state(make_engine: MakeEngine, memory: Memory, is_async: bool) -> None:
    entries: list[sw.JournalEntry] = []

    async def receive(entry: sw.JournalEntry) -> None:
        await asyncio.sleep(0)
        entries.append(entry)

    journal = receive if is_async else entries.append

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", journal=journal)
            replay = Replay([])
            for things in ({"a": 1, "b": 1}, {"a": 2, "c": 1}, {"a": 2, "c": 1}, {}):
                replay = Replay(await resources(stack))
                entries.clear()
                await stack.up(program=program_of(things))
                assert [entry.sequence for entry in entries] == list(range(len(entries)))
                for entry in entries:
                    replay.apply(entry)
                    assert entry.json["kind"] == entry.kind and "\n" not in entry.line
                expected = {item["urn"]: (item.get("id"), item.get("outputs")) for item in await resources(stack)}
                assert replay.contents() == expected
            entries.clear()
            await stack.preview(program=program_of({"d": 1}))
            assert not entries, "a preview changes nothing"

    asyncio.run(run())


def test_a_beginning_is_acknowledged_before_the_provider_is_called(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[tuple[str, str | None, int]] = []

    def receive(entry: sw.JournalEntry) -> None:
        state = entry.state or (entry.new.state if entry.new else {})
        if state.get("type") == THING:
            seen.append((entry.kind, entry.op, len(memory.calls)))

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            await (await engine.stack("shop/dev", program_of({"a": 1}), journal=receive)).up()

    asyncio.run(run())
    assert seen == [("begin", "create", 0), ("success", "create", 1)]


class DiskFull(Exception):
    """What a host's own journal may raise."""


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(DiskFull("the disk is full"), sw.UnavailableError), (sw.ConflictError("the disk is full"), sw.ConflictError)],
    ids=["any exception", "one of this package"],
)
def test_a_refused_entry_ends_the_operation_with_that_error(
    make_engine: MakeEngine, memory: Memory, raised: Exception, expected: type[sw.Error]
) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            for refused in range(5):
                received: list[sw.JournalEntry] = []

                def receive(entry: sw.JournalEntry) -> None:
                    if len(received) == refused:
                        raise raised
                    received.append(entry)

                name = f"shop/refused-{refused}"
                stack = await engine.stack(name, program_of({"a": 1, "b": 1}), journal=receive)
                result = await stack.up().wait()
                assert isinstance(result.error, expected), result.error
                assert "the disk is full" in str(result.error) and result.error.__cause__ is raised
                assert len(received) == refused, "nothing is sent after a refusal"
                # The state is a valid one: the next update, without that journal, does the rest.
                stack = await engine.stack(name, program_of({"a": 1, "b": 1}))
                await stack.up()
                assert not (await stack.preview()).has_changes

    asyncio.run(run())


def test_secrets_are_in_the_journal_as_values(make_engine: MakeEngine, memory: Memory) -> None:
    lines: list[str] = []

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"password": sw.secret("hunter2")})

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program, journal=lambda entry: lines.append(entry.line))
            await stack.up()

    asyncio.run(run())
    encoded = "Imh1bnRlcjIi"  # "hunter2" with its quotes, in base64
    assert any(encoded in line for line in lines) and not any("hunter2" in line for line in lines)


# ---- other stacks


async def network(ctx: sw.Context) -> None:
    ctx.resource(THING, "router", {"x": 1})
    ctx.export("address", "10.0.0.1")
    ctx.export("key", sw.secret("k3y"))


class Directory:
    """A host that knows the stacks of others."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def outputs(self, stack: str) -> Mapping[str, sw.PropertyValue]:
        self.asked.append(stack)
        return {"address": "10.9.9.9", "key": sw.secret("theirs")}

    def resource_outputs(self, stack: str) -> Mapping[str, Mapping[str, sw.PropertyValue]]:
        self.asked.append(stack)
        return {"urn:pulumi:dev::net::a:b:C::c": {"x": 1}}


def test_a_stack_reference_of_the_sdk_is_answered_from_the_store_or_by_the_host(
    tmp_path: Path, memory: Memory
) -> None:
    pulumi = pytest.importorskip("pulumi")

    def program() -> None:
        net = pulumi.StackReference("organization/net/dev")
        pulumi.export("address", net.get_output("address"))
        pulumi.export("key", net.get_output("key"))

    def by_function(stack: str) -> Mapping[str, sw.PropertyValue]:
        assert stack == "organization/net/dev"
        return {"address": "10.8.8.8", "key": sw.secret("fetched")}

    async def outputs(name: str, **settings: Any) -> dict[str, sw.PropertyValue]:
        store = f"file://{tmp_path}"
        async with sw.Engine(store=store, secrets=Vault(), providers={"mem": memory}, **settings) as engine:
            await (await engine.stack("net/dev", network)).up()
            stack = await engine.stack(name, program)
            assert not (await stack.preview()).error
            result = await stack.up()
            assert (await stack.up()).changes == {"same": 1}, "reading is no change"
            return dict(result.outputs)

    async def run() -> None:
        directory = Directory()
        own = {"address": "10.0.0.1", "key": sw.Secret("k3y")}
        assert await outputs("shop/own") == own
        assert await outputs("shop/host", stack_reader=directory) == {**own, "address": "10.9.9.9", "key": sw.Secret("theirs")}
        assert set(directory.asked) == {"organization/net/dev"}
        assert await outputs("shop/function", stack_reader=by_function) == {**own, "address": "10.8.8.8", "key": sw.Secret("fetched")}

    asyncio.run(run())


def test_a_reader_that_fails_fails_the_reference(make_engine: MakeEngine, tmp_path: Path) -> None:
    def nobody(stack: str) -> Mapping[str, sw.PropertyValue]:
        raise LookupError(f"nobody here knows {stack}")

    async def program(ctx: sw.Context) -> None:
        await ctx.invoke("pulumi:pulumi:readStackOutputs", {"name": "net/dev"})

    async def run() -> None:
        async with sw.Engine(store=f"file://{tmp_path}", secrets=Vault(), stack_reader=nobody) as engine:
            with pytest.raises(sw.Error) as caught:
                await (await engine.stack("shop/dev", program)).up()
            result = caught.value.result
            assert result is not None
            assert any("nobody here knows net/dev" in told.message for told in result.diagnostics)

    asyncio.run(run())


def test_the_own_api_reads_other_stacks_too(tmp_path: Path, memory: Memory) -> None:
    def program(ctx: sw.Context) -> None:
        outputs = ctx.invoke("pulumi:pulumi:readStackOutputs", {"name": "net/dev"})
        resources = ctx.invoke("pulumi:pulumi:readStackResourceOutputs", {"stackName": "net/dev"})
        ctx.export("address", outputs["outputs"]["address"])
        ctx.export("resources", resources["outputs"])

    store = f"file://{tmp_path}"
    with sync.Engine(store=store, secrets=Vault(), providers={"mem": memory}) as engine:
        engine.stack("net/dev", network).up()
        outputs = engine.stack("shop/dev", program).up().outputs
        assert outputs["address"] == "10.0.0.1"
        [router] = [found for urn, found in outputs["resources"].items() if urn.endswith("::router")]
        assert router == {"x": 1, "made": True}
    with sync.Engine(store=store, secrets=Vault(), stack_reader=Directory()) as engine:
        outputs = engine.stack("shop/dev", program).up().outputs
        assert outputs["address"] == "10.9.9.9"
        assert outputs["resources"] == {"urn:pulumi:dev::net::a:b:C::c": {"x": 1}}


# ---- secrets


class AsyncVault(Vault):
    async def encrypt(self, plaintexts: Sequence[str]) -> Sequence[str]:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().encrypt(plaintexts)

    async def decrypt(self, ciphertexts: Sequence[str]) -> Sequence[str]:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().decrypt(ciphertexts)


async def secretive(ctx: sw.Context) -> None:
    ctx.export("token", ctx.config.secret("token"))
    ctx.export("password", sw.secret("hunter2"))


@pytest.mark.parametrize("vault", [Vault(), AsyncVault()], ids=["blocking", "async"])
def test_the_host_encrypts_secrets_its_own_way(tmp_path: Path, vault: Vault) -> None:
    async def run() -> None:
        store = f"file://{tmp_path / vault.__class__.__name__}"
        async with sw.Engine(store=store, secrets=vault) as engine:
            config = {"token": sw.Ciphertext("v:nekot")}
            stack = await engine.stack("shop/dev", secretive, config=config)
            result = await stack.up()
            assert result.outputs == {"token": sw.Secret("token"), "password": sw.Secret("hunter2")}
            deployment = (await stack.export_deployment())["deployment"]
            assert deployment["secrets_providers"] == {"type": "vault", "state": {"key": "key-1"}}
            text = json.dumps(deployment)
            assert "v:\\\"2retnuh\\\"" in text and "hunter2" not in text
        async with sw.Engine(store=store, secrets=vault) as engine:
            assert (await (await engine.stack("shop/dev")).outputs())["password"] == sw.Secret("hunter2")

    asyncio.run(run())


@pytest.mark.parametrize("vault", [Vault(), AsyncVault()], ids=["blocking", "async"])
def test_what_the_host_can_not_decrypt_names_its_key_and_its_cause(vault: Vault) -> None:
    async def run() -> None:
        vault.sealed = True
        async with sw.Engine(store="memory://", secrets=vault) as engine:
            stack = await engine.stack("shop/dev", secretive, config={"token": sw.Ciphertext("v:nekot")})
            with pytest.raises(sw.SecretsError, match="shop:token.*the vault is sealed") as caught:
                await stack.up()
            assert caught.value.phase == "decrypt"
            assert "the vault is sealed" in str(caught.value.__cause__)

    asyncio.run(run())


def test_stacks_of_a_passphrase_are_read_beside_those_of_the_host(tmp_path: Path) -> None:
    store = f"file://{tmp_path}"
    with sync.Engine(store=store, passphrase="old") as engine:
        engine.stack("shop/old", secretive, config={"token": sw.secret("t")}).up()
    with sync.Engine(store=store, passphrase="old", secrets=Vault()) as engine:
        assert engine.stack("shop/old").outputs(show_secrets=True) == {"token": "t", "password": "hunter2"}
    with sync.Engine(store=store, secrets=Vault()) as engine, pytest.raises(sw.SecretsError):
        engine.stack("shop/old").outputs()


def test_the_kind_of_the_hosts_secrets_must_be_its_own() -> None:
    class Impostor(Vault):
        kind = "passphrase"

    with pytest.raises(sw.InvalidInputError, match="a name of its own"):
        sw.Engine(store="memory://", secrets=Impostor())


# ---- sessions


class Refusing(Memory):
    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        raise sw.ProviderError("refused")


def test_a_held_session_leaves_what_failed_unanswered_until_it_is_released(make_engine: MakeEngine) -> None:
    answers: list[BaseException] = []
    answered = asyncio.Event()

    async def program(ctx: sw.Context) -> None:
        try:
            await ctx.resource(THING, "a", {})
        except sw.Error as error:
            answers.append(error)
            answered.set()
            raise

    async def run() -> None:
        async with make_engine(mem=Refusing()) as engine:
            stack = await engine.stack("shop/dev", program)
            operation = stack.up(hold_session=True)
            result = await operation.wait()
            assert isinstance(result.error, sw.Error) and not answers
            # The stack itself is free: only the session is held.
            await stack.destroy()
            assert not answers
            await operation.release()
            await operation.release()
            await asyncio.wait_for(answered.wait(), 20)
            assert len(answers) == 1 and "shut down" in str(answers[0])

    asyncio.run(run())


def test_a_session_is_released_without_async_too(tmp_path: Path) -> None:
    with sync.Engine(store="memory://", secrets=Vault(), providers={"mem": Refusing()}) as engine:

        def program(ctx: sw.Context) -> None:
            ctx.resource(THING, "a", {}).wait()

        operation = engine.stack("shop/dev", program).start_up(hold_session=True)
        assert isinstance(operation.wait().error, sw.Error)
        operation.release()
        operation.release()


# ---- resolvers, options


def test_a_resolver_answers_with_an_address_or_a_provider_and_its_error_is_unchanged(
    tmp_path: Path, gofiles: Path
) -> None:
    import subprocess

    memory = Memory()
    plugin = subprocess.Popen([gofiles], stdout=subprocess.PIPE, text=True)
    assert plugin.stdout is not None
    port = plugin.stdout.readline().strip()
    asked: list[str] = []

    def resolver(request: sw.ResolutionRequest) -> object:
        asked.append(request.name)
        if request.name == "gofiles":
            return f"127.0.0.1:{port}"
        if request.name == "mem":
            return memory
        raise LookupError("No Such Thing: ask the host! {} %s")

    def program(ctx: sw.Context) -> None:
        ctx.resource("gofiles:index:File", "file", {"path": str(tmp_path / "a.txt"), "content": "hello\n"})
        ctx.resource(THING, "thing", {"x": 1}, provider=ctx.provider("mem", "explicit", {}))
        ctx.resource(THING, "other", {"x": 1})

    def unknown(ctx: sw.Context) -> None:
        ctx.resource("other:index:Thing", "a", {})

    try:
        with sync.Engine(store="memory://", secrets=Vault(), resolver=resolver) as engine:
            stack = engine.stack("shop/dev", program)
            stack.up()
            assert sorted(asked) == ["gofiles", "mem", "mem"], "each instance is asked for"
            assert (tmp_path / "a.txt").read_text() == "hello\n" and len(memory.things) == 2
            with pytest.raises(sw.Error) as caught:
                stack.preview(program=unknown)
            result = caught.value.result
            assert result is not None
            assert any("No Such Thing: ask the host! {} %s" in told.message for told in result.diagnostics)
            assert not any("LookupError" in told.message for told in result.diagnostics)
            stack.destroy()
            assert not (tmp_path / "a.txt").exists()
    finally:
        plugin.kill()
        plugin.wait()


def test_an_option_that_is_not_supported_is_named_and_nothing_happens(make_engine: MakeEngine, memory: Memory) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program_of({"a": 1}))
            with pytest.raises(sw.InvalidInputError, match="unsupported options: generatePlan, strict"):
                await stack.up(strict=True, generate_plan=True)
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


# ---- language runtimes


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
    pulumi = pytest.importorskip("pulumi")

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
