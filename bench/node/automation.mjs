/** `automation.node.session` and `import.node`: `node automation.mjs [PREFIX]`. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";

import * as pulumi from "@pulumi/pulumi";

import * as auto from "../../bindings-node/dist/automation/index.js";
import { Engine } from "../../bindings-node/index.mjs";
import { inFolder, isSelected, print, report, seconds, Things } from "./things.mjs";

const ROUNDS = 9;
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

/** Returns the seconds of one life cycle, as a script has it. */
async function session(folder, stackName, settings) {
    const engine = new Engine({ store: `file://${folder}/state`, providers: { things: new Things() }, ...settings });
    const opts = { pulumiCommand: new auto.Command({ engine }), pulumiHome: path.join(folder, "home") };
    const took = await seconds(async () => {
        const args = { stackName, projectName: "bench", program };
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

function processes() {
    const tasks = fs.readdirSync("/proc/self/task");
    const children = tasks.map((task) => fs.readFileSync(`/proc/self/task/${task}/children`, "utf8"));
    return children.join(" ").split(" ").filter((child) => child.trim() !== "").length;
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
if (isSelected("import.node")) {
    const index = new URL("../../bindings-node/index.mjs", import.meta.url).pathname;
    const timed = `const began = performance.now(); await import(${JSON.stringify(index)}); console.log(performance.now() - began)`;
    const took = [...Array(ROUNDS)].map(() =>
        Number(execFileSync(process.execPath, ["--input-type=module", "--eval", timed], { encoding: "utf8" })),
    );
    print("import.node", median(took), "ms");
}
