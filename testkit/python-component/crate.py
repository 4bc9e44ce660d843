"""A component in Python that passes on what it is given, to a thing below it and as its outputs: files, an archive, a resource.

It also has the id of the thing.
"""

from typing import Any, Optional, TypedDict

import pulumi


class CrateArgs(TypedDict):
    file: pulumi.Input[pulumi.Asset]
    files: pulumi.Input[pulumi.Archive]
    owner: pulumi.Input[Any]
    """A thing."""
    later: pulumi.Input[pulumi.Asset]


class Thing(pulumi.CustomResource):
    """A thing, as the SDK of its package knows it."""


class Things:
    """Makes things of references to them."""

    def version(self) -> None: ...

    def construct(self, name: str, typ: str, urn: str) -> pulumi.Resource:
        return Thing(typ, name, {}, pulumi.ResourceOptions(urn=urn))


pulumi.runtime.register_resource_module("things", "index", Things())


class Crate(pulumi.ComponentResource):
    """A crate with a content."""

    file: pulumi.Output[pulumi.Asset]
    files: pulumi.Output[pulumi.Archive]
    owner: pulumi.Output[Any]
    later: pulumi.Output[pulumi.Asset]
    content: pulumi.Output[str]
    """The id of the content."""

    def __init__(self, name: str, args: CrateArgs, opts: Optional[pulumi.ResourceOptions] = None) -> None:
        super().__init__("pybox:index:Crate", name, {}, opts)
        content = Thing("things:index:Thing", f"{name}-content", {**args}, pulumi.ResourceOptions(parent=self))
        self.file = pulumi.Output.from_input(args["file"])
        self.files = pulumi.Output.from_input(args["files"])
        self.owner = pulumi.Output.from_input(args["owner"])
        self.later = pulumi.Output.from_input(args["later"])
        self.content = content.id
        outputs = {"file": self.file, "files": self.files, "owner": self.owner, "later": self.later}
        self.register_outputs({**outputs, "content": self.content})
