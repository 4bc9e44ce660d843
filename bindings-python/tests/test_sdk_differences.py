"""Versions of the Pulumi SDK whose private parts differ: transforms and hooks of programs work, through the server of the SDK where they need it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pulumi
import pytest
import stackwright as sw
from pulumi.runtime import _callbacks

from conftest import MakeEngine, Memory, on_loop
from listeners import listeners

pytestmark = pytest.mark.skipif(not hasattr(pulumi, "ResourceHook"), reason="this version of the SDK has no hooks")
Args = Any
"""The arguments of transforms and hooks, whose classes older versions of the SDK lack."""
Patch = pytest.MonkeyPatch
Servicer: Any = _callbacks._CallbackServicer


def class_renamed(monkeypatch: Patch) -> None:
    init = Servicer.__init__

    def __init__(self: Any, monitor: Any) -> None:
        # It finds itself by its name.
        vars(_callbacks)["_CallbackServicer"] = Servicer
        try:
            init(self, monitor)
        finally:
            del vars(_callbacks)["_CallbackServicer"]

    monkeypatch.setattr(Servicer, "__init__", __init__)
    monkeypatch.delattr(_callbacks, "_CallbackServicer")


def fields_renamed(monkeypatch: Patch) -> None:
    init = Servicer.__init__

    def __init__(self: Any, monitor: Any) -> None:
        self.functions = None
        init(self, monitor)

    def keep(self: Any, functions: Any) -> None:
        assert self.functions is None
        self.functions = functions

    monkeypatch.setattr(Servicer, "__init__", __init__)
    monkeypatch.setattr(Servicer, "_callbacks", property(lambda self: self.functions, keep), raising=False)


def needs_server(method: str) -> Callable[[Patch], None]:
    """Has a method need the server of its object."""

    def change(monkeypatch: Patch) -> None:
        original = getattr(Servicer, method)

        def changed(self: Any, *given: Any) -> Any:
            assert self._server is not None
            return original(self, *given)

        monkeypatch.setattr(Servicer, method, changed)

    return change


def hook_method_renamed(monkeypatch: Patch) -> None:
    """Renames the method for hooks; what the SDK calls has the new name."""
    original = Servicer.register_resource_hook
    resource: Any = pulumi.runtime.resource
    get = resource._get_callbacks

    class Renamed:
        """What the SDK sees of the object."""

        def __init__(self, servicer: Any) -> None:
            self.servicer = servicer

        def __getattr__(self, name: str) -> Any:
            if name == "register_resource_hook":
                return self.servicer.register_hook
            return getattr(self.servicer, name)

    async def renamed() -> Any:
        return Renamed(await get())

    monkeypatch.setattr(Servicer, "register_hook", original, raising=False)
    monkeypatch.delattr(Servicer, "register_resource_hook")
    monkeypatch.setattr(resource, "_get_callbacks", renamed)


def functions_blocking(monkeypatch: Patch) -> None:
    """Keeps functions that are no coroutines, which the engine could not await."""
    register, invoke = Servicer.register_resource_hook, Servicer.Invoke

    def changed(self: Any, hook: Any) -> Any:
        register(self, hook)
        token, function = list(self._callbacks.items())[-1]
        self._callbacks[token] = lambda request: function(request)

    monkeypatch.setattr(Servicer, "register_resource_hook", changed)
    monkeypatch.setattr(Servicer, "Invoke", invoke)


SERVER = {
    "class renamed": class_renamed,
    "fields renamed": fields_renamed,
    "transforms need the server": needs_server("register_transform"),
    "stack transforms need the server": needs_server("register_stack_transform"),
    "invoke transforms need the server": needs_server("register_invoke_transform"),
    "hooks need the server": needs_server("register_resource_hook"),
    "error hooks need the server": needs_server("register_error_hook"),
    "functions are not asynchronous": functions_blocking,
}
DIRECT: dict[str, Callable[[Patch], None]] = {"no difference": lambda _: None, "hook method renamed": hook_method_renamed}


class Thing(pulumi.CustomResource):
    def __init__(self, name: str, props: dict[str, Any], opts: Any = None) -> None:
        super().__init__("mem:index:Thing", name, props, opts)


class Flaky(Memory):
    """Fails the first creation."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if self.count("attempt") < 1:
            self.note("attempt", request.name)
            raise sw.ProviderError("attempt 1 failed")
        return super().create(request)


@pytest.mark.parametrize("difference", [*DIRECT, *SERVER])
@on_loop
async def test_all_kinds_of_functions_work(make_engine: MakeEngine, monkeypatch: Patch, difference: str) -> None:
    {**DIRECT, **SERVER}[difference](monkeypatch)
    before = listeners()
    calls: list[str] = []
    listening: list[bool] = []

    def trail(mark: str) -> Callable[[Args], Any]:
        def transform(args: Args) -> Any:
            if "trail" not in args.props:
                return None
            return pulumi.ResourceTransformResult({**args.props, "trail": pulumi.Output.concat(args.props["trail"], ",", mark)}, args.opts)

        return transform

    def note(args: Args) -> None:
        calls.append(f"created {args.name}")
        listening.append(bool(listeners() - before))

    def retry(args: Args) -> bool:
        calls.append(f"failed {args.name}")
        return True

    def doubled(args: Args) -> Any:
        return pulumi.InvokeTransformResult({"x": args.args["x"] * 2}, args.opts)

    def program() -> None:
        pulumi.runtime.register_resource_transform(trail("stack"))
        pulumi.runtime.register_invoke_transform(doubled)
        hooks = pulumi.ResourceHookBinding(after_create=[pulumi.ResourceHook("note", note)])
        if hasattr(pulumi, "ErrorHook"):
            hooks.on_error = [pulumi.ErrorHook("retry", retry)]
        Thing("a", {"trail": "made"}, pulumi.ResourceOptions(transforms=[trail("own")], hooks=hooks))
        pulumi.export("x", pulumi.runtime.invoke("mem:index:echo", {"x": 3}).value["echo"]["x"])

    memory = Flaky() if hasattr(pulumi, "ErrorHook") else Memory()
    async with make_engine(mem=memory) as engine:
        result = await (await engine.stack("shop/dev", program)).up()
    assert result.outputs["x"].value == 6
    assert [thing["trail"] for thing in memory.things.values()] == ["made,own,stack"]
    assert calls == (["failed a"] if hasattr(pulumi, "ErrorHook") else []) + ["created a"]
    assert listening == [difference in SERVER]


@pytest.mark.parametrize("difference", ["no difference", "class renamed", "stack transforms need the server"])
@on_loop
async def test_functions_of_the_code_of_a_component_work(
    make_engine: MakeEngine, memory: Memory, monkeypatch: Patch, difference: str
) -> None:
    {**DIRECT, **SERVER}[difference](monkeypatch)
    before = listeners()
    calls: list[str] = []

    class Boxes(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Any:
            return await ctx.run_sdk(build)

    def build(_inputs: Any) -> dict[str, Any]:
        created, deleted = (pulumi.ResourceHook(name, lambda args: calls.append(args.name)) for name in ("created", "deleted"))
        hooks = pulumi.ResourceHookBinding(after_create=[created], before_delete=[deleted])
        options = pulumi.ResourceOptions(hooks=hooks, transforms=[lambda args: calls.append("own")])
        Thing("a" if pulumi.Config().get("gone") is None else "b", {}, options)
        return {}

    async def program(ctx: sw.Context) -> None:
        ctx.remote_component("box:index:Box", "box")

    async with make_engine(mem=memory, box=Boxes()) as engine:
        await (await engine.stack("shop/dev", program)).up()
        assert calls == ["own", "a"]
        # The hook of what is deleted runs when the code has ended.
        await (await engine.stack("shop/dev", program, config={"gone": "yes"})).up()
        assert calls == ["own", "a", "own", "b", "a"]
    # The threads of the code end after the run.
    for thread in threading.enumerate():
        if thread.name == "stackwright code of shop/dev":
            await asyncio.to_thread(thread.join, 20)
            assert not thread.is_alive()
    assert listeners() <= before, "the servers of the SDK are closed"
