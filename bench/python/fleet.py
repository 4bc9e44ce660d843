"""``fleet.200``, ``fleet.cpu``: 200 stacks on worker processes, and the processor time of a stack: ``python fleet.py [PREFIX]``."""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing
import os
import sys
import tempfile
import time

import stackwright as sw
from stackwright import fleet, sync
from things import selection

STACKS = 200
RESOURCES = 5
CREATE_SECONDS = 0.05
MIN_SPEEDUP = 2.0


class Slow:
    """Takes some time in each Create."""

    async def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        await asyncio.sleep(CREATE_SECONDS)
        return sw.CreateResult(request.name, request.inputs)

    async def delete(self, request: sw.DeleteRequest) -> None:
        pass


def setup(spec: fleet.StackSpec) -> fleet.WorkerSetup:
    return fleet.WorkerSetup(engine={"providers": {"slow": Slow()}})


async def program(ctx: sw.Context) -> None:
    for number in range(RESOURCES):
        ctx.resource("slow:index:Thing", f"thing-{number}", {"number": number})
    ctx.export("stack", ctx.stack)


def specifications(store: str, count: int, name: str) -> list[fleet.StackSpec]:
    """Each stack depends on the one at a tenth of its number."""
    return [
        fleet.StackSpec(
            f"bench/{name}{number}",
            "fleet:program",
            setup="fleet:setup",
            store=store,
            depends_on=[f"bench/{name}{number // 10}"] if number else [],
        )
        for number in range(count)
    ]


def measure(folder: str, workers: int) -> tuple[float, float]:
    """Returns how long first updates of all stacks take, and the processor time of the workers for each stack."""
    store = f"file://{folder}/{workers}"
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        # Starts each process, and what a process loads once.
        sync.up_all(pool, specifications(store, 4 * workers, "warm"), max_stacks=workers)
        before = used(pool, workers)
        began = time.perf_counter()
        report = sync.up_all(pool, specifications(store, STACKS, "s"), max_stacks=workers)
        took = time.perf_counter() - began
        processors = sum(used(pool, workers).values()) - sum(before.values())
    assert report.changes == {"create": STACKS * (RESOURCES + 1)}, report.changes
    print(f"fleet.{STACKS}: {workers} workers: {took:.2f} s, {processors:.2f} s of the processors", file=sys.stderr)
    return took, processors / STACKS


def used(pool: concurrent.futures.Executor, workers: int) -> dict[int, float]:
    """Returns the processor time of each worker."""
    times: dict[int, float] = {}
    while len(times) < workers:
        calls = [pool.submit(process_time) for _ in range(4 * workers)]
        times.update(call.result() for call in calls)
    return times


def process_time() -> tuple[int, float]:
    # Keeps one worker from answering all calls.
    time.sleep(0.01)
    return os.getpid(), time.process_time()


def main(folder: str) -> None:
    asked = selection()
    one, processors = measure(folder, 1)
    three, _ = measure(folder, 3)
    asked.print(f"fleet.{STACKS}", one / three, "×")
    asked.print("fleet.cpu", processors * 1000, "ms")
    if one / three < MIN_SPEEDUP:
        sys.exit(f"three workers are only {one / three:.2f} times as fast as one")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=".") as temporary:
        main(os.path.abspath(temporary))
