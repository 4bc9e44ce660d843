"""The same without ``async``: ``python native_sync.py [FOLDER]``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import stackwright as sw
from files import Files
from stackwright import sync


def program(ctx: sw.Context) -> None:
    """Two files, the second of which contains the digest of the first."""
    data = ctx.resource("files:index:File", "data", {"path": "data.txt", "content": "some data\n"})
    checksum = ctx.resource("files:index:File", "checksum", {"path": "data.sha256", "content": data["sha256"]})
    # An ordinary function can wait for outputs; it is not required here.
    checksum.wait()
    ctx.export("checksum", checksum["path"])


def main(folder: Path) -> None:
    with sync.Engine(
        store=f"file://{folder / 'state'}", passphrase="correct horse", providers={"files": Files(folder / "files")}
    ) as engine:
        stack = engine.stack("data/dev", program)
        plan = stack.preview()
        print(plan)
        for event in (operation := stack.start_up(plan)):
            if isinstance(event, sw.ResourceOutputsEvent):
                print("done:", event.metadata.op, event.metadata.urn)
        print(operation.result())
        print("outputs:", dict(stack.outputs()))
        print(stack.destroy())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]).resolve())
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
