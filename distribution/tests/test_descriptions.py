"""The pages with which registries describe the packages: they have no repository beside them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from products import main_package
from targets import ROOT


def _of_the_wheel(_: Path) -> Path:
    named = re.search(r'(?m)^readme = "(.+)"$', (ROOT / "pyproject.toml").read_text())
    assert named is not None
    return ROOT / named[1]


def _of_the_npm_package(folder: Path) -> Path:
    return main_package(folder) / "README.md"


@pytest.mark.parametrize(("made", "command"), [(_of_the_wheel, "`pip install stackwright`"), (_of_the_npm_package, "`npm install stackwright`")])
def test_a_description_names_no_file_and_no_command_of_the_repository(made: Callable[[Path], Path], command: str, tmp_path: Path) -> None:
    text = made(tmp_path / "package").read_text(encoding="utf-8")
    assert command in text
    assert [part for part in ("<!--", "](", "\nmake ", "docs/") if part in text] == []
