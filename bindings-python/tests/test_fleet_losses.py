"""Sets of stacks on executors: calls that are lost while they run, cancelled sets, listeners that fail, what a worker shares."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw
from stackwright import fleet, sync
from stackwright.fleet import _engines, _executor, _worker
from stackwright.fleet._engines import shared_engine
from stackwright.fleet._ray import _RayFuture
from stackwright.options import SECRET_SETTINGS

from conftest import on_loop
from fleet_support import LOOSE, SECRET, Files, Vault, made, prepare, spec

TIMEOUT_SECONDS = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return prepare(tmp_path / "work")


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"file://{tmp_path}/state"


@pytest.fixture
def threads() -> Iterator[concurrent.futures.ThreadPoolExecutor]:
    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        yield executor


async def until(done: Callable[[], Any], what: str) -> Any:
    """Waits until a function returns something."""
    for _ in range(TIMEOUT_SECONDS * 50):
        if found := done():
            return found
        await asyncio.sleep(0.02)
    raise TimeoutError(what)


async def ended(operation: fleet.ExecutorOperation) -> fleet.FleetReport:
    return await asyncio.wait_for(operation.wait(), TIMEOUT_SECONDS)


def marks(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "state" / ".pulumi" / "runs").rglob("*.json"))


class Dropping:
    """Loses the first call of a stack, at once or when the test wants, although it runs or is still to begin."""

    def __init__(self, inner: concurrent.futures.Executor, begins: bool = True, at_once: bool = True) -> None:
        self.inner = inner
        self.begins = begins
        self.at_once = at_once
        self.lost: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self.dropped: concurrent.futures.Future[Any] | None = None
        self.kept: Callable[[], Any] | None = None
        self.later = 0
        """How many calls of stacks came after it."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> concurrent.futures.Future[Any]:
        if function.__name__ != "run_stack" or self.kept is not None:
            self.later += function.__name__ == "run_stack"
            return self.inner.submit(function, *arguments)
        self.kept = lambda: function(*arguments)
        if self.begins:
            self.dropped = self.inner.submit(function, *arguments)
        if self.at_once:
            self.lose()
        return self.lost

    def lose(self) -> None:
        self.lost.set_exception(ConnectionError("the scheduler is gone"))


@on_loop
async def test_a_lost_call_that_still_runs_keeps_the_mark_of_a_cancelled_set_and_is_unknown(
    threads: concurrent.futures.Executor, folder: Path, store: str, tmp_path: Path
) -> None:
    (folder / "hold-a").touch()
    executor = Dropping(threads)
    operation = fleet.up_all(executor, [spec("a", folder, store), spec("b", folder, store, depends_on=["shop/a"])])
    await until((folder / "held-a").exists, "the Create")
    operation.cancel()
    report = await ended(operation)
    assert report.outcome == "canceled" and report.unknown == ("shop/a",) and report.skipped == ("shop/b",)
    assert f"forget_run('{report.run_id}')" in str(report.stacks["shop/a"].error)
    assert marks(tmp_path), "what still runs reads the mark"
    await until((folder / "cancelled").exists, "the cancellation of the lost call")
    (folder / "hold-a").unlink()
    assert executor.dropped is not None
    end = await asyncio.wait_for(asyncio.wrap_future(executor.dropped), TIMEOUT_SECONDS)
    assert end.report.outcome == "canceled" and made(folder) == {"a": 1}


@on_loop
async def test_a_stack_whose_lost_call_still_runs_is_unknown_although_another_call_of_it_was_cancelled(
    threads: concurrent.futures.Executor, folder: Path, store: str, tmp_path: Path
) -> None:
    (folder / "hold-a").touch()
    executor = Dropping(threads)
    operation = fleet.up_all(executor, [spec("a", folder, store)])
    await until((folder / "held-a").exists, "the Create")
    await until(lambda: executor.later == 1, "the second call, which waits for the first one")
    operation.cancel()
    report = await ended(operation)
    assert report.unknown == ("shop/a",) and report.stacks["shop/a"].attempts == 2
    assert executor.dropped is not None and not executor.dropped.done() and marks(tmp_path)
    (folder / "hold-a").unlink()
    end = await asyncio.wait_for(asyncio.wrap_future(executor.dropped), TIMEOUT_SECONDS)
    assert end.report.outcome == "canceled" and made(folder) == {"a": 1}


@on_loop
async def test_a_lost_call_that_begins_after_its_cancelled_set_changes_nothing(
    threads: concurrent.futures.Executor, folder: Path, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The set is cancelled before the second call.
    monkeypatch.setattr(_executor, "_RESUBMISSION_PAUSE", 3)
    executor = Dropping(threads, begins=False)
    operation = fleet.up_all(executor, [spec("a", folder, store)])
    await until(lambda: executor.kept is not None, "the first call")
    operation.cancel()
    report = await ended(operation)
    assert report.unknown == ("shop/a",) and marks(tmp_path)
    assert executor.kept is not None
    end = await asyncio.wait_for(asyncio.to_thread(executor.kept), TIMEOUT_SECONDS)
    assert end.report.outcome == "canceled" and "its run was cancelled" in str(end.report.error)
    assert made(folder) == {}


def refusing(name: str, folder: Path, store: str) -> fleet.StackSpec:
    config = {"folder": str(folder), "reads": []}
    return fleet.StackSpec(f"shop/{name}", "fleet_support:program", store=store, setup="fleet_support:refused_while", config=config)


@on_loop
async def test_a_stack_with_a_lost_call_is_unknown_when_its_other_calls_fail_before_they_begin(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    (folder / "hold-a").touch()
    executor = Dropping(threads, at_once=False)
    operation = fleet.up_all(executor, [refusing("a", folder, store)])
    await until((folder / "held-a").exists, "the Create")
    (folder / "refuse").touch()
    executor.lose()
    report = await ended(operation)
    own = report.stacks["shop/a"]
    assert report.unknown == ("shop/a",) and own.attempts == 4
    assert "fleet_support:refused_while raised builtins.ValueError" in str(own.error) and SECRET not in str(own.error)
    (folder / "hold-a").unlink()
    (folder / "refuse").unlink()
    again = await ended(fleet.up_all(threads, [refusing("a", folder, store)], resume=report))
    assert again.outcome == "succeeded" and again.stacks["shop/a"].is_recorded and made(folder) == {"a": 1}


@on_loop
async def test_a_lost_call_whose_successor_ends_the_run_leaves_no_mark(
    threads: concurrent.futures.Executor, folder: Path, store: str, tmp_path: Path
) -> None:
    (folder / "hold-b").touch()
    executor = Dropping(threads)
    specs = [spec("a", folder, store), spec("b", folder, store, depends_on=["shop/a"])]
    operation = fleet.up_all(executor, specs)
    await until((folder / "held-b").exists, "the Create of the second stack")
    operation.cancel()
    await until((folder / "cancelled").exists, "the cancellation")
    (folder / "hold-b").unlink()
    report = await ended(operation)
    assert report.outcome == "canceled" and report.stacks["shop/a"].outcome == "succeeded" and not report.unknown
    assert not marks(tmp_path)


def test_a_task_of_ray_that_is_cancelled_may_have_begun() -> None:
    requests: list[str] = []
    future = _RayFuture(lambda: requests.append("cancel"))
    other: concurrent.futures.Future[Any] = concurrent.futures.Future()
    future.follow(other)
    assert not future.cancel() and not future.done() and requests == ["cancel"]
    other.set_result("its end")
    assert future.result(TIMEOUT_SECONDS) == "its end"
    assert not future.cancel() and requests == ["cancel"]


async def lock_of_another_host(folder: Path, store: str, tmp_path: Path, run: str) -> None:
    """Leaves the lock file of a process of another host."""
    async with sw.Engine(store=store, secrets=Vault()) as engine:
        await engine.create_stack("shop/a")
    locks = tmp_path / "state" / ".pulumi" / "locks" / "organization" / "shop" / "a"
    locks.mkdir(parents=True)
    owner = {"pid": 7, "username": "ann", "hostname": "elsewhere", "timestamp": "2026-01-02T03:04:05Z"}
    owner.update(system="another boot", operation="update", run=run)
    (locks / "11d5b3a7-4068-4093-8162-59789599fd28.json").write_text(json.dumps(owner))


@on_loop
async def test_a_run_whose_lock_only_another_host_could_release_ends_unknown_and_is_finished_after_break_lock(
    threads: concurrent.futures.Executor, folder: Path, store: str, tmp_path: Path
) -> None:
    run = "set/1"
    await lock_of_another_host(folder, store, tmp_path, run)
    unknown = fleet.StackReport(stack="shop/a", outcome="unknown", run_id=run)
    former = fleet.FleetReport({"shop/a": unknown}, None, False, 0.0, "set", "up")
    specs = [spec("a", folder, store, wait_for_lock=0.2)]
    report = await ended(fleet.up_all(threads, specs, resume=former))
    own = report.stacks["shop/a"]
    assert own.outcome == "unknown" and own.run_id == run and own.attempts == 4
    assert "process 7 of ann@elsewhere" in str(own.error) and "break_lock" in str(own.error)
    assert made(folder) == {}
    async with sw.Engine(store=store, secrets=Vault()) as engine:
        assert await (await engine.select_stack("shop/a")).break_lock("ann@elsewhere:7") == 1
    report = await ended(fleet.up_all(threads, specs, resume=report))
    assert report.outcome == "succeeded" and report.stacks["shop/a"].run_id == run and made(folder) == {"a": 1}


def loose(kind: str, store: str, program: str = "fleet_support:secretive") -> fleet.StackSpec:
    return fleet.StackSpec(f"shop/{kind}", program, store=store, setup="fleet_support:loose", config={"raises": kind})


def task(of: fleet.StackSpec) -> _worker.StackTask:
    return _worker.StackTask(of, "up", "set/1", _worker.packed(()), 0, None, True)


@pytest.mark.parametrize("kind", LOOSE)
def test_what_setup_raises_leaves_the_worker_without_its_text(kind: str, store: str) -> None:
    end = _worker.run_stack(task(loose(kind, store)))
    found = _worker.read_references([loose(kind, store)], 0)
    error = end.report.error
    assert error is not None and end.report.outcome == "failed" and not end.is_settled
    returned = pickle.dumps(end) + pickle.dumps(found) + "".join(traceback.format_exception(error)).encode()
    assert SECRET.encode() not in returned
    # Nothing of it is left for what prints chains of errors.
    chain: list[BaseException | None] = [error, error.__cause__, error.__context__]
    assert SECRET not in repr([str(link) for link in chain])
    names = {"own": "InvalidInputError", "exit": "SystemExit", "nested": "FailedError", "import": "ImportError"}
    assert names.get(kind, "ValueError") in str(error) and "fleet_support:" in str(error)
    assert "builtins" in str(found) or "stackwright" in str(found)
    # What an executor logs of a call that raises.
    with pytest.raises(sw.FailedError) as raised:
        _worker.cancel_run(loose(kind, store), "set", 1)
    assert SECRET not in "".join(traceback.format_exception(raised.value))
    assert raised.value.__context__ is None and raised.value.__cause__ is None


def test_a_program_whose_import_fails_leaves_the_text_in_the_worker(folder: Path, store: str) -> None:
    broken = _worker.run_stack(task(spec("a", folder, store, program="fleet_loose:program")))
    assert SECRET.encode() not in pickle.dumps(broken)
    assert "cannot import fleet_loose:program: the import raised builtins.ImportError at fleet_loose:5" in str(broken.report.error)
    missing = _worker.run_stack(task(spec("a", folder, store, program="fleet_nowhere.inner:program")))
    assert "there is no module fleet_nowhere" in str(missing.report.error)
    unnamed = _worker.run_stack(task(spec("a", folder, store, program="fleet_support:Files.nothing")))
    assert "Files has no nothing" in str(unnamed.report.error)


REFUSED_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"settings": {"passphrase": "hunter2"}}, "passphrase is refused among the settings of a specification"),
    ({"settings": {"reference_passphrases": {"shop/b": "hunter2"}}}, "reference_passphrases is refused"),
    ({"settings": {"program_environment": {"TOKEN": "hunter2"}}}, "program_environment is refused"),
    ({"settings": {"deployment": {"token": "hunter2"}}}, "deployment is refused"),
    ({"settings": {"config": {"token": "hunter2"}}}, "config is a parameter of a specification of its own"),
    ({"config": {"token": {"value": "hunter2", "secret": True}}}, "the value of 'token' in config of a specification is marked as secret"),
    (
        {"config": {"all": [{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": "hunter2"}]}},
        "marked as secret; the function of setup supplies",
    ),
]


@pytest.mark.parametrize(("given", "text"), REFUSED_SETTINGS)
def test_a_specification_takes_no_setting_that_can_hold_a_secret(given: dict[str, Any], text: str) -> None:
    with pytest.raises(sw.InvalidInputError, match=text) as raised:
        fleet.StackSpec("shop/a", "module:program", store="memory://", **given)
    assert "hunter2" not in str(raised.value)


def test_the_settings_that_can_hold_secrets_are_settings_of_stacks() -> None:
    assert set(SECRET_SETTINGS) < set(sw.StackSettings.__annotations__)
    plain = fleet.StackSpec(
        "shop/a", store="memory://", settings={"organization": "acme"}, config={"a": {"value": 1, "secret": False}, "b": {"secure": "v1:x"}}
    )
    assert plain.settings == {"organization": "acme"}


@on_loop
async def test_stacks_of_one_worker_have_passphrases_of_their_own(store: str) -> None:
    names = ("shop/a", "shop/b")
    specs = [fleet.StackSpec(name, "fleet_support:secretive", store=store, setup="fleet_support:own_passphrase") for name in names]
    former = set(_engines._engines.kept)
    with concurrent.futures.ThreadPoolExecutor(1) as worker:
        report = await fleet.up_all(worker, specs)
        assert len(set(_engines._engines.kept) - former) == 1, "both share an engine"
        assert {own.worker for own in report.stacks.values()} == {_worker.worker_name()}
        assert (await fleet.up_all(worker, specs)).changes == {"same": 2}
    for name in names:
        async with sw.Engine(store=store, passphrase=f"phrase of {name}") as engine:
            outputs = await (await engine.select_stack(name)).outputs(show_secrets=True)
            assert SECRET in repr(outputs["token"].value)
    async with sw.Engine(store=store, passphrase="phrase of shop/a") as engine:
        with pytest.raises(sw.DecryptError):
            await (await engine.select_stack("shop/b")).outputs(show_secrets=True)


@on_loop
async def test_stacks_share_an_engine_only_where_their_setups_describe_the_same_one(tmp_path: Path) -> None:
    lock = threading.Lock()

    def given(folder: str = "x", of: object = None, **other: Any) -> dict[str, Any]:
        files = Files(folder, 0)
        files.of = of  # type: ignore[attr-defined]
        return {"store": f"file://{tmp_path}/s", "secrets": Vault(), "providers": {"shop": files}, **other}

    def engines(*setups: dict[str, Any]) -> Any:
        return [shared_engine(setup, 0) for setup in setups]

    cell = "north"

    def resolver(of: str) -> Callable[[object], None]:
        return lambda _request: print(of, cell)

    same = [
        (given(), given()),
        (given(of=[{"a": (1, Path("b"))}]), given(of=[{"a": (1, Path("b"))}])),
        (given(of=lock), given(of=lock)),
        (given(plugins=sw.Plugins(directories=["a"])), given(plugins=sw.Plugins(directories=["a"]))),
        (given(of=resolver("a")), given(of=resolver("a"))),
    ]
    other = [
        (given(), given("y")),
        (given(passphrase="one"), given(passphrase="other")),
        (given(of=[1]), given(of=[True])),
        (given(plugins=sw.Plugins(directories=["a"])), given(plugins=sw.Plugins(directories=["b"]))),
        (given(of=threading.Lock()), given(of=threading.Lock())),
        (given(of=resolver("a")), given(of=resolver("b"))),
    ]
    for pairs, is_same in ((same, True), (other, False)):
        for left, right in pairs:
            first, second = engines(left, right)
            async with first as one, second as two:
                assert (one is two) == is_same, (left, right)
    # Those that no stack uses are closed, but for the last ones.
    opened = []
    for number in range(20):
        async with shared_engine(given(str(number)), 0) as engine:
            opened.append(engine)
    assert [engine._closed for engine in opened] == [True] * 12 + [False] * 8


@on_loop
async def test_a_limit_of_calls_holds_for_all_engines_of_a_worker_process(
    threads: concurrent.futures.Executor, folder: Path, store: str, tmp_path: Path
) -> None:
    config = {"delay": 0.1}
    specs = [spec(f"a{number}", folder, store, config=config) for number in range(3)]
    for number in range(3):
        given = {"folder": str(folder), "reads": [], "store": f"file://{tmp_path}/other", **config}
        specs.append(fleet.StackSpec(f"shop/b{number}", "fleet_support:program", setup="fleet_support:setup_elsewhere", config=given))
    for limit in (1, 2):
        Files.most = 0
        report = await fleet.up_all(threads, specs, max_calls_per_plugin=limit)
        assert report.changes["create"] == 2 * len(specs) and Files.most == limit
        await fleet.destroy_all(threads, specs)


class Mute:
    """Never answers calls of a function."""

    def __init__(self, inner: concurrent.futures.Executor, *functions: str) -> None:
        self.inner = inner
        self.functions = functions
        self.calls: list[concurrent.futures.Future[Any]] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> concurrent.futures.Future[Any]:
        if function.__name__ not in self.functions:
            return self.inner.submit(function, *arguments)
        self.calls.append(concurrent.futures.Future())
        return self.calls[-1]


@on_loop
async def test_a_set_is_cancelled_while_its_references_are_read(threads: concurrent.futures.Executor, folder: Path, store: str) -> None:
    executor = Mute(threads, "read_references")
    for run in (fleet.up_all, fleet.destroy_all):
        executor.calls.clear()
        operation = run(executor, [spec("a", folder, store), spec("b", folder, store, depends_on=["shop/a"])])
        await until(lambda: executor.calls, "the reading")
        operation.cancel()
        report = await ended(operation)
        assert report.outcome == "canceled" and report.skipped == ("shop/a", "shop/b") and not report.warnings
        assert executor.calls[0].cancelled() and made(folder) == {}


@on_loop
async def test_a_mark_is_left_although_the_stacks_take_every_place_of_the_executor(folder: Path, store: str) -> None:
    (folder / "hold-a").touch()
    with concurrent.futures.ThreadPoolExecutor(1) as only:
        operation = fleet.up_all(only, [spec("a", folder, store)])
        await until((folder / "held-a").exists, "the Create")
        operation.cancel()
        await until((folder / "cancelled").exists, "the cancellation")
        (folder / "hold-a").unlink()
        report = await ended(operation)
    assert report.stacks["shop/a"].outcome == "canceled" and not report.warnings


@on_loop
async def test_a_mark_that_cannot_be_left_is_reported(
    threads: concurrent.futures.Executor, folder: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_arguments: object) -> None:
        raise PermissionError(f"no access with {SECRET}")

    monkeypatch.setattr(_executor, "mark", refused)
    monkeypatch.setattr(_executor, "_MARK_SECONDS", 0.2)
    (folder / "hold-a").touch()
    executor = Mute(threads, "cancel_run")
    operation = fleet.up_all(executor, [spec("a", folder, store)])
    await until((folder / "held-a").exists, "the Create")
    operation.cancel()
    await until(lambda: executor.calls and executor.calls[0].done(), "the end of the wait for the executor")
    (folder / "hold-a").unlink()
    report = await ended(operation)
    # It was not reached, and has done its work.
    assert report.stacks["shop/a"].outcome == "succeeded" and report.outcome == "succeeded"
    assert "could not be left" in report.warnings[0] and "builtins.PermissionError" in report.warnings[0]
    assert SECRET not in repr(report.warnings)


@on_loop
async def test_the_report_of_a_set_whose_listener_raises_is_not_lost(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    def listener(_event: fleet.FleetEvent) -> None:
        raise LookupError("mine")

    operation = fleet.up_all(threads, [spec("a", folder, store)], on_event=listener)
    for wait in (operation.wait, operation._succeed):
        with pytest.raises(LookupError, match="mine") as raised:
            await wait()
        report = raised.value.fleet_result  # type: ignore[attr-defined]
        assert report.outcome == "succeeded" and report.stacks["shop/a"].changes == {"create": 2}
        assert report.warnings == ("shop/a: on_event raised builtins.LookupError, and got no further event",)


def raising_sink(_event: fleet.FleetEvent) -> None:
    raise LookupError(f"no listener for {SECRET}")


@on_loop
async def test_a_stack_whose_event_sink_raises_has_succeeded_and_is_not_run_again(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    specs = [spec("a", folder, store), spec("b", folder, store, depends_on=["shop/a"])]
    with pytest.raises(sw.FailedError, match="the event sink has failed, and the stacks have not: shop/a, shop/b") as raised:
        await fleet.up_all(threads, specs, event_sink=raising_sink)
    report = raised.value.fleet_result
    assert isinstance(report, fleet.FleetReport) and report.outcome == "succeeded" and report.changes["create"] == 4
    own = report.stacks["shop/a"]
    assert own.outcome == "succeeded" and own.error is None
    assert own.diagnostics[-1].severity == "warning" and "the event sink raised builtins.LookupError at test_fleet_losses:" in own.diagnostics[-1].message
    assert SECRET not in repr(report.stacks) and SECRET not in str(report)
    again = await fleet.up_all(threads, specs, resume=report)
    assert again.stacks == report.stacks and made(folder) == {"a": 1, "b": 1}


class Places:
    """Counts the calls that have not ended, and never answers the first one of a stack."""

    def __init__(self, inner: concurrent.futures.Executor, mute: str) -> None:
        self.inner = inner
        self.mute = mute
        self.live: list[concurrent.futures.Future[Any]] = []
        self.begun: set[str] = set()
        self.most = 0
        """How many calls there were, at most, when a further stack began."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> concurrent.futures.Future[Any]:
        if function.__name__ != "run_stack":
            return self.inner.submit(function, *arguments)
        stack = arguments[0].spec.stack
        is_first = stack not in self.begun
        self.begun.add(stack)
        self.live = [future for future in self.live if not future.done()]
        if is_first:
            self.most = max(self.most, len(self.live) + 1)
        is_mute = is_first and stack == self.mute
        future: concurrent.futures.Future[Any] = concurrent.futures.Future() if is_mute else self.inner.submit(function, *arguments)
        self.live.append(future)
        return future

    def count(self) -> int:
        return sum(not future.done() for future in self.live)


@on_loop
async def test_no_further_stack_begins_while_repetitions_take_the_places(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    (folder / "hold-a").touch()
    executor = Places(threads, "shop/a")
    config = {"delay": 0.2}
    specs = [spec(name, folder, store, config=config) for name in "abcdefgh"]
    operation = fleet.up_all(executor, specs, max_stacks=2, resubmit_after=0.4)
    await until((folder / "held-a").exists, "the repetition")
    await until(lambda: executor.count() == 2, "the end of the stack beside it")
    begun = len(executor.begun)
    (folder / "hold-a").unlink()
    report = await ended(operation)
    assert report.outcome == "succeeded" and made(folder) == {name: 1 for name in "abcdefgh"}
    assert begun < len(specs) and executor.most == 2


def test_the_names_of_unfinished_stacks_take_few_bytes() -> None:
    names = [f"shop/customer-{number}" for number in range(10_000)]
    assert len(_worker.packed(names)) < len("\n".join(names)) / 4


class Ending:
    """Ends the first calls of stacks with an exception that is none of a call, or with another answer."""

    def __init__(self, inner: concurrent.futures.Executor, how: BaseException | None, count: int) -> None:
        self.inner = inner
        self.how = how
        self.left = count

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> concurrent.futures.Future[Any]:
        if function.__name__ != "run_stack" or self.left == 0:
            return self.inner.submit(function, *arguments)
        self.left -= 1
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        if self.how is None:
            future.set_result(None)
        else:
            future.set_exception(self.how)
        return future


@on_loop
async def test_a_call_that_ends_with_an_exit_an_interrupt_or_another_answer_is_a_loss(
    threads: concurrent.futures.Executor, folder: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_executor, "_RESUBMISSION_PAUSE", 0.01)
    for number, how in enumerate((SystemExit(2), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit(), None)):
        stack = spec(f"s{number}", folder, store)
        report = await ended(fleet.up_all(Ending(threads, how, 1), [stack]))
        assert report.outcome == "succeeded" and report.stacks[stack.stack].attempts == 2
        lost = await ended(fleet.up_all(Ending(threads, how, 4), [spec(f"t{number}", folder, store)]))
        assert lost.unknown == (f"shop/t{number}",)


@on_loop
async def test_a_stack_none_of_whose_calls_answers_is_unknown_unless_it_is_held(
    threads: concurrent.futures.Executor, folder: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = Mute(threads, "run_stack")
    report = await ended(fleet.up_all(silent, [spec("a", folder, store)], resubmit_after=0.05))
    assert report.unknown == ("shop/a",) and len(silent.calls) == 4
    assert "none of them has answered" in str(report.stacks["shop/a"].error)
    # An operation that holds the stack may be one of the calls: it is waited for.
    doubts = 0

    async def holds(_spec: object) -> bool:
        nonlocal doubts
        doubts += 1
        return doubts < 3

    monkeypatch.setattr(_executor, "holds", holds)
    report = await ended(fleet.up_all(silent, [spec("a", folder, store)], resubmit_after=0.05))
    assert report.unknown == ("shop/a",) and doubts == 3


def test_an_interrupt_of_the_workers_loses_no_stack(folder: Path, store: str) -> None:
    (folder / "hold-a").touch()
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        operation = sync.start_up_all(pool, [spec("a", folder, store)])
        deadline = time.monotonic() + TIMEOUT_SECONDS
        held = folder / "held-a"
        while not (held.exists() and held.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for _ in range(2):
            os.kill(int(held.read_text()), signal.SIGINT)
        (folder / "hold-a").unlink()
        report = operation.wait()
    assert report.outcome == "succeeded" and report.stacks["shop/a"].attempts == 1


def leaving(event: fleet.FleetEvent) -> None:
    raise SystemExit(3)


@on_loop
async def test_a_listener_that_exits_ends_neither_the_worker_nor_the_set(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    for number, listener in enumerate(("event_sink", "on_event")):
        operation = fleet.up_all(threads, [spec(f"s{number}", folder, store)], **{listener: leaving})  # type: ignore[arg-type]
        with pytest.raises(sw.FailedError) as raised:
            await ended(operation)
        report = raised.value.fleet_result
        assert isinstance(report, fleet.FleetReport)
        assert report.stacks[f"shop/s{number}"].outcome == "succeeded" and "SystemExit" in str(report.warnings)


@on_loop
async def test_after_a_second_cancel_a_stack_is_unknown_and_a_call_with_resume_finishes_it(
    threads: concurrent.futures.Executor, folder: Path, store: str, tmp_path: Path
) -> None:
    (folder / "hold-a").touch()
    operation = fleet.up_all(threads, [spec("a", folder, store)])
    await until((folder / "held-a").exists, "the Create")
    operation.cancel()
    operation.cancel()
    report = await ended(operation)
    assert report.unknown == ("shop/a",) and marks(tmp_path)
    (folder / "hold-a").unlink()
    # The former run may hold the stack until its call is abandoned: it is waited for, and the stack has not failed for that.
    again = await ended(fleet.up_all(threads, [spec("a", folder, store)], resume=report))
    assert again.outcome == "succeeded" and again.stacks["shop/a"].run_id != report.stacks["shop/a"].run_id


@on_loop
async def test_what_a_run_did_before_it_read_an_unfinished_stack_is_reported(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    reader = spec("b", folder, store, program="fleet_support:making_first")
    (folder / "hold-a").touch()
    (folder / "fail-a").touch()
    operation = fleet.up_all(threads, [reader, spec("a", folder, store)], max_stacks=1)
    await until(lambda: made(folder)["b"], "what the reader makes first")
    await until((folder / "held-a").exists, "the stack that is read")
    (folder / "hold-a").unlink()
    report = await ended(operation)
    own = report.stacks["shop/b"]
    # It has begun, and left resources: it is none of the stacks that did not begin.
    assert own.outcome == "failed" and own.attempts == 1 and own.changes["create"] == made(folder)["b"] + 1
    (folder / "fail-a").unlink()
    (folder / "things").rename(folder / "former")
    (folder / "things").mkdir()
    again = spec("c", folder, store, program="fleet_support:making_first")
    fresh = await ended(fleet.up_all(threads, [again, spec("a", folder, store)], max_stacks=1))
    own = fresh.stacks["shop/c"]
    assert fresh.outcome == "succeeded" and own.attempts == 2
    assert own.changes == {"create": 3} and [step.op for step in own.steps].count("create") == 3


class Repeating:
    """Begins a call again in a thread when its process dies, without a notice, as clusters do."""

    def __init__(self, pool: concurrent.futures.Executor, threads: concurrent.futures.Executor) -> None:
        self.pool = pool
        self.threads = threads

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> concurrent.futures.Future[Any]:
        if function.__name__ != "run_stack":
            return self.threads.submit(function, *arguments)
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()

        def run() -> None:
            try:
                future.set_result(self.pool.submit(function, *arguments).result())
            except concurrent.futures.BrokenExecutor:
                future.set_result(function(*arguments))

        self.threads.submit(run)
        return future


@on_loop
async def test_a_cancelled_stack_whose_worker_died_names_what_that_has_left(
    threads: concurrent.futures.Executor, folder: Path, store: str, tmp_path: Path
) -> None:
    (folder / "hold-a").touch()
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        operation = fleet.up_all(Repeating(pool, threads), [spec("a", folder, store)])
        held = folder / "held-a"
        process = await until(lambda: held.exists() and held.read_text(), "the Create")
        operation.cancel()
        await until(lambda: marks(tmp_path), "the mark")
        os.kill(int(process), signal.SIGKILL)
        report = await ended(operation)
    (folder / "hold-a").unlink()
    own = report.stacks["shop/a"]
    assert own.outcome == "canceled" and own.changes == {}
    assert any("left pending operations" in found.message and "shop:index:Thing::thing" in found.message for found in own.diagnostics)
