/** Components with a state resource in plugins in Python and Go: its calls wait for Construct, and Construct for them. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { Engine, sdkProgram } from "stackwright";

import { componentPlugins, folder, goComponent, Memory, noPythonPlugin as skip } from "./support.mjs";

const OUTER = ["pymodule", "gobox"];
/** The number of modules in the program; each has one inside, of the other package. */
const TOP = 4;
const COUNT = 2 * TOP;
/** More threads than the SDK for Python waits on here. */
const THREADS = "32";
/** Far more than an operation takes, and less than any timer of the engine that reports a stall, which is 30 seconds. In milliseconds. */
const PROMPT = 20_000;

class Remote extends pulumi.ComponentResource {
    constructor(outer, name, inputs) {
        super(`${outer}:index:Module`, name, inputs, {}, true);
    }
}

const modules = (size) =>
    Array.from({ length: TOP }, (_, number) => {
        const inputs = { size: size(), inner: [OUTER[1 - (number % 2)]] };
        return [OUTER[number % 2], `module-${number}`, inputs];
    });

/** Programs of both APIs. */
const programs = {
    own: (size) => (context) => {
        for (const [outer, name, inputs] of modules(size)) {
            context.remoteComponent(`${outer}:index:Module`, name, inputs);
        }
    },
    sdk: (size) =>
        sdkProgram(() => {
            for (const [outer, name, inputs] of modules(size)) {
                new Remote(outer, name, inputs);
            }
        }),
};

/** A stack of modules whose plugins note which calls have waited for a Construct. */
async function open(t, written, environment = {}) {
    goComponent();
    const log = join(folder(t), "met");
    const set = { MODULE_LOG: log, MODULE_THREADS: THREADS, ...environment };
    Object.assign(process.env, set);
    t.after(() => Object.keys(set).forEach((name) => delete process.env[name]));
    const [python, unbuffered] = componentPlugins.pybox;
    const host = fileURLToPath(new URL("../../testkit/python-module", import.meta.url));
    const commands = { pymodule: [python, unbuffered, host], gobox: componentPlugins.gobox };
    const memory = new Memory();
    const engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: memory }, plugins: { commands } });
    t.after(() => engine.close());
    const opened = { memory, size: 1 };
    opened.stack = await engine.stack("shop/dev", { program: written(() => opened.size) });
    /** Awaits an operation in which these methods, and no others, have waited for the Construct of each module. */
    opened.meets = async (operation, ...methods) => {
        let timer;
        const late = new Promise((_, reject) => {
            timer = setTimeout(() => reject(new Error("the operation takes long")), PROMPT);
        });
        const result = await Promise.race([operation, late]);
        clearTimeout(timer);
        // The report of a stall is a warning; nothing else here warns.
        assert.deepEqual(result.diagnostics.filter(({ severity }) => severity === "warning"), []);
        const met = existsSync(log) ? new Set(readFileSync(log, "utf8").trim().split("\n")) : new Set();
        rmSync(log, { force: true });
        const names = Array.from({ length: TOP }, (_, number) => [`module-${number}`, `module-${number}-in`]).flat();
        assert.deepEqual([...met].sort(), methods.flatMap((method) => names.map((name) => `${method} ${name}`)).sort());
        return result;
    };
    return opened;
}

test("calls that wait for Construct never hang, one at a time, in a program of the SDK", { skip }, async (t) => {
    const opened = await open(t, programs.sdk);
    const { stack, meets, memory } = opened;
    await meets(stack.preview({ parallel: 1 }), "create");
    assert.equal(memory.things.size, 0);
    assert.equal((await meets(stack.up({ parallel: 1 }), "create")).changes.create, 1 + 4 * COUNT);
    assert.deepEqual(Object.keys((await meets(stack.up({ parallel: 1 }), "diff")).changes), ["same"]);
    await meets(stack.refresh({ parallel: 1 }));
    await meets(stack.refresh({ parallel: 1, refreshProgram: true }), "read");
    await meets(stack.destroy({ parallel: 1 }));
    assert.equal(memory.things.size, 0);
});

test("an update waits for Construct where its Diff does not", { skip }, async (t) => {
    const opened = await open(t, programs.own, { MODULE_SKIPS: "diff" });
    const { stack, meets } = opened;
    await meets(stack.up(), "create");
    opened.size = 2;
    await meets(stack.preview(), "update");
    assert.equal((await meets(stack.up({ refresh: true }), "update")).changes.update, 3 * COUNT);
    await meets(stack.destroy());
});
