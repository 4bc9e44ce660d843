"""Physical names that the host's autonamer proposes, and the ``autonaming`` of the provider's check."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import stackwright as sw

THING = "mem:index:Thing"


class Named:
    """Uses the proposed name as the id; records proposals by resource name."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[str, str] | None] = {}

    def check(self, request: sw.CheckRequest) -> sw.CheckResult:
        naming = request.autonaming
        self.seen[request.name] = None if naming is None else (naming.proposed_name, naming.mode)
        return sw.CheckResult({**request.inputs, "called": naming.proposed_name if naming else "mine"})

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        return sw.CreateResult(str(request.inputs["called"]), request.inputs)

    def delete(self, request: sw.DeleteRequest) -> None:
        pass


def program(ctx: sw.Context) -> None:
    for name in ("text", "whole", "own"):
        ctx.resource(THING, name)


@pytest.mark.parametrize("is_async", [True, False])
def test_the_host_proposes_physical_names(is_async: bool) -> None:
    asked: list[sw.NamingRequest] = []

    def name(request: sw.NamingRequest) -> sw.ProposedName | str | None:
        asked.append(request)
        assert len(request.random_seed) == 32 and request.type == THING and not request.preview
        if request.name == "text":
            return "text-1"
        if request.name == "whole":
            return sw.ProposedName("whole-1", "enforce", delete_before_replace=True)
        return None

    async def name_async(request: sw.NamingRequest) -> sw.ProposedName | str | None:
        await asyncio.sleep(0)
        return name(request)

    async def run() -> None:
        provider = Named()
        autonamer: Any = name_async if is_async else name
        async with sw.Engine(store="memory://", passphrase="test", providers={"mem": provider}, autonamer=autonamer) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
        assert provider.seen == {"text": ("text-1", "propose"), "whole": ("whole-1", "enforce"), "own": None}
        assert sorted(request.urn.split("::")[-1] for request in asked) == ["own", "text", "whole"]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (LookupError("no name is left"), "no name is left"),
        (sw.ProposedName("x", "shout"), "not 'shout'"),  # type: ignore[arg-type]
        (3, "a ProposedName, a str or None, not int"),
    ],
)
def test_a_failing_autonamer_ends_the_operation_and_the_error_names_the_resource(answer: Any, expected: str) -> None:
    def name(request: sw.NamingRequest) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    def of_one(ctx: sw.Context) -> None:
        ctx.resource(THING, "a")

    async def run() -> None:
        provider = Named()
        async with sw.Engine(store="memory://", passphrase="test", providers={"mem": provider}, autonamer=name) as engine:
            stack = await engine.stack("shop/dev", of_one)
            with pytest.raises(sw.StackwrightError, match=expected) as caught:
                await stack.up()
            assert "::a cannot be proposed" in str(caught.value)
        assert provider.seen == {}

    asyncio.run(run())
