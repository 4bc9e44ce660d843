"""Refuses a second update while one runs, and cancels it."""

import threading

import pulumi
from pulumi import automation as auto

begun, proceed = threading.Event(), threading.Event()


def slow() -> None:
    begun.set()
    assert proceed.wait(60)


stack = auto.create_or_select_stack("dev", project_name="shop", program=slow)
results: list[auto.UpResult] = []
thread = threading.Thread(target=lambda: results.append(stack.up()))
thread.start()
assert begun.wait(60)
other = auto.select_stack("dev", project_name="shop", program=lambda: pulumi.export("answer", 42))
try:
    other.up()
except auto.ConcurrentUpdateError as error:
    print(error)
else:
    raise AssertionError("two updates run at the same time")
proceed.set()
thread.join(60)
assert results and results[0].summary.result == "succeeded"
other.cancel()
assert other.up().outputs["answer"].value == 42
other.destroy()
