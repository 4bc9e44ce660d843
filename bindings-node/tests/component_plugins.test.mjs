/** Components of plugins in three languages inside each other, up to three deep. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import * as pulumi from "@pulumi/pulumi";

import { Engine, sdkProgram, secret } from "../index.mjs";
import { Memory } from "./support.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const testkit = path.join(root, "testkit");
const python = process.env.STACKWRIGHT_TEST_PYTHON ?? path.join(root, ".venv", "bin", "python");
const gobox = path.join(root, "target", "testkit", "pulumi-resource-gobox");

// In CI, where everything is installed, a missing Python fails the test.
const skip = !process.env.CI && !fs.existsSync(python) && `there is no ${python}`;

const commands = {
    pybox: [python, "-u", path.join(testkit, "python-component")],
    tsbox: ["node", path.join(root, "node_modules/@pulumi/pulumi/cmd/run-plugin/index.js"), path.join(testkit, "node-component")],
    gobox: [gobox],
};

// Each language is outside, in the middle and inside, next to each of the others.
const nests = [
    ["pybox", "tsbox"],
    ["tsbox", "gobox"],
    ["gobox", "pybox"],
    ["tsbox", "pybox", "gobox"],
    ["pybox", "gobox", "tsbox"],
    ["gobox", "tsbox", "pybox"],
];
const boxes = nests.flat().length;

class SdkBox extends pulumi.ComponentResource {
    constructor(outer, name, inputs) {
        super(`${outer}:index:Box`, name, { doubled: undefined, label: undefined, ...inputs }, {}, true);
    }
}

/** Programs of both APIs, with boxes of the size that `size` returns. */
const programs = {
    own: (size) => (context) => {
        nests.forEach(([outer, ...inner], number) => {
            const inputs = { size: size(), label: secret("hush-hush"), inner };
            const box = context.remoteComponent(`${outer}:index:Box`, `box${number}`, inputs);
            context.export(`doubled${number}`, box.get("doubled"));
            context.export(`label${number}`, box.get("label"));
        });
    },
    sdk: (size) =>
        sdkProgram(() => {
            const outputs = {};
            nests.forEach(([outer, ...inner], number) => {
                const box = new SdkBox(outer, `box${number}`, { size: size(), label: pulumi.secret("hush-hush"), inner });
                outputs[`doubled${number}`] = box.doubled;
                outputs[`label${number}`] = box.label;
            });
            return outputs;
        }),
};

/** The output of a box is twice that of the box inside it. */
function check({ outputs }, size) {
    nests.forEach((nest, number) => {
        assert.equal(outputs[`doubled${number}`].value, size * 2 ** nest.length);
        const { value, secret: isSecret } = outputs[`label${number}`];
        assert.deepEqual({ value, isSecret }, { value: "hush-hush", isSecret: true });
    });
}

/** Checks that each box of the state is below the box outside of it. */
async function checkParents(stack) {
    const { deployment } = await stack.exportDeployment();
    const known = Object.fromEntries(deployment.resources.map((record) => [record.urn.split("::").at(-1), record]));
    assert.ok(!JSON.stringify(deployment).includes("hush-hush"), "every copy is encrypted");
    nests.forEach((nest, number) => {
        let name = `box${number}`;
        for (const inner of nest.slice(1)) {
            assert.equal(known[`${name}-in`].type, `${inner}:index:Box`);
            assert.equal(known[`${name}-in`].parent, known[name].urn);
            name += "-in";
        }
        assert.equal(known[`${name}-lid`].parent, known[name].urn);
    });
}

test("components of three languages nest", { skip }, async (t) => {
    // Does nothing when the executable is up to date.
    execFileSync("go", ["build", "-o", gobox, "."], { cwd: path.join(testkit, "go-component") });
    const memory = new Memory();
    const engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: memory }, plugins: { commands } });
    t.after(() => engine.close());
    for (const [name, written] of Object.entries(programs)) {
        let size = 3;
        const stack = await engine.stack(`shop/${name}`, { program: written(() => size) });
        await stack.preview();
        assert.equal(memory.things.size, 0);
        check(await stack.up(), size);
        await checkParents(stack);
        assert.equal(memory.things.size, boxes);
        assert.deepEqual(Object.keys((await stack.up()).changes), ["same"]);
        size = 4;
        const changed = await stack.up();
        check(changed, size);
        assert.deepEqual(Object.keys(changed.changes).sort(), ["same", "update"]);
        await stack.destroy();
        assert.equal(memory.things.size, 0);
    }
});
