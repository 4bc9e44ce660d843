"""Stores of the host for the tests: a dictionary with a lock, the same with asynchronous methods, and a file of SQLite."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

import stackwright as sw


class DictStore:
    """Keeps objects in a dictionary."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, str, datetime]] = {}
        self.calls: list[tuple[str, str]] = []
        self.threads: set[int] = set()
        self.before: Callable[[str, str], None] = lambda method, key: None
        self._lock = threading.Lock()
        self._versions = itertools.count(1)

    def _note(self, method: str, key: str) -> None:
        with self._lock:
            self.calls.append((method, key))
            self.threads.add(threading.get_ident())
        self.before(method, key)

    def get(self, key: str) -> tuple[bytes, str] | None:
        self._note("get", key)
        with self._lock:
            found = self.objects.get(key)
            return None if found is None else sw.StoredObject(found[0], found[1])

    def put(self, key: str, content: bytes, condition: sw.Condition) -> str:
        self._note("put", key)
        assert isinstance(content, bytes) and isinstance(condition, sw.Condition)
        with self._lock:
            found = self.objects.get(key)
            if not condition.holds(None if found is None else found[1]):
                raise sw.ConflictError("it was changed")
            version = f"v{next(self._versions)}"
            self.objects[key] = (content, version, datetime.now(timezone.utc))
            return version

    def list(self, prefix: str) -> Iterator[tuple[str, int, datetime]]:
        self._note("list", prefix)
        with self._lock:
            found = [(key, *rest) for key, rest in reversed(self.objects.items()) if key.startswith(prefix)]
        return (sw.ObjectInfo(key, len(content), modified) for key, content, _, modified in found)

    def delete(self, key: str) -> None:
        self._note("delete", key)
        with self._lock:
            self.objects.pop(key, None)


class CopyingStore(DictStore):
    """Copies objects itself, and has a URL."""

    url = "dict://copies"

    def copy(self, source: str, target: str) -> None:
        self._note("copy", source)
        with self._lock:
            if source not in self.objects:
                raise sw.NotFoundError("there is none")
            content, _, modified = self.objects[source]
            self.objects[target] = (content, f"v{next(self._versions)}", modified)


class AsyncStore:
    """The same with asynchronous methods."""

    def __init__(self) -> None:
        self.inner = DictStore()

    async def get(self, key: str) -> tuple[bytes, str] | None:
        return self.inner.get(key)

    async def put(self, key: str, content: bytes, condition: sw.Condition) -> str:
        return self.inner.put(key, content, condition)

    async def list(self, prefix: str) -> Sequence[tuple[str, int, datetime]]:
        return list(self.inner.list(prefix))

    async def delete(self, key: str) -> None:
        self.inner.delete(key)


class SqliteStore:
    """Keeps objects in a table of SQLite, which several processes can use."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._connection() as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS objects (key TEXT PRIMARY KEY, content BLOB, version INTEGER, modified TEXT)"
            )
            connection.execute("CREATE TABLE IF NOT EXISTS versions (last INTEGER)")
            connection.execute("INSERT INTO versions SELECT 0 WHERE NOT EXISTS (SELECT * FROM versions)")

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        finally:
            connection.close()

    def get(self, key: str) -> tuple[bytes, str] | None:
        with self._connection() as connection:
            row = connection.execute("SELECT content, version FROM objects WHERE key = ?", (key,)).fetchone()
        return None if row is None else (row[0], str(row[1]))

    def put(self, key: str, content: bytes, condition: sw.Condition) -> str:
        with self._connection() as connection:
            row = connection.execute("SELECT version FROM objects WHERE key = ?", (key,)).fetchone()
            if not condition.holds(None if row is None else str(row[0])):
                raise sw.ConflictError("it was changed")
            (version,) = connection.execute("UPDATE versions SET last = last + 1 RETURNING last").fetchone()
            modified = datetime.now(timezone.utc).isoformat()
            connection.execute("REPLACE INTO objects VALUES (?, ?, ?, ?)", (key, content, version, modified))
            return str(version)

    def list(self, prefix: str) -> Sequence[tuple[str, int, datetime]]:
        with self._connection() as connection:
            query = "SELECT key, length(content), modified FROM objects WHERE substr(key, 1, ?) = ?"
            rows = connection.execute(query, (len(prefix), prefix)).fetchall()
        return [(key, size, datetime.fromisoformat(modified)) for key, size, modified in rows]

    def delete(self, key: str) -> None:
        with self._connection() as connection:
            connection.execute("DELETE FROM objects WHERE key = ?", (key,))
