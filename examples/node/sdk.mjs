/**
 * A program written with `@pulumi/pulumi`, run in this process without any socket: node examples/node/sdk.mjs [FOLDER]
 *
 * Files come from a provider that is a class in this process. The note is a dynamic resource: its code is serialized with
 * the program, and runs in a process that the engine starts and ends.
 */
import * as fs from "node:fs";
import * as path from "node:path";

import * as pulumi from "@pulumi/pulumi";
import { Engine, sdkProgram, secret } from "stackwright";

import { Files } from "./files.mjs";

const folder = path.resolve(process.argv[2] ?? "build/example-sdk");
// The project's folder must exist before a stack is opened with it.
fs.mkdirSync(folder, { recursive: true });

class File extends pulumi.CustomResource {
    constructor(name, inputs, options) {
        super("files:index:File", name, { size: undefined, ...inputs }, options);
    }
}

class Note extends pulumi.dynamic.Resource {
    constructor(name, inputs, options) {
        const provider = {
            async create(inputs) {
                return { id: inputs.text, outs: { ...inputs, letters: inputs.text.length } };
            },
            async update(_id, _olds, news) {
                return { outs: { ...news, letters: news.text.length } };
            },
        };
        super(provider, name, { letters: undefined, ...inputs }, options);
    }
}

class Site extends pulumi.ComponentResource {
    constructor(name, title, options) {
        super("site:index:Site", name, {}, options);
        this.home = new File("home", { path: "index.html", content: pulumi.interpolate`<h1>${title}</h1>\n` }, { parent: this });
        this.registerOutputs({ size: this.home.size });
    }
}

const program = sdkProgram(async () => {
    const config = new pulumi.Config();
    const site = new Site("site", config.require("title"));
    const note = new Note("note", { text: "remember" }, { dependsOn: site });
    new File("key", { path: "key.txt", content: config.requireSecret("key") });
    return { size: site.home.size, letters: note.letters, stack: pulumi.getStack() };
});

const engine = new Engine({
    store: `file://${path.join(folder, "state")}`,
    passphrase: "correct horse battery staple",
    providers: { files: new Files(path.join(folder, "site")) },
});
const config = { title: "Hello", key: secret("only in the file, and encrypted in the state") };

// Two concurrent stacks in one process: each program uses its own.
const stacks = await Promise.all(
    ["blue", "green"].map((name) =>
        engine.stack(`site-${name}/dev`, { program, config, rootDirectory: folder }),
    ),
);
const [blue] = stacks;
console.log(`${await blue.preview()}`);
console.log((await blue.up()).outputs);
console.log("again:", (await blue.up()).changes);
const controller = new AbortController();
controller.abort();
await stacks[1].up({ signal: controller.signal }).catch((error) => console.log("green:", error.kind));
console.log("destroyed:", (await blue.destroy()).changes);
await engine.close();
