/** A monitor and an engine on a port, which answer every call of a program at once and do nothing. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { promisify } from "node:util";

const require = createRequire(import.meta.url);
const sdk = createRequire(require.resolve("@pulumi/pulumi"));
const grpc = sdk("@grpc/grpc-js");
const { Empty } = sdk("google-protobuf/google/protobuf/empty_pb.js");
const messages = require("@pulumi/pulumi/proto/resource_pb.js");
const { ResourceMonitorService } = require("@pulumi/pulumi/proto/resource_grpc_pb.js");
const { LogSeverity, GetRootResourceResponse, SetRootResourceResponse } = require("@pulumi/pulumi/proto/engine_pb.js");
const { EngineService } = require("@pulumi/pulumi/proto/engine_grpc_pb.js");

const monitor = {
    supportsFeature({ request }, answer) {
        const response = new messages.SupportsFeatureResponse();
        response.setHassupport(request.getId() !== "deploymentInfo");
        answer(null, response);
    },
    registerResource({ request }, answer) {
        const response = new messages.RegisterResourceResponse();
        response.setUrn(`urn:pulumi:dev::bench::${request.getType()}::${request.getName()}`);
        response.setId(request.getCustom() ? request.getName() : "");
        response.setObject(request.getObject());
        answer(null, response);
    },
    registerResourceOutputs: (_, answer) => answer(null, new Empty()),
    signalAndWaitForShutdown: (_, answer) => answer(null, new Empty()),
};

const engine = {
    log({ request }, answer) {
        assert.notEqual(request.getSeverity(), LogSeverity.ERROR, request.getMessage());
        answer(null, new Empty());
    },
    setRootResource: (_, answer) => answer(null, new SetRootResourceResponse()),
    getRootResource: (_, answer) => answer(null, new GetRootResourceResponse()),
};

/** Starts serving; returns the address, and what ends it. */
export async function idleMonitor() {
    const server = new grpc.Server();
    server.addService(ResourceMonitorService, monitor);
    server.addService(EngineService, engine);
    const bind = promisify(server.bindAsync.bind(server));
    const port = await bind("127.0.0.1:0", grpc.ServerCredentials.createInsecure());
    return { address: `127.0.0.1:${port}`, close: () => server.forceShutdown() };
}
