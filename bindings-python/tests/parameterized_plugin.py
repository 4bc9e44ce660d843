"""A provider plugin that serves other packages with a parameter: what it creates has the parameter of its package, and a variable of the environment.

Resources of a package whose parameter the process does not have cannot be deleted.
"""

from __future__ import annotations

import os
from typing import Any

import grpc
from google.protobuf import struct_pb2
from pulumi.runtime.proto import provider_pb2

from scripted_plugin import Scripted, serve


class Parameterized(Scripted):
    def __init__(self) -> None:
        self.parameters: dict[str, str] = {}

    def Parameterize(self, request: Any, context: Any) -> Any:
        given = request.value
        self.parameters[given.name] = f"{given.value.decode()} {given.version}"
        return provider_pb2.ParameterizeResponse(name=given.name, version=given.version)

    def Create(self, request: Any, context: Any) -> Any:
        package, name = request.urn.split("::")[2].split(":")[0], request.urn.split("::")[3]
        properties = struct_pb2.Struct()
        properties.CopyFrom(request.properties)
        # A plugin that is an extension keeps what it was before.
        properties.update({"parameter": self.parameters.get(package, ""), "known": ",".join(sorted(self.parameters))})
        properties.update({"variable": os.environ.get("MAPPED_TO", "")})
        return provider_pb2.CreateResponse(id=name, properties=properties)

    def Delete(self, request: Any, context: Any) -> Any:
        package = request.urn.split("::")[2].split(":")[0]
        if package != "base" and package not in self.parameters:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"the parameter of {package} is missing")
        return super().Delete(request, context)


if __name__ == "__main__":
    serve(Parameterized())
