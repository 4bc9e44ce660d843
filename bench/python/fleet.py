"""``fleet.200``, ``fleet.cpu``: 200 stacks on worker processes, and the processor time of a stack: ``python fleet.py [PREFIX]``."""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import stackwright as sw
from stackwright import fleet, sync
from things import selection

STACKS = 200
RESOURCES = 5
CREATE_SECONDS = 0.05
PLACES = 4
"""How many calls a worker runs at a time, as those of clusters do: the waits of one worker's stacks overlap."""
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
    """A chain: each thing needs the one before."""
    before: Any = 0
    for number in range(RESOURCES):
        thing = ctx.resource("slow:index:Thing", f"thing-{number}", {"number": number, "before": before})
        before = thing["number"]
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


def serve(connection: Connection) -> None:
    """Answers the calls of a worker process, until the connection is closed."""
    lock = threading.Lock()

    def answer(number: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        result = function(*arguments)
        with lock:
            connection.send((number, result))

    with concurrent.futures.ThreadPoolExecutor(PLACES) as places:
        while True:
            try:
                places.submit(answer, *connection.recv())
            except EOFError:
                return


class Worker:
    """A worker process."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, far = context.Pipe()
        self.process = context.Process(target=serve, args=(far,), daemon=True)
        self.process.start()
        far.close()
        self.numbers = itertools.count()
        self.calls: dict[int, concurrent.futures.Future[Any]] = {}
        threading.Thread(target=self.receive, daemon=True).start()

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        number = next(self.numbers)
        self.calls[number] = future
        self.connection.send((number, function, arguments))
        return future

    def receive(self) -> None:
        while True:
            try:
                number, result = self.connection.recv()
            except (EOFError, OSError):
                return
            self.calls.pop(number).set_result(result)


class Workers:
    """An executor: each call goes to the worker that has the fewest."""

    def __init__(self, count: int) -> None:
        self.workers = [Worker() for _ in range(count)]

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> concurrent.futures.Future[Any]:
        return min(self.workers, key=lambda worker: len(worker.calls)).submit(function, *arguments)

    def processor_time(self) -> float:
        """Returns the processor time of all workers."""
        return sum(float(worker.submit(time.process_time).result()) for worker in self.workers)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_error: object) -> None:
        for worker in self.workers:
            worker.process.terminate()
            worker.process.join()
            worker.connection.close()


def measure(folder: str, workers: int) -> tuple[float, float]:
    """Returns how long first updates of all stacks take, and the processor time of the workers for each stack."""
    store = f"file://{folder}/{workers}"
    places = workers * PLACES
    with Workers(workers) as executor:
        # What a process loads once.
        sync.up_all(executor, specifications(store, 2 * places, "warm"), max_stacks=places)
        before = executor.processor_time()
        began = time.perf_counter()
        report = sync.up_all(executor, specifications(store, STACKS, "s"), max_stacks=places)
        took = time.perf_counter() - began
        processors = executor.processor_time() - before
    assert report.changes == {"create": STACKS * (RESOURCES + 1)}, report.changes
    assert len({own.worker for own in report.stacks.values()}) == workers
    print(f"fleet.{STACKS}: {workers} workers: {took:.2f} s, {processors:.2f} s of the processors", file=sys.stderr)
    return took, processors / STACKS


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
