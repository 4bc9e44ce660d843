"""The document of the coverage of ``pulumi.automation``."""

from __future__ import annotations

import subprocess
import sys

from conftest import ROOT


def test_every_name_of_the_sdk_is_tested_or_has_a_reason() -> None:
    script = ROOT / "api" / "automation" / "coverage.py"
    checked = subprocess.run(
        [sys.executable, str(script), "--check", "python"], capture_output=True, text=True, timeout=110, check=False
    )
    assert checked.returncode == 0, checked.stderr
