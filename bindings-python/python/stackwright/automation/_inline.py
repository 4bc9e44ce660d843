"""Inline programs, which are handed to the engine without the language server that the Automation API starts for them."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import os
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import FunctionType, SimpleNamespace
from typing import Any, Final, TypeVar

import grpc
import pulumi
from pulumi import automation as auto
from pulumi.automation import PulumiFn

from .._raised import printable
from .._sdk import Failure, start
from .._stackwright import Run

__all__ = ["RunsInline", "event_listener", "listening", "prepared", "with_program"]

_F = TypeVar("_F", bound=Callable[..., Any])

_CLIENT: Final = "--client="
"""What precedes the address of a language server in a command line."""

_DEBUGGED: Final = frozenset({"--debug", "--event-log"})
"""The flags with which messages for debugging are received."""

_CONFIGURATION: Final = ("PULUMI_CONFIG", "PULUMI_CONFIG_SECRET_KEYS")
"""The variables from which the SDK reads configuration of programs that are processes of their own."""

_program: ContextVar[PulumiFn | None] = ContextVar("stackwright inline program", default=None)
"""The program of the operation that the current thread starts."""

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("stackwright event listener", default=None)
"""What gets the events of that operation."""

_EVENTS_PLACE: Final = "tcp://inline"
"""The place of an event log whose lines the process itself receives: no path of a file."""


class RunsInline:
    """A command that needs no server for inline programs and events."""


class _IdleServer:
    """Takes the place of the language server that the Automation API starts for an inline program, and that the engine does not use."""

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        pass

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        pass

    def add_registered_method_handlers(self, service: str, handlers: Any) -> None:
        pass

    def add_insecure_port(self, address: str) -> int:
        return 0

    def start(self) -> None:
        pass

    def stop(self, grace: float | None) -> None:
        pass


_IDLE_SERVICES: Final = SimpleNamespace(add_LanguageRuntimeServicer_to_server=lambda servicer, server: None)
"""Adds nothing to the server that is not used: the descriptions of its methods take longer than a short command."""


def _without_server(method: _F) -> _F:
    """Returns a copy of an operation that starts no language server; the module of the operation stays as it is."""
    if not isinstance(method, FunctionType) or not {"grpc", "server"}.issubset(method.__code__.co_names):
        return method
    idle = {"grpc": SimpleNamespace(server=_IdleServer), "language_pb2_grpc": _IDLE_SERVICES}
    names = {**method.__globals__, **idle}
    copied = FunctionType(method.__code__, names, method.__name__, method.__defaults__, method.__closure__)
    copied.__kwdefaults__ = method.__kwdefaults__
    return copied  # type: ignore[return-value]


def listening(on_event: Callable[[auto.EngineEvent], Any]) -> tuple[str, None, None, None, Any]:
    """Sets the function that gets the events of the current operation, and returns what the Automation API keeps of the server that it would
    start for them."""

    def receive(line: str) -> None:
        try:
            on_event(auto.EngineEvent.from_json(json.loads(line)))
        except Exception as error:  # As the server of the Automation API does.
            warnings.warn(f"Failed to parse engine event\nEvent: {line}\n{error}", stacklevel=2)

    _listener.set(receive)
    return _EVENTS_PLACE, None, None, None, _IdleServer()


def event_listener() -> Callable[[str], None] | None:
    """Returns what gets the events of the operation that the current thread starts, a line each."""
    return _listener.get()


def with_program(method: _F) -> _F:
    """Wraps an operation of stacks, so that :func:`prepared` knows its program."""
    signature = inspect.signature(method)
    operation = _without_server(method)

    @functools.wraps(method)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            given = signature.bind(*arguments, **options).arguments
        except TypeError as error:
            # As a call of the method words it.
            raise TypeError(f"{method.__qualname__}() {error}") from None
        workspace = given["self"].workspace
        started = operation if isinstance(workspace.pulumi_command, RunsInline) else method
        with _current(given.get("program") or workspace.program):
            return started(*arguments, **options)

    return run  # type: ignore[return-value]


@contextlib.contextmanager
def _current(program: PulumiFn | None) -> Iterator[None]:
    token, listener = _program.set(program), _listener.set(None)
    try:
        yield
    finally:
        _program.reset(token)
        _listener.reset(listener)


def prepared(
    arguments: list[str], failures: list[BaseException]
) -> tuple[Callable[[Run], None], None, bool] | None:
    """Returns what the native half needs to start the program of a command line; ``None`` when it has none.

    What the program raises is added to ``failures``.
    """
    program = _program.get()
    if program is None or not any(argument.startswith(_CLIENT) for argument in arguments):
        return None
    for variable in _CONFIGURATION:
        if variable in os.environ:
            warnings.warn(f"the variable {variable} of this process is configuration of every inline program", stacklevel=2)
    function, debug = program, not _DEBUGGED.isdisjoint(arguments)
    return (lambda run: start(function, run, failures, _explained, debug)), None, False


def _explained(error: BaseException, run: Run) -> Failure | None:
    """Reports what a program has raised, in the texts from which the Automation API makes its classes of errors."""
    if isinstance(error, pulumi.RunError):
        text = str(error)
    elif isinstance(error, SystemExit):
        text = f"python inline source runtime error: {error}\nthe program called sys.exit({error.code!r})"
    elif isinstance(error, grpc.RpcError):
        text = f"RPC error: {error.details()}"
    else:
        frames = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        text = f"python inline source runtime error: {error}\n{frames}"
    text = printable(text)
    if not run.ended:
        run.log("error", text)
    return f"an unhandled error occurred: {text}", False
