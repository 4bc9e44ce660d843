/** Text forms of the package's objects, and objects without one. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { CancelledError } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";

test("a resource and an output have no implicit text or JSON", async () => {
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

test("stacks, engines and operations have descriptive texts", async () => {
    const engine = memoryEngine(new Memory());
    const stack = await engine.stack("shop/dev", { program: () => undefined });
    const operation = stack.preview();
    assert.equal(String(stack), "stack shop/dev");
    assert.equal(String(engine), "an engine of Stackwright");
    assert.match(`${operation}`, /^operation of shop\/dev: await it/);
    await operation;
});

test("the text of an error ends with its hints, and its message for tools is separate", () => {
    const facts = { hints: ["wait"], referenceMessage: "BAIL: canceled", configKey: "shop:token" };
    const error = new CancelledError("update canceled", facts);
    assert.equal(error.message, "update canceled\nhint: wait");
    assert.equal(String(error), "CancelledError: update canceled\nhint: wait");
    assert.match(error.stack, /: update canceled\nhint: wait\n/);
    assert.equal(error.referenceMessage, "BAIL: canceled");
    assert.equal(error.configKey, "shop:token");
    assert.equal(new CancelledError("no").referenceMessage, "no");
});
