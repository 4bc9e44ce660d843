/** Deploys stacks at the same time. */
import assert from "node:assert/strict";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "@pulumi/pulumi/automation";

async function deploy(number) {
    const program = async () => {
        new pulumi.ComponentResource("shop:index:Tenant", `tenant-${number}`);
        return { stack: pulumi.getStack() };
    };
    const stackName = `tenant-${number}`;
    const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName, projectName: "shop", program });
    const { outputs } = await stack.up();
    const { deployment } = await stack.exportStack();
    const names = deployment.resources.map(({ urn }) => urn.split("::").at(-1));
    assert.deepEqual(names, [`shop-tenant-${number}`, `tenant-${number}`]);
    await stack.destroy();
    return outputs.stack.value;
}

const numbers = [...Array(16).keys()];
assert.deepEqual(await Promise.all(numbers.map(deploy)), numbers.map((number) => `tenant-${number}`));
console.log("16 stacks");
