"""Runs of a scenario's program: executes the director's requests with the API of this binding."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import stackwright as sw

from scenario_functions import Functions, hooks_of, snake
from scenario_wire import Message, parsed

_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"


class Play:
    """A run of the program, or of the code of a component or a method: its registered resources and invocations, by handle."""

    def __init__(self, ctx: sw.Context, functions: Functions, inputs: Message | None = None) -> None:
        self.ctx = ctx
        self.functions = functions
        self.handles: dict[str, sw.Resource | sw.Invocation | dict[str, sw.Output[Any]]] = {}
        # The inputs of a component, or the arguments of a method.
        self.inputs = inputs
        self.loop = asyncio.get_running_loop()
        self.finished: asyncio.Future[Message] = self.loop.create_future()

    def refer(self, value: Any) -> Any:
        """Converts JSON, which may contain references to outputs and resources, to a value."""
        if isinstance(value, list):
            return [self.refer(item) for item in value]
        if not isinstance(value, dict):
            return parsed(value)
        if "$output" in value:
            return self.output(*value["$output"])
        if "$resource" in value:
            return self.handles[value["$resource"]]
        if _SIGNATURE in value:
            inner = value.get("value")
            if value[_SIGNATURE] == _SECRET and _refers(inner):
                return sw.secret(self.refer(inner))
            return parsed(value)
        return {key: self.refer(item) for key, item in value.items()}

    def output(self, handle: str, *path: str) -> Any:
        if handle == "inputs" and self.inputs is not None:
            value: Any = self.inputs
            for step in path:
                value = _stepper(step)(value)
            return value
        source = self.handles[handle]
        if isinstance(source, sw.Resource) and path == ("id",):
            return source.id
        if isinstance(source, sw.Resource) and path == ("urn",):
            return source.urn
        output = source[path[0]]
        for step in path[1:]:
            output = output.apply(_stepper(step))
        return output

    def options(self, goal: Message) -> Message:
        """Returns the options of a goal, named as in this binding."""
        options: Message = {}
        for name, value in goal.items():
            if name in ("type", "name", "custom", "remote", "inputs", "id", "propertyDependencies"):
                continue
            if name == "dependencies":
                options["depends_on"] = self.refer(value)
            elif name == "transforms":
                options["transforms"] = [self.functions.transform(transform) for transform in value]
            elif name == "resourceHooks":
                options["hooks"] = hooks_of(value)
            elif name == "package":
                options["package"] = package_of(value)
            elif name == "aliases":
                options["aliases"] = [
                    alias["urn"] if "urn" in alias else {snake(key): self.refer(part) for key, part in alias.items()}
                    for alias in value
                ]
            else:
                options[snake(name)] = self.refer(value)
        return options

    def perform(self, message: Message) -> Awaitable[Any]:
        """Starts a request of the director; returns the awaitable of its answer."""
        ctx = self.ctx
        goal: Message = message.get("goal") or {}
        match message["do"]:
            case "register":
                inputs = self.refer(goal.get("inputs") or {})
                register = ctx.resource if goal["custom"] else ctx.remote_component if goal.get("remote") else ctx.component
                resource = register(goal["type"], goal["name"], inputs, **self.options(goal))
                self.handles[message["as"]] = resource
                return _registered(resource)
            case "read":
                inputs = self.refer(goal.get("inputs") or {})
                resource = ctx.read(goal["type"], goal["name"], self.refer(goal["id"]), inputs, **self.options(goal))
                self.handles[message["as"]] = resource
                return _registered(resource)
            case "registerOutputs":
                component = self.refer(message["of"])
                return _answered(component.register_outputs(self.refer(message.get("outputs") or {})))
            case "invoke":
                options: Message = {name: self.refer(message[name]) for name in ("provider", "parent", "version") if name in message}
                options["depends_on"] = self.refer(message.get("dependsOn") or [])
                if "package" in message:
                    options["package"] = package_of(message["package"])
                invocation = ctx.invoke(message["token"], self.refer(message.get("arguments") or {}), **options)
                if "as" in message:
                    self.handles[message["as"]] = invocation
                return _invoked(invocation)
            case "exists":
                options = {name: self.refer(goal[name]) for name in ("provider", "parent") if name in goal}
                options["depends_on"] = self.refer(goal.get("dependsOn") or [])
                exists = ctx.exists(goal["type"], self.refer(goal["id"]), self.refer(goal.get("inputs") or {}), **options)
                self.handles[message["as"]] = {"exists": exists}
                return _found(exists)
            case "call":
                options = {name: self.refer(goal[name]) for name in ("provider", "version") if name in goal}
                of = self.refer(goal["of"]) if "of" in goal else None
                call = ctx.call(goal["token"], of, self.refer(goal.get("arguments") or {}), **options)
                if "as" in message:
                    self.handles[message["as"]] = call
                return _invoked(call)
            case "export":
                ctx.export(message["name"], self.refer(message["value"]))
                return now({})
            case "transform":
                if message["of"] == "invokes":
                    ctx.transform_invokes(self.functions.invoke_transform(message["name"]))
                else:
                    ctx.transform(self.functions.transform(message["name"]))
                return now({})
            case "registerHook":
                ctx.register_hook(self.functions.hook(message, ctx.dry_run))
                return now({})
            case "log":
                ctx.log(message["message"], severity=message["severity"])
                return now({})
            case "finish":
                if not self.finished.done():
                    self.finished.set_result(message)
                return now({})
            case other:
                raise ValueError(f"unknown request {other!r}")


    async def performed_here(self, message: Message) -> Any:
        """Starts a request of the director on the loop of the run, and returns its answer."""
        return await self.perform(message)

    async def result(self) -> sw.InvokeResult:
        """Waits for the end of the code of a component or a method; returns what it returns."""
        end = await self.finished
        if "error" in end:
            raise sw.ProviderError(end["error"])
        failures = [sw.CheckFailure(item["reason"], item["property"]) for item in end.get("failures") or []]
        return sw.InvokeResult(self.refer(end.get("outputs") or {}), failures)


def package_of(package: Message) -> Any:
    """Returns the plugin of a package, named as in this binding."""
    return {snake(name): value for name, value in package.items()}


def _refers(value: Any) -> bool:
    if isinstance(value, dict):
        return "$output" in value or any(_refers(item) for item in value.values())
    return isinstance(value, list) and any(_refers(item) for item in value)


def _stepper(step: str) -> Callable[[Any], Any]:
    def take(value: Any) -> Any:
        try:
            return value[int(step)] if isinstance(value, list) else value.get(step)
        except (ValueError, IndexError, AttributeError):
            return None

    return take


async def now(answer: Message) -> Message:
    return answer


async def _registered(resource: sw.Resource) -> Message:
    registered = (await resource).registered
    return {
        "urn": registered.urn,
        "id": registered.id,
        "outputs": json.loads(sw.to_json(registered.outputs)),
        "unknown": registered.unknown,
        "failed": registered.failed,
    }


async def _answered(work: Awaitable[object]) -> Message:
    await work
    return {}


async def _found(exists: sw.Output[bool]) -> Message:
    return {"result": json.loads(sw.to_json({"exists": await exists}))}


async def _invoked(invocation: sw.Invocation) -> Message:
    return {"result": json.loads(sw.to_json(await invocation))}
