"""The Python binding's actor for scenarios: forwards between the director and the public API, without checks.

The protocol is described in ``scenarios/PROTOCOL.md``: one JSON object on each line of standard input and output. With
``--sync``, the synchronous API is used.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
import logging
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import stackwright as sw

import scenario_sync
from scenario_functions import Functions, snake
from scenario_inspect import Reversal, document, inspect
from scenario_play import Play, now
from scenario_project import act
from scenario_provider import forwarding
from scenario_wire import Message, PendingCalls, Wire, failure


class Actor:
    """Plays scenarios one after the other, with engines that ``make_engine`` makes."""

    def __init__(self, make_engine: Callable[..., Any]) -> None:
        self.make_engine = make_engine
        self.wire = Wire()
        self.calls = PendingCalls(self.wire)
        self.functions = Functions(self.calls)
        self.programs = itertools.count(1)
        self.plays: dict[int, Play] = {}
        # Engines, stacks and operations are those of one of both interfaces.
        self.engine: Any = None
        # Open stacks and their operations, by stack name.
        self.stacks: dict[str, Any] = {}
        self.operations: dict[str, Any] = {}
        self.results: dict[int, sw.Result] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.over = asyncio.Event()

    def receive(self, line: str) -> None:
        """Handles one line. Its request is started before the next line is handled."""
        message = json.loads(line)
        if "call" in message:
            self.calls.answer(message)
            return
        try:
            work = self.begin(message)
        except Exception as error:  # noqa: BLE001  # reported to the director
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
        except BaseException as error:  # noqa: BLE001  # reported to the director
            self.wire.send({"id": id, "error": failure(error)})
        else:
            self.wire.send({"id": id, "ok": answer})

    def begin(self, message: Message) -> Awaitable[Any]:
        match message["do"]:
            case "hello":
                return now({"binding": "python", "references": "native", "plans": "kept", "hooks": True})
            case "open":
                return self.open(message)
            case "importState":
                return self.import_state(message)
            case "exportState":
                exported: Awaitable[Any] = self.stacks[message["stack"]].export_deployment(show_secrets=True)
                return exported
            case "inspect":
                assert self.engine is not None
                if message["part"] == "analysis":
                    return self.analysis(message)
                return inspect(self.engine, self.stacks, message)
            case "project":
                assert self.engine is not None
                return act(self.engine, self.stacks[message["stack"]], message)
            case "start":
                return self.start(message)
            case "cancel":
                if message["stack"] in self.operations:
                    self.operations[message["stack"]].cancel()
                return now({})
            case "close":
                return self.close()
            case "bye":
                self.over.set()
                return now({})
            case _:
                play = self.plays[message["program"]]
                if play.loop is asyncio.get_running_loop():
                    return play.perform(message)
                # The code of a component runs on the loop of the providers.
                return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(play.performed_here(message), play.loop))

    async def open(self, message: Message) -> Message:
        if self.engine is None:
            self.engine = self.new_engine(message)
        config = {
            key: sw.secret(entry["value"]) if entry.get("secret") else entry["value"]
            for key, entry in (message.get("config") or {}).items()
        }
        stack = message["stack"]
        name, supplied = f"{message['project']}/{stack}", message.get("deployment")
        folder = message.get("projectFolder")
        self.stacks[stack] = await self.engine.stack(name, self.program, config=config, deployment=supplied, project=folder)
        return {}

    def new_engine(self, message: Message) -> Any:
        waits, limits = message.get("waitsForRegistrations") or {}, message.get("limits") or {}
        providers = {
            package: forwarding(
                self.calls, package, limits.get(package) or {}, self.run_body, waits=waits.get(package, False)
            )
            for package in message.get("packages") or []
        }
        addresses: dict[str, str] = message.get("addresses") or {}
        commands = {
            name: [command["program"], *command["arguments"]]
            for name, command in (message.get("commands") or {}).items()
        }
        nested = message.get("nestedSecrets")
        return self.make_engine(
            **({} if nested is None else {"nested_secrets": nested}),
            store=message["store"],
            passphrase=message.get("passphrase"),
            secrets=Reversal(**message["secrets"]) if message.get("secrets") else None,
            providers=providers,
            plugins=sw.Plugins(commands=commands, call_timeouts=message.get("callTimeouts") or {}),
            resolver=(lambda request: addresses.get(request.name)) if addresses else None,
        )

    async def import_state(self, message: Message) -> Message:
        await self.stacks[message["stack"]].import_deployment(message["deployment"])
        return {}

    async def close(self) -> Message:
        engine, self.engine = self.engine, None
        self.stacks.clear()
        self.operations.clear()
        self.results.clear()
        if engine is not None:
            await engine.close()
        return {}

    def start(self, message: Message) -> Awaitable[Message]:
        stack = self.stacks[message["stack"]]
        named = {snake(name): value for name, value in (message.get("options") or {}).items()}
        if isinstance(moves := named.get("accept_moves"), list):
            named["accept_moves"] = [{snake(name): urn for name, urn in move.items()} for move in moves]
        if "planOf" in message:
            named["plan"] = self.results[message["planOf"]]
        if message["operation"] == "adopt":
            adoption = {snake(name): value for name, value in message["adoption"].items()}
            adopted = self.operations[message["stack"]] = stack.adopt_pending(**adoption, **named)
            return self.outcome(adopted, message["number"], message.get("deployment", False))
        policies = self.policies(message, named)
        if message["operation"] == "import":
            return self.imports(stack, message, named)
        starts = {"preview": stack.preview, "update": stack.up, "refresh": stack.refresh, "destroy": stack.destroy}
        begin: Any = starts[message["operation"]]
        operation = self.operations[message["stack"]] = begin(**named, policies=policies or None)
        return self.outcome(operation, message["number"], message.get("deployment", False))

    def policies(self, message: Message, options: Message) -> list[sw.Policy]:
        """Returns the policies of the chosen packs that are functions of this actor."""
        packs = message.get("policyPacks") or {}
        chosen = [pack["name"] for option in ("required_policies", "local_policy_packs") for pack in options.get(option) or []]
        return [policy for name in chosen if name in packs for policy in self.functions.policies(packs[name])]

    async def analysis(self, message: Message) -> Message:
        """Answers what packs of policies find in the state."""
        options = {snake(name): value for name, value in message["options"].items()}
        packs = message.get("policyPacks") or {}
        elsewhere = [pack for pack in options["local_policy_packs"] if pack["name"] not in packs]
        stack = self.stacks[message["stack"]]
        return {"found": document(await stack.analyze([*self.policies(message, options), *elsewhere]))}

    def imports(self, stack: Any, message: Message, named: Message) -> Awaitable[Message]:
        request = message["request"]
        given = {snake(name): request[name] for name in ("protect", "nameTable", "generateCode") if name in request}
        rows = [
            {
                snake(name): sw.from_json(json.dumps(value)) if name in ("inputs", "outputs") else value
                for name, value in row.items()
            }
            for row in request.get("resources", [])
        ]
        operation = stack.import_resources(request.get("file", rows), **given, **named)
        self.operations[message["stack"]] = operation
        return self.outcome(operation, message["number"], message.get("deployment", False))

    async def outcome(self, operation: Any, number: int, wants_deployment: bool) -> Message:
        events = [event.json async for event in operation]
        result = self.results[number] = await operation.wait()
        return {
            "imported": None if result.imported is None else reported(result.imported),
            "deployment": result.deployment() if wants_deployment else None,
            "plan": result.plan,
            "outcome": result.outcome,
            "error": None if result.error is None else failure(result.error),
            "changes": dict(result.changes),
            "droppedPending": document(result.dropped_pending),
            "outputs": {name: described(output) for name, output in result.outputs.items()},
            "events": events,
            "texts": texts(result),
        }

    async def program(self, ctx: sw.Context) -> None:
        number = next(self.programs)
        play = self.plays[number] = Play(ctx, self.functions)
        config = {
            "config": {key: ctx.config.secret(key).value for key in ctx.config},
            "configSecretKeys": [key for key in ctx.config if ctx.config.is_secret(key)],
        }
        self.wire.send({"program": number, "preview": ctx.dry_run, "stack": ctx.stack, **config})
        try:
            end = await play.finished
        except asyncio.CancelledError:
            self.wire.send({"programEnded": number})
            raise
        if "error" in end:
            raise RuntimeError(end["error"])

    async def run_body(self, ctx: sw.Context, body: Message, inputs: Message) -> sw.InvokeResult:
        """Runs the code of a component or a method on the loop of the providers."""
        number = next(self.programs)
        play = self.plays[number] = Play(ctx, self.functions, inputs)
        self.wire.send({"program": number, "preview": ctx.dry_run, "stack": ctx.stack, "body": body})
        try:
            return await play.result()
        except asyncio.CancelledError:
            self.wire.send({"programEnded": number})
            raise


def reported(report: sw.ImportReport) -> Message:
    """Returns the report of an import with its values in plain form."""
    resources = [
        {
            **dataclasses.asdict(dataclasses.replace(resource, error=None, inputs={}, outputs={})),
            "inputs": json.loads(sw.to_json(resource.inputs)),
            "outputs": json.loads(sw.to_json(resource.outputs)),
            "error": None if resource.error is None else failure(resource.error),
        }
        for resource in report.resources
    ]
    code = {camel(name): text for name, text in dataclasses.asdict(report.code).items()}
    configuration = {key: value.value for key, value in report.configuration.items()}
    return {"resources": resources, "code": code, "configuration": configuration}


def texts(result: sw.Result) -> list[str]:
    """Returns all further texts of a result that users may see."""
    found = [str(result), repr(result), result._repr_html_(), repr(result.outputs), repr(result.steps), repr(result.diagnostics)]
    if (error := result.error) is not None:
        # Its cause is an exception of the actor.
        found += [str(error), repr(error), *traceback.format_exception(error, chain=False)]
    return found


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def described(output: sw.OutputValue[Any]) -> Message:
    """Returns an output with its value in plain form."""
    return {**json.loads(sw.to_json({"value": output.value})), "secret": output.secret}


async def main() -> None:
    loop = asyncio.get_running_loop()
    actor = Actor(scenario_sync.engine if "--sync" in sys.argv else sw.Engine)

    def listen() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(actor.receive, line)
        # After "bye" the loop may be closed before the input ends.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(actor.over.set)

    threading.Thread(target=listen, daemon=True).start()
    await actor.over.wait()
    if actor.tasks:
        await asyncio.wait(actor.tasks, timeout=1)


if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    asyncio.run(main())
