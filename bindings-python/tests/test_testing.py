"""The test kit: simulated stacks, assertions, refactorings, faults, crashes, recordings and drawn configurations."""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import stackwright as sw
from stackwright.testing import (
    SimulatedStack,
    Subject,
    configurations,
    crash_everywhere,
    delay,
    fail,
    interrupt,
    kill,
    refactoring,
    simulate,
)

MACHINE, RECORD = "cloud:index:Machine", "cloud:index:Record"


def shop(
    size: str = "small", image: str = "a", name: str = "web", protect: bool = False, aliases: Sequence[str | sw.Alias] = ()
) -> sw.Program:
    def program(ctx: sw.Context) -> None:
        web = ctx.resource(MACHINE, name, {"size": size, "image": image}, protect=protect, aliases=list(aliases))
        ctx.resource(RECORD, "dns", {"address": web["address"]})
        ctx.export("address", web["address"])

    return program


OUTPUTS = {MACHINE: {"address": "10.0.0.1"}}


def test_outputs_repeat_inputs_and_ids_are_the_same_in_each_run() -> None:
    first, second = simulate(shop(), outputs=OUTPUTS), simulate(shop(), outputs=OUTPUTS)
    web = first.resources.find(MACHINE, "web")
    assert dict(web.outputs) == {"size": "small", "image": "a", "address": "10.0.0.1"}
    assert web.id == second.resources["web"].id and web.id.startswith("web-")
    assert first.resources["dns"].inputs["address"] == "10.0.0.1"
    assert first.outputs["address"].value == "10.0.0.1"
    assert first.resources.names == ["web", "dns"]
    assert first.resources.of_type("cloud:*").names == ["web", "dns"]
    assert first.resources.has("web") and not first.resources.has("db")
    first.preview().assert_no_changes()


def test_outputs_of_a_function_get_the_resource_and_are_unknown_in_previews() -> None:
    def address(resource: Subject) -> dict[str, Any]:
        return {"address": f"{resource.name}.{resource.inputs['size']}.{resource.id[:3]}"}

    stack = simulate(shop(), outputs={"cloud:*:Machine": address}, run=False)
    planned = stack.preview()
    assert sw.is_unknown(planned.resources["web"].outputs["address"])
    planned.assert_creates("web", "dns", only=True)
    assert stack.up().resources["dns"].inputs["address"] == "web.small.web"


def test_a_stack_outlives_its_runs() -> None:
    stack = simulate(shop(), outputs=OUTPUTS, replace_on={MACHINE: ["image"]})
    stack.up(shop(size="large")).assert_updates("web", only=True)
    result = stack.up(shop(size="large", image="b"))
    result.assert_replaces(f"{MACHINE}::web", only=True)
    result.assert_unchanged("dns")
    assert len(stack.world) == 2
    stack.preview(lambda ctx: None, allow_empty=True).assert_deletes("web", RECORD, only=True)
    stack.up().assert_no_changes()
    stack.destroy()
    assert len(stack.world) == 0


def test_a_changed_configuration_is_that_of_the_next_operations() -> None:
    def program(ctx: sw.Context) -> None:
        ctx.resource(MACHINE, "web", {"size": ctx.config.get("size", "small")})

    stack = simulate(program)
    stack.preview(config={"size": "huge"}).assert_updates("web")
    stack.up(config={"size": "large"}).assert_updates("web")
    stack.preview().assert_no_changes()


def test_a_failed_assertion_has_what_happened_and_the_nearest_names() -> None:
    result = simulate(shop(protect=True), outputs=OUTPUTS).up(shop(size="large"))
    with pytest.raises(AssertionError) as raised:
        result.assert_replaces("web")
    assert str(raised.value) == (
        "expected `web` to be replaced, but web is to update\n"
        "the steps of the operation:\n"
        "  ~  update   cloud:index:Machine  web\n"
        '       size: "small" -> "large"'
    )
    checks: tuple[tuple[Callable[[], None], str], ...] = (
        (lambda: result.assert_creates("wep"), "did you mean `web`?"),
        (lambda: result.assert_protected("dns"), "expected `dns` to be protected, but dns is not"),
        (lambda: result.assert_unchanged("web"), "web is to update"),
        (lambda: result.assert_no_changes(), "1 resource changes"),
    )
    for check, text in checks:
        with pytest.raises(AssertionError, match=text.replace("?", r"\?")):
            check()
    with pytest.raises(LookupError, match="did you mean 'web'"):
        result.resources.find("wep")
    with pytest.raises(sw.InvalidInputError, match="at least one resource"):
        result.assert_creates()


def test_drift_is_found_by_a_refresh_and_undone_by_the_next_update() -> None:
    stack = simulate(shop(), outputs=OUTPUTS)
    stack.world["web"]["size"] = "huge"
    assert stack.world.find(MACHINE, "web")["size"] == "huge"
    stack.refresh().assert_updates("web")
    stack.preview().assert_updates("web", only=True)
    stack.up()
    assert stack.world["web"]["size"] == "small"
    del stack.world["dns"]
    stack.refresh().assert_deletes("dns")
    stack.up().assert_creates("dns", only=True)


def test_functions_are_answered_by_the_test_or_name_the_option() -> None:
    async def program(ctx: sw.Context) -> None:
        found = await ctx.invoke("cloud:index:getImage", {"name": "debian"})
        ctx.resource(MACHINE, "web", {"image": found["id"]})

    stack = simulate(program, functions={"cloud:index:getImage": lambda arguments: {"id": f"image-{arguments['name']}"}})
    assert stack.resources["web"].inputs["image"] == "image-debian"
    simulate(program, functions={"cloud:index:*": {"id": "image-1"}})
    with pytest.raises(sw.StackwrightError, match="option `functions`"):
        simulate(program)


def test_existing_things_can_be_read_and_others_name_the_option() -> None:
    def program(ctx: sw.Context) -> None:
        net = ctx.read("cloud:index:Network", "net", "net-1")
        ctx.resource(MACHINE, "web", {"range": net["range"]})

    stack = simulate(program, existing={"cloud:index:Network": {"net-1": {"range": "10.0.0.0/8"}}})
    assert stack.resources["web"].inputs["range"] == "10.0.0.0/8"
    with pytest.raises(sw.StackwrightError, match="option `existing`"):
        simulate(program)


def test_the_text_of_a_result_has_changed_outputs_beside_changed_resources() -> None:
    versions = iter((1, 2))

    def program(ctx: sw.Context) -> None:
        version = next(versions)
        ctx.resource(MACHINE, "web", {"version": version})
        ctx.export("url", f"http://{version}")

    stack = simulate(program)
    text = str(stack.up())
    assert "~ version: 1 → 2" in text and '~ url: "http://1" → "http://2"' in text


def test_a_refresh_gives_no_inputs_to_a_resource_that_has_none() -> None:
    stack = simulate(lambda ctx: ctx.resource(MACHINE, "web", {}), outputs={MACHINE: {"address": "1"}})
    stack.world["web"]["address"] = "2"
    stack.refresh().assert_no_changes()
    assert stack.resources["web"].inputs == {} and stack.resources["web"].outputs["address"] == "2"
    stack.up().assert_no_changes()


def test_existence_can_be_queried() -> None:
    def program(ctx: sw.Context) -> None:
        ctx.export("there", ctx.exists("cloud:index:Network", "net-1"))
        ctx.export("absent", ctx.exists("cloud:index:Network", "net-2"))

    stack = simulate(program, existing={"cloud:index:Network": {"net-1": {"range": "10.0.0.0/8"}}})
    assert {name: output.value for name, output in stack.outputs.items()} == {"there": True, "absent": False}


SCHEMA = {
    "name": "cloud",
    "resources": {
        MACHINE: {
            "inputProperties": {
                "size": {"type": "string", "default": "small"},
                "image": {"type": "string", "willReplaceOnChanges": True},
            },
            "requiredInputs": ["image"],
            "properties": {"address": {"type": "string"}, "token": {"type": "string", "secret": True}, "size": {"type": "string"}},
            "required": ["address", "token", "size"],
        }
    },
}


def test_a_schema_gives_defaults_outputs_secrets_and_replacements(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))

    def program(image: str) -> sw.Program:
        return lambda ctx: ctx.resource(MACHINE, "web", {"image": image})

    stack = simulate(program("a"), schemas=[file])
    web = stack.resources["web"]
    assert web.inputs["size"] == "small" and web.outputs["address"].startswith("address-")
    assert isinstance(web.outputs["token"], sw.Secret)
    stack.up(program("b")).assert_replaces("web", only=True)
    with pytest.raises(sw.StackwrightError, match="requires this property"):
        simulate(lambda ctx: ctx.resource(MACHINE, "web", {}), schemas=[SCHEMA])
    with pytest.raises(sw.StackwrightError, match="did you mean `size`"):
        simulate(lambda ctx: ctx.resource(MACHINE, "web", {"image": "a", "sice": 1}), schemas=[SCHEMA])


def test_a_snapshot_shows_the_lines_that_differ_and_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def program(size: str) -> sw.Program:
        def run(ctx: sw.Context) -> None:
            ctx.resource(MACHINE, "web", {"size": size, "password": sw.secret("hunter2-hunter2")})
            ctx.export("size", size)

        return run

    file = tmp_path / "plans" / "web.txt"
    preview = simulate(program("small"), run=False).preview()
    with pytest.raises(AssertionError, match="does not exist"):
        preview.assert_matches_snapshot(file)
    preview.assert_matches_snapshot(file, update=True)
    simulate(program("small"), run=False).preview().assert_matches_snapshot(file)
    assert "hunter2" not in file.read_text() and "password: [secret]" in file.read_text()
    changed = simulate(program("large"), run=False).preview()
    with pytest.raises(AssertionError) as raised:
        changed.assert_matches_snapshot(file)
    assert '-     size: "small"' in str(raised.value) and '+     size: "large"' in str(raised.value)
    monkeypatch.setenv("STACKWRIGHT_UPDATE_SNAPSHOTS", "1")
    changed.assert_matches_snapshot(file)
    assert '"large"' in file.read_text()


def test_a_refactoring_prints_the_aliases_that_are_missing() -> None:
    refactoring(shop(), shop(name="frontend", aliases=[{"name": "web"}]), outputs=OUTPUTS)
    with pytest.raises(AssertionError) as raised:
        refactoring(shop(protect=True), shop(name="frontend", protect=True), outputs=OUTPUTS)
    text = str(raised.value)
    assert "aliases are missing:\n  frontend (cloud:index:Machine)" in text
    assert 'aliases=[{"name": "web"}]' in text
    assert "was urn:pulumi:test::project::cloud:index:Machine::web" in text
    with pytest.raises(AssertionError, match="no alias explains:"):
        refactoring(shop(), shop(size="large"), outputs=OUTPUTS)


def test_a_refactoring_begins_with_an_exported_state() -> None:
    exported = simulate(shop(), outputs=OUTPUTS).stack().export_deployment()
    refactoring(exported, shop(), outputs=OUTPUTS)
    with pytest.raises(AssertionError, match="frontend"):
        refactoring(exported, shop(name="frontend"), outputs=OUTPUTS)
    stack = simulate(state=exported, run=False, outputs=OUTPUTS)
    assert {thing.name for thing in stack.world} == {"web", "dns"}
    stack.up(shop()).assert_no_changes()


def test_faults_fail_what_they_name_and_the_next_run_repairs_it() -> None:
    stack = simulate(shop(), outputs=OUTPUTS, run=False)
    with pytest.raises(sw.StackwrightError, match="the quota is exceeded"):
        stack.up(faults=[fail("create", "cloud:index:*", name="dns", message="the quota is exceeded")])
    assert [thing.name for thing in stack.world] == ["web"]
    stack.up().assert_creates("dns", only=True)
    with pytest.raises(AssertionError, match="(?s)faults did not happen: create of .*the calls were:"):
        stack.up(faults=[fail("create", name="wep")])

    def failing(ctx: sw.Context) -> None:
        raise ValueError("a mistake of the program")

    with pytest.raises(AssertionError, match="(?s)faults did not happen: .*the operation has failed: .*a mistake of the program.*the calls were:") as failed:
        stack.up(failing, faults=[fail("create", name="web")])
    assert isinstance(failed.value.__cause__, sw.ProgramError)
    with pytest.raises(sw.InvalidInputError, match="call takes one of"):
        fail("crate")


def test_lost_answers_and_failed_initializations_are_seen_in_the_world() -> None:
    stack = simulate(shop(), outputs=OUTPUTS, run=False)
    result = stack.up(faults=[fail("create", name="web", answer_lost=True)], check=False)
    assert result.error is not None and "exists with the id web-" in stack.discrepancies()[0]
    stack = simulate(shop(), outputs=OUTPUTS, run=False)
    stack.up(faults=[fail("create", name="web", initialization=True)], check=False)
    stack.up().assert_updates("web")
    assert stack.discrepancies() == []


def test_delays_change_the_order_and_interrupts_end_the_operation() -> None:
    def program(ctx: sw.Context) -> None:
        ctx.resource(MACHINE, "slow")
        ctx.resource(MACHINE, "quick")

    stack = simulate(program, faults=[delay(name="slow", seconds=0.3)])
    assert [step.urn.split("::")[-1] for step in stack.steps if step.type == MACHINE] == ["quick", "slow"]
    stack = simulate(program, run=False)
    result = stack.up(faults=[interrupt(name="slow")], check=False, parallel=1)
    assert result.outcome == "canceled"
    stack.up()
    assert len(stack.world) == 2


def test_a_killed_run_is_continued_by_another_engine() -> None:
    stack = simulate(shop(), outputs=OUTPUTS, run=False)
    stack.up(faults=[kill("create", name="web", after=True)], check=False)
    assert stack.killed_at == "after the create of web (cloud:index:Machine)"
    stack.restart()
    pending = stack.stack().pending()
    assert [each.name for each in pending] == ["web"]
    stack.stack().adopt_pending(pending[0], stack.world["web"].id)
    stack.up().assert_creates("dns", only=True)
    assert stack.discrepancies() == [] and len(stack.world) == 2


def test_crashes_at_every_moment_of_creations_and_replacements_are_completed() -> None:
    report = crash_everywhere(shop(), outputs=OUTPUTS)
    places = {crash.place for crash in report.crashes}
    assert "after the create of web (cloud:index:Machine)" in places and "in the middle of appending to the journal" in places
    report = crash_everywhere(
        shop(image="b"), before=shop(size="large"), outputs=OUTPUTS, replace_on={MACHINE: ["image"]}, every=3
    )
    assert len(report) > 5
    assert len(crash_everywhere(shop(), verb="destroy", outputs=OUTPUTS, every=4)) > 3


@pytest.mark.parametrize("option", [{"dry_run": True}, {"run_id": "nightly"}])
def test_options_that_a_repeated_run_cannot_have_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(sw.InvalidInputError, match=f"cannot have the option {next(iter(option))}"):
        crash_everywhere(shop(), outputs=OUTPUTS, **option)


def test_a_program_that_is_never_done_is_no_matter_of_crashes() -> None:
    numbers = itertools.count()

    def program(ctx: sw.Context) -> None:
        ctx.resource(MACHINE, "web", {"size": next(numbers)})

    with pytest.raises(AssertionError, match="has killed no run, because a second run without a crash is not empty: .*update of .*web"):
        crash_everywhere(program)


def test_a_program_that_creates_twice_after_a_crash_is_reported() -> None:
    with pytest.raises(AssertionError) as raised:
        crash_everywhere(shop(), outputs=OUTPUTS, recover=None)
    text = str(raised.value)
    assert "killed after the create of web (cloud:index:Machine)" in text
    assert "exists with the id web-" in text and "no record has it" in text


class Cloud(sw.Provider):
    """A real provider, in place of a plugin."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        return sw.CreateResult(id=f"i-{request.name}", outputs={**request.inputs, "address": "192.0.2.7", "key": "k-31337"})

    def update(self, request: sw.UpdateRequest) -> dict[str, Any]:
        return {**request.old_outputs, **request.inputs}

    def delete(self, request: sw.DeleteRequest) -> None:
        pass


def test_a_recording_is_played_without_the_provider_and_has_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "recorded.json"

    def program(ctx: sw.Context) -> None:
        web = ctx.resource(
            MACHINE, "web", {"size": "small", "password": sw.secret("hunter2-hunter2")}, additional_secret_outputs=["key"]
        )
        ctx.export("address", web["address"])

    real = simulate(program, record=file, providers={"cloud": Cloud()})
    assert real.outputs["address"].value == "192.0.2.7"
    text = file.read_text()
    assert "i-web" in text and "hunter2" not in text and "31337" not in text
    played = simulate(program, record=file)
    assert played.resources["web"].id == "i-web" and played.outputs["address"].value == "192.0.2.7"
    played.preview().assert_no_changes()
    with pytest.raises(sw.StackwrightError, match="the recording has no"):
        played.up(lambda ctx: ctx.resource(MACHINE, "web", {"size": "large"}))


def test_real_providers_of_the_test_have_faults_and_crashes_too() -> None:
    def program(ctx: sw.Context) -> None:
        ctx.resource(MACHINE, "web", {"size": "small"})

    stack = simulate(program, providers={"cloud": Cloud()}, run=False)
    with pytest.raises(sw.StackwrightError, match="the test has failed this call"):
        stack.up(faults=[fail("create", name="web")])
    assert stack.up().resources["web"].id == "i-web"


def test_a_program_of_the_sdk_is_simulated() -> None:
    pulumi = pytest.importorskip("pulumi")
    random = pytest.importorskip("pulumi_random")

    def program() -> None:
        pet = random.RandomPet("pet", length=2)
        pulumi.export("pet", pet.id)

    stack = simulate(program)
    assert stack.resources.find("random:index/randomPet:RandomPet", "pet").inputs["length"] == 2
    assert stack.outputs["pet"].value.startswith("pet-")
    stack.preview().assert_no_changes()


def test_remote_components_have_simulated_outputs() -> None:
    def program(ctx: sw.Context) -> None:
        box = ctx.remote_component("cloud:index:Box", "box", {"size": 1})
        ctx.resource(MACHINE, "web", {"size": box["size"], "address": box["address"]})

    stack = simulate(program, outputs={"cloud:index:Box": {"address": "10.0.0.9"}})
    assert stack.resources.names == ["box", "web"]
    assert stack.resources["web"].inputs == {"size": 1, "address": "10.0.0.9"}


def test_configurations_are_drawn_from_types_and_from_a_project(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text(
        "name: shop\nruntime: python\nconfig:\n  size: {type: string}\n  count: {type: integer, default: 2}\n  key: {type: string, secret: true}\n"
        "  names: {type: array, items: {type: string}}\n"
    )
    seen: list[dict[str, Any]] = []

    @hypothesis.settings(max_examples=10, deadline=None, database=None)
    @hypothesis.given(configurations(tmp_path, size=hypothesis.strategies.sampled_from(["small", "large"])))
    def check(config: dict[str, Any]) -> None:
        seen.append(config)

        def program(ctx: sw.Context) -> None:
            ctx.resource(MACHINE, "web", {"size": ctx.config["size"]})

        simulate(program, config=config, stack="shop/test").preview().assert_no_changes()

    check()
    assert all(config["shop:size"] in ("small", "large") for config in seen)
    assert all(isinstance(config["shop:key"], sw.Secret) for config in seen)
    with pytest.raises(sw.InvalidInputError, match="the type of size takes one of"):
        configurations({"size": "text"})


def test_the_text_of_a_simulation_has_no_secret() -> None:
    def program(ctx: sw.Context) -> None:
        ctx.resource(MACHINE, "web", {"password": sw.secret("hunter2-hunter2")})

    stack = simulate(program)
    shown = [repr(stack), repr(stack.world), repr(stack.world["web"]), repr(stack.resources["web"]), repr(stack.result)]
    shown += [stack.result.plan_text(), str(stack.result), repr(stack.calls), repr(stack.world["web"]["password"])]
    assert not [text for text in shown if "hunter2" in text]


def test_the_fixture_closes_its_stacks(simulate: Callable[..., SimulatedStack]) -> None:
    assert isinstance(simulate(shop(), outputs=OUTPUTS), SimulatedStack)


@pytest.mark.simulated(shop(), outputs=OUTPUTS)
def test_the_fixture_of_a_mark_is_its_stack(simulated_stack: SimulatedStack) -> None:
    simulated_stack.result.assert_creates("web")


def test_a_hundred_runs_of_fifty_resources_take_seconds() -> None:
    def program(ctx: sw.Context) -> None:
        for number in range(50):
            ctx.resource(MACHINE, f"machine-{number}", {"size": number})

    begin = time.process_time()
    for _ in range(100):
        with simulate(program) as stack:
            assert len(stack.world) == 50
    seconds = time.process_time() - begin
    print(f"100 runs took {seconds:.2f} s of the processors")
    # Of an unoptimized build; the benchmark `testing.python.100`, of a release, fails beyond 5 s. Time of the processors: the machine may be
    # busy with other things.
    assert seconds < 15


def test_calls_are_listed_and_forgotten() -> None:
    stack = simulate(shop(), outputs=OUTPUTS)
    assert [(call.call, call.name) for call in stack.calls if call.call == "create"] == [("create", "web"), ("create", "dns")]
    stack.clear_calls()
    assert stack.calls == []


def test_a_folder_of_a_project_is_run(tmp_path: Path) -> None:
    pytest.importorskip("pulumi")
    environment = json.dumps({"name": "python", "options": {"virtualenv": sys.prefix}})
    (tmp_path / "Pulumi.yaml").write_text(f"name: shop\nruntime: {environment}\n")
    (tmp_path / "__main__.py").write_text(
        "import pulumi\n\nclass Machine(pulumi.CustomResource):\n    def __init__(self, name, props):\n"
        f"        super().__init__({MACHINE!r}, name, props)\n\nMachine('web', {{'size': 'small'}})\n"
    )
    for name in (None, "shop/test"):
        stack = simulate(project=tmp_path, stack=name)
        assert stack.resources["web"].inputs["size"] == "small"
        assert ":test::shop::" in stack.resources["web"].urn
