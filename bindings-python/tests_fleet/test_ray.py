"""Stacks on Ray: one of its processes is killed in the middle of a Create."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from stackwright import fleet, sync
from stackwright.fleet._worker import StackTask, packed, run_stack

from clusters import TESTS, postgres, until
from fleet_support import SECRET, check_known, made, prepare, spec

__all__ = ["postgres"]
"""The fixtures."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Starts Ray, and returns the folder of its logs. The path of its sockets must be short."""
    folder = Path(f"/tmp/ray-{os.getpid()}")
    ray.init(
        num_cpus=3,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        _temp_dir=str(folder),
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": str(TESTS)}},
    )
    try:
        yield folder
    finally:
        ray.shutdown()


@pytest.mark.timeout(300)
def test_stacks_on_ray_end_as_they_should_when_a_worker_is_killed(logs: Path, postgres: str, tmp_path: Path) -> None:
    folder = prepare(tmp_path / "work")
    store = postgres.format("ray")
    specs = [spec("s0", folder, store)]
    for number in range(1, 30):
        above = f"s{(number - 1) // 3}"
        specs.append(spec(f"s{number}", folder, store, [above], depends_on=[f"shop/{above}"]))
    specs.append(spec("raising", folder, store, program="fleet_support:raising"))
    (folder / "hold-s4").touch()
    operation = sync.start_up_all(fleet.ray_executor(num_cpus=0.5), specs, max_stacks=6)
    path = folder / "held-s4"
    os.kill(int(until(lambda: path.exists() and path.read_text(), "the Create of s4")), signal.SIGKILL)
    (folder / "hold-s4").unlink()
    report = operation.wait()
    assert {name for name, own in report.stacks.items() if own.outcome != "succeeded"} == {"shop/raising"}, report
    assert report.stacks["shop/s4"].attempts == 2 and made(folder)["s4"] == 2
    assert asyncio.run(check_known(specs[:-1], folder)) == 1
    report = sync.start_destroy_all(fleet.ray_executor(num_cpus=0.5), specs[:-1], max_stacks=6).wait()
    assert report.outcome == "succeeded" and made(folder)["s4"] == 1
    written = b"".join(path.read_bytes() for path in (logs / "session_latest").rglob("*") if path.is_file() and path.stat().st_size < 1 << 26)
    assert len(written) > 1000 and SECRET.encode() not in written


@pytest.mark.timeout(200)
def test_a_task_that_is_cancelled_after_it_has_begun_goes_on_and_is_recorded(logs: Path, postgres: str, tmp_path: Path) -> None:
    folder = prepare(tmp_path / "work")
    one = spec("a", folder, postgres.format("ray_cancelled"))
    (folder / "hold-a").touch()
    future = fleet.ray_executor(num_cpus=0.5).submit(run_stack, StackTask(one, "up", "set/1", packed(()), 0, None, False))
    path = folder / "held-a"
    until(lambda: path.exists() and path.read_text(), "the Create")
    assert not future.cancel(), "it has begun"
    (folder / "hold-a").unlink()
    until(future.done, "the end of the task")
    # The same run again waits for the first one, and finds its record.
    again = fleet.ray_executor(num_cpus=0.5).submit(run_stack, StackTask(one, "up", "set/1", packed(()), 0, None, False))
    report = again.result(60).report
    assert report.outcome == "succeeded" and report.is_recorded and report.changes == {"create": 2}
    assert made(folder) == {"a": 1} and asyncio.run(check_known([one], folder)) == 0
