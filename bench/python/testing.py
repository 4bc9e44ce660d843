"""``testing.python.100``: 100 runs of a program with 50 resources in the test kit, in seconds: ``python testing.py [PREFIX]``."""

from __future__ import annotations

import time

import stackwright as sw
from stackwright.testing import simulate
from things import selection

RUNS = 100
RESOURCES = 50
MAX_SECONDS = 5


def program(ctx: sw.Context) -> None:
    for number in range(RESOURCES):
        ctx.resource("things:index:Thing", f"thing-{number}", {"number": number, "tags": {"a": "b", "c": [1, 2, 3]}})


def main() -> None:
    asked = selection()
    began = time.perf_counter()
    for _ in range(RUNS):
        with simulate(program) as stack:
            assert len(stack.world) == RESOURCES
    seconds = time.perf_counter() - began
    asked.print(f"testing.python.{RUNS}", seconds, "s")
    assert seconds <= MAX_SECONDS, f"{RUNS} runs took {seconds:.2f} s"


if __name__ == "__main__":
    main()
