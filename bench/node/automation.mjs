/** `automation.node.{session,processes,local}` and `import.node`: `node automation.mjs [PREFIX]`. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as path from "node:path";

import * as pulumi from "@pulumi/pulumi";

import * as auto from "../../bindings-node/dist/automation/index.js";
import { Engine } from "../../bindings-node/index.mjs";
import { idleMonitor } from "./idle_monitor.mjs";
import { inFolder, isSelected, print, report, seconds, Things } from "./things.mjs";

const ROUNDS = 9;
const LOCAL_ROUNDS = 5;
const SETTINGS = 20;

/** Encrypts without a key, so that none is derived. */
const plain = {
    kind: "plain",
    encrypt: (texts) => texts.map((text) => `plain:${text}`),
    decrypt: (texts) => texts.map((text) => text.slice("plain:".length)),
};

async function program() {
    for (let number = 0; number < 3; number++) {
        new pulumi.CustomResource("things:index:Thing", `thing-${number}`, { number });
    }
    return { size: new pulumi.Config().get("key-0") };
}

/** The same program in a folder. */
const LOCAL = `const pulumi = require("@pulumi/pulumi");
for (let number = 0; number < 3; number++) {
    new pulumi.CustomResource("things:index:Thing", "thing-" + number, { number });
}
exports.size = new pulumi.Config().get("key-0");
`;

/** Returns the seconds of one life cycle, as a script has it: of an inline program, or of that in `workDir`. */
async function session(folder, stackName, settings, workDir) {
    const engine = new Engine({ store: `file://${folder}/state`, providers: { things: new Things() }, ...settings });
    const opts = { pulumiCommand: new auto.Command({ engine }), pulumiHome: path.join(folder, "home") };
    const took = await seconds(async () => {
        const args = workDir === undefined ? { stackName, projectName: "bench", program } : { stackName, workDir };
        const stack = await auto.LocalWorkspace.createOrSelectStack(args, opts);
        for (let number = 0; number < SETTINGS; number++) {
            await stack.setConfig(`key-${number}`, { value: String(number) });
        }
        await stack.preview();
        const { summary } = await stack.up();
        const outputs = await stack.outputs();
        await stack.destroy();
        assert.equal(outputs.size.value, "0");
        assert.deepEqual(summary.resourceChanges, { create: 4 });
    });
    await engine.close();
    return took;
}

/**
 * Returns how many child processes there are, and one more for each page fault of those that have ended: only the same number twice
 * means that none was started.
 */
function processes() {
    // The fields behind the name of the process, which can have blanks.
    const faults = fs.readFileSync("/proc/self/stat", "utf8").split(") ").at(-1).split(" ")[8];
    return Number(faults) + children().join(" ").split(" ").filter((child) => child.trim() !== "").length;
}

/** Returns the children of each thread. */
function children() {
    for (;;) {
        try {
            return fs.readdirSync("/proc/self/task").map((task) => fs.readFileSync(`/proc/self/task/${task}/children`, "utf8"));
        } catch (error) {
            // A thread that has ended meanwhile has left its children to another one.
            if (error.code !== "ENOENT" && error.code !== "ESRCH") throw error;
        }
    }
}

const launcher = fs.readFileSync(new URL("../../project/src/program/launch.cjs", import.meta.url), "utf8");

/** Returns the seconds of one run of the program in a folder by Node alone. */
async function interpreter(root, address, dryRun) {
    const config = Object.fromEntries([...Array(SETTINGS).keys()].map((number) => [`bench:key-${number}`, String(number)]));
    const program = path.join(root, "index.js");
    const run = { address, project: "bench", stack: "dev", organization: "organization", root, program };
    const facts = JSON.stringify({ ...run, config, secretKeys: [], parallel: 16, dryRun });
    return await seconds(async () => {
        // The launcher states completion after the facts, so that its input is a file.
        const file = path.join(root, "facts.json");
        fs.writeFileSync(file, facts);
        const input = fs.openSync(file, "r+");
        const child = spawn(process.execPath, ["--eval", launcher], { cwd: root, stdio: [input, "inherit", "inherit"] });
        fs.closeSync(input);
        const [code] = await once(child, "exit");
        assert.equal(code, 0);
    });
}

async function local(folder) {
    const place = path.join(folder, "local");
    fs.mkdirSync(place);
    fs.symlinkSync(new URL("../../node_modules", import.meta.url), path.join(place, "node_modules"));
    fs.writeFileSync(path.join(place, "Pulumi.yaml"), "name: bench\nruntime: nodejs\n");
    fs.writeFileSync(path.join(place, "index.js"), LOCAL);
    const monitor = await idleMonitor();
    const took = { whole: [], floor: [] };
    for (let round = 0; round < LOCAL_ROUNDS; round++) {
        took.floor.push((await interpreter(place, monitor.address, true)) + (await interpreter(place, monitor.address, false)));
        took.whole.push(await session(folder, `local-${round}`, { secrets: plain }, place));
    }
    monitor.close();
    const [whole, floor] = [median(took.whole), median(took.floor)];
    report(`automation.node.local: ${whole.toFixed(3)} s, of which the interpreter alone takes ${floor.toFixed(3)} s`);
    print("automation.node.local", whole / floor, "ratio");
}

const median = (numbers) => [...numbers].sort((left, right) => left - right)[Math.floor(numbers.length / 2)];

if (isSelected("automation.node.session") || isSelected("automation.node.processes")) {
    await inFolder(async (folder) => {
        const before = processes();
        const took = [];
        for (let round = 0; round < ROUNDS; round++) {
            took.push(await session(folder, `plain-${round}`, { secrets: plain }));
        }
        print("automation.node.session", 1000 * median(took), "ms");
        print("automation.node.processes", processes() - before, "processes");
        const derived = await session(folder, "derived", { passphrase: "bench" });
        report(`automation.node: the derivation of the key takes ${(1000 * (derived - median(took))).toFixed(0)} ms more`);
    });
}
if (isSelected("automation.node.local")) {
    await inFolder(local);
}
if (isSelected("import.node")) {
    const index = new URL("../../bindings-node/index.mjs", import.meta.url).pathname;
    const timed = `const began = performance.now(); await import(${JSON.stringify(index)}); console.log(performance.now() - began)`;
    const took = [...Array(ROUNDS)].map(() =>
        Number(execFileSync(process.execPath, ["--input-type=module", "--eval", timed], { encoding: "utf8" })),
    );
    print("import.node", median(took), "ms");
}
