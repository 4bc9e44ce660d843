"""Sets of stacks on executors: threads and processes; what is lost, run again, cancelled and resumed."""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw
from stackwright import fleet, sync

from conftest import on_loop
from fleet_support import SECRET, check_known, made, prepare, spec

TIMEOUT_SECONDS = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return prepare(tmp_path / "work")


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"file://{tmp_path}/state"


@pytest.fixture
def threads() -> Iterator[concurrent.futures.Executor]:
    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        yield executor


def processes(count: int) -> concurrent.futures.ProcessPoolExecutor:
    return concurrent.futures.ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


async def until(path: Path) -> str:
    """Waits for a file, and returns its text once that is there."""
    for _ in range(TIMEOUT_SECONDS * 50):
        if path.exists() and (text := path.read_text()):
            return text
        await asyncio.sleep(0.02)
    raise TimeoutError(f"there is no {path}")


class Losing:
    """Runs calls in threads, and loses the results of the first ones of each function's calls: they run, and are cancelled."""

    def __init__(self, inner: concurrent.futures.Executor, losses: int) -> None:
        self.inner = inner
        self.losses = losses
        self.calls = 0

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> concurrent.futures.Future[Any]:
        future = self.inner.submit(function, *arguments)
        if function.__name__ != "run_stack":
            return future
        self.calls += 1
        if self.calls > self.losses:
            return future
        lost: concurrent.futures.Future[Any] = concurrent.futures.Future()

        def lose(_future: object) -> None:
            lost.cancel()
            lost.set_running_or_notify_cancel()

        future.add_done_callback(lose)
        return lost


@on_loop
async def test_stacks_run_in_their_order_and_come_back_without_secrets(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    specs = [
        spec("c", folder, store, ["b"], depends_on=["shop/b"]),
        spec("b", folder, store, ["a"], depends_on=["shop/a"]),
        spec("a", folder, store),
    ]
    events: list[fleet.FleetEvent] = []
    report = await fleet.up_all(threads, specs, on_event=events.append)
    assert report.outcome == "succeeded" and list(report.stacks) == ["shop/c", "shop/b", "shop/a"]
    assert report.changes["create"] == 6
    assert report.stacks["shop/c"].outputs["depth"].value == 3
    token = report.stacks["shop/c"].outputs["token"]
    assert token.secret and token.value is None
    assert {event.stack for event in events} == {"shop/a", "shop/b", "shop/c"}
    assert all(own.attempts == 1 and own.run_id.startswith(report.run_id) for own in report.stacks.values())
    pickled = pickle.dumps(report)
    assert SECRET.encode() not in pickled
    again = pickle.loads(pickled)
    assert str(again) == str(report) and "shop/a: succeeded" in str(report)
    assert SECRET not in repr([events, report.stacks])

    assert set((await fleet.refresh_all(threads, specs)).changes) == {"same"}
    assert set((await fleet.preview_all(threads, specs)).changes) == {"same"}
    # The recorded references suffice for the reverse order.
    bare = [fleet.StackSpec(f"shop/{name}", store=store, setup="fleet_support:setup", config={"folder": str(folder)}) for name in "abc"]
    assert (await fleet.destroy_all(threads, bare)).changes["delete"] == 6
    assert (folder / "deleted").read_text().split() == ["c", "b", "a"]
    assert not made(folder)


@on_loop
async def test_a_program_that_reads_an_unfinished_stack_runs_again_after_it(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    # Nothing states the order: it shows when the programs read.
    specs = [spec("c", folder, store, ["b"]), spec("b", folder, store, ["a"]), spec("a", folder, store)]
    report = await fleet.up_all(threads, specs)
    assert report.stacks["shop/c"].outputs["depth"].value == 3
    assert report.stacks["shop/a"].attempts == 1 and report.stacks["shop/b"].attempts == 2
    assert report.stacks["shop/c"].attempts in (2, 3)
    # The state has the references now.
    report = await fleet.up_all(threads, specs)
    assert [own.attempts for own in report.stacks.values()] == [1, 1, 1]
    assert await check_known(specs, folder) == 0


@on_loop
async def test_programs_that_read_each_other_are_an_error_that_names_them(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    specs = [spec("a", folder, store, ["b"]), spec("b", folder, store, ["a"])]
    report = await fleet.up_all(threads, specs).wait()
    assert report.outcome == "failed"
    texts = [str(own.error) for own in report.stacks.values()]
    assert any("need each other: 'shop/" in text for text in texts), texts
    stated = [spec("a", folder, store, depends_on=["shop/b"]), spec("b", folder, store, depends_on=["shop/a"])]
    with pytest.raises(sw.InvalidInputError, match="'shop/a' depends on 'shop/b', 'shop/b' depends on 'shop/a'"):
        await fleet.up_all(threads, stated)


@on_loop
async def test_a_failure_skips_what_needs_the_stack_and_has_no_secret(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    specs = [
        spec("broken", folder, store, program="fleet_support:raising"),
        spec("after", folder, store, depends_on=["shop/broken"]),
        spec("other", folder, store),
        spec("nowhere", folder, store, program="fleet_support:missing"),
    ]
    with pytest.raises(sw.FailedError, match="2 of 4 stacks failed, 1 did not begin; shop/broken: ") as raised:
        await fleet.up_all(threads, specs)
    report = raised.value.fleet_result
    assert isinstance(report, fleet.FleetReport)
    assert report.skipped == ("shop/after",) and report.stacks["shop/other"].outcome == "succeeded"
    assert isinstance(report.stacks["shop/broken"].error, sw.ProgramError)
    assert "cannot import fleet_support:missing" in str(report.stacks["shop/nowhere"].error)
    assert SECRET.encode() not in pickle.dumps(report) and SECRET not in str(report)
    (folder / "fail-other").touch()
    # What has succeeded is not run again.
    again = await fleet.up_all(threads, [*specs[2:3], spec("after", folder, store)], resume=report)
    assert again.outcome == "succeeded" and again.stacks["shop/other"] == report.stacks["shop/other"]


@on_loop
async def test_a_lost_call_is_submitted_again_and_its_run_is_not_repeated(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    executor = Losing(threads, 1)
    report = await fleet.up_all(executor, [spec("a", folder, store)])
    own = report.stacks["shop/a"]
    assert own.is_recorded and own.attempts == 2 and own.steps == ()
    assert own.changes == {"create": 2} and own.outputs["depth"].value == 1
    assert made(folder) == {"a": 1}


@on_loop
async def test_a_call_that_is_lost_too_often_is_unknown_and_is_finished_by_another_one(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    executor = Losing(threads, 4)
    specs = [spec("a", folder, store), spec("b", folder, store, depends_on=["shop/a"])]
    report = await fleet.up_all(executor, specs).wait()
    assert executor.calls == 4
    assert report.unknown == ("shop/a",) and report.skipped == ("shop/b",)
    assert "the end of 1 is unknown, 1 did not begin; shop/a: the executor has lost 4 calls" in str(report.error)
    assert made(folder) == {"a": 1}
    again = await fleet.up_all(executor, specs, resume=pickle.loads(pickle.dumps(report)))
    assert again.outcome == "succeeded"
    assert again.stacks["shop/a"].is_recorded and again.stacks["shop/a"].run_id == report.stacks["shop/a"].run_id
    assert not again.stacks["shop/b"].is_recorded and made(folder) == {"a": 1, "b": 1}


class Silent:
    """Never answers the first calls, although the first of them run."""

    def __init__(self, inner: concurrent.futures.Executor, running: int, lost: int) -> None:
        self.inner = inner
        self.running = running
        self.lost = lost
        self.calls = 0

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> concurrent.futures.Future[Any]:
        if function.__name__ == "run_stack":
            self.calls += 1
            if self.calls <= self.lost:
                if self.calls <= self.running:
                    self.inner.submit(function, *arguments)
                return concurrent.futures.Future()
        return self.inner.submit(function, *arguments)


@on_loop
async def test_a_call_that_never_answers_is_submitted_once_more(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    executor = Silent(threads, 1, 2)
    report = await fleet.up_all(executor, [spec("a", folder, store)], resubmit_after=0.3)
    own = report.stacks["shop/a"]
    assert own.is_recorded and own.attempts == executor.calls == 3 and made(folder) == {"a": 1}


class Keeping:
    """Keeps the first call of a stack until its place is free, which is after the set."""

    def __init__(self, inner: concurrent.futures.Executor) -> None:
        self.inner = inner
        self.kept: concurrent.futures.Future[Any] | None = None

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> concurrent.futures.Future[Any]:
        if function.__name__ == "run_stack" and self.kept is None:
            self.kept = concurrent.futures.Future()
            return self.kept
        return self.inner.submit(function, *arguments)


@on_loop
async def test_a_call_that_has_not_begun_when_another_one_of_its_run_ends_is_cancelled(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    executor = Keeping(threads)
    report = await fleet.up_all(executor, [spec("a", folder, store)], resubmit_after=0.3)
    assert report.stacks["shop/a"].outcome == "succeeded" and made(folder) == {"a": 1}
    assert executor.kept is not None and executor.kept.cancelled()


@on_loop
async def test_a_set_that_is_cancelled_before_its_order_is_known_begins_no_stack(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    operation = fleet.up_all(threads, [spec("a", folder, store)])
    operation.cancel()
    report = await operation.wait()
    assert report.outcome == "canceled" and made(folder) == {}


@on_loop
async def test_a_report_finishes_only_its_own_operation(
    threads: concurrent.futures.Executor, folder: Path, store: str
) -> None:
    specs = [spec("a", folder, store)]
    previewed = await fleet.preview_all(threads, specs)
    with pytest.raises(sw.InvalidInputError, match="resume is the report of preview_all, which up_all cannot finish"):
        fleet.up_all(threads, specs, resume=previewed)
    assert made(folder) == {}


@on_loop
async def test_a_run_that_still_runs_is_waited_for(threads: concurrent.futures.Executor, folder: Path, store: str) -> None:
    async with engine_of(folder, store) as engine:
        stack = await opened(engine, folder)
        (folder / "hold-a").touch()
        first = stack.up(run_id="set/1")
        await until(folder / "held-a")
        # Any other run finds the stack locked.
        with pytest.raises(sw.ConflictError):
            await stack.up(run_id="set/2")
        second = (await opened(engine, folder)).up(run_id="set/1")
        await waiting(second)
        (folder / "hold-a").unlink()
        done, recorded = await asyncio.gather(first, second)
        assert not done.is_recorded and recorded.is_recorded
        assert recorded.changes == done.changes == {"create": 2}
        assert recorded.outputs == done.outputs and not recorded.steps
        (newest,) = await stack.history()
        assert newest["environment"]["stackwright.runId"] == "set/1"
        # A call of it that begins after a later run repeats nothing, either.
        assert not (await stack.up(run_id="set/3")).is_recorded
        assert (await stack.up(run_id="set/1")).is_recorded
        with pytest.raises(sw.InvalidInputError, match="the run 'set/1' was another operation"):
            await stack.destroy(run_id="set/1")
        assert made(folder) == {"a": 1}


@on_loop
async def test_a_recorded_failure_is_returned(threads: concurrent.futures.Executor, folder: Path, store: str) -> None:
    async with engine_of(folder, store) as engine:
        stack = await opened(engine, folder)
        (folder / "fail-a").touch()
        assert not (await stack.up(run_id="once").wait()).is_recorded
        (folder / "fail-a").unlink()
        again = await stack.up(run_id="once").wait()
        assert again.is_recorded and again.outcome == "failed"
        assert "the run 'once' has failed before" in str(again.error)
        assert (await stack.up(run_id="twice")).changes["create"] == 1


@on_loop
async def test_a_mark_in_the_store_cancels_the_runs_of_its_set_and_no_other(folder: Path, store: str) -> None:
    async with engine_of(folder, store) as engine, engine_of(folder, store) as other:
        stack = await opened(engine, folder)
        (folder / "hold-a").touch()
        operation = stack.up(run_id="set/1")
        await until(folder / "held-a")
        # Another engine, as on another host.
        with pytest.raises(sw.InvalidInputError, match="requests takes 1 or 2"):
            await other.cancel_run("set", requests=3)
        # A repeated call is no second request.
        for _ in range(2):
            await other.cancel_run("set", requests=1)
        await until(folder / "cancelled")
        (folder / "hold-a").unlink()
        result = await operation.wait()
        with pytest.raises(sw.CancelledError, match="its run was cancelled"):
            await stack.up(run_id="set/2")
        assert (await stack.up(run_id="set2/1")).outcome == "succeeded"
        assert result.outcome == "canceled" and made(folder) == {"a": 1}
        await other.forget_run("set")
        assert (await stack.up(run_id="set/2")).outcome == "succeeded"


@on_loop
async def test_a_cancelled_set_finishes_what_runs_and_leaves_no_mark(
    threads: concurrent.futures.Executor, folder: Path, store: str, tmp_path: Path
) -> None:
    (folder / "hold-a").touch()
    specs = [spec("a", folder, store), spec("b", folder, store, depends_on=["shop/a"])]
    operation = fleet.up_all(threads, specs)
    await until(folder / "held-a")
    operation.cancel()
    # The worker has read the mark, and notified the provider.
    await until(folder / "cancelled")
    (folder / "hold-a").unlink()
    report = await operation.wait()
    assert report.outcome == "canceled" and report.skipped == ("shop/b",)
    assert report.stacks["shop/a"].outcome == "canceled"
    assert not list((tmp_path / "state" / ".pulumi" / "runs").rglob("*.json"))
    assert await check_known(specs[:1], folder) == 0


def test_a_killed_worker_leaves_stacks_unknown_and_another_pool_finishes_them(folder: Path, store: str) -> None:
    (folder / "hold-b").touch()
    specs = [spec("a", folder, store), spec("b", folder, store), spec("c", folder, store, ["b"], depends_on=["shop/b"])]
    with processes(2) as pool:
        operation = sync.start_up_all(pool, specs)
        pid = int(asyncio.run(until(folder / "held-b")))
        os.kill(pid, signal.SIGKILL)
        report = operation.wait()
    assert "shop/b" in report.unknown and report.skipped == ("shop/c",)
    assert "BrokenProcessPool" in str(report.stacks["shop/b"].error)
    (folder / "hold-b").unlink()
    with processes(2) as pool:
        report = sync.up_all(pool, specs, resume=report)
    assert report.outcome == "succeeded"
    # The Create that was cut is known: it is pending.
    assert made(folder)["b"] == 2
    assert asyncio.run(check_known(specs, folder)) == 1


def test_events_reach_a_sink_in_the_worker(folder: Path, store: str) -> None:
    with processes(1) as pool:
        report = sync.up_all(pool, [spec("a", folder, store)], event_sink=Sink(folder / "events"))
    lines = (folder / "events").read_text().split()
    assert report.outcome == "succeeded" and set(lines) == {"shop/a"} and len(lines) > 3


class Sink:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, event: fleet.FleetEvent) -> None:
        assert SECRET not in repr(event)
        with self.path.open("a") as file:
            file.write(event.stack + "\n")


def test_a_limit_of_calls_holds_in_each_worker_process(threads: concurrent.futures.Executor, folder: Path, store: str) -> None:
    held = [spec(name, folder, store) for name in ("a", "b")]
    (folder / "hold-a").touch()
    (folder / "hold-b").touch()
    operation = sync.start_up_all(threads, held, max_calls_per_plugin=1)
    first = asyncio.run(_either(folder))
    assert not (folder / f"held-{'b' if first == 'a' else 'a'}").exists(), "both run in this process"
    (folder / "hold-a").unlink()
    (folder / "hold-b").unlink()
    assert operation.result().outcome == "succeeded"


async def _either(folder: Path) -> str:
    tasks = {name: asyncio.ensure_future(until(folder / f"held-{name}")) for name in "ab"}
    await asyncio.wait(tasks.values(), return_when=asyncio.FIRST_COMPLETED)
    # The other stack has come as far by now, unless it is held back.
    await asyncio.sleep(0.5)
    return next(name for name, task in tasks.items() if task.done())


REFUSED: Sequence[tuple[dict[str, Any], str]] = [
    ({"store": "postgres://ann:hunter2@db/state"}, "holds no credentials"),
    ({"store": "azblob://state?sas_token=hunter2"}, "holds no credentials"),
    ({"config": {"token": sw.Secret("hunter2")}}, "takes plain JSON values, and that of 'token' is of type Secret"),
    ({"program": lambda ctx: None}, "program takes an import path"),
    ({"program": "module"}, "program takes an import path"),
    ({"show_secrets": True}, "show_secrets is refused"),
    ({"run_id": "mine"}, "run_id is decided by the operation on the set"),
    ({"store": None}, "neither a store nor a setup"),
    ({"depends_on": [3]}, "names of stacks, not int"),
]


@pytest.mark.parametrize(("given", "text"), REFUSED)
def test_a_specification_takes_no_secret_and_nothing_that_a_worker_cannot_import(given: dict[str, Any], text: str) -> None:
    with pytest.raises(sw.InvalidInputError, match=text) as raised:
        fleet.StackSpec("shop/a", **{"program": "module:program", "store": "memory://", **given})
    assert "hunter2" not in str(raised.value)


def test_a_specification_shows_names_only_and_is_pickled() -> None:
    given = fleet.StackSpec(
        "shop/a", prepare, store="s3://state", setup="fleet_support:setup", config={"region": "north"}, parallel=3, depends_on=["shop/b"]
    )
    assert repr(given) == "<StackSpec of shop/a: program fleet_support:prepare; setup fleet_support:setup; config region>"
    again = pickle.loads(pickle.dumps(given))
    assert again.config == {"region": "north"} and again.options == {"parallel": 3} and again.depends_on == ("shop/b",)
    setup = fleet.WorkerSetup(engine={"passphrase": "hunter2"}, config={"token": sw.Secret("hunter2")})
    assert repr(setup) == "<WorkerSetup: engine ['passphrase'], config ['token'], settings []>"
    with pytest.raises(TypeError, match="does not leave its process"):
        pickle.dumps(setup)


@on_loop
async def test_wrong_arguments_are_named(threads: concurrent.futures.Executor, folder: Path, store: str) -> None:
    a = spec("a", folder, store)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: fleet.up_all(object(), [a]), "interface of concurrent.futures.Executor"),  # type: ignore[arg-type]
        (lambda: fleet.up_all(threads, ["shop/a"]), "a list of StackSpec"),  # type: ignore[list-item]
        (lambda: fleet.up_all(threads, [a], max_stacks=-1), "max_stacks takes a number"),
        (lambda: fleet.up_all(threads, [a], event_sink=lambda event: None), "event_sink cannot be pickled"),
    ]
    for call, text in wrong:
        with pytest.raises(sw.InvalidInputError, match=text):
            call()
    with pytest.raises(sw.InvalidInputError, match="contains the stack 'shop/a' twice"):
        await fleet.up_all(threads, [a, a])
    assert (await fleet.up_all(threads, [])).outcome == "succeeded"


def engine_of(folder: Path, store: str) -> sw.Engine:
    from fleet_support import setup

    return sw.Engine(store=store, **setup(spec("a", folder, store)).engine)


async def opened(engine: sw.Engine, folder: Path) -> sw.Stack:
    from fleet_support import program

    config = {"folder": str(folder), "reads": [], "token": sw.secret(SECRET)}
    return await engine.stack("shop/a", program, config=config)


async def waiting(operation: sw.Operation) -> None:
    """Waits until an operation waits for the lock of its stack."""
    async for event in operation:
        if isinstance(event, sw.DiagnosticEvent) and "waiting for the lock" in event.message:
            return
    raise AssertionError("it did not wait")
