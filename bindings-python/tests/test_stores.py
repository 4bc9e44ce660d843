"""Stores of the host: whole operations on them, their errors, and their end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw
from stackwright import sync

from conftest import Memory, Vault, on_loop, states
from host_stores import AsyncStore, CopyingStore, DictStore, SqliteStore

THING = "mem:index:Thing"
TIMEOUT_SECONDS = 60


def making(*names: str, **inputs: Any) -> Callable[[sw.Context], None]:
    def program(ctx: sw.Context) -> None:
        for name in names:
            ctx.resource(THING, name, {"key": sw.secret("opensesame"), **inputs})
        ctx.export("made", len(names))

    return program


def engine_on(store: Any, provider: Memory | None = None, **settings: Any) -> sw.Engine:
    return sw.Engine(store=store, secrets=Vault(), providers={"mem": provider or Memory()}, **settings)


def checkpoint(store: DictStore) -> bytes:
    return store.objects[".pulumi/stacks/shop/dev.json"][0]


@pytest.mark.parametrize("make", [DictStore, CopyingStore, AsyncStore])
@on_loop
async def test_a_store_of_the_host_has_stacks_from_their_creation_to_their_removal(make: Callable[[], Any]) -> None:
    store, provider = make(), Memory()
    objects = store.inner if isinstance(store, AsyncStore) else store
    async with engine_on(store, provider) as engine:
        assert repr(engine) == f"<Engine on {getattr(store, 'url', None) or f'host://{make.__name__}'}>"
        stack = await engine.stack("shop/dev", making("a", "b"))
        assert (await stack.up()).changes == {"create": 3}
        assert b"ciphertext" in checkpoint(objects) and b"opensesame" not in checkpoint(objects)
        assert set((await stack.up()).changes) == {"same"}
        assert (await stack.up(program=making("a", "b", size=2))).changes == {"same": 1, "update": 2}
        assert set((await stack.refresh()).changes) == {"same"}
        assert (await stack.outputs())["made"].value == 2
        history = await stack.history()
        assert [entry["kind"] for entry in history] == ["refresh", "update", "update", "update"]

    # Another engine finds what the first one has left, and edits it.
    async with engine_on(store, provider) as engine:
        (summary,) = await engine.stacks()
        assert summary.name.endswith("shop/dev") and summary.lock is None
        stack = await engine.select_stack("shop/dev")
        left = states(await stack.export_deployment())
        await stack.protect([left["a"]["urn"]])
        assert states(await stack.export_deployment())["a"]["protect"] is True
        with pytest.raises(sw.FailedError):
            await stack.destroy()
        await stack.unprotect([left["a"]["urn"]])
        await stack.rename_stack("shop/prod")
        stack = await engine.select_stack("shop/prod")
        assert (await stack.destroy()).changes["delete"] >= 1
        assert provider.things == {}
        await stack.remove()
        assert await engine.stacks() == []
    assert ("copy" in {method for method, _ in objects.calls}) == hasattr(store, "copy")
    left_keys = [key for key in objects.objects if key.startswith((".pulumi/stacks/", ".pulumi/locks/"))]
    assert left_keys == [".pulumi/stacks/shop/prod.json.bak"]


def test_the_interface_without_async_takes_a_store_of_the_host() -> None:
    store = DictStore()
    with sync.Engine(store=store, secrets=Vault(), providers={"mem": Memory()}) as engine:
        assert engine.stack("shop/dev", making("a")).up().changes == {"create": 2}
    assert b"mem:index:Thing" in checkpoint(store)


@on_loop
async def test_operations_of_several_stacks_call_the_store_from_several_threads() -> None:
    store = DictStore()
    together, met = threading.Barrier(2), set[int]()

    def meet(method: str, key: str) -> None:
        if method == "put" and key.startswith(".pulumi/locks/") and len(met) < 2:
            met.add(threading.get_ident())
            # Both threads are in the store at the same time, or this fails.
            together.wait(TIMEOUT_SECONDS)

    async with engine_on(store) as engine:
        stacks = [await engine.stack(f"shop/s{number}", making("a")) for number in range(2)]
        store.before = meet
        results = await asyncio.gather(*(stack.up() for stack in stacks))
    assert [result.changes for result in results] == [{"create": 2}] * 2
    assert len(met) == 2


class Held(Memory):
    """Holds the creation of a resource until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.released = threading.Event(), threading.Event()

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        self.began.set()
        assert self.released.wait(TIMEOUT_SECONDS)
        return super().create(request)


@on_loop
async def test_of_two_engines_on_one_store_the_second_operation_is_refused() -> None:
    store, held = DictStore(), Held()
    async with engine_on(store, held) as first, engine_on(store) as second:
        running = (await first.stack("shop/dev", making("a"))).up()
        assert await asyncio.to_thread(held.began.wait, TIMEOUT_SECONDS)
        with pytest.raises(sw.ConflictError, match="locked") as caught:
            await (await second.stack("shop/dev", making("a"))).up()
        assert str(os.getpid()) in str(caught.value) + " ".join(caught.value.hints)
        held.released.set()
        assert (await running).changes == {"create": 2}
        assert set((await (await second.stack("shop/dev", making("a"))).up()).changes) == {"same"}


async def killed_host(path: Path) -> None:
    """Updates a stack and never ends; runs in a process of its own."""

    class Hanging(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            if request.name == "b":
                print("held", flush=True)
                threading.Event().wait()
            return super().create(request)

    async with engine_on(SqliteStore(path), Hanging()) as engine:

        def program(ctx: sw.Context) -> None:
            first = ctx.resource(THING, "a", {})
            ctx.resource(THING, "b", {"after": first.id})

        await (await engine.stack("shop/dev", program)).up()


@on_loop
async def test_the_next_engine_recovers_what_a_killed_one_has_journalled_in_the_store(tmp_path: Path) -> None:
    path = tmp_path / "state.db"

    def kill() -> None:
        with subprocess.Popen([sys.executable, __file__, str(path)], stdout=subprocess.PIPE, text=True) as process:
            deadline = threading.Timer(TIMEOUT_SECONDS, process.kill)
            deadline.start()
            assert process.stdout is not None
            assert any(line == "held\n" for line in iter(process.stdout.readline, "")), "the host has ended"
            deadline.cancel()
            os.kill(process.pid, signal.SIGKILL)

    await asyncio.to_thread(kill)
    async with engine_on(SqliteStore(path)) as engine:
        stack = await engine.stack("shop/dev", making("a", "b"))
        left = await stack.export_deployment()
        assert states(left)["a"]["id"] == "a-1" and "b" not in states(left)
        (pending,) = left["deployment"]["pending_operations"]
        assert (pending["type"], pending["resource"]["urn"].rsplit("::", 1)[-1]) == ("creating", "b")
        # The lease of a process that has ended on this host is taken over at once.
        assert (await stack.up()).changes["create"] == 1
        assert (await stack.destroy()).changes["delete"] >= 2
    assert not [key for key, _, _ in SqliteStore(path).list(".pulumi/locks/")]


@on_loop
async def test_what_a_method_raises_is_an_error_that_names_method_and_key_and_has_the_exception_as_its_cause() -> None:
    store = DictStore()

    def refuse(method: str, key: str) -> None:
        if (method, key) == ("put", ".pulumi/stacks/shop/dev.json"):
            raise PermissionError("the table is read-only")

    async with engine_on(store) as engine:
        store.before = refuse
        with pytest.raises(sw.UnavailableError) as caught:
            stack = await engine.stack("shop/dev", making("a"))
            await stack.up()
        text = str(caught.value)
        assert 'put of ".pulumi/stacks/shop/dev.json" failed in the store host://DictStore' in text
        assert "the table is read-only" in text
        assert isinstance(caught.value.__cause__, PermissionError)


@pytest.mark.parametrize(
    ("method", "returned", "part"),
    [
        ("get", b"text", "it returned bytes, not a pair of content (bytes) and version (str), or None"),
        ("get", ("text", 1), "it returned (str, int), not a pair of content (bytes) and version (str), or None"),
        ("put", None, "it returned NoneType, not the new version (str)"),
        ("put", "", "it returned an empty str, not the new version (str)"),
        ("list", None, "it returned NoneType, not objects, each with key, size and modified"),
        ("list", ["a"], "it returned an object that is str, not a triple of key (str), size (int) and modified (datetime)"),
        ("list", [("a", 1, "now")], "(str, int, str), not a triple"),
        ("list", [("a", 1, datetime(2026, 1, 1))], "modified has no time zone"),
        ("list", [("other", 1, datetime.fromisoformat("2026-01-01T00:00:00+00:00"))], "does not start with the prefix"),
    ],
)
@on_loop
async def test_an_answer_of_a_wrong_type_is_an_error_that_names_the_method_and_what_it_returns(
    method: str, returned: object, part: str
) -> None:
    store = DictStore()
    setattr(store, method, {1: lambda key: returned, 3: lambda key, content, condition: returned}[3 if method == "put" else 1])
    async with engine_on(store) as engine:
        with pytest.raises(sw.InvalidInputError) as caught:
            if method == "list":
                await engine.stacks()
            await (await engine.stack("shop/dev", making("a"))).up()
        text = str(caught.value)
        assert f"{method} of " in text and part in text, text


@pytest.mark.parametrize(
    ("store", "part"),
    [
        (DictStore, "store is the class DictStore; pass an instance, DictStore()"),
        ({}, "dict has no put and no list and no delete"),
        (Path("state"), "store takes a URL as a string, not"),
    ],
)
def test_what_is_no_store_is_refused(store: Any, part: str) -> None:
    with pytest.raises(sw.InvalidInputError) as caught:
        engine_on(store)
    assert part in str(caught.value)


def test_a_method_with_other_parameters_and_a_url_of_the_engine_are_refused() -> None:
    class Short(DictStore):
        def put(self, key: str, content: bytes) -> str:  # type: ignore[override]
            return ""

    class Folder(DictStore):
        url = "file:///srv/state"

    with pytest.raises(sw.InvalidInputError, match="method put is called with 3 arguments"):
        engine_on(Short())
    with pytest.raises(sw.InvalidInputError, match="names a store of the engine"):
        engine_on(Folder())


@on_loop
async def test_a_store_that_ignores_conditions_is_refused_unless_it_is_allowed() -> None:
    class Careless(DictStore):
        def put(self, key: str, content: bytes, condition: sw.Condition) -> str:
            return super().put(key, content, sw.Condition("any"))

    async with engine_on(Careless()) as engine:
        with pytest.raises(sw.InvalidInputError, match="ignores the condition"):
            await (await engine.stack("shop/dev", making("a"))).up()
    async with engine_on(Careless(), allow_unfenced=True) as engine:
        assert (await (await engine.stack("shop/dev", making("a"))).up()).changes == {"create": 2}


@pytest.mark.parametrize("make", [DictStore, AsyncStore])
@on_loop
async def test_no_method_is_called_once_the_engine_is_closed(make: Callable[[], Any]) -> None:
    store = make()
    objects = store.inner if isinstance(store, AsyncStore) else store
    engine = engine_on(store)
    stack = await engine.stack("shop/dev", making("a"))
    await stack.up()
    await engine.close()
    before = len(objects.calls)
    with pytest.raises(sw.StackwrightError):
        await stack.export_deployment()
    assert len(objects.calls) == before


@on_loop
async def test_closing_an_engine_waits_for_a_call_of_the_store_that_runs() -> None:
    store = DictStore()
    began, released = threading.Event(), threading.Event()
    ended: list[str] = []

    def hold(method: str, key: str) -> None:
        began.set()
        assert released.wait(TIMEOUT_SECONDS)
        ended.append(method)

    engine = engine_on(store)
    store.before = hold
    listing = asyncio.ensure_future(engine.stacks())
    assert await asyncio.to_thread(began.wait, TIMEOUT_SECONDS)
    closing = asyncio.ensure_future(engine.close())
    done, _ = await asyncio.wait({closing}, timeout=0.2)
    assert not done and not ended
    released.set()
    await asyncio.wait_for(closing, TIMEOUT_SECONDS)
    assert ended
    await asyncio.gather(listing, return_exceptions=True)


@pytest.mark.parametrize("is_own", [True, False])
@on_loop
async def test_closing_an_engine_lets_the_step_that_runs_complete_and_begins_no_other(is_own: bool, tmp_path: Path) -> None:
    began, released = threading.Event(), threading.Event()

    class Held(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            began.set()
            assert released.wait(TIMEOUT_SECONDS)
            return super().create(request)

    store: Any = DictStore() if is_own else f"file://{tmp_path}"
    provider = Held()
    engine = engine_on(store, provider)
    stack = await engine.stack("shop/dev", making("a", "b"))
    operation = stack.up(parallel=1)
    assert await asyncio.to_thread(began.wait, TIMEOUT_SECONDS)
    closing = asyncio.ensure_future(engine.close())
    done, _ = await asyncio.wait({closing}, timeout=0.2)
    assert not done
    released.set()
    await asyncio.wait_for(closing, TIMEOUT_SECONDS)
    result = await asyncio.wait_for(operation.wait(), TIMEOUT_SECONDS)
    assert result.outcome == "canceled"
    async with engine_on(store) as other:
        state = await (await other.stack("shop/dev")).export_deployment()
    assert "pending_operations" not in state["deployment"], state
    created = [name for method, name in provider.calls if method == "create"]
    assert len(created) == 1


if __name__ == "__main__":
    asyncio.run(killed_host(Path(sys.argv[1])))
