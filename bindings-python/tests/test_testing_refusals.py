"""The test kit refuses what is misspelt, and its assertions fail on what has failed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
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


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"outputs": {MACHINE: 3}}, f"outputs of {MACHINE} takes a dictionary of values, or a function of the resource, not int"),
        ({"functions": {MACHINE: 5}}, f"the answer to {MACHINE} takes a dictionary of values, or a function of the arguments, not int"),
    ],
)
def test_answers_are_dictionaries_or_functions(settings: dict[str, Any], text: str) -> None:
    assert misspelt(simulate, shop, **settings) == text


@pytest.mark.parametrize("only", [1, "yes", None])
def test_an_assertion_about_all_changes_is_asked_for_with_a_truth_value(only: Any) -> None:
    with simulate(shop) as stack:
        assert misspelt(stack.result.assert_creates, "web", only=only).startswith("only takes True or False, not ")


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


def test_in_is_consistent_with_the_brackets() -> None:
    stack = simulate(shop)
    for names in (stack.resources, stack.world):
        assert "web" in names and f"{MACHINE}::web" in names and "wbe" not in names and 7 not in names
        assert names["web"] in names
    assert [each.name for each in stack.resources] == stack.resources.names
    web = stack.resources["web"]
    assert "size" in web and "siez" not in web and list(web) == ["size"]
    assert simulate(shop, stack="other/dev").resources["web"] not in stack.resources


def test_what_is_no_program_is_refused_before_anything_runs() -> None:
    runs: list[str] = []

    def counted(ctx: sw.Context) -> None:
        runs.append(ctx.stack)

    nothing: Any = None
    assert misspelt(refactoring, counted, nothing).startswith("after takes a program (a function, or what pulumi_program() returns), not")
    assert misspelt(refactoring, nothing, counted).startswith("before takes a program (a function, or what pulumi_program() returns) or an")
    assert misspelt(refactoring, counted, {"size": "l"}).startswith("after takes a program")
    assert misspelt(crash_everywhere, nothing).startswith("program takes a program")
    assert misspelt(crash_everywhere, counted, before=7).startswith("before takes a program")
    assert misspelt(simulate, {"size": "l"}, run=False).endswith("a configuration is given by its name: config={…}")
    assert not runs


def test_a_refused_run_keeps_the_program_and_the_configuration() -> None:
    stack = simulate(shop, config={"size": "large"})
    refused: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        (({"size": "l"},), {}, "program takes a function"),
        ((7,), {}, "program takes a program"),
        ((failing,), {"config": "size"}, "config takes a dictionary of values by keys, not the text 'size'"),
        ((failing,), {"faults": fail("create")}, "faults takes a list of faults, not Fault"),
        ((failing,), {"faults": ["create"]}, "faults takes a list of fail(), delay(), interrupt() and kill(), not the text 'create'"),
        ((failing,), {"config": {"size": object()}}, ""),
        ((failing,), {"targets": "**web"}, "targets"),
    ]
    for arguments, options, text in refused:
        assert text in misspelt(stack.up, *arguments, **options)
        stack.preview().assert_no_changes()
    assert stack.resources["web"].inputs["size"] == "large"


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"replace_on": {MACHINE: "size"}}, f"replace_on of {MACHINE!r} takes a list of paths, not the text 'size'"),
        ({"replace_on": [MACHINE]}, "replace_on takes a dictionary of lists of paths by types, not list"),
        ({"delete_before_replace": MACHINE}, f"delete_before_replace takes a list of types, not the text {MACHINE!r}"),
        ({"delete_before_replace": [7]}, "delete_before_replace takes a list of types, not int"),
        ({"real": "cloud"}, "real takes a list of packages, not the text 'cloud'"),
        ({"schemas": {"name": "cloud"}}, "schemas takes a list of schemas of packages: dictionaries, or paths of JSON files, not dict"),
        ({"schemas": "cloud.json"}, "schemas takes a list of schemas of packages: dictionaries, or paths of JSON files, not the text"),
        ({"faults": fail("create"), "run": False}, "faults takes a list of fail(), delay(), interrupt() and kill(), not Fault"),
        ({"existing": {"T": {"size": "x"}}}, "existing of 'T' with the id 'size' takes a dictionary of properties, not the text 'x'"),
        ({"existing": {"T": "x"}}, "existing of 'T' takes a dictionary of things by ids, not the text 'x'"),
        ({"stacks": {"a/b": 3}}, "stacks of 'a/b' takes a dictionary of outputs, not int"),
        ({"config": "x"}, "config takes a dictionary of values by keys, not the text 'x'"),
        ({"record": 7}, "record takes the path of a file, not int"),
    ],
)
def test_a_setting_of_another_kind_is_refused_by_its_name(settings: dict[str, Any], text: str) -> None:
    assert misspelt(simulate, shop, **settings).startswith(text)


def test_members_of_faults_name_what_they_take() -> None:
    assert misspelt(delay, seconds="1") == "seconds takes a number from 0 to 86400, not the text '1'"
    assert misspelt(delay, seconds=float("inf")) == "seconds takes a number from 0 to 86400, not inf"
    assert misspelt(delay, seconds=-1) == "seconds takes a number from 0 to 86400, not -1"
    wanted = "status takes one of stackwright.Status, such as Status.UNAVAILABLE, not"
    assert misspelt(fail, status="unavailable") == f"{wanted} the text 'unavailable'"
    assert misspelt(fail, status=99) == f"{wanted} 99"
    assert misspelt(fail, message=7) == "message takes a text, not int"
    assert misspelt(fail, in_previews="yes") == "in_previews takes True or False, not the text 'yes'"
    assert "one of answer_lost and initialization" in misspelt(fail, answer_lost=True, initialization=True)


def test_a_thing_is_not_added_in_the_place_of_another_one() -> None:
    stack = simulate(shop, existing={MACHINE: {"i-1": {"size": "small"}}})
    assert "already" in misspelt(stack.world.add, MACHINE, "i-1", {})
    assert dict(stack.world["i-1"]) == {"size": "small"}
    stack.world.add(RECORD, "i-1", {})
    assert misspelt(stack.world.add, MACHINE, "i-2", "x").startswith("properties takes a dictionary")


def test_a_recorded_preview_is_played_and_an_update_on_it_is_refused(tmp_path: Path) -> None:
    class Previewed(Cloud):
        fails = False

    class Planning(Previewed):
        supports_preview = True

        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            address = sw.UNKNOWN if request.preview else "10.0.0.1"
            return sw.CreateResult(id="" if request.preview else "i-1", outputs={**request.inputs, "address": address})

    for number, cloud in enumerate((Previewed(), Planning())):
        file = tmp_path / f"{number}.json"
        real = simulate(shop, record=file, providers={"cloud": cloud}, run=False).preview()
        for _ in range(2):
            played = simulate(shop, record=file, run=False)
            preview = played.preview()
            preview.assert_creates("web", "dns", only=True)
            assert preview.plan_text() == real.plan_text()
            assert set(preview.resources["web"]) == set(real.resources["web"])
        with pytest.raises(sw.StackwrightError, match="the recording has no create of .* with these inputs; remove the file"):
            played.up()


def test_the_previews_of_a_provider_that_takes_part_in_them_are_those_that_are_played(tmp_path: Path) -> None:
    class Planning(sw.Provider):
        supports_preview = True

        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            address = sw.UNKNOWN if request.preview else "10.0.0.1"
            return sw.CreateResult(id="" if request.preview else request.name, outputs={**request.inputs, "address": address})

        def update(self, request: sw.UpdateRequest) -> sw.UpdateResult:
            return sw.UpdateResult(outputs={**request.inputs, "address": "10.0.0.3" if request.preview else "10.0.0.2"})

        def delete(self, request: sw.DeleteRequest) -> None:
            pass

    def program(ctx: sw.Context) -> None:
        web = ctx.resource(MACHINE, "web", {"size": ctx.config.get("size", "small")})
        ctx.resource(RECORD, "dns", {"address": web["address"]})

    def plans(providers: dict[str, sw.Provider] | None) -> list[str]:
        stack = simulate(program, record=tmp_path / "recorded.json", providers=providers, run=False)
        first = [stack.preview().plan_text(), stack.up().plan_text()]
        large = {"size": "large"}
        return [*first, stack.preview(config=large).plan_text(), stack.up(config=large).plan_text(), stack.preview().plan_text()]

    recorded = plans({"cloud": Planning()})
    assert "10.0.0.3" in recorded[2] and "10.0.0.2" in recorded[3]
    assert plans(None) == recorded


def test_a_function_that_is_misspelt_is_refused_with_the_nearest_answer() -> None:
    def program(ctx: sw.Context) -> None:
        ctx.invoke("cloud:index:getZoen", {})

    with pytest.raises(sw.StackwrightError, match='did you mean "cloud:index:getZone", which the option `functions` has') as raised:
        simulate(program, functions={"cloud:index:getZone": {}})
    assert "->" not in str(raised.value)


def test_a_killed_run_names_what_begins_another_one() -> None:
    stack = simulate(shop, run=False)
    stack.up(faults=[kill("create", name="web")], check=False)
    with pytest.raises(sw.CancelledError) as raised:
        stack.up()
    assert "restart()" in str(raised.value.hints) and "begin_run" not in str(raised.value.hints)


TESTS = """
import pytest

from stackwright.testing import fail, refactoring, simulate


def program(ctx):
    ctx.resource("cloud:index:Machine", "web", {"size": "small"})


@pytest.mark.simulated(program=program)
def test_of_a_keyword(simulated_stack):
    assert "web" in simulated_stack.resources


@pytest.mark.simulated.with_args(program)
def test_of_an_argument(simulated_stack):
    assert "web" in simulated_stack.resources


def test_without_a_mark(simulated_stack):
    pass


@pytest.mark.simulated(program=program)
def test_without_the_fixture():
    pass


def test_of_an_assertion():
    simulate(program).result.assert_updates("web", only=True)


def test_of_a_fault():
    simulate(program, faults=[fail("create", name="wbe")])


def test_of_a_refactoring():
    refactoring(program, lambda ctx: None, allow_empty=True)


def test_of_a_resource():
    simulate(program).resources["wbe"]
"""


def test_a_closed_stack_refuses_operations_and_keeps_its_results() -> None:
    stack = simulate(shop)
    stack.close()
    stack.close()
    for operation in (stack.up, stack.preview, stack.refresh, stack.destroy, stack.stack, stack.restart):
        with pytest.raises(sw.InvalidInputError, match="the simulated stack project/test is closed"):
            operation()
    assert stack.result.outcome == "succeeded" and len(stack.world) > 0


def test_files_that_cannot_be_read_are_named_with_their_option(tmp_path: Path) -> None:
    missing, text, folder = tmp_path / "missing.json", tmp_path / "text.json", tmp_path / "folder"
    text.write_text("[]")
    folder.mkdir()
    with pytest.raises(sw.InvalidInputError, match=rf"schemas: {missing} cannot be read: No such file") as failed:
        simulate(shop, schemas=[str(missing)])
    assert isinstance(failed.value.__cause__, FileNotFoundError)
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(sw.InvalidInputError, match="schemas: .*broken.json is no JSON"):
        simulate(shop, schemas=[tmp_path / "broken.json"])
    with pytest.raises(sw.InvalidInputError, match=rf"record: {folder} cannot be read: Is a directory"):
        simulate(shop, record=folder)
    with pytest.raises(sw.InvalidInputError, match=f"^{text}: the recording cannot be read: it is no JSON object"):
        simulate(shop, record=text)
    with simulate(shop) as stack, pytest.raises(sw.InvalidInputError, match=rf"file: {folder} cannot be read"):
        stack.result.assert_matches_snapshot(folder)


def test_files_that_cannot_be_written_are_named_with_their_option(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    # A file where the folder would be.
    below = file / "below"
    cloud = Cloud()
    cloud.fails = False
    with pytest.raises(sw.InvalidInputError, match=rf"record: {below} cannot be written: ") as failed:
        simulate(shop, providers={"cloud": cloud}, record=below)
    assert isinstance(failed.value.__cause__, OSError)
    with simulate(shop) as stack, pytest.raises(sw.InvalidInputError, match=rf"file: {below} cannot be written: "):
        stack.result.assert_matches_snapshot(below, update=True)
    assert file.read_text() == "kept"


def test_the_display_takes_operations() -> None:
    for value in (5, None, "up"):
        with pytest.raises(sw.InvalidInputError, match=r"operation takes what a method such as up\(\) returns, not "):
            sw.sync.display(value)  # type: ignore[call-overload]
        with pytest.raises(sw.InvalidInputError, match=r"operation takes what a method such as up\(\) returns, not "):
            asyncio.run(sw.display(value))  # type: ignore[call-overload]


def test_the_plugin_of_pytest_names_the_mark_and_shows_no_frame_of_the_library(tmp_path: Path) -> None:
    file = tmp_path / "test_shop.py"
    file.write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(file)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert "2 passed" in done.stdout and "4 failed" in done.stdout and "2 errors" in done.stdout, done.stdout
    assert "needs a mark: @pytest.mark.simulated(program=program)" in done.stdout
    assert "the mark simulated has no effect without the fixture simulated_stack" in done.stdout
    shown = [line for line in done.stdout.splitlines() if "stackwright/testing/" in line or "_checks.py" in line]
    assert not [line for line in shown if "pytest_plugin" not in line], shown
