/** Options that become JSON: values without a JSON form are refused by their path. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as vm from "node:vm";

import { Engine, fromPlainJson, InvalidInputError, secret } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const program = () => undefined;

async function refused(call, message) {
    const failure = await failureOf((async () => call())());
    assert.ok(failure instanceof InvalidInputError, failure.stack);
    assert.match(failure.message, message);
    assert.doesNotMatch(failure.message, /hidden/);
}

test("a runtime option without a JSON form is refused by its path", async () => {
    class Settings {}
    const engine = memoryEngine(new Memory());
    for (const [runtimeOptions, message] of [
        [{ x: new Set(["hidden"]) }, /^runtimeOptions\.x: a Set cannot be written as JSON$/],
        [{ x: { "y z": [new Map()] } }, /^runtimeOptions\.x\["y z"\]\[0\]: a Map cannot be written as JSON$/],
        [{ x: new Uint8Array(2) }, /^runtimeOptions\.x: an? Uint8Array cannot be written as JSON$/],
        [{ x: Buffer.from("hidden") }, /^runtimeOptions\.x: a Buffer cannot be written as JSON$/],
        [{ x: new Date() }, /^runtimeOptions\.x: a Date cannot be written as JSON$/],
        [{ x: secret("hidden") }, /^runtimeOptions\.x: a Secret cannot be written as JSON$/],
        [{ x: new Settings() }, /^runtimeOptions\.x: a Settings cannot be written as JSON$/],
        [{ x: /hidden/ }, /^runtimeOptions\.x: a RegExp cannot be written as JSON$/],
        [{ x: Promise.resolve("hidden") }, /^runtimeOptions\.x: a Promise cannot be written as JSON$/],
        [{ x: [Symbol("hidden")] }, /^runtimeOptions\.x\[0\]: a symbol cannot be written as JSON$/],
        [{ x: Infinity }, /^runtimeOptions\.x: Infinity cannot be written as JSON$/],
        [{ x: "\ud800" }, /^runtimeOptions\.x: a string with a lone surrogate cannot be written as JSON$/],
        [{ x: { get y() { throw new Error("no y"); } } }, /^runtimeOptions\.x\.y: the value cannot be read: no y$/],
        [new Set(["hidden"]), /^runtimeOptions takes JSON values by name, not a Set, in the options of a stack$/],
    ]) {
        await refused(() => engine.stack("shop/dev", { program, runtimeOptions }), message);
    }
    assert.deepEqual(await engine.stacks(), []);
    // Objects of other realms and objects without a prototype are plain objects.
    const runtimeOptions = { x: vm.runInNewContext("({ y: [1, {}] })"), z: Object.assign(Object.create(null), { a: null }) };
    await engine.stack("shop/dev", { program, runtimeOptions });
});

test("every option that becomes JSON is checked", async () => {
    const engine = memoryEngine(new Memory());
    const stack = await engine.stack("shop/dev", { program });
    const x = new Set(["hidden"]);
    await refused(() => stack.importDeployment({ version: 3, deployment: { resources: [{ inputs: { x } }] } }),
        /^the deployment document\.deployment\.resources\[0\]\.inputs\.x: a Set cannot be written as JSON$/);
    await refused(() => engine.stack("shop/other", { program, deployment: { x } }), /^deployment\.x: a Set cannot be/);
    await refused(() => stack.up({ plan: { x } }), /^options\.plan\.x: a Set cannot be/);
    const localPolicyPacks = [{ name: "p", config: { all: { x } } }];
    await refused(() => stack.up({ localPolicyPacks }), /^options\.localPolicyPacks\[0\]\.config\.all\.x: a Set cannot be/);
    const secrets = { kind: "vault", state: { x }, encrypt: (texts) => texts, decrypt: (texts) => texts };
    await refused(() => new Engine({ store: "memory://", secrets }), /^secrets\.state\.x: a Set cannot be/);
    await refused(() => fromPlainJson({ x }), /^the value\.x: a Set cannot be/);
});

test("a Set is refused where an option takes a plain object", async () => {
    const engine = memoryEngine(new Memory());
    for (const option of ["tags", "config", "referencePassphrases", "runtimeOptions"]) {
        await refused(() => engine.stack("shop/dev", { program, [option]: new Set() }), new RegExp(`^${option} (is a plain object|takes .* by .*), not a Set`));
    }
    await refused(() => engine.stack("shop/dev", { program, config: { x: new Set() } }), /x/);
    const stack = await engine.stack("shop/dev");
    const failing = (inputs) => stack.up({ program: (context) => void context.resource("mem:index:Thing", "a", inputs) });
    assert.match((await failureOf(failing(new Set()))).message, /are an object of values by name, not a Set/);
    assert.match((await failureOf(failing({ x: new Set() }))).message, /x/);
});
