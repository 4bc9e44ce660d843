/** Transforms and hooks of `@pulumi/pulumi` programs in processes of their own: the engine calls the server of the SDK there. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { FailedError, unwrap } from "stackwright";

import { failureOf, folder, memoryEngine, Memory } from "./support.mjs";

const START = `
const fs = require("node:fs");
const pulumi = require("@pulumi/pulumi");
const turn = () => new Promise((resolve) => setImmediate(resolve));
const note = (...words) => fs.appendFileSync("calls", words.join(" ") + "\\n");
const config = new pulumi.Config();

class Thing extends pulumi.CustomResource {
    constructor(name, inputs, options) {
        super("mem:index:Thing", name, inputs, options);
    }
}
`;
const TRANSFORMS = `
const trail = (mark) => async ({ name, props, opts }) => {
    await turn();
    if (name === "bad") {
        throw new Error("bad is not allowed");
    }
    if (props.trail === undefined) {
        return undefined;
    }
    const options = pulumi.mergeOptions(opts, { ignoreChanges: [mark] });
    return { props: { ...props, trail: pulumi.interpolate\`\${props.trail},\${mark}\` }, opts: options };
};

class Box extends pulumi.ComponentResource {
    constructor(name, options) {
        super("box:index:Box", name, {}, options);
        new Thing("inner", { trail: "made" }, { parent: this, transforms: [trail("own")] });
        this.registerOutputs({});
    }
}

pulumi.runtime.registerResourceTransform(trail("stack"));
pulumi.runtime.registerInvokeTransform(async ({ args, opts }) => {
    await turn();
    return { args: { x: args.x + 1 }, opts };
});
new Box("box", { transforms: [trail("component")] });
new Thing("plain", { trail: pulumi.secret("made") });
if (config.getBoolean("bad")) {
    new Thing("bad", {}, { transforms: [() => undefined] });
}
exports.doubled = pulumi.runtime.invoke("mem:index:double", { x: 4 }).then(({ doubled }) => doubled);
`;
const HOOKS = `
const content = config.require("content");
const hooks = {};
for (const moment of ["beforeCreate", "afterCreate", "beforeUpdate", "afterUpdate", "beforeDelete", "afterDelete"]) {
    const run = async ({ name, newInputs, oldInputs, newOutputs, oldOutputs }) => {
        await turn();
        if (config.get("refused") === moment) {
            throw new Error("the window is closed");
        }
        note(moment, name, ...[newInputs, oldInputs, newOutputs, oldOutputs].map((value) => (value ? value.content : "-")));
    };
    hooks[moment] = [new pulumi.ResourceHook(moment, run)];
}
// The SDK does not wait for hooks that no resource has.
Promise.all(Object.values(hooks).map(([hook]) => hook.__registered)).then(() => {
    if (content !== "none") {
        new Thing("a", { content }, { hooks });
    }
});
`;
const RETRIES = `
const retry = new pulumi.ErrorHook("retry", async ({ failedOperation, errors }) => {
    note(failedOperation, errors.length, errors[0]);
    await turn();
    return errors.length <= config.requireNumber("retries");
});
new Thing("a", {}, { hooks: { onError: [retry] } });
`;

/** Writes a project with a program in JavaScript; returns its folder, and a function that returns and forgets what the program has noted. */
function write(t, program) {
    const path = folder(t);
    symlinkSync(new URL("../../node_modules", import.meta.url), join(path, "node_modules"));
    writeFileSync(join(path, "Pulumi.yaml"), "name: shop\nruntime: nodejs\n");
    writeFileSync(join(path, "index.js"), START + program);
    const called = () => {
        const calls = join(path, "calls");
        const lines = existsSync(calls) ? readFileSync(calls, "utf8").trim().split("\n") : [];
        rmSync(calls, { force: true });
        return lines;
    };
    return { path, called };
}

const resourceOf = async (stack, name) => {
    const { deployment } = await stack.exportDeployment();
    return deployment.resources.find(({ urn }) => urn.endsWith(`::${name}`));
};

test("transforms of a program in its process apply in order", async (t) => {
    const memory = new Memory();
    const engine = memoryEngine(memory);
    const project = await engine.project(write(t, TRANSFORMS).path);
    const stack = await engine.stack("dev", { project });
    await stack.preview();
    const { changes, outputs } = await stack.up();
    assert.deepEqual([changes, unwrap(outputs)], [{ create: 4 }, { doubled: 10 }]);
    assert.equal((await resourceOf(stack, "inner")).inputs.trail, "made,own,component,stack");
    assert.deepEqual((await resourceOf(stack, "inner")).ignoreChanges.sort(), ["component", "own", "stack"]);
    assert.equal(unwrap([...memory.things].find(([id]) => id.startsWith("plain-"))[1]).trail, "made,stack");
    assert.doesNotMatch(JSON.stringify(await resourceOf(stack, "plain")), /made,stack/, "the transform keeps the secret");
    await project.setConfig("dev", "bad", "true");
    const error = await failureOf(stack.up());
    assert.match(error.message, /resource 'bad'[^]*bad is not allowed/);
    await stack.destroy();
    assert.equal(memory.things.size, 0);
});

test("hooks of a program in its process run, also after its end", async (t) => {
    const memory = new Memory();
    const engine = memoryEngine(memory);
    const { path, called } = write(t, HOOKS);
    const project = await engine.project(path);
    const stack = await engine.stack("dev", { project });
    const up = async (content, refused = "") => {
        await project.setConfig("dev", "content", content);
        await project.setConfig("dev", "refused", refused);
        return await stack.up({ allowEmpty: true });
    };
    const refused = async (content, moment) => {
        const error = await failureOf(up(content, moment));
        assert.ok(error instanceof FailedError, String(error));
        assert.match(error.message, new RegExp(`before hook "${moment}" failed: the window is closed`));
    };
    await refused("one", "beforeCreate");
    assert.equal(memory.things.size, 0);
    await project.setConfig("dev", "refused", "");
    await stack.preview();
    assert.deepEqual(called(), [], "no hook runs in a preview");
    await up("one");
    assert.deepEqual(called(), ["beforeCreate a one - - -", "afterCreate a one - one -"]);
    await up("two");
    assert.deepEqual(called(), ["beforeUpdate a two one - one", "afterUpdate a two one two one"]);
    assert.match((await failureOf(stack.destroy())).message, /delete hooks/);
    assert.deepEqual([memory.things.size, called()], [1, []]);
    // The program ends only when the hooks of what it no longer registers have run.
    await refused("none", "beforeDelete");
    assert.equal(memory.things.size, 1);
    await up("none");
    assert.deepEqual(called(), ["beforeDelete a - two - two", "afterDelete a - two - two"]);
    assert.equal(memory.things.size, 0);
    await up("three");
    called();
    await stack.destroy({ destroyProgram: true });
    assert.deepEqual(called(), ["beforeDelete a - three - three", "afterDelete a - three - three"]);
    assert.equal(memory.things.size, 0);
});

test("an error hook of a program in its process decides on retries", async (t) => {
    let attempts = 0;
    const memory = new Memory({
        create: () => {
            attempts += 1;
            if (attempts <= 2) {
                throw new Error(`attempt ${attempts} failed`);
            }
        },
    });
    const engine = memoryEngine(memory);
    const { path, called } = write(t, RETRIES);
    const project = await engine.project(path);
    const stack = await engine.stack("dev", { project });
    await project.setConfig("dev", "retries", "0");
    assert.match((await failureOf(stack.up())).message, /attempt 1 failed/);
    assert.deepEqual(called().map((line) => line.split(" ").slice(0, 2)), [["create", "1"]]);
    attempts = 0;
    await project.setConfig("dev", "retries", "2");
    await stack.up();
    const asked = called();
    assert.deepEqual(asked.map((line) => line.split(" ").slice(0, 2)), [["create", "1"], ["create", "2"]]);
    assert.match(asked[0], /attempt 1 failed/);
    assert.equal(memory.things.size, 1);
});
