"""A provider whose components have a state resource: its calls wait for what Construct registers, and Construct for them.

The environment variable MODULE_THREADS is the number of threads on which the SDK waits for its requests; the SDK's own
number without it. Where MODULE_LOG names a file, each call that has waited for a Construct in progress adds a line to it: the
method and the component. MODULE_SKIPS is a method that does not wait: without the wait of Diff, Update has to.
"""

from __future__ import annotations

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pulumi
from pulumi.provider.experimental import provider as protocol
from pulumi.provider.experimental.property_value import Computed, PropertyValue, ResourceReference
from pulumi.provider.experimental.server import main

PACKAGE = "pymodule"


class Meeting:
    """The calls on the state of one component in Construct."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.made = asyncio.Event()


class Thing(pulumi.CustomResource):
    """A resource of another provider."""

    def __init__(self, name: str, size: float, opts: pulumi.ResourceOptions) -> None:
        super().__init__("things:index:Thing", name, {"size": size}, opts)


class State(pulumi.CustomResource):
    """The state of a component, which this provider serves."""

    def __init__(self, name: str, size: float, opts: pulumi.ResourceOptions) -> None:
        super().__init__(f"{PACKAGE}:index:State", f"{name}-state", {"size": size, "module": name}, opts)


class Inner(pulumi.ComponentResource):
    """A component inside the component, of any such provider."""

    def __init__(self, name: str, inner: list[str], size: float, opts: pulumi.ResourceOptions) -> None:
        inputs = {"size": size, "inner": inner[1:]}
        super().__init__(f"{inner[0]}:index:Module", f"{name}-in", inputs, opts, remote=True)


class Modules(protocol.Provider):
    """Constructs modules and serves their states."""

    def __init__(self) -> None:
        self.meetings: dict[str, Meeting] = {}
        self.threads: ThreadPoolExecutor | None = None

    def set_threads(self) -> None:
        """Gives the SDK the number of threads in MODULE_THREADS: each of its requests holds one until it is answered."""
        number = os.environ.get("MODULE_THREADS")
        if number and self.threads is None:
            self.threads = ThreadPoolExecutor(int(number))
            asyncio.get_running_loop().set_default_executor(self.threads)

    async def construct(self, request: protocol.ConstructRequest) -> protocol.ConstructResponse:
        self.set_threads()
        name, size = request.name, float(plain(request.inputs["size"]))
        module = pulumi.ComponentResource(request.resource_type, name, {}, request.options)
        below = pulumi.ResourceOptions(parent=module)
        meeting = self.meetings[name] = Meeting()
        try:
            State(name, size, below)
            inner = plain(request.inputs.get("inner", PropertyValue([])))
            if inner:
                Inner(name, inner, size, below)
            await meeting.asked.wait()
            things = [Thing(f"{name}-{number}", size, below) for number in range(2)]
            made = [await known(thing) for thing in things]
        finally:
            meeting.made.set()
            del self.meetings[name]
        module.register_outputs({"made": len(made)})
        urn = await module.urn.future()
        assert urn is not None
        return protocol.ConstructResponse(urn, {"made": PropertyValue(float(len(made)))}, {})

    async def call(self, request: protocol.CallRequest) -> protocol.CallResponse:
        """Opens a module. It fails without the argument `by`, for several properties, and with an argument `raise`."""
        if request.tok != f"{PACKAGE}:index:Module/open":
            raise ValueError(f"there is no method {request.tok}")
        by = request.args.get("by")
        if by is None:
            reasons = {"by": "is missing", "lock[0]": "is stuck"}
            failures = [protocol.CheckFailure(property, reason) for property, reason in reasons.items()]
            return protocol.CallResponse(failures=failures)
        if "raise" in request.args:
            raise ValueError("no such key")
        module = request.args["__self__"].value
        assert isinstance(module, ResourceReference)
        opened = pulumi.CustomResource("things:index:Thing", "opened", {"size": output(by)})
        _, id = await known(opened)
        made = PropertyValue(Computed() if id is None else id)
        return protocol.CallResponse({"by": by, "box": PropertyValue(module.urn), "id": made})

    async def meet(self, method: str, inputs: dict[str, PropertyValue]) -> None:
        """Waits until the Construct that is in flight has made its things; without one, there is nothing to wait for."""
        module = str(inputs["module"].value)
        meeting = self.meetings.get(module)
        if meeting is None or method == os.environ.get("MODULE_SKIPS"):
            return
        was_made = meeting.made.is_set()
        meeting.asked.set()
        await meeting.made.wait()
        log = os.environ.get("MODULE_LOG")
        if log and not was_made:
            with Path(log).open("a") as file:
                file.write(f"{method} {module}\n")

    async def diff(self, request: protocol.DiffRequest) -> protocol.DiffResponse:
        await self.meet("diff", request.new_inputs)
        return protocol.DiffResponse(changes=request.old_state["size"] != request.new_inputs["size"])

    async def create(self, request: protocol.CreateRequest) -> protocol.CreateResponse:
        await self.meet("create", request.properties)
        return protocol.CreateResponse("" if request.preview else "state", request.properties)

    async def read(self, request: protocol.ReadRequest) -> protocol.ReadResponse:
        await self.meet("read", request.inputs)
        return protocol.ReadResponse(request.resource_id, request.properties, request.inputs)

    async def update(self, request: protocol.UpdateRequest) -> protocol.UpdateResponse:
        await self.meet("update", request.news)
        return protocol.UpdateResponse(request.news)

    async def delete(self, request: protocol.DeleteRequest) -> None: ...


def plain(value: PropertyValue) -> Any:
    """Returns a number, a text, or a list of them."""
    inner = value.value
    return [plain(item) for item in inner] if isinstance(inner, tuple) else inner


def output(value: PropertyValue) -> pulumi.Output[Any]:
    """Returns a number as an output with the marks of the value and what it depends on."""
    known = not isinstance(value.value, Computed)
    sources: set[pulumi.Resource] = {pulumi.resource.DependencyResource(urn) for urn in value.dependencies}
    marks = [asyncio.Future[Any]() for _ in range(4)]
    given: tuple[Any, ...] = (sources, value.value if known else None, known, value.is_secret)
    for mark, item in zip(marks, given, strict=True):
        mark.set_result(item)
    return pulumi.Output(*marks)


async def known(thing: pulumi.CustomResource) -> tuple[str | None, str | None]:
    """Waits until a resource is there; returns its URN and its id, which is unknown in previews."""
    return await thing.urn.future(), await thing.id.future()


if __name__ == "__main__":
    main(sys.argv[1:], "0.1.0", Modules())
