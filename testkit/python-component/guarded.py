"""A component in Python with a transform and hooks of its own, which the engine calls also when Construct has ended.

Where the environment variable GUARDED_LOG names a file, each hook adds a line to it: the moment and the resource.
"""

import os
import signal
from pathlib import Path
from typing import Any, Optional, TypedDict

import pulumi

MOMENTS = ("before_create", "after_create", "before_update", "after_update", "before_delete", "after_delete")


class GuardedArgs(TypedDict):
    size: pulumi.Input[int]
    count: int
    """How many things it has."""
    refused: Optional[str]
    """The moment in which the hook fails, or `construct`, in which the component does."""
    dies: Optional[str]
    """The moment in which the process of the host ends: that of a hook, `on_error`, or `transform`."""
    retries: Optional[int]
    """How often a failed operation on a thing is repeated."""


class Thing(pulumi.CustomResource):
    def __init__(self, name: str, size: Any, opts: pulumi.ResourceOptions) -> None:
        super().__init__("things:index:Thing", name, {"size": size}, opts)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Guarded(pulumi.ComponentResource):
    """A component whose things have hooks."""

    size: pulumi.Output[int]

    def __init__(self, name: str, args: GuardedArgs, opts: Optional[pulumi.ResourceOptions] = None) -> None:
        super().__init__("pybox:index:Guarded", name, {}, opts)
        if args.get("refused") == "construct":
            raise ValueError(f"no construct of {name} today")

        def happens(moment: str, resource: str) -> None:
            if log := os.environ.get("GUARDED_LOG"):
                with Path(log).open("a") as file:
                    file.write(f"{moment} {resource}\n")
            if args.get("dies") == moment:
                die()
            if args.get("refused") == moment:
                raise ValueError(f"no {moment} of {resource} today")

        def hook(moment: str) -> pulumi.ResourceHook:
            async def run(call: pulumi.ResourceHookArgs) -> None:
                happens(moment, call.name)

            return pulumi.ResourceHook(f"{name} {moment}", run)

        def larger(call: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
            if args.get("dies") == "transform":
                die()
            size = pulumi.Output.from_input(call.props["size"]).apply(lambda size: int(size) + 100)
            return pulumi.ResourceTransformResult({**call.props, "size": size}, call.opts)

        async def repeat(call: pulumi.ErrorHookArgs) -> bool:
            happens("on_error", call.name)
            return len(call.errors) <= int(args.get("retries") or 0)

        on_error = [pulumi.ErrorHook(f"{name} on_error", repeat)]
        hooks = pulumi.ResourceHookBinding(**{moment: [hook(moment)] for moment in MOMENTS}, on_error=on_error)
        below = pulumi.ResourceOptions(parent=self, transforms=[larger], hooks=hooks)

        def size_at(place: str) -> pulumi.Output[Any]:
            def checked(size: Any) -> Any:
                if args.get("refused") == place:
                    raise ValueError(f"no {place} of {name} today")
                return size

            return pulumi.Output.from_input(args["size"]).apply(checked)

        for number in range(int(args["count"])):
            Thing(f"{name}-{number}", size_at("input"), below)
        self.size = size_at("output")
        self.register_outputs({"size": self.size})
