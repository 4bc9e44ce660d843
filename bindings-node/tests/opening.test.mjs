/** Opening stacks: create, select, create or select, and errors for unknown names. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { ConflictError, InvalidInputError, NotFoundError } from "stackwright";

import { failureOf, memoryEngine } from "./support.mjs";

const program = (context) => void context.resource("mem:index:Thing", "a");

test("a stack is created, selected, or either, and typed errors name similar stacks", async () => {
    const engine = memoryEngine();
    const missing = await failureOf(engine.selectStack("shop/dev", { program }));
    assert.ok(missing instanceof NotFoundError, String(missing));
    assert.match(missing.message, /no stack named 'shop\/dev' found/);
    const created = await engine.createStack("shop/dev", { program });
    assert.equal((await created.up()).outcome, "succeeded");
    const exists = await failureOf(engine.createStack("shop/dev"));
    assert.ok(exists instanceof ConflictError, String(exists));
    assert.match(exists.message, /already exists/);
    assert.deepEqual(await (await engine.selectStack("shop/dev")).outputs(), {});
    const misspelt = await failureOf(engine.selectStack("shop/dve"));
    assert.match(misspelt.hints.join("\n"), /did you mean 'shop\/dev'\?.*createStack\(\) creates a stack$/s);
    assert.doesNotMatch(misspelt.message, /create_stack/);
    await engine.createOrSelectStack("shop/dev");
    await engine.createOrSelectStack("shop/new");
    assert.deepEqual((await engine.stacks()).map(({ name }) => name), ["shop/dev", "shop/new"]);
    const option = await failureOf(engine.createStack("shop/x", { create: false }));
    assert.ok(option instanceof InvalidInputError, String(option));
});

test("a stack that is opened without a program is created by its first update, not by a read", async () => {
    const engine = memoryEngine();
    const stack = await engine.stack("shop/dev");
    // One after another: concurrent operations on a stack conflict, even if it does not exist.
    for (const use of ["outputs", "exportDeployment", "refresh", "destroy"]) {
        const failure = await failureOf((async () => stack[use]())());
        assert.ok(failure instanceof NotFoundError, `${use}: ${failure}`);
    }
    assert.equal((await stack.preview({ program })).changes.create, 2);
    assert.deepEqual(await engine.stacks(), []);
    await stack.up({ program });
    assert.deepEqual((await engine.stacks()).map(({ name }) => name), ["shop/dev"]);
    assert.ok((await failureOf(engine.stack("shop/other", { program, create: false }))) instanceof NotFoundError);
    await engine.stack("shop/third", { program });
    assert.deepEqual((await engine.stacks()).map(({ name }) => name), ["shop/dev", "shop/third"]);
});

test("events contain debug diagnostics only when requested", async () => {
    const stack = await memoryEngine().stack("shop/dev", { program: (context) => context.log.debug("a detail") });
    const hasDebug = async (options) => {
        const severities = new Set();
        await stack.up({ ...options, onEvent: (event) => severities.add(event.diagnosticEvent?.severity) });
        return severities.has("debug");
    };
    assert.equal(await hasDebug({}), false);
    assert.equal(await hasDebug({ debug: true }), true);
});
