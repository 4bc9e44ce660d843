"""``sdk.python.{preview,update,noop,destroy}.N``: an SDK program, as a multiple of its floor: ``python sdk.py [PREFIX]``.

The floor is the time of the same program against objects that answer every call at once and do nothing else. Floor and
operations are measured in turn in this process.
"""

from __future__ import annotations

import asyncio
import contextvars
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import pulumi
import stackwright as sw
from google.protobuf import empty_pb2
from pulumi import runtime
from pulumi.runtime.proto import resource_pb2
from things import Things, selection

SIZES = (100, 1000, 3000)
VERBS = ("preview", "update", "noop", "destroy")
UNBOUNDED = 2**31 - 1


class Thing(pulumi.CustomResource):
    def __init__(self, name: str, properties: dict[str, Any]):
        super().__init__("things:index:Thing", name, properties)


def program_of(size: int) -> Callable[[], None]:
    def program() -> None:
        for number in range(size):
            Thing(f"thing-{number}", {"number": number, "tags": {"a": "b", "c": [1, 2, 3]}})

    return program


class Idle:
    """A monitor and an engine that answer every call at once and do nothing else."""

    def GetDeploymentInfo(self, _: Any) -> Any:  # noqa: N802 - the protocol's names
        features = resource_pb2.ResourceMonitorFeature.values()
        return resource_pb2.DeploymentInfo(supportedFeatures=features)

    def SupportsFeature(self, _: Any) -> Any:  # noqa: N802
        return resource_pb2.SupportsFeatureResponse(hasSupport=True)

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802
        urn = f"urn:pulumi:dev::bench::{request.type}::{request.name}"
        return resource_pb2.RegisterResourceResponse(urn=urn, id=request.name, object=request.object)

    def RegisterResourceOutputs(self, _: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()

    def SignalAndWaitForShutdown(self, _: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()

    def Log(self, _: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()


def floor(size: int, dry_run: bool) -> float:
    async def run() -> None:
        settings = runtime.Settings(
            project="bench",
            stack="dev",
            organization="organization",
            monitor=Idle(),
            engine=Idle(),
            parallel=16,
            dry_run=dry_run,
        )
        runtime.configure(settings)
        runtime.set_all_config({}, [])
        await runtime.run_in_stack(program_of(size))

    began = time.perf_counter()
    contextvars.Context().run(asyncio.run, run())
    return time.perf_counter() - began


async def operations(size: int, folder: str) -> dict[str, float]:
    times = {}
    async with sw.Engine(store=f"file://{folder}", passphrase="bench", providers={"things": Things()}) as engine:
        stack = await engine.stack("bench/dev", program_of(size))
        for verb in VERBS:
            began = time.perf_counter()
            if verb == "preview":
                await stack.preview(parallel=UNBOUNDED)
            elif verb == "destroy":
                await stack.destroy(parallel=UNBOUNDED)
            else:
                await stack.up(parallel=UNBOUNDED)
            times[verb] = time.perf_counter() - began
    return times


def main() -> None:
    asked = selection()
    floor(10, False)
    for size in SIZES:
        if not any(asked.selects(f"sdk.python.{verb}.{size}") for verb in VERBS):
            continue
        rounds = 3 if size <= 1000 else 1
        floors, measured = [], []
        for _ in range(rounds):
            floors.append({verb: floor(size, verb == "preview") for verb in ("preview", "update")})
            with tempfile.TemporaryDirectory(dir=".") as folder:
                measured.append(asyncio.run(operations(size, folder)))
        for verb in VERBS:
            lowest = statistics.median(times["preview" if verb == "preview" else "update"] for times in floors)
            took = statistics.median(times[verb] for times in measured)
            print(f"sdk.python.{verb}.{size}: {took:.3f} s, floor {lowest:.3f} s", file=sys.stderr)
            asked.print(f"sdk.python.{verb}.{size}", took / lowest, "x")


if __name__ == "__main__":
    main()
