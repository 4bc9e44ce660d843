/** What texts the objects of the package become, and which never do. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { CancelledError } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";

test("a resource and an output never become a text or JSON by themselves", async () => {
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: (context) => {
            const first = context.resource(THING, "first", {});
            for (const make of [String, (value) => `${value}`, (value) => value + ""]) {
                assert.throws(() => make(first), /the resource "first" \(mem:index:Thing\) is not a text/);
                assert.throws(() => make(first.get("size")), /an output is not a text/);
            }
            assert.throws(() => JSON.stringify({ deep: [first] }), /the resource "first" .* is not JSON: .*apply\(\)/);
            assert.throws(() => JSON.stringify({ deep: [first.id] }), /an output is not JSON: .*apply\(\)/);
            context.resource(THING, "second", { content: `made of ${first}` });
        },
    });
    const failure = await failureOf(stack.up());
    assert.match(failure.message, /the resource "first" \(mem:index:Thing\) is not a text/);
    assert.ok(![...provider.things.values()].some((thing) => JSON.stringify(thing).includes("object Object")));
});

test("stacks, engines and operations have texts that say what they are", async () => {
    const engine = memoryEngine(new Memory());
    const stack = await engine.stack("shop/dev", { program: () => undefined });
    const operation = stack.preview();
    assert.equal(String(stack), "stack shop/dev");
    assert.equal(String(engine), "an engine of Stackwright");
    assert.match(`${operation}`, /^operation of shop\/dev: await it/);
    await operation;
});

test("what people read of a cancellation has no mark for hosts", () => {
    const error = new CancelledError("BAIL: update canceled");
    assert.equal(error.message, "BAIL: update canceled");
    assert.equal(String(error), "CancelledError: update canceled");
    assert.match(error.stack, /: update canceled\n/);
});
