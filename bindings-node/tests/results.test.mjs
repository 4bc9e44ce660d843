/** Steps of results: old and new values, outcomes, and the first line of an error. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { secret } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";

test("steps and tree contain a failed step, and the error names resource, provider and cause", async () => {
    const provider = new Memory({
        create: () => {
            throw new Error("the database exploded");
        },
    });
    const program = (context) => void context.resource(THING, "database", {});
    const stack = await memoryEngine(provider).stack("shop/dev", { program });
    const error = await failureOf(stack.up());
    const [first] = error.message.split("\n");
    assert.match(first, /^update failed: resource `database` \(mem:index:Thing\), create by provider `mem`: /);
    assert.match(first, /the database exploded$/);
    assert.match(error.referenceMessage, /^BAIL: step executor errored: step application failed: /);
    const failed = error.result.steps.find((step) => step.urn.endsWith("::database"));
    assert.ok(["failed", "unknown"].includes(failed.status), failed.status);
    assert.match(failed.error.message, /the database exploded/);
    assert.match(String(error.result), / ! {3}└─ database \(mem:index:Thing\)\n.*! create failed: .*the database exploded/);
});

test("a changed property has its path and both values, and secrets are masked", async () => {
    const engine = memoryEngine(new Memory());
    const program = (owner, password) => (context) =>
        void context.resource(THING, "a", { tags: { owner, same: 1 }, password: secret(password) });
    const stack = await engine.stack("shop/dev", { program: program("ann", "hunter-one") });
    await stack.up();
    const after = { program: program("bob", "hunter-two") };
    for (const [operation, status] of [
        [stack.preview(after), "planned"],
        [stack.up(after), "succeeded"],
    ]) {
        const result = await operation;
        const step = result.steps.find((step) => step.urn.endsWith("::a"));
        assert.equal(step.status, status);
        assert.equal(step.error, null);
        assert.deepEqual(
            step.changes.find((change) => change.path === "tags.owner"),
            { path: "tags.owner", kind: "update", old: "ann", new: "bob" },
        );
        const hidden = { path: "password", kind: "update", old: "[secret]", new: "[secret]" };
        assert.deepEqual(
            step.changes.find((change) => change.path === "password"),
            hidden,
        );
        assert.match(String(result), /shop-dev \(pulumi:pulumi:Stack\)\n.*\n.*~ tags.owner: "ann" → "bob"|~ password/);
        assert.ok(!String(result).includes("hunter"));
    }
});
