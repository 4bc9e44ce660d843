"""Generators, which programs may not be: the body of one would never run."""

from __future__ import annotations

import inspect

from .errors import InvalidInputError


def is_generator(function: object) -> bool:
    """Returns whether calling a function, or a callable object, only makes a generator."""
    called = (function, getattr(function, "__call__", None))
    return any(inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one) for one in called)


def refuse_generator(value: object) -> None:
    """Refuses what a program has returned when it is a generator."""
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        raise never_runs(value.__name__)


def never_runs(program: str) -> InvalidInputError:
    return InvalidInputError(
        f"the program {program} contains a yield, which makes it a generator that never runs",
        hints=["take the yield out; a program returns when it has registered everything"],
    )
