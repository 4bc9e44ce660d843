"""The source distribution and the crates: that nothing is missing which cargo needs, and that they can be published."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
from targets import ROOT, version

SDIST = ROOT / "build" / "sdist" / f"stackwright-{version()}.tar.gz"
EXPECTED = re.compile(r"ignoring test `\w+` as|aborting upload due to dry run")
"""Warnings that stand for what is intended: tests are not published, and this publishes nothing."""


def _locked(folder: Path) -> set[tuple[str, str]]:
    return set(re.findall(r'\[\[package\]\]\nname = "(.+)"\nversion = "(.+)"', (folder / "Cargo.lock").read_text()))


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(SDIST) as archive:
        archive.extractall(folder, filter="data")
    return folder / f"stackwright-{version()}"


def test_cargo_finds_every_crate_of_the_source_distribution_in_the_version_of_the_lock_file(unpacked: Path) -> None:
    # Drops the entries of what the source distribution leaves out, as each build does.
    command = ["cargo", "metadata", "--offline", "--format-version", "1"]
    ended = subprocess.run(command, cwd=unpacked, capture_output=True, text=True, timeout=110, check=False)
    assert ended.returncode == 0, ended.stderr
    kept, all_locked = _locked(unpacked), _locked(ROOT)
    assert len(kept) > 200
    assert kept <= all_locked


def test_the_source_distribution_needs_no_other_build_tools(unpacked: Path) -> None:
    project = (unpacked / "pyproject.toml").read_text()
    assert re.search(r'(?m)^requires = \["maturin[^"]*"\]$', project)
    assert not [path for path in unpacked.rglob("*") if path.is_symlink()]
    assert "\nstrip = true\n" in (unpacked / "Cargo.toml").read_text()


def test_the_crates_can_be_published() -> None:
    command = ["cargo", "publish", "--workspace", "--dry-run", "--no-verify", "--allow-dirty"]
    variables = {**os.environ, "CARGO_TERM_COLOR": "never"}
    ended = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=110, check=False)
    assert ended.returncode == 0, ended.stderr
    warnings = [line for line in ended.stderr.splitlines() if line.startswith("warning:") and not EXPECTED.search(line)]
    assert warnings == []
    published = re.findall(r"Uploading (\S+) v", ended.stderr)
    assert sorted(published) == [f"stackwright{part}" for part in ("", "-cli", "-command", "-derivation", "-project", "-proto")]
