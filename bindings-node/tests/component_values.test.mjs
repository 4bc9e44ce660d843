/** Files, archives, references and outputs as inputs of components in plugins that a Pulumi SDK hosts, and as their outputs. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { Archive, Asset, Engine, ResourceReference, sdkProgram } from "stackwright";

import {
    componentHosts,
    componentPlugins as commands,
    folder,
    goComponent,
    Memory,
    newestGoComponent,
    noPythonPlugin as skip,
    served,
} from "./support.mjs";

const NAMES = ["file", "files", "owner", "later"];
const sha = (text) => createHash("sha256").update(text).digest("hex");

class Source extends pulumi.CustomResource {
    constructor() {
        super("things:index:Thing", "source", { file: new pulumi.asset.StringAsset("of the source") });
    }
}

class Crate extends pulumi.ComponentResource {
    constructor(plugin, inputs) {
        super(`${plugin}:index:Crate`, "crate", inputs, {}, true);
    }
}

/** Programs of both APIs; the text of a file is what `text` returns. */
const programs = {
    own: ({ plugin, text, file }) => (context) => {
        const source = context.resource("things:index:Thing", "source", { file: new Asset({ text: "of the source" }) });
        const inside = new Archive({ assets: { "b.txt": new Asset({ text: "b" }) } });
        const inputs = {
            file: new Asset({ text: text() }),
            files: new Archive({ assets: { "a.txt": new Asset({ path: file }), in: inside } }),
            owner: source,
            later: source.get("file"),
        };
        const crate = context.remoteComponent(`${plugin}:index:Crate`, "crate", inputs);
        NAMES.forEach((name) => context.export(name, crate.get(name)));
    },
    sdk: ({ plugin, text, file }) =>
        sdkProgram(() => {
            const source = new Source();
            const inside = new pulumi.asset.AssetArchive({ "b.txt": new pulumi.asset.StringAsset("b") });
            const crate = new Crate(plugin, {
                file: new pulumi.asset.StringAsset(text()),
                files: new pulumi.asset.AssetArchive({ "a.txt": new pulumi.asset.FileAsset(file), in: inside }),
                owner: source,
                later: source.file,
            });
            return Object.fromEntries(NAMES.map((name) => [name, crate[name]]));
        }),
};

/** Returns the records of a stack by name. */
async function records(stack) {
    const { deployment } = await stack.exportDeployment();
    return Object.fromEntries((deployment.resources ?? []).map((record) => [record.urn.split("::").at(-1), record]));
}

/** Checks what the thing below the component has been given. */
function checkContent({ source, crate, "crate-content": content }, memory, stated) {
    const { file, later, files, owner } = content.inputs;
    assert.equal(content.parent, crate.urn);
    assert.deepEqual([file.text, file.hash], ["first", sha("first")]);
    assert.deepEqual([later.text, later.hash], ["of the source", sha("of the source")]);
    assert.equal(files.assets["a.txt"].hash, sha("from a file"));
    assert.equal(files.assets.in.assets["b.txt"].text, "b");
    assert.deepEqual([owner.urn, owner.id], [source.urn, source.id]);
    assert.ok(content.dependencies.includes(source.urn));
    stated.forEach((name) => assert.deepEqual(content.propertyDependencies[name], [source.urn], name));

    // Its provider gets values of their kinds.
    const given = memory.things.get(content.id);
    assert.deepEqual(given.file, new Asset({ text: "first" }, sha("first")));
    assert.ok(given.files instanceof Archive);
    assert.deepEqual(Object.keys(given.files.assets).sort(), ["a.txt", "in"]);
    assert.deepEqual(given.owner, new ResourceReference(source.urn, source.id));
}

/** Checks what the program gets back, which are the outputs of the stack. */
function checkOutputs(outputs, source, written) {
    assert.deepEqual(outputs.file.value, new Asset({ text: "first" }, sha("first")));
    assert.deepEqual(outputs.later.value, new Asset({ text: "of the source" }, sha("of the source")));
    assert.ok(outputs.files.value instanceof Archive);
    // The SDK makes an id of a reference to a resource whose package the program has not loaded.
    const reference = new ResourceReference(source.urn, source.id);
    assert.deepEqual(outputs.owner.value, written === "sdk" ? source.id : reference);
    Object.values(outputs).forEach((output) => assert.equal(output.secret, false));
}

for (const plugin of Object.keys(commands)) {
    for (const [written, programOf] of Object.entries(programs)) {
        test(`files, archives and references reach a component in ${plugin} from a program (${written}), and come back`, { skip }, async (t) => {
            goComponent();
            const file = path.join(folder(t), "a.txt");
            fs.writeFileSync(file, "from a file");
            let text = "first";
            const memory = new Memory();
            const engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: memory }, ...served(commands) });
            t.after(() => engine.close());
            const stack = await engine.stack("shop/dev", { program: programOf({ plugin, text: () => text, file }) });
            // The stack, the source, the crate and its content; outputs of the source are not known yet.
            assert.deepEqual((await stack.preview()).changes, { create: 4 });
            assert.equal(memory.things.size, 0);

            const { outputs } = await stack.up();
            const known = await records(stack);
            // The host for Go finds the sources of an input in its value alone, where the SDK of the program states only outputs.
            const stated = plugin === "gobox" && written === "sdk" ? ["later"] : ["owner", "later"];
            checkContent(known, memory, stated);
            checkOutputs(outputs, known.source, written);

            assert.deepEqual(Object.keys((await stack.up()).changes), ["same"]);
            text = "second";
            fs.writeFileSync(file, "changed on disk");
            await stack.up();
            assert.equal(memory.calls.at(-1), "update crate-content");
            const { inputs } = (await records(stack))["crate-content"];
            assert.equal(inputs.file.hash, sha("second"));
            assert.equal(inputs.files.assets["a.txt"].hash, sha("changed on disk"));
            await stack.destroy();
            assert.equal(memory.things.size, 0);
        });
    }
}

class User extends pulumi.CustomResource {
    constructor(inputs) {
        super("things:index:Thing", "user", inputs);
    }
}

/** Programs of both APIs, in which a thing uses outputs of a crate. */
const users = {
    own: (plugin) => (context) => {
        const source = context.resource("things:index:Thing", "source", { file: new Asset({ text: "of the source" }) });
        const inputs = { file: new Asset({ text: "a" }), files: new Archive({ assets: {} }), owner: source, later: source.get("file") };
        const crate = context.remoteComponent(`${plugin}:index:Crate`, "crate", inputs);
        context.resource("things:index:Thing", "user", { content: crate.get("content"), later: crate.get("later") });
    },
    sdk: (plugin) =>
        sdkProgram(() => {
            const source = new Source();
            const files = new pulumi.asset.AssetArchive({});
            const inputs = { file: new pulumi.asset.StringAsset("a"), files, owner: source, later: source.file, content: undefined };
            const { content, later } = new Crate(plugin, inputs);
            new User({ content, later });
        }),
};

for (const [host, { plugin, commands, skip }] of Object.entries(componentHosts)) {
    for (const [written, programOf] of Object.entries(users)) {
        test(`what uses an output of a component of ${host} depends on the child that it comes from (${written})`, { skip }, async (t) => {
            goComponent();
            newestGoComponent();
            const memory = new Memory();
            const engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: memory }, ...served(commands) });
            t.after(() => engine.close());
            const stack = await engine.stack("shop/dev", { program: programOf(plugin) });
            await stack.up();
            const { user, crate, source, "crate-content": content } = await records(stack);
            assert.equal(user.inputs.content, content.id);
            // The library of providers for Go leaves out where outputs come from.
            const sent = ({ urn }) => (plugin === "gobox" ? [crate.urn] : [crate.urn, urn].sort());
            assert.deepEqual(user.propertyDependencies.content.sort(), sent(content));
            assert.deepEqual(user.propertyDependencies.later.sort(), sent(source));
        });
    }
}
