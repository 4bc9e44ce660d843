"""In-process programs of the Pulumi SDK: lifecycle, isolation, concurrency, errors, cancellation."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from typing import Any

import pulumi
import pytest
import stackwright as sw

from conftest import MakeEngine, Memory, states


class Thing(pulumi.CustomResource):
    made: pulumi.Output[bool]

    def __init__(self, name: str, props: dict[str, Any], opts: Any = None) -> None:
        super().__init__("mem:index:Thing", name, {"made": None, **props}, opts)


class Box(pulumi.ComponentResource):
    def __init__(self, name: str) -> None:
        super().__init__("box:index:Box", name)
        self.inner = Thing(f"{name}-inner", {"x": 1}, pulumi.ResourceOptions(parent=self))
        self.register_outputs({"id": self.inner.id})


async def failure(stack: sw.Stack) -> tuple[sw.StackwrightError, list[str]]:
    with pytest.raises(sw.StackwrightError) as caught:
        await stack.up()
    assert caught.value.result is not None
    return caught.value, [found.message for found in caught.value.result.diagnostics if found.severity == "error"]


def test_a_program_runs_from_preview_to_destroy(make_engine: MakeEngine, memory: Memory) -> None:
    def program() -> None:
        config = pulumi.Config()
        a = Thing("a", {"size": int(config.require("size")), "password": config.require_secret("password")})
        b = Thing("b", {"of": a.made}, pulumi.ResourceOptions(depends_on=[a]))
        box = Box("box")
        echo = pulumi.runtime.invoke("mem:index:echo", {"x": 3}).value["echo"]
        pulumi.export("ids", [a.id, b.id, box.inner.id])
        pulumi.export("password", config.require_secret("password"))
        pulumi.export("echo", echo["x"])
        pulumi.log.info(f"{pulumi.get_project()}/{pulumi.get_stack()} {pulumi.runtime.is_dry_run()}")

    async def run() -> None:
        before = (dict(os.environ), os.getcwd())
        async with make_engine(mem=memory) as engine:
            config = {"size": "1", "password": sw.secret("hunter2")}
            stack = await engine.stack("shop/dev", program, config=config)
            plan = await stack.preview()
            assert plan.changes == {"create": 5} and not memory.things
            assert any(found.message == "shop/dev True" for found in plan.diagnostics)
            result = await stack.up()
            assert result.changes == {"create": 5} and len(memory.things) == 3
            assert sorted(result.outputs["ids"].value) == sorted(memory.things)
            assert result.outputs["password"] == sw.OutputValue("hunter2", True) and result.outputs["echo"].value == 3
            assert (await stack.up()).changes == {"same": 5}
            stack = await engine.stack("shop/dev", program, config={**config, "size": "2"})
            assert (await stack.up()).changes == {"update": 1, "same": 4}
            memory.things.clear()
            assert (await stack.refresh()).changes["delete"] == 3
            await stack.up()
            await stack.destroy()
            assert not memory.things
        assert (dict(os.environ), os.getcwd()) == before, "the process is as it was"

    asyncio.run(run())


class Guarded(Memory):
    """Configures only with the current password, which the test changes."""

    def __init__(self) -> None:
        super().__init__()
        self.password = "old"

    def configure(self, request: sw.ConfigureRequest) -> None:
        if request.inputs.get("password") != self.password:
            raise PermissionError(f"{request.inputs.get('password')} is not the password")


def test_a_refresh_and_a_destroy_run_the_program_for_its_credentials(make_engine: MakeEngine) -> None:
    provider = Guarded()

    def program() -> None:
        guarded = pulumi.ProviderResource("mem", "guarded", {"password": pulumi.Config().require("password")})
        a = Thing("a", {"size": 1}, pulumi.ResourceOptions(provider=guarded))
        Thing("b", {"of": a.made}, pulumi.ResourceOptions(provider=guarded))
        if pulumi.Config().get("more"):
            new = Thing("new", {"size": 2}, pulumi.ResourceOptions(provider=guarded))
            pulumi.export("new", new.made)
        pulumi.export("id", a.id)

    async def run() -> None:
        async with make_engine(mem=provider) as engine:
            stack = await engine.stack("shop/dev", program, config={"password": "old"})
            assert (await stack.up()).changes == {"create": 4}
            provider.password = "new"
            provider.things.pop(next(id for id in provider.things if id.startswith("b")))
            stack = await engine.stack("shop/dev", program, config={"password": "new", "more": "yes"})
            with pytest.raises(sw.StackwrightError, match="is not the password"):
                await stack.refresh()
            seen = await stack.refresh(refresh_program=True, dry_run=True)
            assert seen.changes == {"update": 1, "same": 4, "delete": 1}
            read = await stack.refresh(refresh_program=True)
            assert read.changes == {"update": 1, "same": 4, "delete": 1}
            assert "new" not in read.outputs and read.outputs["id"].value in provider.things
            assert "b" not in states(await stack.export_deployment())
            with pytest.raises(sw.InvalidInputError, match="destroy_program=True"):
                stack.destroy(program=program)
            assert (await stack.destroy(destroy_program=True)).changes["delete"] == 3
            assert not provider.things and provider.count("create") == 2

    asyncio.run(run())


def test_async_programs_and_pulumi_run_work(make_engine: MakeEngine, memory: Memory) -> None:
    async def program() -> None:
        await asyncio.sleep(0)
        pulumi.export("threaded", await asyncio.to_thread(pulumi.get_stack))

    def registering() -> None:
        async def main() -> dict[str, Any]:
            return {"made": Thing("a", {}).made}

        pulumi.run(main)

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            assert sw.unwrap((await (await engine.stack("shop/dev", program)).up()).outputs) == {"threaded": "dev"}
            if hasattr(pulumi, "run"):
                assert sw.unwrap((await (await engine.stack("shop/other", registering)).up()).outputs) == {"made": True}
            explicit = sw.pulumi_program(lambda: pulumi.export("x", 1))
            assert sw.unwrap((await (await engine.stack("shop/third", explicit)).up()).outputs) == {"x": 1}

    asyncio.run(run())


def test_custom_timeouts_are_recorded_and_engine_versions_checked(make_engine: MakeEngine, memory: Memory) -> None:
    def program() -> None:
        pulumi.require_pulumi_version(">=3.5.0 !3.7.7")
        timeouts = pulumi.CustomTimeouts(create="90s", read="20m")
        Thing("a", {}, pulumi.ResourceOptions(custom_timeouts=timeouts))

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
            thing = states(await stack.export_deployment())["a"]
            assert thing["customTimeouts"] == {"create": 90, "read": 1200}
            picky = await engine.stack("shop/picky", lambda: pulumi.require_pulumi_version("2.x"))
            error, _ = await failure(picky)
            assert 'does not satisfy the version range "2.x"' in str(error)

    asyncio.run(run())


def test_twenty_concurrent_stacks_are_isolated(make_engine: MakeEngine, memory: Memory) -> None:
    def program() -> None:
        number = pulumi.Config().require("number")
        things = [Thing(f"{pulumi.get_stack()}-{index}", {"number": number}) for index in range(10)]
        numbers = [pulumi.Output.all(thing.made, thing.urn).apply(lambda _: number) for thing in things]
        pulumi.export("numbers", pulumi.Output.all(*numbers).apply(lambda found: sorted(set(found))))

    async def one(engine: sw.Engine, number: int) -> sw.Result:
        stack = await engine.stack(f"shop/s{number}", program, config={"number": str(number)})
        return await stack.up()

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            results = await asyncio.gather(*(one(engine, number) for number in range(20)))
            assert [result.outputs["numbers"].value for result in results] == [[str(number)] for number in range(20)]
            assert all(result.changes == {"create": 11} for result in results)
            for id, thing in memory.things.items():
                assert id.startswith(f"s{thing['number']}-"), "each stack's things have its own configuration"

    asyncio.run(run())


def test_a_thread_that_lost_its_context_gets_an_error_and_no_other_stack(
    make_engine: MakeEngine, memory: Memory
) -> None:
    errors: list[BaseException] = []

    def stray(name: str) -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        try:
            Thing(name, {})
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    def program() -> None:
        Thing("a", {})
        thread = threading.Thread(target=stray, args=("stray",))
        thread.start()
        thread.join()

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stacks = [await engine.stack(f"shop/s{number}", program) for number in range(3)]
            await asyncio.gather(*(stack.up() for stack in stacks))

    asyncio.run(run())
    contextvars.Context().run(stray, "outside")
    assert len(errors) == 4
    assert all(isinstance(error, sw.InvalidInputError) and "no deployment is running" in str(error) for error in errors)
    assert {name for method, name in memory.calls if method == "create"} == {"a"}


def test_a_resource_outside_of_any_run_is_an_error(make_engine: MakeEngine, memory: Memory) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            await (await engine.stack("shop/dev", lambda: Thing("a", {}) and None)).up()
        with pytest.raises(sw.InvalidInputError, match="no deployment is running"):
            Thing("outside", {})

    asyncio.run(run())
    assert memory.count("create") == 1


def test_hundreds_of_registrations_are_in_flight_at_once(make_engine: MakeEngine) -> None:
    lock = threading.Lock()
    live = most = 0
    all_started = threading.Event()

    class Slow(sw.Provider):
        async def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            nonlocal live, most
            with lock:
                live += 1
                most = max(most, live)
                if live == 300:
                    all_started.set()
            while not all_started.is_set():
                await asyncio.sleep(0.005)
            return sw.CreateResult(request.name, {})

        async def delete(self, request: sw.DeleteRequest) -> None:
            pass

    def program() -> None:
        for number in range(300):
            Thing(f"t{number}", {})

    async def run() -> None:
        async with make_engine(mem=Slow()) as engine:
            before = threading.active_count()
            operation = (await engine.stack("shop/dev", program)).up(parallel=1000)
            await asyncio.to_thread(all_started.wait, 60)
            assert threading.active_count() < before + 20, "waiting calls occupy no threads"
            await operation

    asyncio.run(run())
    assert most == 300


@pytest.mark.parametrize(
    ("raised", "expected", "message"),
    [
        (ValueError("oh"), "Program failed with an unhandled exception:\nTraceback", "ValueError: oh"),
        (pulumi.RunError("just stop"), "just stop", "just stop"),
        (SystemExit(3), None, "the program exited with 3"),
    ],
    ids=["exception", "RunError", "exit"],
)
def test_a_programs_errors_are_reported_as_by_the_sdk(
    make_engine: MakeEngine, memory: Memory, raised: BaseException, expected: str | None, message: str
) -> None:
    def program() -> None:
        raise raised

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            error, diagnostics = await failure(await engine.stack("shop/dev", program))
            assert isinstance(error, sw.ProgramError) and message in error.message
            if expected is not None:
                assert any(diagnostic.startswith(expected) for diagnostic in diagnostics)
                assert not any("stackwright/_sdk" in diagnostic for diagnostic in diagnostics)

    asyncio.run(run())


def test_a_failed_resource_fails_the_operation_and_the_program_unwinds(make_engine: MakeEngine) -> None:
    class Broken(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            raise sw.ProviderError("out of quota")

    unwound = threading.Event()

    async def program() -> None:
        try:
            await Thing("a", {}).id.future()
        finally:
            unwound.set()

    async def run() -> None:
        async with make_engine(mem=Broken()) as engine:
            _, diagnostics = await failure(await engine.stack("shop/dev", program))
            assert any("out of quota" in diagnostic for diagnostic in diagnostics)

    asyncio.run(run())
    assert unwound.wait(15)


def test_cancelling_ends_a_program_that_waits(make_engine: MakeEngine) -> None:
    begun = threading.Event()
    ended = threading.Event()

    async def program() -> None:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    async def run() -> None:
        async with make_engine() as engine:
            operation = (await engine.stack("shop/dev", program)).up()
            await asyncio.to_thread(begun.wait, 20)
            operation.cancel()
            assert isinstance((await operation.wait()).error, sw.CancelledError)

    asyncio.run(run())
    assert ended.wait(15)


def test_an_invoke_that_fails_raises_in_the_program(make_engine: MakeEngine) -> None:
    class Refusing(Memory):
        def invoke(self, request: sw.InvokeRequest) -> sw.InvokeResult:
            raise sw.ProviderError("unknown region")

    caught: list[str] = []

    def program() -> None:
        try:
            pulumi.runtime.invoke("mem:index:x", {})
        except Exception as error:  # noqa: BLE001
            caught.append(str(error))

    async def run() -> None:
        async with make_engine(mem=Refusing()) as engine:
            await (await engine.stack("shop/dev", program)).up()

    asyncio.run(run())
    assert len(caught) == 1 and "unknown region" in caught[0]


EXISTS = getattr(pulumi.runtime, "exists_resource", None)


@pytest.mark.skipif(EXISTS is None, reason="this version of the SDK cannot ask whether a resource exists")
def test_a_program_can_ask_whether_a_resource_exists(make_engine: MakeEngine, memory: Memory) -> None:
    memory.things["there"] = {"x": 1}

    def program() -> None:
        assert EXISTS is not None
        for id in ("there", "gone"):
            pulumi.export(id, EXISTS(None, "mem:index:Thing", id, {}, pulumi.ResourceOptions()))

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            result = await stack.up()
            assert sw.unwrap(result.outputs) == {"there": True, "gone": False}
            assert sorted(memory.calls) == [("read", "gone"), ("read", "there")]
            assert states(await stack.export_deployment()).keys() == {"shop-dev", "default"}, "no resource is recorded"

    asyncio.run(run())


def test_a_program_can_run_another_stack(make_engine: MakeEngine, memory: Memory) -> None:
    def inner() -> None:
        Thing("inner", {})
        pulumi.export("stack", pulumi.get_stack())

    async def run() -> None:
        async with make_engine(mem=memory) as engine:

            async def outer() -> None:
                Thing("outer", {})
                nested = await (await engine.stack("shop/inner", inner)).up()
                pulumi.export("nested", nested.outputs["stack"].value)
                pulumi.export("stack", pulumi.get_stack())

            result = await (await engine.stack("shop/outer", outer)).up()
            assert sw.unwrap(result.outputs) == {"nested": "inner", "stack": "outer"}

    asyncio.run(run())


def test_advice_of_the_sdk_to_use_a_command_is_replaced(make_engine: MakeEngine, memory: Memory) -> None:
    def missing() -> None:
        pulumi.Config().require("size")

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            error, diagnostics = await failure(await engine.stack("shop/dev", missing))
            text = "\tset a value for `shop:size` in the stack's configuration"
            assert isinstance(error, sw.ProgramError) and text in str(error)
            assert text in diagnostics[0]
            for shown in (str(error), diagnostics[0]):
                assert "CLI" not in shown and "pulumi config" not in shown

    asyncio.run(run())
