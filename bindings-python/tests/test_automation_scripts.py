"""The scripts of ``examples/automation``: each runs with one changed import, and without the executable of the reference.

That of AWS needs ``pulumi_aws``, which is large: ``make test-aws`` installs it in an environment of its own, and runs the test.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

EXAMPLES = ROOT / "examples" / "automation"
SCRIPTS = sorted((EXAMPLES / "python").glob("*.py"))

BEFORE = "from pulumi import automation as auto"
AFTER = "from stackwright import automation as auto"


PACKAGES = ("command", "random")
"""The packages of scripts, whose plugins are scripted."""
WITH_PACKAGES = ("import_resources", "sdk_packages")


def install_plugins(home: Path, packages: tuple[str, ...] = PACKAGES) -> None:
    """Installs plugins in the version that each package asks for."""
    for package in packages:
        version = importlib.metadata.version(f"pulumi_{package}")
        folder = home / "plugins" / f"resource-{package}-v{version}"
        folder.mkdir(parents=True)
        executable = folder / f"pulumi-resource-{package}"
        plugin = Path(__file__).with_name("scripted_plugin.py")
        executable.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(plugin))} \"$@\"\n")
        executable.chmod(0o755)


def test_there_are_at_least_twelve_scripts() -> None:
    assert len(SCRIPTS) >= 12


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.stem))
def test_the_script_runs_with_its_import_changed(script: Path, tmp_path: Path) -> None:
    if script.stem in WITH_PACKAGES:
        install_plugins(tmp_path / "home")
    run(script, tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("pulumi_aws") is None, reason="pulumi_aws is not installed: make test-aws installs it")
def test_the_script_of_aws_runs_with_its_import_changed(tmp_path: Path) -> None:
    install_plugins(tmp_path / "home", ("aws",))
    output = run(EXAMPLES / "aws" / "bucket.py", tmp_path)
    assert "+ 4 created" in output and "~ 2 updated" in output and "- 4 deleted" in output, output


def run(script: Path, tmp_path: Path) -> str:
    """Runs a script in a folder of its own, and returns what it prints."""
    text = script.read_text()
    assert text.count(BEFORE) == 1
    changed = tmp_path / script.name
    # What else the line imports stays an import of the SDK.
    changed.write_text(text.replace(f"{BEFORE}, dynamic", f"{AFTER}\nfrom pulumi import dynamic").replace(BEFORE, AFTER))
    (tmp_path / "state").mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")},
        "PATH": "",
        "PULUMI_BACKEND_URL": f"file://{tmp_path / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE": "correct horse",
        "PULUMI_HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path),
    }
    ended = subprocess.run(
        [sys.executable, str(changed)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
