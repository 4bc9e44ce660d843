"""Providers that forward all calls to the director of scenarios."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import stackwright as sw

from scenario_wire import Message, PendingCalls, parsed, plain

RunBody = Callable[[sw.Context, Message, Message], Awaitable[sw.InvokeResult]]
"""Runs the code of a component or a method: its context, its description, its inputs."""


def view_message(view: sw.View) -> Message:
    """Returns the JSON of a recorded view."""
    parent = {} if view.parent is None else {"parentType": view.parent[0], "parentName": view.parent[1]}
    values = {"inputs": plain(view.inputs), "outputs": plain(view.outputs)}
    return {"type": view.type, "name": view.name, **parent, **values}


def publish(about: Any, answer: Message) -> None:
    """Publishes the view steps of the director's answer."""

    def view(state: Message | None) -> sw.View | None:
        if state is None:
            return None
        inputs, outputs = parsed(state.get("inputs") or {}), parsed(state.get("outputs") or {})
        parent = (state["parentType"], state["parentName"]) if "parentName" in state else None
        return sw.View(state["type"], state["name"], inputs, outputs, parent)

    def step(item: Message) -> sw.ViewStep:
        detailed = item.get("detailedDiff")
        return sw.ViewStep(
            item["op"],
            view(item.get("new")),
            view(item.get("old")),
            type=item.get("type"),
            name=item.get("name"),
            keys=item.get("keys") or [],
            diffs=item.get("diffs") or [],
            detailed=None
            if detailed is None
            else {path: sw.PropertyDiff(diff["kind"], diff.get("inputDiff", False)) for path, diff in detailed.items()},
            status=item.get("status", "ok"),
            error=item.get("error", ""),
        )

    if answer.get("viewSteps"):
        about.publish_views([step(item) for item in answer["viewSteps"]])


_OPTIONS = {
    "delete_before_replace": "deleteBeforeReplace",
    "retain_on_delete": "retainOnDelete",
    "ignore_changes": "ignoreChanges",
    "replace_on_changes": "replaceOnChanges",
    "additional_secret_outputs": "additionalSecretOutputs",
    "depends_on": "dependencies",
    "deleted_with": "deletedWith",
    "replace_with": "replaceWith",
    "replacement_trigger": "replacementTrigger",
    "custom_timeouts": "customTimeouts",
}
"""Options of components that have other names in the protocol."""


class Forwarding:
    """A provider without ``delete`` that forwards all calls to the director."""

    accept_secrets = True
    supports_preview = True

    def __init__(self, calls: PendingCalls, package: str, run: RunBody, *, waits: bool = False) -> None:
        self._calls = calls
        self._run = run
        self._package = package
        self.waits_for_registrations = waits

    async def _ask(self, method: str, request: Message, about: Any = None) -> Any:
        if hasattr(about, "old_views"):
            request["oldViews"] = [view_message(view) for view in about.old_views]
        message = await self._calls.ask(self._package, method, request)
        error = message.get("error")
        if error is None:
            answer = message.get("ok") or {}
            publish(about, answer)
            return answer
        failed = error.get("initFailure")
        if failed is not None:
            publish(about, failed)
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
                "oldOutputs": None if request.old_outputs is None else plain(request.old_outputs),
                "news": plain(request.inputs),
                "preview": request.preview,
                "autonaming": None
                if request.autonaming is None
                else {"proposedName": request.autonaming.proposed_name, "mode": request.autonaming.mode},
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
            request,
        )
        return sw.CreateResult(
            answer.get("id", ""),
            parsed(answer.get("outputs") or {}),
            refresh_before_update=bool(answer.get("refreshBeforeUpdate")),
        )

    async def read(self, request: sw.ReadRequest) -> sw.ReadResult | None:
        answer = await self._ask(
            "read",
            {
                "urn": request.urn,
                "type": request.type,
                "name": request.name,
                "id": request.id,
                "inputs": None if request.inputs is None else plain(request.inputs),
                "outputs": None if request.outputs is None else plain(request.outputs),
                "timeout": request.timeout,
                "preview": request.preview,
            },
            request,
        )
        inputs, outputs = answer.get("inputs"), answer.get("outputs")
        if outputs is None:
            return None
        return sw.ReadResult(
            answer.get("id", ""),
            parsed(outputs),
            None if inputs is None else parsed(inputs),
            refresh_before_update=bool(answer.get("refreshBeforeUpdate")),
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
            request,
        )
        return sw.UpdateResult(
            parsed(answer.get("outputs") or {}),
            refresh_before_update=bool(answer.get("refreshBeforeUpdate")),
        )

    async def remove(self, request: sw.DeleteRequest) -> None:
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
            request,
        )

    async def invoke(self, request: sw.InvokeRequest) -> sw.InvokeResult:
        arguments = plain(request.arguments)
        answer = await self._ask("invoke", {"token": request.token, "arguments": arguments, "preview": request.preview})
        failures = [sw.CheckFailure(item["reason"], item.get("property", "")) for item in answer.get("failures") or []]
        return sw.InvokeResult(parsed(answer.get("result") or {}), failures)

    async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> sw.InvokeResult:
        inputs = plain(request.inputs)
        facts = {"type": request.type, "name": request.name, "parent": request.parent, "preview": request.preview}
        options = {_OPTIONS.get(name, name): value for name, value in request.options.items()}
        await self._ask("construct", {**facts, **options, "inputs": inputs})
        body = {"package": self._package, "method": "construct", "token": request.type, "name": request.name}
        return await self._run(ctx, {**body, "inputs": inputs}, request.inputs)

    async def call(self, ctx: sw.Context, request: sw.MethodRequest) -> sw.InvokeResult:
        values = {name: value for name, value in request.arguments.items() if name != "__self__"}
        arguments = plain(values)
        await self._ask("call", {"token": request.token, "arguments": arguments, "preview": request.preview})
        body = {"package": self._package, "method": "call", "token": request.token, "name": request.token}
        return await self._run(ctx, {**body, "inputs": arguments}, values)

    async def cancel(self) -> None:
        await self._ask("cancel", {})

    async def close(self) -> None:
        await self._ask("close", {})


class Deleting(Forwarding):
    """A forwarding provider with ``delete``."""

    async def delete(self, request: sw.DeleteRequest) -> None:
        await self.remove(request)


def forwarding(
    calls: PendingCalls, package: str, limits: Message, run: RunBody, *, waits: bool = False
) -> Forwarding:
    """Returns the provider of a package, with the declared limits."""
    made = Forwarding if limits.get("withoutDelete") else Deleting
    provider = made(calls, package, run, waits=waits)
    provider.accept_secrets = not limits.get("declinesSecrets")
    return provider
