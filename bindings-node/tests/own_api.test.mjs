/** The native API in Node: programs, resources, providers and deployments, without an SDK. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { inspect } from "node:util";

import {
    CancelledError,
    FailedError,
    InitFailedError,
    ProgramError,
    ProviderError,
    ProviderStatus,
    secret,
    Secret,
    Unknown,
    unwrap,
    version,
} from "stackwright";

import { fileOf } from "./package.mjs";
import { eventsOf, failureOf, folder, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";

/** Returns the resource records of a stack's deployment. */
async function records(stack) {
    const { deployment } = await stack.exportDeployment({ showSecrets: true });
    return deployment.resources ?? [];
}

test("a stack runs through preview, create, no change, update, refresh, destroy and remove", async () => {
    const provider = new Memory();
    const engine = memoryEngine(provider);
    let content = "one";
    const stack = await engine.stack("shop/dev", {
        program: (context) => {
            const first = context.resource(THING, "first", { content });
            context.resource(THING, "second", { content: first.get("size") });
            context.export("size", first.get("size"));
        },
    });
    assert.equal(stack.name, "shop/dev");
    const preview = await stack.preview();
    assert.equal(preview.changes.create, 3);
    assert.equal(provider.things.size, 0, "a preview makes nothing");
    const created = await stack.up();
    assert.equal(created.changes.create, 3);
    assert.equal(created.outputs.size.value, 3);
    assert.match(String(created), /first/);
    assert.deepEqual(unwrap(await stack.outputs()), { size: 3 });
    assert.equal((await stack.up()).changes.same, 3);
    content = "three";
    const updated = await stack.up();
    assert.equal(updated.changes.update, 2, "the second takes the first's new size");
    assert.equal((await stack.outputs()).size.value, 5);
    await stack.refresh();
    const destroyed = await stack.destroy();
    assert.ok(destroyed.changes.delete >= 2);
    assert.equal(provider.things.size, 0);
    assert.ok((await stack.history()).length >= 4);
    await stack.remove();
    assert.deepEqual(await engine.stacks(), []);
});

test("values have dependencies by property", async () => {
    const stack = await memoryEngine().stack("shop/dev", {
        program: (context) => {
            const a = context.resource(THING, "a", { content: "x" });
            const b = context.resource(THING, "b", { content: "y" });
            context.resource(THING, "c", {
                content: a.get("size").apply((size) => size + 1),
                list: [{ deep: b.id }],
                plain: 1,
            });
        },
    });
    await stack.up();
    const byName = Object.fromEntries((await records(stack)).map((record) => [record.urn.split("::").at(-1), record]));
    assert.equal(byName.c.inputs.content, 2);
    assert.equal(byName.c.inputs.list[0].deep, byName.b.id);
    assert.deepEqual(byName.c.propertyDependencies.content, [byName.a.urn]);
    assert.deepEqual(byName.c.propertyDependencies.list, [byName.b.urn]);
    assert.deepEqual(byName.c.propertyDependencies.plain ?? [], []);
    assert.deepEqual([...byName.c.dependencies].sort(), [byName.a.urn, byName.b.urn].sort());
});

test("the result of apply depends on all that its function returns or awaits", async () => {
    const made = {
        nested: (a, b) => a.get("content").apply((x) => b.get("content").apply((y) => x + y)),
        returned: (a, b) => a.get("content").apply(() => b.get("content")),
        asynchronous: (a, b) => a.get("content").apply(async () => b.get("content")),
        awaited: (a, b) => a.get("content").apply(async (x) => x + (await b.get("content"))),
        inside: (a, b) => a.get("content").apply((x) => ({ list: [x, b.get("content")] })),
        resource: (a, b) => a.get("content").apply(async (x) => x + (await b).outputs.content),
        whole: (a, b) => a.get("content").apply(() => b).get("urn"),
        deep: (a, b) => a.get("content").apply(async (x) => {
            await new Promise((resolve) => setImmediate(resolve));
            return (await Promise.all([b.get("content").apply((y) => x + y)]))[0];
        }),
    };
    const stack = await memoryEngine().stack("shop/dev", {
        program: (context) => {
            const a = context.resource(THING, "a", { content: "x" });
            const b = context.resource(THING, "b", { content: "y" });
            for (const [name, make] of Object.entries(made)) {
                context.resource(THING, name, { content: make(a, b) });
            }
            const parent = context.component("mem:index:Group", "group");
            const inner = a.get("content").apply(async (x) => {
                // A resource that the function registers is no dependency of its result.
                await context.resource(THING, "below", { content: x }, { parent }).get("size").apply(() => 1);
                return x;
            });
            context.resource(THING, "above", { content: inner });
        },
    });
    await stack.up();
    const byName = Object.fromEntries((await records(stack)).map((record) => [record.urn.split("::").at(-1), record]));
    const both = [byName.a.urn, byName.b.urn].sort();
    for (const name of Object.keys(made)) {
        assert.deepEqual([...byName[name].propertyDependencies.content].sort(), both, name);
        assert.deepEqual([...byName[name].dependencies].sort(), both, name);
    }
    assert.equal(byName.deep.inputs.content, "xy");
    assert.deepEqual([...byName.above.dependencies].sort(), [byName.a.urn, byName.below.urn].sort());
});

test("the result of apply is secret after an awaited secret, and unknown after an unknown", async () => {
    let preview;
    const stack = await memoryEngine().stack("shop/dev", {
        config: { password: secret("hunter2") },
        program: async (context) => {
            const a = context.resource(THING, "a", { content: "x" });
            const b = context.resource(THING, "b", { content: context.config.get("password") });
            const known = a.get("content");
            context.export("returned", known.apply((x) => b.get("content").apply((y) => x + y)));
            context.export("awaited", known.apply(async (x) => x + (await b.get("content")).value));
            preview = await known.apply(async (x) => `${x}${await a.get("size")}`);
            const nested = await known.apply(() => a.get("size").apply((size) => size + 1));
            if (context.dryRun) {
                assert.ok(preview instanceof Unknown);
                assert.ok(nested instanceof Unknown);
            } else {
                assert.deepEqual([preview, nested], ["x1", 2]);
            }
        },
    });
    await stack.preview();
    await stack.up();
    const { returned, awaited } = await stack.outputs();
    assert.ok(returned.secret && awaited.secret);
    assert.deepEqual([returned.value, awaited.value], ["xhunter2", "xhunter2"]);
});

test("a failure of an output that apply's function returns rejects the result", async () => {
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: async (context) => {
            const known = context.resource(THING, "a", { content: "x" }).get("content");
            const failing = () => known.apply(() => { throw new Error("no"); });
            assert.equal((await failureOf(Promise.resolve(known.apply(failing)))).message, "no");
            assert.equal((await failureOf(Promise.resolve(known.apply(async () => failing())))).message, "no");
        },
    });
    assert.equal((await stack.up()).changes.create, 2);
});

test("a dependency on a component is a dependency on its children", async () => {
    const stack = await memoryEngine().stack("shop/dev", {
        program: async (context) => {
            const group = context.component("mem:index:Group", "group");
            const inner = context.resource(THING, "inner", { content: "x" }, { parent: group });
            group.registerOutputs({ size: inner.get("size") });
            context.resource(THING, "after", {}, { dependsOn: group, protect: false });
        },
    });
    await stack.up();
    const all = await records(stack);
    const named = (name) => all.find((record) => record.urn.endsWith(`::${name}`));
    assert.equal(named("inner").parent, named("group").urn);
    assert.match(named("inner").urn, /mem:index:Group\$mem:index:Thing/);
    assert.deepEqual(named("group").outputs, { size: 1 });
    assert.ok(named("after").dependencies.includes(named("inner").urn));
});

test("unknowns of a preview stay unknown through apply, and secrets stay secret", async () => {
    const seen = [];
    const stack = await memoryEngine().stack("shop/dev", {
        config: { password: secret("hunter2"), plain: "p", "other:n": 3, list: [1, { a: true }] },
        program: async (context) => {
            const { config } = context;
            seen.push(context.dryRun, config.get("plain"), config.get("other:n"), config.get("list"));
            const password = context.config.get("password");
            assert.ok(password instanceof Secret);
            const a = context.resource(THING, "a", { content: password });
            const size = await a.get("size").apply((size) => `size ${size}`);
            seen.push(size instanceof Unknown ? "unknown" : size);
            context.export("secret", a.get("content").apply((text) => text.toUpperCase()));
        },
    });
    await stack.preview();
    await stack.up();
    assert.deepEqual(seen, [
        true, "p", "3", '[1,{"a":true}]', "unknown",
        false, "p", "3", '[1,{"a":true}]', "size 7",
    ]);
    const { secret: exported } = await stack.outputs();
    assert.ok(exported.secret);
    assert.equal(exported.value, "HUNTER2");
    assert.ok(!JSON.stringify(await stack.exportDeployment()).includes("hunter2"), "a state has no secret in the clear");
    assert.ok(JSON.stringify(await stack.exportDeployment({ showSecrets: true })).includes("hunter2"));
});

test("functions are called, and their results are usable", async () => {
    const stack = await memoryEngine().stack("shop/dev", {
        program: async (context) => {
            const a = context.resource(THING, "a", { content: "abc" });
            const doubled = context.invoke("mem:index:double", { x: a.get("size") });
            context.export("doubled", doubled.get("doubled"));
        },
    });
    await stack.preview();
    const { outputs } = await stack.up();
    assert.deepEqual(unwrap(outputs), { doubled: 6 });
});

test("a preview does not invoke a function whose arguments depend on planned resources", async () => {
    const provider = new Memory();
    const called = [];
    provider.invoke = ({ arguments: given, preview }) => (called.push([given, preview]), { result: { answer: 1 } });
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: (context) => {
            const a = context.resource(THING, "a", { content: "abc" });
            for (const [name, q] of Object.entries({
                mirrored: a.get("content"),
                unknown: a.id,
                made: a.get("content").apply(() => 1),
                partly: (async () => (await a.outputs)["size"])(),
                whole: a,
            })) {
                // The dependencies of a promise of the program are unknown, so they are declared.
                const after = name === "partly" ? { dependsOn: a } : {};
                context.export(name, context.invoke("mem:index:ask", { q }, after).get("answer"));
            }
        },
    });
    const { outputs } = await stack.preview();
    assert.deepEqual(called, []);
    assert.ok(Object.values(outputs).length === 5 && Object.values(outputs).every(({ value }) => value instanceof Unknown));
    await stack.up();
    assert.equal(called.length, 5);
    called.length = 0;
    const { outputs: again } = await stack.preview();
    assert.deepEqual(unwrap(again), { mirrored: 1, unknown: 1, made: 1, partly: 1, whole: 1 });
    assert.ok(called.length === 5 && called.every(([, preview]) => preview));
});

test("a function that returns nothing has a known result, also in a preview", async () => {
    const provider = new Memory();
    provider.invoke = () => ({ result: {} });
    const seen = [];
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: (context) => {
            const a = context.resource(THING, "a", { content: "abc" });
            context.invoke("mem:index:ask", {}, { dependsOn: a }).apply((result) => seen.push([context.dryRun, result]));
        },
    });
    await stack.preview();
    assert.deepEqual(seen, [], "the resource is only planned");
    await stack.up();
    await stack.preview();
    assert.deepEqual(seen, [[false, {}], [true, {}]]);
});

test("existing resources are read", async () => {
    const provider = new Memory();
    provider.things.set("old-1", { content: "found" });
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: async (context) => {
            const old = context.read(THING, "old", "old-1");
            context.export("content", old.get("content"));
        },
    });
    assert.equal((await stack.up()).outputs.content.value, "found");
});

test("an awaited resource has its URN, id and outputs", async () => {
    let registered;
    const stack = await memoryEngine().stack("shop/dev", {
        program: async (context) => {
            registered = await context.resource(THING, "a", { content: "abc" });
        },
    });
    await stack.up();
    assert.equal(registered.urn, "urn:pulumi:dev::shop::mem:index:Thing::a");
    assert.equal(registered.id, "a-1");
    assert.equal(registered.outputs.size, 3);
    assert.equal(registered.failed, false);
});

test("a context registers nothing after its run, and nothing in another run", async () => {
    const provider = new Memory();
    const engine = memoryEngine(provider);
    let kept;
    const first = await engine.stack("shop/one", {
        program: (context) => {
            kept = context;
            context.resource(THING, "a");
        },
    });
    await first.up();
    const second = await engine.stack("shop/two", {
        program: async (context) => {
            context.resource(THING, "b");
            await assert.rejects(async () => kept.resource(THING, "lost"), { kind: "cancelled" });
        },
    });
    assert.deepEqual((await second.up()).changes, { create: 2 });
    await assert.rejects(async () => kept.resource(THING, "lost"), { kind: "cancelled" });
    assert.equal(provider.things.size, 2);
});

test("a program's error ends the operation with its message and its stack trace", async () => {
    const stack = await memoryEngine().stack("shop/dev", {
        program: async () => {
            throw new TypeError("boom");
        },
    });
    const error = await failureOf(stack.up());
    assert.ok(error instanceof ProgramError);
    assert.match(error.message, /boom/);
    assert.match(error.programStack, /own_api\.test\.mjs/);
    assert.equal(error.result.outcome, "failed");
    assert.ok(error.result.diagnostics.some(({ severity, message }) => severity === "error" && /boom/.test(message)));
});

test("a resource with wrong inputs fails the program, unless the program handles the error", async () => {
    const engine = memoryEngine();
    const stack = await engine.stack("shop/dev", {
        program: (context) => {
            context.resource(THING, "a", { f: () => 1 });
        },
    });
    assert.match((await failureOf(stack.up())).message, /a: f: a function is not a value/);
    const dated = await failureOf(stack.up({ program: (context) => context.export("when", new Date()) }));
    assert.match(dated.message, /when: a date is not a value/);
    assert.doesNotMatch(dated.message, /"code"/, "no JSON of the native error");
    const careful = await engine.stack("shop/careful", {
        program: async (context) => {
            await assert.rejects(async () => context.resource("no-type", "a"), /not a valid type token/);
        },
    });
    await careful.up();
});

test("a provider's error keeps its message, and a check failure names the property", async () => {
    const provider = new Memory({
        create: ({ name }) => {
            if (name === "no") {
                throw new ProviderError("quota is used up", ProviderStatus.resourceExhausted);
            }
        },
    });
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: (context) => {
            context.resource(THING, "no", {});
        },
    });
    const error = await failureOf(stack.up());
    assert.ok(error instanceof FailedError);
    assert.ok(error.result.diagnostics.some(({ message }) => message.includes("quota is used up")));
    const checked = await failureOf(
        stack.up({
            program: (context) => {
                context.resource(THING, "bad", { bad: true });
            },
        }),
    );
    assert.ok(checked.result.diagnostics.some(({ message }) => message.includes("must not be set")));
});

test("a resource whose initialization failed is kept", async () => {
    const provider = new Memory({
        create: ({ name }) => {
            throw new InitFailedError({ id: `${name}-half`, outputs: { half: true }, reasons: ["not ready"] });
        },
    });
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: (context) => {
            context.resource(THING, "a", {});
        },
    });
    await failureOf(stack.up());
    const kept = (await records(stack)).find((record) => record.type === THING);
    assert.equal(kept.id, "a-half");
    assert.deepEqual(kept.initErrors, ["not ready"]);
});

test("a malformed answer is an error of the provider and names the path", async () => {
    const provider = { create: () => ({ id: "x", outputs: { f: () => 1 } }), delete: () => undefined };
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: (context) => {
            context.resource(THING, "a", {});
        },
    });
    const error = await failureOf(stack.up());
    assert.ok(
        error.result.diagnostics.some(({ message }) => /answer to create.*outputs\.f: a function/.test(message)),
        JSON.stringify(error.result.diagnostics),
    );
    const kept = (await records(stack)).find((record) => record.type === THING);
    assert.equal(kept.id, "x");
    assert.equal(kept.initErrors.length, 1);
});

test("a partially initialized resource keeps its id when its outputs are malformed", async () => {
    const failures = [{ f: () => 1 }, { n: 1 }];
    for (const outputs of failures) {
        const create = () => {
            throw new InitFailedError({ id: "half", outputs, reasons: ["not ready"], refreshBeforeUpdate: true });
        };
        const stack = await memoryEngine({ create, delete: () => undefined }).stack("shop/dev", {
            program: (context) => void context.resource(THING, "a", {}),
        });
        await failureOf(stack.up());
        const kept = (await records(stack)).find((record) => record.type === THING);
        assert.equal(kept.id, "half");
        assert.ok(kept.initErrors.length > 0);
        assert.equal(kept.refreshBeforeUpdate ?? false, outputs === failures[1]);
    }
});

test("the error of a create that returns nothing names the expected answer", async () => {
    const provider = { create: () => undefined, delete: () => undefined };
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: (context) => {
            context.resource(THING, "a", {});
        },
    });
    assert.match(
        (await failureOf(stack.up())).message,
        /answer to create cannot be read: it returned undefined, expected an object with an id/,
    );
    // The effect of the create is unknown, so it stays a pending operation.
    const { deployment } = await stack.exportDeployment();
    assert.deepEqual(deployment.pending_operations?.map((pending) => pending.type), ["creating"]);
});

test("events come in order, typed, and end with the cancel event", async () => {
    const stack = await memoryEngine().stack("shop/dev", {
        program: (context) => {
            context.resource(THING, "a", {});
            context.log.warning("look here");
        },
    });
    const received = [];
    const operation = stack.up({ onEvent: (event) => received.push(event) });
    await operation;
    assert.deepEqual(received.map(({ sequence }) => sequence), received.map((_, index) => index));
    assert.ok("cancelEvent" in received.at(-1));
    assert.ok(received.some((event) => event.diagnosticEvent?.message.includes("look here")));
    assert.ok(received.some((event) => event.resourcePreEvent?.metadata.op === "create"));
});

test("a slow listener delays no operation and receives all events", async () => {
    const count = 300;
    const stack = await memoryEngine().stack("shop/dev", {
        program: (context) => {
            for (let index = 0; index < count; index++) {
                context.resource(THING, `t${index}`, {});
            }
        },
    });
    const operation = stack.up();
    const events = operation.events();
    const first = await events.next();
    assert.equal(first.value.sequence, 0);
    await operation;
    let seen = 1;
    for await (const event of events) {
        assert.equal(event.sequence, seen++);
    }
    assert.ok(seen > 2 * count);
    assert.deepEqual((await eventsOf(operation)).map((event) => Object.keys(event).at(-1)), ["cancelEvent"]);
});

test("an aborted signal cancels gracefully, aborts the program's signal, and the next operation succeeds", async () => {
    const controller = new AbortController();
    let aborted = false;
    const provider = new Memory({
        create: async ({ name }) => {
            if (name === "first") {
                controller.abort();
            }
        },
    });
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: async (context) => {
            context.signal.addEventListener("abort", () => (aborted = true));
            await context.resource(THING, "first", {});
            await context.resource(THING, "second", {});
        },
    });
    const error = await failureOf(stack.up({ signal: controller.signal }));
    assert.ok(error instanceof CancelledError, `${error.kind}: ${error.message}`);
    assert.notEqual(error.result.outcome, "succeeded");
    assert.ok(aborted, "the program's signal was aborted");
    const names = (await records(stack)).map(({ urn }) => urn.split("::").at(-1));
    assert.ok(names.includes("first"), "a created resource is recorded");
    assert.ok(!names.includes("second"));
    assert.deepEqual(await error.result.deployment(), await stack.exportDeployment());
    await stack.up();
});

test("a second cancellation abandons running provider calls and aborts their signals", async () => {
    let operation;
    const given = new Promise((resolve) => {
        const provider = new Memory({
            create: (_request, signal) =>
                new Promise(() => {
                    signal.addEventListener("abort", () => resolve("given up"));
                    operation.cancel();
                    setImmediate(() => operation.cancel());
                }),
        });
        memoryEngine(provider)
            .stack("shop/dev", { program: (context) => void context.resource(THING, "stuck", {}) })
            .then((stack) => {
                operation = stack.up();
                operation.catch(() => undefined);
            }, resolve);
    });
    assert.equal(await given, "given up");
    assert.ok((await failureOf(operation)) instanceof CancelledError);
});

test("two operations on one stack at once: the second is a conflict", async (t) => {
    const store = `file://${folder(t)}`;
    let release;
    const held = new Promise((resolve) => (release = resolve));
    let started;
    const running = new Promise((resolve) => (started = resolve));
    const provider = new Memory({
        create: () => {
            started();
            return held;
        },
    });
    const program = (context) => void context.resource(THING, "a", {});
    const first = await memoryEngine(provider, { store }).stack("shop/dev", { program });
    const second = await memoryEngine(provider, { store }).stack("shop/dev", { program });
    const operation = first.up();
    await running;
    const error = await failureOf(second.up());
    assert.equal(error.kind, "conflict");
    release();
    await operation;
    await second.up();
});

test("an engine reads stacks of another engine with the same passphrase", async (t) => {
    const store = `file://${folder(t)}`;
    const provider = new Memory();
    const program = (context) => {
        context.export("s", secret("hunter2"));
        context.resource(THING, "a", { content: secret("x") });
    };
    const written = await memoryEngine(provider, { store }).stack("shop/dev", { program });
    await written.up();
    const read = await memoryEngine(provider, { store }).stack("shop/dev", { create: false, program });
    const [hidden, shown] = [await read.outputs(), await read.outputs({ showSecrets: true })];
    assert.deepEqual([hidden.s.value, hidden.s.secret, shown.s.value], ["hunter2", true, "hunter2"]);
    assert.equal(JSON.stringify(hidden), '{"s":{"value":"[secret]","secret":true}}');
    assert.equal(JSON.stringify(shown), '{"s":{"value":"hunter2","secret":true}}');
    assert.equal(inspect(hidden.s), "OutputValue { value: [secret], secret: true }");
    assert.equal(inspect(shown.s), "OutputValue { value: 'hunter2', secret: true }");
    assert.equal((await read.up()).changes.same, 2);
    const document = await read.exportDeployment();
    const copy = await memoryEngine(provider, { store }).stack("shop/copy");
    const wrong = memoryEngine(provider, { store, passphrase: "other" });
    const error = await failureOf(wrong.stack("shop/dev"));
    assert.equal(error.kind, "decrypt");
    assert.match(error.message, /stack 'shop\/dev': incorrect passphrase/);
    assert.ok(document.deployment.resources);
    assert.equal(copy.name, "shop/copy");
});

test("a stack overrides passphrase and encryption, and supplies passphrases of referenced stacks", async () => {
    const engine = memoryEngine(new Memory());
    const exporting = (context) => context.export("s", secret("hunter2"));
    const base = await engine.stack("shop/base", { program: exporting, passphrase: "of the base" });
    await base.up();
    assert.equal((await failureOf(engine.stack("shop/base"))).kind, "decrypt");
    assert.equal((await failureOf(engine.stack("shop/base", { passphrase: "x" }))).kind, "decrypt");
    const referring = (context) => {
        const found = context.read("pulumi:pulumi:StackReference", "base", "shop/base", { name: "shop/base" });
        context.export("found", found.get("outputs"));
    };
    const referencePassphrases = { "shop/base": "of the base" };
    const stack = await engine.stack("shop/dev", { program: referring, referencePassphrases });
    assert.equal((await stack.up()).outputs.found.value.s, "hunter2");
    const plain = await engine.stack("shop/dev", { program: referring });
    assert.match((await failureOf(plain.up())).message, /stack 'shop\/base': incorrect passphrase/);
    const reversed = (texts) => texts.map((text) => [...text].reverse().join(""));
    const secrets = { kind: "reversed", encrypt: reversed, decrypt: reversed };
    const own = await engine.stack("shop/own", { program: exporting, secrets });
    await own.up();
    assert.equal((await own.exportDeployment()).deployment.secrets_providers.type, "reversed");
    await assert.rejects(engine.stack("a/b", { passphrase: "" }), /passphrase of a stack is empty/);
    await assert.rejects(engine.stack("a/b", { referencePassphrases: { "a/c": 1 } }), /referencePassphrases.a\/c takes a string/);
});

test("encrypted configuration of a file is decrypted with its salt before a state exists", async () => {
    // A configuration file of the reference engine.
    const encryptionSalt = "v1:T9FaSItA8xQ=:v1:Kr1yt5YlRPcWOb8A:cKkXdfcl/fR2vHkjxnls0SsHa1kjNw==";
    const token = { secure: "v1:kJRS4pwT81fxH2Qd:P+0Qu+OtRhM0ap/gfhSeE5kf4mEzW9eyqGE=" };
    const config = { token, keys: secret({ a: [secret("b"), 1] }) };
    const program = (context) => context.export("keys", context.config.get("keys"));
    const engine = memoryEngine(new Memory(), { passphrase: "correct horse" });
    const stack = await engine.stack("fixtures/dev", { program, config, encryptionSalt });
    await stack.preview();
    assert.equal((await stack.up()).outputs.keys.value, '{"a":["b",1]}');
    const { secrets_providers: secrets } = (await stack.exportDeployment()).deployment;
    assert.deepEqual(secrets.state, { salt: encryptionSalt });
    const wrong = await memoryEngine(new Memory(), { passphrase: "x" }).stack("fixtures/dev", { program, config, encryptionSalt });
    const error = await failureOf(wrong.preview());
    assert.equal(error.kind, "decrypt");
    assert.match(error.message, /fixtures:token.*incorrect passphrase/);
    await assert.rejects(engine.stack("a/b", { encryptionSalt: 5 }), /encryptionSalt takes a string, not a number/);
});

test("a deployment is exported and imported", async () => {
    const engine = memoryEngine();
    const program = (context) => void context.resource(THING, "a", { content: "x" });
    const stack = await engine.stack("shop/dev", { program });
    await stack.up();
    const document = await stack.exportDeployment();
    await stack.importDeployment(JSON.stringify({ version: 3, deployment: { manifest: {}, resources: [] } }));
    assert.deepEqual(await records(stack), []);
    await stack.importDeployment(document);
    assert.equal((await records(stack)).length, 3);
    assert.equal((await failureOf(stack.importDeployment("nonsense"))).kind, "state");
});

test("a resolver decides which provider serves a package", async () => {
    const asked = [];
    const provider = new Memory();
    const engine = memoryEngine(provider, {
        providers: {},
        resolver: async (request) => {
            asked.push(`${request.kind} ${request.name}`);
            if (request.name === "mem") {
                return provider;
            }
            throw new Error(`no ${request.name} here, try the shop next door`);
        },
    });
    const stack = await engine.stack("shop/dev", { program: (context) => void context.resource(THING, "a", {}) });
    await stack.up();
    assert.ok(asked.includes("resource mem"));
    const error = await failureOf(
        stack.up({ program: (context) => void context.resource("absent:index:Thing", "b", {}) }),
    );
    assert.ok(
        error.result.diagnostics.some(({ message }) => message.includes("try the shop next door")) ||
            error.message.includes("try the shop next door"),
    );
});

test("a result has the deployment that its operation left", async () => {
    const engine = memoryEngine(new Memory());
    const program = (context) => {
        context.resource(THING, "a", { content: "one" });
        context.export("password", secret("hunter2"));
    };
    const stack = await engine.stack("shop/dev", { program });
    assert.equal(await (await stack.preview()).deployment(), undefined);
    const result = await stack.up();
    const deployment = await result.deployment();
    assert.deepEqual(deployment, await stack.exportDeployment());
    assert.ok(!JSON.stringify(deployment).includes("hunter2"));
    const destroyed = await (await stack.destroy()).deployment();
    assert.equal(destroyed.deployment.resources, undefined);
    await stack.importDeployment(deployment);
    assert.deepEqual(await (await stack.refresh()).deployment(), await stack.exportDeployment());
    const refused = (await failureOf(stack.up({ snippets: [{}] }))).result;
    assert.equal(await refused.deployment(), undefined);
});

test("an update is constrained by its preview or by a saved plan", async () => {
    const provider = new Memory();
    const engine = memoryEngine(provider);
    let content = "one";
    const program = (context) => void context.resource(THING, "a", { content });
    const stack = await engine.stack("shop/dev", { program });
    const preview = await stack.preview({ generatePlan: true });
    const urn = preview.steps.find((step) => step.type === THING).urn;
    assert.deepEqual(preview.plan.resourcePlans[urn].steps, ["create"]);
    content = "other";
    await assert.rejects(stack.up(preview), /`content` was to become one and is to be other/);
    await assert.rejects(stack.up(JSON.stringify(preview.plan)), FailedError);
    assert.equal(provider.things.size, 0);
    content = "one";
    const updated = await stack.up(JSON.parse(JSON.stringify(preview.plan)), { message: "as planned" });
    assert.equal(updated.changes.create, 1);
    assert.equal(updated.plan, undefined);
    assert.throws(() => stack.up({ plan: updated }), /the result has no plan/);
    const kept = await stack.preview();
    assert.equal(kept.plan, undefined, "a plan document is only written when requested");
    content = "unplanned";
    assert.throws(() => stack.up(kept.plan), /the plan is undefined; .*generatePlan: true/);
    assert.throws(() => stack.up(null), /the plan is undefined; .*generatePlan: true/);
    content = "one";
    assert.equal((await stack.up({ plan: kept })).changes.same, 2, "a refused update changes nothing");
    const other = await engine.stack("shop/other", { program });
    await assert.rejects(other.up({ plan: kept }), /the plan is of another stack than shop\/other/);
    const none = await stack.preview({ generatePlan: false });
    assert.throws(() => stack.up({ plan: none }), /the result has no plan/);
});

test("a call of a provider that does not return in time ends with an error that names the provider", { timeout: 60_000 }, async () => {
    let aborted = false;
    const hooks = {
        create: (_request, signal) =>
            new Promise(() => signal.addEventListener("abort", () => (aborted = true))),
    };
    // Longer than what other calls take on a machine with other work.
    const engine = memoryEngine(new Memory(hooks), { plugins: { callTimeouts: { mem: 2 } } });
    const stack = await engine.stack("shop/dev", { program: (context) => void context.resource(THING, "first") });
    const error = await failureOf(stack.up());
    assert.ok(error instanceof FailedError);
    const urn = `urn:pulumi:dev::shop::${THING}::first`;
    const text = `provider \`mem\` did not return from create of ${urn} within 2 s`;
    assert.ok(error.message.includes(text), error.message);
    const { deployment } = await stack.exportDeployment();
    assert.deepEqual(deployment.pending_operations.map(({ resource }) => resource.urn), [urn]);
    assert.ok(aborted, "the call is aborted");
});

test("the version is that of the command", () => {
    const document = JSON.parse(execFileSync(process.execPath, [fileOf("bin.js"), "version", "--json"], { encoding: "utf8" }));
    assert.equal(version, document.stackwright);
});
