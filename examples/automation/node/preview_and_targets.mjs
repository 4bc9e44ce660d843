/** Shows what an update would do, then updates one resource alone. */
import assert from "node:assert/strict";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "@pulumi/pulumi/automation";

class Shelf extends pulumi.dynamic.Resource {
    constructor(name, size) {
        const provider = {
            create: async (inputs) => ({ id: `shelf-${inputs.size}`, outs: inputs }),
            diff: async (_, before, after) => ({ changes: before.size !== after.size }),
            update: async (_, before, after) => ({ outs: after }),
        };
        super(provider, name, { size });
    }
}

const store = (size) => async () => {
    new Shelf("left", size);
    new Shelf("right", size);
};
const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "shop", program: store(1) });
assert.deepEqual((await stack.preview()).changeSummary, { create: 3 });
assert.deepEqual((await stack.up()).summary.resourceChanges, { create: 3 });
const preview = await stack.preview({ program: store(2), diff: true, onOutput: console.log });
assert.deepEqual(preview.changeSummary, { same: 1, update: 2 });
const left = "urn:pulumi:dev::shop::pulumi-nodejs:dynamic:Resource::left";
const up = await stack.up({ program: store(2), target: [left] });
assert.deepEqual(up.summary.resourceChanges, { same: 2, update: 1 });
assert.deepEqual((await stack.preview({ program: store(2) })).changeSummary, { same: 2, update: 1 });
await stack.destroy();
