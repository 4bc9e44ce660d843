"""Steps of results: old and new values, outcomes, and the first line of an error."""

from __future__ import annotations

import asyncio

import pytest
import stackwright as sw

from conftest import MakeEngine, Memory

THING = "mem:index:Thing"


class Explosive(Memory):
    """Fails to create the resource named ``database``."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if request.name == "database":
            raise RuntimeError("the database exploded")
        return super().create(request)


def run(make_engine: MakeEngine, provider: Memory, *programs: sw.Program, preview: bool = False) -> sw.Result:
    """Runs the programs one after the other on one stack; returns the last result, also of a failure."""

    async def play() -> sw.Result:
        async with make_engine(mem=provider) as engine:
            stack = await engine.stack("shop/dev", programs[0])
            for program in programs[:-1]:
                await stack.up(program=program)
            last = stack.preview(program=programs[-1]) if preview else stack.up(program=programs[-1])
            try:
                return await last
            except sw.StackwrightError as error:
                assert error.result is not None
                return error.result

    return asyncio.run(play())


def test_steps_and_tree_contain_a_failed_step(make_engine: MakeEngine) -> None:
    def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "database", {})

    result = run(make_engine, Explosive(), program)
    (failed,) = [step for step in result.steps if step.name == "database"]
    assert failed.op == "create" and failed.status == "unknown" or failed.status == "failed"
    assert isinstance(failed.error, sw.StackwrightError) and "the database exploded" in str(failed.error)
    assert " !   └─ database (mem:index:Thing)" in result.tree()
    assert "! create failed: RuntimeError: the database exploded" in result.tree()
    error = result.error
    assert isinstance(error, sw.FailedError)
    first = str(error).splitlines()[0]
    assert first.startswith("update failed: resource `database` (mem:index:Thing), create by provider `mem`: ")
    assert first.endswith("the database exploded")
    assert error.reference_message.startswith("BAIL: step executor errored: step application failed: ")
    assert (error.provider, error.phase) == ("mem", "create")


def test_a_changed_property_has_its_path_and_both_values_and_secrets_are_masked(make_engine: MakeEngine) -> None:
    def program(owner: str, password: str) -> sw.Program:
        def define(ctx: sw.Context) -> None:
            ctx.resource(THING, "a", {"tags": {"owner": owner, "same": 1}, "password": sw.secret(password)})

        return define

    before, after = program("ann", "hunter-one"), program("bob", "hunter-two")
    for preview, status in ((True, "planned"), (False, "succeeded")):
        result = run(make_engine, Memory(), before, after, preview=preview)
        (step,) = [step for step in result.steps if step.name == "a"]
        assert step.status == status and step.error is None
        changes = {change.path: change for change in step.changes}
        assert changes["tags.owner"] == sw.PropertyChange(path="tags.owner", kind="update", old="ann", new="bob")
        assert changes["password"] == sw.PropertyChange(path="password", kind="update", old="[secret]", new="[secret]")
        assert '~ tags.owner: "ann" → "bob"' in result.tree()
        assert "hunter" not in result.tree() + repr(result.steps)
        assert "     shop-dev (pulumi:pulumi:Stack)" in result.tree(), "the unchanged parent"
        if not preview:
            assert step.duration >= 0


def test_a_diagnostic_has_the_texts_of_the_library_and_of_the_reference_engine(make_engine: MakeEngine) -> None:
    def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "a", {})

    async def play() -> None:
        async with make_engine(mem=Memory()) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.FailedError) as caught:
                await stack.up(targets=["urn:pulumi:dev::shop::mem:index:Thing::b"])
            error = caught.value
            assert error.message_code == "target_not_found"
            assert error.message_arguments == {"target": "urn:pulumi:dev::shop::mem:index:Thing::b"}
            assert "shell" not in str(error)
            assert error.result is not None
            (found,) = [it for it in error.result.diagnostics if it.message_code == "target_not_found"]
            assert found.reference_message.endswith("Did you forget to escape $ in your shell?")
            assert "shell" not in found.message + error.result.tree()

    asyncio.run(play())


class Garbled(Memory):
    """Returns a malformed answer to each create."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        return {"id": "made"}  # type: ignore[return-value]


def test_a_create_with_a_malformed_answer_is_unknown_and_stays_pending(make_engine: MakeEngine) -> None:
    def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "database", {})

    result = run(make_engine, Garbled(), program)
    (failed,) = [step for step in result.steps if step.name == "database"]
    assert failed.status == "unknown"
    deployment = result.deployment()
    assert deployment is not None
    pending = deployment["deployment"]["pending_operations"]
    assert [(each["type"], each["resource"]["type"]) for each in pending] == [("creating", THING)]
