"""The journal of a host: complete and in order; the engine waits for each entry, and a refusal ends the operation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import stackwright as sw
from stackwright.journal import parse

from conftest import MakeEngine, Memory

THING = "mem:index:Thing"


def program_of(things: dict[str, int]) -> sw.Program:
    async def program(ctx: sw.Context) -> None:
        for name, number in things.items():
            ctx.resource(THING, name, {"x": number})

    return program


class Replay:
    """Applies entries to the initial records of an operation, as documented for ``JournalEntry``."""

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        self.records = dict(enumerate(records))

    def apply(self, entry: sw.JournalEntry) -> None:
        for id in entry.removed:
            del self.records[id]
        for record in (*entry.records, *([entry.new] if entry.new else ())):
            self.records[record.id] = record.state
        if entry.kind == "base-rebuilt":
            self.records = {id: self.records[id] for id in entry.order}

    def contents(self) -> dict[str, Any]:
        return {state["urn"]: (state.get("id"), state.get("outputs")) for state in self.records.values()}


async def resources(stack: sw.Stack) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await stack.export_deployment())["deployment"].get("resources") or []
    return found


@pytest.mark.parametrize("is_async", [False, True])
def test_a_replay_of_the_journal_yields_the_state(make_engine: MakeEngine, memory: Memory, is_async: bool) -> None:
    entries: list[sw.JournalEntry] = []

    async def receive(entry: sw.JournalEntry) -> None:
        await asyncio.sleep(0)
        entries.append(entry)

    journal = receive if is_async else entries.append

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.create_stack("shop/dev", journal=journal)
            replay = Replay([])
            for things in ({"a": 1, "b": 1}, {"a": 2, "c": 1}, {"a": 2, "c": 1}, {}):
                replay = Replay(await resources(stack))
                entries.clear()
                await stack.up(program=program_of(things), allow_empty=not things)
                assert [entry.sequence for entry in entries] == list(range(len(entries)))
                for entry in entries:
                    replay.apply(entry)
                    assert entry.json["kind"] == entry.kind and "\n" not in entry.line
                expected = {item["urn"]: (item.get("id"), item.get("outputs")) for item in await resources(stack)}
                assert replay.contents() == expected
            entries.clear()
            await stack.preview(program=program_of({"d": 1}))
            assert not entries, "a preview changes nothing"

    asyncio.run(run())


def test_a_begin_entry_is_acknowledged_before_the_provider_is_called(make_engine: MakeEngine, memory: Memory) -> None:
    seen: list[tuple[str, str | None, int]] = []

    def receive(entry: sw.JournalEntry) -> None:
        state = entry.state or (entry.new.state if entry.new else {})
        if state.get("type") == THING:
            seen.append((entry.kind, entry.op, len(memory.calls)))

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            await (await engine.stack("shop/dev", program_of({"a": 1}), journal=receive)).up()

    asyncio.run(run())
    assert seen == [("begin", "create", 0), ("success", "create", 1)]


def test_entries_mark_untargeted_skipped_and_refreshed_resources(make_engine: MakeEngine, memory: Memory) -> None:
    entries: list[sw.JournalEntry] = []

    def name(entry: sw.JournalEntry) -> str:
        state = entry.state or (entry.new.state if entry.new else {})
        return str(state.get("urn", "")).rsplit("::", 1)[-1]

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program_of({"a": 1, "b": 1}), journal=entries.append)
            await stack.up()
            entries.clear()
            await stack.up(program=program_of({"a": 2, "b": 2, "c": 1}), targets=["**::a"])
            ends = {name(entry): entry for entry in entries if entry.kind == "success"}
            assert [n for n, entry in ends.items() if entry.untargeted] == ["b"]
            assert [n for n, entry in ends.items() if entry.skipped_create] == ["c"]
            skipped = ends["c"]
            assert skipped.state and skipped.state["inputs"] == {"x": 1}
            assert (skipped.new, skipped.removed, skipped.elided, skipped.result_op) == (None, (), True, "same")
            assert "c" not in {record["urn"].rsplit("::", 1)[-1] for record in await resources(stack)}
            assert not ends["a"].untargeted and ends["a"].op == "update" and ends["a"].operation > 0
            gone = next(id for id in memory.things if id.startswith("b-"))
            for refresh_program in (True, False):
                memory.things.pop(gone, None)
                entries.clear()
                await stack.refresh(refresh_program=refresh_program)
                begun = {entry.operation for entry in entries if entry.kind == "begin"}
                ends = {name(entry): entry for entry in entries if entry.op == "refresh" and entry.kind == "success"}
                assert ends["a"].operation in begun, "a begin entry precedes it"
                assert ends["a"].result_op == "same" and ends["a"].persisted_refresh is refresh_program
                if refresh_program:
                    assert ends[""].deleted_by_refresh and ends[""].result_op == "delete"

    asyncio.run(run())


class DiskFull(Exception):
    """An exception of the host's journal."""


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(DiskFull("the disk is full"), sw.UnavailableError), (sw.ConflictError("the disk is full"), sw.ConflictError)],
    ids=["any exception", "one of this package"],
)
def test_a_refused_entry_ends_the_operation_with_the_journals_error(
    make_engine: MakeEngine, memory: Memory, raised: Exception, expected: type[sw.StackwrightError]
) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            for refused in range(5):
                received: list[sw.JournalEntry] = []

                def receive(entry: sw.JournalEntry) -> None:
                    if len(received) == refused:
                        raise raised
                    received.append(entry)

                name = f"shop/refused-{refused}"
                stack = await engine.stack(name, program_of({"a": 1, "b": 1}), journal=receive)
                result = await stack.up().wait()
                assert isinstance(result.error, expected), result.error
                assert "the disk is full" in str(result.error) and result.error.__cause__ is raised
                assert len(received) == refused, "nothing is sent after a refusal"
                # The state is valid: the next update, without the journal, completes the deployment.
                stack = await engine.stack(name, program_of({"a": 1, "b": 1}))
                await stack.up()
                assert not (await stack.preview()).has_changes

    asyncio.run(run())


def test_the_journal_contains_encoded_secrets(make_engine: MakeEngine, memory: Memory) -> None:
    lines: list[str] = []

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {"password": sw.secret("hunter2")})

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program, journal=lambda entry: lines.append(entry.line))
            await stack.up()

    asyncio.run(run())
    encoded = "Imh1bnRlcjIi"  # "hunter2" with its quotes, in base64
    assert any(encoded in line for line in lines) and not any("hunter2" in line for line in lines)


def test_an_extension_of_a_provider_is_an_entry_with_its_reference() -> None:
    line = (
        '{"sequence":3,"operation":0,"kind":"extension","extensionRef":"6ad8",'
        '"extension":{"name":"more","version":"1.0.0","value":"aW50byBtb3Jl"}}'
    )
    entry = parse(line)
    assert (entry.sequence, entry.kind, entry.extension_ref) == (3, "extension", "6ad8")
    assert entry.extension == {"name": "more", "version": "1.0.0", "value": "aW50byBtb3Jl"}
    assert parse('{"sequence":4,"operation":1,"kind":"failure","op":"create"}').extension is None


def test_an_edit_is_one_entry_with_the_complete_state_and_a_refusal_of_it_changes_nothing(make_engine: MakeEngine, memory: Memory) -> None:
    a = "urn:pulumi:dev::shop::mem:index:Thing::a"
    entries: list[sw.JournalEntry] = []
    refuses = False

    def journal(entry: sw.JournalEntry) -> None:
        if refuses:
            raise RuntimeError("no space")
        entries.append(entry)

    async def run() -> None:
        nonlocal refuses
        async with make_engine(mem=memory) as engine:
            stack = await engine.create_stack("shop/dev", program_of({"a": 1}), journal=journal)
            await stack.up()
            deployment = await stack.export_deployment()
            pending = {"type": "updating", "resource": deployment["deployment"]["resources"][-1]}
            deployment["deployment"]["pending_operations"] = [pending]
            report = await stack.import_deployment(deployment)
            assert [warning for warning in report.warnings if "pending operation 'updating'" in warning]
            assert [kind for kind, _ in entries[-1].pending_operations or ()] == ["updating"]
            (operation,) = await stack.pending()
            await stack.forget_pending(operation)
            assert (entries[-1].kind, entries[-1].pending_operations) == ("base-written", ())
            assert [record.state["urn"] for record in entries[-1].records][-1] == a
            refuses, count = True, len(entries)
            with pytest.raises(sw.StackwrightError, match="no space"):
                await stack.rename(a, name="b")
            assert (await resources(stack))[-1]["urn"] == a
            refuses = False
            await stack.rename(a, name="b")
            assert len(entries) == count + 1 and entries[-1].records[-1].state["urn"].endswith("::b")

    asyncio.run(run())
