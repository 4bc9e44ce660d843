"""Code written with the SDK inside code of this package's own API: of a component, a method, or a program."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import inspect
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Union

import grpc
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi import Output
from pulumi.resource import DependencyResource
from pulumi.runtime import _callbacks, rpc, settings
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.stack import wait_for_rpcs

from .._bridge import unwatch
from .._checks import refusal
from .._generators import refuse_generator
from .._raised import printable
from .._secrecy import enter
from .._stackwright import Run
from ..errors import CancelledError, InvalidInputError, ProgramError
from . import callbacks, isolation
from .loop import ProgramLoop
from .monitor import CallError, Monitor
from .run import cancel_at_end, configure, end_tasks, quiet

__all__ = ["Code", "Returned", "start"]

Returned = tuple[str, dict[str, list[str]]]
"""What the code has returned: the JSON of its values, and by name the URNs of the resources that each comes from."""


Settle = Callable[[Union[Returned, None], Union[BaseException, None]], None]


class Code(NamedTuple):
    """Code of the SDK, and what it runs with."""

    function: Callable[[Mapping[str, Any]], Any]
    inputs: str
    """The JSON of the values that the function gets."""
    origins: Mapping[str, list[str]]
    """The URNs of the resources that each input comes from."""
    run: Run
    component: str | None
    """The URN of what resources without a parent are below; the stack's without one."""


def start(code: Code, settle: Settle) -> None:
    """Starts a thread that runs code, and returns; ``settle`` is called once, on that thread."""
    name = f"stackwright code of {code.run.project}/{code.run.stack}"
    context = contextvars.Context()
    threading.Thread(target=context.run, args=(_main, code, settle), name=name, daemon=True).start()


def _main(code: Code, settle: Settle) -> None:
    try:
        enter(code.run)
        isolation.install()
        loop = ProgramLoop()
    except BaseException as error:  # noqa: BLE001  # raised where the code is awaited
        settle(None, error)
        return
    try:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(_served(code, settle, loop))
        end_tasks(loop)
    except BaseException:  # noqa: BLE001  # the code has been settled; what it has left running cannot be waited for
        pass
    finally:
        asyncio.set_event_loop(None)
        unwatch(loop)
        loop.close()


async def _served(code: Code, settle: Settle, loop: ProgramLoop) -> None:
    """Runs code, and serves the transforms and hooks that it has registered until the end of the run."""
    run = code.run
    ended: asyncio.Future[None] = loop.create_future()
    run.on_end(loop.completions, lambda _value, _error: None if ended.done() else ended.set_result(None))
    functions: Mapping[str, Any] | None = None
    try:
        monitor = _Monitor(run, code.component)
        configure(run, loop, monitor)
        functions = callbacks.serve(run, monitor, loop.completions, [])
        returned = await _run(code, loop)
    except BaseException as error:  # noqa: BLE001  # raised where the code is awaited
        settle(None, _raised(error))
    else:
        settle(returned, None)
    if functions:
        await ended
    # Without functions of ours, each task of the SDK that has registered one has started a server.
    Servicer = getattr(_callbacks, "_CallbackServicer", None)
    if Servicer is None:
        await _stop_servers(loop, ended)
        return
    servicers = Servicer._servicers
    for servicer in [each for each in servicers if each._server._loop is loop]:
        await ended
        servicers.remove(servicer)
        await servicer._server.stop(None)


async def _stop_servers(loop: ProgramLoop, ended: asyncio.Future[None]) -> None:
    """Stops the servers of a loop at the end of the run, where the class of the SDK that keeps them is not known."""
    servers = [found for found in gc.get_objects() if issubclass(type(found), grpc.aio.Server)]
    for server in [found for found in servers if getattr(found, "_loop", None) is loop]:
        await ended
        await server.stop(None)


def _raised(error: BaseException) -> BaseException:
    """Returns what awaiting the code raises."""
    if isinstance(error, grpc.RpcError):
        return ProgramError(printable(error.details() if isinstance(error, CallError) else str(error)))
    if isinstance(error, asyncio.CancelledError):
        return CancelledError("the code was cancelled")
    return error


async def _run(code: Code, loop: ProgramLoop) -> Returned:
    main = asyncio.current_task()
    assert main is not None
    cancel_at_end(code.run, loop, main)
    loop.set_exception_handler(quiet)
    await settings._load_monitor_feature_support()  # type: ignore[no-untyped-call]
    above = code.component or code.run.root_urn
    if above is not None:
        settings.ROOT.set(DependencyResource(above))
    try:
        returned = code.function(_inputs(code))
        refuse_generator(returned)
        if inspect.isawaitable(returned):
            returned = await returned
        values = {} if returned is None else returned
        if not isinstance(values, Mapping):
            raise refusal("run_sdk()", "a function that returns a dictionary of values by name", values)
    except Exception:
        # What has been made is registered all the same: otherwise it would be deleted.
        with suppress(Exception):
            await _registered(code.run)
        raise
    found: dict[str, list[Any]] = {}
    try:
        message = await rpc.serialize_properties(dict(values), found)
        dependencies = {name: await _urns(resources) for name, resources in found.items()}
    except Exception:
        with suppress(Exception):
            await _registered(code.run)
        raise
    await _registered(code.run)
    return json.dumps(json_format.MessageToDict(message)), dependencies


async def _registered(run: Run) -> None:
    """Waits until all that the code has made is registered. The run fails where something cannot be, as an input has failed for
    instance, also when the program catches that: the engine does not know it, and would delete it."""
    try:
        await wait_for_rpcs()
    except Exception as error:
        # The engine has refused the request itself, and knows the resource.
        if not isinstance(error, grpc.RpcError):
            run.declaration_unreadable(f"{type(error).__name__}: {printable(str(error))}", [])
        raise


async def _urns(resources: list[Any]) -> list[str]:
    urns = [await resource.urn.future() for resource in resources]
    return [urn for urn in dict.fromkeys(urns) if urn is not None]


def _inputs(code: Code) -> dict[str, Any]:
    """Returns values as the SDK's code takes them: those that are secret or unknown, or come from resources, are outputs."""
    message = json_format.Parse(code.inputs, struct_pb2.Struct())
    values = rpc.deserialize_properties(message, keep_unknowns=True)
    return {name: _input(value, code.origins.get(name, ())) for name, value in values.items()}


def _input(value: Any, origins: Sequence[str]) -> Any:
    is_secret, is_unknown = rpc.is_rpc_secret(value), rpc.contains_unknowns(value)
    if not (is_secret or is_unknown or origins):
        return value
    resources: set[Any] = {DependencyResource(urn) for urn in origins}
    plain = rpc.unwrap_rpc_secret(value) if is_secret else value
    return Output(_known(resources), _known(plain), _known(not is_unknown), _known(is_secret))


def _known(value: Any) -> asyncio.Future[Any]:
    future = asyncio.get_running_loop().create_future()
    future.set_result(value)
    return future


_OPTIONS: Final = (
    "aliases",
    "aliasURNs",
    "dependencies",
    "deletedWith",
    "hooks",
    "ignoreChanges",
    "importId",
    "protect",
    "provider",
    "providers",
    "replaceOnChanges",
    "retainOnDelete",
    "transforms",
)
"""The options of a request that have no effect on a component which is registered already."""


def _is_given(value: Any) -> bool:
    """Returns whether a member of a request is there: a message is true in any case."""
    return bool(value.ListFields() if hasattr(value, "ListFields") else value)


class _Monitor(Monitor):
    """The monitor of a component's code: a component of the SDK with its type and name is the component itself."""

    def __init__(self, run: Run, component: str | None) -> None:
        super().__init__(run)
        self._component: Final = component or ""
        parts = self._component.split("::")
        self._type: Final = parts[2].rsplit("$", 1)[-1] if component else ""
        self._name: Final = "::".join(parts[3:])
        self._is_registered = False

    def RegisterResource(self, request: Any) -> Any:
        if self._is_component(request):
            given = [name for name in _OPTIONS if _is_given(getattr(request, name, None))]
            if given:
                raise InvalidInputError(
                    f"the component {self._name!r} has the options of the program that uses it: leave out {', '.join(given)} "
                    "where its code makes it"
                )
            self._is_registered = True
            return resource_pb2.RegisterResourceResponse(urn=self._component)
        return self.__getattr__("RegisterResource")(request)

    def RegisterResourceOutputs(self, request: Any) -> Any:
        # What the code returns are the component's outputs.
        if request.urn and request.urn == self._component:
            return empty_pb2.Empty()
        return self.__getattr__("RegisterResourceOutputs")(request)

    def _is_component(self, request: Any) -> bool:
        return (
            bool(self._component)
            and not self._is_registered
            and not request.custom
            and not request.remote
            and (request.type, request.name, request.parent) == (self._type, self._name, self._component)
        )
