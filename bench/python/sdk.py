"""``sdk.python.{preview,update,noop,destroy}.N``: an SDK program, as a multiple of its floor: ``python sdk.py [PREFIX]``.

``sdk.python.chain{,_update,_plugin,_plugin_update}.300``: the same for resources each of which is below the one before.

The floor is the time of the same program against objects that answer every call at once and do nothing else. Floor and
operations are measured in turn in this process.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
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
LINKS = 300
CHAIN = {"preview": "", "update": "_update"}
VERBS = ("preview", "update", "noop", "destroy")
UNBOUNDED = 2**31 - 1


class Thing(pulumi.CustomResource):
    def __init__(self, name: str, properties: dict[str, Any], opts: pulumi.ResourceOptions | None = None):
        super().__init__("things:index:Thing", name, properties, opts)


def program_of(size: int) -> Callable[[], None]:
    def program() -> None:
        for number in range(size):
            Thing(f"thing-{number}", {"number": number, "tags": {"a": "b", "c": [1, 2, 3]}})

    return program


def chain() -> None:
    """Registers resources below one another: the SDK registers each when its parent has its URN."""
    parent = None
    for number in range(LINKS):
        parent = Thing(f"thing-{number}", {"number": number}, pulumi.ResourceOptions(parent=parent))


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


def floor(program: Callable[[], None], dry_run: bool) -> float:
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
        await runtime.run_in_stack(program)

    began = time.perf_counter()
    contextvars.Context().run(asyncio.run, run())
    return time.perf_counter() - began


async def operations(program: Callable[[], None], folder: str, **providers: Any) -> dict[str, float]:
    times = {}
    async with sw.Engine(store=f"file://{folder}", passphrase="bench", **providers) as engine:
        stack = await engine.stack("bench/dev", program)
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


def measure(program: Callable[[], None], rounds: int, **providers: Any) -> dict[str, tuple[float, float]]:
    """Returns the median seconds of each operation and of its floor, measured in turn."""
    floors, measured = [], []
    for _ in range(rounds):
        floors.append({verb: floor(program, verb == "preview") for verb in ("preview", "update")})
        with tempfile.TemporaryDirectory(dir=".") as folder:
            measured.append(asyncio.run(operations(program, folder, **providers)))
    return {
        verb: (
            statistics.median(times[verb] for times in measured),
            statistics.median(times["preview" if verb == "preview" else "update"] for times in floors),
        )
        for verb in VERBS
    }


def main() -> None:
    asked = selection()
    floor(program_of(10), False)

    def report(name: str, took: float, lowest: float) -> None:
        print(f"{name}: {took:.3f} s, floor {lowest:.3f} s", file=sys.stderr)
        asked.print(name, took / lowest, "x")

    for size in SIZES:
        names = {verb: f"sdk.python.{verb}.{size}" for verb in VERBS}
        if any(asked.selects(name) for name in names.values()):
            times = measure(program_of(size), 3 if size <= 1000 else 1, providers={"things": Things()})
            for verb, name in names.items():
                report(name, *times[verb])
    plugin = sw.Plugins(commands={"things": [os.environ["BENCH_PLUGIN"], "--plugin"]})
    for suffix, providers in ("", {"providers": {"things": Things()}}), ("_plugin", {"plugins": plugin}):
        names = {verb: f"sdk.python.chain{suffix}{verb_suffix}.{LINKS}" for verb, verb_suffix in CHAIN.items()}
        if any(asked.selects(name) for name in names.values()):
            times = measure(chain, 5, **providers)
            for verb, name in names.items():
                report(name, *times[verb])


if __name__ == "__main__":
    main()
