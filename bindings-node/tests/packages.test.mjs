/** Schemas and mappings of the host's providers, which the engine serves to language runtimes. */

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import { languageRuntime } from "stackwright";

import { Memory, memoryEngine } from "./support.mjs";

const require = createRequire(import.meta.url);
const grpc = require("@grpc/grpc-js");
const { LanguageRuntimeService } = require("@pulumi/pulumi/proto/language_grpc_pb.js");
const { RunResponse } = require("@pulumi/pulumi/proto/language_pb.js");
const { LoaderClient } = require("@pulumi/pulumi/proto/codegen/loader_grpc_pb.js");
const { GetSchemaRequest } = require("@pulumi/pulumi/proto/codegen/loader_pb.js");
const { MapperClient } = require("@pulumi/pulumi/proto/codegen/mapper_grpc_pb.js");
const { GetMappingRequest } = require("@pulumi/pulumi/proto/codegen/mapper_pb.js");

/** Previews a stack of an engine with `providers`; its language runtime runs `ask` as the program. */
async function preview(t, providers, ask) {
    const run = async ({ request }, callback) => {
        await ask(request);
        callback(null, new RunResponse());
    };
    const unknown = (_, callback) => callback({ code: grpc.status.UNIMPLEMENTED });
    const server = new grpc.Server();
    const calls = Object.keys(LanguageRuntimeService).map((name) => [name, unknown]);
    server.addService(LanguageRuntimeService, { ...Object.fromEntries(calls), run });
    const port = await new Promise((resolve, reject) =>
        server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
            error === null ? resolve(bound) : reject(error),
        ),
    );
    t.after(() => server.forceShutdown());
    const engine = memoryEngine(new Memory(), { providers });
    const stack = await engine.stack("shop/dev", { program: languageRuntime(`127.0.0.1:${port}`) });
    await stack.preview();
}

test("a language runtime gets the schemas of the host's providers", async (t) => {
    const providers = {
        object: { getSchema: ({ subpackageName }) => ({ name: `object${subpackageName}`, version: 3 }) },
        text: { getSchema: async () => '{"name":"text"}' },
        none: {},
        wrong: { getSchema: () => 5 },
    };
    const found = {};
    await preview(t, providers, async (request) => {
        const loader = new LoaderClient(request.getLoaderTarget(), grpc.credentials.createInsecure());
        for (const name of Object.keys(providers)) {
            found[name] = await new Promise((resolve) =>
                loader.getSchema(new GetSchemaRequest().setPackage(name), (error, answer) =>
                    resolve(error === null ? JSON.parse(Buffer.from(answer.getSchema_asU8())) : error.details),
                ),
            );
        }
        loader.close();
    });
    assert.deepEqual([found.object, found.text], [{ name: "object", version: 3 }, { name: "text" }]);
    assert.match(found.none, /"none" has no schema/);
    assert.match(found.wrong, /answer to getSchema cannot be read: expected a JSON text or an object/);
});

test("a language runtime gets the mappings of the host's providers", async (t) => {
    const providers = {
        several: {
            getMappings: (key) => (key === "terraform" ? ["one", "two"] : undefined),
            getMapping: ({ key, provider }) => ({ provider, data: Buffer.from(`${key}/${provider}\xff`, "latin1") }),
        },
        single: {
            getMapping: async ({ provider }) =>
                provider === "" ? { provider: "only", data: new Uint8Array([0x7b, 0x7d]) } : undefined,
        },
        wrong: { getMapping: () => ({ provider: "bad", data: "text" }) },
        odd: { getMappings: () => 5 },
        none: {},
    };
    const questions = { one: "several", two: "several", three: "several", only: "single", bad: "wrong", strange: "odd" };
    const found = {};
    await preview(t, providers, async (request) => {
        const mapper = new MapperClient(request.getMapperTarget(), grpc.credentials.createInsecure());
        for (const [name, hint] of Object.entries(questions)) {
            found[name] = await new Promise((resolve) =>
                mapper.getMapping(
                    new GetMappingRequest().setProvider(name).setPulumiProvider(hint),
                    (error, answer) =>
                        resolve(error === null ? Buffer.from(answer.getData_asU8()).toString("latin1") : error.details),
                ),
            );
        }
        mapper.close();
    });
    assert.deepEqual([found.one, found.two], ["terraform/one\xff", "terraform/two\xff"]);
    assert.deepEqual([found.three, found.only], ["", "{}"]);
    assert.match(found.bad, /answer to getMapping cannot be read: expected an object with provider and data/);
    assert.match(found.strange, /answer to getMappings cannot be read: the answer: expected a list/);
});
