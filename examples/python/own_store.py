"""States in a store of this program: ``python own_store.py [FOLDER]``.

The objects are in a dictionary that a lock guards, and end with the process. A table of a database takes their place one to one, and is
shared by all hosts that use it::

    CREATE TABLE objects (key TEXT PRIMARY KEY, content BYTEA NOT NULL, version BIGINT NOT NULL, modified TIMESTAMPTZ NOT NULL);
    CREATE SEQUENCE versions;

- ``get``: ``SELECT content, version FROM objects WHERE key = %s``
- ``put``: one statement, so that no other host writes between the test and the write. It raises ``ConflictError`` when it returns no row:

  - ``any``: ``INSERT INTO objects VALUES (%s, %s, nextval('versions'), now()) ON CONFLICT (key) DO UPDATE SET content = excluded.content,
    version = excluded.version, modified = excluded.modified RETURNING version``
  - ``absent``: the same with ``ON CONFLICT (key) DO NOTHING``
  - ``match``: ``UPDATE objects SET content = %s, version = nextval('versions'), modified = now() WHERE key = %s AND version = %s
    RETURNING version``

- ``list``: ``SELECT key, length(content), modified FROM objects WHERE starts_with(key, %s)``
- ``delete``: ``DELETE FROM objects WHERE key = %s``

Versions come from a sequence: an object that is removed and made anew never has a former version.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import threading
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path

import stackwright as sw
from files import Files
from stackwright import sync


class Objects:
    """Objects in a dictionary. Its methods are called from several threads."""

    def __init__(self) -> None:
        self._objects: dict[str, tuple[sw.StoredObject, datetime]] = {}
        self._versions = itertools.count(1)
        self._lock = threading.Lock()

    def get(self, key: str) -> sw.StoredObject | None:
        with self._lock:
            found = self._objects.get(key)
        return found and found[0]

    def put(self, key: str, content: bytes, condition: sw.Condition) -> str:
        with self._lock:
            found = self._objects.get(key)
            if not condition.holds(found and found[0].version):
                raise sw.ConflictError(f"{key} was changed")
            version = str(next(self._versions))
            self._objects[key] = sw.StoredObject(content, version), datetime.now(timezone.utc)
            return version

    def list(self, prefix: str) -> Iterable[sw.ObjectInfo]:
        with self._lock:
            found = [(key, *entry) for key, entry in self._objects.items() if key.startswith(prefix)]
        return [sw.ObjectInfo(key, len(stored.content), modified) for key, stored, modified in found]

    def delete(self, key: str) -> None:
        with self._lock:
            self._objects.pop(key, None)


def program(ctx: sw.Context) -> None:
    ctx.resource("files:index:File", "data", {"path": "data.txt", "content": sw.secret("some data\n")})


def main(folder: Path) -> None:
    objects = Objects()
    # Each engine stands for another host: the second one finds what the first one has recorded.
    for _ in range(2):
        with sync.Engine(store=objects, passphrase="correct horse", providers={"files": Files(folder / "files")}) as engine:
            print(engine.stack("data/dev", program).up())
    for info in sorted(objects.list(".pulumi/stacks/")):
        print(info.key, info.size, "bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()))
