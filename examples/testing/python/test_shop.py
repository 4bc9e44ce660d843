"""Tests of a program: run with ``pytest``. Neither a provider nor an account is needed."""

import pytest
from shop import program
from stackwright.testing import crash_everywhere, fail, refactoring

SETTINGS = {
    "config": {"password": "correct horse"},
    "outputs": {
        "cloud:index:Database": {"address": "orders.internal"},
        "cloud:index:Machine": lambda machine: {"address": f"{machine.name}.internal"},
    },
    "replace_on": {"cloud:index:Database": ["engine"]},
}


def test_each_record_has_the_address_of_its_machine(simulate):
    stack = simulate(program, stack="shop/live", **SETTINGS)
    for record in stack.resources.of_type("cloud:index:Record"):
        assert record.inputs["address"] == record.name.replace(".shop", ".internal")
    stack.preview().assert_no_changes()


def test_another_size_updates_the_machines_and_nothing_else(simulate):
    stack = simulate(program, stack="shop/live", **SETTINGS)
    stack.up(config={**SETTINGS["config"], "size": "large"}).assert_updates("web-*", only=True)


def test_the_live_database_is_protected(simulate):
    simulate(program, stack="shop/live", **SETTINGS).result.assert_protected("orders")
    with pytest.raises(AssertionError, match="orders is not"):
        simulate(program, stack="shop/dev", **SETTINGS).result.assert_protected("orders")


def test_the_plan_is_the_one_that_was_reviewed(simulate):
    simulate(program, stack="shop/live", run=False, **SETTINGS).preview().assert_matches_snapshot("plans/live.txt")


def test_a_size_that_is_changed_by_hand_is_put_right(simulate):
    stack = simulate(program, **SETTINGS)
    stack.world["web-0"]["size"] = "huge"
    stack.refresh()
    stack.up().assert_updates("web-0", only=True)


def test_a_failed_machine_leaves_the_database_and_the_next_run_completes_it(simulate):
    stack = simulate(program, run=False, **SETTINGS)
    result = stack.up(faults=[fail("create", "cloud:index:Machine", message="the quota is exceeded")], check=False)
    assert result.outcome == "failed" and "orders" in stack.world
    stack.up().assert_creates("web-0", only=False)


def test_the_names_of_last_week_are_known_by_their_aliases():
    def last_week(ctx):
        ctx.resource("cloud:index:Machine", "web", {"size": "small"})

    def today(ctx):
        ctx.resource("cloud:index:Machine", "web-0", {"size": "small"}, aliases=[{"name": "web"}])

    refactoring(last_week, today)


def test_a_crash_at_any_moment_is_completed_by_the_next_run():
    assert len(crash_everywhere(program, **SETTINGS)) > 20
