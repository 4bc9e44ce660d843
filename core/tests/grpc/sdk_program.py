"""A program of twenty resources behind the Python SDK's own server of inline programs; prints its port."""

from concurrent import futures

import grpc
import pulumi
from pulumi.automation._server import LanguageServer
from pulumi.runtime.proto import language_pb2_grpc


class Echo(pulumi.CustomResource):
    def __init__(self, name, props, opts=None):
        super().__init__("echo:index:Echo", name, props, opts)


def program():
    component = pulumi.ComponentResource("my:index:Component", "component")
    before = ""
    for number in range(20):
        props = {"value": f"v{number}", "before": before, "stack": pulumi.get_stack()}
        before = Echo(f"r{number}", props, pulumi.ResourceOptions(parent=component)).id
    component.register_outputs({})
    pulumi.export("last", before)
    pulumi.export("hidden", pulumi.Output.secret("hush"))
    pulumi.log.warn("twenty of them")
    if pulumi.get_stack() == "failing":
        raise Exception("out of luck")


server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
language_pb2_grpc.add_LanguageRuntimeServicer_to_server(LanguageServer(program), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
server.wait_for_termination()
