"""The command ``stackwright`` at a terminal: what a reader sees, types and interrupts."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from terminal import DEADLINE, Terminal

COMMAND = [sys.executable, "-m", "stackwright"]

PETS = """\
import pulumi, pulumi_random
config = pulumi.Config()
class Zoo(pulumi.ComponentResource):
    def __init__(self, name):
        super().__init__("zoo:index:Zoo", name)
        for number in range(config.get_int("pets") or 3):
            options = pulumi.ResourceOptions(parent=self)
            length, prefix = config.get_int("length") or 2, config.get_secret("prefix")
            pulumi_random.RandomPet(f"pet-{number}", length=length, prefix=prefix, opts=options)
Zoo("zoo")
pulumi.export("size", config.get_int("pets") or 3)
pulumi.export("password", pulumi.Output.secret("hunter2"))
"""

SLOW = "import sys, time\nprint('has begun', flush=True)\ntime.sleep(600)\n"


class Shop:
    """A folder with a project, a store, a plugin and a stack."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "shop"
        (self.folder / "state").mkdir(parents=True)
        options = f"options: {{virtualenv: {sys.prefix}}}"
        (self.folder / "Pulumi.yaml").write_text(f"name: shop\nruntime:\n  name: python\n  {options}\n")
        home = folder / "home"
        version = importlib.metadata.version("pulumi_random")
        plugin = home / "plugins" / f"resource-random-v{version}" / "pulumi-resource-random"
        plugin.parent.mkdir(parents=True)
        script = Path(__file__).with_name("scripted_plugin.py")
        plugin.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(script))} \"$@\"\n")
        plugin.chmod(0o755)
        own = {
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "correct horse",
            "PULUMI_HOME": str(home),
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_") and name != "NO_COLOR"}
        self.environment = {**kept, **own}
        self.write(PETS)
        self.run("stack", "init", "dev")

    def write(self, program: str) -> None:
        (self.folder / "__main__.py").write_text(program)

    def run(self, *arguments: str, code: int = 0, **options: object) -> subprocess.CompletedProcess[str]:
        """Runs the command without a terminal."""
        ended: subprocess.CompletedProcess[str] = subprocess.run(  # type: ignore[call-overload]
            [*COMMAND, *arguments],
            **{
                "cwd": self.folder,
                "env": self.environment,
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                "timeout": DEADLINE,
                "check": False,
                **options,
            },
        )
        assert ended.returncode == code, (ended.stdout or "") + (ended.stderr or "")
        return ended

    def open(self, *arguments: str, columns: int = 100, rows: int = 40) -> Terminal:
        """Runs the command at a terminal."""
        return Terminal([*COMMAND, *arguments], self.folder, self.environment, columns, rows)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    yield Shop(tmp_path)


def row(lines: list[str], name: str) -> str:
    """Returns the last line about a resource."""
    return next(line for line in reversed(lines) if f" {name} " in line)


def test_an_update_shows_its_preview_asks_and_shows_its_tree(shop: Shop) -> None:
    with shop.open("up") as terminal:
        lines = terminal.wait_for("[yes/no/details]")
        assert lines[0] == "Previewing update (dev):"
        assert row(lines, "pet-2").split()[2:] == ["random:index:RandomPet", "pet-2", "create"]
        assert "    + 5 to create" in lines
        terminal.type("details\n")
        lines = terminal.wait_for("the details", lambda lines: sum("[yes/no/details]" in line for line in lines) == 2)
        details = lines[lines.index("+ random:index/randomPet:RandomPet: (create)") :]
        assert re.fullmatch(r"    \[urn=urn:pulumi:dev::shop::zoo:index:Zoo\$random:index/randomPet:RandomPet::pet-\d\]", details[1])
        assert details[2] == "  + length: 2"
        terminal.type("yes\n")
        assert terminal.end() == 0
        lines = terminal.all[terminal.all.index("Updating (dev):") :]
    assert lines[2].split() == ["Type", "Name", "Status", "Info"]
    assert all("created (" in row(lines, name) for name in ("pet-0", "shop-dev", "zoo")), lines
    assert "    + 5 created" in lines and "    password: [secret]" in lines
    assert sum(" pet-1 " in line for line in lines) == 1, "rows are updated in place"
    assert b"\x1b[32m" in terminal.written, "it is coloured"
    assert b"hunter2" not in terminal.written


def test_a_question_that_is_declined_changes_nothing(shop: Shop) -> None:
    for answer in ("no\n", "\n", "\x04"):
        with shop.open("up", rows=60) as terminal:
            terminal.wait_for("[yes/no/details]")
            terminal.type(answer)
            assert terminal.end() == 1
            assert terminal.lines[-1] == "confirmation declined, not proceeding with the update"
    assert shop.run("stack", "history").stdout == ""


def test_changed_properties_are_shown_with_both_values(shop: Shop) -> None:
    shop.run("up", "--yes")
    shop.run("config", "set", "length", "7")
    shop.run("config", "set", "--secret", "prefix", "hunter2")
    with shop.open("preview", "--diff", rows=80) as terminal:
        assert terminal.end() == 0
        lines = terminal.lines
    place = lines.index("~ random:index/randomPet:RandomPet: (update)")
    assert lines[place + 1].startswith("    [id=pet-") and lines[place + 1].endswith("-scripted]")
    assert lines[place + 3 : place + 5] == ["  ~ length: 2 => 7", "  + prefix: [secret]"]
    assert "[diff: +prefix~length]" in row(lines, "pet-1")
    assert b"hunter2" not in terminal.written


def test_many_rows_do_not_flood_the_terminal_and_the_end_has_all(shop: Shop) -> None:
    shop.run("config", "set", "pets", "120")
    with shop.open("up", "--yes", "--skip-preview", rows=20) as terminal:
        assert terminal.end() == 0
    lines = terminal.all
    assert lines[0] == "Updating (dev):" and lines.count("Updating (dev):") == 1
    for number in range(120):
        assert "created (" in row(lines, f"pet-{number}")
    assert "    + 122 created" in lines
    frame = 20 * 150
    assert len(terminal.written) < 122 * 200 + 80 * frame, "it is written ten times a second at most"


def test_without_a_terminal_lines_are_plain_and_nothing_is_asked(shop: Shop) -> None:
    refused = shop.run("up", code=2)
    assert refused.stderr == (
        "error: --yes or --skip-preview or --preview-only must be passed in to proceed when running in non-interactive mode\n"
    )
    lines = shop.run("up", "--yes").stdout
    assert " +  random:index/randomPet:RandomPet pet-0 created (" in lines and "\x1b" not in lines
    coloured = shop.run("preview", "--color", "always").stdout
    assert "\x1b[1mPreviewing update (dev):\x1b[0m" in coloured


@pytest.mark.parametrize(
    ("arguments", "variables"), [(["--color", "never"], {}), ([], {"NO_COLOR": "1"})], ids=["flag", "variable"]
)
def test_colours_can_be_left_out(shop: Shop, arguments: list[str], variables: dict[str, str]) -> None:
    shop.environment.update(variables)
    with shop.open("preview", *arguments) as terminal:
        assert terminal.end() == 0
    assert b"\x1b[3" not in terminal.written and b"\x1b[1m" not in terminal.written
    assert row(terminal.lines, "pet-0").endswith("create")


def test_a_terminal_can_be_used_without_interaction(shop: Shop) -> None:
    with shop.open("up", "--non-interactive") as terminal:
        assert terminal.end() == 2
    with shop.open("up", "--non-interactive", "--yes") as terminal:
        assert terminal.end() == 0
    assert b"\x1b[J" not in terminal.written and b"A\x1b" not in terminal.written


def test_an_interrupt_cancels_gracefully(shop: Shop) -> None:
    shop.write(SLOW)
    with shop.open("up", "--yes", "--skip-preview") as terminal:
        terminal.wait_for("has begun")
        terminal.type("\x03")
        assert terminal.end() == 8
    assert shop.run("stack", "history").stdout != "", "the cancelled operation is recorded"
    shop.run("stack", "rm", "--yes", "--force")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_without_a_terminal_cancels_gracefully(shop: Shop, number: signal.Signals) -> None:
    shop.write(SLOW)
    arguments = [*COMMAND, "up", "--yes", "--skip-preview"]
    process = subprocess.Popen(
        arguments, cwd=shop.folder, env=shop.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "has begun" in line:
            break
    process.send_signal(number)
    _, errors = process.communicate(timeout=DEADLINE)
    assert process.returncode == 8, errors
    assert errors.startswith("cancelling: running steps complete and are recorded")


def test_an_interrupt_ends_a_question(shop: Shop) -> None:
    with shop.open("up") as terminal:
        terminal.wait_for("[yes/no/details]")
        terminal.type("\x03")
        assert terminal.end() == 8
    assert shop.run("stack", "history").stdout == ""


def test_a_closed_pipe_ends_the_output_and_not_the_command(shop: Shop) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        shop.run("up", "--yes", stdout=writing, stderr=writing)
    finally:
        os.close(writing)
    assert '"pet-0"' in shop.run("stack", "export").stdout or "::pet-0" in shop.run("stack", "export").stdout


def test_a_value_and_the_removal_of_a_stack_are_asked_for(shop: Shop) -> None:
    with shop.open("config", "set", "greeting") as terminal:
        terminal.wait_for("value:")
        terminal.type("hello\n")
        assert terminal.end() == 0
    assert shop.run("config", "get", "greeting").stdout == "hello\n"
    for answer, code in (("prod", 1), ("dev", 0)):
        with shop.open("stack", "rm") as terminal:
            terminal.wait_for("Type its name")
            terminal.type(f"{answer}\n")
            assert terminal.end() == code


def test_a_missing_passphrase_is_asked_for_and_is_not_shown(shop: Shop) -> None:
    del shop.environment["PULUMI_CONFIG_PASSPHRASE"]
    with shop.open("config", "set", "--secret", "token", "hunter2") as terminal:
        terminal.wait_for("Enter your passphrase to unlock config/secrets")
        assert not terminal.shows_input
        terminal.type("correct horse\n")
        assert terminal.end() == 0
    assert b"correct horse" not in terminal.written
    shop.environment["PULUMI_CONFIG_PASSPHRASE"] = "correct horse"
    assert shop.run("config", "get", "token").stdout == "hunter2\n"


def test_an_interrupted_question_for_a_passphrase_leaves_the_terminal_as_it_was(shop: Shop) -> None:
    del shop.environment["PULUMI_CONFIG_PASSPHRASE"]
    with shop.open("up") as terminal:
        terminal.wait_for("Enter your passphrase to unlock config/secrets")
        assert not terminal.shows_input
        terminal.type("\x03")
        assert terminal.end() == 8
        assert terminal.shows_input


def test_the_entry_point_is_the_same_command() -> None:
    script = Path(sys.executable).with_name("stackwright")
    versions = [
        subprocess.run([*command, "version"], capture_output=True, text=True, check=True, timeout=DEADLINE).stdout
        for command in (COMMAND, [str(script)])
    ]
    assert versions[0] == versions[1] and versions[0].startswith("v3.")


def test_bash_completes_subcommands_and_flags_with_the_script_of_the_command(shop: Shop) -> None:
    script = shop.run("completion", "bash").stdout
    questions = """
complete_words() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    handler=$(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    "$handler" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
    echo "${COMPREPLY[@]}"
}
complete_words stackwright prev
complete_words stackwright stack ren
complete_words stackwright up --expect
"""
    bash = ["bash", "--norc", "-s"]
    answers = subprocess.run(bash, input=script + questions, check=True, capture_output=True, text=True, timeout=DEADLINE).stdout
    assert answers.splitlines() == ["preview", "rename", "--expect-no-changes"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes_subcommands_and_flags_with_the_script_of_the_command(shop: Shop) -> None:
    script = shop.run("completion", "fish").stdout
    questions = "".join(f"complete -C 'stackwright {words}'\n" for words in ("prev", "stack ren", "up --expect"))
    fish = ["fish", "--no-config", "--private"]
    answers = subprocess.run(fish, input=script + questions, check=True, capture_output=True, text=True, timeout=DEADLINE).stdout
    assert [line.split("\t")[0] for line in answers.splitlines()] == ["preview", "rename", "--expect-no-changes"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_subcommands_and_flags_with_the_script_of_the_command(shop: Shop) -> None:
    script = shop.folder / "completion.zsh"
    script.write_text(shop.run("completion", "zsh").stdout)
    with Terminal(["zsh", "-f", "-i"], shop.folder, {**shop.environment, "PS1": "ready> "}) as terminal:
        terminal.wait_for("ready>")
        terminal.type(f"bindkey -e; autoload -Uz compinit; compinit -u -D; source {script}; echo loaded $?\n")
        terminal.wait_for("the prompt", lambda lines: lines[-2:] == ["loaded 0", "ready>"])
        for words, completed in [("prev", "preview"), ("stack ren", "stack rename"), ("up --expect", "up --expect-no-changes")]:
            terminal.type(f"stackwright {words}\t")
            terminal.wait_for(f"stackwright {completed}")
            # Removes the line without running it. An interrupt gets lost while the shell still completes.
            terminal.type("\x15")
            terminal.wait_for("the prompt", lambda lines: lines[-1] == "ready>")
