"""What the Python binding's actor reads without a program, and the pending operations that it forgets."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import stackwright as sw

from scenario_functions import snake
from scenario_wire import Message, plain


async def inspect(engine: sw.Engine, stacks: Mapping[str, sw.Stack], message: Message) -> Message:
    """Answers the request ``inspect``."""
    stack = stacks[message["stack"]]
    if message["part"] == "move":
        edit = message["edit"]
        named = {snake(name): member for name, member in edit["move"].items()}
        named["dry_run"] = edit.get("dryRun", False)
        return {"found": document(await stack.move_resources(destination=stacks[message["destination"]], **named))}
    return {"found": document(await find(engine, stack, message))}


async def find(engine: sw.Engine, stack: sw.Stack, message: Message) -> Any:
    match message["part"]:
        case "resources":
            records = await stack.resources()
            # Each can be read by its URN, too.
            for record in records:
                assert record.delete or await stack.resource(record.urn) == record
            return records
        case "graph":
            return await stack.graph()
        case "pending":
            return await stack.pending()
        case "stacks":
            return await engine.stacks(resource_counts=True)
        case "history":
            return await stack.history(limit=message["limit"], page=message["page"] or 1)
        case "pendingResource":
            return await stack.read_pending(message["pending"], message["resourceId"])
        case "forget":
            return await stack.forget_pending(message["pending"], dry_run=message["dryRun"])
        case "edit":
            return await edited(stack, message["edit"])
        case part:
            raise ValueError(f"this actor cannot read {part!r}")


class Reversal:
    """The actor's own encryption: the characters of a text in the opposite order, as in the actors of all bindings."""

    def __init__(self, kind: str, state: Any = None) -> None:
        self.kind = kind
        self.state = state

    def encrypt(self, plaintexts: Sequence[str]) -> Sequence[str]:
        return [text[::-1] for text in plaintexts]

    decrypt = encrypt


async def edited(stack: sw.Stack, edit: Mapping[str, Any]) -> sw.EditReport:
    """Makes an edit, with the method of its name."""
    (kind,) = (name for name in edit if name != "dryRun")
    named = {snake(name): member for name, member in edit[kind].items()}
    if "secrets" in named:
        named["secrets"] = Reversal(**named["secrets"])
    if "dryRun" in edit:
        named["dry_run"] = edit["dryRun"]
    method = "delete_resources" if kind == "delete" else snake(kind)
    report: sw.EditReport = await getattr(stack, method)(**named)
    return report


def document(value: Any) -> Any:
    """Returns what was read in the form of the protocol: secrets as text for display has them."""
    if isinstance(value, sw.OutputValue):
        is_masked = "[secret]" in repr(value)
        return {"value": "[secret]" if is_masked else plain(value.value), "secret": value.secret}
    if dataclasses.is_dataclass(value):
        return {camel(field.name): document(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: document(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [document(element) for element in value]
    return value


def camel(name: str) -> str:
    """Returns a name of Python in the style of the protocol."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)
