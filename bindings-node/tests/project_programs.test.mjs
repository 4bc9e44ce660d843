/** Programs in the folders of projects, which stacks of our own API run in processes of their own. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { CancelledError, InvalidInputError, PluginError, ProgramError } from "stackwright";

import { failureOf, folder, memoryEngine, Memory } from "./support.mjs";

/** Writes a project with a program in JavaScript. */
function write(t, program) {
    const path = folder(t);
    symlinkSync(new URL("../../node_modules", import.meta.url), join(path, "node_modules"));
    writeFileSync(join(path, "Pulumi.yaml"), "name: shop\nruntime: nodejs\n");
    writeFileSync(join(path, "index.js"), program);
    return path;
}

/** How long a process may take to end, in milliseconds. */
const DEADLINE = 10_000;

function isRunning(process) {
    const status = `/proc/${process}/stat`;
    return existsSync(status) && !readFileSync(status, "utf8").split(") ").at(-1).startsWith("Z");
}

test("a stack runs the program of its project", async (t) => {
    const program = `
        const pulumi = require("@pulumi/pulumi");
        const thing = new pulumi.CustomResource("mem:index:Thing", "thing", { size: 3 });
        console.log("made by", process.pid);
        exports.token = process.env.SHOP_TOKEN;
        exports.process = process.pid;
        exports.id = thing.id;`;
    const memory = new Memory();
    const engine = memoryEngine(memory, { providers: { mem: memory } });
    const stack = await engine.stack("dev", { project: write(t, program), programEnvironment: { SHOP_TOKEN: "hush" } });
    const lines = [];
    const { outputs } = await stack.up({ onEvent: (event) => lines.push(JSON.stringify(event)) });
    assert.deepEqual([outputs.id.value, outputs.token.value], ["thing-1", "hush"]);
    assert.ok(lines.some((line) => line.includes(`made by ${outputs.process.value}`)));
    assert.ok(!isRunning(outputs.process.value));
    assert.deepEqual([...memory.things.keys()], ["thing-1"]);
    assert.deepEqual((await stack.destroy()).changes, { delete: 2 });
});

test("a program that crashes or exits fails with its last lines", async (t) => {
    const failed = async (program) => {
        const error = await failureOf((await memoryEngine().stack("dev", { project: write(t, program) })).up());
        assert.ok(error instanceof ProgramError, String(error));
        return error;
    };
    assert.match((await failed(`throw new TypeError("it is wrong");`)).message, /TypeError: it is wrong/);
    const early = await failed(`console.log("one"); console.error("two"); process.exit(3);`);
    assert.match(early.message, /program exited with non-zero exit code: 3/);
    assert.match(early.hints.join("\n"), /its last lines:\n[^]*two/);
    assert.match((await failed(`process.kill(process.pid, "SIGKILL"); setInterval(() => {}, 1000);`)).message, /ended by the signal 9/);
});

test("a program that hangs is gone after a cancellation", async (t) => {
    const path = write(
        t,
        `const { spawn } = require("node:child_process");
        process.on("SIGINT", () => {});
        const child = spawn("sleep", ["1000"]);
        require("node:fs").writeFileSync("processes", process.pid + " " + child.pid);
        console.log("waiting");
        setInterval(() => {}, 1000);`,
    );
    const controller = new AbortController();
    const stack = await memoryEngine().stack("dev", { project: path });
    const onEvent = (event) => JSON.stringify(event).includes("waiting") && controller.abort();
    assert.ok((await failureOf(stack.up({ signal: controller.signal, onEvent }))) instanceof CancelledError);
    const processes = readFileSync(join(path, "processes"), "utf8").split(" ");
    // A killed process ends a moment after the signal.
    const deadline = Date.now() + DEADLINE;
    while (processes.some(isRunning) && Date.now() < deadline) {
        await new Promise(setImmediate);
    }
    assert.deepEqual(processes.filter(isRunning), []);
});

test("what a program needs is named", async (t) => {
    const path = write(t, "");
    const engine = memoryEngine();
    const stack = await engine.stack("dev", { project: path });
    writeFileSync(join(path, "Pulumi.yaml"), "name: shop\nruntime: yaml\n");
    const missing = await failureOf(stack.up());
    assert.ok(missing instanceof PluginError && /pulumi-language-yaml/.test(missing.message), String(missing));
    const refused = await failureOf(engine.stack("shop/dev", { programEnvironment: { A: "b" } }));
    assert.ok(refused instanceof InvalidInputError && /programEnvironment/.test(refused.message), String(refused));
});
