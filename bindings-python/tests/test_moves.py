"""Moves: what a preview suggests, and what an update accepts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import stackwright as sw
from conftest import Memory
from stackwright import sync


def program_of(*names: str) -> Callable[[sw.Context], None]:
    """Returns a program with a resource of each name."""

    def program(ctx: sw.Context) -> None:
        for name in names:
            ctx.resource("mem:index:Thing", name, {"size": len(name), "owner": "team"})

    return program


def test_a_suggestion_has_its_urns_a_reason_and_the_alias_in_the_program_s_language() -> None:
    async def run() -> None:
        async with sw.Engine(store="memory://", providers={"mem": Memory()}) as engine:
            stack = await engine.stack("shop/dev", program_of("old"))
            await stack.up()
            events: list[sw.Event] = []
            preview = await stack.preview(program=program_of("new"), on_event=events.append)
            (move,) = preview.suggested_moves
            assert isinstance(move, sw.SuggestedMove)
            assert move.old_urn.endswith("::mem:index:Thing::old") and move.new_urn.endswith("::mem:index:Thing::new")
            assert move.alias == 'aliases=[{"name": "old"}]'
            assert move.reason == "the name changes from `old` to `new`; inputs are equal"
            assert move.confidence is not None and 0.6 < move.confidence < 1 and move.following == () and not move.accepted
            assert "1 resource looks renamed" in str(preview) and move.alias in str(preview)
            (event,) = [event for event in events if isinstance(event, sw.SuggestedMovesEvent)]
            assert event.moves == (move,)

    asyncio.run(run())


def test_the_suggested_alias_has_the_effect_of_the_move() -> None:
    async def run() -> None:
        async with sw.Engine(store="memory://", providers={"mem": Memory()}) as engine:
            stack = await engine.stack("shop/dev", program_of("old"))
            await stack.up()

            def aliased(ctx: sw.Context) -> None:
                ctx.resource("mem:index:Thing", "new", {"size": 3, "owner": "team"}, aliases=[{"name": "old"}])

            assert (await stack.up(program=aliased)).changes == {"same": 2}

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["all", "suggestions", "mappings"])
def test_an_update_accepts_all_moves_or_listed_ones(kind: str) -> None:
    async def run() -> None:
        provider = Memory()
        async with sw.Engine(store="memory://", providers={"mem": provider}) as engine:
            stack = await engine.stack("shop/dev", program_of("old"))
            await stack.up()
            renamed = program_of("new")
            preview = await stack.preview(program=renamed)
            (move,) = preview.suggested_moves
            forms: dict[str, Any] = {
                "all": True,
                "suggestions": preview.suggested_moves,
                "mappings": [{"old_urn": move.old_urn, "new_urn": move.new_urn}],
            }
            accepted = forms[kind]
            assert (await stack.preview(program=renamed, accept_moves=accepted)).changes == {"same": 2}
            result = await stack.up(program=renamed, accept_moves=accepted)
            assert result.changes == {"same": 2}
            assert [move.accepted for move in result.suggested_moves] == [True]
            assert len(provider.things) == 1
            with pytest.raises(sw.InvalidInputError, match="would not delete the old one"):
                await stack.up(program=renamed, accept_moves=preview.suggested_moves)

    asyncio.run(run())


def test_a_malformed_move_is_refused_by_its_place() -> None:
    async def run() -> None:
        async with sw.Engine(store="memory://", providers={"mem": Memory()}) as engine:
            stack = await engine.stack("shop/dev", program_of("old"))
            for accepted, message in [
                ([{"old_urn": "x"}], r"accept_moves\[0\]\.old_urn takes a URN"),
                ([{}], r"accept_moves\[0\] lacks "),
                ("yes", "accept_moves takes a truth value, or a list of suggested moves, not a string"),
            ]:
                with pytest.raises(sw.InvalidInputError, match=message):
                    await stack.up(accept_moves=accepted)  # type: ignore[arg-type]

    asyncio.run(run())


def test_a_program_of_the_sdk_gets_an_alias_of_the_sdk() -> None:
    pulumi = pytest.importorskip("pulumi")

    def program_of_sdk(name: str) -> Callable[[], None]:
        def program() -> None:
            class Thing(pulumi.CustomResource):  # type: ignore[misc, name-defined]
                def __init__(self) -> None:
                    super().__init__("mem:index:Thing", name, {"size": 3, "owner": "team"})

            Thing()

        return program

    async def run() -> None:
        async with sw.Engine(store="memory://", providers={"mem": Memory()}) as engine:
            stack = await engine.stack("shop/dev", program_of_sdk("old"))
            await stack.up()
            preview = await stack.preview(program=program_of_sdk("new"))
            assert [move.alias for move in preview.suggested_moves] == ['aliases=[pulumi.Alias(name="old")]']
            assert (await stack.up(program=program_of_sdk("new"), accept_moves=True)).changes == {"same": 2}

    asyncio.run(run())


def test_the_synchronous_interface_has_moves_too() -> None:
    with sync.Engine(store="memory://", providers={"mem": Memory()}) as engine:
        stack = engine.stack("shop/dev", program_of("old"))
        stack.up()
        assert stack.up(program=program_of("new"), accept_moves=True).changes == {"same": 2}
