/** Commands of the Automation API whose worker ends, whose timers a test replaces, and whose values are no texts. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

import * as auto from "stackwright/automation";

import { chain, folder, opener } from "./automation_support.mjs";

const AUTOMATION = fileURLToPath(import.meta.resolve("stackwright/automation"));
const INDEX = import.meta.resolve("stackwright");

/** The variables of workspaces with a store in a folder. */
function variablesOf(place) {
    mkdirSync(join(place, "state"), { recursive: true });
    return { PULUMI_HOME: join(place, "home"), PULUMI_BACKEND_URL: `file://${place}/state`, PULUMI_CONFIG_PASSPHRASE: "correct horse" };
}

/** A script that opens a stack. */
const OPENING = `
const auto = require(${JSON.stringify(AUTOMATION)});
const open = (program, envVars) =>
    auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "shop", program }, { envVars });
`;

test("the operations of a worker end with it, and its stacks are free", { timeout: 120_000 }, async (t) => {
    const envVars = variablesOf(folder(t));
    const script = `${OPENING}
    const { parentPort, workerData } = require("node:worker_threads");
    const program = async () => {
        parentPort.postMessage("begun");
        await new Promise((resolve) => setTimeout(resolve, 2 ** 30));
    };
    open(program, workerData).then((stack) => stack.up());`;
    const worker = new Worker(script, { eval: true, workerData: envVars, env: { ...process.env, ...envVars } });
    await new Promise((resolve, reject) => {
        worker.once("message", resolve);
        worker.once("error", reject);
    });
    await worker.terminate();
    const args = { stackName: "dev", projectName: "shop", program: async () => ({ size: 1 }) };
    const stack = await auto.LocalWorkspace.createOrSelectStack(args, { envVars });
    // The operation ends soon after its worker.
    for (let attempt = 0; ; attempt++) {
        try {
            const { outputs } = await stack.up();
            assert.equal(outputs.size.value, 1);
            return;
        } catch (error) {
            assert.ok(error instanceof auto.ConcurrentUpdateError && attempt < 1_000, String(error));
            await new Promise((resolve) => setImmediate(resolve));
        }
    }
});

test("a command keeps Node alive although a test has replaced the timers", { timeout: 120_000 }, (t) => {
    const script = `${OPENING}
    require("node:test").mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
    open(async () => ({ size: 1 }), JSON.parse(process.argv[1])).then(async (stack) => {
        await stack.setConfig("size", { value: "1" });
        console.log((await stack.getConfig("size")).value);
    });`;
    const printed = execFileSync(process.execPath, ["--eval", script, JSON.stringify(variablesOf(folder(t)))], { encoding: "utf8" });
    assert.equal(printed, "1\n");
});

test("values that are no texts become those that a process would get", async (t) => {
    const stack = await opener(t)(chain, { envVars: { SIZE: 3, FLAG: true, NOTHING: null, HALF: "\ud800" } });
    await stack.setConfig("size", { value: 5 });
    assert.equal((await stack.getConfig("size")).value, "5");
});

test("a signal that is none is refused, and nothing goes on", { timeout: 120_000 }, (t) => {
    const script = `${OPENING}
    open(async () => ({}), JSON.parse(process.argv[1])).then((stack) => stack.up({ signal: { aborted: false } }))
        .then(() => console.log("done"), (error) => console.log(error.constructor.name));`;
    const printed = execFileSync(process.execPath, ["--eval", script, JSON.stringify(variablesOf(folder(t)))], { encoding: "utf8", timeout: 60_000 });
    assert.equal(printed, "TypeError\n");
});

for (const signal of ["SIGINT", "SIGTERM"]) {
    test(`${signal} cancels an operation gracefully, and ends the process`, { timeout: 120_000 }, async (t) => {
        const place = folder(t);
        const script = `
        const pulumi = require("@pulumi/pulumi");
        const auto = require(${JSON.stringify(AUTOMATION)});
        const things = {
            async create({ name, inputs }) {
                console.log("creating", name);
                if (name === "second") {
                    await new Promise((resolve) => process.stdin.once("data", resolve));
                    console.log("goes on");
                    await new Promise((resolve) => process.stdin.once("data", resolve));
                }
                return { id: name, outputs: inputs };
            },
            delete() {},
        };
        const thing = (name, options) => new pulumi.CustomResource("things:index:Thing", name, {}, options);
        const program = async () => {
            const second = thing("second", { dependsOn: [thing("first")] });
            thing("third", { dependsOn: [second] });
        };
        const place = ${JSON.stringify(place)};
        import(${JSON.stringify(INDEX)}).then(async ({ Engine }) => {
            const engine = new Engine({ store: "file://" + place + "/state", passphrase: "x", providers: { things } });
            const opts = { pulumiCommand: new auto.Command({ engine }), pulumiHome: place + "/home" };
            const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "shop", program }, opts);
            await stack.up();
            console.log("not reached");
        });`;
        const child = spawn(process.execPath, ["--eval", script], { cwd: join(import.meta.dirname, "../..") });
        let [written, errors] = ["", ""];
        child.stderr.on("data", (text) => (errors += text));
        const ended = new Promise((resolve) => child.on("close", (code, by) => resolve([code, by])));
        const writes = (text) =>
            new Promise((resolve) => {
                const check = () => written.includes(text) && resolve();
                child.stdout.on("data", check);
                child.on("close", resolve);
                check();
            });
        child.stdout.on("data", (text) => (written += text));
        await writes("creating second");
        child.kill(signal);
        // The answer to the second text comes in a later turn of the loop than the signal.
        child.stdin.write("first\n");
        await writes("goes on");
        child.stdin.write("second\n");
        assert.deepEqual(await ended, [null, signal], errors);
        assert.equal(written, "creating first\ncreating second\ngoes on\n");
        const { latest } = JSON.parse(readFileSync(join(place, "state/.pulumi/stacks/shop/dev.json"), "utf8")).checkpoint;
        const names = latest.resources.map(({ urn }) => urn.split("::").at(-1));
        assert.deepEqual([names.includes("second"), names.includes("third"), latest.pending_operations ?? []], [true, false, []]);
    });
}
