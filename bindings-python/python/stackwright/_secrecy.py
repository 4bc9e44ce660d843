"""The run that the running code belongs to, which learns secrets where a program makes them."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._stackwright import Run

_current: ContextVar[Run | None] = ContextVar("stackwright_run", default=None)


def enter(run: Run) -> None:
    """Names the run of the program that runs in this context."""
    _current.set(run)


def is_outside() -> bool:
    """Returns whether the running code belongs to no run."""
    return _current.get() is None


def learn(value: Any) -> None:
    """Keeps a secret value out of the texts of the current run from now on; without a run nothing is to be done."""
    run = _current.get()
    if run is not None:
        run.learn(value, True)
