"""Updates a set of stacks on a cluster of Ray, and destroys it.

    python on_ray.py postgres://state@db/state --address auto

Without an address it starts Ray with three processes on this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

import ray
from stackwright import fleet

import stacks


def connect(address: str | None) -> None:
    """Connects to a cluster; starts one on this machine where there is none."""
    folder = os.path.dirname(os.path.abspath(__file__))
    # The workers import the programs from this folder.
    environment = {"env_vars": {"PYTHONPATH": folder}}
    if address is not None:
        ray.init(address=address, runtime_env=environment)
    else:
        ray.init(num_cpus=3, include_dashboard=False, _node_ip_address="127.0.0.1", runtime_env=environment)


async def run(store: str, shops: int) -> int:
    """Runs the set in an event loop, as the rest of an application would."""
    specs = stacks.specifications(store, shops)
    # One task has one processor; stacks mostly wait, so that less than one suffices.
    executor = fleet.ray_executor(num_cpus=0.5)
    places = int(ray.cluster_resources().get("CPU", 1) / 0.5)
    operation = fleet.up_all(executor, specs, max_stacks=places)
    report = await operation.wait()
    if report.unknown:
        # Workers were lost again and again. What has ended is not repeated, and what still runs is waited for.
        report = await fleet.up_all(executor, specs, max_stacks=places, resume=report).wait()
    print(f"update {report.outcome}: {dict(report.changes)} in {report.duration:.1f} s")
    for name, own in report.stacks.items():
        print(f"  {name} {own.outcome} on {own.worker}, {own.attempts} calls")
    if report.error is not None:
        print(report.error, file=sys.stderr)
        return 1
    report = await fleet.destroy_all(executor, specs, max_stacks=places)
    print(f"destroy {report.outcome}: {dict(report.changes)}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", help="the URL of a store that all workers reach, without credentials")
    parser.add_argument("--address", help="the address of a cluster, or auto")
    parser.add_argument("--shops", type=int, default=12, help="how many stacks read that of the network")
    arguments = parser.parse_args()
    connect(arguments.address)
    try:
        return asyncio.run(run(arguments.store, arguments.shops))
    finally:
        ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
