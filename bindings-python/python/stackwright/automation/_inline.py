"""Inline programs, which are handed to the engine without the language server that the Automation API starts for them."""

from __future__ import annotations

import contextlib
import functools
import inspect
import traceback
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import FunctionType, SimpleNamespace
from typing import Any, Final, TypeVar

import grpc
import pulumi
from pulumi.automation import PulumiFn

from .._raised import printable
from .._sdk import Failure, start
from .._stackwright import Run

__all__ = ["prepared", "with_program"]

_F = TypeVar("_F", bound=Callable[..., Any])

_CLIENT: Final = "--client="
"""What precedes the address of a language server in a command line."""

_DEBUGGED: Final = frozenset({"--debug", "--event-log"})
"""The flags with which messages for debugging are received."""

_program: ContextVar[PulumiFn | None] = ContextVar("stackwright inline program", default=None)
"""The program of the operation that the current thread starts."""


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


def _without_server(method: _F) -> _F:
    """Returns a copy of an operation that starts no language server; the module of the operation stays as it is."""
    if not isinstance(method, FunctionType) or not {"grpc", "server"}.issubset(method.__code__.co_names):
        return method
    names = {**method.__globals__, "grpc": SimpleNamespace(server=_IdleServer)}
    copied = FunctionType(method.__code__, names, method.__name__, method.__defaults__, method.__closure__)
    copied.__kwdefaults__ = method.__kwdefaults__
    return copied  # type: ignore[return-value]


def with_program(method: _F) -> _F:
    """Wraps an operation of stacks, so that :func:`prepared` knows its program."""
    signature = inspect.signature(method)
    operation = _without_server(method)

    @functools.wraps(method)
    def run(*arguments: Any, **options: Any) -> Any:
        given = signature.bind(*arguments, **options).arguments
        program = given.get("program") or given["self"].workspace.program
        with _current(program):
            return operation(*arguments, **options)

    return run  # type: ignore[return-value]


@contextlib.contextmanager
def _current(program: PulumiFn | None) -> Iterator[None]:
    token = _program.set(program)
    try:
        yield
    finally:
        _program.reset(token)


def prepared(
    arguments: list[str], failures: list[BaseException]
) -> tuple[Callable[[Run], None], None, bool] | None:
    """Returns what the native half needs to start the program of a command line; ``None`` when it has none.

    What the program raises is added to ``failures``.
    """
    program = _program.get()
    if program is None or not any(argument.startswith(_CLIENT) for argument in arguments):
        return None
    function, debug = program, not _DEBUGGED.isdisjoint(arguments)
    return (lambda run: start(function, run, failures, _explained, debug)), None, False


def _explained(error: BaseException, run: Run) -> Failure | None:
    """Reports what a program has raised, in the texts from which the Automation API makes its classes of errors."""
    if isinstance(error, pulumi.RunError):
        text = str(error)
    elif isinstance(error, grpc.RpcError):
        text = f"RPC error: {error.details()}"
    else:
        frames = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        text = f"python inline source runtime error: {error}\n{frames}"
    text = printable(text)
    if not run.ended:
        run.log("error", text)
    return f"an unhandled error occurred: {text}", False
