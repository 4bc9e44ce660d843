"""The tests that the Makefile runs with other versions of the SDKs: all of components and of SDK programs are among them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def variable(name: str) -> set[str]:
    """Returns the words of a variable of the Makefile."""
    make = ["make", "--just-print", "--print-data-base", "--question", "documents"]
    printed = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    found = re.search(rf"^{name} :?= (.*)$", printed, re.MULTILINE)
    assert found is not None, name
    return set(found.group(1).split())


@pytest.mark.skipif(shutil.which("make") is None, reason="make is missing")
@pytest.mark.parametrize(
    ("folder", "pattern", "variables"),
    [
        ("bindings-python/tests", "test_{}.py", ["PYTHON_SDK_TESTS"]),
        ("bindings-node/tests", "{}.test.mjs", ["SDK_TESTS", "COMPONENT_TESTS"]),
    ],
    ids=["Python", "Node"],
)
def test_tests_of_components_and_sdk_programs_run_with_the_ends_of_the_ranges(folder: str, pattern: str, variables: list[str]) -> None:
    listed = set().union(*(variable(name) for name in variables))
    kinds = ("component_*", "sdk", "sdk_*", "project_callbacks", "policies")
    found = {path.relative_to(ROOT).as_posix() for kind in kinds for path in (ROOT / folder).glob(pattern.format(kind))}
    assert found <= listed, sorted(found - listed)
    assert all((ROOT / name).is_file() for name in listed), sorted(listed)
