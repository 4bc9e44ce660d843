/** Configures a stack with secrets and paths, and reads the configuration in the program. */
import assert from "node:assert/strict";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "@pulumi/pulumi/automation";

const program = async () => {
    const config = new pulumi.Config();
    return {
        team: config.requireObject("tags").team,
        database: config.requireSecret("password").apply((password) => `postgres://shop:${password}@db/`),
        region: new pulumi.Config("aws").require("region"),
    };
};
const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "shop", program });
await stack.setConfig("password", { value: "correct horse", secret: true });
await stack.setConfig("tags.team", { value: "payments" }, true);
await stack.setConfig("owners[0]", { value: "ada" }, true);
await stack.setAllConfig({ "aws:region": { value: "eu-west-1" }, size: { value: "3" } });
console.log(Object.keys(await stack.getAllConfig()));
assert.deepEqual(JSON.parse((await stack.getConfig("owners")).value), ["ada"]);
assert.deepEqual(await stack.getConfig("password"), { value: "correct horse", secret: true });
const up = await stack.up();
assert.deepEqual([up.outputs.team.value, up.outputs.region.value], ["payments", "eu-west-1"]);
assert.deepEqual(up.outputs.database, { value: "postgres://shop:correct horse@db/", secret: true });
assert.ok(!up.stdout.includes("correct horse"));
await stack.removeConfig("size");
await stack.removeAllConfig(["tags.team", "owners[0]"], true);
assert.ok(!("shop:size" in (await stack.getAllConfig())));
await stack.destroy();
