/** Programs that register no resources although the stack has some, usually because their module is cached. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { InvalidInputError, sdkProgram } from "stackwright";

import { failureOf, folder, Memory, memoryEngine } from "./support.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));

test("a program that is a cached module deletes nothing in the second operation unless that is allowed", async (t) => {
    // Inside of the tests' folder, from which the SDK can be resolved.
    const directory = fs.mkdtempSync(path.join(here, ".cached-"));
    t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
    const module = path.join(directory, "index.mjs");
    fs.writeFileSync(module, `
        import * as pulumi from "@pulumi/pulumi";
        class Thing extends pulumi.CustomResource {
            constructor(name) { super("mem:index:Thing", name, {}); }
        }
        new Thing("a");
        new Thing("b");
    `);
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: sdkProgram(() => import(pathToFileURL(module).href)),
    });
    assert.equal((await stack.up()).changes.create, 3);
    const preview = await stack.preview();
    assert.equal(preview.changes.delete, 2);
    const [warning] = preview.diagnostics.filter(({ severity }) => severity === "warning");
    assert.match(warning.message, /registered no resources, so the update would delete all 2 resources.*module cache/s);
    const error = await failureOf(stack.up());
    assert.ok(error instanceof InvalidInputError, String(error));
    assert.match(error.message, /allowEmpty/);
    assert.match(error.hints.join(), /module cache/);
    assert.equal(provider.things.size, 2);
    await stack.up({ allowEmpty: true });
    assert.equal(provider.things.size, 0);
    assert.equal((await stack.up()).changes.delete, undefined, "an empty program is allowed on an empty stack");
});

test("a destroy with an empty program is allowed", async (t) => {
    const provider = new Memory();
    const stack = await memoryEngine(provider, { store: `file://${folder(t)}` }).stack("shop/dev", {
        program: (context) => void context.resource("mem:index:Thing", "a"),
    });
    await stack.up();
    await stack.destroy({ destroyProgram: true, program: () => undefined });
    assert.equal(provider.things.size, 0);
});
