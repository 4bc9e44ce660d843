"""A test kit for programs: the real engine, in milliseconds, against simulated providers.

::

    from stackwright.testing import simulate

    def test_the_record_has_the_address_of_the_machine():
        stack = simulate(program, outputs={"cloud:index:Machine": {"address": "10.0.0.1"}})
        assert stack.resources.find("cloud:index:Record", "dns").inputs["address"] == "10.0.0.1"
        stack.preview().assert_no_changes()
"""

from __future__ import annotations

from ._answers import Answer, Outputs, Subject
from ._crashes import Crash, CrashReport, crash_everywhere
from ._faults import Fault, delay, fail, interrupt, kill
from ._refactoring import refactoring
from ._resources import Resource, Resources
from ._result import SimulatedResult
from ._settings import SimulationSettings
from ._stack import Call, SimulatedStack, simulate
from ._strategies import configurations
from ._world import Thing, World

__all__ = [
    "Answer",
    "Call",
    "Crash",
    "CrashReport",
    "Fault",
    "Outputs",
    "Resource",
    "Resources",
    "SimulatedResult",
    "SimulatedStack",
    "SimulationSettings",
    "Subject",
    "Thing",
    "World",
    "configurations",
    "crash_everywhere",
    "delay",
    "fail",
    "interrupt",
    "kill",
    "refactoring",
    "simulate",
]
