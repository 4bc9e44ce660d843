/**
 * A small site, deployed with nothing but this package: node examples/node/native.mjs [FOLDER]
 *
 * The program is an ordinary function, the provider a class, and the state a folder. No SDK, no command line tool.
 */
import * as path from "node:path";

import { Engine, secret } from "stackwright";

import { Files } from "./files.mjs";

const folder = path.resolve(process.argv[2] ?? "build/example-native");

/** The program. Resources are registered as soon as they are created; nothing needs to be awaited. */
function site(context) {
    const pages = context.component("site:index:Pages", "pages");
    const home = context.resource(
        "files:index:File",
        "home",
        { path: "index.html", content: `<h1>${context.config.get("title")}</h1>\n` },
        { parent: pages },
    );
    // Outputs can be inputs: the listing depends on the page, and is registered after it.
    context.resource(
        "files:index:File",
        "listing",
        { path: "listing.txt", content: home.get("size").apply((size) => `index.html has ${size} bytes\n`) },
        { parent: pages },
    );
    pages.registerOutputs({ home: home.get("path") });
    context.resource("files:index:File", "key", { path: "key.txt", content: context.config.secret("key") });
    context.export("size", home.get("size"));
}

const engine = new Engine({
    store: `file://${path.join(folder, "state")}`,
    passphrase: "correct horse battery staple",
    providers: { files: new Files(path.join(folder, "site")) },
});
const stack = await engine.stack("site/dev", {
    program: site,
    config: { title: "Hello", key: secret("only in the file, and encrypted in the state") },
});

console.log(`${await stack.preview()}`);

const update = stack.up();
for await (const event of update.events()) {
    if (event.resOutputsEvent !== undefined) {
        const { op, urn } = event.resOutputsEvent.metadata;
        console.log(`${op.padEnd(8)} ${urn}`);
    }
}
const { outputs, changes } = await update;
console.log(outputs, changes);

console.log("again:", (await stack.up()).changes);
console.log("destroyed:", (await stack.destroy()).changes);
await engine.close();
