/** Pooled plugin processes: a process with an outdated environment is never reused. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { Engine, InvalidInputError } from "stackwright";

import { folder, goBuild } from "./support.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const executable = path.join(root, "build", "plugins", "pulumi-resource-gofiles");
// The plugin's environment is read from /proc.
const skip = process.platform !== "linux";

before(() => goBuild("go-provider", executable));

/** Exports the environment and the process ID of the plugin's process, read from /proc/self. */
function look(context) {
    for (const name of ["environ", "stat"]) {
        const file = context.invoke("gofiles:index:readFile", { path: `/proc/self/${name}` });
        context.export(name, file.get("content"));
    }
}

function engineWith(context, plugin, options = {}) {
    const engine = new Engine({ store: "memory://", plugins: { directories: [path.dirname(plugin)], ...options } });
    context.after(() => engine.close());
    return engine;
}

/** Deploys a stack; returns the process ID and the environment of the plugin's process. */
async function ask(engine, name = "shop/dev") {
    const stack = await engine.stack(name, { program: look });
    const { outputs } = await stack.up();
    return { number: outputs.stat.value.split(" ")[0], variables: outputs.environ.value.split("\0") };
}

test("the environment of one tenant is never used for another", { skip }, async (context) => {
    const engine = engineWith(context, executable);
    context.after(() => delete process.env.TENANT_TOKEN);
    for (const [tenant, stack] of [["a", "shop/a"], ["b", "shop/b"], ["a", "shop/a"], ["b", "shop/a"]]) {
        process.env.TENANT_TOKEN = tenant;
        const { variables } = await ask(engine, stack);
        assert.deepEqual(variables.filter((variable) => variable.startsWith("TENANT_TOKEN=")), [`TENANT_TOKEN=${tenant}`]);
    }
});

test("a process is reused while nothing has changed", { skip }, async (context) => {
    const engine = engineWith(context, executable);
    const first = await ask(engine);
    assert.equal((await ask(engine)).number, first.number);
    assert.notEqual((await ask(engine, "shop/other")).number, first.number);
});

test("a rebuilt plugin is restarted", { skip }, async (context) => {
    const place = folder(context);
    const plugin = path.join(place, path.basename(executable));
    const build = () => {
        fs.copyFileSync(executable, path.join(place, "new"));
        fs.renameSync(path.join(place, "new"), plugin);
    };
    build();
    const engine = engineWith(context, plugin);
    const first = await ask(engine);
    assert.equal((await ask(engine)).number, first.number);
    build();
    assert.notEqual((await ask(engine)).number, first.number);
});

test("the pool can be disabled", { skip }, async (context) => {
    for (const options of [{ poolCapacity: 0 }, { poolAgeLimit: 0 }]) {
        const engine = engineWith(context, executable, options);
        assert.notEqual((await ask(engine)).number, (await ask(engine)).number);
    }
});

test("the environment of a plugin contains the runtime options of the project", { skip }, async (context) => {
    const engine = engineWith(context, executable);
    const given = { virtualenv: "venv", typescript: true, unset: undefined, build: { flags: ["-v", 2.5, null] } };
    const stack = await engine.stack("shop/dev", { program: look, runtimeOptions: given });
    const { outputs } = await stack.up();
    const options = outputs.environ.value.split("\0").filter((variable) => variable.startsWith("PULUMI_RUNTIME_"));
    assert.deepEqual(options.sort(), [
        'PULUMI_RUNTIME_BUILD={"flags":["-v",2.5,null]}',
        "PULUMI_RUNTIME_TYPESCRIPT=true",
        "PULUMI_RUNTIME_VIRTUALENV=venv",
    ]);
    const circular = {};
    circular.itself = circular;
    for (const [runtimeOptions, message] of [
        [5, /^runtimeOptions takes JSON values by name, not a number/],
        [{ typescript: () => true }, /^runtimeOptions\.typescript: a function cannot be written as JSON/],
        [{ a: { b: [1n] } }, /^runtimeOptions\.a\.b\[0\]: a bigint cannot be written as JSON/],
        [{ a: Number.NaN }, /^runtimeOptions\.a: NaN cannot be written as JSON/],
        [{ a: circular }, /^runtimeOptions\.a\.itself.*: .*contains itself/],
        [{ "a=b": "c" }, /^the runtime option "a=b" can be no variable of an environment/],
    ]) {
        await assert.rejects(engine.stack("shop/dev", { program: look, runtimeOptions }), (error) => {
            assert.ok(error instanceof InvalidInputError);
            assert.match(error.message, message);
            return true;
        });
    }
});

test("invalid limits of the pool are refused", (context) => {
    for (const [options, message] of [
        [{ poolCapacity: 1.5 }, /^plugins\.poolCapacity takes a whole number from 0 to 4294967295, not 1\.5/],
        [{ poolIdleLimit: -1 }, /^plugins\.poolIdleLimit takes a number of seconds from 0, not -1/],
        [{ poolAgeLimit: Number.NaN }, /plugins\.poolAgeLimit: NaN cannot be written as JSON/],
        [{ poolAgeLimit: "60" }, /poolAgeLimit .*a number of seconds/],
    ]) {
        assert.throws(() => engineWith(context, executable, options), (error) => {
            assert.ok(error instanceof InvalidInputError);
            assert.match(error.message, message);
            return true;
        });
    }
});
