/** Errors of components in plugins state where the program of `@pulumi/pulumi` uses them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { Engine, sdkProgram } from "stackwright";

import { checkedTsbox, componentPlugins, failureOf, goComponent, Memory, noPythonPlugin as skip } from "./support.mjs";

const file = fileURLToPath(import.meta.url);

/** As users start them: the host in TypeScript checks the types of its plugin. */
const commands = { ...componentPlugins, tsbox: checkedTsbox };

class Guarded extends pulumi.ComponentResource {
    constructor(outer) {
        super(`${outer}:index:Guarded`, "box", { size: 1, count: 1, refused: "construct" }, {}, true);
    }
}

for (const outer of Object.keys(commands)) {
    test(`a failed component in ${outer} states the line of the program`, { skip }, async (t) => {
        goComponent();
        const engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: new Memory() }, plugins: { commands } });
        t.after(() => engine.close());
        // The SDK knows no places in functions without a name.
        const program = sdkProgram(function shop() {
            new Guarded(outer);
        });
        const line = readFileSync(file, "utf8").split("\n").findIndex((text) => text.trim() === "new Guarded(outer);") + 1;
        const error = await failureOf((await engine.stack("shop/dev", { program, rootDirectory: dirname(dirname(dirname(file))) })).up());
        const text = [error.message, ...(error.hints ?? [])].join("\n");
        assert.match(text, new RegExp(`${outer}:index:Guarded resource 'box' has a problem: [^]*no construct of box today`));
        assert.ok(text.includes(`the component is used at bindings-node/tests/${basename(file)}:${line}`), text);
    });
}
