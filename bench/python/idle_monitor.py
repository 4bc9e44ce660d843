"""A monitor and an engine on a port, which answer every call of a program at once and do nothing."""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, resource_pb2, resource_pb2_grpc

THREADS = 16


class Monitor(resource_pb2_grpc.ResourceMonitorServicer):
    def SupportsFeature(self, request: Any, context: Any) -> Any:
        return resource_pb2.SupportsFeatureResponse(hasSupport=request.id != "deploymentInfo")

    def RegisterResource(self, request: Any, context: Any) -> Any:
        urn = f"urn:pulumi:dev::bench::{request.type}::{request.name}"
        return resource_pb2.RegisterResourceResponse(urn=urn, id=request.name if request.custom else "", object=request.object)

    def RegisterResourceOutputs(self, request: Any, context: Any) -> Empty:
        return Empty()

    def SignalAndWaitForShutdown(self, request: Any, context: Any) -> Empty:
        return Empty()


class Engine(engine_pb2_grpc.EngineServicer):
    def Log(self, request: Any, context: Any) -> Empty:
        assert request.severity != engine_pb2.ERROR, request.message
        return Empty()

    def SetRootResource(self, request: Any, context: Any) -> Any:
        return engine_pb2.SetRootResourceResponse()

    def GetRootResource(self, request: Any, context: Any) -> Any:
        return engine_pb2.GetRootResourceResponse()


@contextlib.contextmanager
def idle_monitor() -> Iterator[str]:
    """Serves while the context is open; returns the address."""
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(THREADS))
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(Monitor(), server)
    engine_pb2_grpc.add_EngineServicer_to_server(Engine(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None)
