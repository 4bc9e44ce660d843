"""What code of the host has raised during operations: kept until the operation ends, as the cause of its error."""

from __future__ import annotations

import builtins
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final

from .errors import InitFailure, StackwrightError, _NamedError

__all__ = ["Raised", "causes_of", "described", "explain", "printable", "set_cause", "watched_function"]

RaisedByUrn = dict[str, dict[str, BaseException]]
"""What was raised, by the URN of the resource in question and by what has raised it."""


class Raised:
    """The exceptions that the providers, hooks and policies of one engine have raised."""

    def __init__(self) -> None:
        self._by_urn: RaisedByUrn = {}

    def watched(self, method: Callable[..., Any], is_async: bool) -> Callable[..., Any]:
        """Returns a provider's method that keeps what it raises."""
        if is_async:

            async def call_async(*arguments: Any) -> Any:
                try:
                    return await method(*arguments)
                except Exception as error:
                    self._keep(arguments, error)
                    raise

            return call_async

        def call(*arguments: Any) -> Any:
            try:
                return method(*arguments)
            except Exception as error:
                self._keep(arguments, error)
                raise

        return call

    def _keep(self, arguments: tuple[Any, ...], error: Exception) -> None:
        urn = getattr(arguments[0], "urn", None) if arguments else None
        if urn:
            self.keep(urn, error)

    def keep(self, urn: str, error: BaseException, owner: str = "") -> None:
        """Keeps what was raised for the resource of a URN: the last of each owner, as several policies check one resource."""
        self._by_urn.setdefault(urn, {})[owner] = error

    def take(self, stack: str) -> RaisedByUrn:
        """Returns what was raised for a stack's resources, by URN, and forgets it."""
        *_, project, name = stack.split("/")
        prefix = f"urn:pulumi:{name}::{project}::"
        return {urn: self._by_urn.pop(urn) for urn in list(self._by_urn) if urn.startswith(prefix)}


@contextmanager
def watched_function(keep: Callable[[BaseException], None]) -> Iterator[None]:
    """Keeps what a function of the host raises, and names the class of an exception that is none of this package."""
    try:
        yield
    except StackwrightError as error:
        keep(error)
        raise
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        # The function alone ends, not the thread or the event loop, which run others.
        keep(error)
        raise _NamedError(described(error, error.__traceback__)[1]) from error


def explain(error: BaseException | None, program: list[BaseException], raised: RaisedByUrn) -> None:
    """Makes what a program or a provider raised the cause of an operation's error, when its message contains that text.

    The first of what the program raised counts: a transform's exception precedes that of the registration.
    """
    if isinstance(error, StackwrightError):
        for cause in program if error.kind == "program" else raised.get(error.urn or "", {}).values():
            set_cause(error, cause)


def set_cause(error: BaseException | None, cause: BaseException | None) -> None:
    """Makes what was raised the cause of an error that has none, when the error's message contains its text."""
    if not isinstance(error, StackwrightError) or error.__cause__ is not None or cause is None or cause is error:
        return
    if _text_of(cause) in error.message:
        error.__cause__ = cause


_MAX_CAUSES: Final = 20
"""How many causes and members of groups are listed."""


_MAX_VISITED: Final = 100
"""How many exceptions are searched for causes."""


def causes_of(error: BaseException) -> list[str]:
    """Returns a line for each exception that an exception was raised from and for each member of a group.

    What the exception's own text contains already is not repeated. An exception that was handled before it, without ``from``, is
    not its cause. Raises nothing.
    """
    lines = [line for line, _ in _causes(error)]
    if len(lines) > _MAX_CAUSES:
        lines[_MAX_CAUSES:] = ["…"]
    return [printable(line) for line in lines]


_Cause = tuple[str, BaseException]
"""The line that describes a cause, and the cause."""


def _causes(error: BaseException) -> list[_Cause]:
    causes: list[_Cause] = []
    _add_causes(error, "", set(), causes)
    return causes


def _add_causes(error: BaseException, indent: str, seen: set[int], lines: list[_Cause]) -> None:
    if id(error) in seen or len(lines) > _MAX_CAUSES or len(seen) == _MAX_VISITED:
        return
    seen.add(id(error))
    members = getattr(error, "exceptions", ()) if isinstance(error, _GROUPS) else ()
    found = [("- ", member, f"{indent}  ") for member in members]
    if error.__cause__ is not None and id(error.__cause__) not in seen:
        found.append(("caused by: ", error.__cause__, indent))
    for introduction, cause, below in found:
        if not _repeats(error, cause):
            lines.append((f"{indent}{introduction}{_summary(cause)}", cause))
        _add_causes(cause, below, seen, lines)


_GROUPS: Final[tuple[type[BaseException], ...]] = tuple(
    getattr(builtins, name) for name in ("BaseExceptionGroup",) if hasattr(builtins, name)
)
"""The class of groups, which the interpreter has from version 3.11 on."""


def _repeats(error: BaseException, cause: BaseException) -> bool:
    """Returns whether an exception's text ends with that of its cause, as where a program joins both."""
    try:
        text = str(cause)
        return text != "" and str(error).endswith(text)
    except BaseException:  # noqa: BLE001  # exceptions whose texts raise
        return False


def _summary(error: BaseException) -> str:
    """Returns the class and the text of an exception; raises nothing."""
    try:
        return "".join(traceback.format_exception_only(type(error), error)).strip()
    except BaseException:  # noqa: BLE001  # parts of an exception that raise when they are looked at
        return f"{type(error).__name__}: its text cannot be read"


def described(error: BaseException, frames: TracebackType | None) -> tuple[str, str]:
    """Returns the traceback and the last line of what a program raised; never raises itself."""
    try:
        causes = causes_of(error)
        summary = "\n".join([_summary(error), *causes])
        text = _with_tracebacks(error, frames, summary) if causes else "".join(traceback.format_exception(type(error), error, frames))
        text = text.rstrip("\n")
    except BaseException:  # noqa: BLE001  # parts of an exception that raise when they are looked at
        text = summary = f"{type(error).__name__}: its text cannot be read"
    return printable(text), printable(summary)


def _with_tracebacks(error: BaseException, frames: TracebackType | None, summary: str) -> str:
    """Returns the traceback of an exception, the summary of it and its causes, and the tracebacks of the causes."""
    parts = ["Traceback (most recent call last):\n", *traceback.format_tb(frames), summary, "\n"]
    for _, cause in _causes(error)[:_MAX_CAUSES]:
        if cause.__traceback__ is not None:
            parts += [f"Traceback of {type(cause).__name__} (most recent call last):\n", *traceback.format_tb(cause.__traceback__)]
    return "".join(parts)


def printable(text: str) -> str:
    """Returns a text with its lone surrogates escaped: nothing else could be encoded."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _text_of(raised: BaseException) -> str:
    """Returns the text by which an error's message names an exception."""
    if isinstance(raised, StackwrightError):
        return raised.message
    if isinstance(raised, InitFailure):
        return raised.reasons[0] if raised.reasons else ""
    try:
        return str(raised)
    except Exception:  # what it was made with has no text, a secret for instance
        return type(raised).__name__
