/** Renames a stack and reads its history. */
import assert from "node:assert/strict";

import * as auto from "@pulumi/pulumi/automation";

const program = async () => ({ answer: 42 });
const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "shop", program });
await stack.setTag("owner", "payments");
await stack.up({ message: "first" });
await stack.up({ message: "second" });
const renamed = await stack.rename({ stackName: "live" });
assert.deepEqual([renamed.summary.message, stack.name, await stack.getTag("owner")], ["second", "live", "payments"]);
await stack.up({ message: "third" });
const rows = await stack.history();
rows.forEach(({ startTime, kind, result, message }) => console.log(startTime, kind, result, message));
assert.deepEqual(rows.map(({ message }) => message), ["third", "second", "first"]);
assert.deepEqual((await stack.history(1, 3)).map(({ message }) => message), ["first"]);
const info = await stack.info();
assert.ok(info !== undefined && info.endTime >= info.startTime);
assert.deepEqual((await stack.workspace.listStacks()).map(({ name }) => name), ["live"]);
await stack.destroy({ remove: true });
