"""Code written with the SDK inside code of this package's own API: of a component, a method, or a program."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import grpc
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi import Output
from pulumi.resource import DependencyResource
from pulumi.runtime import rpc, settings
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.stack import wait_for_rpcs

from .._bridge import unwatch
from .._checks import refusal
from .._generators import refuse_generator
from .._raised import printable
from .._secrecy import enter
from .._stackwright import Run
from ..errors import CancelledError, ProgramError
from . import callbacks, isolation
from .loop import ProgramLoop
from .monitor import CallError, Monitor
from .run import cancel_at_end, configure, end_tasks, quiet

__all__ = ["Returned", "start"]

Returned = tuple[str, dict[str, list[str]]]
"""What the code has returned: the JSON of its values, and by name the URNs of the resources that each comes from."""


def start(
    function: Callable[[Mapping[str, Any]], Any],
    inputs: str,
    run: Run,
    component: str | None,
    settle: Callable[[Returned | None, BaseException | None], None],
) -> None:
    """Starts a thread that runs ``function`` with the values of the JSON ``inputs``, and returns; ``settle`` is called once,
    on that thread. What has no parent is registered below ``component``, or below the stack without one."""
    name = f"stackwright code of {run.project}/{run.stack}"
    arguments = (_main, function, inputs, run, component, settle)
    thread = threading.Thread(target=contextvars.Context().run, args=arguments, name=name, daemon=True)
    thread.start()


def _main(
    function: Callable[[Mapping[str, Any]], Any],
    inputs: str,
    run: Run,
    component: str | None,
    settle: Callable[[Returned | None, BaseException | None], None],
) -> None:
    loop: ProgramLoop | None = None
    try:
        enter(run)
        isolation.install()
        loop = ProgramLoop()
        asyncio.set_event_loop(loop)
        monitor = _Monitor(run, component)
        configure(run, loop, monitor)
        callbacks.serve(run, monitor, loop.completions, [])
        returned = loop.run_until_complete(_code(function, inputs, run, component, loop))
        end_tasks(loop)
    except BaseException as error:  # noqa: BLE001  # raised where the code is awaited
        settle(None, _raised(error))
    else:
        settle(returned, None)
    finally:
        asyncio.set_event_loop(None)
        if loop is not None:
            unwatch(loop)
            loop.close()


def _raised(error: BaseException) -> BaseException:
    """Returns what awaiting the code raises."""
    if isinstance(error, grpc.RpcError):
        return ProgramError(printable(error.details() if isinstance(error, CallError) else str(error)))
    if isinstance(error, asyncio.CancelledError):
        return CancelledError("the code was cancelled")
    return error


async def _code(
    function: Callable[[Mapping[str, Any]], Any], inputs: str, run: Run, component: str | None, loop: ProgramLoop
) -> Returned:
    main = asyncio.current_task()
    assert main is not None
    cancel_at_end(run, loop, main)
    loop.set_exception_handler(quiet)
    await settings._load_monitor_feature_support()  # type: ignore[no-untyped-call]
    above = component or run.root_urn
    if above is not None:
        settings.ROOT.set(DependencyResource(above))
    returned = function(_inputs(inputs))
    refuse_generator(returned)
    if inspect.isawaitable(returned):
        returned = await returned
    if returned is None:
        returned = {}
    if not isinstance(returned, Mapping):
        raise refusal("run_sdk()", "a function that returns a dictionary of values by name", returned)
    found: dict[str, list[Any]] = {}
    values = await rpc.serialize_properties(dict(returned), found)
    dependencies = {name: await _urns(resources) for name, resources in found.items()}
    await wait_for_rpcs()
    return json.dumps(json_format.MessageToDict(values)), dependencies


async def _urns(resources: list[Any]) -> list[str]:
    urns = [await resource.urn.future() for resource in resources]
    return [urn for urn in dict.fromkeys(urns) if urn is not None]


def _inputs(text: str) -> dict[str, Any]:
    """Returns values as the SDK's code takes them: secrets and unknowns are outputs."""
    message = json_format.Parse(text, struct_pb2.Struct())
    values = rpc.deserialize_properties(message, keep_unknowns=True)
    return {name: _input(value) for name, value in values.items()}


def _input(value: Any) -> Any:
    if rpc.is_rpc_secret(value):
        return Output.secret(rpc.unwrap_rpc_secret(value))
    return Output.from_input(value) if rpc.contains_unknowns(value) else value


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
