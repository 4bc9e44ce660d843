"""Operations on sets of stacks: in this process (:meth:`stackwright.Engine.up_all`), or on an executor, each stack in a worker of it.

An executor has the interface of :class:`concurrent.futures.Executor`: threads, processes, Dask's ``client.get_executor(pure=False)``, or
Ray (:func:`ray_executor`). Its workers share a store, whose locks keep two of them from changing a stack at once. ::

    from stackwright import fleet

    specs = [
        fleet.StackSpec("network/prod", "infra.network:program", store="s3://state", setup="infra.workers:setup"),
        fleet.StackSpec("shop/prod", "infra.shop:program", store="s3://state", setup="infra.workers:setup", depends_on=["network/prod"]),
    ]
    report = await fleet.up_all(client.get_executor(pure=False), specs)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ._sets import FleetEvent, FleetOperation, FleetResult, StackRun
from ._sets import start as start

if TYPE_CHECKING:
    from ._executor import ExecutorOperation, ExecutorOptions, destroy_all, preview_all, refresh_all, up_all
    from ._ray import ray_executor
    from ._report import FleetReport, StackReport
    from ._spec import StackSpec, WorkerSetup

__all__ = [
    "ExecutorOperation",
    "ExecutorOptions",
    "FleetEvent",
    "FleetOperation",
    "FleetReport",
    "FleetResult",
    "StackReport",
    "StackRun",
    "StackSpec",
    "WorkerSetup",
    "destroy_all",
    "preview_all",
    "ray_executor",
    "refresh_all",
    "up_all",
]

_MODULES = {
    "ExecutorOperation": "_executor",
    "ExecutorOptions": "_executor",
    "FleetReport": "_report",
    "StackReport": "_report",
    "StackSpec": "_spec",
    "WorkerSetup": "_spec",
    "destroy_all": "_executor",
    "preview_all": "_executor",
    "ray_executor": "_ray",
    "refresh_all": "_executor",
    "up_all": "_executor",
}
"""What is imported when it is used: most programs have no executor."""


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
