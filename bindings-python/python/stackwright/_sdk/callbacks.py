"""Functions of an SDK program that the engine calls, its transforms and hooks: called on the program's event loop, without a server.

The SDK keeps such functions in an object of a class that is not public, and that is a gRPC server as well. Here each run gets an
object of that class that only keeps them. An SDK whose class has changed starts its server, which the engine then calls.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import traceback
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from copy import copy
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from pulumi.runtime import _callbacks, settings

from .._provider_threads import start_task
from .._raised import described
from .._stackwright import Completions, Reply, Run
from ..errors import ProgramError, _NamedError
from .isolation import is_isolated

if TYPE_CHECKING:
    from .monitor import Monitor

_targets: Final = itertools.count(1)
"""Numbers the objects that keep functions: each has a target of its own, in the place of a server's address."""

Function = Callable[[bytes], Awaitable[Any]]
"""Takes an encoded request, and returns the response as a message."""


class _Functions(dict[str, Function]):
    """Functions by token, each with the context in which it was registered: it sees the program's own settings and variables."""

    def __init__(self) -> None:
        super().__init__()
        self.contexts: Final[dict[str, Context]] = {}

    def __setitem__(self, token: str, function: Function) -> None:
        super().__setitem__(token, function)
        self.contexts[token] = copy_context()


def serve(
    run: Run, monitor: Monitor, completions: Completions, failures: list[BaseException]
) -> dict[str, Function] | None:
    """Has the engine call the functions of this run's program directly, if this version of the SDK allows it.

    Called in the context of the run. What transforms raise is added to ``failures``. Returns where the functions are kept;
    ``None`` when the SDK's own server has to serve them.
    """
    if not (is_isolated("callbacks") and _is_usable()):
        return None
    functions = _Functions()

    async def call(token: str, request: bytes) -> bytes:
        function = functions.get(token)
        if function is None:
            raise ProgramError(f"the program has no function {token!r}")
        try:
            response = await function(request)
        except Exception as error:
            failures.append(error)
            raise _NamedError(_text_of(error)) from error
        except (SystemExit, KeyboardInterrupt) as error:
            # The text of an exit is its code alone. The program goes on, and ends with the failure of the function.
            raise _NamedError(_text_of(error)) from error
        return response.SerializeToString()  # type: ignore[no-any-return]

    def start(method: Callable[..., Awaitable[bytes]], arguments: tuple[str, bytes], reply: Reply) -> asyncio.Task[None]:
        context = functions.contexts.get(arguments[0]) or copy_context()
        # A copy, because the context may be entered: functions are also called while the program waits in one.
        return context.copy().run(start_task, method, arguments, reply)

    target = f"in-process-{next(_targets)}"
    if not run.serve_callbacks(target, call, start, completions):
        return None
    settings.SETTINGS.callbacks = _make(monitor, functions, target)
    return functions


def _text_of(error: BaseException) -> str:
    """Returns the text of what a transform raised, with the lines of the program that it comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename not in (__file__, _callbacks.__file__)]
    _, summary = described(error, None)
    return "\n".join([summary, "".join(traceback.format_list(own))]).rstrip()


def _with_text(hook: Any) -> Any:
    """Returns a hook whose exceptions have a text: the SDK takes one without, such as that of a plain ``assert``, for a success."""
    called = getattr(hook, "callback", None)
    if called is None:
        return hook

    async def callback(args: Any) -> Any:
        try:
            returned = called(args)
            return await returned if inspect.isawaitable(returned) else returned
        except Exception as error:
            if str(error):
                raise
            raise ProgramError(type(error).__name__) from error

    with_text = copy(hook)
    with_text.callback = callback
    return with_text


def _make(monitor: Any, functions: _Functions, target: str) -> Any:
    """Makes an object of the SDK's class without its server."""
    servicer: Any = object.__new__(_callbacks._CallbackServicer)
    servicer._callbacks = functions
    servicer._transforms = {}
    servicer._state_migrations = {}
    servicer._monitor = monitor
    servicer._target = target
    # The names that later versions of the SDK have.
    for name in ("register_resource_hook", "register_error_hook"):
        register = getattr(servicer, name, None)
        if register is not None:
            setattr(servicer, name, lambda hook, register=register: register(_with_text(hook)))
    return servicer


class _Recorder:
    """A monitor that takes every registration."""

    def __init__(self) -> None:
        self.requests: Final[list[Any]] = []

    def __getattr__(self, name: str) -> Callable[[Any], None]:
        return self.requests.append


def _is_usable() -> bool:
    """Tries whether an object that is no server takes all kinds of functions, in the way that this module relies on."""
    recorder, functions = _Recorder(), _Functions()
    # Hooks exist in later versions only.
    hook = SimpleNamespace(name="hook", opts=None)
    try:
        servicer = _make(recorder, functions, "trial")
        callbacks = [servicer.register_transform(lambda _: None)]
        servicer.register_stack_transform(lambda _: None)
        servicer.register_invoke_transform(lambda _: None)
        callbacks += recorder.requests
        for name in ("register_resource_hook", "register_error_hook"):
            if hasattr(servicer, name):
                getattr(servicer, name)(hook)
                callbacks.append(recorder.requests[-1].callback)
        called = {callback.token for callback in callbacks if callback.target == "trial"}
        return called == set(functions) and all(map(inspect.iscoroutinefunction, functions.values()))
    except Exception:  # noqa: BLE001  # any difference: the SDK's own server works
        return False
