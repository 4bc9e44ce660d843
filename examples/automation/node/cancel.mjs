/** Refuses a second update while one runs, and cancels an update by a signal. */
import assert from "node:assert/strict";

import * as auto from "@pulumi/pulumi/automation";

let begin;
const begun = new Promise((resolve) => (begin = resolve));
let proceed;
const released = new Promise((resolve) => (proceed = resolve));
const slow = async () => {
    begin();
    await released;
};
const open = (program) => auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "shop", program });
const stack = await open(slow);
const running = stack.up();
await begun;
const other = await open(async () => ({ answer: 42 }));
await assert.rejects(other.up(), auto.ConcurrentUpdateError);
proceed();
assert.equal((await running).summary.result, "succeeded");
await other.cancel();
const controller = new AbortController();
const cancelled = other.up({ signal: controller.signal, onOutput: () => controller.abort() });
await assert.rejects(cancelled, auto.CommandError);
assert.equal((await other.up()).outputs.answer.value, 42);
await other.destroy();
