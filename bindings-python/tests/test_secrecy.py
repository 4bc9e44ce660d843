"""Exceptions, events and logs never contain a secret that a program or a provider has received."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Callable

import pytest

import stackwright as sw

RUNS = 10
"""Number of runs of each program, each on a new stack, because a leak would depend on the order of threads."""


class Echo:
    """Creates resources with their inputs as outputs."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        return sw.CreateResult(f"id-{request.name}", request.inputs)

    def delete(self, request: sw.DeleteRequest) -> None:
        pass

    def invoke(self, request: sw.InvokeRequest) -> sw.InvokeResult:
        return sw.InvokeResult({"text": f"it is {request.arguments['token']}"})


async def visible_text(program: Any, number: int) -> str:
    """Runs a program on a new stack; returns the texts of its events, result and error."""
    async with sw.Engine(store="memory://", providers={"echo": Echo()}) as engine:
        stack = await engine.stack(f"shop/s{number}", program)
        operation = stack.up()
        seen = [repr(event) async for event in operation.events()]
        try:
            result = await operation
        except sw.StackwrightError as error:
            return "\n".join([*seen, str(error), repr(error), *(str(hint) for hint in error.hints)])
        return "\n".join([*seen, repr(result), str(result.diagnostics)])


def resource_and_raise(ctx: sw.Context) -> None:
    ctx.resource("echo:index:Thing", "a", {"token": sw.Secret("tulip-mania")})
    raise RuntimeError("the token is tulip-mania")


def options_and_raise(ctx: sw.Context) -> None:
    first = ctx.resource("echo:index:Thing", "a")
    ctx.resource("echo:index:Thing", "b", {"token": {"in": [sw.Secret("tulip-mania")]}}, depends_on=[first])
    raise RuntimeError("the token is tulip-mania")


def export_and_raise(ctx: sw.Context) -> None:
    ctx.export("token", sw.Secret("tulip-mania"))
    raise RuntimeError("the token is tulip-mania")


def invoke_and_raise(ctx: sw.Context) -> None:
    ctx.invoke("echo:index:echo", {"token": sw.Secret("tulip-mania")})
    raise RuntimeError("the token is tulip-mania")


def make_and_raise(ctx: sw.Context) -> None:
    sw.secret({"token": ["tulip-mania"]})
    raise RuntimeError("the token is tulip-mania")


def make_and_log(ctx: sw.Context) -> None:
    ctx.secret("tulip-mania")
    ctx.log("the token is tulip-mania")


async def later_and_raise(ctx: sw.Context) -> None:
    await asyncio.sleep(0)
    sw.secret("tulip-mania")
    raise RuntimeError("the token is tulip-mania")


def sdk_and_log() -> None:
    import pulumi

    pulumi.Output.secret("tulip-mania")
    pulumi.log.info("the token is tulip-mania")


def sdk_later() -> None:
    import pulumi

    async def token() -> str:
        return "tulip-mania"

    def fail(value: Any) -> None:
        raise RuntimeError(f"the token is {value['in'][0]}")

    pulumi.export("token", pulumi.Output.secret({"in": [token()]}).apply(fail))


def sdk_and_raise() -> None:
    import pulumi

    pulumi.Output.secret(["tulip-mania"])
    raise RuntimeError("the token is tulip-mania")


PROGRAMS: list[Callable[..., Any]] = [
    resource_and_raise,
    options_and_raise,
    export_and_raise,
    invoke_and_raise,
    make_and_raise,
    make_and_log,
    later_and_raise,
    sdk_and_log,
    sdk_and_raise,
    sdk_later,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_no_text_contains_a_secret_of_the_program(program: Callable[..., Any]) -> None:
    if program.__name__.startswith("sdk"):
        pytest.importorskip("pulumi")
    for number in range(RUNS):
        text = asyncio.run(visible_text(program, number))
        assert "tulip-mania" not in text
        assert "the token is [secret]" in text


def test_the_result_of_a_function_with_a_secret_argument_is_secret() -> None:
    def program(ctx: sw.Context) -> None:
        ctx.export("text", ctx.invoke("echo:index:echo", {"token": sw.secret("tulip-mania")})["text"])

    async def main() -> sw.Result:
        async with sw.Engine(store="memory://", providers={"echo": Echo()}) as engine:
            stack = await engine.stack("shop/dev", program)
            return await stack.up()

    assert asyncio.run(main()).outputs["text"] == sw.OutputValue("it is tulip-mania", True)


def test_the_log_of_a_provider_has_no_text_of_an_exception(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Echo):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            try:
                raise KeyError(request.inputs["token"])
            except KeyError as error:
                raise ValueError(f"bad token {request.inputs['token']}") from error

    def program(ctx: sw.Context) -> None:
        ctx.resource("echo:index:Thing", "a", {"token": sw.secret("tulip-mania")})

    caplog.set_level(logging.DEBUG, logger="stackwright.provider")

    async def main() -> None:
        async with sw.Engine(store="memory://", providers={"echo": Failing()}) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()

    with pytest.raises(sw.StackwrightError) as raised:
        asyncio.run(main())
    assert "tulip-mania" not in str(raised.value)
    assert "ValueError" in caplog.text and "test_secrecy.py" in caplog.text
    assert "tulip-mania" not in caplog.text


def test_the_message_of_a_failed_program_is_its_summary_also_with_a_secret_in_it() -> None:
    async def main() -> str:
        async with sw.Engine(store="memory://") as engine:
            stack = await engine.stack("shop/dev", make_and_raise)
            with pytest.raises(sw.ProgramError) as raised:
                await stack.up()
            return str(raised.value)

    text = asyncio.run(main())
    assert "the token is [secret]" in text and "Traceback" not in text
