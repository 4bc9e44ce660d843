/** Dynamic providers: a plugin process, started by the engine, runs code that the program serialized. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { Engine, sdkProgram } from "stackwright";

import { folder } from "./support.mjs";

test("a dynamic resource is created, updated and deleted by its own code", async (t) => {
    const directory = folder(t);
    const provider = {
        async create(inputs) {
            const { writeFileSync } = require("node:fs");
            writeFileSync(inputs.path, inputs.content);
            return { id: inputs.path, outs: { ...inputs, length: inputs.content.length } };
        },
        async update(_id, _olds, news) {
            const { writeFileSync } = require("node:fs");
            writeFileSync(news.path, news.content);
            return { outs: { ...news, length: news.content.length } };
        },
        async delete(id) {
            require("node:fs").rmSync(id);
        },
    };
    class Note extends pulumi.dynamic.Resource {
        constructor(name, inputs) {
            super(provider, name, { length: undefined, ...inputs });
        }
    }
    const file = path.join(directory, "note.txt");
    let content = "hello";
    const engine = new Engine({ store: "memory://", passphrase: "test" });
    t.after(() => engine.close());
    const stack = await engine.stack("shop/dev", {
        rootDirectory: directory,
        program: sdkProgram(async () => ({ length: new Note("note", { path: file, content }).length })),
    });
    await stack.preview();
    assert.ok(!fs.existsSync(file));
    assert.equal((await stack.up()).outputs.length.value, 5);
    assert.equal(fs.readFileSync(file, "utf8"), "hello");
    assert.equal((await stack.up()).changes.same, 2);
    content = "hello again";
    assert.equal((await stack.up()).outputs.length.value, 11);
    assert.equal(fs.readFileSync(file, "utf8"), "hello again");
    await stack.destroy();
    assert.ok(!fs.existsSync(file));
});
