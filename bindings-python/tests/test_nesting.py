"""Cyclic values and values that are nested too deep: errors name their path."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import stackwright as sw

from conftest import MakeEngine, Memory

THING = "mem:index:Thing"


def cycle() -> dict[str, Any]:
    """Returns a dictionary that is contained in its own list."""
    tree: dict[str, Any] = {"name": "root"}
    tree["children"] = [{"parent": tree}]
    return tree


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"d": value}
    return value


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside an output"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (cycle(), "the inputs of \"b\": x.children[0].parent: leads back to x, and a value cannot contain itself"),
        (sw.secret(cycle()), "the inputs of \"b\": x.children[0].parent: leads back to x, and"),
        (deep(10_000), "the inputs of \"b\": x.d.d.d…d.d.d.d: is nested more than 400 levels deep"),
    ],
    ids=["cycle", "secret cycle", "deep"],
)
def test_errors_of_cyclic_and_too_deep_inputs_name_the_path(
    make_engine: MakeEngine, memory: Memory, value: object, expected: str, beside: bool
) -> None:
    async def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, "a", {"x": 1})
        # The registration raises, and the run fails although the program handles the error.
        inputs = {"x": value, "of": a["x"]} if beside else {"x": value}
        with pytest.raises(sw.InvalidInputError) as caught:
            await ctx.resource(THING, "b", inputs)
        assert str(caught.value).startswith(expected)

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            result = await (await engine.stack("shop/dev", program)).up().wait()
            assert expected in str(result.error) and result.changes == {"create": 2}

    asyncio.run(run())


def test_every_function_that_takes_values_refuses_cycles(make_engine: MakeEngine, memory: Memory) -> None:
    class Endless(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            return sw.CreateResult("id", {"out": cycle()})

    async def fails(program: sw.Program, expected: str) -> None:
        result = await (await engine.stack("shop/dev", program)).up().wait()
        assert result.error is not None and "RecursionError" not in str(result.error)
        texts = [str(result.error), *(found.message for found in result.diagnostics)]
        assert any(expected in text for text in texts), texts

    engine = make_engine(mem=memory, endless=Endless())

    async def run() -> None:
        async with engine:
            place = "children[0].parent: leads back to"
            await fails(lambda ctx: ctx.export("tree", cycle()), f"the stack output \"tree\": {place} the stack output \"tree\"")
            await fails(lambda ctx: ctx.invoke("mem:index:echo", {"x": cycle()}), f"the arguments of \"mem:index:echo\": x.{place} x")
            await fails(lambda ctx: ctx.resource("endless:index:Thing", "a"), f"out.{place} out")

            async def applied(ctx: sw.Context) -> None:
                a = ctx.resource(THING, "a", {"x": 1})
                ctx.resource(THING, "b", {"of": a["x"].apply(lambda _: cycle())})

            await fails(applied, f"the inputs of \"b\": of.{place} of")
            with pytest.raises(sw.InvalidInputError, match="config: the value of shop:x contains itself, or is nested"):
                await engine.stack("shop/dev", config={"x": cycle()})
            stack = await engine.stack("shop/dev", lambda ctx: None)
            with pytest.raises(sw.InvalidInputError, match="plan: the value is nested too deep, or contains itself"):
                stack.up(cycle())
            with pytest.raises(sw.InvalidInputError, match="deployment.*: the value is nested too deep, or contains itself"):
                await stack.import_deployment(cycle())

    asyncio.run(run())


def test_a_value_may_occur_in_several_places(make_engine: MakeEngine, memory: Memory) -> None:
    shared = {"tags": ["a", "b"]}

    async def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, "a", {"left": shared, "right": [shared, shared]})
        ctx.resource(THING, "b", {"left": shared, "right": [shared, shared], "of": a["left"]})

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            await (await engine.stack("shop/dev", program)).up()
            wanted = {"left": shared, "right": [shared, shared]}
            assert list(memory.things.values()) == [wanted, {**wanted, "of": shared}]

    asyncio.run(run())
