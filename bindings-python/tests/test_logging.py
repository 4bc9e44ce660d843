"""The engine's log records in Python's ``logging``."""

from __future__ import annotations

import logging
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import stackwright as sw
import stackwright.logging
from stackwright import sync

from conftest import Memory, Vault

THING = "mem:index:Thing"
TIMEOUT = 60.0


class Kept(logging.Handler):
    """Keeps records in a queue."""

    def __init__(self) -> None:
        super().__init__()
        self.records: queue.Queue[logging.LogRecord] = queue.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self.records.put(record)

    def until(self, text: str) -> list[logging.LogRecord]:
        """Returns the records up to the one whose message contains a text."""
        found: list[logging.LogRecord] = []
        while not found or text not in found[-1].getMessage():
            found.append(self.records.get(timeout=TIMEOUT))
        return found


@pytest.fixture
def kept() -> Iterator[Kept]:
    handler = Kept()
    logger = logging.getLogger("stackwright")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    stackwright.logging.disable()
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def make(ctx: sw.Context) -> None:
    ctx.resource(THING, "named-hunter22", {"password": sw.secret("named-hunter22")})


def update(store: Path) -> None:
    with sync.Engine(store=f"file://{store}", secrets=Vault(), providers={"mem": Memory()}) as engine:
        engine.stack("shop/dev", make).up()


def test_records_reach_the_logger_with_their_fields_and_without_secrets(kept: Kept, tmp_path: Path) -> None:
    stackwright.logging.enable()
    update(tmp_path)
    records = kept.until("an operation has ended")
    begins = next(record for record in records if "an operation begins" in record.getMessage())
    assert (begins.name, begins.levelno) == ("stackwright.operation", logging.INFO)
    assert begins.getMessage() == "an operation begins stack=shop/dev verb=update preview=false"
    assert getattr(begins, "stackwright_fields") == {"stack": "shop/dev", "verb": "update", "preview": "false"}
    steps = [record.getMessage() for record in records if "a step begins" in record.getMessage()]
    assert any("mem:index:Thing::[secret]" in step for step in steps), steps
    assert not any("hunter22" in record.getMessage() for record in records)


def test_records_below_the_level_are_not_made(kept: Kept, tmp_path: Path) -> None:
    stackwright.logging.enable("INFO")
    update(tmp_path)
    assert {record.levelno for record in kept.until("an operation has ended")} == {logging.INFO}
    stackwright.logging.disable()
    update(tmp_path)
    stackwright.logging.enable(logging.WARNING)
    update(tmp_path)
    assert kept.records.empty()


def test_a_level_that_is_none_is_refused() -> None:
    for level in ("loud", True, 1.5):
        with pytest.raises(sw.InvalidInputError, match="level"):
            stackwright.logging.enable(level)  # type: ignore[arg-type]


def test_a_failing_filter_of_the_host_ends_no_records(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: queue.Queue[threading.ExceptHookArgs] = queue.Queue()
    monkeypatch.setattr(threading, "excepthook", failures.put)

    def refuse(record: logging.LogRecord) -> bool:
        if "an operation begins" in record.getMessage():
            raise ValueError("on purpose")
        return True

    kept.addFilter(refuse)
    stackwright.logging.enable(logging.INFO)
    update(tmp_path)
    kept.until("an operation has ended")
    assert isinstance(failures.get(timeout=TIMEOUT).exc_value, ValueError)


def test_a_process_ends_while_an_operation_logs(tmp_path: Path) -> None:
    script = f"""
import logging, sys, threading
import stackwright as sw, stackwright.logging
from stackwright import sync

logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
stackwright.logging.enable(logging.DEBUG)
running = threading.Event()

class Slow:
    def create(self, request):
        running.set()
        threading.Event().wait(600)
    def delete(self, request): pass

def program(ctx): ctx.resource("slow:index:Thing", "a", {{}})

engine = sync.Engine(store="file://{tmp_path}", passphrase="p", providers={{"slow": Slow()}})
stack = engine.stack("shop/dev", program)
operation = stack.start_up()
running.wait(60)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=TIMEOUT)
    assert ended.returncode == 0, ended.stderr
    assert "an operation begins" in ended.stdout
    assert "Traceback" not in ended.stderr and "panicked" not in ended.stderr, ended.stderr
