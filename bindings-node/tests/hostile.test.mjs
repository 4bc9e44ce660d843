/** Odd values that code of the host throws or returns fail their own operation, never the process or another stack. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import * as path from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const url = (name) => JSON.stringify(pathToFileURL(path.join(here, name)).href);
const prelude = `
    import * as fs from "node:fs";
    import * as os from "node:os";
    import * as path from "node:path";
    import { Engine } from "stackwright";
    import { memoryEngine, Memory } from ${url("support.mjs")};
    import { oddValues, random, ways } from ${url("hostile_values.mjs")};
    const print = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
    const turns = async (count) => { while (count-- > 0) await new Promise((resolve) => setImmediate(resolve)); };
    /** Returns the result of a promise, or "not settled: <name>" after 20 seconds. */
    const limit = (promise, name) => {
        let timer;
        const late = new Promise((resolve) => { timer = setTimeout(() => resolve("not settled: " + name), 20_000); });
        return Promise.race([promise, late]).finally(() => clearTimeout(timer));
    };
    const outcome = (promise) => Promise.resolve(promise).then(
        (result) => result?.outcome ?? "succeeded",
        (error) => {
            try {
                return typeof error.kind === "string" ? error.kind + ": " + error.message : "untyped: " + error.constructor.name.replace("TypeError", "Error");
            } catch {
                return "unreadable";
            }
        },
    );
`;

/** Runs code as the main module of a separate process; returns its exit status and output. */
function host(code) {
    return new Promise((resolve) => {
        const child = spawn(process.execPath, ["--input-type=module", "--eval", prelude + code], { cwd: here });
        let stdout = "", stderr = "";
        child.stdout.on("data", (data) => (stdout += data));
        child.stderr.on("data", (data) => (stderr += data));
        const timer = setTimeout(() => child.kill("SIGKILL"), 240_000);
        child.on("close", (status) => {
            clearTimeout(timer);
            resolve({ status, stderr, lines: stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line)) });
        });
    });
}

/** By name: a program or a provider with a hostile value, and the pattern of the error. */
const forms = {
    "a getter that throws among inputs": {
        program: `(context) => { context.resource("mem:index:Thing", "bad", { get x() { throw new Error("no x"); } }); }`,
        error: /^program: .*no x/s,
    },
    "a proxy that throws among inputs": {
        program: `(context) => {
            const x = new Proxy({}, { ownKeys() { throw new Error("no keys"); } });
            context.resource("mem:index:Thing", "bad", { x });
        }`,
        error: /^program: .*no keys/s,
    },
    "a getter that throws in a provider's answer": {
        create: `() => ({ id: "x", outputs: { get x() { throw new Error("no output"); } } })`,
        error: /^failed: .*outputs.*no output/s,
    },
    "a proxy that throws in a provider's answer": {
        create: `() => ({ id: "x", outputs: new Proxy({}, { ownKeys() { throw Object.create(null); } }) })`,
        error: /^failed: .*answer to create/s,
    },
    "a then that throws": {
        create: `() => ({ then() { throw new Error("no then"); } })`,
        error: /^failed: .*no then/s,
    },
    "a getter then that throws": {
        create: `() => ({ get then() { throw new Error("no getter"); } })`,
        error: /^failed: .*no getter/s,
    },
    "an object without prototype thrown by a provider": {
        create: `() => { throw Object.create(null); }`,
        error: /^failed: .*without a readable text/s,
    },
    "an object without prototype thrown by a program": {
        program: `() => { throw Object.create(null); }`,
        error: /^program: .*without a readable text/s,
    },
    "an object without prototype thrown by a function of apply()": {
        program: `(context) => {
            context.resource("mem:index:Thing", "good", {}).urn.apply(() => { throw Object.create(null); });
        }`,
        error: /^program: .*without a readable text/s,
    },
};

for (const [name, { program, create, error }] of Object.entries(forms)) {
    test(`${name} fails its own operation alone`, async () => {
        const { status, stderr, lines } = await host(`
            class Bad extends Memory {
                create(request) { return request.name === "bad" ? (${create ?? "() => super.create(request)"})() : super.create(request); }
            }
            const engine = memoryEngine(new Bad());
            const program = ${program ?? `(context) => { context.resource("mem:index:Thing", "bad", {}); }`};
            const bad = await engine.stack("shop/bad", { program });
            const good = await engine.stack("shop/good", {
                program: async (context) => {
                    context.resource("mem:index:Thing", "a", {});
                    await turns(30);
                    context.resource("mem:index:Thing", "b", {});
                },
            });
            print(await Promise.all([outcome(bad.up()), outcome(good.up())]));
            // The engine and the stack accept further operations.
            print(await outcome(bad.up({ program: () => undefined, allowEmpty: true })));
            await engine.close();
        `);
        assert.equal(status, 0, stderr);
        assert.match(lines[0][0], error);
        assert.equal(lines[0][1], "succeeded");
        assert.equal(lines[1], "succeeded");
    });
}

test("an unhandled failure in a provider's call fails that call", async () => {
    const { status, stderr, lines } = await host(`
        const never = new Promise(() => {});
        const bad = {
            rejected: () => { void Promise.reject(new Error("stray rejection")); return never; },
            thrown: () => { setTimeout(() => { throw new Error("stray throw"); }, 1); return never; },
        };
        const made = {};
        for (const [name, create] of Object.entries(bad)) {
            const engine = memoryEngine({ create });
            const stack = await engine.stack("shop/" + name, {
                program: (context) => { context.resource("mem:index:Thing", "a", {}); },
            });
            made[name] = await outcome(stack.up());
            await engine.close();
        }
        print(made);
    `);
    assert.equal(status, 0, stderr);
    assert.match(lines[0].rejected, /^failed: .*stray rejection/s);
    assert.match(lines[0].thrown, /^failed: .*stray throw/s);
});

test("odd values from every callback settle each operation and spare the process and other stacks", async () => {
    const { status, stderr, lines } = await host(FUZZ);
    assert.equal(status, 0, stderr.slice(-4000));
    const { operations, failures, neighbours, missed } = lines.at(-1);
    assert.deepEqual(missed, [], "each callback was called");
    assert.deepEqual(failures, []);
    assert.deepEqual([...new Set(neighbours)], ["succeeded"]);
    assert.ok(operations > 500, `${operations} operations`);
});

const FUZZ = String.raw`
    const { pick } = random(20261122);
    const plan = [];
    const PLACES = {
        program: {}, apply: {}, input: {}, exported: {}, log: {}, invoked: {}, componentOutputs: {}, awaited: {},
        check: {}, diff: {}, create: {}, read: {}, update: {}, delete: {}, invoke: {},
        checkConfig: {}, diffConfig: {}, configure: {}, cancel: {},
        resolver: {}, isInstalled: {}, latestVersion: {}, install: {}, autonamer: {}, journal: {}, onEvent: {},
        encrypt: {}, decrypt: {}, fetch: {}, stackOutputs: {}, stackResourceOutputs: {},
    };
    let armed;
    /** Returns the callback of a place: an odd one while that place is armed, else the usual one. */
    const at = (place, usual) => function (...args) {
        if (armed?.place === place) {
            armed.hits++;
            const value = oddValues[armed.value]();
            return ways[armed.way](value);
        }
        return usual.apply(this, args);
    };
    const provider = new Memory();
    const own = (name) => (request, signal) => provider[name]?.(request, signal);
    const hostile = {};
    for (const name of ["check", "diff", "create", "read", "update", "delete", "invoke", "checkConfig", "diffConfig",
        "configure", "cancel"]) {
        hostile[name] = at(name, own(name));
    }
    const plain = Object.fromEntries(["check", "create", "read", "update", "delete", "invoke"].map((name) => [name, own(name)]));
    const engine = new Engine({
        store: "memory://",
        providers: { mem: hostile, calm: plain },
        resolver: at("resolver", ({ name }) => (name === "found" ? plain : undefined)),
        installer: {
            isInstalled: at("isInstalled", () => false),
            latestVersion: at("latestVersion", () => undefined),
            install: at("install", () => false),
        },
        autonamer: at("autonamer", ({ name }) => name + "-named"),
        secrets: {
            encrypt: at("encrypt", (texts) => texts.map((text) => Buffer.from(text).toString("base64"))),
            decrypt: at("decrypt", (texts) => texts.map((text) => Buffer.from(text, "base64").toString())),
        },
        fetch: at("fetch", () => Buffer.from("content")),
        stackReader: {
            stackOutputs: at("stackOutputs", () => ({ a: 1 })),
            stackResourceOutputs: at("stackResourceOutputs", () => ({})),
        },
    });
    const { Asset, secret } = await import("stackwright");
    const odd = (place, usual) => (armed?.place === place ? (armed.hits++, ways[armed.way](oddValues[armed.value]())) : usual);
    let revision = 0, running;
    const program = async (context) => {
        const thing = context.resource("mem:index:Thing", "a", { revision: revision++, password: secret("hidden-" + revision) });
        context.resource("mem:index:Thing", "asset", { file: new Asset({ uri: "https://example.invalid/x" }) });
        context.resource("found:index:Thing", "found", {});
        if (armed?.place === "input") {
            context.resource("mem:index:Thing", "odd", { value: odd("input", 1), list: [1, { deep: odd("input", 1) }] });
        }
        context.export("applied", thing.id.apply(at("apply", (id) => id)));
        context.export("value", odd("exported", 1));
        context.export("invoked", context.invoke("mem:index:double", { x: 2, ...odd("invoked", {}) }));
        if (armed?.place === "log") context.log.info(odd("log", "fine"));
        const group = context.component("mem:index:Group", "group");
        group.registerOutputs({ value: odd("componentOutputs", 1) });
        context.export("resources", context.invoke("pulumi:pulumi:readStackResourceOutputs", { stackName: "shop/other" }));
        const other = context.read("pulumi:pulumi:StackReference", "other", "shop/other", { name: "shop/other" });
        context.export("other", other.get("outputs"));
        if (armed?.place === "awaited") await odd("awaited", 1);
        if (armed?.place === "cancel") {
            await thing;
            running.cancel();
            await new Promise(() => {});
        }
        return at("program", () => undefined)();
    };
    const calm = await engine.stack("shop/calm", {
        program: async (context) => {
            for (let n = 0; n < 3; n++) {
                context.resource("calm:index:Thing", "t" + n, { revision });
                await turns(1);
            }
        },
    });
    const failures = [], neighbours = [];
    let operations = 0, hits = 0;
    const missed = new Set(Object.keys(PLACES));
    const names = Object.keys(oddValues);
    const kinds = Object.keys(ways);
    for (const place of Object.keys(PLACES)) {
        for (const value of names) {
            for (const way of [pick(kinds), pick(kinds)]) {
                const name = [place, way, value].join(" ");
                if (process.env.FUZZ_TRACE) process.stderr.write(name + "\n");
                // A new stack for each case: an undecryptable secret stays in the state.
                const settings = { program, journal: at("journal", () => undefined), create: true };
                let stack = await engine.stack("shop/s" + operations, settings);
                armed = { place, value, way, hits: 0 };
                const onEvent = at("onEvent", () => undefined);
                running = undefined;
                try {
                    if (place === "isInstalled" || place === "latestVersion" || place === "install") {
                        running = stack.up({ onEvent, program: (context) => void context.resource("missing:index:Thing", "m", {}) });
                    } else if (["delete", "read", "update", "diff", "diffConfig", "decrypt"].includes(place)) {
                        const before = armed;
                        armed = undefined;
                        await limit(outcome(stack.up()), "before " + name);
                        // New configuration changes the default provider, and a new handle reads the state again.
                        stack = await engine.stack("shop/s" + operations, { ...settings, config: { "mem:region": "b" } });
                        armed = before;
                        running = place === "delete" ? stack.destroy({ onEvent })
                            : place === "read" ? stack.refresh({ onEvent }) : stack.up({ onEvent });
                    } else {
                        running = stack.up({ onEvent });
                    }
                } catch (error) {
                    running = Promise.reject(error);
                }
                const both = [limit(outcome(running), name)];
                if (operations % 8 === 0 && !["encrypt", "decrypt", "resolver", "autonamer"].includes(place)) {
                    both.push(limit(outcome(calm.up()), "calm beside " + name));
                }
                const [ended, neighbour] = await Promise.all(both);
                if (neighbour !== undefined) neighbours.push(neighbour === "succeeded" ? neighbour : name + ": " + neighbour);
                // An error that an event listener throws is returned unchanged.
                const isOwn = place === "onEvent" && ["untyped: Error", "unreadable"].includes(ended);
                if (!isOwn && !(ended === "succeeded" || /^(?!untyped)[a-z_]+: /.test(ended))) {
                    failures.push(name + " -> " + ended);
                }
                if (/^internal: /.test(ended)) failures.push(name + " -> " + ended);
                hits += armed.hits;
                if (armed.hits > 0) missed.delete(place);
                armed = undefined;
                operations++;
            }
        }
    }
    await limit(outcome(engine.close()), "close");
    print({ operations, hits, missed: [...missed], failures: failures.slice(0, 40), neighbours });
`;
