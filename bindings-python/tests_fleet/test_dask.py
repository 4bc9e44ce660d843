"""Two hundred stacks on three workers of Dask: one is killed, one is stopped beyond its lease, the connection to the scheduler is cut."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from distributed import Client
from stackwright import FailedError, fleet, sync
from stackwright.fleet._worker import cancel_run

from clusters import Dask, bucket, dask_cluster, is_stopped, postgres, until
from fleet_support import LOOSE, SECRET, check_known, made, prepare, spec

__all__ = ["bucket", "dask_cluster", "postgres"]
"""The fixtures."""

STACKS = 200
LEASE_SECONDS = 6
"""Shorter than the time after which Dask gives up a worker that is stopped."""
RESUBMIT_SECONDS = 20
"""When a call is submitted once more: what the client of Dask sends while it reconnects is lost without a notice."""
KILLED, STOPPED = "s5", "s20"


def specifications(folder: Path, store: str) -> list[fleet.StackSpec]:
    """A tree: each stack reads the one above it. Of each tenth nothing states that."""
    config = {"delay": 0.05, "lease": LEASE_SECONDS}
    specs = [spec("s0", folder, store, config=config)]
    for number in range(1, STACKS):
        above = f"s{(number - 1) // 4}"
        depends_on = [] if number % 10 == 9 else [f"shop/{above}"]
        specs.append(spec(f"s{number}", folder, store, [above], depends_on=depends_on, config=config))
    return specs


def held(folder: Path, name: str) -> int:
    """Waits until a worker holds the Create of a stack, and returns its number."""
    path = folder / f"held-{name}"
    pid = int(until(lambda: path.exists() and path.read_text(), f"the Create of {name}"))
    path.unlink()
    return pid


def finish(client: Client, specs: Sequence[fleet.StackSpec], operation: sync.ExecutorOperation) -> fleet.FleetReport:
    """Waits for the end. What the executor has lost too often is finished by another call, as the report states."""
    report = operation.wait()
    for _ in range(3):
        if not report.unknown:
            break
        executor = client.get_executor(pure=False)
        report = sync.start_up_all(executor, specs, max_stacks=12, resume=report, resubmit_after=RESUBMIT_SECONDS).wait()
    return report


@pytest.mark.timeout(400)
@pytest.mark.parametrize("kind", ["postgres", "bucket"])
def test_every_stack_ends_as_it_should_although_workers_are_lost(
    kind: str, request: pytest.FixtureRequest, dask_cluster: Dask, tmp_path: Path
) -> None:
    store = str(request.getfixturevalue(kind)).format("fleet")
    folder = prepare(tmp_path / "work")
    specs = specifications(folder, store)
    for name in (KILLED, STOPPED):
        (folder / f"hold-{name}").touch()
    with Client(dask_cluster.address) as client:
        client.wait_for_workers(3, timeout=60)
        operation = sync.start_up_all(client.get_executor(pure=False), specs, max_stacks=12, resubmit_after=RESUBMIT_SECONDS)

        killed = held(folder, KILLED)
        os.kill(killed, signal.SIGKILL)
        assert dask_cluster.worker(killed).wait(60) == -signal.SIGKILL, "a process of the cluster has died"
        (folder / f"hold-{KILLED}").unlink()
        # Another worker makes it again.
        until(lambda: made(folder)[KILLED] == 2, "the second Create of the killed stack")

        stopped = held(folder, STOPPED)
        assert stopped != killed
        os.kill(stopped, signal.SIGSTOP)
        try:
            until(lambda: is_stopped(stopped), "the stop of the worker")
            (folder / f"hold-{STOPPED}").unlink()
            assert dask_cluster.proxy is not None and dask_cluster.proxy.cut() >= 1
            until(lambda: made(folder)[STOPPED] == 2, "the second Create of the stopped stack")
            assert is_stopped(stopped), "another worker has made it again"
        finally:
            os.kill(stopped, signal.SIGCONT)
        report = finish(client, specs, operation)
    assert report.outcome == "succeeded", str(report.error)
    assert {own.outcome for own in report.stacks.values()} == {"succeeded"} and len(report.stacks) == STACKS
    # The tree has four levels below its root.
    assert report.stacks[f"shop/s{STACKS - 1}"].outputs["depth"].value == 5
    # The process that died has reported nothing of the stack. The one that was stopped went on: the scheduler has given it up, or not.
    assert report.stacks[f"shop/{KILLED}"].worker.rpartition(":")[2] not in ("", str(killed))
    assert dask_cluster.worker(stopped).poll() in (None, 0)
    assert len({own.worker for own in report.stacks.values()}) >= 2
    pending = asyncio.run(check_known(specs, folder))
    assert pending >= 2, "two Creates were cut"
    logs = dask_cluster.logs()
    assert b"worker" in logs and SECRET.encode() not in logs


@pytest.mark.timeout(200)
def test_no_log_of_a_scheduler_or_a_worker_has_a_secret(dask_cluster: Dask, tmp_path: Path) -> None:
    folder = prepare(tmp_path / "work")
    store = f"file://{tmp_path}/state"
    specs = [
        spec("raising", folder, store, program="fleet_support:raising"),
        spec("missing", folder, store, program="fleet_support:nothing"),
        spec("failing", folder, store),
        spec("import", folder, store, program="fleet_loose:program"),
        *(spec(f"s{number}", folder, store) for number in range(6)),
    ]
    loose = [
        fleet.StackSpec(f"shop/{kind}", "fleet_support:secretive", store=store, setup="fleet_support:loose", config={"raises": kind})
        for kind in LOOSE
    ]
    (folder / "fail-failing").touch()
    with Client(dask_cluster.address) as client:
        executor = client.get_executor(pure=False)
        # The function of setup raises in all ways, for reads, runs and marks.
        setups = sync.start_up_all(executor, loose).wait()
        assert {own.outcome for own in setups.stacks.values()} == {"failed"}
        for of in loose:
            with pytest.raises(FailedError):
                executor.submit(cancel_run, of, "set", 1).result(60)
        report = sync.start_up_all(executor, specs).wait()
        assert sorted(name for name, own in report.stacks.items() if own.outcome == "failed") == [
            "shop/failing",
            "shop/import",
            "shop/missing",
            "shop/raising",
        ]
        sync.start_destroy_all(executor, specs).wait()
        # What Dask keeps of events and of failed calls.
        kept = repr(client.get_events()) + repr(client.get_worker_logs()) + repr(client.get_scheduler_logs())
    assert SECRET not in kept
    for each in (setups, report):
        assert SECRET not in repr(each.stacks) and SECRET not in str(each) and SECRET.encode() not in pickle.dumps(each)
    logs = dask_cluster.logs()
    assert len(logs) > 1000 and SECRET.encode() not in logs
    # The search finds what is there.
    (dask_cluster.folder / "probe.log").write_text(f"… {SECRET} …")
    assert SECRET.encode() in dask_cluster.logs()


@pytest.mark.timeout(200)
def test_a_cancelled_set_ends_on_all_workers(dask_cluster: Dask, postgres: str, tmp_path: Path) -> None:
    folder = prepare(tmp_path / "work")
    store = postgres.format("cancelled")
    config = {"lease": 3}
    specs = [spec(name, folder, store, config=config) for name in ("a", "b")]
    specs.append(spec("c", folder, store, depends_on=["shop/a"], config=config))
    for name in ("a", "b"):
        (folder / f"hold-{name}").touch()
    with Client(dask_cluster.address) as client:
        client.wait_for_workers(3, timeout=60)
        operation = sync.start_up_all(client.get_executor(pure=False), specs)
        for name in ("a", "b"):
            held(folder, name)
        operation.cancel()
        until(lambda: (folder / "cancelled").exists(), "the cancellation")
        for name in ("a", "b"):
            (folder / f"hold-{name}").unlink()
        report = operation.wait()
    assert report.outcome == "canceled" and report.skipped == ("shop/c",)
    assert {report.stacks[f"shop/{name}"].outcome for name in ("a", "b")} <= {"canceled", "succeeded"}
    assert "canceled" in {own.outcome for own in report.stacks.values()}
    # What had begun is recorded.
    assert asyncio.run(check_known(specs[:2], folder)) == 0
