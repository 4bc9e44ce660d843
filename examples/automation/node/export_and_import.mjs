/** Moves the state of a stack to another store. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "@pulumi/pulumi/automation";

const program = async () => {
    new pulumi.ComponentResource("shop:index:Site", "site");
    return { password: pulumi.secret("hush") };
};
const args = { stackName: "dev", projectName: "shop", program };
const source = await auto.LocalWorkspace.createOrSelectStack(args);
await source.up();
const document = JSON.stringify(await source.exportStack());
const folder = mkdtempSync(join(tmpdir(), "store-"));
const target = await auto.LocalWorkspace.createStack(args, { envVars: { PULUMI_BACKEND_URL: `file://${folder}` } });
await target.importStack(JSON.parse(document));
assert.deepEqual(await target.outputs(), { password: { value: "hush", secret: true } });
assert.deepEqual((await target.up()).summary.resourceChanges, { same: 2 });
await target.destroy();
assert.equal((await source.outputs()).password.value, "hush");
await source.destroy();
rmSync(folder, { recursive: true });
