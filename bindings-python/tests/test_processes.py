"""Several processes on one stack: one at a time updates it, the others get a ConflictError at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import stackwright as sw

PROCESSES = 4
ROUNDS = 12

# Each process updates the same stack repeatedly. Its provider appends the begin and the end of its work to a file that
# all processes share. An append by one write is atomic.
SCRIPT = """
import os, sys, time
import stackwright as sw
from stackwright import sync

store, log, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
me = os.getpid()

def note(text):
    with open(log, "a") as file:
        file.write(f"{text} {me}\\n")

class Noting(sw.Provider):
    def create(self, request):
        return self.work("id", request.inputs)

    def update(self, request):
        return self.work(None, request.inputs)

    def delete(self, request):
        pass

    def diff(self, request):
        return sw.DiffResult(changes=True)

    def work(self, identity, inputs):
        note("begins")
        # The first call waits until another process has had a conflict.
        while not os.path.exists(log + ".met"):
            time.sleep(0.001)
        note("ends")
        return sw.CreateResult(identity, dict(inputs)) if identity else sw.UpdateResult(dict(inputs))

def program(ctx):
    ctx.resource("mem:index:Thing", "thing", {"by": me, "round": turn})

engine = sync.Engine(store=store, passphrase="x", providers={"mem": Noting()})
stack = engine.stack("shop/dev", program)
sys.stdin.readline()
for turn in range(rounds):
    try:
        stack.up()
        print("done", flush=True)
    except sw.ConflictError:
        open(log + ".met", "a").close()
        print("conflict", flush=True)
"""


def test_two_processes_never_update_one_stack_concurrently(tmp_path: Path) -> None:
    store, log = tmp_path / "state", tmp_path / "log"

    async def state() -> list[str]:
        async with sw.Engine(store=f"file://{store}", passphrase="x") as engine:
            stack = await engine.create_or_select_stack("shop/dev")
            return [item["type"] for item in (await stack.export_deployment())["deployment"].get("resources") or []]

    asyncio.run(state())
    command = [sys.executable, "-c", SCRIPT, f"file://{store}", str(log), str(ROUNDS)]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    ended = [child.communicate(timeout=120) for child in children]
    assert [child.returncode for child in children] == [0] * PROCESSES, [errors for _, errors in ended]
    answers = [line for output, _ in ended for line in output.split()]
    assert len(answers) == PROCESSES * ROUNDS
    assert set(answers) == {"done", "conflict"}
    notes = [line.split() for line in log.read_text().splitlines()]
    assert [text for text, _ in notes] == ["begins", "ends"] * answers.count("done")
    assert all(begins[1] == ends[1] for begins, ends in zip(notes[::2], notes[1::2], strict=True))
    assert "mem:index:Thing" in asyncio.run(state())
    assert not list(store.glob(".pulumi/locks/**/*.json")), "a lock is left"
