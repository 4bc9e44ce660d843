"""Faults: what happens to the calls of providers that a pattern names."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from .._checks import described, require_given
from .._record import field, record
from ..errors import InvalidInputError, Status
from ._settings import listed, named_options

__all__ = ["Fault", "delay", "document_of_faults", "fail", "interrupt", "kill"]

__tracebackhide__ = True

_CALLS = ("check", "diff", "create", "read", "update", "delete", "invoke", "call", "construct", "*")


_STATUSES = frozenset(int(status) for status in Status)

_MAX_SECONDS = 86_400
"""A day: a test that waits longer has a mistake."""

_FAULTS = "a list of fail(), delay(), interrupt() and kill()"


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, (int, float)) else described(value)


@record(frozen=True)
class Fault:
    """A fault of one operation; made by :func:`fail`, :func:`delay`, :func:`interrupt` and :func:`kill`."""

    call: str
    """The name of the calls: ``create`` for instance."""
    type: str
    """The pattern of the types of resources, or of the tokens of functions."""
    name: str
    """The pattern of the names of resources."""
    times: int | None
    """How many calls it happens to; ``None`` is every one."""
    skip: int
    """How many calls that match are spared first."""
    in_previews: bool
    """Whether calls of previews count."""
    effect: dict[str, Any] = field(default_factory=dict)
    """What happens."""


def _fault(call: str, type: str, name: str, times: int | None, skip: int, in_previews: bool, effect: dict[str, Any]) -> Fault:
    for what, text in (("call", call), ("type", type), ("name", name)):
        require_given(what, text, str, "a text")
    if call not in _CALLS:
        raise InvalidInputError(f"call takes one of {', '.join(_CALLS)}, not {call!r}")
    for what, number in (("times", 1 if times is None else times), ("skip", skip)):
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise InvalidInputError(f"{what} takes a whole number from 0 on, not {number!r}")
    require_given("in_previews", in_previews, bool, "True or False")
    return Fault(call, type, name, times, skip, in_previews, effect)


@named_options
def fail(
    call: str = "create",
    type: str = "*",
    *,
    name: str = "*",
    message: str = "the test has failed this call",
    status: Status = Status.UNKNOWN,
    answer_lost: bool = False,
    initialization: bool = False,
    times: int | None = 1,
    skip: int = 0,
    in_previews: bool = False,
) -> Fault:
    """Fails calls: ``fail("create", "aws:s3/bucket:*", name="logs")``.

    :param call: The calls: ``create``, ``update``, ``delete``, ``read``, ``check``, ``diff``, ``invoke`` (functions), ``call``
        (methods), ``construct`` (remote components), or ``*``.
    :param type: A pattern of the types of resources, or of the tokens of functions. ``*`` in it is any text.
    :param name: A pattern of the names of resources.
    :param message: The message of the provider.
    :param status: The status of its answer.
    :param answer_lost: The call has its effect, but its answer is lost.
    :param initialization: The resource is created or updated, but its initialization fails.
    :param times: How many calls fail; ``None`` is every one.
    :param skip: How many calls that match succeed before.
    :param in_previews: Whether calls of previews count.
    :raises InvalidInputError: for values of another kind, and for ``answer_lost`` together with ``initialization``.
    """
    require_given("message", message, str, "a text")
    if not isinstance(status, int) or isinstance(status, bool) or status not in _STATUSES:
        raise InvalidInputError(f"status takes one of stackwright.Status, such as Status.UNAVAILABLE, not {_shown(status)}")
    for what, given in (("answer_lost", answer_lost), ("initialization", initialization)):
        require_given(what, given, bool, "True or False")
    if answer_lost and initialization:
        raise InvalidInputError("fail() takes one of answer_lost and initialization: a lost answer has no failed initialization")
    if answer_lost:
        effect: dict[str, Any] = {"effect": "lose_answer", "message": message}
    elif initialization:
        effect = {"effect": "fail_initialization", "message": message}
    else:
        effect = {"effect": "fail", "message": message, "status": int(status)}
    return _fault(call, type, name, times, skip, in_previews, effect)


@named_options
def delay(
    call: str = "create",
    type: str = "*",
    *,
    name: str = "*",
    seconds: float = 0.02,
    times: int | None = 1,
    skip: int = 0,
    in_previews: bool = False,
) -> Fault:
    """Delays calls, so that others end before; the other parameters are those of :func:`fail`.

    :param seconds: How long, in real time.
    :raises InvalidInputError: for what is no number from 0 on.
    """
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not is_number or not math.isfinite(seconds) or not 0 <= seconds <= _MAX_SECONDS:
        raise InvalidInputError(f"seconds takes a number from 0 to {_MAX_SECONDS}, not {_shown(seconds)}")
    return _fault(call, type, name, times, skip, in_previews, {"effect": "delay", "seconds": seconds})


@named_options
def interrupt(
    call: str = "create",
    type: str = "*",
    *,
    name: str = "*",
    times: int | None = 1,
    skip: int = 0,
) -> Fault:
    """Interrupts the operation when the call begins, as by a key press: the call ends, and no other begins."""
    return _fault(call, type, name, times, skip, False, {"effect": "interrupt"})


@named_options
def kill(
    call: str = "create",
    type: str = "*",
    *,
    name: str = "*",
    after: bool = False,
    skip: int = 0,
) -> Fault:
    """Kills the run at a call, as the end of its process does: nothing of it has an effect any more.

    :param after: Whether the call still has its effect: the thing is created, and not recorded.
    """
    require_given("after", after, bool, "True or False")
    return _fault(call, type, name, 1, skip, False, {"effect": "kill_after" if after else "kill_before"})


def document_of_faults(faults: Iterable[Fault] | None) -> bytes:
    """Writes faults for the engine."""
    documents = []
    for fault in listed("faults", faults, _FAULTS):
        require_given("faults", fault, Fault, _FAULTS)
        members = {"call": fault.call, "type": fault.type, "name": fault.name, "times": fault.times, "skip": fault.skip}
        documents.append({**members, "in_previews": fault.in_previews, **fault.effect})
    return json.dumps(documents).encode()
