"""What the Python binding's actor does with a project: its files, its settings, and the tags of a stack."""

from __future__ import annotations

from typing import Any

import stackwright as sw

from scenario_inspect import document
from scenario_wire import Message

_SIGNATURE = "4dabf18193072939515e22adb298388d"


async def act(engine: sw.Engine, stack: sw.Stack, message: Message) -> Message:
    """Answers the request ``project``."""
    of_tags = message["part"] in ("tag", "untag", "tags")
    return {"found": document(await (tagged(stack, message) if of_tags else changed(engine, message)))}


async def tagged(stack: sw.Stack, message: Message) -> Any:
    match message["part"]:
        case "tag":
            return await stack.set_tag(message["path"], message["value"])
        case "untag":
            return await stack.remove_tag(message["path"])
        case _:
            return await stack.list_tags()


async def changed(engine: sw.Engine, message: Message) -> Any:
    project = await engine.project(message["folder"])
    stack, passphrase = message["stack"], message["passphrase"]
    match message["part"]:
        case "facts":
            return await project.facts()
        case "settings":
            return await project.settings(stack)
        case "write":
            return await project.set(message["path"], message["value"])
        case "erase":
            return await project.remove(message["path"])
        case "get":
            return await project.get_config(stack, message["path"], passphrase=passphrase)
        case "list":
            return await project.list_config(stack, show_secrets=message["showSecrets"], passphrase=passphrase)
        case "set":
            values = {path: value_of(value) for path, value in message["values"].items()}
            return await project.set_all_config(stack, values, secret=message["secret"], passphrase=passphrase)
        case "remove":
            return await project.remove_config(stack, message["paths"])
        case part:
            raise ValueError(f"this actor cannot {part} a project")


def value_of(value: Any) -> Any:
    """Returns a configuration value of its plain form, whose only marks are those of secrets."""
    if isinstance(value, list):
        return [value_of(item) for item in value]
    if isinstance(value, dict):
        if _SIGNATURE in value:
            return sw.secret(value_of(value["value"]))
        return {name: value_of(member) for name, member in value.items()}
    return value
