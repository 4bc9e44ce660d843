"""Policies as functions, packs in folders, and the analysis of a recorded state."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import stackwright as sw
import stackwright.sync
from conftest import MakeEngine, Memory, states

THING = "mem:index:Thing"


def program(ctx: sw.Context) -> None:
    ctx.resource(THING, "a", {"size": 1, "key": sw.secret("hyacinth")})
    ctx.resource(THING, "b", {"size": 9, "color": "red"}, protect=True)


def not_big(resource: sw.PolicyResource) -> str | None:
    return f"{resource.name} is too big" if resource.props.get("size") == 9 else None


async def not_big_async(resource: sw.PolicyResource) -> list[str]:
    await asyncio.sleep(0)
    found = not_big(resource)
    return [] if found is None else [found]


def not_big_reported(resource: sw.PolicyResource, report: Any) -> None:
    found = not_big(resource)
    if found is not None:
        report(found)


def run(work: Any) -> None:
    asyncio.run(work())


@pytest.mark.parametrize("check", [not_big, not_big_async, not_big_reported])
def test_a_mandatory_policy_refuses_a_resource_whichever_way_it_reports(
    make_engine: MakeEngine, memory: Memory, check: Any
) -> None:
    async def work() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            policy = sw.Policy("not-big", level="mandatory", severity="high", check=check)
            for start in (stack.preview, stack.up):
                events = [event async for event in start(policies=[policy])]
                violations = [event for event in events if isinstance(event, sw.PolicyEvent)]
                assert [(event.policy_name, event.policy_pack_name) for event in violations] == [("not-big", "policies")]
                assert violations[0].enforcement_level == "mandatory" and violations[0].severity == "high"
            with pytest.raises(sw.FailedError, match="policy not-big of policies is violated: b is too big") as caught:
                await stack.up(policies=[policy])
            assert (caught.value.urn or "").endswith("::b")
            assert ("create", "b") not in memory.calls
            await stack.up(policies=[sw.Policy("not-big", check=check)])
            assert ("create", "b") in memory.calls

    run(work)


def test_a_policy_receives_inputs_options_and_marked_secrets(make_engine: MakeEngine, memory: Memory) -> None:
    seen: dict[str, sw.PolicyResource] = {}

    def look(resource: sw.PolicyResource) -> None:
        seen[resource.name] = resource

    async def work() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up(policies=[sw.Policy("look", check=look)])

    run(work)
    assert (seen["b"].type, seen["b"].urn.rsplit("::", 1)[-1]) == (THING, "b")
    assert seen["b"].props == seen["b"].inputs == {"size": 9, "color": "red"}
    assert seen["b"].options.protect and not seen["a"].options.protect
    assert seen["b"].parent is not None and seen["b"].provider is not None
    assert isinstance(seen["a"].props["key"], sw.Secret)
    assert "hyacinth" not in repr(seen["a"])


def test_a_remediation_rewrites_inputs_and_keeps_secrets(make_engine: MakeEngine, memory: Memory) -> None:
    def small(resource: sw.PolicyResource) -> dict[str, Any] | None:
        if resource.type != THING:
            return None
        plain: Any = sw.unwrap(dict(resource.inputs))
        return {**plain, "size": 2}

    async def work() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            policies = [
                sw.Policy("small", remediate=small),
                sw.Policy("not-big", level="mandatory", check=not_big),
            ]
            assert policies[0].level == "remediate"
            await stack.up(policies=policies)
            recorded = states(await stack.export_deployment())
            assert [recorded[name]["inputs"]["size"] for name in ("a", "b")] == [2, 2]
            assert "ciphertext" in recorded["a"]["inputs"]["key"]

    run(work)


def test_a_check_of_the_stack_names_resources_by_urn(make_engine: MakeEngine, memory: Memory) -> None:
    def few(stack: sw.PolicyStack, report: Any) -> str | None:
        things = [resource for resource in stack.resources if resource.type == THING]
        assert all(resource.props["made"] is True for resource in things)
        assert all("made" not in resource.inputs for resource in things)
        report("this one", things[0].urn)
        return "too many" if len(things) > 1 else None

    async def work() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            await stack.up()
            analysis = await stack.analyze([sw.Policy("few", check_stack=few, level="mandatory", pack="guard")])
            found = [(violation.name, violation.message, violation.pack) for violation in analysis.violations]
            assert [(message, pack) for _, message, pack in found] == [("this one", "guard"), ("too many", "guard")]
            assert found[0][0] in ("a", "b") and found[1][0] == "shop-dev"
            assert not analysis.passed and analysis.policy_packs == {"guard": "(local)"}

    run(work)


def raises(_seen: Any) -> Any:
    raise KeyError("sizes")


async def raises_async(_seen: Any) -> Any:
    raises(_seen)


def exits(_seen: Any) -> Any:
    sys.exit(2)


@pytest.mark.parametrize(
    ("function", "text", "cause"),
    [
        (raises, "KeyError: 'sizes'", KeyError),
        (raises_async, "KeyError: 'sizes'", KeyError),
        (exits, "SystemExit: 2", SystemExit),
    ],
)
@pytest.mark.parametrize(
    ("member", "call"), [("check", "Analyze"), ("remediate", "Remediate"), ("check_stack", "AnalyzeStack")]
)
def test_what_a_policy_raises_is_named_with_its_type_and_is_the_cause_of_the_error(
    tmp_path: Path, memory: Memory, member: str, call: str, function: Any, text: str, cause: type[BaseException]
) -> None:
    policy = sw.Policy("broken", **{member: function})
    expected = re.escape(f"policy broken failed during {call}: {text}")
    with stackwright.sync.Engine(store=f"file://{tmp_path}", providers={"mem": memory}) as engine:
        stack = engine.stack("shop/dev", program)
        stack.up()
        # An analysis calls no remediation.
        starts: list[Any] = [stack.up, stack.preview] if member == "remediate" else [stack.up, stack.preview, stack.analyze]
        for start in starts:
            with pytest.raises(sw.FailedError, match=f"{expected}$") as caught:
                start(policies=[policy])
            assert type(caught.value.__cause__) is cause
            assert caught.value.urn == "urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev"
            assert caught.value.urn not in engine._engine._raised._by_urn, "what was reported is not kept"
        # A check of another resource, which the failed run no longer waits for, can raise when that has ended: the next run forgets it.
        stack.up()
        assert not engine._engine._raised._by_urn, "nothing is kept"


def test_of_several_policies_that_raise_the_one_that_the_error_names_has_the_cause(make_engine: MakeEngine, memory: Memory) -> None:
    def failing(name: str) -> sw.Policy:
        def check_stack(_stack: sw.PolicyStack) -> None:
            raise LookupError(f"no table of {name}")

        return sw.Policy(name, check_stack=check_stack)

    async def work() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.FailedError) as caught:
                await stack.up(policies=[failing("sizes"), failing("colors")])
            assert isinstance(caught.value.__cause__, LookupError)
            assert str(caught.value.__cause__) in caught.value.message

    run(work)


@pytest.mark.parametrize(
    ("arguments", "wrong"), [((3,), "message is of the type int"), (("bad", 3), "urn is of the type int"), ((None, None), "message is of the type NoneType")]
)
@pytest.mark.parametrize("member", ["check", "check_stack"])
def test_a_report_of_another_type_is_refused_with_what_a_report_takes(
    make_engine: MakeEngine, memory: Memory, member: str, arguments: tuple[Any, ...], wrong: str
) -> None:
    def reporting(_seen: Any, report: Any) -> None:
        report(*arguments)

    given: dict[str, Any] = {member: reporting}

    async def work() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            text = r"policy few failed during \w+: report\(message, urn\) takes a message as a text, and the URN of a resource as a text or None, and its "
            with pytest.raises(sw.FailedError, match=text + wrong) as caught:
                await stack.up(policies=[sw.Policy("few", **given)])
            assert isinstance(caught.value.__cause__, sw.InvalidInputError)

    run(work)


def test_what_a_policy_receives_cannot_be_changed_in_place(make_engine: MakeEngine, memory: Memory) -> None:
    def enlarge(resource: sw.PolicyResource) -> None:
        resource.props["size"] = 2  # type: ignore[index]

    def look(resource: sw.PolicyResource) -> None:
        provider = () if resource.provider is None else (resource.provider.props,)
        for values in (resource.props, resource.inputs, resource.config, *provider):
            with pytest.raises(TypeError):
                values["size"] = 2

    def look_at_all(stack: sw.PolicyStack) -> None:
        with pytest.raises(TypeError):
            stack.config["size"] = 2  # type: ignore[index]
        for resource in stack.resources:
            look(resource)

    async def work() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.FailedError, match="policy enlarge failed during Remediate: TypeError: .*does not support item assignment") as caught:
                await stack.up(policies=[sw.Policy("enlarge", remediate=enlarge)])
            assert isinstance(caught.value.__cause__, TypeError)
            same = sw.Policy("same", remediate=lambda resource: resource.props)
            await stack.up(policies=[same, sw.Policy("look", check=look), sw.Policy("all", check_stack=look_at_all)])

    run(work)


def test_a_pack_of_functions_has_a_version_and_settings_and_its_place_among_others(
    make_engine: MakeEngine, memory: Memory
) -> None:
    settings: list[Any] = []

    def limit(resource: sw.PolicyResource) -> str | None:
        settings.append(dict(resource.config))
        return not_big(resource)

    def rewriting(size: int) -> Any:
        return lambda resource: {**resource.inputs, "size": size} if resource.name == "a" else None

    async def work() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            policies = [
                sw.Policy("limit", level="mandatory", check=limit, pack="guard", pack_version="1.2.0"),
                sw.Policy("two", remediate=rewriting(2), pack="second"),
                sw.Policy("three", remediate=rewriting(3), pack="third"),
            ]
            configured: Any = [{"name": "guard", "config": {"limit": {"enforcementLevel": "advisory", "most": 3}}}]
            operation = stack.up(policies=policies, required_policies=configured, local_policy_packs=[{"name": "third"}])
            events = [event async for event in operation]
            await operation
            found = [event for event in events if isinstance(event, sw.PolicyEvent)]
            assert [(event.policy_pack_version, event.enforcement_level) for event in found] == [("1.2.0", "advisory")]
            # The packs that the options name come first.
            assert states(await stack.export_deployment())["a"]["inputs"]["size"] == 2

    run(work)
    assert settings and all(given == {"most": 3} for given in settings)
    other = sw.Policy("other", check=not_big, pack="guard", pack_version="1.3.0")
    versions = [sw.Policy("limit", check=limit, pack="guard", pack_version="1.2.0"), other]

    async def refused() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.InvalidInputError, match="the pack 'guard' have two versions of it, '1.2.0' and '1.3.0'"):
                stack.preview(policies=versions)

    run(refused)


def test_an_analysis_changes_nothing_and_is_there_without_async(tmp_path: Path, memory: Memory) -> None:
    with stackwright.sync.Engine(store=f"file://{tmp_path}", providers={"mem": memory}) as engine:
        stack = engine.stack("shop/dev", program)
        stack.up()
        before = stack.export_deployment()
        analysis = stack.analyze([sw.Policy("not-big", level="mandatory", check=not_big_async)])
        assert [violation.message for violation in analysis.violations] == ["b is too big"]
        assert isinstance(analysis.violations[0], sw.PolicyViolation) and analysis.resources >= 3
        assert stack.export_deployment() == before and stack.unlock() == 0


def test_an_analysis_has_a_deadline_for_each_call_of_a_policy(tmp_path: Path, memory: Memory) -> None:
    async def hang(_: sw.PolicyResource) -> None:
        await asyncio.Event().wait()

    slow = sw.Policy("slow", check=hang)
    with stackwright.sync.Engine(store=f"file://{tmp_path}", providers={"mem": memory}) as engine:
        stack = engine.stack("shop/dev", program)
        stack.up()
        with pytest.raises(sw.StackwrightError, match="policy slow did not complete Analyze within 0.05 s, which is the callback timeout"):
            stack.analyze([slow], callback_timeout=0.05)
        for limit in (0, float("inf"), float("nan")):
            with pytest.raises(sw.InvalidInputError, match=f"callback_timeout.* takes a number of seconds above 0, not {limit}"):
                stack.analyze([slow], callback_timeout=limit)
        with pytest.raises(sw.InvalidInputError, match="callback_timeout"):
            stack.analyze([slow], callback_time=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({}, "has no function"),
        ({"check": not_big, "level": "harsh"}, "level takes one of advisory, mandatory"),
        ({"check": not_big, "severity": "grave"}, "severity takes one of low"),
        ({"check": 3}, "check takes a function"),
        ({"check": lambda: None}, "check takes a function that is called with one argument"),
        ({"check": not_big, "check_stack": not_big}, "has check_stack beside"),
    ],
)
def test_a_policy_that_is_wrong_in_itself_is_refused(members: dict[str, Any], text: str) -> None:
    with pytest.raises(sw.InvalidInputError, match=text):
        sw.Policy("wrong", **members)


def test_policies_of_another_type_and_results_of_another_type_are_refused(make_engine: MakeEngine, memory: Memory) -> None:
    def numbers(resource: sw.PolicyResource) -> Any:
        return 3

    async def work() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.InvalidInputError, match="policies takes objects of the class Policy"):
                stack.preview(policies=[not_big])  # type: ignore[list-item]
            with pytest.raises(sw.FailedError, match="a check returns a text, a list of texts or None, not int"):
                await stack.preview(policies=[sw.Policy("numbers", check=numbers)])
            with pytest.raises(sw.FailedError, match="remediate returns the inputs as a mapping, or None, not int") as caught:
                await stack.preview(policies=[sw.Policy("numbers", remediate=numbers)])
            assert isinstance(caught.value.__cause__, sw.InvalidInputError)

    run(work)


PACK = """\
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy

def check(args, report_violation):
    if args.props.get("size") == 9:
        report_violation(f"{args.name} is too big")

PolicyPack("guard", [
    ResourceValidationPolicy("not-big", "Things are small.", check, enforcement_level=EnforcementLevel.MANDATORY),
])
"""


def test_a_pack_in_a_folder_is_started_by_the_engine(make_engine: MakeEngine, memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "PulumiPolicy.yaml").write_text(f"runtime:\n  name: python\n  options:\n    virtualenv: {sys.prefix}\n")
    (folder / "__main__.py").write_text(PACK)

    async def work() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            pack: sw.PolicyPack = {"name": "guard", "path": str(folder)}
            with pytest.raises(sw.FailedError, match="policy not-big of guard is violated: Things are small.\nb is too big"):
                await stack.up(policies=[pack])
            await stack.up()
            analysis = await stack.analyze([pack])
            assert [violation.name for violation in analysis.violations] == ["b"]
            assert not analysis.passed

    run(work)


STRICT_PACK = """\
from pulumi_policy import EnforcementLevel, PolicyConfigSchema, PolicyPack, ResourceValidationPolicy, StackValidationPolicy

def owned(args):
    if args.resource_type == "mem:index:Thing" and "owner" not in args.props:
        return {**args.props, "owner": args.get_config()["owner"]}

def few(args, report_violation):
    things = [resource for resource in args.resources if resource.resource_type == "mem:index:Thing"]
    if len(things) > args.get_config()["most"]:
        report_violation("there are " + ", ".join(sorted(thing.name for thing in things)))

PolicyPack("strict", [
    ResourceValidationPolicy(
        "owned", "Things have an owner.", remediate=owned, enforcement_level=EnforcementLevel.REMEDIATE,
        config_schema=PolicyConfigSchema({"owner": {"type": "string"}}, ["owner"]),
    ),
    StackValidationPolicy(
        "few", "There are few things.", few, enforcement_level=EnforcementLevel.MANDATORY,
        config_schema=PolicyConfigSchema({"most": {"type": "number", "default": 1}}),
    ),
])
"""


def test_a_pack_of_the_sdk_rewrites_inputs_judges_the_stack_and_gets_its_settings(
    make_engine: MakeEngine, memory: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "strict"
    folder.mkdir()
    (folder / "PulumiPolicy.yaml").write_text(f"runtime:\n  name: python\n  options:\n    virtualenv: {sys.prefix}\n")
    (folder / "__main__.py").write_text(STRICT_PACK)

    def pack(**few: object) -> sw.PolicyPack:
        return {"name": "strict", "path": str(folder), "config": {"owned": {"owner": "shop"}, "few": few}}

    async def work() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.FailedError, match="policy few of strict is violated: There are few things.\nthere are a, b"):
                await stack.preview(policies=[pack()])
            with pytest.raises(sw.InvalidInputError, match='the policy "owned" of the pack "strict" needs the setting "owner"'):
                await stack.preview(policies=[{"name": "strict", "path": str(folder)}])
            with pytest.raises(sw.InvalidInputError, match='"strict" has the setting "most", which is no number'):
                await stack.preview(policies=[pack(most="two")])
            result = await stack.up(policies=[pack(most=2)])
            assert dict(result.changes) == {"create": 3}
            known = states(await stack.export_deployment())
            assert known["a"]["inputs"]["owner"] == "shop" and known["b"]["inputs"]["owner"] == "shop"
            assert (await stack.up(policies=[pack(most=2)])).changes == {"same": 3}

    run(work)
