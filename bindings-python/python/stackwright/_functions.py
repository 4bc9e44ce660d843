"""Functions of a program, described for the native half, which calls them: transforms and hooks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar, copy_context
from functools import partial
from typing import TYPE_CHECKING, Any

from ._callback import is_async
from ._raised import watched_function
from ._stackwright import Completions, Reply, find_outputs
from ._substitution import listed, plain_options, resolve_options
from ._work import in_function
from .errors import InvalidInputError
from .output import substitute
from .resource import Task
from .values import Awaited

if TYPE_CHECKING:
    from ._work import Work

__all__ = ["Described", "describe", "known"]

Described = tuple[Callable[[dict[str, Any]], Any], bool, Completions, Completions]
"""A function of facts, whether it is asynchronous, the queue of the loop that it then runs on, and that of the program."""


def describe(
    context: Work,
    what: str,
    function: Callable[[Any], Any],
    prepare: Callable[[dict[str, Any]], Any],
    finish: Callable[[Any, Any], Any],
    keep: Callable[[Any, BaseException], None],
    kind: ContextVar[bool] = in_function,
) -> Described:
    """Describes a function that takes what ``prepare`` makes of facts; ``finish`` reads what it returns, and ``keep`` what it
    raises.

    It runs with the context variables of the code that passes it on: an ``async`` one on the event loop of the program, any
    other on a thread. There, ``in_function`` and ``kind`` are true.
    """
    variables = copy_context()
    queue = context._async_queue

    if is_async(function) and queue is not None:

        async def call_async(facts: dict[str, Any]) -> Any:
            for variable, value in variables.items():
                variable.set(value)
            in_function.set(True)
            kind.set(True)
            argument = prepare(facts)
            with watched_function(partial(keep, argument)):
                return finish(argument, await function(argument))

        return call_async, True, queue, context._completions

    def run(facts: dict[str, Any]) -> Any:
        in_function.set(True)
        kind.set(True)
        argument = prepare(facts)
        with watched_function(partial(keep, argument)):
            returned = function(argument)
            if inspect.iscoroutine(returned) and is_async(function):
                # The code of an ordinary method has no event loop.
                returned = asyncio.run(returned)
            return finish(argument, _plain(what, returned))

    def call(facts: dict[str, Any]) -> Any:
        # A context can be entered once at a time, and calls are concurrent.
        return variables.copy().run(run, facts)

    return call, False, context._completions, context._completions


def _plain(what: str, returned: Any) -> Any:
    """Refuses what would have to be awaited."""
    if isinstance(returned, Awaitable) and not isinstance(returned, Awaited):
        if inspect.iscoroutine(returned):
            returned.close()
        raise InvalidInputError(f"{what} returned {type(returned).__name__}; declare it with async def")
    return returned


Made = Callable[[dict[str, Any], dict[str, list[str]] | None, dict[str, Any], list[str]], Any]
"""Makes an answer of values without outputs, the URNs that each comes from, options, and explicit dependencies."""


def known(context: Work, values: dict[str, Any], options: Mapping[str, Any], owner: str, made: Made) -> Any:
    """Returns what ``made`` makes of values and options, or a function that answers a reply with it as soon as all outputs among
    them are known: to be called on the program's own thread."""
    named = {name: value for name, value in options.items() if name != "depends_on" and value is not None}
    depended = listed(options.get("depends_on"))
    if not find_outputs({"values": values, "options": [depended, *plain_options(named)]}):
        return made(values, None, resolve_options(named), [urn for urn in depended if isinstance(urn, str)])

    def resolve(reply: Reply) -> None:
        task = Task(context)

        def start(urns: list[str], by_property: dict[str, list[str]] | None, found: dict[str, Any] | None) -> None:
            reply.succeed(made(substitute(values), by_property, found or {}, urns))
            task._finish(None)

        def settle(_nothing: None, error: BaseException | None) -> None:
            reply.fail(error or InvalidInputError(f"the outputs of {owner} are not known"))
            task._finish(None)

        try:
            context._defer(task, values, options, start, settle, owner)
        except Exception as error:
            settle(None, error)

    return resolve
