/** Deploys resources of packages from the registry. */
import assert from "node:assert/strict";

import * as command from "@pulumi/command";
import * as pulumi from "@pulumi/pulumi";
import * as auto from "@pulumi/pulumi/automation";
import * as random from "@pulumi/random";

const program = async () => {
    const pet = new random.RandomPet("pet", { length: 2 });
    const password = new random.RandomPassword("password", { length: 16, special: true });
    const greeting = new command.local.Command("greeting", { create: pulumi.interpolate`echo ${pet.id}` });
    return { pet: pet.id, password: password.result, greeting: greeting.stdout };
};
const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "shop", program });
assert.deepEqual((await stack.preview()).changeSummary, { create: 4 });
const { outputs } = await stack.up({ onOutput: console.log });
assert.ok(outputs.password.secret && outputs.password.value !== "");
assert.ok(outputs.pet.value && outputs.greeting.value);
assert.deepEqual((await stack.up()).summary.resourceChanges, { same: 4 });
await stack.destroy();
