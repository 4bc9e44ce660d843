/** Adopts resources that exist: a component, and a resource of a package by its id. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "@pulumi/pulumi/automation";
import * as random from "@pulumi/random";

const { version } = createRequire(import.meta.url)("@pulumi/random/package.json");
const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "shop", program: async () => {} });
await stack.up();
const resources = [
    { type: "shop:index:Site", name: "site", component: true },
    { type: "random:index/randomString:RandomString", name: "token", id: "tulip", version },
];
const imported = await stack.import({ resources, protect: false, generateCode: false, onOutput: console.log });
assert.equal(imported.summary.result, "succeeded");
assert.deepEqual(imported.summary.resourceChanges, { import: 2, same: 1 });
const { deployment } = await stack.exportStack();
const names = deployment.resources.map(({ urn }) => urn.split("::").at(-1));
assert.ok(["shop-dev", "site", "token"].every((name) => names.includes(name)), names.join());
const token = deployment.resources[names.indexOf("token")];
assert.deepEqual([token.id, token.inputs], ["tulip", { length: 5 }]);
const program = async () => {
    new pulumi.ComponentResource("shop:index:Site", "site");
    return { token: new random.RandomString("token", { length: 5 }).result };
};
const { outputs, summary } = await stack.up({ program });
assert.deepEqual(summary.resourceChanges, { same: 3 });
assert.equal(outputs.token.value, "tulip");
await stack.destroy();
