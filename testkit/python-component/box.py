"""A component in Python: a box with a lid, which a provider of the host manages, and a box of another package inside."""

from typing import Optional, TypedDict

import pulumi


class BoxArgs(TypedDict):
    size: pulumi.Input[int]
    label: Optional[pulumi.Input[str]]
    inner: Optional[list[str]]
    """The packages of the box inside this one, of the box inside that one, and so on."""


class Thing(pulumi.CustomResource):
    def __init__(self, name: str, args: BoxArgs, opts: pulumi.ResourceOptions) -> None:
        super().__init__("things:index:Thing", name, {"size": args["size"], "label": args.get("label")}, opts)


class RemoteBox(pulumi.ComponentResource):
    """A box of another package."""

    doubled: pulumi.Output[int]

    def __init__(self, name: str, args: BoxArgs, inner: list[str], opts: pulumi.ResourceOptions) -> None:
        inputs = {**args, "inner": inner[1:], "doubled": None}
        super().__init__(f"{inner[0]}:index:Box", name, inputs, opts, remote=True)


class Box(pulumi.ComponentResource):
    """A box with a lid."""

    doubled: pulumi.Output[int]
    label: pulumi.Output[Optional[str]]

    def __init__(self, name: str, args: BoxArgs, opts: Optional[pulumi.ResourceOptions] = None) -> None:
        super().__init__("pybox:index:Box", name, {}, opts)
        below = pulumi.ResourceOptions(parent=self)
        Thing(f"{name}-lid", args, below)
        inner = args.get("inner")
        size = RemoteBox(f"{name}-in", args, inner, below).doubled if inner else args["size"]
        self.doubled = pulumi.Output.from_input(size).apply(lambda size: int(size) * 2)
        self.label = pulumi.Output.from_input(args.get("label"))
        self.register_outputs({"doubled": self.doubled, "label": self.label})
