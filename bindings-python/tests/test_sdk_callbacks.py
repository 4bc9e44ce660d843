"""Transforms and hooks of programs of the Pulumi SDK: called directly, and through the SDK's own server where its parts differ."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pulumi
import pytest
import stackwright as sw
from pulumi.runtime import _callbacks

from conftest import MakeEngine, Memory, on_loop, states
from listeners import listeners

has_hooks = pytest.mark.skipif(not hasattr(pulumi, "ResourceHook"), reason="this version of the SDK has no hooks")
has_error_hooks = pytest.mark.skipif(not hasattr(pulumi, "ErrorHook"), reason="this version of the SDK has no error hooks")
Args = Any
"""The arguments of transforms and hooks, whose classes older versions of the SDK lack."""


@pytest.fixture(params=["direct", "server"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Has the tests run with direct calls, and as with a version of the SDK whose functions need its server."""
    if request.param == "server":
        hide(monkeypatch)
    yield request.param


def hide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the SDK's object unusable without its server, as a later version might."""
    register = _callbacks._CallbackServicer.register_transform

    def changed(self: Any, transform: Any) -> Any:
        assert self._server is not None
        return register(self, transform)

    monkeypatch.setattr(_callbacks._CallbackServicer, "register_transform", changed)


class Thing(pulumi.CustomResource):
    made: pulumi.Output[bool]

    def __init__(self, name: str, props: dict[str, Any], opts: Any = None) -> None:
        super().__init__("mem:index:Thing", name, {"made": None, **props}, opts)


class Box(pulumi.ComponentResource):
    def __init__(self, name: str, opts: Any = None) -> None:
        super().__init__("box:index:Box", name, {}, opts)
        self.inner = Thing(f"{name}-inner", {"trail": "made"}, pulumi.ResourceOptions(parent=self, transforms=[trail("own")]))
        self.register_outputs({})


def trail(mark: str) -> Callable[[Args], Any]:
    """Returns an asynchronous transform that adds its mark to the input ``trail`` of things."""

    async def transform(args: Args) -> Any:
        await asyncio.sleep(0)
        if "trail" not in args.props:
            return None
        return pulumi.ResourceTransformResult({**args.props, "trail": pulumi.Output.concat(args.props["trail"], ",", mark)}, args.opts)

    return transform


@on_loop
async def test_transforms_apply_from_the_resource_to_the_stack(make_engine: MakeEngine, memory: Memory, way: str) -> None:
    def program() -> None:
        pulumi.runtime.register_resource_transform(trail("stack"))
        Box("box", pulumi.ResourceOptions(transforms=[trail("component")]))
        Thing("plain", {"trail": "made"})

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.preview()
        assert (await stack.up()).changes == {"create": 4}
        trails = {id.rsplit("-", 1)[0]: thing["trail"] for id, thing in memory.things.items()}
        assert trails == {"box-inner": "made,own,component,stack", "plain": "made,stack"}
        assert (await stack.up()).changes == {"same": 4}
        await stack.destroy()
        assert not memory.things


@on_loop
async def test_a_transform_changes_inputs_and_options(make_engine: MakeEngine, memory: Memory, way: str) -> None:
    def hardened(args: Args) -> Any:
        assert args.type_ == "mem:index:Thing" and args.name == "a" and args.custom
        opts = pulumi.ResourceOptions.merge(
            args.opts, pulumi.ResourceOptions(protect=True, additional_secret_outputs=["token"], ignore_changes=["size"])
        )
        return pulumi.ResourceTransformResult({**args.props, "token": "hunter2"}, opts)

    def program() -> None:
        first = Thing("first", {})
        Thing("a", {"of": first.made, "secret": pulumi.Output.secret("s3cr3t")}, pulumi.ResourceOptions(transforms=[hardened]))

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        thing = states(await stack.export_deployment())["a"]
        assert thing["protect"] and thing["additionalSecretOutputs"] == ["token"] and thing["ignoreChanges"] == ["size"]
        assert thing["inputs"]["of"] is True and "hunter2" not in str(thing["outputs"]) and "s3cr3t" not in str(thing)
        assert thing["dependencies"] == [states(await stack.export_deployment())["first"]["urn"]]


@on_loop
async def test_a_transform_of_invokes_changes_their_arguments(make_engine: MakeEngine, memory: Memory, way: str) -> None:
    async def doubled(args: Any) -> Any:
        await asyncio.sleep(0)
        assert args.token == "mem:index:echo"
        return pulumi.InvokeTransformResult({**args.args, "x": args.args["x"] * 2}, args.opts)

    def program() -> None:
        pulumi.runtime.register_invoke_transform(doubled)
        pulumi.export("blocking", pulumi.runtime.invoke("mem:index:echo", {"x": 3}).value["echo"]["x"])
        echo = pulumi.runtime.invoke_output("mem:index:echo", {"x": pulumi.Output.from_input(4)})
        pulumi.export("output", echo.apply(lambda value: value["echo"]["x"]))

    async with make_engine(mem=memory) as engine:
        outputs = sw.unwrap((await (await engine.stack("shop/dev", program)).up()).outputs)
        assert outputs == {"blocking": 6, "output": 8}


@on_loop
async def test_a_transform_that_raises_is_named_with_its_resource(make_engine: MakeEngine, memory: Memory, way: str) -> None:
    def broken(args: Args) -> Any:
        raise ValueError(f"{args.name} is not allowed")

    def program() -> None:
        Thing("bad", {}, pulumi.ResourceOptions(transforms=[trail("first"), broken]))

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        with pytest.raises(sw.ProgramError, match=r"transform 2 of resource 'bad'.*bad is not allowed") as caught:
            await stack.up()
        assert not memory.things
        if way == "direct":
            assert isinstance(caught.value.__cause__, ValueError), "what the transform raised is the cause"
            assert 'raise ValueError(f"{args.name} is not allowed")' in str(caught.value), "the line is shown"
            assert "stackwright/_sdk" not in str(caught.value) and "runtime/_callbacks" not in str(caught.value)
        await (await engine.stack("shop/dev", lambda: pulumi.export("x", 1))).up()


class Boxes(sw.Provider):
    """Constructs a component of the host with one thing."""

    async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> dict[str, Any]:
        lid = ctx.resource("mem:index:Thing", f"{request.name}-lid", {"size": request.inputs["size"], "trail": "made"})
        return {"size": lid["size"]}


class Remote(pulumi.ComponentResource):
    size: pulumi.Output[int]

    def __init__(self, name: str, size: int, opts: Any = None) -> None:
        super().__init__("remote:index:Box", name, {"size": size}, opts, remote=True)


@on_loop
async def test_transforms_reach_a_remote_component_and_what_is_below_it(
    make_engine: MakeEngine, memory: Memory, way: str
) -> None:
    def larger(args: Args) -> Any:
        if args.type_ != "remote:index:Box":
            return None
        size = pulumi.Output.from_input(args.props["size"]).apply(lambda size: int(size) + 1)
        return pulumi.ResourceTransformResult({**args.props, "size": size}, args.opts)

    def program() -> None:
        pulumi.runtime.register_resource_transform(trail("stack"))
        made = Remote("box", 3, pulumi.ResourceOptions(transforms=[larger, trail("component")]))
        pulumi.export("size", made.size)

    async with make_engine(mem=memory, remote=Boxes()) as engine:
        stack = await engine.stack("shop/dev", program)
        assert (await stack.up()).outputs["size"].value == 4
        lid = states(await stack.export_deployment())["box-lid"]
        assert lid["inputs"] == {"size": 4, "trail": "made,component,stack"}


MOMENTS = ("before_create", "after_create", "before_update", "after_update", "before_delete", "after_delete")


@has_hooks
@on_loop
async def test_hooks_run_around_each_step(make_engine: MakeEngine, memory: Memory, way: str) -> None:
    calls: list[tuple[str, Any, Any, Any, Any]] = []

    def hook(moment: str) -> Any:
        async def run(args: Args) -> None:
            await asyncio.sleep(0)
            assert args.name == "a" and args.type == "mem:index:Thing" and args.urn.endswith("::a")
            values = (args.new_inputs, args.old_inputs, args.new_outputs, args.old_outputs)
            new, old, new_outputs, old_outputs = (None if not value else value.get("size") for value in values)
            calls.append((moment, new, old, new_outputs, old_outputs))

        return pulumi.ResourceHook(moment, run)

    def program() -> None:
        hooks = pulumi.ResourceHookBinding(**{moment: [hook(moment)] for moment in MOMENTS})
        size = int(pulumi.Config().require("size"))
        Thing("other", {})
        if size:
            Thing("a", {"size": size}, pulumi.ResourceOptions(hooks=hooks))

    def exists() -> bool:
        return any(id.startswith("a-") for id in memory.things)

    async with make_engine(mem=memory) as engine:

        async def up(size: int) -> sw.Stack:
            stack = await engine.stack("shop/dev", program, config={"size": str(size)})
            await stack.preview()
            assert not calls, "hooks do not run in previews"
            await stack.up()
            return stack

        await up(1)
        assert calls == [("before_create", 1, None, None, None), ("after_create", 1, None, 1, None)]
        calls.clear()
        stack = await up(2)
        assert calls == [("before_update", 2, 1, None, 1), ("after_update", 2, 1, 2, 1)]
        calls.clear()
        with pytest.raises(sw.StackwrightError, match="delete hooks"):
            await stack.destroy()
        assert exists() and not calls
        # The program ends only when the hooks of what it no longer registers have run.
        await up(0)
        assert calls == [("before_delete", None, 2, None, 2), ("after_delete", None, 2, None, 2)]
        assert not exists()
        calls.clear()
        stack = await up(3)
        calls.clear()
        await stack.destroy(destroy_program=True)
        assert [call[0] for call in calls] == ["before_delete", "after_delete"] and not memory.things


class Crate(pulumi.ComponentResource):
    def __init__(self, size: int, opts: Any) -> None:
        super().__init__("box:index:Crate", "crate", {"size": size}, opts)
        self.register_outputs({"size": size})


@has_hooks
@on_loop
async def test_hooks_of_a_component_get_its_outputs_and_those_of_a_replacement_run_around_both_steps(
    make_engine: MakeEngine, memory: Memory, way: str
) -> None:
    calls: list[tuple[str, str, Any]] = []

    def hook(moment: str) -> Any:
        def run(args: Args) -> None:
            outputs = args.new_outputs or args.old_outputs or {}
            calls.append((args.name, moment, outputs.get("size")))

        return pulumi.ResourceHook(moment, run)

    def program() -> None:
        hooks = pulumi.ResourceHookBinding(**{moment: [hook(moment)] for moment in MOMENTS})
        size = int(pulumi.Config().require("size"))
        if size:
            Crate(size, pulumi.ResourceOptions(hooks=hooks))
            Thing("a", {"size": size}, pulumi.ResourceOptions(hooks=hooks, replace_on_changes=["size"]))

    async with make_engine(mem=memory) as engine:

        async def up(size: int) -> dict[str, list[tuple[str, Any]]]:
            calls.clear()
            stack = await engine.stack("shop/dev", program, config={"size": str(size)})
            await stack.up(allow_empty=True)
            return {name: [call[1:] for call in calls if call[0] == name] for name in ("crate", "a")}

        created = [("before_create", None), ("after_create", 1)]
        assert await up(1) == {"crate": created, "a": created}
        replaced = [("before_create", None), ("after_create", 2), ("before_delete", 1), ("after_delete", 1)]
        assert await up(2) == {"crate": [("before_update", 1), ("after_update", 2)], "a": replaced}
        deleted = [("before_delete", 2), ("after_delete", 2)]
        assert await up(0) == {"crate": deleted, "a": deleted}


@has_hooks
@on_loop
async def test_hooks_run_in_previews_and_failures_are_ignored_where_their_options_say_so(
    make_engine: MakeEngine, memory: Memory, way: str
) -> None:
    calls: list[str] = []

    def program() -> None:
        def run(args: Args) -> None:
            calls.append("dry" if pulumi.runtime.is_dry_run() else "up")
            raise ValueError("not now")

        always = pulumi.ResourceHookOptions(on_dry_run=True, ignore_errors=True)
        hook = pulumi.ResourceHook("always", run, always)
        Thing("a", {}, pulumi.ResourceOptions(hooks=pulumi.ResourceHookBinding(before_create=[hook])))

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        for result, expected in ((await stack.preview(), ["dry"]), (await stack.up(), ["dry", "up"])):
            warnings = [found.message for found in result.diagnostics if found.severity == "warning"]
            assert any("not now" in warning and '"always"' in warning for warning in warnings)
            assert calls[: len(expected)] == expected
        assert len(memory.things) == 1


@has_hooks
@on_loop
async def test_a_hook_that_raises_before_a_creation_prevents_it(make_engine: MakeEngine, memory: Memory, way: str) -> None:
    def program() -> None:
        def refuse(args: Args) -> None:
            raise ValueError("the window is closed")

        hook = pulumi.ResourceHook("window", refuse)
        Thing("a", {}, pulumi.ResourceOptions(hooks=pulumi.ResourceHookBinding(before_create=[hook])))

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        with pytest.raises(sw.FailedError, match=r'before hook "window" failed: the window is closed'):
            await stack.up()
        assert not memory.things


@has_hooks
@on_loop
async def test_a_hook_after_a_creation_fails_the_run_and_keeps_the_resource(
    make_engine: MakeEngine, memory: Memory, way: str
) -> None:
    def program() -> None:
        def refuse(args: Args) -> None:
            raise ValueError("no answer")

        hook = pulumi.ResourceHook("probe", refuse)
        Thing("a", {}, pulumi.ResourceOptions(hooks=pulumi.ResourceHookBinding(after_create=[hook])))

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        with pytest.raises(sw.FailedError, match=r'after hook "probe" failed: no answer'):
            await stack.up()
        assert "a" in states(await stack.export_deployment()) and len(memory.things) == 1


class Flaky(Memory):
    """Fails the first two creations."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if self.count("attempt") < 2:
            self.note("attempt", request.name)
            raise sw.ProviderError(f"attempt {self.count('attempt')} failed")
        return super().create(request)


@has_error_hooks
@on_loop
async def test_an_error_hook_decides_how_often_a_creation_is_tried(make_engine: MakeEngine, way: str) -> None:
    asked: list[tuple[str, list[str]]] = []

    def program() -> None:
        async def retry(args: Args) -> bool:
            asked.append((args.failed_operation, args.errors))
            await asyncio.sleep(0.001)
            return len(args.errors) <= int(pulumi.Config().require("retries"))

        hook = pulumi.ErrorHook("retry", retry)
        Thing("a", {}, pulumi.ResourceOptions(hooks=pulumi.ResourceHookBinding(on_error=[hook])))

    provider = Flaky()
    async with make_engine(mem=provider) as engine:
        stack = await engine.stack("shop/dev", program, config={"retries": "2"})
        await stack.up()
        assert [operation for operation, _ in asked] == ["create", "create"] and len(provider.things) == 1
        assert [len(errors) for _, errors in asked] == [1, 2] and "attempt 2" in asked[1][1][0]
        stack = await engine.stack("shop/other", program, config={"retries": "0"})
        provider.calls.clear()
        with pytest.raises(sw.FailedError, match="attempt 1 failed"):
            await stack.up()


@has_hooks
@on_loop
async def test_hooks_see_their_own_program(make_engine: MakeEngine, memory: Memory, way: str) -> None:
    if way == "server" and "_loop" not in _callbacks._CallbackServicer.__annotations__:
        pytest.skip("a program of this version of the SDK stops the servers of all others in the process when it ends")
    color: contextvars.ContextVar[str] = contextvars.ContextVar("color", default="none")
    seen: list[tuple[str, str, str]] = []

    def program() -> None:
        color.set(f"of {pulumi.get_stack()}")

        def run(args: Args) -> None:
            seen.append((args.name, pulumi.get_stack(), color.get()))

        for index in range(5):
            hook = pulumi.ResourceHook(f"hook-{index}", run)
            binding = pulumi.ResourceHookBinding(after_create=[hook])
            Thing(f"{pulumi.get_stack()}-{index}", {}, pulumi.ResourceOptions(hooks=binding))

    async with make_engine(mem=memory) as engine:
        stacks = [await engine.stack(f"shop/s{number}", program) for number in range(4)]
        await asyncio.gather(*(stack.up() for stack in stacks))
    assert sorted(seen) == [(f"s{n}-{i}", f"s{n}", f"of s{n}") for n in range(4) for i in range(5)]


@on_loop
async def test_a_cancelled_operation_cancels_a_transform_that_waits(make_engine: MakeEngine, memory: Memory) -> None:
    begun, ended = threading.Event(), threading.Event()

    async def endless(args: Args) -> Any:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    def program() -> None:
        Thing("a", {}, pulumi.ResourceOptions(transforms=[endless]))

    async with make_engine(mem=memory) as engine:
        operation = (await engine.stack("shop/dev", program)).up()
        assert await asyncio.to_thread(begun.wait, 20)
        operation.cancel()
        assert isinstance((await operation.wait()).error, sw.CancelledError)
        assert await asyncio.to_thread(ended.wait, 20) and not memory.things


@on_loop
async def test_direct_calls_need_no_listening_socket(make_engine: MakeEngine, memory: Memory, way: str) -> None:
    before = listeners()
    found: list[set[str]] = []

    def count(args: Any) -> None:
        found.append(listeners() - before)

    def program() -> None:
        pulumi.runtime.register_resource_transform(count)
        # The SDK keeps one token for a function, of which kind it ever is.
        pulumi.runtime.register_invoke_transform(lambda args: count(args))
        opts = pulumi.ResourceOptions(transforms=[lambda args: count(args)])
        if hasattr(pulumi, "ResourceHook"):
            opts.hooks = pulumi.ResourceHookBinding(before_create=[pulumi.ResourceHook("hook", count)])
        Thing("a", {}, opts)
        pulumi.runtime.invoke("mem:index:echo", {"x": 1})

    async with make_engine(mem=memory) as engine:
        await (await engine.stack("shop/dev", program)).up()
    # The stack itself has no transforms. Invokes have one, the resource has two and a hook.
    assert len(found) == (4 if hasattr(pulumi, "ResourceHook") else 3)
    assert all(bool(sockets) == (way == "server") for sockets in found)
    assert listeners() <= before, "the SDK's server is closed as well"


@on_loop
async def test_code_of_components_and_methods_needs_no_listening_socket(
    make_engine: MakeEngine, memory: Memory, way: str
) -> None:
    before = listeners()
    found: dict[str, set[str]] = {}

    def count(where: str) -> None:
        found[where] = listeners() - before

    def code(where: str) -> Callable[[Any], dict[str, Any]]:
        def build(_inputs: Any) -> dict[str, Any]:
            count(f"{where} begins")
            opts = pulumi.ResourceOptions(transforms=[lambda args: count(f"transform in {where}")])
            if hasattr(pulumi, "ResourceHook"):
                hook = pulumi.ResourceHook(f"hook {where}", lambda args: count(f"hook in {where}"))
                opts.hooks = pulumi.ResourceHookBinding(before_create=[hook])
            return {"made": Thing(f"{where}-thing", {}, opts).made}

        return build

    class Boxes(sw.Provider):
        async def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Any:
            return await ctx.run_sdk(code("construct"))

        async def call(self, ctx: sw.Context, request: sw.MethodRequest) -> Any:
            return await ctx.run_sdk(code("call"))

    async def program(ctx: sw.Context) -> None:
        await ctx.run_sdk(code("program"))
        box = ctx.remote_component("box:index:Box", "box")
        assert (await ctx.call("box:index:Box/open", box))["made"] is True

    async with make_engine(mem=memory, box=Boxes()) as engine:
        await (await engine.stack("shop/dev", program)).up()
    kinds = ["transform", "hook"] if hasattr(pulumi, "ResourceHook") else ["transform"]
    wheres = ["program", "construct", "call"]
    assert found.keys() == {f"{where} begins" for where in wheres} | {f"{kind} in {where}" for kind in kinds for where in wheres}
    assert not found["program begins"], "nothing listens before the first function"
    functions = {where: sockets for where, sockets in found.items() if " in " in where}
    assert all(bool(sockets) == (way == "server") for sockets in functions.values()), functions
    # The threads of the code end after the run.
    for thread in threading.enumerate():
        if thread.name == "stackwright code of shop/dev":
            await asyncio.to_thread(thread.join, 20)
    assert listeners() <= before, "the SDK's servers are closed as well"


@on_loop
async def test_a_transform_cannot_give_a_resource_to_the_provider_of_another_package(
    make_engine: MakeEngine, memory: Memory, way: str
) -> None:
    class Other(pulumi.ProviderResource):
        def __init__(self) -> None:
            super().__init__("other", "p")

    changes = False

    def program() -> None:
        other = Other()

        def elsewhere(args: Args) -> Any:
            merged = pulumi.ResourceOptions.merge(args.opts, pulumi.ResourceOptions(provider=other))
            return pulumi.ResourceTransformResult(args.props, merged)

        Thing("a", {"size": 1}, pulumi.ResourceOptions(transforms=[elsewhere] if changes else []))

    async with make_engine(mem=memory, other=Memory()) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        changes = True
        failed = (await stack.up().wait()).error
        assert 'provider is a provider of the package "other" for the package "mem"' in str(failed)
        await stack.destroy()
        assert not memory.things
