"""A provider whose components have a state resource: its calls hand the recorded state to Construct, and wait for the new one.

The state of a component has the sizes that it has had, and the URNs of the two things that its Construct has registered.
The output `saw` of the component is the recorded state that its Construct was given: empty for one that is created.

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


# A state: of the properties `module`, `sizes` and `made`, all of them or none.
Kept = dict[str, Any]


class Meeting:
    """The recorded state, which a call on it hands to Construct, and the new one; that is missing where Construct fails."""

    def __init__(self) -> None:
        self.old: asyncio.Future[Kept] = asyncio.Future()
        self.new: asyncio.Future[Kept | None] = asyncio.Future()

    def hand_over(self, old: Kept) -> None:
        """Gives Construct the recorded state, which is that of the first call."""
        if not self.old.done():
            self.old.set_result(old)


class Thing(pulumi.CustomResource):
    """A resource of another provider."""

    def __init__(self, name: str, size: float, opts: pulumi.ResourceOptions) -> None:
        super().__init__("things:index:Thing", name, {"size": size}, opts)


class State(pulumi.CustomResource):
    """The state of a component, which this provider serves."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__(f"{PACKAGE}:index:State", f"{name}-state", {"module": name}, opts)


class Inner(pulumi.ComponentResource):
    """A component inside the component, of any such provider."""

    def __init__(self, name: str, inner: list[str], size: float, opts: pulumi.ResourceOptions) -> None:
        inputs = {"size": size, "inner": inner[1:]}
        super().__init__(f"{inner[0]}:index:Module", f"{name}-in", inputs, opts, remote=True)


class Modules(protocol.Provider):
    """Constructs modules and serves their states."""

    def __init__(self) -> None:
        # The last one of each module: an update may begin after the end of Construct.
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
            State(name, below)
            inner = plain(request.inputs.get("inner", PropertyValue([])))
            if inner:
                Inner(name, inner, size, below)
            old = await meeting.old
            things = [Thing(f"{name}-{number}", size, below) for number in range(2)]
            made = [(await known(thing))[0] for thing in things]
            sizes = old.get("sizes", [])
            if sizes[-1:] != [size]:
                sizes = [*sizes, size]
            meeting.new.set_result({"module": name, "sizes": sizes, "made": made})
        finally:
            if not meeting.new.done():
                meeting.new.set_result(None)
        module.register_outputs({"made": len(made), "saw": old})
        urn = await module.urn.future()
        assert urn is not None
        return protocol.ConstructResponse(urn, {"made": PropertyValue(float(len(made))), "saw": property_value(old)}, {})

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

    async def meet(
        self, method: str, inputs: dict[str, PropertyValue], recorded: dict[str, PropertyValue] | None = None
    ) -> Kept | None:
        """Hands the recorded state to the Construct that is in flight, and returns the new state.

        It is `None` where no Construct has made one, and for a method that does not wait.
        """
        module = str(inputs["module"].value)
        meeting = self.meetings.get(module)
        if meeting is None or method == os.environ.get("MODULE_SKIPS"):
            return None
        was_made = meeting.new.done()
        meeting.hand_over({name: plain(value) for name, value in (recorded or {}).items()})
        new = await asyncio.shield(meeting.new)
        log = os.environ.get("MODULE_LOG")
        if log and not was_made:
            with Path(log).open("a") as file:
                file.write(f"{method} {module}\n")
        return new

    async def diff(self, request: protocol.DiffRequest) -> protocol.DiffResponse:
        """Compares the recorded state with the new one. One that does not wait expects changes."""
        new = await self.meet("diff", request.new_inputs, request.old_state)
        old = {name: plain(value) for name, value in request.old_state.items()}
        skipped = os.environ.get("MODULE_SKIPS") == "diff"
        return protocol.DiffResponse(changes=skipped or (new is not None and old != new))

    async def create(self, request: protocol.CreateRequest) -> protocol.CreateResponse:
        new = await self.meet("create", request.properties)
        return protocol.CreateResponse("" if request.preview else "state", outputs(new))

    async def read(self, request: protocol.ReadRequest) -> protocol.ReadResponse:
        """Returns the recorded state."""
        await self.meet("read", request.inputs, request.properties)
        return protocol.ReadResponse(request.resource_id, request.properties, request.inputs)

    async def update(self, request: protocol.UpdateRequest) -> protocol.UpdateResponse:
        return protocol.UpdateResponse(outputs(await self.meet("update", request.news, request.olds)))

    async def delete(self, request: protocol.DeleteRequest) -> None: ...


def plain(value: PropertyValue) -> Any:
    """Returns a number, a text, or a list of them."""
    inner = value.value
    return [plain(item) for item in inner] if isinstance(inner, tuple) else inner


def property_value(value: Any) -> PropertyValue:
    """Returns the value of the protocol for a number, a text, or lists and dictionaries of them."""
    if isinstance(value, list):
        return PropertyValue([property_value(item) for item in value])
    if isinstance(value, dict):
        return PropertyValue({name: property_value(item) for name, item in value.items()})
    return PropertyValue(value)


def outputs(new: Kept | None) -> dict[str, PropertyValue]:
    """Returns a new state as outputs. It is missing where Construct has failed."""
    if new is None:
        raise ValueError("no new state has been made")
    return {name: property_value(value) for name, value in new.items()}


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
