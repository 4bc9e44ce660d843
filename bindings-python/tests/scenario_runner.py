"""The Python face's actor for behaviour stories: forwards between the director and the public API, and judges nothing.

The protocol is described in ``scenarios/PROTOCOL.md``: one JSON object on each line of standard input and output.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import json
import re
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import stackwright as sw

Message = dict[str, Any]


class Wire:
    """Standard output: whole lines, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        line = json.dumps(message) + "\n"
        with self._lock:
            sys.stdout.write(line)
            sys.stdout.flush()


def plain(value: Any) -> Any:
    """Returns a value in the engine's plain JSON form."""
    return json.loads(sw.to_json({"value": value}))["value"]


def parsed(value: Any) -> Any:
    """Returns what a value in plain JSON form stands for."""
    return sw.from_json(json.dumps({"value": value}))["value"]


def failure(error: BaseException) -> Message:
    if isinstance(error, sw.Error):
        facts = {"urn": error.urn, "provider": error.provider, "phase": error.phase}
        given = {name: value for name, value in facts.items() if value is not None}
        return {"kind": error.kind, "message": error.message, **given}
    return {"kind": "actor", "message": f"{type(error).__name__}: {error}"}


class Forwarding:
    """A provider whose every method is answered by the director."""

    accept_secrets = True
    supports_preview = True

    def __init__(self, actor: Actor, package: str) -> None:
        self._actor = actor
        self._package = package

    async def _ask(self, method: str, request: Message) -> Any:
        number = next(self._actor.calls)
        answer: concurrent.futures.Future[Message] = concurrent.futures.Future()
        self._actor.asked[number] = answer
        self._actor.wire.send({"call": number, "package": self._package, "method": method, "request": request})
        try:
            message = await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            self._actor.wire.send({"abandoned": number})
            raise
        finally:
            self._actor.asked.pop(number, None)
        error = message.get("error")
        if error is None:
            return message.get("ok") or {}
        failed = error.get("initFailure")
        if failed is not None:
            raise sw.InitFailure(
                failed.get("id", ""),
                parsed(failed.get("outputs") or {}),
                failed.get("reasons") or [],
                inputs=None if failed.get("inputs") is None else parsed(failed["inputs"]),
            )
        raise sw.ProviderError(error["message"], status=sw.Status(error["status"]))

    async def _check(self, method: str, request: sw.CheckRequest) -> sw.CheckResult:
        answer = await self._ask(
            method,
            {
                "urn": request.urn,
                "type": request.type,
                "name": request.name,
                "olds": None if request.old_inputs is None else plain(request.old_inputs),
                "news": plain(request.inputs),
                "preview": request.preview,
            },
        )
        failures = [sw.CheckFailure(item["reason"], item.get("property", "")) for item in answer.get("failures") or []]
        return sw.CheckResult(parsed(answer.get("inputs") or {}), failures)

    async def check_config(self, request: sw.CheckRequest) -> sw.CheckResult:
        return await self._check("checkConfig", request)

    async def check(self, request: sw.CheckRequest) -> sw.CheckResult:
        return await self._check("check", request)

    async def _diff(self, method: str, request: sw.DiffRequest) -> sw.DiffResult:
        answer = await self._ask(
            method,
            {
                "urn": request.urn,
                "type": request.type,
                "name": request.name,
                "id": request.id,
                "oldInputs": plain(request.old_inputs),
                "oldOutputs": plain(request.old_outputs),
                "news": plain(request.inputs),
                "ignoreChanges": request.ignore_changes,
                "preview": request.preview,
            },
        )
        detailed = answer.get("detailedDiff")
        return sw.DiffResult(
            {"none": False, "some": True}.get(answer.get("changes", "unknown")),
            replaces=answer.get("replaces") or [],
            diffs=answer.get("diffs") or [],
            stables=answer.get("stables") or [],
            detailed=None
            if detailed is None
            else {path: sw.PropertyDiff(item["kind"], item.get("inputDiff", False)) for path, item in detailed.items()},
            delete_before_replace=answer.get("deleteBeforeReplace", False),
        )

    async def diff_config(self, request: sw.DiffRequest) -> sw.DiffResult:
        return await self._diff("diffConfig", request)

    async def diff(self, request: sw.DiffRequest) -> sw.DiffResult:
        return await self._diff("diff", request)

    async def configure(self, request: sw.ConfigureRequest) -> None:
        facts = {"urn": request.urn, "name": request.name, "id": request.id}
        await self._ask("configure", {**facts, "inputs": plain(request.inputs)})

    async def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        answer = await self._ask(
            "create",
            {
                "urn": request.urn,
                "type": request.type,
                "name": request.name,
                "inputs": plain(request.inputs),
                "timeout": request.timeout,
                "preview": request.preview,
            },
        )
        return sw.CreateResult(answer.get("id", ""), parsed(answer.get("outputs") or {}))

    async def read(self, request: sw.ReadRequest) -> sw.ReadResult | None:
        answer = await self._ask(
            "read",
            {
                "urn": request.urn,
                "type": request.type,
                "name": request.name,
                "id": request.id,
                "inputs": plain(request.inputs),
                "outputs": plain(request.outputs),
                "timeout": request.timeout,
                "preview": request.preview,
            },
        )
        if not answer.get("id"):
            return None
        inputs, outputs = answer.get("inputs"), answer.get("outputs")
        return sw.ReadResult(
            answer["id"],
            None if outputs is None else parsed(outputs),
            None if inputs is None else parsed(inputs),
        )

    async def update(self, request: sw.UpdateRequest) -> sw.UpdateResult:
        answer = await self._ask(
            "update",
            {
                "urn": request.urn,
                "type": request.type,
                "name": request.name,
                "id": request.id,
                "oldInputs": plain(request.old_inputs),
                "oldOutputs": plain(request.old_outputs),
                "news": plain(request.inputs),
                "ignoreChanges": request.ignore_changes,
                "timeout": request.timeout,
                "preview": request.preview,
            },
        )
        return sw.UpdateResult(parsed(answer.get("outputs") or {}))

    async def delete(self, request: sw.DeleteRequest) -> None:
        await self._ask(
            "delete",
            {
                "urn": request.urn,
                "type": request.type,
                "name": request.name,
                "id": request.id,
                "inputs": plain(request.inputs),
                "outputs": plain(request.outputs),
                "timeout": request.timeout,
            },
        )

    async def invoke(self, request: sw.InvokeRequest) -> sw.InvokeResult:
        arguments = plain(request.arguments)
        answer = await self._ask("invoke", {"token": request.token, "arguments": arguments, "preview": request.preview})
        failures = [sw.CheckFailure(item["reason"], item.get("property", "")) for item in answer.get("failures") or []]
        return sw.InvokeResult(parsed(answer.get("result") or {}), failures)

    async def cancel(self) -> None:
        await self._ask("cancel", {})

    async def close(self) -> None:
        await self._ask("close", {})


class Play:
    """One run of the program: what the director has said so far, by its handles."""

    def __init__(self, ctx: sw.Context) -> None:
        self.ctx = ctx
        self.handles: dict[str, sw.Resource | sw.Invocation] = {}
        self.finished: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    def refer(self, value: Any) -> Any:
        """Puts the face's own outputs and values in the place of what a message has for them."""
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

    def output(self, handle: str, *path: str) -> sw.Output[Any]:
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
        """Returns the options of a goal by the face's names."""
        options: Message = {}
        for name, value in goal.items():
            if name in ("type", "name", "custom", "inputs", "id", "propertyDependencies"):
                continue
            if name == "dependencies":
                options["depends_on"] = self.refer(value)
            elif name == "aliases":
                options["aliases"] = [
                    alias["urn"] if "urn" in alias else {_snake(key): self.refer(part) for key, part in alias.items()}
                    for alias in value
                ]
            else:
                options[_snake(name)] = self.refer(value)
        return options


_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"


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


def _snake(name: str) -> str:
    return re.sub("([A-Z])", lambda match: "_" + match[1].lower(), name)


class Actor:
    """Plays stories, one after the other."""

    def __init__(self) -> None:
        self.wire = Wire()
        self.calls = itertools.count(1)
        self.asked: dict[int, concurrent.futures.Future[Message]] = {}
        self.programs = itertools.count(1)
        self.plays: dict[int, Play] = {}
        self.engine: sw.Engine | None = None
        self.stack: sw.Stack | None = None
        self.operation: sw.Operation | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.over = asyncio.Event()

    def hear(self, line: str) -> None:
        """Takes one line: what it asks for is begun before the next is taken."""
        message = json.loads(line)
        if "call" in message:
            answer = self.asked.get(message["call"])
            if answer is not None and not answer.done():
                answer.set_result(message)
            return
        try:
            work = self.begin(message)
        except Exception as error:  # noqa: BLE001  # the director judges
            self.wire.send({"id": message["id"], "error": failure(error)})
            return
        task = asyncio.get_running_loop().create_task(self.finish(message["id"], work))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def finish(self, id: int, work: Awaitable[Any]) -> None:
        try:
            answer = await work
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001  # the director judges
            self.wire.send({"id": id, "error": failure(error)})
        else:
            self.wire.send({"id": id, "ok": answer})

    def begin(self, message: Message) -> Awaitable[Any]:
        match message["do"]:
            case "hello":
                return _now({"face": "python", "references": "native"})
            case "open":
                return self.open(message)
            case "importState":
                return self.import_state(message["deployment"])
            case "exportState":
                return self.required().export_deployment(show_secrets=True)
            case "start":
                return self.start(message["operation"], message.get("options") or {})
            case "cancel":
                if self.operation is not None:
                    self.operation.cancel()
                return _now({})
            case "close":
                return self.close()
            case "bye":
                self.over.set()
                return _now({})
            case _:
                return self.perform(self.plays[message["program"]], message)

    def required(self) -> sw.Stack:
        assert self.stack is not None, "no stack is open"
        return self.stack

    async def open(self, message: Message) -> Message:
        providers = {package: Forwarding(self, package) for package in message.get("packages") or []}
        self.engine = sw.Engine(store=message["store"], passphrase=message.get("passphrase"), providers=providers)
        config = {
            key: sw.secret(entry["value"]) if entry.get("secret") else entry["value"]
            for key, entry in (message.get("config") or {}).items()
        }
        name = f"{message['project']}/{message['stack']}"
        self.stack = await self.engine.stack(name, self.program, config=config)
        return {}

    async def import_state(self, deployment: Message) -> Message:
        await self.required().import_deployment(deployment)
        return {}

    async def close(self) -> Message:
        engine, self.engine, self.stack, self.operation = self.engine, None, None, None
        if engine is not None:
            await engine.close()
        return {}

    def start(self, operation: str, options: Message) -> Awaitable[Message]:
        stack = self.required()
        named = {_snake(name): value for name, value in options.items()}
        starts = {"preview": stack.preview, "update": stack.up, "refresh": stack.refresh, "destroy": stack.destroy}
        begin: Any = starts[operation]
        self.operation = begin(**named)
        return self.outcome(self.operation)

    async def outcome(self, operation: sw.Operation) -> Message:
        events = [event.json async for event in operation]
        result = await operation.wait()
        return {
            "outcome": result.outcome,
            "error": None if result.error is None else failure(result.error),
            "changes": dict(result.changes),
            "outputs": json.loads(sw.to_json(result.outputs)),
            "events": events,
        }

    async def program(self, ctx: sw.Context) -> None:
        number = next(self.programs)
        play = self.plays[number] = Play(ctx)
        self.wire.send({"program": number, "preview": ctx.dry_run})
        try:
            error = await play.finished
        except asyncio.CancelledError:
            self.wire.send({"programEnded": number})
            raise
        if error is not None:
            raise RuntimeError(error)

    def perform(self, play: Play, message: Message) -> Awaitable[Any]:
        ctx = play.ctx
        goal: Message = message.get("goal") or {}
        match message["do"]:
            case "register":
                inputs = play.refer(goal.get("inputs") or {})
                register = ctx.resource if goal["custom"] else ctx.component
                resource = register(goal["type"], goal["name"], inputs, **play.options(goal))
                play.handles[message["as"]] = resource
                return _registered(resource)
            case "read":
                inputs = play.refer(goal.get("inputs") or {})
                resource = ctx.read(goal["type"], goal["name"], play.refer(goal["id"]), inputs, **play.options(goal))
                play.handles[message["as"]] = resource
                return _registered(resource)
            case "registerOutputs":
                component = play.refer(message["of"])
                return _answered(component.register_outputs(play.refer(message.get("outputs") or {})))
            case "invoke":
                options: Message = {name: play.refer(message[name]) for name in ("provider", "parent", "version") if name in message}
                options["depends_on"] = play.refer(message.get("dependsOn") or [])
                invocation = ctx.invoke(message["token"], play.refer(message.get("arguments") or {}), **options)
                if "as" in message:
                    play.handles[message["as"]] = invocation
                return _invoked(invocation)
            case "export":
                ctx.export(message["name"], play.refer(message["value"]))
                return _now({})
            case "log":
                ctx.log(message["message"], severity=message["severity"])
                return _now({})
            case "finish":
                if not play.finished.done():
                    play.finished.set_result(message.get("error"))
                return _now({})
            case other:
                raise ValueError(f"unknown request {other!r}")


async def _now(answer: Message) -> Message:
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


async def _invoked(invocation: sw.Invocation) -> Message:
    return {"result": json.loads(sw.to_json(await invocation))}


async def main() -> None:
    loop = asyncio.get_running_loop()
    actor = Actor()

    def listen() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(actor.hear, line)
        loop.call_soon_threadsafe(actor.over.set)

    threading.Thread(target=listen, daemon=True).start()
    await actor.over.wait()
    if actor.tasks:
        await asyncio.wait(actor.tasks, timeout=1)


if __name__ == "__main__":
    asyncio.run(main())
