/** Many stacks at once over the Automation API: programs of the process, and programs of folders. */

import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "stackwright/automation";

import { folder, Thing } from "./automation_support.mjs";
import { Memory, memoryEngine } from "./support.mjs";

const STACKS = 100;
/** Every fifth program is that of a folder. */
const EVERY = 5;

const INDEX = `const pulumi = require("@pulumi/pulumi");
const config = new pulumi.Config();
const mark = config.require("mark");
const thing = new pulumi.CustomResource("mem:index:Thing", \`thing-\${mark}\`, { size: config.requireNumber("size") });
pulumi.log.info(\`the program \${mark}\`);
exports.stack = pulumi.getStack();
exports.mark = mark;
exports.secret = config.requireSecret("secret");
exports.variable = process.env.SHOP_MARK;
exports.urn = thing.urn;
`;

/** The same program as that of the folders, without its variable: the variables of inline programs are those of the process. */
async function program() {
    const config = new pulumi.Config();
    const mark = config.require("mark");
    const thing = new Thing(`thing-${mark}`, { size: config.requireNumber("size") });
    // Other programs run before the rest of this one.
    await new Promise((resolve) => setImmediate(resolve));
    await pulumi.log.info(`the program ${mark}`);
    return { stack: pulumi.getStack(), mark: config.require("mark"), secret: config.requireSecret("secret"), urn: thing.urn };
}

/** @returns {auto.LocalProgramArgs | auto.InlineProgramArgs} */
function programOf(/** @type {string} */ root, /** @type {number} */ number) {
    const stackName = `dev-${number}`;
    if (number % EVERY !== 0) {
        return { stackName, projectName: "shop", program };
    }
    const workDir = join(root, `project-${number}`);
    mkdirSync(workDir);
    symlinkSync(new URL("../../node_modules", import.meta.url), join(workDir, "node_modules"));
    writeFileSync(join(workDir, "Pulumi.yaml"), "name: shop\nruntime: nodejs\n");
    writeFileSync(join(workDir, "index.js"), INDEX);
    return { stackName, workDir };
}

/** The marks of the programs that a text names. */
const marks = (/** @type {string} */ text) => [...new Set([...text.matchAll(/\bm\d+x\b/g)].map(([mark]) => mark))];

/** What one stack shows of its own and of others. */
async function deployed(/** @type {auto.Stack} */ stack, /** @type {number} */ number) {
    await stack.setAllConfig({
        mark: { value: `m${number}x` },
        size: { value: String(number) },
        secret: { value: `secret-${number}`, secret: true },
    });
    let output = "";
    /** @type {auto.EngineEvent[]} */
    const events = [];
    const { outputs, stdout, summary } = await stack.up({
        onOutput: (text) => (output += text),
        onEvent: (event) => events.push(event),
    });
    const { deployment } = await stack.exportStack();
    const things = deployment.resources.filter(({ type }) => type === "mem:index:Thing");
    return {
        result: summary.result,
        outputs: Object.fromEntries(Object.entries(outputs).map(([name, { value }]) => [name, value])),
        marks: [output, stdout, JSON.stringify(events), JSON.stringify(deployment)].map(marks),
        messages: events.flatMap(({ diagnosticEvent }) => (/the program m\d+x/.test(diagnosticEvent?.message) ? [diagnosticEvent.message.trim()] : [])),
        stacks: [...new Set(JSON.stringify(events).match(/urn:pulumi:dev-\d+::/g))],
        sequences: events.every(({ sequence }, index) => sequence === index),
        things: things.map(({ urn, inputs }) => [urn, inputs.size]),
        config: (await stack.getConfig("size")).value,
    };
}

function expected(/** @type {number} */ number) {
    const [stack, mark] = [`dev-${number}`, `m${number}x`];
    const urn = `urn:pulumi:${stack}::shop::mem:index:Thing::thing-${mark}`;
    const variable = number % EVERY === 0 ? { variable: mark } : {};
    return {
        result: "succeeded",
        outputs: { stack, mark, secret: `secret-${number}`, urn, ...variable },
        marks: [[mark], [mark], [mark], [mark]],
        messages: [`the program ${mark}`],
        stacks: [`urn:pulumi:${stack}::`],
        sequences: true,
        things: [[urn, number]],
        config: String(number),
    };
}

test("a hundred stacks of inline programs and folders do not see each other", { timeout: 120_000 }, async (t) => {
    const root = folder(t);
    const memory = new Memory();
    const pulumiCommand = new auto.Command({ engine: memoryEngine(memory, { providers: { mem: memory } }) });
    const numbers = Array.from({ length: STACKS }, (_, number) => number);
    const seen = await Promise.all(
        numbers.map(async (number) => {
            const envVars = { PULUMI_HOME: join(root, "home"), SHOP_MARK: `m${number}x` };
            const args = programOf(root, number);
            const opts = { pulumiCommand, envVars };
            const stack =
                "program" in args
                    ? await auto.LocalWorkspace.createOrSelectStack(args, opts)
                    : await auto.LocalWorkspace.createOrSelectStack(/** @type {auto.LocalProgramArgs} */ (args), opts);
            return deployed(stack, number);
        }),
    );
    for (const number of numbers) {
        assert.deepEqual(seen[number], expected(number), `dev-${number}`);
    }
});
