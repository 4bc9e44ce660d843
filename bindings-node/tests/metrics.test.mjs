/** What an engine has counted. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { secret } from "stackwright";

import { Memory, memoryEngine } from "./support.mjs";

test("metrics count operations, calls and what is written", async () => {
    const engine = memoryEngine(new Memory());
    assert.deepEqual(engine.metrics().operations, []);
    const program = (context) => void context.resource("mem:index:Thing", "a", { value: secret("correct horse") });
    const stack = await engine.stack("shop/dev", { program });
    await stack.preview();
    await stack.up();
    const metrics = engine.metrics();
    const counts = metrics.operations.map(({ verb, isPreview, running, succeeded }) => [verb, isPreview, running, succeeded]);
    assert.deepEqual(counts, [["update", false, 0, 1], ["update", true, 0, 1]]);
    const calls = metrics.providerCalls.mem;
    assert.ok(calls.total >= 3);
    assert.deepEqual([calls.inFlight, calls.failed], [0, 0]);
    assert.ok(metrics.journal.entries >= 2 && metrics.journal.bytes > 100);
    assert.ok(metrics.store.calls.append >= 1);
    assert.deepEqual([metrics.locks.taken, metrics.pluginsStarted, metrics.plugins], [1, 0, []]);
    assert.ok(!JSON.stringify(metrics).includes("correct horse"));
});
