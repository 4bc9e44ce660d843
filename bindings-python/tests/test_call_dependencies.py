"""What uses the result of a function or a method depends on the resources that its arguments come from."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import stackwright as sw

from conftest import MakeEngine, Memory, on_loop, states

Use = Callable[[sw.Context, sw.Resource], sw.Output[sw.PropertyValue]]

CALLS: dict[str, Use] = {
    "function": lambda ctx, first: ctx.invoke("things:index:echo", {"a": first["made"]})["echo"],
    "function that depends on a resource": lambda ctx, first: ctx.invoke("things:index:echo", {"a": 1}, depends_on=[first])["echo"],
    "method": lambda ctx, first: ctx.call("things:index:Thing/see", None, {"a": first["made"]})["plain"],
    "method of the resource": lambda ctx, first: ctx.call("things:index:Thing/see", first)["plain"],
    "method with a source of its own": lambda ctx, first: ctx.call("things:index:Thing/make", None, {})["made"],
}


class Things(Memory):
    def call(self, ctx: sw.Context, request: sw.MethodRequest) -> dict[str, sw.PropertyValue]:
        self.note("call", request.token)
        if request.token.endswith("/see"):
            return {"plain": 1}
        return {"made": ctx.resource("things:index:Thing", "first", {"size": 1})["made"]}


def program(use: Use, makes: bool, **options: sw.PropertyValue) -> sw.Program:
    async def run(ctx: sw.Context) -> None:
        # The method of the last case makes this one.
        first = None if makes else ctx.resource("things:index:Thing", "first", {"size": 1})
        ctx.resource("things:index:Thing", "user", {"of": use(ctx, first)})  # type: ignore[arg-type]

    return run


@pytest.mark.parametrize("name", CALLS)
@on_loop
async def test_what_uses_a_result_is_deleted_before_what_the_result_comes_from(make_engine: MakeEngine, name: str) -> None:
    things = Things()
    async with make_engine(things=things) as engine:
        stack = await engine.stack("shop/dev", program(CALLS[name], name.endswith("own")))
        await stack.up()
        known = states(await stack.export_deployment())
        assert known["user"]["dependencies"] == [known["first"]["urn"]]
        assert known["user"]["propertyDependencies"] == {"of": [known["first"]["urn"]]}
        assert dict((await stack.up()).changes) == {"same": 3}
        await stack.destroy()
        assert [name for method, name in things.calls if method == "delete"] == ["user", "first"]


@pytest.mark.parametrize("name", CALLS)
@on_loop
async def test_a_target_that_uses_a_result_is_refused_while_the_source_does_not_exist(make_engine: MakeEngine, name: str) -> None:
    things = Things()
    async with make_engine(things=things) as engine:
        stack = await engine.stack("shop/dev", program(CALLS[name], name.endswith("own")))
        with pytest.raises(sw.StackwrightError, match="which does not exist yet and is not among the targets"):
            await stack.up(targets=["**user"])
        assert things.things == {}


@pytest.mark.parametrize("name", [name for name in CALLS if not name.endswith("own")])
@on_loop
async def test_what_uses_a_result_is_left_out_when_the_source_has_failed(make_engine: MakeEngine, name: str) -> None:
    class Failing(Things):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            if request.name == "first":
                raise RuntimeError("no room")
            return super().create(request)

    things = Failing()
    async with make_engine(things=things) as engine:
        stack = await engine.stack("shop/dev", program(CALLS[name], False))
        with pytest.raises(sw.StackwrightError, match="no room"):
            await stack.up(continue_on_error=True)
        assert things.things == {}


@on_loop
async def test_the_result_of_a_function_is_unknown_while_its_source_does_not_exist(make_engine: MakeEngine) -> None:
    things = Things()
    seen: list[object] = []

    async def run(ctx: sw.Context) -> None:
        first = ctx.resource("things:index:Thing", "first", {"size": 1})
        called = ctx.invoke("things:index:echo", {"a": first["made"]})
        seen.extend([sw.is_unknown(await called["echo"]), await called])
        ctx.resource("things:index:Thing", "user", {"of": await called["echo"]})

    async with make_engine(things=things) as engine:
        stack = await engine.stack("shop/dev", run)
        with pytest.raises(sw.StackwrightError, match="the input 'of' of the resource '.*::user' is unknown"):
            await stack.up(targets=["**user"])
        assert (seen, things.calls) == ([True, {}], [])
