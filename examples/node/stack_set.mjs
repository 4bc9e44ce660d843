/**
 * Stacks that depend on each other, deployed as one operation: node examples/node/stack_set.mjs [FOLDER]
 */
import * as path from "node:path";

import { display, Engine } from "stackwright";

import { Files } from "./files.mjs";

const folder = path.resolve(process.argv[2] ?? "build/example-stack-set");

/** What all shops need. */
function network(context) {
    const address = context.resource("files:index:File", "address", { path: "network.txt", content: "10.0.0.1\n" });
    context.export("address", address.get("content"));
}

/** A shop reads the outputs of the network, and waits for them while both are deployed. */
function shop(context) {
    const net = context.read("pulumi:pulumi:StackReference", "network", "network/prod", { name: "network/prod" });
    const content = net.get("outputs").get("address").apply((address) => `${context.stack} calls ${address}`);
    const page = context.resource("files:index:File", "page", { path: `${context.stack}.txt`, content });
    context.export("page", page.get("content"));
}

const engine = new Engine({
    store: `file://${path.join(folder, "state")}`,
    passphrase: "correct horse battery staple",
    providers: { files: new Files(path.join(folder, "files")) },
});
const base = await engine.stack("network/prod", { program: network });
const shops = await Promise.all(["north", "south"].map((name) => engine.stack(`shop/${name}`, { program: shop })));
const runs = [...shops.map((stack) => ({ stack, dependsOn: [base] })), base];

console.log("preview:", (await engine.previewAll(runs)).changes);
const update = await display(engine.upAll(runs, { maxStacks: 4 }));
for (const [name, { result }] of Object.entries(update.stacks)) {
    console.log(name, result.outputs);
}
console.log("destroyed:", (await engine.destroyAll(runs)).changes);
await engine.close();
