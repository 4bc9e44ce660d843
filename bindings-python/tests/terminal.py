"""A terminal for tests: it runs a process, types, and reads the screen as a reader sees it."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pyte

DEADLINE = 60
"""How long a test waits for the screen, in seconds."""


class Terminal:
    """A process on a terminal of its own, which its standard streams are."""

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], columns: int = 100, rows: int = 40
    ) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=10_000)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""
        self._reading, other = os.openpty()
        fcntl.ioctl(self._reading, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "TERM": "xterm-256color"},
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
            # Typed characters become signals only of the terminal that controls the process.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(other)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._reading)

    @property
    def lines(self) -> list[str]:
        """The lines on the screen, without those that are empty at its end."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip().split("\n")

    @property
    def all(self) -> list[str]:
        """The lines on the screen and those that have scrolled out of it."""
        above = ["".join(line[column].data for column in range(self.screen.columns)).rstrip() for line in self.screen.history.top]
        return above + self.lines

    @property
    def shows_input(self) -> bool:
        """Whether the terminal shows what is typed."""
        return bool(termios.tcgetattr(self._reading)[3] & termios.ECHO)

    def type(self, text: str) -> None:
        """Types a text; ``\\x03`` is an interrupt."""
        os.write(self._reading, text.encode())

    def wait_for(self, what: str, condition: Callable[[list[str]], bool] | None = None) -> list[str]:
        """Reads until a line on the screen has a text, or until a condition about the lines holds."""
        holds = condition or (lambda lines: any(what in line for line in lines))
        end = time.monotonic() + DEADLINE
        while not holds(self.lines):
            assert time.monotonic() < end, f"waiting for {what}:\n" + "\n".join(self.lines)
            assert self._read(), f"the process has ended before {what}:\n" + "\n".join(self.all)
        return self.lines

    def end(self) -> int:
        """Reads to the end of the process, and returns its exit code."""
        end = time.monotonic() + DEADLINE
        while self._read():
            assert time.monotonic() < end, "waiting for the end:\n" + "\n".join(self.lines)
        return self.process.wait(DEADLINE)

    def _read(self) -> bool:
        """Reads what is there, or waits for a second; returns false when there is no more."""
        if not select.select([self._reading], [], [], 1)[0]:
            return True
        try:
            data = os.read(self._reading, 65_536)
        except OSError:
            # Nothing has the other end open any more.
            return False
        self.written += data
        self._stream.feed(data)
        return bool(data)
