"""A state that this program keeps itself, in one file: ``python supplied_state.py [FOLDER]``. Run it again, and again after an edit.

The engine keeps nothing: each operation takes the deployment document that the one before it has left.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import stackwright as sw
from files import Files
from stackwright import sync


def program(ctx: sw.Context) -> None:
    ctx.resource("files:index:File", "data", {"path": "data.txt", "content": sw.secret("some data\n")})


def load(place: Path) -> dict[str, Any]:
    """Returns the document that was saved last; an empty one is a new stack."""
    loaded: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    return loaded


def save(place: Path, deployment: dict[str, Any] | None) -> None:
    """Saves the document of an operation atomically; `None` saves nothing."""
    if deployment is not None:
        draft = place.with_suffix(".new")
        draft.write_text(json.dumps(deployment))
        draft.replace(place)


def main(folder: Path) -> None:
    place = folder / "deployment.json"
    # Stack references would be read from this store. Nothing of this stack is written to it.
    with sync.Engine(store="memory://", passphrase="correct horse", providers={"files": Files(folder / "files")}) as engine:
        stack = engine.stack("data/dev", program, deployment=load(place))
        # `wait` returns the result of a failed operation, too: its deployment contains the successful steps.
        result = stack.start_up().wait()
        save(place, result.deployment())
        print(result)
    if result.error is not None:
        raise result.error


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()))
