"""The messages between the director and this binding's actor: lines, values, failures, and provider calls."""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import json
import sys
import threading
from typing import Any

import stackwright as sw

Message = dict[str, Any]


class Wire:
    """Writes whole lines to standard output, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        line = json.dumps(message) + "\n"
        with self._lock:
            sys.stdout.write(line)
            sys.stdout.flush()


class PendingCalls:
    """The provider calls that the director has not answered, by number."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._numbers = itertools.count(1)
        self._open: dict[int, concurrent.futures.Future[Message]] = {}

    async def ask(self, package: str, method: str, request: Message) -> Message:
        number = next(self._numbers)
        answer: concurrent.futures.Future[Message] = concurrent.futures.Future()
        self._open[number] = answer
        self._wire.send({"call": number, "package": package, "method": method, "request": request})
        try:
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            self._wire.send({"abandoned": number})
            raise
        finally:
            self._open.pop(number, None)

    def answer(self, message: Message) -> None:
        answer = self._open.get(message["call"])
        if answer is not None and not answer.done():
            answer.set_result(message)


def plain(value: Any) -> Any:
    """Returns the plain JSON form of a value."""
    return json.loads(sw.to_json({"value": value}))["value"]


def parsed(value: Any) -> Any:
    """Returns the value of a plain JSON form."""
    return sw.from_json(json.dumps({"value": value}))["value"]


def failure(error: BaseException) -> Message:
    if isinstance(error, sw.StackwrightError):
        facts = {
            "urn": error.urn,
            "provider": error.provider,
            "phase": error.phase,
            "referenceMessage": error.reference_message,
        }
        given = {name: value for name, value in facts.items() if value is not None}
        return {"kind": error.kind, "message": error.message, "hints": list(error.hints), **given}
    return {"kind": "actor", "message": f"{type(error).__name__}: {error}"}
