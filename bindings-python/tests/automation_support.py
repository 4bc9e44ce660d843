"""Shared by the tests of the Automation API: a program, and stacks on an engine with a provider in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest
from stackwright import automation as auto

from conftest import MakeEngine, Memory

DEADLINE = 60
"""How long a test waits for another thread, in seconds."""


class Thing(pulumi.CustomResource):
    made: pulumi.Output[bool]

    def __init__(self, name: str, props: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("mem:index:Thing", name, {"made": None, **props}, opts)


def shop() -> None:
    config = pulumi.Config()
    size = Thing("size", {"size": config.get_int("size") or 1})
    Thing("after", {"made_first": size.made}, pulumi.ResourceOptions(depends_on=[size]))
    pulumi.export("size", config.get("size"))
    pulumi.export("password", pulumi.Output.secret("hunter2"))
    pulumi.export("nested", {"list": [1, pulumi.Output.secret("hush")]})
    pulumi.export("text", "[secret]")


Open = Callable[..., auto.Stack]


@pytest.fixture
def open_stack(make_engine: MakeEngine, memory: Memory, tmp_path: Path) -> Iterator[Open]:
    """Opens stacks on an engine with the provider in memory."""
    command = auto.Command(make_engine(mem=memory))

    def open(name: str = "dev", program: auto.PulumiFn = shop, **options: Any) -> auto.Stack:
        opts = auto.LocalWorkspaceOptions(pulumi_command=command, pulumi_home=str(tmp_path / "home"), **options)
        return auto.create_or_select_stack(name, project_name="shop", program=program, opts=opts)

    yield open


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a store in a folder, with a passphrase."""
    (tmp_path / "state").mkdir()
    return {
        "PULUMI_BACKEND_URL": f"file://{tmp_path / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE": "correct horse",
        "PULUMI_HOME": str(tmp_path / "home"),
    }


def children() -> set[int]:
    """Returns the child processes of all threads."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        # A thread can end meanwhile.
        with contextlib.suppress(FileNotFoundError):
            found.update(int(child) for child in (task / "children").read_text().split())
    return found


def counts(changes: Any) -> dict[str, int]:
    """Returns the counts of a summary by the names of operations."""
    return dict(changes or {})
