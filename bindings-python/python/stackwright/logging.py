"""The engine's log records in Python's :mod:`logging`: on the logger ``stackwright`` and those below it.

::

    import logging
    import stackwright.logging

    logging.basicConfig(level=logging.INFO)
    stackwright.logging.enable()

Secrets that the operations of this process know are replaced in every record. The engine never waits for a handler: a thread of its own
calls handlers, and records are dropped, and counted, while that is far behind.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import sys
import threading
import time
from typing import Any, Final

from ._checks import refusal
from ._stackwright import LogRecords

__all__ = ["disable", "enable"]

_CAPACITY: Final = 4096
"""How many records wait for the thread at most."""

_JOIN_TIMEOUT: Final = 1.0
"""How long the end waits for a handler that still works, in seconds."""

_TRACE: Final = 5
"""The level of the engine's finest records, below :data:`logging.DEBUG`."""

_LEVELS: Final = {"error": logging.ERROR, "warn": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG, "trace": _TRACE}

_lock = threading.Lock()
_bridge: _Bridge | None = None


class _Bridge:
    """A thread that hands records to their loggers until it is closed."""

    def __init__(self, level: str) -> None:
        self._records = LogRecords(level, _CAPACITY)
        self._thread = threading.Thread(target=self._run, name="stackwright-logging", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while (text := self._records.wait()) is not None:
            batch = json.loads(text)
            records: list[dict[str, Any]] = batch["records"]
            if batch["dropped"]:
                records.insert(0, _dropped(batch["dropped"]))
            for record in records:
                try:
                    _hand_over(record)
                except Exception:  # noqa: BLE001
                    # A filter or a handler of the host has failed: the records after this one are handed over.
                    if logging.raiseExceptions:
                        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), self._thread)))

    def close(self) -> None:
        self._records.close()
        if self._thread is not threading.current_thread():
            self._thread.join(_JOIN_TIMEOUT)


def _dropped(number: int) -> dict[str, Any]:
    fields = {"dropped": str(number)}
    return {"logger": "stackwright", "level": "warn", "message": "records were dropped", "fields": fields, "time": time.time()}


def _hand_over(document: dict[str, Any]) -> None:
    logger, level = logging.getLogger(document["logger"]), _LEVELS[document["level"]]
    if not logger.isEnabledFor(level):
        return
    fields: dict[str, str] = document["fields"]
    message = " ".join([document["message"], *(f"{name}={text}" for name, text in fields.items())])
    record = logger.makeRecord(
        logger.name, level, "", 0, message, (), None, func=None, extra={"stackwright_fields": fields}
    )
    record.created = document["time"]
    record.msecs = (document["time"] % 1) * 1000
    logger.handle(record)


def enable(level: int | str | None = None) -> None:
    """Hands the engine's log records to the logger ``stackwright`` and those below it, as ``stackwright.store.file``. A second call sets
    the level anew.

    A record has the values that belong to its message as ``record.stackwright_fields``, beside the text. Handlers are called on a thread
    of their own, in the order of the records.

    :param level: The lowest level that the engine makes records of: a number or a name as :mod:`logging` has them. Left out, it is the
        effective level of the logger ``stackwright`` at this call. The levels of loggers and handlers apply beside it. What is below it
        costs nothing.
    """
    number = _number_of(level)
    # The engine has five levels: the coarsest one that has all records from this number on.
    name = next((name for name, own in _LEVELS.items() if number >= own), "trace")
    global _bridge
    with _lock:
        former, _bridge = _bridge, _Bridge(name)
    if former is not None:
        former.close()


def disable() -> None:
    """Ends what :func:`enable` has begun, after the records that were made before. Does nothing otherwise."""
    global _bridge
    with _lock:
        former, _bridge = _bridge, None
    if former is not None:
        former.close()


def _number_of(level: int | str | None) -> int:
    if level is None:
        return logging.getLogger("stackwright").getEffectiveLevel()
    if isinstance(level, str):
        known = logging.getLevelName(level.upper())
        if not isinstance(known, int):
            raise refusal("level", "a number, or the name of a level of logging", level)
        return known
    if isinstance(level, bool) or not isinstance(level, int):
        raise refusal("level", "a number, or the name of a level of logging", level)
    return level


def _forget() -> None:
    # The thread is not in the child of a fork.
    global _bridge, _lock
    _lock = threading.Lock()
    _bridge = None


atexit.register(disable)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
