/** Collects the outputs of a deployment and counts its events. */
import assert from "node:assert/strict";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "@pulumi/pulumi/automation";

const program = async () => {
    const parent = new pulumi.ComponentResource("shop:index:Network", "vpc");
    for (const zone of ["a", "b"]) {
        new pulumi.ComponentResource("shop:index:Subnet", `subnet-${zone}`, {}, { parent });
    }
    await pulumi.log.warn("the network is open");
    return { zones: ["a", "b"], key: pulumi.secret("hush") };
};
const created = [];
const warnings = [];
const kinds = {};
const onEvent = (event) => {
    for (const name of Object.keys(event).filter((name) => name.endsWith("Event"))) {
        kinds[name] = (kinds[name] ?? 0) + 1;
    }
    if (event.resourcePreEvent?.metadata.op === "create") {
        created.push(event.resourcePreEvent.metadata.urn.split("::").at(-1));
    }
    if (event.diagnosticEvent?.severity === "warning") {
        warnings.push(event.diagnosticEvent.message.trim());
    }
};
const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "shop", program });
const result = await stack.up({ onEvent });
console.log(kinds);
assert.deepEqual([created.sort(), warnings], [["shop-dev", "subnet-a", "subnet-b", "vpc"], ["the network is open"]]);
assert.deepEqual([kinds.preludeEvent, kinds.summaryEvent, kinds.cancelEvent], [1, 1, 1]);
assert.deepEqual(await stack.outputs(), result.outputs);
assert.deepEqual(result.outputs, { zones: { value: ["a", "b"], secret: false }, key: { value: "hush", secret: true } });
await stack.destroy();
