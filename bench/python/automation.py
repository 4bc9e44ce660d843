"""``automation.python.{session,processes,local}`` and ``import.python``: ``python automation.py [PREFIX]``."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stackwright as sw
from idle_monitor import idle_monitor
from stackwright import automation as auto
from things import Things, selection

ROUNDS = 9
LOCAL_ROUNDS = 5
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


LOCAL = """import pulumi
for number in range(3):
    pulumi.CustomResource("things:index:Thing", f"thing-{number}", {"number": number})
pulumi.export("size", pulumi.Config().get("key-0"))
"""
"""The same program in a folder."""

LAUNCHER = Path(__file__).parents[2] / "project" / "src" / "program" / "launch.py"


def session(folder: Path, name: str, work_dir: str | None = None, **settings: Any) -> float:
    """Returns the seconds of one life cycle, as a script has it: of an inline program, or of that in ``work_dir``."""
    engine = sw.Engine(store=f"file://{folder / 'state'}", providers={"things": Things()}, **settings)
    opts = auto.LocalWorkspaceOptions(
        pulumi_command=auto.Command(engine), pulumi_home=str(folder / "home"), env_vars={}
    )
    began = time.perf_counter()
    if work_dir is None:
        stack = auto.create_or_select_stack(name, project_name="bench", program=program, opts=opts)
    else:
        stack = auto.create_or_select_stack(name, work_dir=work_dir, opts=opts)
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
    """Returns how many child processes there are, all threads included, and one more for each page fault of those that have ended:
    only the same number twice means that none was started."""
    # The fields behind the name of the process, which can have blanks.
    faults = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[8]
    while True:
        tasks = Path("/proc/self/task").iterdir()
        try:
            return int(faults) + sum(len((task / "children").read_text().split()) for task in tasks)
        except (FileNotFoundError, ProcessLookupError):
            # A thread has ended meanwhile; its children are those of another one now.
            continue


def interpreter(place: Path, address: str, is_preview: bool) -> float:
    """Returns the seconds of one run of the program in a folder by its interpreter alone."""
    facts = {
        "address": address,
        "project": "bench",
        "stack": "dev",
        "organization": "organization",
        "root": str(place),
        "program": str(place),
        "config": {f"bench:key-{number}": str(number) for number in range(SETTINGS)},
        "secretKeys": [],
        "parallel": 16,
        "dryRun": is_preview,
    }
    command = [sys.executable, "-u", "-c", LAUNCHER.read_text()]
    began = time.perf_counter()
    # The launcher states completion after the facts, so that its input is a file.
    with tempfile.TemporaryFile() as facts_file:
        facts_file.write(json.dumps(facts).encode())
        facts_file.seek(0)
        subprocess.run(command, stdin=facts_file, check=True, cwd=place, env=dict(os.environ))
    return time.perf_counter() - began


def local(folder: Path) -> None:
    place = folder / "local"
    place.mkdir()
    options = f"  options:\n    virtualenv: {sys.prefix}\n"
    (place / "Pulumi.yaml").write_text(f"name: bench\nruntime:\n  name: python\n{options}")
    (place / "__main__.py").write_text(LOCAL)
    took: list[tuple[float, float]] = []
    with idle_monitor() as address:
        for number in range(LOCAL_ROUNDS):
            floor = interpreter(place, address, True) + interpreter(place, address, False)
            took.append((session(folder, f"local-{number}", str(place), secrets=Plain()), floor))
    whole, floor = (statistics.median(column) for column in zip(*took, strict=True))
    print(f"automation.python.local: {whole:.3f} s, of which the interpreter alone takes {floor:.3f} s", file=sys.stderr)
    selection().print("automation.python.local", whole / floor, "ratio")


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
            if selection().overlaps("automation.python.session") or selection().overlaps("automation.python.processes"):
                automation(Path(temporary).resolve())
            if selection().overlaps("automation.python.local"):
                local(Path(temporary).resolve())
    if selection().overlaps("import."):
        imports()
