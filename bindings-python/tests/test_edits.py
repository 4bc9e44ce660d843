"""Edits of the state: what they report, what they refuse, and that a renamed resource keeps its real thing."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timezone
from pathlib import Path

import pytest
import stackwright as sw
from stackwright import sync

from conftest import MakeEngine, Memory, Vault

THING = "mem:index:Thing"
A = "urn:pulumi:dev::shop::mem:index:Thing::a"
Z = A[:-1] + "z"


def program_of(name: str) -> sw.Program:
    async def program(ctx: sw.Context) -> None:
        a = ctx.resource(THING, name, {"n": 1, "key": sw.secret("hunter2")})
        ctx.resource(THING, "b", {"of": a["n"]})

    return program


def test_a_renamed_resource_is_the_same_for_a_program_that_registers_the_new_name(make_engine: MakeEngine, memory: Memory) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program_of("a"))
            await stack.up()
            planned = await stack.rename(A, name="z", dry_run=True)
            assert planned.dry_run and (await stack.resource(A)).name == "a"
            assert str(planned).startswith("dry run: 2 records would change:\n")
            report = await stack.rename(A, name="z")
            assert f"renamed {Z}, formerly {A}: urn" in str(report) == report.text
            renamed, dependent = report.records
            assert (renamed.kind, renamed.urn, renamed.former_urn, renamed.fields) == ("renamed", Z, A, ("urn",))
            assert (dependent.kind, dependent.fields) == ("changed", ("dependencies", "propertyDependencies"))
            assert "hunter2" not in repr(report)
            result = await stack.up(program=program_of("z"))
            assert result.changes == {"same": 3}
            with pytest.raises(sw.NotFoundError) as unknown:
                await stack.taint([A])
            assert f"did you mean '{Z}'?" in unknown.value.hints
            with pytest.raises(sw.ConflictError):
                await stack.delete_resources([Z])
            with pytest.raises(sw.InvalidInputError, match="urns takes a list"):
                await stack.protect(Z)
            with pytest.raises(sw.InvalidInputError, match="rename.name takes a string"):
                await stack.rename(Z, name=5)  # type: ignore[arg-type]
            with pytest.raises(sw.InvalidInputError, match="unknown option 'nmae' of rename\\(\\); did you mean 'name'\\?"):
                await stack.rename(Z, nmae="y")  # type: ignore[call-arg]
            with pytest.raises(sw.InvalidInputError, match="given no resource"):
                await stack.unprotect()
            with pytest.raises(sw.InvalidInputError, match="names no new name, parent or type"):
                await stack.rename(Z)
            with pytest.raises(sw.InvalidInputError, match="time takes a datetime with a time zone, not a date"):
                await stack.restore(time=datetime.now(timezone.utc).date())  # type: ignore[arg-type]
            assert len((await stack.protect(all=True)).records) == 4
            refused = await stack.destroy().wait()
            assert "unprotect()" in str(refused) and "ignore_protect" in str(refused)
            assert len((await stack.unprotect(all=True)).records) == 4
            removed = await stack.delete_resources([Z], dependents=True)
            assert [record.kind for record in removed.records] == ["removed", "removed"]
            restored = await stack.restore(time=datetime.now(timezone.utc))
            # The last entry of the history is the refused destroy, at which all records were protected.
            assert [record.kind for record in restored.records] == ["changed", "changed", "added", "added"]
            with pytest.raises(sw.InvalidInputError, match="time zone"):
                await stack.restore(time=datetime(2026, 1, 1))

    asyncio.run(run())


def test_the_sync_api_edits_as_well_and_a_renamed_stack_opens_by_its_new_name(tmp_path: Path, memory: Memory) -> None:
    with sync.Engine(store=f"file://{tmp_path}/state", passphrase="x", providers={"mem": memory}) as engine:
        stack = engine.stack("shop/dev", program_of("a"))
        stack.up()
        assert stack.repair().records == ()
        assert [record.fields for record in stack.taint([A]).records] == [("taint",)]
        assert len(stack.untaint([A]).records) == 1 and stack.protect([A], dry_run=True).dry_run
        deployment = stack.export_deployment()
        assert stack.import_deployment(deployment, dry_run=True).records == ()
        with pytest.raises(sw.ConflictError):
            stack.rename_stack("dev")
        with pytest.raises(sw.InvalidInputError, match="unknown option 'dryrun' of rename_stack\\(\\); did you mean 'dry_run'\\?"):
            stack.rename_stack("live", dryrun=True)  # type: ignore[call-arg]
        report = stack.rename_stack("live")
        for call in (stack.history, stack.unlock, stack.resources):
            with pytest.raises(sw.NotFoundError, match="it was renamed to 'shop/live'"):
                call()
        assert {record.urn.split(":")[2] for record in report.records} == {"live"}
        assert [listed.name for listed in engine.stacks()] == ["shop/live"]
        live = engine.stack("shop/live", program_of("a"))
        assert live.up().changes == {"same": 3}
        assert [(entry["kind"], entry["version"]) for entry in live.history()] == [("update", 2), ("update", 1)]
        assert [entry["version"] for entry in live.history(limit=1, page=2)] == [1]
        assert live.restore(version=1).records == ()
        with pytest.raises(sw.StateError, match="belongs to stack 'shop/dev'"):
            live.import_deployment(deployment)
        assert live.import_deployment(deployment, force=True, dry_run=True).warnings


def test_a_stack_gets_another_passphrase_and_then_an_encryption_of_the_host(tmp_path: Path, memory: Memory) -> None:
    store = f"file://{tmp_path}/state"
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")

    async def run() -> None:
        async with sw.Engine(store=store, passphrase="old", providers={"mem": memory}) as engine:
            project = await engine.project(tmp_path)
            await project.set_config("dev", "token", sw.secret("hunter3"))
            stack = await engine.stack("shop/dev", program_of("a"), project=tmp_path)
            await stack.up()
            planned = await stack.change_secrets(passphrase="new", dry_run=True)
            assert planned.dry_run and [record.urn for record in planned.records] == [A]
            report = await stack.change_secrets(passphrase="new")
            assert [record.fields for record in report.records] == [("inputs", "outputs")]
            with pytest.raises(sw.DecryptError):
                await engine.stack("shop/dev", project=tmp_path)
            with pytest.raises(sw.InvalidInputError, match="either a passphrase or an encryption"):
                await stack.change_secrets()
            with pytest.raises(sw.InvalidInputError, match="passphrase of a stack is empty"):
                await stack.change_secrets(passphrase="")
            with pytest.raises(sw.DecryptError, match="after change_secrets\\(\\) open it again"):
                await stack.change_secrets(passphrase="newer")
            assert "hunter3" not in repr(await project.list_config("dev", show_secrets=True, passphrase="new"))
            opened = await engine.stack("shop/dev", program_of("a"), passphrase="new", project=tmp_path)
            assert (await opened.up()).changes == {"same": 3}
            with pytest.raises(sw.DecryptError) as failed:
                await opened.restore(version=1)
            assert any("former passphrase" in hint for hint in failed.value.hints)
            with pytest.raises(sw.DecryptError, match="neither it nor the present one"):
                await opened.restore(version=1, passphrase="wrong")
            assert (await opened.restore(version=2, passphrase="old", dry_run=True)).dry_run
            await opened.restore(version=1, passphrase="old")
            assert (await opened.up()).changes == {"same": 3}
            await opened.change_secrets(secrets=Vault())
            assert "v:3retnuh" in (tmp_path / "Pulumi.dev.yaml").read_text()
            state = json.dumps(await opened.export_deployment())
            assert "2retnuh" in state and "encryptionsalt" not in (tmp_path / "Pulumi.dev.yaml").read_text()

    asyncio.run(run())
    with sync.Engine(store=store, secrets=Vault(), providers={"mem": memory}) as engine:
        stack = engine.stack("shop/dev", program_of("a"), project=tmp_path)
        assert stack.up().changes == {"same": 3}
        assert len(stack.change_secrets(passphrase="last", dry_run=True).records) == 1
        assert [record.fields for record in stack.change_secrets(passphrase="last").records] == [("inputs", "outputs")]
        assert "retnuh" not in (tmp_path / "Pulumi.dev.yaml").read_text()
        opened = engine.stack("shop/dev", program_of("a"), passphrase="last", project=tmp_path)
        assert opened.up().changes == {"same": 3}
        assert engine.project(tmp_path).get_config("dev", "token", passphrase="last").value == "hunter3"


def test_resources_move_to_a_stack_of_another_engine_whose_program_keeps_them(
    make_engine: MakeEngine, memory: Memory, tmp_path: Path
) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine, sw.Engine(store=f"file://{tmp_path}/other", passphrase="other", providers={"mem": memory}) as other:
            stack = await engine.stack("shop/dev", program_of("a"))
            await stack.up()
            live = await other.create_stack("shop/live")
            planned = await stack.move_resources([A], live, dry_run=True)
            assert planned.source.dry_run and len(await stack.resources()) == 4
            report = await stack.move_resources([A], live)
            changed, removed = report.source.records
            assert (changed.kind, removed.kind, removed.urn) == ("changed", "removed", A)
            assert [reference.urn for reference in changed.removed_references] == [A, A]
            assert report.source.warnings[0].startswith("1 record loses references to")
            assert f"      loses the reference to {A} in dependencies" in str(report) and "destination: " in str(report)
            moved = report.destination.records[-1]
            assert (moved.kind, moved.urn, moved.former_urn) == ("added", A.replace(":dev:", ":live:"), A)
            assert report.destination.records[:-1] and "hunter2" not in repr(report)
            assert [record.name for record in await live.resources()] == ["shop-live", "default", "a"]
            with pytest.raises(sw.NotFoundError):
                await stack.move_resources([A], live)
            with pytest.raises(sw.InvalidInputError, match="destination takes a Stack"):
                await stack.move_resources([A], "shop/live")  # type: ignore[arg-type]
            with pytest.raises(sw.InvalidInputError, match="urns takes a list"):
                await stack.move_resources(A, live)
            with pytest.raises(sw.InvalidInputError, match="moved to itself"):
                await stack.move_resources([A], stack)
            back = await live.move_resources([moved.urn], stack)
            assert [record.kind for record in back.destination.records] == ["added"]

    asyncio.run(run())


def test_resources_move_without_an_event_loop(tmp_path: Path, memory: Memory) -> None:
    with sync.Engine(store=f"file://{tmp_path}", providers={"mem": memory}, passphrase="p") as engine:
        stack = engine.stack("shop/dev", program_of("a"))
        stack.up()
        live = engine.create_stack("shop/live")
        report = stack.move_resources([A], live)
        assert report.destination.records[-1].former_urn == A
        assert len(live.resources()) == 3


def test_resources_move_between_the_stores_of_two_engines_without_an_event_loop(tmp_path: Path, memory: Memory) -> None:
    def program(ctx: sw.Context) -> None:
        mine = ctx.provider("mem", "mine", {"key": sw.secret("hunter3")})
        box = ctx.component("shop:index:Box", "box")
        ctx.resource(THING, "a", {"n": 1, "key": sw.secret("hunter2")}, parent=box, provider=mine)
        ctx.resource(THING, "b", {"n": 2}, parent=box, provider=mine)

    box = "urn:pulumi:dev::shop::shop:index:Box"
    a = f"{box}$mem:index:Thing::a"
    sources = sync.Engine(store=f"file://{tmp_path}/state", secrets=Vault(), providers={"mem": memory})
    with sources as engine, sync.Engine(store=f"file://{tmp_path}/other", providers={"mem": memory}) as other:
        stack, live = engine.stack("shop/dev", program), other.stack("shop/live", program)
        stack.up()
        planned = stack.move_resources([a], live, include_parents=True, dry_run=True)
        assert planned.source.dry_run and planned.destination.dry_run and live.resources() == []
        with pytest.raises(sw.InvalidInputError, match="provider"):
            stack.move_resources(["urn:pulumi:dev::shop::pulumi:providers:mem::mine"], live)
        report = stack.move_resources([a], live, include_parents=True)
        assert {(record.kind, record.urn.split("::")[-1]) for record in report.source.records} == {("removed", name) for name in ("box", "a", "b")}
        assert {record.urn.split("::")[-1] for record in report.destination.records} == {"shop-live", "mine", "box", "a", "b"}
        assert not any(record.removed_references for record in report.destination.records)
        made = list(memory.calls)
        assert live.up().changes == {"same": 5}
        assert [call for call in memory.calls[len(made):] if call[0] in ("create", "update", "delete")] == []
        assert "hunter2" in json.dumps(live.export_deployment(show_secrets=True))
        assert live.export_deployment()["deployment"]["secrets_providers"]["type"] == "b64"
        # The program of the source makes its things anew, which have no place in the destination.
        assert stack.up().changes["create"] == 3
        with pytest.raises(sw.ConflictError, match="the destination has the resource"):
            stack.move_resources([a], live, include_parents=True)
        assert stack.up().changes == {"same": 5}
