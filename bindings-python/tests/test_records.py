"""Reading without a program: resources, their graph, pending operations, listed stacks, pages of the history."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import stackwright as sw
from stackwright import sync

from conftest import MakeEngine, Memory

THING = "mem:index:Thing"
A = "urn:pulumi:dev::shop::mem:index:Thing::a"
INTERRUPTED = {
    "version": 3,
    "deployment": {
        "manifest": {"time": "2026-01-01T00:00:00Z", "magic": "", "version": ""},
        "pending_operations": [
            {
                "type": "creating",
                "resource": {"urn": A, "custom": True, "type": THING, "inputs": {"n": 1}},
            }
        ],
    },
}


async def program(ctx: sw.Context) -> None:
    a = ctx.resource(THING, "a", {"n": 1, "key": sw.secret("hunter2")})
    ctx.resource(THING, "b", {"of": a["n"]})


def test_resources_are_typed_and_hide_their_secrets_in_text(make_engine: MakeEngine, memory: Memory) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up(message="first")
            records = {record.name: record for record in await stack.resources()}
            a, b = records["a"], records["b"]
            assert a == await stack.resource(A)
            assert (a.urn, a.type, a.custom, a.protect, a.delete) == (A, THING, True, False, False)
            assert a.id and a.created is not None and a.provider.endswith(f"::{records['default'].id}")
            assert a.inputs["key"] == sw.OutputValue("hunter2", True) and a.inputs["n"].value == 1
            assert "hunter2" not in repr(a) and "[secret]" in repr(a)
            assert "hunter2" in repr(await stack.resource(A, show_secrets=True))
            assert list(b.dependencies) == [A] and b.property_dependencies == {"of": [A]}
            graph = await stack.graph()
            edges = {(graph.nodes[edge.source].name, edge.kind, edge.property, graph.nodes[edge.target].name) for edge in graph.edges}
            assert {("b", "dependency", None, "a"), ("b", "property", "of", "a")} <= edges
            with pytest.raises(sw.NotFoundError, match="no resource with the URN") as refused:
                await stack.resource(A[:-1] + "c")
            assert f"did you mean '{A}'?" in refused.value.hints
            (listed,) = await engine.stacks(resource_counts=True)
            assert listed.last_update is not None and listed.last_update.message == "first"
            assert (listed.name, listed.resource_count, listed.lock, listed.problems) == ("shop/dev", 4, None, ())
            await stack.refresh()
            assert [entry["kind"] for entry in await stack.history(limit=1, page=2)] == ["update"]
            with pytest.raises(sw.InvalidInputError, match="limit takes a number above 0, not 0"):
                await stack.history(limit=0)

    asyncio.run(run())


def test_a_pending_operation_is_forgotten_by_its_object_and_listed_in_types(make_engine: MakeEngine, memory: Memory) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.create_stack("shop/dev")
            await stack.import_deployment(INTERRUPTED)
            (pending,) = await stack.pending()
            assert (pending.kind, pending.urn, pending.resource_id, pending.in_progress) == ("creating", A, "", False)
            assert pending.inputs == {"n": sw.OutputValue(1)}
            with pytest.raises(sw.InvalidInputError, match="resource_id takes a text, not int"):
                stack.adopt_pending(pending, 5)  # type: ignore[arg-type]
            with pytest.raises(sw.InvalidInputError, match="the id of the resource"):
                await stack.adopt_pending(pending)
            with pytest.raises(sw.NotFoundError, match="no pending operation"):
                await stack.read_pending("unknown", "a-1")
            assert await stack.forget_pending(pending, dry_run=True) == pending
            result = await stack.refresh(clear_pending_creates=True)
            (dropped,) = result.dropped_pending
            assert (dropped.kind, dropped.urn, dropped.name) == ("creating", A, "a")
            assert await stack.pending() == []

    asyncio.run(run())


def test_the_sync_api_reads_and_adopts_as_well(tmp_path: Path, memory: Memory) -> None:
    with sync.Engine(store=f"file://{tmp_path}/state", passphrase="x", providers={"mem": memory}) as engine:
        stack = engine.stack("shop/dev", program)
        stack.up()
        (id,) = [record.id for record in stack.resources() if record.name == "a"]
        assert stack.resource(A).id == id and len(stack.graph().nodes) == 4
        deployment = stack.export_deployment()
        resources = deployment["deployment"]["resources"]
        (record,) = [record for record in resources if record["urn"] == A]
        deployment["deployment"]["resources"] = [
            other for other in resources if other["urn"] != A and A not in other.get("dependencies", [])
        ]
        interrupted = {name: member for name, member in record.items() if name not in ("id", "outputs", "created", "modified")}
        deployment["deployment"]["pending_operations"] = [{"type": "creating", "resource": interrupted}]
        stack.import_deployment(deployment)
        (pending,) = stack.pending()
        read = stack.read_pending(pending, id)
        assert read is not None and read.id == id and stack.read_pending(pending.id, "nothing") is None
        previewed = stack.adopt_pending(pending, id, dry_run=True)
        assert previewed.is_preview and previewed.changes == {"import": 1} and len(stack.pending()) == 1
        assert [step.op for step in stack.adopt_pending(pending, id).steps] == ["import"]
        assert stack.pending() == [] and stack.resource(A).id == id
        assert stack.history(limit=1)[0]["kind"] == "resource-import"
