/** Adopts a component that exists. */
import assert from "node:assert/strict";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "@pulumi/pulumi/automation";

const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "shop", program: async () => {} });
await stack.up();
const resources = [{ type: "shop:index:Site", name: "site", component: true }];
const imported = await stack.import({ resources, protect: false, generateCode: false, onOutput: console.log });
assert.equal(imported.summary.result, "succeeded");
const { deployment } = await stack.exportStack();
assert.deepEqual(deployment.resources.map(({ urn }) => urn.split("::").at(-1)), ["shop-dev", "site"]);
const program = async () => {
    new pulumi.ComponentResource("shop:index:Site", "site");
};
assert.deepEqual((await stack.up({ program })).summary.resourceChanges, { same: 2 });
await stack.destroy();
