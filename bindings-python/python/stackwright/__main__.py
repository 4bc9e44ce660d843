"""The command ``stackwright``: ``python -m stackwright up``."""

from __future__ import annotations

import signal
import sys

from ._stackwright import run_command

__all__ = ["main"]


def main() -> int:
    """Runs the command line of this process, and returns its exit code."""
    # The command handles signals: the interpreter's own handler would raise an exception when it has ended.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
