/** Deploys a site, and deploys it again with another setting: the stack is created once. */
import assert from "node:assert/strict";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "@pulumi/pulumi/automation";

const program = async () => {
    new pulumi.ComponentResource("shop:index:Site", "site");
    return { url: `https://${new pulumi.Config().get("host") ?? "example.com"}/` };
};
const args = { stackName: "dev", projectName: "shop", program };

async function deploy(host) {
    const stack = await auto.LocalWorkspace.createOrSelectStack(args);
    await stack.setConfig("host", { value: host });
    return stack.up({ onOutput: console.log });
}

const first = await deploy("one.example.com");
assert.equal(first.outputs.url.value, "https://one.example.com/");
assert.deepEqual(first.summary.resourceChanges, { create: 2 });
const second = await deploy("two.example.com");
assert.equal(second.outputs.url.value, "https://two.example.com/");
assert.deepEqual(second.summary.resourceChanges, { same: 2 });
await assert.rejects(auto.LocalWorkspace.createStack(args), auto.StackAlreadyExistsError);
const stack = await auto.LocalWorkspace.selectStack(args);
await stack.destroy({ onOutput: console.log });
await stack.workspace.removeStack("dev");
