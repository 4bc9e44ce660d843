"""Pooled plugin processes: a process with an outdated environment is never reused."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import stackwright as sw
from stackwright import sync

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the plugin's environment is read from /proc")


def look(ctx: sw.Context) -> None:
    """Exports the environment and the process ID of the plugin's process, read from /proc/self."""
    for name in ("environ", "stat"):
        file = ctx.invoke("gofiles:index:readFile", {"path": f"/proc/self/{name}"})
        ctx.export(name, file["content"])


def asking(engine: sync.Engine, stack: str = "shop/dev") -> Callable[[], tuple[str, dict[str, str]]]:
    """Returns a function that deploys a stack; returns process ID and environment of the plugin's process."""

    def ask() -> tuple[str, dict[str, str]]:
        outputs = engine.stack(stack, look).up().outputs
        variables = (line.partition("=") for line in outputs["environ"].value.split("\0") if line)
        return outputs["stat"].value.split(" ")[0], {name: value for name, _, value in variables}

    return ask


def engine_with(plugin: Path, **options: float) -> sync.Engine:
    return sync.Engine(store="memory://", plugins=sw.Plugins(directories=[plugin.parent], **options))  # type: ignore[arg-type]


def test_the_environment_of_a_tenant_is_not_used_for_another(gofiles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with engine_with(gofiles) as engine:
        first, second = asking(engine, "shop/a"), asking(engine, "shop/b")
        seen: dict[str, set[str]] = {"a": set(), "b": set()}
        for tenant, ask in (("a", first), ("b", second), ("a", first), ("b", first), ("a", second)):
            monkeypatch.setenv("TENANT_TOKEN", tenant)
            process, variables = ask()
            assert variables["TENANT_TOKEN"] == tenant
            seen[tenant].add(process)
        assert not seen["a"] & seen["b"]
        monkeypatch.delenv("TENANT_TOKEN")
        assert "TENANT_TOKEN" not in first()[1]


def test_a_process_is_reused_while_nothing_has_changed(gofiles: Path) -> None:
    with engine_with(gofiles) as engine:
        ask = asking(engine)
        first, variables = ask()
        assert variables["PATH"] == os.environ["PATH"]
        assert [ask()[0] for _ in range(3)] == [first] * 3
        assert asking(engine, "shop/other")()[0] != first, "it was configured as the provider of another stack"


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_does_not_answer_is_replaced(gofiles: Path, end: signal.Signals) -> None:
    with engine_with(gofiles) as engine:
        ask = asking(engine)
        for _ in range(5 if end == signal.SIGKILL else 1):
            first, _ = ask()
            os.kill(int(first), end)
            assert ask()[0] != first


def test_the_environment_of_a_plugin_contains_the_runtime_options(gofiles: Path) -> None:
    with engine_with(gofiles) as engine:
        given = {"virtualenv": "venv", "typescript": True, "build": {"flags": ["-v", 2.5, None]}}
        stack = engine.stack("shop/dev", look, runtime_options=given)
        variables = stack.up().outputs["environ"].value.split("\0")
        assert {
            "PULUMI_RUNTIME_VIRTUALENV=venv",
            "PULUMI_RUNTIME_TYPESCRIPT=true",
            'PULUMI_RUNTIME_BUILD={"flags":["-v",2.5,null]}',
            "PULUMI_PROJECT=shop",
        } <= set(variables)
        for options, message in (
            (["a"], "runtime_options takes JSON values by name, not a list"),
            ({5: "a"}, "runtime_options: a key of type int cannot be written as JSON"),
            ({"typescript": object()}, "runtime_options['typescript']: a value of type object cannot be written as JSON"),
            ({"size": float("nan")}, "runtime_options['size']: nan cannot be written as JSON"),
            ({"a=b": "c"}, 'the runtime option "a=b" can be no variable of an environment'),
        ):
            with pytest.raises(sw.InvalidInputError) as caught:
                engine.stack("shop/dev", look, runtime_options=options)  # type: ignore[arg-type]
            assert str(caught.value).startswith(message)


@pytest.mark.parametrize("options", [{"pool_capacity": 0}, {"pool_age_limit": 0}])
def test_the_pool_can_be_disabled(gofiles: Path, options: dict[str, float]) -> None:
    with engine_with(gofiles, **options) as engine:
        ask = asking(engine)
        assert len({ask()[0] for _ in range(3)}) == 3


def test_a_rebuilt_plugin_is_restarted(gofiles: Path, tmp_path: Path) -> None:
    plugin = tmp_path / gofiles.name

    def build() -> None:
        shutil.copy(gofiles, tmp_path / "new")
        (tmp_path / "new").replace(plugin)

    build()
    with engine_with(plugin) as engine:
        ask = asking(engine)
        first, _ = ask()
        assert ask()[0] == first
        build()
        assert ask()[0] != first


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pool_capacity": 1.5}, "plugins.pool_capacity takes a whole number from 0 to 4294967295, not 1.5"),
        ({"pool_capacity": -1}, "plugins.pool_capacity takes a whole number from 0 to 4294967295, not -1"),
        ({"pool_idle_limit": "1"}, "plugins.pool_idle_limit takes a number of seconds from 0, not a string"),
        ({"pool_idle_limit": -1}, "plugins.pool_idle_limit takes a number of seconds from 0, not -1"),
        ({"pool_age_limit": float("nan")}, "plugins['pool_age_limit']: nan cannot be written as JSON; give a finite number"),
    ],
)
def test_invalid_limits_of_the_pool_are_refused(gofiles: Path, options: dict[str, float], message: str) -> None:
    with pytest.raises(sw.InvalidInputError) as caught:
        engine_with(gofiles, **options)
    assert str(caught.value).startswith(message)
