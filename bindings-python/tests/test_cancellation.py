"""Cancellation: graceful at first, immediate at the second, by handles, tasks, timeouts and SIGINT."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
import stackwright as sw

from conftest import MakeEngine, Memory

THING = "mem:index:Thing"


class Gate(Memory):
    """Blocks each create until ``opened`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Event()
        self.opened = threading.Event()

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        self.entered.set()
        assert self.opened.wait(20)
        return super().create(request)


async def chain(ctx: sw.Context) -> None:
    first = ctx.resource(THING, "first", {})
    ctx.resource(THING, "second", {"after": first["made"]})


async def entered(gate: Gate) -> None:
    await asyncio.to_thread(gate.entered.wait, 20)


def test_a_graceful_cancellation_finishes_and_records_running_steps(make_engine: MakeEngine) -> None:
    gate = Gate()

    async def run() -> None:
        async with make_engine(mem=gate) as engine:
            stack = await engine.stack("shop/dev", chain)
            operation = stack.up()
            await entered(gate)
            operation.cancel()
            assert not operation.done
            gate.opened.set()
            with pytest.raises(sw.CancelledError) as caught:
                await operation
            assert caught.value.message == str(caught.value) == "update canceled"
            assert caught.value.reference_message == "BAIL: canceled"
            result = caught.value.result
            assert result is not None and result.outcome == "canceled", "also with a summary event"
            assert "\nupdate canceled\n" in result.tree()
            assert [name for method, name in gate.calls if method == "create"] == ["first"]
            deployment = result.deployment()
            assert deployment is not None and deployment == await stack.export_deployment()
            names = [item["urn"] for item in deployment["deployment"]["resources"]]
            assert any(name.endswith("::first") for name in names)

    asyncio.run(run())


def test_a_second_cancellation_abandons_running_calls(make_engine: MakeEngine) -> None:
    cancelled = asyncio.Event()
    begun = asyncio.Event()

    class Endless(sw.Provider):
        async def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            main.call_soon_threadsafe(begun.set)
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                main.call_soon_threadsafe(cancelled.set)
                raise
            return sw.CreateResult("never")

        async def delete(self, request: sw.DeleteRequest) -> None:
            pass

    main: asyncio.AbstractEventLoop

    async def run() -> None:
        nonlocal main
        main = asyncio.get_running_loop()
        async with make_engine(mem=Endless()) as engine:
            stack = await engine.stack("shop/dev", chain)
            operation = stack.up()
            await begun.wait()
            operation.cancel()
            operation.cancel()
            result = await operation.wait()
            assert result.outcome == "canceled"
            await asyncio.wait_for(cancelled.wait(), 10)

    asyncio.run(run())


def test_a_call_of_a_provider_that_does_not_return_in_time_ends_with_an_error_that_names_it(tmp_path: Path) -> None:
    cancelled = threading.Event()

    class Endless(Memory):
        async def create(self, request: sw.CreateRequest) -> sw.CreateResult:  # type: ignore[override]
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise
            raise AssertionError

    async def run() -> None:
        plugins = sw.Plugins(call_timeouts={"mem": 0.5})
        store = f"file://{tmp_path / 'state'}"
        async with sw.Engine(store=store, passphrase="test", plugins=plugins, providers={"mem": Endless()}) as engine:
            stack = await engine.stack("shop/dev", chain)
            with pytest.raises(sw.FailedError) as caught:
                await stack.up()
            urn = f"urn:pulumi:dev::shop::{THING}::first"
            assert f"provider `mem` did not return from create of {urn} within 0.5 s" in str(caught.value)
            pending = (await stack.export_deployment())["deployment"]["pending_operations"]
            assert [item["resource"]["urn"] for item in pending] == [urn]

    asyncio.run(asyncio.wait_for(run(), 60))
    assert cancelled.wait(20), "the call is cancelled"


def test_a_timeout_around_an_operation_cancels_it_and_waits_for_its_end(make_engine: MakeEngine) -> None:
    gate = Gate()

    async def run() -> None:
        async with make_engine(mem=gate) as engine:
            stack = await engine.stack("shop/dev", chain)
            task = asyncio.ensure_future(stack.up().wait())
            await entered(gate)
            task.cancel()
            await asyncio.sleep(0)
            assert not task.done(), "a running step is finished first"
            gate.opened.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert gate.count("create") == 1
            # The lock is released and the state valid: the next update completes the deployment.
            await stack.up()
            assert len(gate.things) == 2

    asyncio.run(run())


def test_a_program_that_awaits_no_resource_is_cancelled(make_engine: MakeEngine) -> None:
    begun = asyncio.Event()
    ended = asyncio.Event()

    async def program(ctx: sw.Context) -> None:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", program)
            operation = stack.up()
            await begun.wait()
            operation.cancel()
            result = await operation.wait()
            assert isinstance(result.error, sw.CancelledError)
            await asyncio.wait_for(ended.wait(), 10)

    asyncio.run(run())


SCRIPT = """
import sys, threading
import stackwright as sw
from stackwright import sync

class Slow(sw.Provider):
    def create(self, request):
        print("creating", request.name, flush=True)
        if request.name == "second":
            threading.Event().wait({wait})
        return sw.CreateResult(request.name, {{}})
    def delete(self, request):
        pass

def program(ctx):
    first = ctx.resource("mem:index:Thing", "first", {{}})
    second = ctx.resource("mem:index:Thing", "second", {{}}, depends_on=[first])
    ctx.resource("mem:index:Thing", "third", {{}}, depends_on=[second])

engine = sync.Engine(store=sys.argv[1], passphrase="x", providers={{"mem": Slow()}})
stack = engine.stack("shop/dev", program)
try:
    print(stack.up().changes, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def child(tmp_path: Path, wait: float) -> subprocess.Popen[str]:
    script = textwrap.dedent(SCRIPT).format(wait=wait)
    process = subprocess.Popen(
        [sys.executable, "-c", script, f"file://{tmp_path}/state"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line == "creating second\n":
            return process
    raise AssertionError("the child ended early")


def recorded(tmp_path: Path) -> tuple[list[str], list[str]]:
    async def read() -> tuple[list[str], list[str]]:
        async with sw.Engine(store=f"file://{tmp_path}/state", passphrase="x") as engine:
            stack = await engine.stack("shop/dev", create=False)
            deployment = (await stack.export_deployment())["deployment"]
            names = [item["urn"].rsplit("::", 1)[1] for item in deployment["resources"] if item["type"] == THING]
            pending = [item["resource"]["urn"].rsplit("::", 1)[1] for item in deployment.get("pending_operations") or []]
            return names, pending

    return asyncio.run(read())


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_sigint_cancels_an_operation_of_the_sync_api_gracefully(tmp_path: Path) -> None:
    process = child(tmp_path, 3.0)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert "interrupted" in output and "third" not in output
    assert recorded(tmp_path) == (["first", "second"], [])


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_a_killed_process_leaves_records_and_pending_operations(tmp_path: Path) -> None:
    process = child(tmp_path, 3600)
    process.kill()
    process.communicate(timeout=30)
    names, pending = recorded(tmp_path)
    assert names == ["first"] and pending == ["second"]


POLLING = """
import threading
import time
import stackwright as sw
from stackwright import sync

creating = threading.Event()

class Polling(sw.Provider):
    def create(self, request):
        creating.set()
        while True:
            time.sleep(0.01)

    def delete(self, request):
        pass

def program(ctx):
    ctx.resource("mem:index:Thing", "first", {})

with sync.Engine(store="memory://", passphrase="x", providers={"mem": Polling()}) as engine:
    operation = engine.stack("shop/dev", program).start_up()
    creating.wait()
    operation.cancel()
    operation.cancel()
    print(operation.wait().outcome, flush=True)
print("over", flush=True)
"""


def test_an_endlessly_polling_provider_does_not_block_the_interpreters_exit() -> None:
    ended = subprocess.run([sys.executable, "-c", POLLING], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, ""), ended
    assert ended.stdout.endswith("canceled\nover\n")


@pytest.mark.parametrize("is_sdk", [False, True], ids=["native API", "SDK"])
def test_a_second_cancellation_abandons_a_computing_program(make_engine: MakeEngine, is_sdk: bool) -> None:
    computing, left = threading.Event(), threading.Event()
    over = threading.Event()
    raised: list[BaseException] = []

    def compute() -> None:
        computing.set()
        # Represents a computation or a sleep, which cannot be interrupted.
        assert left.wait(30)

    def program(ctx: sw.Context) -> None:
        compute()
        calls = (
            lambda: ctx.resource(THING, "late"),
            lambda: ctx.component("box:index:Box", "late"),
            lambda: ctx.read(THING, "late", "id").wait(),
            lambda: ctx.invoke("mem:index:echo").wait(),
            lambda: ctx.log("still here"),
        )
        for call in calls:
            try:
                call()
            except BaseException as error:  # noqa: BLE001
                raised.append(error)
        over.set()

    def sdk_program() -> None:
        import pulumi

        compute()
        try:
            pulumi.runtime.invoke("mem:index:echo", {})
        except BaseException as error:  # noqa: BLE001
            raised.append(error)
        over.set()

    async def run() -> None:
        async with make_engine(mem=Memory()) as engine:
            stack = await engine.stack("shop/dev", sdk_program if is_sdk else program)
            operation = stack.up()
            assert await asyncio.to_thread(computing.wait, 20)
            operation.cancel()
            operation.cancel()
            begun = asyncio.get_running_loop().time()
            result = await operation.wait()
            assert result.outcome == "canceled" and not over.is_set(), "the thread is not awaited"
            assert asyncio.get_running_loop().time() - begun < 4, "the grace period of five seconds is skipped"
            left.set()
            assert await asyncio.to_thread(over.wait, 20)
            if not is_sdk:
                assert [type(error) for error in raised] == [sw.CancelledError] * 5
                assert {str(error) for error in raised} == {"the operation has ended: nothing is taken any more"}
            # The stack accepts the next operation.
            assert (await stack.up(program=chain)).outcome == "succeeded"

    asyncio.run(run())
