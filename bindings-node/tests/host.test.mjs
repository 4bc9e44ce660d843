/** Callbacks and settings of the host: journal, stack reader, secrets, language runtime, sessions, providers. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { ConflictError, DecryptError, languageRuntime, secret, UnavailableError, unwrap } from "stackwright";

import { failureOf, folder, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";
const DISK = "urn:pulumi:dev::base::a:b:C::d";
const thing = (name, inputs = {}) => (context) => void context.resource(THING, name, inputs);

test("a journal receives all entries in order, and a begin entry before the provider is called", async () => {
    const received = [];
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: thing("a", { content: secret("hunter2") }),
        journal: async (entry) => {
            const seen = provider.calls.length;
            await new Promise((resolve) => setImmediate(resolve));
            assert.equal(provider.calls.length, seen, "the engine waits for the answer");
            received.push([entry, [...provider.calls]]);
        },
    });
    await stack.up();
    assert.deepEqual(received.map(([{ sequence }]) => sequence), received.map((_, index) => index));
    const isOfA = ({ state, new: made }) => (state ?? made?.state)?.type === THING;
    const ofA = received.filter(([entry]) => isOfA(entry));
    assert.deepEqual(ofA.map(([{ kind, op }]) => `${kind} ${op}`), ["begin create", "success create"]);
    const [[begin, before], [success, after]] = ofA;
    assert.equal(begin.pending, "creating");
    assert.ok(!before.includes("create a"), "the provider had not been called");
    assert.ok(after.includes("create a"));
    assert.equal(success.operation, begin.operation);
    const { ciphertext } = success.new.state.inputs.content;
    assert.equal(JSON.parse(Buffer.from(ciphertext, "base64").toString()), "hunter2");
    received.length = 0;
    await stack.preview();
    assert.deepEqual(received, [], "a preview has no journal");
});

test("journal entries mark untargeted, skipped and refreshed resources", async () => {
    let received = [];
    const provider = new Memory();
    const things = (...names) => (context) => names.forEach((name) => context.resource(THING, name, { content: 0 }));
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: things("a", "b"),
        journal: (entry) => void received.push(entry),
    });
    const name = ({ state, new: made }) => (state ?? made?.state)?.urn.split("::").at(-1);
    const ends = (op) => received.filter((entry) => entry.kind === "success" && (op === undefined || entry.op === op));
    await stack.up();
    received = [];
    await stack.up({ program: things("a", "b", "c"), targets: ["**::a"] });
    assert.deepEqual(ends().filter(({ untargeted }) => untargeted).map(name), ["b"]);
    const [skipped, ...others] = ends().filter(({ skippedCreate }) => skippedCreate);
    assert.equal(name(skipped), "c");
    assert.deepEqual(others, []);
    assert.deepEqual(skipped.state.inputs, { content: 0 });
    assert.ok(skipped.new === undefined && skipped.removed === undefined && skipped.resultOp === "same");
    assert.ok(!JSON.stringify(await stack.exportDeployment()).includes(`${THING}::c"`));
    provider.things.delete([...provider.things.keys()].find((id) => id.startsWith("b-")));
    for (const refreshProgram of [true, undefined]) {
        received = [];
        await stack.refresh({ refreshProgram });
        const begun = received.filter(({ kind }) => kind === "begin").map(({ operation }) => operation);
        const kept = ends("refresh").find((entry) => name(entry) === "a");
        assert.ok(begun.includes(kept.operation), "a begin entry precedes it");
        assert.deepEqual([kept.resultOp, kept.persistedRefresh], ["same", refreshProgram]);
        const gone = ends("refresh").filter(({ deletedByRefresh }) => deletedByRefresh);
        assert.equal(gone.length, refreshProgram ? 1 : 0);
        assert.ok(gone.every(({ resultOp }) => resultOp === "delete"));
    }
    received = [];
    await stack.up({ program: things("a"), refresh: true });
    assert.equal(ends("refresh").find((entry) => name(entry) === "a").resultOp, "same", "as read before an update, too");
});

test("a journal that refuses an entry ends the operation with its own error", async () => {
    let refuse = "begin";
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: thing("a"),
        journal: ({ kind, state, new: made }) => {
            if (kind === refuse && (state ?? made?.state)?.type === THING) {
                throw kind === "begin" ? new Error("the disk is full") : new ConflictError("another writer is active");
            }
        },
    });
    const refused = await failureOf(stack.up());
    assert.ok(refused instanceof UnavailableError, refused.kind);
    assert.match(refused.message, /the disk is full/);
    assert.ok(!provider.calls.includes("create a"), "the provider is not called when the begin entry is refused");
    refuse = "success";
    const late = await failureOf(stack.up());
    assert.ok(late instanceof ConflictError, `${late.kind}: ${late.message}`);
    assert.equal(late.message, "another writer is active");
    refuse = undefined;
    await stack.up();
});

test("a stack reader answers stack references instead of the store", async () => {
    const asked = [];
    const engine = memoryEngine(new Memory(), {
        stackReader: {
            stackOutputs: (name) => {
                asked.push(name);
                if (name === "organization/base/gone") {
                    throw new Error("that stack moved away");
                }
                return { color: "blue", token: secret("hunter2") };
            },
            stackResourceOutputs: async () => ({ [DISK]: { type: "a:b:C", outputs: { size: 3 } } }),
        },
    });
    const reference = (name) => (context) => {
        const other = context.read("pulumi:pulumi:StackReference", "other", name, { name });
        context.export("color", other.get("outputs").get("color"));
        context.export("token", other.get("outputs").get("token"));
        const resources = context.invoke("pulumi:pulumi:readStackResourceOutputs", { stackName: name });
        context.export("resources", resources.get("outputs"));
    };
    const stack = await engine.stack("shop/dev", { program: reference("organization/base/dev") });
    const { outputs } = await stack.up();
    assert.equal(outputs.color.value, "blue");
    assert.ok(outputs.token.secret);
    assert.equal(outputs.token.value, "hunter2");
    assert.deepEqual(outputs.resources.value, { [DISK]: { type: "a:b:C", outputs: { size: 3 } } });
    const error = await failureOf(stack.up({ program: reference("organization/base/gone") }));
    const messages = error.result.diagnostics.map(({ message }) => message).join("\n");
    assert.match(`${messages}\n${error.message}`, /that stack moved away/);
    assert.deepEqual(new Set(asked), new Set(["organization/base/dev", "organization/base/gone"]));
});

test("without a stack reader, stack references are answered from the engine's store", async () => {
    const engine = memoryEngine();
    const base = await engine.stack("base/dev", { program: (context) => context.export("color", "green") });
    await base.up();
    const stack = await engine.stack("shop/dev", {
        program: (context) => {
            const name = "organization/base/dev";
            const other = context.read("pulumi:pulumi:StackReference", "other", name, { name });
            context.export("color", other.get("outputs").get("color"));
            const resources = context.invoke("pulumi:pulumi:readStackResourceOutputs", { stackName: name });
            context.export("root", resources.get("outputs").get("urn:pulumi:dev::base::pulumi:pulumi:Stack::base-dev"));
        },
    });
    assert.deepEqual(unwrap((await stack.up()).outputs), {
        color: "green",
        root: { type: "pulumi:pulumi:Stack", outputs: { color: "green" } },
    });
});

const reversed = (texts) => texts.map((text) => [...text].reverse().join(""));

test("the host encrypts and decrypts secrets", async (t) => {
    const store = `file://${folder(t)}`;
    let batches = 0;
    const secrets = {
        kind: "reversing",
        state: { key: "none" },
        encrypt: async (texts) => {
            batches += 1;
            return reversed(texts);
        },
        decrypt: reversed,
    };
    const program = (context) => {
        context.resource(THING, "a", { content: context.config.require("token") });
        context.export("token", context.config.require("token"));
    };
    const config = { token: secret("hunter2") };
    const stack = await memoryEngine(new Memory(), { store, secrets }).stack("shop/dev", { program, config });
    await stack.up();
    const { deployment } = await stack.exportDeployment();
    const exported = JSON.stringify(deployment);
    assert.deepEqual(deployment.secrets_providers, { type: "reversing", state: { key: "none" } });
    assert.ok(batches > 0 && exported.includes("2retnuh") && !exported.includes("hunter2"));
    // An engine without the host's functions names the missing kind of secrets.
    const again = await memoryEngine(new Memory(), { store, secrets }).stack("shop/dev");
    assert.equal((await again.outputs()).token.value, "hunter2");
    const withoutSecrets = await memoryEngine(new Memory(), { store }).stack("shop/dev");
    const error = await failureOf(withoutSecrets.outputs());
    assert.equal(error.kind, "decrypt");
    assert.match(error.message, /reversing/);
});

test("a failure of the host to decrypt keeps its message", async (t) => {
    const store = `file://${folder(t)}`;
    const secrets = { encrypt: reversed, decrypt: reversed };
    const program = (context) => void context.resource(THING, "a", { content: secret("hunter2") });
    await (await memoryEngine(new Memory(), { store, secrets }).stack("shop/dev", { program })).up();
    const sealed = new RangeError("the vault is sealed");
    const failing = {
        encrypt: reversed,
        decrypt: () => {
            throw sealed;
        },
    };
    const stack = await memoryEngine(new Memory(), { store, secrets: failing }).stack("shop/dev", { program });
    const error = await failureOf(stack.up());
    assert.ok(error instanceof DecryptError && error.errorClass === "decrypt", error.kind);
    assert.match(error.message, /the vault is sealed/);
    assert.equal(error.cause, sealed);
    const short = { encrypt: reversed, decrypt: () => [] };
    const silent = await memoryEngine(new Memory(), { store, secrets: short }).stack("shop/dev", { program });
    assert.match((await failureOf(silent.up())).message, /returned 0 of \d+ values/);
});

test("a held session leaves a failed registration unanswered until it is released", async () => {
    const provider = new Memory({
        create: ({ name }) => {
            if (name === "no") {
                throw new Error("no such luck");
            }
        },
    });
    let answered = false;
    const engine = memoryEngine(provider, {
        // The session owns a provider that the resolver returns.
        providers: {},
        resolver: ({ name }) => (name === "mem" ? provider : undefined),
    });
    const stack = await engine.stack("shop/dev", {
        program: async (context) => {
            try {
                await context.resource(THING, "no");
            } finally {
                answered = true;
            }
        },
    });
    const operation = stack.up({ holdSession: true });
    const error = await failureOf(operation);
    assert.equal(error.kind, "failed");
    for (let turn = 0; turn < 50; turn++) {
        await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(answered, false, "unanswered while the session is held");
    await operation.release();
    await operation.release();
    for (let turn = 0; turn < 50 && !answered; turn++) {
        await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(answered, true);
    const other = stack.up({ program: () => undefined });
    await other;
    await other.release();
});

test("a language runtime at an address runs the program", async (t) => {
    const require = createRequire(import.meta.url);
    const grpc = require("@grpc/grpc-js");
    const { LanguageServer } = require("@pulumi/pulumi/automation/server.js");
    const { LanguageRuntimeService } = require("@pulumi/pulumi/proto/language_grpc_pb.js");
    class Thing extends pulumi.CustomResource {
        constructor(name, inputs) {
            super(THING, name, { size: undefined, ...inputs });
        }
    }
    const language = new LanguageServer(async () => {
        const made = new Thing("remote", { content: "abc" });
        return { size: made.size, stack: pulumi.getStack() };
    });
    const server = new grpc.Server();
    server.addService(LanguageRuntimeService, language);
    const port = await new Promise((resolve, reject) =>
        server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
            error === null ? resolve(bound) : reject(error),
        ),
    );
    t.after(() => server.forceShutdown());
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev", { program: languageRuntime(`127.0.0.1:${port}`) });
    const result = await stack.up();
    assert.deepEqual(unwrap(result.outputs), { size: 3, stack: "dev" });
    assert.equal(provider.things.size, 1);
    // The program of an operation overrides that of its stack.
    assert.equal((await stack.up({ program: () => undefined, allowEmpty: true })).changes.delete, 1);
});

test("a resolver is called for each instance and returns a provider or undefined", async () => {
    const asked = [];
    const [first, second] = [new Memory(), new Memory()];
    const engine = memoryEngine(first, {
        resolver: ({ kind, name }) => {
            asked.push(`${kind} ${name}`);
            return name === "mem" && asked.length === 1 ? second : undefined;
        },
    });
    const stack = await engine.stack("shop/dev", {
        program: async (context) => {
            const explicit = context.provider("mem", "explicit");
            await context.resource(THING, "a", {}, { provider: explicit });
            await context.resource(THING, "b");
        },
    });
    await stack.up();
    assert.deepEqual(asked, ["resource mem", "resource mem"]);
    assert.deepEqual([first.things.size, second.things.size], [1, 1]);
});

test("a provider of a resolver with a member in the place of a method is refused", { timeout: 60_000 }, async () => {
    const engine = memoryEngine(new Memory(), { providers: {}, resolver: () => ({ create() {}, diff: 1 }) });
    const stack = await engine.stack("shop/dev", { program: thing("a") });
    assert.match((await failureOf(stack.up())).message, /the provider of "mem" has a diff that is not a method: a number/);
});

test("the message of an error that a resolver throws is unchanged", async () => {
    const engine = memoryEngine(new Memory(), {
        resolver: () => {
            throw new Error("No Such Thing: ask the host!");
        },
    });
    const stack = await engine.stack("shop/dev", { program: thing("a") });
    const error = await failureOf(stack.up());
    const messages = error.result.diagnostics.map(({ message }) => message).join("\n");
    assert.ok(`${messages}\n${error.message}`.includes("No Such Thing: ask the host!"), messages);
});

test("events redact secrets of the configuration, also inside of other texts", async () => {
    const stack = await memoryEngine().stack("shop/dev", {
        config: { token: secret("hunter2hunter2") },
        program: (context) => {
            context.resource(THING, "a", { content: `https://example.com/?t=${context.config.require("token").value}` });
        },
    });
    const received = [];
    await stack.up({ onEvent: (event) => received.push(event) });
    const text = JSON.stringify(received);
    assert.ok(text.includes("example.com"));
    assert.ok(!text.includes("hunter2"), "a secret is in an event");
});

test("unhandled failures fail the program and delete nothing", async () => {
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: (context) => {
            context.resource(THING, "a");
            context.resource(THING, "b");
        },
    });
    await stack.up();
    const seen = [];
    const programs = {
        "a bad input, whose output is only applied": (context) => {
            context.resource(THING, "a", { when: () => 1 }).get("size").apply((size) => seen.push(size));
            context.resource(THING, "b");
        },
        "a throw inside of apply": (context) => {
            context.resource(THING, "a").get("size").apply(() => {
                throw new Error("not applied");
            });
        },
        "an invoke without an await": (context) => {
            context.invoke("mem:index:nothing", {}).apply((result) => seen.push(result));
        },
    };
    for (const [name, program] of Object.entries(programs)) {
        const error = await failureOf(stack.up({ program }));
        assert.equal(error.result?.outcome, "failed", `${name}: ${error.message}`);
        assert.equal(provider.things.size, 2, `${name}: nothing was deleted`);
    }
    assert.deepEqual(seen, []);
    // Resources that nested apply functions register belong to the program.
    const deep = await stack.up({
        program: (context) => {
            const first = context.resource(THING, "a");
            first.get("size").apply((size) => {
                const second = context.resource(THING, "b", { size });
                second.get("size").apply(() => {
                    context.resource(THING, "c");
                });
            });
        },
    });
    assert.equal(deep.changes.create, 1);
    assert.equal(deep.changes.delete, undefined);
});
