/** Stores of the host: whole operations on them, their errors, and their end; and credentials, with S3 by moto where it is installed. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { ConflictError, Engine, InvalidInputError, NotFoundError, secret, StackwrightError, UnavailableError } from "stackwright";

import { chained, FolderStore } from "./folder_store.mjs";
import { failureOf, folder, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";
const CHECKPOINT = ".pulumi/stacks/shop/dev.json";

const making =
    (names, inputs = {}) =>
    (context) => {
        for (const name of names) {
            context.resource(THING, name, { key: secret("opensesame"), ...inputs });
        }
    };

/** Keeps objects in a map. Its methods return values. */
class MapStore {
    objects = new Map();
    calls = [];
    before = () => undefined;
    #versions = 0;

    note(method, key) {
        this.calls.push([method, key]);
        this.before(method, key);
    }

    get(key) {
        this.note("get", key);
        return this.objects.get(key);
    }

    put(key, content, condition) {
        this.note("put", key);
        assert.ok(content instanceof Uint8Array);
        const version = this.objects.get(key)?.version;
        const holds = condition.kind === "any" || version === (condition.kind === "match" ? condition.version : undefined);
        if (!holds) {
            throw new ConflictError("it was changed");
        }
        const object = { content, version: `v${++this.#versions}`, modified: new Date() };
        this.objects.set(key, object);
        return object.version;
    }

    *list(prefix) {
        this.note("list", prefix);
        for (const [key, { content, modified }] of [...this.objects].reverse()) {
            if (key.startsWith(prefix)) {
                yield { key, size: content.length, modified };
            }
        }
    }

    delete(key) {
        this.note("delete", key);
        this.objects.delete(key);
    }
}

/** Copies objects itself, and has a URL. */
class CopyingStore extends MapStore {
    url = "map://copies";

    copy(source, target) {
        this.note("copy", source);
        const object = this.objects.get(source);
        if (object === undefined) {
            throw new NotFoundError("there is none");
        }
        this.objects.set(target, { ...object, version: `${object.version} of ${source}` });
    }
}

/** The same with promises. */
class AsyncStore {
    inner = new MapStore();
    async get(key) {
        return (await this.inner.get(key)) ?? null;
    }
    async put(key, content, condition) {
        return this.inner.put(key, content, condition);
    }
    async list(prefix) {
        return [...this.inner.list(prefix)];
    }
    async delete(key) {
        this.inner.delete(key);
    }
}

const recordOf = (deployment, name) => deployment.deployment.resources.find(({ urn }) => urn.endsWith(`::${name}`));

for (const [name, make] of [
    ["methods", () => new MapStore()],
    ["a method that copies", () => new CopyingStore()],
    ["asynchronous methods", () => new AsyncStore()],
]) {
    test(`a store of the host with ${name} has stacks from their creation to their removal`, async () => {
        const store = make();
        const objects = store.inner ?? store;
        const provider = new Memory();
        let engine = memoryEngine(provider, { store });
        let stack = await engine.stack("shop/dev", { program: making(["a", "b"]) });
        assert.deepEqual((await stack.up()).changes, { create: 3 });
        const text = Buffer.from(objects.objects.get(CHECKPOINT).content).toString();
        assert.ok(text.includes("ciphertext") && !text.includes("opensesame"));
        assert.deepEqual((await stack.up()).changes, { same: 3 });
        assert.deepEqual((await stack.up({ program: making(["a", "b"], { content: "x" }) })).changes, { same: 1, update: 2 });
        assert.deepEqual(Object.keys((await stack.refresh()).changes), ["same"]);
        assert.deepEqual((await stack.history()).map(({ kind }) => kind), ["refresh", "update", "update", "update"]);
        await engine.close();

        // Another engine finds what the first one has left, and edits it.
        engine = memoryEngine(provider, { store });
        const [summary] = await engine.stacks();
        assert.ok(summary.name.endsWith("shop/dev") && summary.lock === null);
        stack = await engine.selectStack("shop/dev");
        const { urn } = recordOf(await stack.exportDeployment(), "a");
        await stack.protect([urn]);
        assert.equal(recordOf(await stack.exportDeployment(), "a").protect, true);
        await stack.unprotect([urn]);
        assert.ok((await stack.destroy()).changes.delete >= 1);
        assert.equal(provider.things.size, 0);
        await stack.remove();
        assert.deepEqual(await engine.stacks(), []);
        await engine.close();
        assert.equal(
            objects.calls.some(([method]) => method === "copy"),
            typeof store.copy === "function",
        );
    });
}

test("of two engines on one store of the host the second operation is refused", async () => {
    const store = new MapStore();
    let begin, release;
    const began = new Promise((resolve) => (begin = resolve));
    const released = new Promise((resolve) => (release = resolve));
    const held = new Memory({
        create: async () => {
            begin();
            await released;
        },
    });
    const first = memoryEngine(held, { store });
    const second = memoryEngine(new Memory(), { store });
    const running = (await first.stack("shop/dev", { program: making(["a"]) })).up();
    await began;
    const stack = await second.stack("shop/dev", { program: making(["a"]) });
    const error = await failureOf(stack.up());
    assert.ok(error instanceof ConflictError && error.message.includes("locked"), error.message);
    release();
    assert.deepEqual((await running).changes, { create: 2 });
    assert.deepEqual(Object.keys((await stack.up()).changes), ["same"]);
    await first.close();
    await second.close();
});

test("the next engine recovers what a killed one has journalled in a store of the host", { timeout: 120_000 }, async (t) => {
    const place = folder(t);
    const script = fileURLToPath(new URL("folder_store.mjs", import.meta.url));
    const host = spawn(process.execPath, [script, place], { stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => host.kill("SIGKILL"));
    for await (const line of createInterface({ input: host.stdout })) {
        if (line === "held") {
            break;
        }
    }
    assert.ok(host.kill("SIGKILL"));
    await once(host, "exit");
    const engine = memoryEngine(new Memory(), { store: new FolderStore(place) });
    const stack = await engine.stack("shop/dev", { program: chained });
    const left = await stack.exportDeployment();
    assert.ok(recordOf(left, "a") !== undefined && recordOf(left, "b") === undefined);
    assert.deepEqual(left.deployment.pending_operations.map(({ type }) => type), ["creating"]);
    assert.equal((await stack.up()).changes.create, 1);
    assert.ok((await stack.destroy()).changes.delete >= 2);
    await engine.close();
});

test("what a method throws is an error that names the method and the key", async () => {
    const store = new MapStore();
    store.before = (method, key) => {
        if (method === "put" && key === CHECKPOINT) {
            throw new Error("the table is read-only");
        }
    };
    const engine = memoryEngine(new Memory(), { store });
    const error = await failureOf(engine.stack("shop/dev", { program: making(["a"]) }).then((stack) => stack.up()));
    assert.ok(error instanceof UnavailableError, error.kind);
    assert.ok(error.message.includes(`put of "${CHECKPOINT}" failed in the store host://MapStore: `), error.message);
    assert.ok(error.message.includes("the table is read-only"), error.message);
    await engine.close();
});

for (const [method, returned, part] of [
    ["get", "text", "it returned a string, not { content: Uint8Array, version: string }, undefined or null"],
    ["get", { content: "text", version: "1" }, "it returned { content: a string, version: a string }"],
    ["put", undefined, "it returned undefined, not the new version (a string)"],
    ["put", "", "it returned an empty string, not the new version"],
    ["list", undefined, "it returned undefined, not objects with key (a string), size (a number) and modified (a Date)"],
    ["list", [{ key: "a", size: 1, modified: "now" }], "it returned a list in which one is an object, not objects with key"],
    ["list", [{ key: "a", size: 1, modified: new Date() }], "does not start with the prefix"],
]) {
    test(`${method} with an answer of a wrong type is an error: ${part}`, async () => {
        const store = new MapStore();
        store[method] = () => returned;
        const engine = memoryEngine(new Memory(), { store });
        const asked = async () => {
            if (method === "list") {
                await engine.stacks();
            }
            await (await engine.stack("shop/dev", { program: making(["a"]) })).up();
        };
        const error = await failureOf(asked());
        assert.ok(error instanceof InvalidInputError, `${error.kind}: ${error.message}`);
        assert.ok(error.message.includes(`${method} of `) && error.message.includes(part), error.message);
        await engine.close();
    });
}

test("what is no store is refused", () => {
    for (const [store, part] of [
        [MapStore, "store is a class or a function; pass an instance, new MapStore()"],
        [{ get() {} }, "store has no method put()"],
        [17, "store takes a URL as a string, not a number"],
        [Object.assign(new MapStore(), { url: 1 }), "url of the store is a string, not a number"],
        [Object.assign(new MapStore(), { url: "file:///srv" }), "names a store of the engine"],
    ]) {
        assert.throws(
            () => new Engine({ store }),
            (error) => error instanceof InvalidInputError && error.message.includes(part),
        );
    }
});

test("no method of a store is called once the engine is closed", async () => {
    const store = new MapStore();
    const engine = memoryEngine(new Memory(), { store });
    const stack = await engine.stack("shop/dev", { program: making(["a"]) });
    await stack.up();
    await engine.close();
    const before = store.calls.length;
    assert.ok((await failureOf(stack.exportDeployment())) instanceof StackwrightError);
    assert.equal(store.calls.length, before);
});

const SECRET = "wJalrXUtnFEMIsecret";
const KEYS = { accessKeyId: "AKIATEST", secretAccessKey: SECRET };
/** A store that is opened and never used: nothing listens at the port of the discard service. */
const UNREACHABLE = "s3://state/none?endpoint=http://127.0.0.1:9&region=eu-west-1";

const moto = process.env.STACKWRIGHT_TEST_MOTO;
const isRequired = (process.env.STACKWRIGHT_TEST_STORES_REQUIRED ?? "").split(",").includes("S3");
const noMoto = !moto && !isRequired && "STACKWRIGHT_TEST_MOTO names no Python that has moto";

test("a bucket takes keys from an object and from functions that are called before the keys end", { skip: noMoto, timeout: 240_000 }, async (t) => {
    // Not by its path: the folder of the script would be searched for the package of the same name.
    const script = fs.readFileSync(new URL("../../testkit/src/server/moto.py", import.meta.url), "utf8");
    const server = spawn(moto, ["-c", script], { stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => server.kill("SIGKILL"));
    const [line] = await once(createInterface({ input: server.stdout }), "line");
    const url = (prefix) => `s3://state/${prefix}?endpoint=127.0.0.1:${line.split(" ")[1]}&disableSSL=true&region=eu-west-1`;
    const calls = { lasting: 0, ending: 0 };
    const later = (seconds) => new Date(Date.now() + seconds * 1000);
    const sources = [
        KEYS,
        () => ({ ...KEYS, expires: later(++calls.lasting * 3600) }),
        async () => ({ ...KEYS, sessionToken: "token", expires: later(59 + 0 * ++calls.ending).toISOString() }),
    ];
    for (const [number, credentials] of sources.entries()) {
        const engine = memoryEngine(new Memory(), { store: url(`node${number}`), credentials });
        const stack = await engine.stack("shop/dev", { program: making(["a"]) });
        assert.deepEqual((await stack.up()).changes, { create: 2 });
        assert.deepEqual((await stack.up()).changes, { same: 2 });
        await stack.destroy();
        await engine.close();
    }
    assert.equal(calls.lasting, 1);
    assert.ok(calls.ending > 1);
});

test("what a credential callback throws or returns wrongly fails the request and names the callback", async () => {
    const answers = [
        [() => { throw new Error("the login has ended"); }, "the credential callback failed: the login has ended"],
        [() => SECRET, "the credential callback failed: it returned a string, not an object with credentials"],
        [async () => ({ acessKeyId: SECRET }), '"acessKeyId" of the answer of the credential callback'],
        [() => ({ token: SECRET }), "the scheme s3 takes"],
    ];
    for (const [credentials, part] of answers) {
        const engine = memoryEngine(new Memory(), { store: UNREACHABLE, credentials });
        const error = await failureOf(engine.stacks());
        assert.ok(error.message.includes(part) && !error.message.includes(SECRET), error.message);
        await engine.close();
    }
});

test("credentials that cannot be used are refused without showing them", () => {
    for (const [options, part] of [
        [{ store: UNREACHABLE }, "needs credentials"],
        [{ store: UNREACHABLE, credentials: { token: SECRET, password: SECRET } }, "token and password"],
        [{ store: UNREACHABLE, credentials: { ...KEYS, expires: new Date() } }, "of a callback"],
        [{ store: UNREACHABLE, credentials: { acesKeyId: SECRET } }, "acesKeyId"],
        [{ store: UNREACHABLE, credentials: SECRET }, "credentials takes"],
        [{ store: "gs://state", credentials: { serviceAccount: { type: "external_account", x: SECRET } } }, "external_account"],
        [{ store: new MapStore(), credentials: KEYS }, "takes no credentials"],
    ]) {
        assert.throws(
            () => new Engine(options),
            (error) => {
                const shown = `${error.message} ${error.hints} ${error.stack}`;
                return error instanceof InvalidInputError && shown.includes(part) && !shown.includes(SECRET);
            },
            part,
        );
    }
});
