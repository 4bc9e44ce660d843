"""Refuses a second update while one runs, and cancels one that runs."""

from __future__ import annotations

import threading

import pulumi
from pulumi import automation as auto

begun, proceed = threading.Event(), threading.Event()


def slow() -> None:
    begun.set()
    assert proceed.wait(60)


stack = auto.create_or_select_stack("dev", project_name="shop", program=slow)
ends: list[auto.UpResult | auto.CommandError] = []


def update() -> None:
    try:
        ends.append(stack.up())
    except auto.CommandError as error:
        ends.append(error)


def start() -> threading.Thread:
    begun.clear()
    proceed.clear()
    thread = threading.Thread(target=update)
    thread.start()
    assert begun.wait(60)
    return thread


thread = start()
other = auto.select_stack("dev", project_name="shop", program=lambda: pulumi.export("answer", 42))
try:
    other.up()
except auto.ConcurrentUpdateError as error:
    print(error)
else:
    raise AssertionError("two updates run at the same time")
proceed.set()
thread.join(60)
succeeded = ends.pop()
assert isinstance(succeeded, auto.UpResult) and succeeded.summary.result == "succeeded"
thread = start()
other.cancel()
proceed.set()
thread.join(60)
cancelled = ends.pop()
assert isinstance(cancelled, auto.CommandError) and "cancel" in str(cancelled), cancelled
assert other.up().outputs["answer"].value == 42
other.destroy()
