"""Providers in Python: concurrency, async methods, failures, resolvers, views."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw
from stackwright import sync

from conftest import MakeEngine, Memory, Vault

THING = "mem:index:Thing"


def program_of(count: int) -> sw.Program:
    async def program(ctx: sw.Context) -> None:
        for number in range(count):
            ctx.resource(THING, f"r{number}", {"n": number})

    return program


async def up(engine: sw.Engine, program: sw.Program, **options: Any) -> sw.Result:
    stack = await engine.stack("shop/dev", program)
    return await stack.up(**options)


def test_blocking_methods_run_concurrently(make_engine: MakeEngine) -> None:
    # Each call waits for all others: with fewer threads than calls the barrier times out.
    barrier = threading.Barrier(40, timeout=20)

    class Slow(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            barrier.wait()
            return super().create(request)

    async def run() -> None:
        async with make_engine(mem=Slow()) as engine:
            assert (await up(engine, program_of(40), parallel=1000)).changes["create"] == 41

    asyncio.run(run())


def note_end(thread: threading.Thread, ended: threading.Semaphore) -> None:
    thread.join()
    ended.release()


def test_calls_that_wait_for_each_other_get_temporary_threads(tmp_path: Path) -> None:
    base, waiting = 4, 20
    let_go = threading.Event()
    released: list[bool] = []
    threads: set[threading.Thread] = set()

    class Waiting(Memory):
        def check(self, request: sw.CheckRequest) -> sw.CheckResult:
            threads.add(threading.current_thread())
            if request.name == f"r{waiting}":
                let_go.set()
            released.append(let_go.wait(60))
            return sw.CheckResult(request.inputs)

    async def run() -> None:
        engine = sw.Engine(
            store=f"file://{tmp_path}", secrets=Vault(), providers={"mem": Waiting()}, provider_threads=base
        )
        async with engine:
            await up(engine, program_of(waiting + 1), parallel=1000)
            assert released == [True] * (waiting + 1)
            # The threads above the base number end. Which ones is unspecified.
            ended = threading.Semaphore(0)
            for thread in threads:
                threading.Thread(target=note_end, args=(thread, ended), daemon=True).start()
            assert all(ended.acquire(timeout=60) for _ in range(len(threads) - base))
            assert sum(thread.is_alive() for thread in threads) <= base

    asyncio.run(run())


def test_hanging_calls_do_not_block_other_stacks(tmp_path: Path) -> None:
    begun, let_go = threading.Semaphore(0), threading.Event()

    class Hanging(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            begun.release()
            let_go.wait(60)
            return super().create(request)

    async def other(ctx: sw.Context) -> None:
        ctx.resource("other:index:Thing", "a")

    async def run() -> None:
        engine = sw.Engine(
            store=f"file://{tmp_path}",
            secrets=Vault(),
            providers={"mem": Hanging(), "other": Memory()},
            provider_threads=2,
        )
        async with engine:
            hanging = await engine.stack("shop/hanging", program_of(5))
            operation = hanging.up(parallel=1000)
            for _ in range(2):
                assert await asyncio.to_thread(begun.acquire, True, 60)
            stack = await engine.stack("shop/other", other)
            await stack.up()
            operation.cancel()
            operation.cancel()
            with pytest.raises(sw.CancelledError):
                await operation
            await stack.destroy()
            assert not let_go.is_set()
            let_go.set()

    asyncio.run(run())


def test_computing_methods_all_end(make_engine: MakeEngine) -> None:
    class Busy(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            sum(range(200_000))
            return super().create(request)

    async def run() -> None:
        memory = Busy()
        async with make_engine(mem=memory) as engine:
            await up(engine, program_of(100), parallel=1000)
            assert len(memory.things) == 100

    asyncio.run(run())


def test_async_methods_share_one_separate_loop(make_engine: MakeEngine) -> None:
    loops: set[int] = set()
    together = 0
    most = 0

    class Async(sw.Provider):
        async def check(self, request: sw.CheckRequest) -> sw.CheckResult:
            await asyncio.sleep(0)
            return sw.CheckResult({**request.inputs, "checked": True})

        async def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            nonlocal together, most
            loops.add(id(asyncio.get_running_loop()))
            together += 1
            most = max(most, together)
            while most < 20:
                await asyncio.sleep(0.001)
            together -= 1
            return sw.CreateResult(request.name, request.inputs)

        async def delete(self, request: sw.DeleteRequest) -> None:
            pass

    async def run() -> None:
        async with make_engine(mem=Async()) as engine:
            stack = await engine.stack("shop/dev", program_of(20))
            await stack.up(parallel=1000)
            assert most == 20 and len(loops) == 1 and id(asyncio.get_running_loop()) not in loops
            await stack.destroy()

    asyncio.run(run())


def test_check_failures_name_the_property(make_engine: MakeEngine) -> None:
    class Strict(Memory):
        def check(self, request: sw.CheckRequest) -> sw.CheckResult:
            return sw.CheckResult(request.inputs, [sw.CheckFailure("is too small", "n")])

    async def run() -> None:
        async with make_engine(mem=Strict()) as engine:
            with pytest.raises(sw.StackwrightError) as caught:
                await up(engine, program_of(1))
            assert caught.value.result is not None
            assert any("is too small" in found.message for found in caught.value.result.diagnostics)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("failures", "text"),
    [
        (["is odd"], "element 0 of the failures that check() returned takes an object of the class CheckFailure, with a reason and a property as texts, not a value of type str"),
        ([sw.CheckFailure("is odd"), sw.CheckFailure(3)], "element 1 of the failures that check() returned"),  # type: ignore[arg-type]
        (3, "the failures that check() returned takes a list of objects of the class CheckFailure, not a value of type int"),
    ],
)
def test_failures_of_another_type_are_refused_by_their_place(make_engine: MakeEngine, failures: Any, text: str) -> None:
    class Wrong(Memory):
        def check(self, request: sw.CheckRequest) -> sw.CheckResult:
            return sw.CheckResult(request.inputs, failures)

    async def run() -> None:
        async with make_engine(mem=Wrong()) as engine:
            with pytest.raises(sw.StackwrightError) as caught:
                await up(engine, program_of(1))
            assert text in str(caught.value)

    asyncio.run(run())


@pytest.mark.parametrize("status", list(sw.Status))
def test_a_providers_message_is_unchanged_with_every_status(make_engine: MakeEngine, status: sw.Status) -> None:
    class Broken(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            raise sw.ProviderError("Ärger: 100% {unformatted} %s", status=status)

    async def run() -> None:
        async with make_engine(mem=Broken()) as engine:
            with pytest.raises(sw.StackwrightError) as caught:
                await up(engine, program_of(1))
            assert caught.value.result is not None
            assert any("Ärger: 100% {unformatted} %s" in found.message for found in caught.value.result.diagnostics)

    asyncio.run(run())


def test_any_other_exception_fails_the_call_with_its_type(make_engine: MakeEngine) -> None:
    class Broken(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            raise KeyError("missing")

    async def run() -> None:
        async with make_engine(mem=Broken()) as engine:
            with pytest.raises(sw.StackwrightError) as caught:
                await up(engine, program_of(1))
            assert caught.value.result is not None
            assert any("KeyError: 'missing'" in found.message for found in caught.value.result.diagnostics)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("method", "returned", "expected"),
    [
        ("check", None, "returned None, expected CheckResult or a mapping"),
        ("diff", "yes", "returned str, expected DiffResult, bool or None"),
        ("diff", sw.DiffResult("yes"), "returned a DiffResult that cannot be read"),  # type: ignore[arg-type]
        ("create", None, "returned None, expected CreateResult"),
        ("create", {"id": "a"}, "returned dict, expected CreateResult"),
        ("create", sw.CreateResult(5, {}), "returned a CreateResult that cannot be read"),  # type: ignore[arg-type]
        ("read", 5, "returned int, expected ReadResult or None"),
        ("update", None, "returned None, expected UpdateResult or a mapping"),
    ],
)
def test_the_error_of_a_malformed_answer_names_provider_and_method(
    make_engine: MakeEngine, method: str, returned: object, expected: str
) -> None:
    class Malformed(Memory):
        pass

    async def run() -> None:
        async with make_engine(mem=Malformed()) as engine:
            stack = await engine.stack("shop/dev", program_of(1))
            if method != "create":
                await stack.up()
        setattr(Malformed, method, lambda self, request: returned)

        async def changed(ctx: sw.Context) -> None:
            ctx.resource(THING, "r0", {"n": 7})

        async with make_engine(mem=Malformed()) as engine:
            stack = await engine.stack("shop/dev", changed)
            with pytest.raises(sw.FailedError) as caught:
                await (stack.refresh() if method == "read" else stack.up())
            assert f"Malformed.{method} {expected}" in str(caught.value)
            pending = (await stack.export_deployment())["deployment"].get("pending_operations") or []
            # The effect of the create or update is unknown, so it stays a pending operation.
            kinds = {"create": ["creating"], "update": ["updating"]}
            assert [one["type"] for one in pending] == kinds.get(method, [])

    asyncio.run(run())


def test_the_error_of_a_malformed_invoke_answer_names_provider_and_method(make_engine: MakeEngine) -> None:
    class Malformed(Memory):
        def invoke(self, request: sw.InvokeRequest) -> sw.InvokeResult:
            return None  # type: ignore[return-value]

    async def program(ctx: sw.Context) -> None:
        await ctx.invoke("mem:index:echo")

    async def run() -> None:
        async with make_engine(mem=Malformed()) as engine:
            with pytest.raises(sw.StackwrightError, match="Malformed.invoke returned None, expected InvokeResult or a mapping"):
                await up(engine, program)

    asyncio.run(run())


def test_a_partially_initialized_resource_is_recorded(make_engine: MakeEngine) -> None:
    class Fragile(Memory):
        broken = True

        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            result = super().create(request)
            if self.broken:
                raise sw.InitFailure(result.id, result.outputs, ["it did not become ready"])
            return result

    fragile = Fragile()

    async def run() -> None:
        async with make_engine(mem=fragile) as engine:
            stack = await engine.stack("shop/dev", program_of(1))
            with pytest.raises(sw.StackwrightError):
                await stack.up()
            exported = (await stack.export_deployment())["deployment"]["resources"]
            [thing] = [resource for resource in exported if resource["type"] == THING]
            assert thing["id"] == "r0-1" and thing["initErrors"] == ["it did not become ready"]
            fragile.broken = False
            await stack.up()
            exported = (await stack.export_deployment())["deployment"]["resources"]
            assert not any(resource.get("initErrors") for resource in exported)

    asyncio.run(run())


def test_a_created_resource_keeps_its_id_when_its_outputs_are_malformed(make_engine: MakeEngine) -> None:
    class Odd(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            if request.name == "r0":
                return sw.CreateResult("made", {"f": print})
            raise sw.InitFailure("half", {"f": print}, ["it did not become ready"])

    async def run() -> None:
        async with make_engine(mem=Odd()) as engine:
            stack = await engine.stack("shop/dev", program_of(2))
            with pytest.raises(sw.StackwrightError):
                await stack.up(continue_on_error=True)
            exported = (await stack.export_deployment())["deployment"]
            things = {resource["id"]: resource for resource in exported["resources"] if resource["type"] == THING}
            assert things.keys() == {"made", "half"}
            assert all(thing["initErrors"] for thing in things.values())
            assert not exported.get("pending_operations")

    asyncio.run(run())


def test_a_diff_decides_between_nothing_an_update_and_a_replacement(make_engine: MakeEngine) -> None:
    class Careful(Memory):
        answer: sw.DiffResult | bool | None = None

        def diff(self, request: sw.DiffRequest) -> sw.DiffResult | bool | None:
            return self.answer

    careful = Careful()
    value = 0

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"x": value})

    async def run() -> None:
        nonlocal value
        async with make_engine(mem=careful) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
            value += 1
            careful.answer = False
            assert "update" not in (await stack.preview()).changes
            careful.answer = None
            assert (await stack.preview()).changes["update"] == 1
            careful.answer = sw.DiffResult(True, replaces=["x"], detailed={"x": "update-replace"})
            result = await stack.up()
            assert careful.count("create") == 2 and careful.count("delete") == 1 and result.has_changes

    asyncio.run(run())


def test_a_preview_calls_create_only_where_the_provider_supports_it(make_engine: MakeEngine) -> None:
    previews: list[bool] = []

    class Previewing(Memory):
        supports_preview = True

        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            previews.append(request.preview)
            return sw.CreateResult("" if request.preview else "id", {"soon": sw.UNKNOWN if request.preview else 1})

    async def run() -> None:
        async with make_engine(mem=Previewing()) as engine:
            stack = await engine.stack("shop/dev", program_of(1))
            await stack.preview()
            await stack.up()
            assert previews == [True, False]

    asyncio.run(run())


def test_a_provider_that_accepts_secrets_sees_them_marked(make_engine: MakeEngine) -> None:
    class Knowing(Memory):
        accept_secrets = True

    knowing = Knowing()

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"password": sw.secret("x")})

    async def run() -> None:
        async with make_engine(mem=knowing) as engine:
            await up(engine, program)
            assert knowing.things["a-1"]["password"] == sw.Secret("x")

    asyncio.run(run())


@pytest.mark.parametrize("is_async", [False, True])
def test_a_resolver_decides_for_each_provider_instance(make_engine: MakeEngine, tmp_path: object, is_async: bool) -> None:
    memory = Memory()
    asked: list[tuple[str, str]] = []

    def decide(request: sw.ResolutionRequest) -> object:
        asked.append((request.kind, request.name))
        if request.name == "mem":
            return memory
        raise LookupError(f"no provider for {request.name}")

    async def decide_async(request: sw.ResolutionRequest) -> object:
        return decide(request)

    async def bad(ctx: sw.Context) -> None:
        ctx.resource("other:index:Thing", "a", {})

    async def run() -> None:
        resolver = decide_async if is_async else decide
        async with sw.Engine(store=f"file://{tmp_path}/state", passphrase="x", resolver=resolver) as engine:
            stack = await engine.stack("shop/dev", program_of(2))
            await stack.up()
            assert ("resource", "mem") in asked and len(memory.things) == 2
            with pytest.raises(sw.StackwrightError, match="no provider for other"):
                await stack.preview(program=bad)

    asyncio.run(run())


def test_an_object_without_create_is_refused_as_a_provider() -> None:
    with pytest.raises(sw.InvalidInputError, match="no create"):
        sw.Engine(store="memory://", providers={"x": object()})


def test_a_resolver_answers_with_an_address_or_a_provider_and_its_error_is_unchanged(
    tmp_path: Path, gofiles: Path
) -> None:
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
            with pytest.raises(sw.StackwrightError) as caught:
                stack.preview(program=unknown)
            result = caught.value.result
            assert result is not None
            assert any("No Such Thing: ask the host! {} %s" in found.message for found in result.diagnostics)
            assert not any("LookupError" in found.message for found in result.diagnostics)
            stack.destroy()
            assert not (tmp_path / "a.txt").exists()
    finally:
        plugin.kill()
        plugin.communicate()


def test_view_steps_are_recorded_and_invalid_ones_refused(make_engine: MakeEngine) -> None:
    received: list[list[sw.View]] = []

    class Parts(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            part = sw.View("mem:index:Part", "part", {"n": request.inputs["n"]})
            request.publish_views([sw.ViewStep("create", part)])
            lost = sw.View("mem:index:Part", "lost", parent=("mem:index:Part", "nowhere"))
            with pytest.raises(sw.InvalidInputError, match="view mem:index:Part 'nowhere' of view .* was not found"):
                request.publish_views([sw.ViewStep("create", lost)])
            return super().create(request)

        def delete(self, request: sw.DeleteRequest) -> None:
            received.append(request.old_views)
            request.publish_views([sw.ViewStep("delete", old=view) for view in request.old_views])
            super().delete(request)

    async def run() -> None:
        async with make_engine(mem=Parts()) as engine:
            assert (await up(engine, program_of(1))).changes == {"create": 3}
            stack = await engine.stack("shop/dev", program_of(1))
            assert (await stack.destroy()).changes == {"delete": 3}
        assert received == [[sw.View("mem:index:Part", "part", {"n": 0})]]

    asyncio.run(run())
