"""Examples: each ends with success on real files and prints the expected text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def run(name: str, folder: Path, *arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("name", ["native.py", "native_sync.py"])
def test_the_native_examples_create_and_destroy_their_files(name: str, tmp_path: Path) -> None:
    output = run(name, tmp_path, str(tmp_path))
    assert "to create" in output and "deleted" in output
    assert not [path for path in (tmp_path / "files").rglob("*") if path.is_file()]


def test_the_sdk_example_creates_and_destroys_its_files(tmp_path: Path) -> None:
    output = run("sdk.py", tmp_path, str(tmp_path))
    assert "'letters': 64" in output and "4 unchanged" in output
    assert output.rstrip().endswith("files: []")


def test_the_quickstart_keeps_its_state_and_does_nothing_the_second_time(tmp_path: Path) -> None:
    assert "3 to create" in run("quickstart.py", tmp_path)
    assert (tmp_path / "state" / "site" / "page.html").read_text() == "<h1>Hello</h1>\n"
    assert "3 unchanged" in run("quickstart.py", tmp_path)


def test_the_example_that_keeps_its_state_does_nothing_the_second_time(tmp_path: Path) -> None:
    assert "2 to create" not in (output := run("supplied_state.py", tmp_path, str(tmp_path))) and "2 created" in output
    saved = (tmp_path / "deployment.json").read_text()
    assert "ciphertext" in saved and "some data" not in saved
    assert "2 unchanged" in run("supplied_state.py", tmp_path, str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deployment.json", "files"]


def test_the_example_with_a_store_of_its_own_finds_what_it_has_recorded(tmp_path: Path) -> None:
    output = run("own_store.py", tmp_path, str(tmp_path))
    assert "2 created" in output and "2 unchanged" in output
    assert ".pulumi/stacks/data/dev.json" in output


def test_the_example_of_many_stacks_deploys_them_concurrently(tmp_path: Path) -> None:
    # Few stacks, because the key derivation of each passphrase is slow.
    output = run("many_stacks.py", tmp_path, str(tmp_path), "12")
    assert "12 stacks with 132 resources one after the other" in output and "132 resources at once" in output
    assert output.count("120 files were written") == 2
    assert output.count("12 stacks destroyed; 0 files are left") == 2
    assert "at once takes " in output


def test_the_example_of_a_set_of_stacks_deploys_them_in_their_order_and_destroys_them_in_reverse(tmp_path: Path) -> None:
    output = run("stack_set.py", tmp_path, str(tmp_path))
    for name in ("north", "south", "west"):
        assert f"shop/{name} {{'page': '{name} calls 10.0.0.1\\n'}}" in output
    assert output.index("network/prod | ended") < output.index("shop/north | ended") < output.index("index/prod | ended (5 of 5 stacks)")
    assert output.rstrip().endswith("files: []")
