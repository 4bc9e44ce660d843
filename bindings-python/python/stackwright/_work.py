"""What a program has begun: what each part of it waits for, and what the program's end waits for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

from ._bridge import Callback
from ._raised import Raised, described, set_cause
from ._stackwright import Completions, Run, find_outputs
from ._substitution import listed, plain_options, resolve_options, urns_of
from .errors import CancelledError, InvalidInputError, StackwrightError
from .output import Applied, Deferred, Output, sources_of, substitute, traced
from .resource import Inputs, Resource
from .values import PropertyValue

__all__ = ["Work", "in_function", "in_invoke_transform"]

in_function: Final[ContextVar[bool]] = ContextVar("stackwright_function", default=False)
"""Whether the running code is a transform or a hook of a program."""

in_invoke_transform: Final[ContextVar[bool]] = ContextVar("stackwright_invoke_transform", default=False)
"""Whether the running code is a transform of calls of functions: its own calls are not transformed."""


def _texts(error: BaseException) -> tuple[str, list[str]]:
    """Returns the message and the hints of an error."""
    if isinstance(error, StackwrightError):
        return error.message, list(error.hints)
    return described(error, error.__traceback__)[1], []


class Work:
    """The work of one run: the base of its context."""

    def __init__(
        self,
        run: Run,
        completions: Completions,
        loop: asyncio.AbstractEventLoop | None,
        raised: Raised,
        async_queue: Completions | None,
    ) -> None:
        self._run = run
        self._completions = completions
        # What hooks raise, for the error of the operation; and what transforms raise, for the errors of what they change.
        self._raised = raised
        self._failures: dict[str, BaseException] = {}
        # The queue of the event loop that async transforms and hooks run on; without one, each has a loop of its own.
        self._async_queue = completions if loop is not None else async_queue
        # The event loop of an async program; without one, the program has a thread of its own.
        self._loop = loop
        self._pending: list[Deferred[Any]] = []
        # What an ordinary program is to do when it waits the next time.
        self._work: deque[Callable[[], None]] = deque()
        self._over = False
        # Whose code it is, for errors.
        self._owner = "the program"
        # The URNs of the resources that the arguments of a method come from: what the method registers depends on them.
        self._origins: Sequence[str] = ()
        self._exports: dict[str, PropertyValue] = {}

    def _report_unreadable(self, error: BaseException) -> None:
        """Reports that a declaration has not reached the engine: a program that catches the error must not lose what it declares."""
        if not isinstance(error, CancelledError):
            self._run.declaration_unreadable(*_texts(error))

    def _report_given_up(self, resource: Resource, options: Mapping[str, Any], error: BaseException) -> None:
        """Reports that a resource is not registered or read because something that it needs has failed: a program that catches the error
        must not lose the resource."""
        if isinstance(error, CancelledError):
            return
        place: dict[str, Any] = {}
        for name in ("parent", "aliases"):
            try:
                place |= resolve_options({name: options[name]} if options.get(name) else {})
            except StackwrightError:
                # What is below a parent that has failed is kept with the parent. The former parent of an alias may fail alone.
                if name == "parent":
                    return
        message, hints = _texts(error)
        self._run.give_up(resource.type, resource.name, resource.custom, place or None, message, hints)

    def _explain(self, key: str, error: BaseException) -> None:
        """Makes what a transform has raised the cause of the error of what it was to change."""
        set_cause(error, self._failures.pop(key, None))

    def _require_running(self, what: str) -> None:
        """Refuses what comes after the program's end, and emits a diagnostic: the exception may reach no caller.

        :raises InvalidInputError: that names ``what`` was asked for.
        """
        if not self._over:
            return
        text = f"{what} came after {self._owner} had ended, and is left out"
        if not self._run.ended:
            self._run.log("error", text)
        hint = f"await the tasks, or join the threads, that {self._owner} starts before it returns"
        raise InvalidInputError(text, hints=[hint])

    def _follow(self, applied: Applied) -> None:
        """Has a function run, and the program's end wait for it."""
        if self._over:
            # An output of another run: nothing more will be known, and no program's end reports an error.
            applied._proceed()
            if applied._done:
                applied._outcome()
            return
        self._pending.append(applied)
        if self._loop is None:
            self._work.append(applied._proceed)
        elif any(not source._done for source in applied._output._sources):
            applied._proceed()
        else:
            # Everything may be known, but no function runs before apply() has returned.
            self._loop.call_soon_threadsafe(applied._proceed)

    def _ready(self, work: Callable[[], None]) -> None:
        """Runs ``work`` now, or, as it may wait in an ordinary program, where that waits next."""
        if self._loop is None:
            self._work.append(work)
        else:
            work()

    def _defer(
        self,
        work: Deferred[Any],
        inputs: Inputs,
        options: Mapping[str, Any],
        start: Callable[[list[str], dict[str, list[str]] | None, dict[str, Any] | None], None],
        settle: Callback[Any],
        owner: str,
        declares: bool = False,
        given_up: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Starts work as soon as everything that it refers to is known; fails it when one of that has failed.

        ``given_up`` gets the failure. The engine learns the secrets among the inputs when it reads them. Where that is later, or
        never, they are learned here.
        """
        try:
            self._defer_known(work, inputs, options, start, settle, owner, declares, given_up)
        except BaseException:
            self._run.learn(inputs)
            raise

    def _defer_known(
        self,
        work: Deferred[Any],
        inputs: Inputs,
        options: Mapping[str, Any],
        start: Callable[[list[str], dict[str, list[str]] | None, dict[str, Any] | None], None],
        settle: Callback[Any],
        owner: str,
        declares: bool,
        given_up: Callable[[BaseException], None] | None,
    ) -> None:
        depended = listed(options.get("depends_on"))
        found = [(key, traced(value)) for key, value in find_outputs(dict(inputs))]
        explicit = [traced(value) for value in depended if not isinstance(value, str)]
        named = {name: value for name, value in options.items() if name != "depends_on" and value is not None}
        # A parent or a provider only has to be registered itself.
        referred = [
            value._all_sources if isinstance(value, Output) else partial(tuple, (value,))
            for _, value in find_outputs({"options": plain_options(named)})
        ]
        traces = (*(trace for _, trace in found), *explicit, *referred)
        missing = 0

        def proceed() -> None:
            nonlocal missing
            sources = {id(source): source for trace in traces for source in trace()}
            waiting = [source for source in sources.values() if not source._done]
            if waiting:
                self._run.learn(inputs)
                missing = len(waiting)
                for source in waiting:
                    source._when_done(arrived)
                return
            failed = next((source for source in sources.values() if source._error is not None), None)
            if failed is not None:
                self._run.learn(inputs)
                failed._seen = True
                if given_up is not None and failed._error is not None:
                    given_up(failed._error)
                settle(None, failed._error)
                return
            try:
                by_property: dict[str, list[str]] = {}
                for key, trace in found:
                    by_property.setdefault(key, []).extend(urns_of(trace()))
                urns = [value for value in depended if isinstance(value, str)]
                urns.extend(urn for trace in explicit for urn in urns_of(trace()))
                urns.extend(self._origins)
                urns.extend(urn for property_urns in by_property.values() for urn in property_urns)
                by_property = {key: list(dict.fromkeys(urns)) for key, urns in by_property.items()}
                start(list(dict.fromkeys(urns)), by_property or None, resolve_options(named) or None)
            except BaseException as error:  # noqa: BLE001  # the resource's error, not that of the last source
                self._run.learn(inputs)
                if declares and isinstance(error, Exception):
                    self._report_unreadable(error)
                elif given_up is not None:
                    given_up(error)
                settle(None, error)

        def arrived() -> None:
            nonlocal missing
            missing -= 1
            if missing == 0:
                proceed()

        # What is refused above is never answered: the program's end must not wait for it.
        self._pending.append(work)
        proceed()

    def _move(self, completions: Completions, loop: asyncio.AbstractEventLoop) -> bool:
        """Has an event loop take answers from now on, by its queue; ``False`` when there is one to come already."""
        if self._pending:
            return False
        self._completions = completions
        self._async_queue = completions
        self._loop = loop
        return True

    def _run_until(self, done: Callable[[], bool]) -> None:
        if in_function.get() and not done():
            # The answers of a program arrive on its own thread.
            raise InvalidInputError(
                "wait() was called in a transform or a hook; make the function async and await, or return the output"
            )
        if self._loop is not None:
            if done():
                return
            raise InvalidInputError("wait() would block the event loop of this async program; await instead")
        while not done():
            # Functions of the program run here and not while the queue is drained: they may wait for what comes after.
            if self._work:
                self._work.popleft()()
            elif self._completions.wait(3600.0):
                self._completions.drain()

    def _unfinished(self) -> Deferred[Any] | None:
        """Returns something that the program's end must wait for still."""
        pending = self._pending
        while pending:
            last = pending[-1]
            if not last._done:
                return last
            if last._unseen() is not None:
                last._outcome()
            pending.pop()
        return None

    def _when_settled(self, then: Callable[[], object]) -> None:
        """Calls ``then`` as soon as everything has been answered that was begun so far."""
        waiting = [work for work in self._pending if not work._done]
        missing = len(waiting)

        def settled() -> None:
            nonlocal missing
            missing -= 1
            if missing == 0:
                then()

        if not waiting:
            then()
        for work in waiting:
            work._when_done(settled)

    def _exported(self) -> list[Deferred[Any]]:
        """Returns what must be known before the exports are."""
        return [source for _, value in find_outputs(dict(self._exports)) for source in sources_of(value)]

    def _publish(self) -> None:
        """Sends the exports, once everything is known: nothing can follow."""
        self._over = True
        for name, value in self._exports.items():
            self._run.export(name, substitute(value))

    async def _complete(self) -> None:
        while True:
            while (unfinished := self._unfinished()) is not None:
                await unfinished
            for source in self._exported():
                await source
            # What was exported may be of functions that have only run now, and have registered more.
            if not self._pending:
                break
        self._publish()

    def _complete_blocking(self) -> None:
        while True:
            while (unfinished := self._unfinished()) is not None:
                unfinished.wait()
            for source in self._exported():
                source.wait()
            if not self._pending:
                break
        self._publish()
