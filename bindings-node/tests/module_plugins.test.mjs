/** Components with a state resource in plugins in Python and Go: its calls hand the recorded state to Construct, and wait for the new one. */
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
const NAMES = Array.from({ length: TOP }, (_, number) => [`module-${number}`, `module-${number}-in`]).flat();
/** The largest number of calls at a time; without one, it is 16. */
const UNBOUNDED = 2 ** 31 - 1;
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
        assert.deepEqual([...met].sort(), methods.flatMap((method) => NAMES.map((name) => `${method} ${name}`)).sort());
        return result;
    };
    /**
     * Checks what is recorded: the state of each module is what its last Construct has made of the one it was given. `saw` has the sizes in the given
     * state, which is otherwise like the new one; without sizes, there was none.
     */
    opened.keeps = async (saw, sizes) => {
        const { resources } = (await opened.stack.exportDeployment()).deployment;
        const known = Object.fromEntries(resources.map((resource) => [resource.urn.split("::").at(-1), resource]));
        for (const name of NAMES) {
            const recorded = { module: name, sizes, made: [known[`${name}-0`].urn, known[`${name}-1`].urn] };
            assert.deepEqual(known[`${name}-state`].outputs, recorded);
            assert.deepEqual(known[name].outputs, { made: 2, saw: saw.length === 0 ? {} : { ...recorded, sizes: saw } });
        }
    };
    return opened;
}

for (const parallel of [1, 2]) {
    test(`calls that wait for Construct never hang, ${parallel} at a time, in a program of the SDK`, { skip }, async (t) => {
        const opened = await open(t, programs.sdk);
        const { stack, meets, keeps, memory } = opened;
        await meets(stack.preview({ parallel }), "create");
        assert.equal(memory.things.size, 0);
        assert.equal((await meets(stack.up({ parallel }), "create")).changes.create, 1 + 4 * COUNT);
        await keeps([], [1]);
        assert.deepEqual(Object.keys((await meets(stack.up({ parallel }), "diff")).changes), ["same"]);
        await keeps([1], [1]);
        opened.size = 2;
        await meets(stack.preview({ parallel }), "diff");
        assert.equal((await meets(stack.up({ parallel }), "diff")).changes.update, 3 * COUNT);
        await keeps([1], [1, 2]);
        await meets(stack.refresh({ parallel }));
        await keeps([1], [1, 2]);
        await meets(stack.refresh({ parallel, refreshProgram: true }), "read");
        await keeps([1, 2], [1, 2]);
        await meets(stack.destroy({ parallel }));
        assert.equal(memory.things.size, 0);
    });
}

for (const [name, parallel] of [["two at a time", 2], ["unbounded", UNBOUNDED]]) {
    test(`an update waits for Construct where its Diff does not, ${name}`, { skip }, async (t) => {
        const opened = await open(t, programs.own, { MODULE_SKIPS: "diff" });
        const { stack, meets, keeps } = opened;
        await meets(stack.up({ parallel }), "create");
        await keeps([], [1]);
        opened.size = 2;
        await meets(stack.preview({ parallel }), "update");
        assert.equal((await meets(stack.up({ parallel, refresh: true }), "update")).changes.update, 3 * COUNT);
        await keeps([1], [1, 2]);
        await meets(stack.destroy({ parallel }));
    });
}
