"""Settings and state of stacks: organization, tags, locks, remote assets, plans, deployments after failures."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest
import stackwright as sw
from stackwright import sync

from conftest import MakeEngine, Memory, Vault

THING = "mem:index:Thing"


class Picky(Memory):
    """Fails to create the resource named ``refused``."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if request.name == "refused":
            raise sw.ProviderError("no such thing")
        return super().create(request)


def test_the_context_and_the_sdk_return_the_organization_of_the_stack(tmp_path: Path) -> None:
    def of_the_sdk() -> None:
        pulumi.export("organization", pulumi.get_organization())

    def own(ctx: sw.Context) -> None:
        ctx.export("organization", ctx.organization)

    with sync.Engine(store=f"file://{tmp_path}", secrets=Vault()) as engine:
        for program in (of_the_sdk, own):
            stack = engine.stack("shop/dev", program, organization="acme", tags={"team:owner": "net"})
            assert sw.unwrap(stack.up().outputs) == {"organization": "acme"}
            assert (stack.organization, stack.tags) == ("acme", {"team:owner": "net"})
        assert engine.stack("shop/dev").organization == "organization"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"organization": "a/b"}, 'organization "a/b"'),
        ({"organization": ""}, 'organization ""'),
        ({"tags": {"no name": "x"}}, 'tag "no name"'),
        ({"tags": {"owner": "x" * 257}}, "longer than 256"),
        ({"tags": {"owner": 1}}, "tags['owner'] takes a string, not a number"),
    ],
)
def test_bad_organizations_and_tags_are_refused(
    make_engine: MakeEngine, settings: dict[str, Any], expected: str
) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            with pytest.raises(sw.InvalidInputError, match=re.escape(expected)):
                await engine.stack("shop/dev", **settings)

    asyncio.run(run())


def leave_a_lock(tmp_path: Path) -> None:
    locks = tmp_path / ".pulumi/locks/organization/shop/dev"
    locks.mkdir(parents=True, exist_ok=True)
    owner = {"pid": 1, "username": "me", "hostname": "elsewhere", "timestamp": "2026-01-01T00:00:00Z"}
    (locks / "1.json").write_text(json.dumps(owner))


def test_unlock_removes_the_lock_of_another_machine(tmp_path: Path) -> None:
    def program(ctx: sw.Context) -> None:
        pass

    with sync.Engine(store=f"file://{tmp_path}", secrets=Vault()) as engine:
        stack = engine.stack("shop/dev", program)
        leave_a_lock(tmp_path)
        with pytest.raises(sw.ConflictError, match="me@elsewhere") as caught:
            stack.up()
        assert "`unlock`" in caught.value.message
        assert stack.unlock() == 1
        assert stack.unlock() == 0
        stack.up()


def test_break_lock_removes_the_lock_of_the_named_owner_only(tmp_path: Path) -> None:
    def program(ctx: sw.Context) -> None:
        pass

    with sync.Engine(store=f"file://{tmp_path}", secrets=Vault()) as engine:
        stack = engine.stack("shop/dev", program)
        leave_a_lock(tmp_path)
        with pytest.raises(sw.ConflictError, match="me@elsewhere"):
            stack.break_lock("you@elsewhere")
        with pytest.raises(sw.InvalidInputError, match="user@host"):
            stack.break_lock("me")
        assert stack.break_lock("me@elsewhere:1") == 1
        assert stack.break_lock("me@elsewhere") == 0
        stack.up()

    async def run() -> None:
        async with sw.Engine(store=f"file://{tmp_path}", secrets=Vault()) as engine:
            stack = await engine.stack("shop/dev", program)
            leave_a_lock(tmp_path)
            assert await stack.break_lock("me@elsewhere") == 1
            await stack.up()

    asyncio.run(run())


def test_an_operation_waits_for_the_lock_as_long_as_it_is_asked_to(tmp_path: Path) -> None:
    def program(ctx: sw.Context) -> None:
        pass

    with sync.Engine(store=f"file://{tmp_path}", secrets=Vault(), allow_unfenced=True) as engine:
        stack = engine.stack("shop/dev", program)
        leave_a_lock(tmp_path)
        with pytest.raises(sw.ConflictError, match="me@elsewhere") as caught:
            stack.up(wait_for_lock=0.2)
        assert any("has waited" in hint for hint in caught.value.hints)
        waiting = threading.Event()

        def unlock() -> None:
            assert waiting.wait(60)
            stack.unlock()

        unlocking = threading.Thread(target=unlock)
        unlocking.start()

        def on_event(event: object) -> None:
            if "waiting for the lock" in str(event):
                waiting.set()

        stack.up(wait_for_lock=60, on_event=on_event)
        unlocking.join(60)
        assert waiting.is_set()


def test_an_edit_waits_for_the_lock_as_long_as_it_is_asked_to(tmp_path: Path) -> None:
    def program(ctx: sw.Context) -> None:
        pass

    with sync.Engine(store=f"file://{tmp_path}", secrets=Vault(), allow_unfenced=True) as engine:
        stack = engine.stack("shop/dev", program)
        stack.up()
        leave_a_lock(tmp_path)
        edits: list[Callable[[float], object]] = [
            lambda limit: stack.restore(version=1, wait_for_lock=limit),
            lambda limit: stack.forget_pending("none", wait_for_lock=limit),
            lambda limit: stack.remove(force=True, wait_for_lock=limit),
        ]
        for edit in edits:
            with pytest.raises(sw.ConflictError, match="me@elsewhere") as caught:
                edit(0.02)
            assert any("has waited" in hint for hint in caught.value.hints)
            with pytest.raises(sw.InvalidInputError, match="wait_for_lock"):
                edit(-1)
        unlocking = threading.Timer(0.05, stack.unlock)
        unlocking.start()
        stack.remove(force=True, wait_for_lock=60)
        unlocking.join(60)


def test_dependents_of_a_failed_resource_are_skipped_and_the_failure_has_a_deployment(make_engine: MakeEngine) -> None:
    seen: dict[str, tuple[bool, bool]] = {}

    async def program(ctx: sw.Context) -> None:
        refused = ctx.resource(THING, "refused")
        after = ctx.resource(THING, "after", depends_on=refused)
        made = ctx.resource(THING, "made", {"password": sw.secret("hunter2")})
        for resource in (refused, after, made):
            registered = (await resource).registered
            seen[resource.name] = (registered.failed, registered.skipped)

    async def run() -> None:
        async with make_engine(mem=Picky()) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.FailedError) as caught:
                await stack.up(continue_on_error=True)
            assert caught.value.error_class == "bail"
            assert seen == {"refused": (True, False), "after": (True, True), "made": (False, False)}
            document = await stack.export_deployment()
            assert document["version"] == 3
            names = [record["urn"].split("::")[-1] for record in document["deployment"]["resources"]]
            assert "made" in names and "refused" not in names and "hunter2" not in json.dumps(document)

    asyncio.run(run())


@pytest.mark.parametrize("is_async", [True, False])
def test_the_host_fetches_remote_assets(tmp_path: Path, is_async: bool) -> None:
    def fetch(uri: str) -> bytes:
        if uri != "vault://hello":
            raise LookupError(f"no asset at {uri}")
        return b"hello"

    async def fetch_async(uri: str) -> bytes:
        await asyncio.sleep(0)
        return fetch(uri)

    def program(uri: str) -> sw.Program:
        def of_one(ctx: sw.Context) -> None:
            ctx.resource(THING, "a", {"file": sw.Asset(uri=uri)})

        return of_one

    settings: dict[str, Any] = {"fetch": fetch_async if is_async else fetch, "secrets": Vault()}
    with sync.Engine(store=f"file://{tmp_path}", providers={"mem": Memory()}, **settings) as engine:
        stack = engine.stack("shop/dev", program("vault://hello"))
        stack.up()
        [record] = [found for found in stack.export_deployment()["deployment"]["resources"] if found["type"] == THING]
        assert record["inputs"]["file"]["hash"].startswith("2cf24dba5fb0a30e")
        with pytest.raises(sw.StackwrightError, match="no asset at vault://bye"):
            stack.up(program=program("vault://bye"))


def test_a_closed_engine_refuses_calls() -> None:
    async def run() -> None:
        engine = sw.Engine(store="memory://", passphrase="test")
        stack = await engine.stack("shop/dev", lambda ctx: None)
        await engine.close()
        with pytest.raises(sw.InvalidInputError, match="the engine is closed"):
            stack.up()
        with pytest.raises(sw.InvalidInputError, match="the engine is closed"):
            await engine.stack("shop/other")

    asyncio.run(run())


def test_the_plan_of_another_stack_is_refused() -> None:
    async def run() -> None:
        async with sw.Engine(store="memory://", passphrase="test") as engine:
            one = await engine.stack("shop/one", lambda ctx: None)
            other = await engine.stack("shop/other", lambda ctx: None)
            plan = await one.preview()
            with pytest.raises(sw.InvalidInputError, match="a preview of shop/one, not of shop/other"):
                other.up(plan)
            await one.up(plan)

    asyncio.run(run())


def test_results_without_a_plan_and_other_values_are_refused_as_plans() -> None:
    async def run() -> None:
        async with sw.Engine(store="memory://", passphrase="test") as engine:
            stack = await engine.stack("shop/dev", lambda ctx: None)
            with pytest.raises(sw.InvalidInputError, match="the preview kept no plan"):
                stack.up(await stack.preview(generate_plan=False))
            with pytest.raises(sw.InvalidInputError, match="not the result of a preview that succeeded"):
                stack.up(await stack.up())
            with pytest.raises(sw.InvalidInputError, match=r"not function; name a program: up\(program=…\)"):
                stack.up(lambda ctx: None)  # type: ignore[arg-type]

    asyncio.run(run())


def test_a_saved_plan_constrains_an_update_of_another_engine(tmp_path: Path) -> None:
    exports = {"x": 1}

    def program(ctx: sw.Context) -> None:
        for name, value in exports.items():
            ctx.export(name, value)

    async def run() -> None:
        store = f"file://{tmp_path}"
        async with sw.Engine(store=store, passphrase="test") as engine:
            preview = await (await engine.stack("shop/dev", program)).preview(generate_plan=True)
            saved = json.dumps(preview.plan)
        async with sw.Engine(store=store, passphrase="test") as engine:
            stack = await engine.stack("shop/dev", program)
            exports["x"] = 2
            with pytest.raises(sw.FailedError, match="the outputs of the resource .* are not as planned"):
                await stack.up(saved)
            exports["x"] = 1
            assert sw.unwrap((await stack.up(json.loads(saved))).outputs) == {"x": 1}
            assert preview.plan is not None
            held = await stack.preview(plan=preview.plan)
            assert held.plan is None and held.changes == {"same": 1}

    asyncio.run(run())


def test_the_state_of_another_stack_is_refused() -> None:
    async def run() -> None:
        async with sw.Engine(store="memory://", passphrase="test") as engine:
            one = await engine.stack("shop/one", lambda ctx: ctx.export("x", 1))
            other = await engine.stack("shop/other", lambda ctx: None)
            await one.up()
            with pytest.raises(sw.StateError, match="belongs to stack 'shop/one', not to 'shop/other'"):
                await other.import_deployment(await one.export_deployment())

    asyncio.run(run())


@pytest.mark.parametrize("option", ["threads", "provider_threads"])
@pytest.mark.parametrize("number", [0, -1, "two"])
def test_the_error_of_an_invalid_number_of_threads_names_the_option(option: str, number: object) -> None:
    settings: dict[str, Any] = {option: number}
    with pytest.raises(sw.InvalidInputError, match=f"{option} takes a number from 1 to "):
        sw.Engine(store="memory://", **settings)
