/** Uses the outputs of one stack in another. */
import assert from "node:assert/strict";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "@pulumi/pulumi/automation";

const network = async () => ({ vpc: "vpc-1", key: pulumi.secret("hush") });
const site = async () => {
    const reference = new pulumi.StackReference("organization/network/dev");
    return { vpc: reference.requireOutput("vpc"), key: reference.requireOutput("key") };
};
const first = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "network", program: network });
await first.up();
const second = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "site", program: site });
const { outputs } = await second.up();
assert.deepEqual(outputs, { vpc: { value: "vpc-1", secret: false }, key: { value: "hush", secret: true } });
await second.destroy();
await first.destroy();
