"""Types: the stub agrees with the native module, and package, examples and tests pass the strict checker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> str:
    result = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True)
    return "" if result.returncode == 0 else result.stdout + result.stderr


def test_the_stub_of_the_native_module_agrees_with_it() -> None:
    assert not run("mypy.stubtest", "stackwright._stackwright", "--ignore-disjoint-bases")


def test_package_examples_and_tests_pass_the_strict_checker() -> None:
    assert not run("mypy")
