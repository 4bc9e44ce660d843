/** Effects on the process. Each test runs a separate host process, because the test runner handles stray failures. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import * as path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { fileOf } from "./package.mjs";

const support = path.join(path.dirname(fileURLToPath(import.meta.url)), "support.mjs");
const prelude = `
    import * as pulumi from "@pulumi/pulumi";
    import { sdkProgram } from "stackwright";
    import { memoryEngine, Memory } from ${JSON.stringify(support)};
    class Thing extends pulumi.CustomResource {
        constructor(name, inputs) { super("mem:index:Thing", name, inputs); }
    }
    const never = new Promise(() => {});
    const turns = async (count) => { while (count-- > 0) await new Promise((resolve) => setImmediate(resolve)); };
    const outcome = (promise) => promise.then((r) => r.outcome, (e) => e.kind + ": " + e.message);
    const print = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
    const engine = memoryEngine();
`;

/** Runs code as the main module of a separate process. */
function host(code, ...flags) {
    const result = spawnSync(process.execPath, [...flags, "--input-type=module", "--eval", prelude + code], {
        cwd: path.dirname(support),
        encoding: "utf8",
        timeout: 60_000,
    });
    return { ...result, lines: result.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line)) };
}

test("a stray rejection fails only its own run, in both APIs", () => {
    const { status, lines, stderr } = host(`
        const program = (own, fails) => own
            ? async (context) => {
                  context.resource("mem:index:Thing", "a", {});
                  if (fails) { void Promise.reject(new Error("stray")); await never; }
                  await turns(30);
              }
            : sdkProgram(async () => {
                  new Thing("a", {});
                  if (fails) { void Promise.reject(new Error("stray")); await never; }
                  await turns(30);
              });
        const runs = [[true, false], [true, true], [false, false], [false, true]].map(async ([own, fails], index) => {
            const stack = await engine.stack("shop/s" + index, { program: program(own, fails) });
            return outcome(stack.up());
        });
        print(await Promise.all(runs));
    `);
    assert.equal(status, 0, stderr);
    const [[ownFine, ownStray, sdkFine, sdkStray]] = lines;
    assert.equal(ownFine, "succeeded");
    assert.equal(sdkFine, "succeeded");
    assert.match(ownStray, /^program: .*stray/s);
    assert.match(sdkStray, /^program: .*stray/s);
});

test("a throw from a timer fails its own run", () => {
    const { status, lines, stderr } = host(`
        const stack = await engine.stack("shop/dev", {
            program: sdkProgram(async () => { setTimeout(() => { throw new Error("ticked"); }, 1); await never; }),
        });
        const other = await engine.stack("shop/other", { program: sdkProgram(async () => { await turns(50); }) });
        print(await Promise.all([outcome(stack.up()), outcome(other.up())]));
    `);
    assert.equal(status, 0, stderr);
    assert.match(lines[0][0], /^program: .*ticked/s);
    assert.equal(lines[0][1], "succeeded");
});

test("stray failures of the host end the process as without the engine", () => {
    const running = `
        const stack = await engine.stack("shop/dev", { program: async () => { await never; } });
        const operation = stack.up();
        await turns(20);
    `;
    const rejected = host(`${running} void Promise.reject(new Error("the host's own")); await never;`);
    assert.equal(rejected.status, 1);
    assert.match(rejected.stderr, /the host's own/);
    const thrown = host(`${running} setImmediate(() => { throw new Error("the host's own"); }); await never;`);
    assert.equal(thrown.status, 1);
    assert.match(thrown.stderr, /the host's own/);
    const listened = host(`
        process.on("unhandledRejection", (error) => print("received " + error.message));
        ${running}
        void Promise.reject(new Error("it"));
        await turns(5);
        operation.cancel();
        print(await outcome(operation));
    `);
    assert.equal(listened.status, 0, listened.stderr);
    assert.equal(listened.lines[0], "received it");
    const warned = host(
        `${running} void Promise.reject(new Error("only a warning")); await turns(5); print("alive"); operation.cancel();`,
        "--unhandled-rejections=warn",
    );
    assert.equal(warned.status, 0, warned.stderr);
    assert.deepEqual(warned.lines, ["alive"]);
    assert.match(warned.stderr, /only a warning/);
});

test("the process is unchanged when no program runs, and ends by itself", () => {
    const { status, lines, stderr } = host(`
        const before = process.emit;
        const stack = await engine.stack("shop/dev", {
            program: sdkProgram(async () => { print(process.emit === before); new Thing("a", {}); }),
        });
        await stack.up();
        await stack.up({ program: (context) => void context.resource("mem:index:Thing", "a", {}) });
        await turns(5);
        print([
            process.emit === before,
            process.listenerCount("unhandledRejection"),
            process.listenerCount("uncaughtException"),
        ]);
    `);
    assert.equal(status, 0, stderr);
    assert.deepEqual(lines, [false, [true, 0, 0]]);
});

test("a failing SDK program ends only its run", () => {
    const { status, lines, stderr } = host(`
        const stack = await engine.stack("shop/dev", {
            program: sdkProgram(async () => { new Thing("a", { content: Promise.reject(new Error("deep")) }); }),
        });
        const began = performance.now();
        const error = await stack.up().catch((error) => error);
        console.error(error);
        print([error.kind, performance.now() - began < 10_000]);
    `);
    assert.equal(status, 0, stderr);
    assert.deepEqual(lines, [["program", true]]);
    assert.match(stderr, /deep/);
});

test("a resource outside of any run does not change the exit status", () => {
    const { status, lines, stderr } = host(`
        const stack = await engine.stack("shop/dev", { program: sdkProgram(async () => {}) });
        await stack.up();
        try { new Thing("lost", {}); } catch (error) { print(error.kind); }
    `);
    assert.equal(status, 0, stderr);
    assert.deepEqual(lines, ["invalid_input"]);
});

test("an SDK program without sdkProgram() fails and deletes nothing, also as the first program", () => {
    const { status, lines, stderr } = host(`
        import { createRequire } from "node:module";
        const provider = new Memory();
        const stack = await memoryEngine(provider).stack("shop/dev");
        await stack.up({ program: (context) => void context.resource("mem:index:Thing", "a", {}) });
        print([await outcome(stack.preview({ program: () => void new Thing("a", {}) }))]);
        for (const program of [
            async () => ({ id: new Thing("a", {}).id }),
            () => { try { new Thing("a", {}); } catch { /* ignored */ } },
            async () => { await pulumi.runtime.invoke("mem:index:double", { x: 1 }).catch(() => undefined); },
            async () => {
                const require = createRequire(import.meta.url);
                for (const file of Object.keys(require.cache)) {
                    if (file.includes("/@pulumi/pulumi/")) { delete require.cache[file]; }
                }
                const other = require("@pulumi/pulumi");
                print([other !== pulumi && other.CustomResource !== pulumi.CustomResource]);
                new other.CustomResource("mem:index:Thing", "a", {});
            },
        ]) {
            print([await outcome(stack.up({ program })), [...provider.things.keys()]]);
        }
        print([await outcome(stack.up({ program: sdkProgram(() => void new Thing("a", {})) })), [...provider.things.keys()]]);
    `);
    assert.equal(status, 0, stderr);
    const refused =
        "program: the program uses @pulumi/pulumi, but was not wrapped: give sdkProgram(program) in place of the function itself";
    const kept = [refused, ["a-1"]];
    assert.deepEqual(lines, [[refused], kept, kept, kept, [true], kept, ["succeeded", ["a-1"]]]);
});

test("the engines of the main thread and of a worker thread both end", () => {
    const { status, lines, stderr } = host(`
        import { Worker } from "node:worker_threads";
        const code = \`
            const { workerData, parentPort } = require("node:worker_threads");
            (async () => {
                const { Engine } = require(workerData.entry);
                const provider = { create: ({ name }) => ({ id: name }), delete() {} };
                const engine = new Engine({ store: "memory://", passphrase: "x", providers: { mem: provider } });
                const stack = await engine.stack("shop/worker", {
                    program: (context) => void context.resource("mem:index:Thing", "a", {}),
                });
                parentPort.postMessage((await stack.up()).outcome);
            })();
        \`;
        const entry = ${JSON.stringify(fileOf("index.js"))};
        const worker = new Worker(code, { eval: true, execArgv: [], workerData: { entry } });
        worker.on("message", print);
        const exited = new Promise((resolve) => worker.on("exit", resolve));
        const stack = await engine.stack("shop/main", { program: async () => { await turns(20); } });
        print((await stack.up()).outcome);
        await exited;
    `);
    assert.equal(status, 0, stderr);
    assert.deepEqual(lines, ["succeeded", "succeeded"]);
});
