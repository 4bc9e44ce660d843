"""Updates a set of stacks on a cluster of Dask, and destroys it.

    python on_dask.py postgres://state@db/state --scheduler tcp://head:8786

Without a scheduler it starts a cluster of three processes on this machine.
"""

from __future__ import annotations

import argparse
import logging
import sys

import dask
from dask.distributed import Client, LocalCluster
from stackwright import fleet, sync

import stacks


def connected(scheduler: str | None) -> Client:
    """Connects to a cluster; starts one on this machine where there is none."""
    if scheduler is not None:
        return Client(scheduler)
    # What repeats lost calls is the set, which counts them.
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    cluster = LocalCluster(
        n_workers=3, threads_per_worker=4, host="127.0.0.1", dashboard_address=None, silence_logs=logging.ERROR
    )
    return Client(cluster)


def shown(event: fleet.FleetEvent) -> None:
    """Shows an event in the log of the worker, where it is called."""
    print(f"{event.stack}: {type(event.event).__name__}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", help="the URL of a store that all workers reach, without credentials")
    parser.add_argument("--scheduler", help="the address of a scheduler")
    parser.add_argument("--shops", type=int, default=12, help="how many stacks read that of the network")
    arguments = parser.parse_args()

    specs = stacks.specifications(arguments.store, arguments.shops)
    with connected(arguments.scheduler) as client:
        # Dask gives the result of a former call to one that looks the same, unless it is not pure.
        executor = client.get_executor(pure=False)
        places = sum(client.nthreads().values())
        operation = sync.start_up_all(executor, specs, max_stacks=places, event_sink=shown)
        report = operation.wait()
        if report.unknown:
            # Workers were lost again and again. What has ended is not repeated, and what still runs is waited for.
            report = sync.start_up_all(executor, specs, max_stacks=places, resume=report).wait()
        print(f"update {report.outcome}: {dict(report.changes)} in {report.duration:.1f} s")
        for name, own in report.stacks.items():
            print(f"  {name} {own.outcome} on {own.worker}, {own.attempts} calls")
        if report.error is not None:
            print(report.error, file=sys.stderr)
            return 1
        report = sync.destroy_all(executor, specs, max_stacks=places)
        print(f"destroy {report.outcome}: {dict(report.changes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
