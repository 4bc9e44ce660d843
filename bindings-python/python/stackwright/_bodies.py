"""The code of components and methods: what the engine calls, with a context of its own for each call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ._bridge import completions_of
from ._raised import Raised
from ._secrecy import enter
from ._stackwright import Completions, ConstructRequest, MethodRequest
from .errors import InvalidInputError
from .program import Context

if TYPE_CHECKING:
    from .provider import CheckFailure

__all__ = ["BODIES", "body"]

BODIES: Final = ("construct", "call")
"""The methods of a provider that get a context."""

Returned = tuple[dict[str, Any], dict[str, list[str]], "Sequence[CheckFailure]"]
"""Values, the URNs that each comes from, and failures."""


def body(method: Callable[..., Any], is_async: bool, raised: Raised) -> Callable[..., Any]:
    """Returns what the engine calls in the place of a method that gets a context before the request."""
    if is_async:

        async def call_async(request: ConstructRequest | MethodRequest) -> Returned:
            loop = asyncio.get_running_loop()
            context = _context(request, completions_of(loop), loop, raised)
            try:
                values, failures = _read(await method(context, request), method)
                resolved = context._resolve(values)
                await context._complete()
                return (*resolved._value(), failures)
            finally:
                context._over = True

        return call_async

    def call_blocking(request: ConstructRequest | MethodRequest) -> Returned:
        own = Completions(silent=True)
        context = _context(request, own, None, raised)
        try:
            values, failures = _read(method(context, request), method)
            resolved = context._resolve(values)
            context._complete_blocking()
            return (*resolved._value(), failures)
        finally:
            context._over = True
            own.close()

    return call_blocking


def _context(
    request: ConstructRequest | MethodRequest,
    completions: Completions,
    loop: asyncio.AbstractEventLoop | None,
    raised: Raised,
) -> Context:
    enter(request._run)
    component = request.urn if isinstance(request, ConstructRequest) else None
    context = Context(request._run, completions, loop, raised, component=component)
    if isinstance(request, MethodRequest):
        context._origins = request._origins
        context._owner = f"the method {request.token!r}"
    else:
        context._owner = f"the component {request.name!r}"
    return context


def _read(returned: Any, method: Callable[..., Any]) -> tuple[Any, Sequence[CheckFailure]]:
    """Returns the values and the failures of what a method has returned: a mapping, an ``InvokeResult``, or nothing."""
    if returned is None:
        return {}, ()
    if isinstance(returned, Mapping):
        return returned, ()
    name = f"{type(getattr(method, '__self__', None)).__name__}.{getattr(method, '__name__', 'method')}"
    try:
        values, failures = returned.result, returned.failures
    except AttributeError:
        kind = type(returned).__name__
        raise InvalidInputError(f"{name} returned {kind}, expected InvokeResult or a mapping") from None
    if not isinstance(failures, Sequence):
        kind = type(failures).__name__
        raise InvalidInputError(f"{name} returned failures of the type {kind}, expected a sequence of CheckFailure")
    return values, failures
