/** Refuses a second update while one runs, and cancels one that runs: from another stack object, and by a signal. */
import assert from "node:assert/strict";

import * as auto from "@pulumi/pulumi/automation";

let begin, proceed, begun, released;
const prepare = () => {
    begun = new Promise((resolve) => (begin = resolve));
    released = new Promise((resolve) => (proceed = resolve));
};
const slow = async () => {
    begin();
    await released;
};
prepare();
const open = (program) => auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "shop", program });
const stack = await open(slow);
const running = stack.up();
await begun;
const other = await open(async () => ({ answer: 42 }));
await assert.rejects(other.up(), auto.ConcurrentUpdateError);
proceed();
assert.equal((await running).summary.result, "succeeded");
prepare();
const interrupted = assert.rejects(stack.up(), auto.CommandError);
await begun;
await other.cancel();
proceed();
await interrupted;
const controller = new AbortController();
const cancelled = other.up({ signal: controller.signal, onOutput: () => controller.abort() });
await assert.rejects(cancelled, auto.CommandError);
assert.equal((await other.up()).outputs.answer.value, 42);
await other.destroy();
