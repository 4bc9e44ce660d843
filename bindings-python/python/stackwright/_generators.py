"""Programs with a ``yield`` in them: calling one makes a generator and runs nothing, as if the program wanted nothing."""

from __future__ import annotations

import inspect

from .errors import InvalidInputError


def is_generator(function: object) -> bool:
    """Tells whether calling a function, or an object that is called like one, only makes a generator."""
    called = (function, getattr(function, "__call__", None))
    return any(inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one) for one in called)


def refuse_generator(value: object) -> None:
    """Refuses what a program has returned when it is a generator."""
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        raise never_runs(value.__name__)


def never_runs(program: str) -> InvalidInputError:
    return InvalidInputError(
        f"the program {program} has a yield in it: that makes it a generator, which nobody would run",
        hints=["take the yield out; a program returns when it has registered everything"],
    )
