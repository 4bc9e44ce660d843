"""The monitor and the engine as the SDK calls them: its own messages in and out, handed to Rust as bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import engine_pb2, resource_pb2, resource_pb2_grpc

from .._stackwright import Completions, Run

_CODES: Final[dict[int, grpc.StatusCode]] = {code.value[0]: code for code in grpc.StatusCode}


class CallError(grpc.RpcError):  # type: ignore[misc]
    """A failed call, as the SDK knows it from gRPC."""

    def __init__(self, code: int, details: str) -> None:
        super().__init__(details)
        self._code = _CODES.get(code, grpc.StatusCode.UNKNOWN)
        self._details = details

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details

    def __str__(self) -> str:
        return f"{self._code.name}: {self._details}"


class Suspended(BaseException):
    """Unwinds a function of the SDK whose call has been started and is not answered yet. Caught by :class:`Call` only."""


class Call:
    """One function of the SDK that makes calls, run on the event loop's own thread without blocking it.

    A call whose answer is there at once returns it. Otherwise the function is left at that point, and run again from its
    beginning when the answer is there. The SDK's functions do nothing before their call that could not be done twice.
    """

    __slots__ = ("_answers", "_completions", "_function", "_monitor", "_position", "future")

    def __init__(self, monitor: Monitor, completions: Completions, function: Callable[[], Any], future: Any) -> None:
        self._monitor = monitor
        self._completions = completions
        self._function = function
        self._answers: list[tuple[int, Any]] = []
        self._position = 0
        self.future = future

    def step(self) -> None:
        self._position = 0
        monitor = self._monitor
        monitor.current = self
        try:
            result = self._function()
        except Suspended:
            return
        except BaseException as error:  # noqa: BLE001  # raised where the future is awaited
            self.future.set_exception(error)
        else:
            self.future.set_result(result)
        finally:
            monitor.current = None

    def answer(self, method: str, request: Any) -> tuple[int, Any]:
        """Returns the answer of the function's next call, or starts it and leaves."""
        position = self._position
        self._position = position + 1
        if position < len(self._answers):
            return self._answers[position]
        answer = self._monitor.run.start(method, request.SerializeToString(), self._completions, self._resume)
        if answer is None:
            raise Suspended
        self._answers.append(answer)
        return answer

    def _resume(self, code: int, payload: Any) -> None:
        if not self.future.done():
            self._answers.append((code, payload))
            self.step()


def _method(name: str, response: Any) -> Callable[[Monitor, Any], Any]:
    """Makes the method of one call; ``response`` reads its answer."""
    path = f"ResourceMonitor/{name}"

    def call(self: Monitor, request: Any) -> Any:
        current = self.current
        if current is not None and self.thread == threading.get_ident():
            code, payload = current.answer(path, request)
        else:
            code, payload = self.run.call(path, request.SerializeToString())
        if code:
            raise CallError(code, payload)
        return response.FromString(payload)

    call.__name__ = name
    return call


class Monitor(resource_pb2_grpc.ResourceMonitorStub):
    """Has the methods of the SDK's client of the resource monitor. It is one by its class, which some versions look at."""

    def __init__(self, run: Run) -> None:
        # Without the base's constructor, which needs a connection.
        self.run: Final = run
        self.thread: Final = threading.get_ident()
        self.current: Call | None = None

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        """Makes the method of a call when it is first needed: whichever this version of the SDK has."""
        response = _RESPONSES.get(name)
        if response is None:
            raise AttributeError(name)
        method = _method(name, response)
        setattr(Monitor, name, method)
        return lambda request: method(self, request)


def _responses() -> dict[str, Any]:
    """Reads from the SDK's own descriptors which message answers which call."""
    from google.protobuf import message_factory

    service = resource_pb2.DESCRIPTOR.services_by_name["ResourceMonitor"]
    return {
        method.name: message_factory.GetMessageClass(method.output_type)
        for method in service.methods
        if not method.server_streaming
    }


_RESPONSES: Final = _responses()
_EMPTY: Final = empty_pb2.Empty()


class Engine:
    """Has the methods of the SDK's client of the engine."""

    def __init__(self, run: Run, debug: bool = False) -> None:
        self._run = run
        self._debug = debug

    def Log(self, request: Any) -> Any:
        # The SDK logs four debug messages for each resource.
        if request.severity or self._debug:
            self._call("Engine/Log", request)
        return _EMPTY

    def GetRootResource(self, request: Any) -> Any:
        return engine_pb2.GetRootResourceResponse.FromString(self._call("Engine/GetRootResource", request))

    def SetRootResource(self, request: Any) -> Any:
        return engine_pb2.SetRootResourceResponse.FromString(self._call("Engine/SetRootResource", request))

    def RequirePulumiVersion(self, request: Any) -> Any:
        self._call("Engine/RequirePulumiVersion", request)
        return _EMPTY

    def _call(self, path: str, request: Any) -> bytes:
        code, payload = self._run.call(path, request.SerializeToString())
        if code:
            raise CallError(code, payload)
        return payload  # type: ignore[no-any-return]
