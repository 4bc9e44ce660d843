"""Outputs: values that will be known, to be passed on before they are."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar

from ._callback import is_async
from ._checks import refusal, require_function
from ._stackwright import find_outputs
from .errors import InvalidInputError
from .values import UNKNOWN, Awaited, Secret, is_unknown, secret

if TYPE_CHECKING:
    from ._work import Work

__all__ = ["Deferred", "Output"]

T = TypeVar("T")
U = TypeVar("U")


class Deferred(Awaited, Generic[T]):
    """Something that will be known: awaitable in ``async`` programs, with :meth:`wait` in ordinary ones."""

    __slots__ = ("_context", "_done", "_error", "_seen", "_waiters")

    def __init__(self, context: Work) -> None:
        self._context = context
        self._done = False
        self._error: BaseException | None = None
        self._seen = False
        self._waiters: list[Callable[[], None]] | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'done' if self._done else 'pending'}>"

    def _value(self) -> T:
        raise NotImplementedError

    def _finish(self, error: BaseException | None) -> None:
        self._done = True
        self._error = error
        waiters, self._waiters = self._waiters, None
        for waiter in waiters or ():
            waiter()

    def _all_sources(self) -> Sequence[Deferred[Any]]:
        """What must be known before this is, among the inputs of something else."""
        return (self,)

    def _urns(self) -> Sequence[str]:
        """The URNs of the resources that it comes from, once it is known."""
        return ()

    def _substituted(self) -> Any:
        """What takes its place among the inputs of something else, once it is known."""
        return self

    def _when_done(self, waiter: Callable[[], None]) -> None:
        if self._done:
            waiter()
        elif self._waiters is None:
            self._waiters = [waiter]
        else:
            self._waiters.append(waiter)

    def _unseen(self) -> BaseException | None:
        """Returns the error that no caller has been given yet."""
        return None if self._seen else self._error

    def _outcome(self) -> T:
        self._seen = True
        if self._error is not None:
            raise self._error
        return self._value()

    def __await__(self) -> Generator[Any, None, T]:
        if not self._done:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[None] = loop.create_future()

            def arrived() -> None:
                if not future.done():
                    future.set_result(None)

            if loop is self._context._loop:
                self._when_done(arrived)
            else:
                # A transform or a hook of a program that has a thread of its own: this is another thread.
                self._when_done(partial(_call_on, loop, arrived))
                if self._done:
                    arrived()
            yield from future.__await__()
        return self._outcome()

    def wait(self) -> T:
        """Waits for it: for programs that are not ``async``."""
        self._context._run_until(lambda: self._done)
        return self._outcome()


def _call_on(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    """Calls a function on an event loop of another thread, unless that is closed."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(callback)


class Output(Awaited, Generic[T]):
    """A value that a resource will have: an input for others, which then depend on the resource.

    Awaiting it gives the value, without the dependency; in previews it may be unknown
    (:func:`~stackwright.is_unknown`), and a secret one is a :class:`~stackwright.Secret`.
    """

    __slots__ = ("_cached", "_made", "_origins", "_read", "_sources")

    def __init__(
        self, sources: Sequence[Deferred[Any]], read: Callable[[], T], origins: Sequence[Output[Any]] = ()
    ) -> None:
        self._sources = tuple(sources)
        # The outputs that it is made of.
        self._origins = tuple(origins)
        self._read = read
        self._made: _Made | None = None
        self._cached: tuple[T] | None = None

    def _resolved(self) -> T:
        if self._cached is None:
            if self._origins:
                made = self._make()
                if made.error is not None:
                    made.seen = True
                    raise made.error
                self._cached = (substitute(made.value) if made.found else made.value,)
            else:
                self._cached = (self._read(),)
        return self._cached[0]

    def _make(self) -> _Made:
        """Returns what came of what it is made of, which has to be known; functions run once."""
        if self._made is None:
            try:
                value = self._read()
                found = [value for _, value in find_outputs({"value": value})]
                self._made = _Made(value, [value if isinstance(value, Output) else sources_of(value) for value in found])
            except BaseException as error:  # noqa: BLE001  # raised where the value is read
                self._made = _Made(None, (), error)
        return self._made

    def _all_sources(self) -> Sequence[Deferred[Any]]:
        sources: dict[int, Deferred[Any]] = {}
        self._collect(sources, {})
        return list(sources.values())

    def _collect(self, sources: dict[int, Deferred[Any]], seen: dict[int, bool]) -> bool:
        """Adds what must be known before it is, as far as that is known by now: a function may return further outputs.

        Returns whether that is all, and known.
        """
        if id(self) in seen:
            return seen[id(self)]
        seen[id(self)] = False
        known = _add(self._sources, sources)
        for origin in self._origins:
            known = origin._collect(sources, seen) and known
        if known and self._origins:
            for found in self._make().found:
                inner = found._collect(sources, seen) if isinstance(found, Output) else _add(found, sources)
                known = inner and known
        seen[id(self)] = known
        return known

    def _substituted(self) -> Any:
        return substitute(self._resolved())

    def __getitem__(self, key: str | int) -> Output[Any]:
        return self._mapped(lambda value: _element(value, key))

    def apply(self, function: Callable[[T], U]) -> Output[U]:
        """Returns the output of ``function`` on the value: not called while that is unknown, secret when that is.

        The function runs once, as soon as the value is known and at the latest before the program's end, also when no
        caller reads what it returns. What it raises is raised by each read; an error that is never read fails the program.

        :raises InvalidInputError: for an ``async`` function; an ``async`` program awaits the output instead.
        """
        if function is None:
            raise refusal("apply()", "a function", function)
        require_function("apply()", function)
        if is_async(function):
            raise InvalidInputError(_NOT_ASYNC)
        output = self._mapped(function)
        context = output._context()
        if context is None:
            # It is made of plain values: there is nothing to wait for, and no program's end that would report an error.
            output._resolved()
        else:
            context._follow(Applied(context, output))
        return output

    def _mapped(self, function: Callable[[T], U]) -> Output[U]:
        """Returns the output of a function that runs when its value is read first."""

        def read() -> Any:
            return _map(self._resolved(), function)

        return Output(self._sources, read, (self,))

    def _context(self) -> Work | None:
        """Returns the context of the program that it belongs to; ``None`` when it is made of plain values alone."""
        for source in self._sources:
            return source._context
        return next((context for origin in self._origins if (context := origin._context()) is not None), None)

    @staticmethod
    def all(*values: Any) -> Output[tuple[Any, ...]]:
        """Returns one output of several outputs, resources and plain values."""
        sources: list[Deferred[Any]] = []
        origins: list[Output[Any]] = []
        for _, found in find_outputs({"values": list(values)}):
            if isinstance(found, Output):
                origins.append(found)
            else:
                sources.extend(sources_of(found))

        def read() -> Any:
            resolved = [substitute(value) for value in values]
            if any(is_unknown(value) for value in resolved):
                return UNKNOWN
            plain = tuple(value.value if isinstance(value, Secret) else value for value in resolved)
            return Secret(plain) if any(isinstance(value, Secret) for value in resolved) else plain

        return Output(sources, read, origins)

    @staticmethod
    def format(template: str, *values: Any) -> Output[str]:
        """Formats a text with outputs in it, as :meth:`str.format` does."""
        return Output.all(*values)._mapped(lambda resolved: template.format(*resolved))

    def __await__(self) -> Generator[Any, None, T]:
        awaited: set[int] = set()
        while sources := [source for source in self._all_sources() if id(source) not in awaited]:
            for source in sources:
                yield from source.__await__()
                awaited.add(id(source))
        return self._resolved()

    def wait(self) -> T:
        """Waits for the value: for programs that are not ``async``."""
        waited: set[int] = set()
        while sources := [source for source in self._all_sources() if id(source) not in waited]:
            for source in sources:
                source.wait()
                waited.add(id(source))
        return self._resolved()

    def __bool__(self) -> NoReturn:
        raise TypeError("an output is neither true nor false before it is known; await it, or use apply()")

    def __str__(self) -> str:
        raise TypeError("an output has no text before it is known; use Output.format() or apply()")

    def __repr__(self) -> str:
        # The value can be secret, and reading it can run functions of the program.
        sources = [source for output in (self, *self._origins) for source in output._sources]
        named = dict.fromkeys(repr(source).strip("<>") for source in sources)
        return f"<Output of {', '.join(named)}>" if named else "<Output>"


class _Made:
    """What an output came to: the value of its function, and what must be known before that is."""

    __slots__ = ("error", "found", "seen", "value")

    def __init__(
        self,
        value: Any,
        found: Sequence[Output[Any] | Sequence[Deferred[Any]]],
        error: BaseException | None = None,
    ) -> None:
        self.value = value
        self.found = found
        self.error = error
        self.seen = False
        """Whether a caller has been given the error."""


class Applied(Deferred[None]):
    """The run of a function that :meth:`Output.apply` was given; the program's end waits for it."""

    __slots__ = ("_output",)

    def __init__(self, context: Work, output: Output[Any]) -> None:
        super().__init__(context)
        self._output = output

    def _proceed(self) -> None:
        """Runs the function if all that it needs is known, or else as soon as it is."""
        # To collect what an output needs runs its function once that is known.
        sources = self._output._all_sources()
        failed = any(source._error is not None for source in sources)
        waiting = [] if failed or self._output._made is not None else [source for source in sources if not source._done]
        if not waiting:
            self._finish(None)
            return
        missing = len(waiting)

        def arrived() -> None:
            nonlocal missing
            missing -= 1
            if missing == 0:
                self._context._ready(self._proceed)

        for source in waiting:
            source._when_done(arrived)

    def _unseen(self) -> BaseException | None:
        made = self._output._made
        return None if made is None or made.seen else made.error

    def _outcome(self) -> None:
        if self._unseen() is not None:
            self._output._resolved()


def _add(found: Sequence[Deferred[Any]], sources: dict[int, Deferred[Any]]) -> bool:
    known = True
    for source in found:
        sources[id(source)] = source
        known = known and source._done and source._error is None
    return known


_MAX_DEPTH: Final = 400
"""How deep values may nest; the native half has the same limit."""

_NOT_ASYNC = "apply() takes an ordinary function, not an async one; in an async program, await the output and then what you need"


def _map(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, Secret):
        return secret(_map(value.value, function))
    if is_unknown(value):
        return UNKNOWN
    made = function(value)
    if inspect.iscoroutine(made):
        # It would never be awaited.
        made.close()
        raise InvalidInputError(_NOT_ASYNC)
    return made


def _element(value: Any, key: str | int) -> Any:
    try:
        return value[key]
    except (KeyError, IndexError, TypeError):
        return None


def sources_of(value: Any) -> Sequence[Deferred[Any]]:
    """Returns what must be known before ``value`` is: an output, a resource, or what :meth:`Context.invoke` returned.

    Of an output it is what is known by now; there may be more once all of that is known.
    """
    sources: Sequence[Deferred[Any]] = value._all_sources()
    return sources


def traced(value: Any) -> Callable[[], Sequence[Deferred[Any]]]:
    """Returns the function that returns the sources of ``value``; called repeatedly, until there are no more.

    Children that a component gets later do not count: they may depend on the caller.
    """
    if isinstance(value, Output):
        return value._all_sources
    sources = sources_of(value)
    return lambda: sources


def substitute(value: Any, made: dict[int, Any] | None = None) -> Any:
    """Returns a copy of a value in which outputs and resources are replaced by their values.

    A value that contains itself, or is too deep, stays as it is: the reader of the copy reports it, with its path.
    ``made`` contains the copies of the values that contain this one, by identity.
    """
    if isinstance(value, (Deferred, Output)):
        return value._substituted()
    if isinstance(value, Secret):
        return secret(substitute(value.value, made))
    is_mapping = isinstance(value, Mapping)
    if not is_mapping and not isinstance(value, (list, tuple)):
        return value
    above = {} if made is None else made
    if id(value) in above:
        return above[id(value)]
    if len(above) > _MAX_DEPTH:
        return value
    # One frame for each level, which a comprehension would double.
    if is_mapping:
        above[id(value)] = entries = {}
        for key, element in value.items():
            entries[key] = substitute(element, above)
        del above[id(value)]
        return entries
    above[id(value)] = elements = []
    for element in value:
        elements.append(substitute(element, above))
    del above[id(value)]
    return elements
