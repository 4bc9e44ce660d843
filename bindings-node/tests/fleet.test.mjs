/** Operations on a set of stacks: order, waits, failures, events, lines, cancellation. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { CancelledError, display, FailedError, FleetOperation, FleetResult, InvalidInputError, Result } from "stackwright";

import { folder, Memory, memoryEngine } from "./support.mjs";

/** A program with one thing, named after its stack, that reads other stacks with references. */
const program = (name, ...reads) => (context) => {
    const found = {};
    for (const stack of reads) {
        const read = context.read("pulumi:pulumi:StackReference", stack.replace("/", "-"), stack, { name: stack });
        found[stack] = read.get("outputs");
    }
    const thing = context.resource("mem:index:Thing", name, { content: "four", found });
    context.export("size", thing.get("size"));
    context.export("found", found);
};

const opened = (engine, name, ...reads) => engine.stack(`shop/${name}`, { program: program(name, ...reads) });

const creations = (memory) => memory.calls.filter((call) => call.startsWith("create")).splice(0);

test("a program waits for an unfinished stack, and a destroy goes in reverse", async () => {
    const memory = new Memory();
    const engine = memoryEngine(memory);
    const stacks = [await opened(engine, "c", "shop/b"), await opened(engine, "b", "shop/a"), await opened(engine, "a")];
    for (const options of [{ maxStacks: 1 }, {}]) {
        const result = await engine.upAll(stacks, options);
        assert.ok(result instanceof FleetResult);
        assert.equal(result.outcome, "succeeded");
        assert.deepEqual(Object.keys(result.stacks), ["shop/c", "shop/b", "shop/a"]);
        assert.deepEqual(result.stacks["shop/b"].result.outputs.found.value, { "shop/a": { size: 4, found: {} } });
    }
    assert.deepEqual(creations(memory), ["create a", "create b", "create c"]);
    assert.equal((await engine.refreshAll(stacks)).outcome, "succeeded");
    const result = await engine.destroyAll(stacks);
    const deletions = memory.calls.filter((call) => call.startsWith("delete"));
    assert.deepEqual(deletions, ["delete c", "delete b", "delete a"]);
    assert.equal(result.changes.delete, 6);
    assert.match(`${result}`, /^shop\/a: succeeded$/m);
});

test("a preview of new stacks reads what is computed", async () => {
    const memory = new Memory();
    const engine = memoryEngine(memory);
    const result = await engine.previewAll([await opened(engine, "b", "shop/a"), await opened(engine, "a")]);
    assert.equal(result.changes.create, 4);
    assert.ok(result.stacks["shop/b"].result.isPreview);
    assert.deepEqual((await engine.stacks()).map(({ lastUpdate }) => lastUpdate), [null, null]);
});

test("a failure skips what depends on it, and rejects with the result and its cause", async () => {
    const thrown = new Error("it is broken");
    const memory = new Memory({
        create: ({ name }) => {
            if (name === "broken") {
                throw thrown;
            }
        },
    });
    const engine = memoryEngine(memory);
    const [broken, other, dependent] = await Promise.all(["broken", "other", "dependent"].map((name) => opened(engine, name)));
    const failed = engine.upAll([{ stack: dependent, dependsOn: [broken] }, broken, { stack: other, message: "a note" }]);
    const error = await failed.then(() => assert.fail("it has failed"), (reason) => reason);
    assert.ok(error instanceof FailedError);
    assert.match(error.message, /^1 of 3 stacks failed, 1 did not begin; shop\/broken: /);
    assert.ok(error.cause instanceof FailedError);
    assert.equal(error.cause.cause, thrown);
    const result = error.fleetResult;
    assert.deepEqual(result.skipped, ["shop/dependent"]);
    const skipped = result.stacks["shop/dependent"];
    assert.ok(skipped.error instanceof CancelledError && skipped.result instanceof Result);
    assert.equal(skipped.error.message, "the stack 'shop/dependent' was not updated: the stack 'shop/broken' has failed");
    assert.equal(result.stacks["shop/other"].error, undefined);
    assert.equal((await other.history())[0].message, "a note");
});

test("events and lines have the name of their stack", async () => {
    const engine = memoryEngine();
    const events = [];
    const lines = [];
    const operation = engine.upAll([await opened(engine, "a"), await opened(engine, "b")], {
        onEvent: (event) => void events.push(event),
        onOutput: (line) => void lines.push(line),
    });
    assert.ok(operation instanceof FleetOperation);
    assert.deepEqual(Object.keys(operation.operations), ["shop/a", "shop/b"]);
    await operation;
    for (const stack of ["shop/a", "shop/b"]) {
        const own = events.filter((event) => event.stack === stack).map(({ event }) => event);
        assert.deepEqual(own.map(({ sequence }) => sequence), [...own.keys()]);
        assert.notEqual(own.at(-1).cancelEvent, undefined);
        assert.ok(lines.includes(`${stack} | Updating (${stack.at(-1)}):`), lines.join("\n"));
    }
    assert.equal(lines.filter((line) => line.endsWith("ended (2 of 2 stacks)")).length, 1);
});

test("a terminal shows the stacks, and at the end what each came to", async () => {
    const engine = memoryEngine();
    const stacks = [await opened(engine, "a"), await opened(engine, "b")];
    let lines = "";
    const result = await display(engine.upAll(stacks), { stream: { write: (text) => void (lines += text) } });
    assert.ok(result instanceof FleetResult);
    assert.match(lines, /^shop\/a \| Updating \(a\):$/m);
    const { TERM } = process.env;
    process.env.TERM = "xterm";
    try {
        let screen = "";
        const stream = { isTTY: true, columns: 80, rows: 24, write: (text) => void (screen += text) };
        await display(engine.destroyAll(stacks), { stream });
        assert.match(screen, /\u001b\[J/);
        assert.match(screen, /shop\/a: succeeded\n/);
    } finally {
        process.env.TERM = TERM ?? "";
    }
});

test("the iteration has the events of all stacks", async () => {
    const engine = memoryEngine();
    const ended = new Set();
    for await (const { stack, event } of engine.upAll([await opened(engine, "a"), await opened(engine, "b")])) {
        if (event.cancelEvent !== undefined) {
            ended.add(stack);
        }
    }
    assert.deepEqual(ended, new Set(["shop/a", "shop/b"]));
});

test("what a listener throws rejects the operation, with the result", async () => {
    const engine = memoryEngine();
    const thrown = new Error("no more events");
    const operation = engine.upAll([await opened(engine, "a")], {
        onEvent: () => {
            throw thrown;
        },
    });
    await assert.rejects(operation, (error) => error === thrown && error.fleetResult.outcome === "succeeded");
});

test("a signal cancels the set: what runs is completed, and the rest is skipped", async () => {
    const controller = new AbortController();
    let release;
    const held = new Promise((resolve) => {
        release = resolve;
    });
    const memory = new Memory({
        create: async () => {
            controller.abort();
            await held;
        },
    });
    const engine = memoryEngine(memory);
    const runs = [await opened(engine, "a"), { stack: await opened(engine, "b"), dependsOn: ["shop/a"] }];
    const operation = engine.upAll(runs, { signal: controller.signal });
    controller.signal.addEventListener("abort", () => release());
    const error = await operation.then(() => assert.fail("it was cancelled"), (reason) => reason);
    assert.ok(error instanceof CancelledError);
    assert.equal(error.fleetResult.outcome, "canceled");
    assert.deepEqual(error.fleetResult.skipped, ["shop/b"]);
    assert.equal(error.fleetResult.stacks["shop/b"].error.message, "the stack 'shop/b' was not updated: the set was cancelled");
    assert.deepEqual(creations(memory), ["create a"]);
});

test("the calls of a plugin are limited in all stacks together", async () => {
    let running = 0;
    let most = 0;
    const memory = new Memory({
        create: async () => {
            most = Math.max(most, ++running);
            await new Promise(setImmediate);
            running--;
        },
    });
    const engine = memoryEngine(memory);
    const stacks = await Promise.all([0, 1, 2, 3, 4, 5].map((number) => opened(engine, `s${number}`)));
    await engine.upAll(stacks, { maxCallsPerPlugin: 1 });
    assert.equal(most, 1);
    assert.equal(creations(memory).length, 6);
});

test("stacks that need each other are an error that names them", async () => {
    const engine = memoryEngine();
    const [a, b] = [await opened(engine, "a"), await opened(engine, "b")];
    const stated = engine.upAll([{ stack: a, dependsOn: [b] }, { stack: b, dependsOn: [a] }]);
    await assert.rejects(stated, /need each other: 'shop\/a' depends on 'shop\/b', 'shop\/b' depends on 'shop\/a'/);
    const reading = engine.upAll([await opened(engine, "c", "shop/d"), await opened(engine, "d", "shop/c")]);
    const { fleetResult } = await reading.then(() => assert.fail("it has failed"), (reason) => reason);
    const texts = Object.values(fleetResult.stacks).map(({ error, result }) => `${error} ${JSON.stringify(result.diagnostics)}`);
    assert.match(texts.join(), /the stacks of the set need each other: 'shop\//);
});

/** Makes a promise with the function that resolves it. */
function deferred() {
    const made = {};
    made.promise = new Promise((resolve) => {
        made.resolve = resolve;
    });
    return made;
}

/** Resolves with what a promise does, and rejects when that takes too long. */
function soon(promise, what) {
    const late = new Promise((_resolve, reject) => {
        setTimeout(() => reject(new Error(`it takes too long: ${what}`)), 60_000).unref();
    });
    return Promise.race([promise, late]);
}

test("a run is cancelled by its id through another engine, until it is forgotten", async (context) => {
    const store = `file://${folder(context)}`;
    const begun = deferred();
    const cancelled = deferred();
    const released = deferred();
    const memory = new Memory({
        create: async () => {
            begun.resolve();
            await released.promise;
        },
    });
    memory.cancel = () => cancelled.resolve();
    const [engine, other] = [memoryEngine(memory, { store }), memoryEngine(new Memory(), { store })];
    const stack = await opened(engine, "a");
    const operation = stack.up({ runId: "set/1" });
    await soon(begun.promise, "the creation");
    // A call that is repeated counts once: what runs is completed.
    await other.cancelRun("set", { requests: 1 });
    await other.cancelRun("set", { requests: 1 });
    await soon(cancelled.promise, "the cancellation");
    released.resolve();
    const error = await operation.then(() => assert.fail("it was cancelled"), (reason) => reason);
    assert.ok(error instanceof CancelledError);
    assert.equal(error.result.outcome, "canceled");
    assert.deepEqual(creations(memory), ["create a"]);
    assert.equal((await stack.resources()).filter(({ type }) => type === "mem:index:Thing").length, 1);
    // The mark stays, for runs of this set alone.
    await assert.rejects(stack.up({ runId: "set/2" }), /its run was cancelled/);
    assert.equal((await stack.up({ runId: "set2/1" })).outcome, "succeeded");
    await other.forgetRun("set");
    await other.forgetRun("set");
    assert.equal((await stack.up({ runId: "set/2" })).outcome, "succeeded");
});

test("what is no id of a set, and no number of requests, is refused", async (context) => {
    const engine = memoryEngine(new Memory(), { store: `file://${folder(context)}` });
    const refused = [
        [() => engine.cancelRun("set/1"), /one run of a set/],
        [() => engine.cancelRun("a b"), /is no id of a run/],
        [() => engine.cancelRun(7), /id/],
        [() => engine.cancelRun("set", { requests: 3 }), /requests is 1 or 2, not /],
        [() => engine.cancelRun("set", { request: 1 }), /unknown option .request. of cancelRun/],
        [() => engine.forgetRun("set/1"), /one run of a set/],
        [() => engine.forgetRun(), /id/],
    ];
    for (const [call, text] of refused) {
        await assert.rejects(async () => call(), (error) => error instanceof InvalidInputError && text.test(error.message), `${text}`);
    }
});

test("what is no set is refused", async () => {
    const engine = memoryEngine();
    const stack = await opened(engine, "a");
    const refused = [
        [() => engine.upAll(stack), /upAll\(\) takes a list of stacks/],
        [() => engine.upAll(["shop/a"]), /upAll\(\) takes stacks, or objects with a stack and its options, not/],
        [() => engine.upAll([stack], { maxStacks: -1 }), /maxStacks takes a whole number from 0/],
        [() => engine.upAll([stack], { maxStack: 1 }), /unknown option .maxStack. of upAll/],
        [() => engine.upAll([{ stack, continueOnEror: true }]), /unknown option .continueOnEror. of upAll/],
        [() => engine.upAll([{ stack, onEvent: () => undefined }]), /options of upAll\(\), not of one of its stacks/],
        [() => engine.previewAll([{ stack, dryRun: false }]), /a preview is a dry run/],
        [() => engine.upAll([{ stack, dependsOn: [3] }]), /dependsOn takes stacks or their names/],
    ];
    for (const [call, text] of refused) {
        assert.throws(call, (error) => error instanceof InvalidInputError && text.test(error.message), `${text}`);
    }
    await assert.rejects(engine.upAll([{ stack, dependsOn: ["shop/other"] }]), /which is not in the set/);
    await engine.close();
    assert.throws(() => engine.upAll([stack]), /the engine is closed/);
});
