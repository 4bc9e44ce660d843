"""Odd values that code of the host raises or returns fail their own operation, never the process or another stack."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_odd_values_from_every_callback_settle_each_operation_and_spare_the_process_and_other_stacks() -> None:
    script = Path(__file__).with_name("hostile_host.py")
    host = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert host.returncode == 0, host.stderr[-4000:]
    report = json.loads(host.stdout.splitlines()[-1])
    assert report["failures"] == []
    assert report["missed"] == [], "each callback was called"
    assert report["neighbours"] == ["succeeded"]
    assert report["operations"] > 700
