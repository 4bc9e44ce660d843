"""A provider plugin with scripted answers, for packages of the registry: each resource gets its inputs, and a few fixed outputs."""

from __future__ import annotations

import threading
from concurrent import futures
from typing import Any

import grpc
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

OUTPUTS: dict[str, dict[str, Any]] = {
    "random:index/randomPet:RandomPet": {},
    "random:index/randomPassword:RandomPassword": {"result": "scripted-password", "bcryptHash": "hash"},
    "command:local:Command": {"stdout": "scripted output", "stderr": ""},
    "aws:s3/bucket:Bucket": {"bucket": "{id}", "arn": "arn:aws:s3:::{id}", "region": "eu-west-1"},
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": {},
    "aws:s3/bucketObjectv2:BucketObjectv2": {"etag": "scripted"},
}
"""What the resources of a type have beside their inputs; ``{id}`` stands for the id."""


class Scripted(provider_pb2_grpc.ResourceProviderServicer):
    def CheckConfig(self, request: Any, context: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:
        return provider_pb2.ConfigureResponse(acceptSecrets=False, supportsPreview=False)

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version="1.0.0")

    def Check(self, request: Any, context: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request: Any, context: Any) -> Any:
        changed = provider_pb2.DiffResponse.DIFF_SOME if request.old_inputs != request.news else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=changed)

    def Create(self, request: Any, context: Any) -> Any:
        type_, name = request.urn.split("::")[2:4]
        id_ = f"{name}-scripted"
        properties = struct_pb2.Struct()
        properties.CopyFrom(request.properties)
        properties.update({key: value.replace("{id}", id_) for key, value in OUTPUTS[type_.rsplit("$", 1)[-1]].items()})
        return provider_pb2.CreateResponse(id=id_, properties=properties)

    def Read(self, request: Any, context: Any) -> Any:
        """Finds what is recorded as it is recorded, and each string by its id, which is its text."""
        if request.properties.fields:
            return provider_pb2.ReadResponse(id=request.id, inputs=request.inputs, properties=request.properties)
        inputs, properties = struct_pb2.Struct(), struct_pb2.Struct()
        inputs.update({"length": len(request.id)})
        properties.update({"length": len(request.id), "result": request.id})
        return provider_pb2.ReadResponse(id=request.id, inputs=inputs, properties=properties)

    def Update(self, request: Any, context: Any) -> Any:
        properties = struct_pb2.Struct()
        properties.CopyFrom(request.olds)
        properties.update(request.news)
        return provider_pb2.UpdateResponse(properties=properties)

    def Delete(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()

    def Cancel(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()


def serve(provider: Scripted) -> None:
    """Serves a provider until the process is ended."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    serve(Scripted())
