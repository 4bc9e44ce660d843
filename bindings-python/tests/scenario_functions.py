"""Functions of the actor that forward their calls to the director: transforms, hooks, and policies."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import fields
from typing import Any

import stackwright as sw

from scenario_wire import Message, PendingCalls, parsed, plain

MOMENTS = {field.name: "".join(part.title() for part in field.name.split("_")) for field in fields(sw.Hooks)}
"""The moments of hooks as goals name them."""


def snake(name: str) -> str:
    return re.sub("([a-z])([A-Z]+)", lambda match: f"{match[1]}_{match[2]}", name).lower()


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join("URL" if part == "url" else part.title() for part in others)


def hooks_of(bindings: dict[str, list[str]]) -> sw.Hooks:
    """Returns hooks of the names in a goal."""
    return sw.Hooks(**{moment: bindings.get(recorded, []) for moment, recorded in MOMENTS.items()})


def _bindings(hooks: sw.Hooks) -> dict[str, list[str]]:
    found = {recorded: list(getattr(hooks, moment)) for moment, recorded in MOMENTS.items()}
    return {recorded: names for recorded, names in found.items() if names}


def _options(options: Any) -> Message:
    """Returns the options of a registration, a call or a record by the names of goals."""
    document: Message = {}
    for name, value in options.items():
        if name == "hooks":
            document["resourceHooks"] = _bindings(value)
        elif name == "replacement_trigger":
            document["replacementTrigger"] = plain(value)
        elif name == "aliases":
            document["aliases"] = [
                alias if isinstance(alias, str) else {_camel(part): former for part, former in alias.items()} for alias in value
            ]
        else:
            document[_camel(name)] = value
    return document


def _changed_options(answer: Message | None) -> Any:
    """Returns the options that the director's answer changes; ``None`` removes one."""
    if answer is None:
        return None
    changed: dict[str, Any] = {}
    for name, value in answer.items():
        if name == "resourceHooks":
            changed["hooks"] = None if value is None else hooks_of(value)
        elif name == "replacementTrigger":
            changed["replacement_trigger"] = parsed(value)
        elif name == "aliases" and value is not None:
            changed["aliases"] = [
                alias if isinstance(alias, str) else {snake(part): former for part, former in alias.items()} for alias in value
            ]
        elif name != "pluginChecksums":
            changed[snake(name)] = value
    return changed


def _parsed_map(values: Any) -> Any:
    """Returns values by name; what is no object stays as it is, for the library to refuse."""
    return {name: parsed(value) for name, value in values.items()} if isinstance(values, dict) else values


def _changes(answer: Message, values: str) -> Message:
    """Returns an answer of the director as a transform does; ``values`` names its values. Unknown members are arguments, too."""
    changes = {**answer, "options": _changed_options(answer.get("options"))}
    return {**changes, values: _parsed_map(answer.get(values))}


class Functions:
    """Makes functions whose calls go to the director."""

    def __init__(self, calls: PendingCalls) -> None:
        self._calls = calls

    async def _ask(self, package: str, method: str, request: Message) -> Any:
        message = await self._calls.ask(package, method, request)
        error = message.get("error")
        if error is not None:
            raise sw.ProgramError(error["message"])
        return message.get("ok")

    def transform(self, name: str) -> sw.Transform:
        async def transform(args: sw.TransformArgs) -> sw.TransformResult:
            facts = {"type": args.type, "name": args.name, "custom": args.custom, "parent": args.parent}
            values = {"inputs": plain(args.inputs), "options": _options(args.options)}
            answer = await self._ask("", "transform", {"transform": name, **facts, **values})
            return sw.TransformResult(**_changes(answer, "inputs"))

        return transform

    def invoke_transform(self, name: str) -> sw.InvokeTransform:
        async def transform(args: sw.InvokeTransformArgs) -> sw.InvokeTransformResult:
            request = {"token": args.token, "arguments": plain(args.arguments), "options": _options(args.options)}
            answer = await self._ask("", "transformInvoke", {"transform": name, **request})
            return sw.InvokeTransformResult(**_changes(answer, "arguments"))

        return transform

    def hook(self, message: Message, preview: bool) -> sw.Hook | sw.ErrorHook:
        name = message["name"]

        async def call(args: sw.HookArgs | sw.ErrorHookArgs) -> Any:
            request: Message = {"hook": name, "preview": preview}
            for field in fields(args):
                value = getattr(args, field.name)
                if isinstance(value, sw.HookResourceOptions):
                    value = _options({part.name: getattr(value, part.name) for part in fields(value)})
                elif field.name.endswith("puts") and value is not None:
                    value = plain(value)
                request[_camel(field.name)] = value
            return await self._ask("", "hook", request)

        async def retry(args: sw.ErrorHookArgs) -> bool:
            answer = await call(args)
            return bool(answer.get("retry"))

        if message.get("error"):
            return sw.ErrorHook(name, retry)
        flags = {snake(flag): message.get(flag, False) for flag in ("onDryRun", "ignoreErrors")}
        return sw.Hook(name, call, **flags)

    def policies(self, pack: Message) -> list[sw.Policy]:
        """Returns the policies of a pack."""
        return [self._policy(pack["name"], pack.get("version") or "", facts) for facts in pack["policies"]]

    def _policy(self, pack: str, version: str, facts: Message) -> sw.Policy:
        name = facts["name"]

        def resource(checked: sw.PolicyResource) -> Message:
            document: Message = {"type": checked.type, "name": checked.name, "urn": checked.urn, "props": plain(checked.props)}
            provider = checked.provider
            if provider is not None:
                facts = {"type": provider.type, "name": provider.name, "urn": provider.urn, "props": plain(provider.props)}
                document["provider"] = facts
            return {**document, "config": plain(checked.config)}

        async def ask(function: str, argument: Message) -> Any:
            return await self._ask(pack, f"policy.{function}", {"policy": name, "argument": argument})

        async def check(checked: sw.PolicyResource, report: Callable[..., None]) -> None:
            for found in await ask("check", resource(checked)):
                report(found["message"], found.get("urn"))

        async def remediate(checked: sw.PolicyResource) -> Message | None:
            answer = await ask("remediate", resource(checked))
            return None if answer is None else _parsed_map(answer)

        async def check_stack(stack: sw.PolicyStack, report: Callable[..., None]) -> None:
            argument = {"resources": [resource(checked) for checked in stack.resources], "config": plain(stack.config)}
            for found in await ask("checkStack", argument):
                report(found["message"], found.get("urn"))

        given: Any = {"level": facts.get("level") or "advisory", "severity": facts.get("severity"), "pack": pack, "pack_version": version}
        if facts.get("ofStack"):
            return sw.Policy(name, check_stack=check_stack, **given)
        return sw.Policy(name, check=check, remediate=remediate, **given)
