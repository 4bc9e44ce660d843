"""Each way in which a transform or a hook of an SDK program fails, where it is called directly: what the user reads, and the state."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pulumi
import pytest
import stackwright as sw

from conftest import MakeEngine, Memory, on_loop, states

DEADLINE = 0.3
"""How long a function may take, in seconds."""

OVERDUE = f"it did not return within {DEADLINE} s, which is the operation's callback timeout"

Function = Callable[[Any], Any]


class Fragile(Memory):
    """Creates nothing that is called `fragile`."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        self.note("tried", request.name)
        if request.name == "fragile":
            raise sw.ProviderError("no such wood")
        return super().create(request)


class Thing(pulumi.CustomResource):
    def __init__(self, name: str, opts: Any = None) -> None:
        super().__init__("mem:index:Thing", name, {"size": 1}, opts)


def own(function: Function) -> None:
    Thing("a", pulumi.ResourceOptions(transforms=[lambda args: None, function]))


def of_the_stack(function: Function) -> None:
    pulumi.runtime.register_resource_transform(function)
    Thing("a")


def of_invokes(function: Function) -> None:
    pulumi.runtime.register_invoke_transform(function)
    pulumi.export("x", pulumi.runtime.invoke_output("mem:index:echo", {"x": 1}))


def hooked(moment: str, hook: Any, name: str = "a") -> None:
    Thing(name, pulumi.ResourceOptions(hooks=pulumi.ResourceHookBinding(**{moment: [hook]})))


def before(function: Function) -> None:
    hooked("before_create", pulumi.ResourceHook("guard", function))


def after(function: Function) -> None:
    hooked("after_create", pulumi.ResourceHook("guard", function))


def on_error(function: Function) -> None:
    hooked("on_error", pulumi.ErrorHook("retry", function), "fragile")


HEADS: dict[Callable[[Function], None], str] = {
    own: "transform 2 of resource 'a': ",
    of_the_stack: "transform 1 of the stack for resource 'a': ",
    of_invokes: "invoke of mem:index:echo failed: invoke transform: transform 1 of function 'mem:index:echo': ",
    before: 'resource `a` (mem:index:Thing): before hook "guard" failed: ',
    after: 'resource `a` (mem:index:Thing): after hook "guard" failed: ',
    on_error: "resource `fragile` (mem:index:Thing), create by provider `mem`: error hooks execution failed: "
    'error hook "retry" failed: ',
}
NEEDED: dict[Callable[[Function], None], str] = {before: "ResourceHook", after: "ResourceHook", on_error: "ErrorHook"}
"""What older versions of the SDK lack."""

TRANSFORMS, HOOKS = (own, of_the_stack, of_invokes), (before, after, on_error)


def raises(args: Any) -> Any:
    raise ValueError("the window is closed")


def refuses(args: Any) -> Any:
    raise PermissionError


def exits(args: Any) -> Any:
    sys.exit(3)


async def hangs(args: Any) -> Any:
    await asyncio.sleep(3600)


def returns(value: Any) -> Function:
    return lambda args: value


def result(**changed: Any) -> Function:
    """Returns a transform whose result has values of wrong types."""

    def transform(args: Any) -> Any:
        if hasattr(args, "token"):
            return pulumi.InvokeTransformResult(**{"args": args.args, "opts": args.opts, **changed})
        return pulumi.ResourceTransformResult(**{"props": args.props, "opts": args.opts, **changed})

    return transform


FAILURES = [
    *[(use, raises, "ValueError: the window is closed") for use in TRANSFORMS],
    *[(use, raises, "the window is closed") for use in HOOKS],
    # The SDK itself takes the empty text of a plain exception for a success.
    *[(use, refuses, "PermissionError") for use in HEADS],
    *[(use, exits, "SystemExit: 3") for use in HEADS],
    *[(use, hangs, OVERDUE) for use in HEADS],
    (own, returns(7), "AttributeError: 'int' object has no attribute 'props'"),
    (of_the_stack, returns({"props": {}}), "AttributeError: 'dict' object has no attribute 'props'"),
    (of_invokes, returns("yes"), "AttributeError: 'str' object has no attribute 'args'"),
    (own, result(props=7), "TypeError: 'int' object is not iterable"),
    (of_invokes, result(args=7), "TypeError: 'int' object is not iterable"),
    (own, result(opts=7), "AttributeError: 'int' object has no attribute 'aliases'"),
    (of_invokes, result(opts=7), "AttributeError: 'int' object has no attribute "),
    (own, result(props={"x": object()}), "ValueError: While processing input: 'x'"),
    (of_invokes, result(args={"x": object()}), "ValueError: While processing input: 'x'"),
    (on_error, returns("yes"), "'str' object cannot be interpreted as an integer"),
]


def require(use: Callable[[Function], None]) -> None:
    needed = NEEDED.get(use)
    if needed is not None and not hasattr(pulumi, needed):
        pytest.skip(f"this version of the SDK has no {needed}")


def named(value: Any) -> str | None:
    return value.__name__ if callable(value) else None


@pytest.mark.parametrize(("use", "function", "text"), FAILURES, ids=named)
@on_loop
async def test_a_failed_function_is_named_with_its_resource_and_the_state_stays_valid(
    make_engine: MakeEngine, use: Callable[[Function], None], function: Function, text: str
) -> None:
    require(use)
    provider = Fragile()
    fails = True

    def program() -> None:
        Thing("other")
        use(function if fails else returns(None))

    async with make_engine(mem=provider) as engine:
        stack = await engine.stack("shop/dev", program)
        with pytest.raises(sw.StackwrightError) as caught:
            await stack.up(callback_timeout=DEADLINE)
        error = caught.value
        assert HEADS[use] + text in str(error)
        assert error.kind == ("program" if use in TRANSFORMS else "failed")
        if use is on_error:
            assert str(error).endswith("; the step had failed with: no such wood")
            assert provider.calls.count(("tried", "fragile")) == 1, "it is not tried again"
        if use in TRANSFORMS and function is not hangs:
            assert type(error.__cause__).__name__ in text, "what was raised is the cause"

        deployment = await stack.export_deployment()
        assert not deployment["deployment"].get("pending_operations")
        # A hook after a creation keeps what was created; nothing else that failed is recorded.
        assert {"a", "fragile"} & set(states(deployment)) == ({"a"} if use is after else set())
        made = {record["id"] for record in states(deployment).values() if record["type"] == "mem:index:Thing"}
        assert made == set(provider.things)

        # The next run goes on, also where what failed to be created still fails.
        fails = False
        if use is on_error:
            with pytest.raises(sw.FailedError, match="no such wood"):
                await stack.up()
        else:
            await stack.up()
        await stack.destroy()
        assert provider.things == {}


@pytest.mark.parametrize("use", HEADS, ids=named)
@on_loop
async def test_an_answer_after_the_deadline_changes_nothing(make_engine: MakeEngine, use: Callable[[Function], None]) -> None:
    require(use)
    answered: list[Any] = []
    provider = Fragile()

    async def late(args: Any) -> Any:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            # A function that goes on although it is cancelled.
            answered.append(args)
        if use is on_error:
            return True
        if use is of_invokes:
            return pulumi.InvokeTransformResult({"x": 2}, args.opts)
        return pulumi.ResourceTransformResult({"size": 2}, args.opts) if use in TRANSFORMS else None

    async with make_engine(mem=provider) as engine:
        stack = await engine.stack("shop/dev", lambda: use(late))
        with pytest.raises(sw.StackwrightError) as caught:
            await stack.up(callback_timeout=DEADLINE)
        assert HEADS[use] + OVERDUE in str(caught.value)
        assert len(answered) == 1
        assert [thing["size"] for thing in provider.things.values()] == ([1] if use is after else [])
        assert provider.count("tried") == (1 if use in (after, on_error) else 0) and provider.count("invoke") == 0
        await stack.destroy()
        assert provider.things == {}
