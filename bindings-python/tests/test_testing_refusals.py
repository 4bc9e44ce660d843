"""The test kit refuses what is misspelt, and its assertions fail on what has failed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw
from stackwright.testing import crash_everywhere, delay, fail, interrupt, kill, refactoring, simulate

MACHINE, RECORD = "cloud:index:Machine", "cloud:index:Record"


def shop(ctx: sw.Context) -> None:
    ctx.resource(MACHINE, "web", {"size": ctx.config.get("size", "small")})
    ctx.resource(RECORD, "dns", {"ttl": 60})


def failing(ctx: sw.Context) -> None:
    ctx.resource(MACHINE, "web", {"password": sw.secret("hunter2-hunter2")})
    raise ValueError("no hunter2-hunter2\nin the second line")


def misspelt(function: Callable[..., object], *arguments: Any, **options: Any) -> str:
    with pytest.raises(sw.InvalidInputError) as raised:
        function(*arguments, **options)
    return str(raised.value)


def test_only_refuses_every_other_change() -> None:
    result = simulate(shop).up(lambda ctx: ctx.resource(MACHINE, "web", {"size": "large"}))
    result.assert_updates("web")
    with pytest.raises(AssertionError, match="expected only `web` to be updated, but dns is to delete\n"):
        result.assert_updates("web", only=True)


def test_a_step_that_failed_is_not_what_it_was_to_be() -> None:
    result = simulate(shop, run=False).up(faults=[fail("create", name="web", message="the quota is exceeded")], check=False)
    with pytest.raises(AssertionError, match="expected `web` to be created, but the create of web failed\n"):
        result.assert_creates("web")
    with pytest.raises(AssertionError, match="expected no changes, but the operation failed: .*quota"):
        result.assert_no_changes()
    assert result.plan_text().startswith("the operation failed: ")
    assert "+ create cloud:index:Machine web (failed)\n" in result.plan_text()


def test_a_preview_that_failed_has_no_absence_of_changes_and_its_snapshot_has_the_error(tmp_path: Path) -> None:
    stack = simulate(shop)
    preview = stack.preview(failing, check=False)
    for check in (preview.assert_no_changes, lambda: preview.assert_unchanged("dns")):
        with pytest.raises(AssertionError, match=r"but the preview failed: ValueError: no \[secret\]\n"):
            check()
    file = tmp_path / "plan.txt"
    preview.assert_matches_snapshot(file, update=True)
    text = file.read_text()
    assert text.startswith("the preview failed: ValueError: no [secret]\n")
    assert "hunter2" not in text and "second line" not in text


class Cloud(sw.Provider):
    """A provider whose credentials come later."""

    fails = True

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if self.fails:
            raise sw.ProviderError("no credentials")
        return sw.CreateResult(id=f"real-{request.name}", outputs=request.inputs)

    def delete(self, request: sw.DeleteRequest) -> None:
        pass


def test_a_run_that_failed_writes_no_recording(tmp_path: Path) -> None:
    file, cloud = tmp_path / "recorded.json", Cloud()
    stack = simulate(shop, providers={"cloud": cloud}, record=file, run=False)
    with pytest.raises(sw.StackwrightError, match="no credentials"):
        stack.up()
    assert not file.exists()
    cloud.fails = False
    stack.up()
    assert "no credentials" not in file.read_text()
    recorded = file.read_bytes()
    cloud.fails = True
    stack.up(lambda ctx: ctx.resource(MACHINE, "other", {}), check=False)
    assert file.read_bytes() == recorded
    assert simulate(shop, record=file).resources["web"].id == "real-web"


def test_misspelt_keywords_name_the_function_and_the_nearest_option() -> None:
    assert misspelt(simulate, shop, outpts={}) == "unknown option 'outpts' of simulate(); did you mean 'outputs'?"
    assert misspelt(simulate, shop, run=False, outpts={}) == "unknown option 'outpts' of simulate(); did you mean 'outputs'?"
    assert misspelt(crash_everywhere, shop, evry=2) == "unknown option 'evry' of crash_everywhere(); did you mean 'every'?"
    assert misspelt(refactoring, shop, shop, stak="a/b") == "unknown option 'stak' of refactoring(); did you mean 'stack'?"
    for maker in (fail, delay, interrupt, kill):
        assert misspelt(maker, "create", nam="web") == f"unknown option 'nam' of {maker.__name__}(); did you mean 'name'?"
    stack = simulate(shop)
    assert misspelt(stack.up, fault=[]) == "unknown option 'fault' of up(); did you mean 'faults'?"
    assert misspelt(stack.refresh, fault=[]) == "unknown option 'fault' of refresh(); did you mean 'faults'?"
    assertion = stack.result.assert_creates
    assert misspelt(assertion, "web", onyl=True) == "unknown option 'onyl' of assert_creates(); did you mean 'only'?"


def test_values_that_are_none_of_an_option_name_those_that_are() -> None:
    assert misspelt(crash_everywhere, shop, verb="upp") == "verb takes one of 'up', 'destroy', 'refresh', not 'upp'"
    assert misspelt(crash_everywhere, shop, recover="adpt") == "recover takes 'adopt', a function of the stack, or None, not 'adpt'"
    assert "cannot have the option run_id" in misspelt(refactoring, shop, shop, run_id="nightly")


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"outputs": {"cloud:index:Machin": {"address": "a"}}}, "outputs: 'cloud:index:Machin'; did you mean 'cloud:index:Machine'?"),
        ({"outputs": {"cloud:index:Machin": lambda subject: {}}}, "outputs: 'cloud:index:Machin'; did you mean 'cloud:index:Machine'?"),
        ({"replace_on": {"cloud:*:Recrd": ["ttl"]}}, "replace_on: 'cloud:*:Recrd'"),
        ({"delete_before_replace": ["aws:*"]}, "delete_before_replace: 'aws:*'"),
        ({"functions": {"cloud:index:getZone": {}}}, "functions: 'cloud:index:getZone'"),
    ],
)
def test_patterns_that_match_nothing_are_refused_after_the_first_run(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(AssertionError) as raised:
        simulate(shop, **settings)
    assert f"\n  {text}\n" in str(raised.value) and f"were:\n  {MACHINE}\n  {RECORD}" in str(raised.value)
    with pytest.raises(AssertionError, match="patterns match nothing"):
        crash_everywhere(shop, **settings)
    with pytest.raises(AssertionError, match="patterns match nothing"):
        refactoring(shop, shop, **settings)
    simulate(shop, **settings, allow_unmatched=True).preview().assert_no_changes()
    simulate(shop, **settings, targets=["**web"])
    stack = simulate(shop, **settings, run=False)
    with pytest.raises(AssertionError, match="patterns match nothing"):
        stack.preview()
    stack.up()


def test_a_simulation_without_a_program_names_what_takes_one() -> None:
    expected = r"^the stack project/test has no program; give one to simulate\(\) or up\(\), or a project that has one$"
    with pytest.raises(sw.InvalidInputError, match=expected):
        simulate()
    stack = simulate(run=False)
    with pytest.raises(sw.InvalidInputError, match=expected):
        stack.preview()
    with pytest.raises(sw.InvalidInputError, match=expected):
        stack.destroy(destroy_program=True)
    stack.destroy()
    stack.up(shop)


def test_a_program_that_fails_anyway_is_not_killed() -> None:
    with pytest.raises(sw.ProgramError, match="has killed no run, because the program fails without a crash: ValueError: boom") as raised:
        crash_everywhere(lambda ctx: ctx.export("a", _boom()))
    assert isinstance(raised.value.__cause__, ValueError)
    with pytest.raises(sw.ProgramError, match="because the program whose state it begins with fails without a crash"):
        crash_everywhere(shop, before=failing)


def _boom() -> str:
    raise ValueError("boom")


def test_a_run_that_a_fault_has_killed_was_cancelled() -> None:
    with pytest.raises(sw.CancelledError, match="a fault of the test has killed this run"):
        simulate(shop, faults=[kill("create", name="web")])


def test_options_of_operations_hold_for_each_run_of_crashes_and_refactorings() -> None:
    places = {crash.place for crash in crash_everywhere(shop, targets=["**web"]).crashes}
    assert not [place for place in places if "dns" in place]
    preview = refactoring(shop, lambda ctx: ctx.resource(MACHINE, "web", {"size": "small"}), targets=["**web"])
    preview.assert_no_changes()
