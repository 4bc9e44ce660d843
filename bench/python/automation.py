"""``automation.python.session`` and ``import.python``: ``python automation.py [PREFIX]``."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stackwright as sw
from stackwright import automation as auto
from things import Things, selection

ROUNDS = 9
SETTINGS = 20


class Plain:
    """Encrypts without a key, so that none is derived."""

    kind = "plain"
    state = None

    def encrypt(self, plaintexts: Sequence[str]) -> Sequence[str]:
        return [f"plain:{text}" for text in plaintexts]

    def decrypt(self, ciphertexts: Sequence[str]) -> Sequence[str]:
        return [text.removeprefix("plain:") for text in ciphertexts]


def program() -> None:
    import pulumi

    for number in range(3):
        pulumi.CustomResource("things:index:Thing", f"thing-{number}", {"number": number})
    pulumi.export("size", pulumi.Config().get("key-0"))


def session(folder: Path, name: str, **settings: Any) -> float:
    """Returns the seconds of one life cycle, as a script has it."""
    engine = sw.Engine(store=f"file://{folder / 'state'}", providers={"things": Things()}, **settings)
    opts = auto.LocalWorkspaceOptions(
        pulumi_command=auto.Command(engine), pulumi_home=str(folder / "home"), env_vars={}
    )
    began = time.perf_counter()
    stack = auto.create_or_select_stack(name, project_name="bench", program=program, opts=opts)
    for number in range(SETTINGS):
        stack.set_config(f"key-{number}", auto.ConfigValue(str(number)))
    stack.preview()
    up = stack.up()
    outputs = stack.outputs()
    stack.destroy()
    took = time.perf_counter() - began
    assert outputs["size"].value == "0" and up.summary.resource_changes == {"create": 4}
    return took


def processes() -> int:
    """Returns how many processes this one has started so far and not waited for, all threads included."""
    tasks = Path("/proc/self/task").iterdir()
    return sum(len((task / "children").read_text().split()) for task in tasks)


def automation(folder: Path) -> None:
    asked = selection()
    before = processes()
    plain = [session(folder, f"plain-{number}", secrets=Plain()) for number in range(ROUNDS)]
    asked.print("automation.python.session", 1000 * statistics.median(plain), "ms")
    asked.print("automation.python.processes", processes() - before, "processes")
    derived = [session(folder, f"derived-{number}", passphrase="bench") for number in range(3)]
    derivation = statistics.median(derived) - statistics.median(plain)
    print(f"automation.python: the derivation of the key takes {1000 * derivation:.0f} ms more", file=sys.stderr)


def imports() -> None:
    asked = selection()
    timed = "import time; began = time.perf_counter(); import stackwright; print(time.perf_counter() - began)"
    command = [sys.executable, "-c", timed]
    took = [float(subprocess.run(command, capture_output=True, check=True, text=True).stdout) for _ in range(ROUNDS)]
    asked.print("import.python", 1000 * statistics.median(took), "ms")


if __name__ == "__main__":
    if selection().overlaps("automation."):
        with tempfile.TemporaryDirectory(dir=".") as temporary:
            automation(Path(temporary).resolve())
    if selection().overlaps("import."):
        imports()
