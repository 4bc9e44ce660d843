"""Modules of the SDK's packages that load at their first use: loaded by one thread, while others wait for it.

The SDK makes such a module an ordinary one before its code has run, so that a second thread sees it half empty. Here it stays
of a class of its own until it is complete. Each load holds the import system's lock of the module, whose owners the import
system checks for circles: a thread that waits for itself by way of another one gets the module as far as it is.
"""

from __future__ import annotations

import importlib._bootstrap
import sys
import threading
import types
from typing import Any, Final

from pulumi import _utils

_bootstrap: Final[Any] = importlib._bootstrap
# Parts of the interpreter that are not public. Without them a lock of its own finds no circles between threads.
_ModuleLock: Final[Any] = getattr(_bootstrap, "_ModuleLock", lambda name: threading.RLock())
_DeadlockError: Final[Any] = getattr(_bootstrap, "_DeadlockError", RuntimeError)
_SHOWN: Final = frozenset(
    {
        "__cached__",
        "__class__",
        "__dict__",
        "__doc__",
        "__file__",
        "__loader__",
        "__name__",
        "__package__",
        "__path__",
        "__spec__",
    }
)
"""The attributes of a module that do not load it, as in the SDK's own lazy modules."""

_plain: Final = types.ModuleType.__getattribute__


class _Loading(types.ModuleType):
    """A module whose code is running: complete for the thread that runs it, and waited for by all others."""

    def __getattribute__(self, name: str) -> Any:
        if name in _SHOWN:
            return _plain(self, name)
        lock = _lock_of(self)
        if lock.owner == threading.get_ident():
            return _plain(self, name)
        if not _acquire(lock):
            return _plain(self, name)
        lock.release()
        return getattr(self, name)


def install() -> None:
    """Makes the SDK's lazily loaded modules load this way, also those that are there already."""
    lazy: Any = getattr(_utils, "_LazyModule", None)
    if lazy is None:
        # An SDK without lazy modules of its own.
        return

    def load(self: types.ModuleType, name: str) -> Any:
        if name in _SHOWN:
            return _plain(self, name)
        lock = _lock_of(self)
        if not _acquire(lock):
            return _plain(self, name)
        try:
            if type(self) is lazy:
                _run(self, lazy)
        finally:
            lock.release()
        return getattr(self, name)

    lazy.__getattribute__ = load


def _run(module: types.ModuleType, lazy: type[types.ModuleType]) -> None:
    """Runs the code of a module; one that fails stays lazy, so that the next use fails in the same way."""
    spec: Any = module.__spec__
    before = spec.loader_state["__dict__"]
    # What was set from outside before the first use stays, also when the code sets it.
    kept = {name: value for name, value in vars(module).items() if name not in before or before[name] is not value}
    module.__class__ = _Loading
    try:
        spec.loader.exec_module(module)
        if sys.modules.get(spec.name, module) is not module:
            raise ValueError(f"the module {spec.name} was replaced while it was loaded")
    except BaseException:
        module.__class__ = lazy
        raise
    vars(module).update(kept)
    module.__class__ = types.ModuleType


def _lock_of(module: types.ModuleType) -> Any:
    spec: Any = module.__spec__
    state = spec.loader_state
    lock = state.get("stackwright")
    # One lock for all threads: `setdefault` of a dictionary is atomic.
    return lock if lock is not None else state.setdefault("stackwright", _ModuleLock(spec.name))


def _acquire(lock: Any) -> bool:
    """Waits for a lock; false when the thread that holds it waits for this one."""
    try:
        lock.acquire()
    except _DeadlockError:
        return False
    return True
