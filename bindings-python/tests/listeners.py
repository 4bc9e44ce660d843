"""The TCP sockets on which this process listens."""

from __future__ import annotations

import os
from pathlib import Path

_LISTEN = "0A"


def listeners() -> set[str]:
    """Returns the inodes of this process's listening TCP sockets."""
    own = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(descriptor)
        except FileNotFoundError:
            continue  # The descriptor of the listing itself, or closed meanwhile.
        if target.startswith("socket:["):
            own.add(target.removeprefix("socket:[").removesuffix("]"))
    found = set()
    for table in ("tcp", "tcp6"):
        path = Path("/proc/self/net") / table
        lines = path.read_text().splitlines()[1:] if path.exists() else []
        found |= {fields[9] for fields in map(str.split, lines) if fields[3] == _LISTEN}
    return own & found
