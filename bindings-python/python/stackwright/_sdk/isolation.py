"""What keeps concurrent programs apart: the SDK's ambient settings, without their process-wide fallback.

The SDK keeps its settings in context variables, but remembers the first value ever set as the default of all contexts. A
thread that lost its context would so talk to another stack's monitor. Here each run sets its own context only, and a
context without a monitor raises as soon as a resource is built in it.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Final

from pulumi import Output, _utils
from pulumi.runtime import settings

from .._secrecy import is_outside, learn
from ..errors import InvalidInputError
from . import lazy_modules

_installed = threading.Lock()
_done = False


class _Isolated(_utils.ContextProperty):
    """A setting that is only ever set in the context of its own run."""

    def __init__(self, inner: Any) -> None:
        # The same context variable: what other users of the SDK have set stays visible to them.
        self._data = inner._data
        self._name = inner._name
        self._ContextProperty__default = getattr(inner, "_ContextProperty__default", None)

    def fset(self, v: Any, *_: Any) -> Any:
        return self._data.set(v)


class _Monitor(_Isolated):
    """The monitor: a context without one is a mistake, not a reason to make resources up."""

    def fget(self, *_: Any) -> Any:
        monitor = self._data.get()
        if monitor is None:
            raise InvalidInputError(
                "no deployment is running in this context, so no resource can be registered here",
                hints=[
                    "build resources inside the program function",
                    "a thread of your own must carry the program's context: "
                    "use asyncio.to_thread, or contextvars.copy_context().run",
                ],
            )
        return monitor


_learning: Final[set[asyncio.Future[None]]] = set()
"""Tasks that wait for a secret value: the loop alone does not keep them alive."""


async def _learn_later(output: Output[Any]) -> None:
    try:
        learn(await output.future(with_unknowns=True))
    except Exception:  # noqa: BLE001  # the program sees it where it uses the output
        pass


def _learn_secrets() -> None:
    """Has the current run learn what a program makes a secret, at the call: the SDK sends it to the engine much later."""
    original = Output.secret

    def secret(val: Any) -> Any:
        learn(val)
        if is_outside() or isinstance(val, (str, int, float)):
            return original(val)
        # What is not there yet is learned before any function sees it that is applied to the result.
        output = Output.from_input(val)
        task = asyncio.ensure_future(_learn_later(output))
        _learning.add(task)
        task.add_done_callback(_learning.discard)
        return original(output)

    secret.__doc__ = original.__doc__
    setattr(Output, "secret", staticmethod(secret))


def install() -> None:
    """Puts isolated settings in the place of the SDK's; does nothing the second time."""
    global _done
    with _installed:
        if _done:
            return
        for name, inner in list(vars(settings.Settings).items()):
            if isinstance(inner, _utils.ContextProperty):
                setattr(settings.Settings, name, (_Monitor if name == "monitor" else _Isolated)(inner))
        lazy_modules.install()
        _learn_secrets()
        _done = True


def is_isolated(name: str) -> bool:
    """Returns whether a setting of the SDK is one of the run alone."""
    return isinstance(vars(settings.Settings).get(name), _Isolated)
