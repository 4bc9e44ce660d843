"""Shows what an update would do, then updates one resource alone."""

from typing import Any

import pulumi
from pulumi import automation as auto, dynamic


class Shelves(dynamic.ResourceProvider):
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        return dynamic.CreateResult(f"shelf-{props['size']}", props)

    def diff(self, _id: str, old: dict[str, Any], new: dict[str, Any]) -> dynamic.DiffResult:
        return dynamic.DiffResult(changes=old["size"] != new["size"])

    def update(self, _id: str, old: dict[str, Any], new: dict[str, Any]) -> dynamic.UpdateResult:
        return dynamic.UpdateResult(new)


class Shelf(dynamic.Resource):
    def __init__(self, name: str, size: int) -> None:
        super().__init__(Shelves(), name, {"size": size})


def store(size: int) -> auto.PulumiFn:
    def program() -> None:
        Shelf("left", size)
        Shelf("right", size)

    return program


stack = auto.create_or_select_stack("dev", project_name="shop", program=store(1))
assert stack.preview().change_summary == {"create": 3}
assert stack.up().summary.resource_changes == {"create": 3}
assert stack.preview(program=store(2), diff=True, on_output=print).change_summary == {"same": 1, "update": 2}
left = "urn:pulumi:dev::shop::pulumi-python:dynamic:Resource::left"
up = stack.up(program=store(2), target=[left])
assert up.summary.resource_changes == {"same": 2, "update": 1}
assert stack.preview(program=store(2)).change_summary == {"same": 2, "update": 1}
stack.destroy()
