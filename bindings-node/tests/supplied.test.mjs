/** Stacks whose deployment the host supplies; the result has the next deployment. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { test } from "node:test";

import { CancelledError, DecryptError, FailedError, InvalidInputError, secret, StateError } from "stackwright";

import { failureOf, folder, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";

/** A program with these things, each after the one before it: where one is refused, those before it are made. */
const making =
    (...names) =>
    (context) => {
        let before = [];
        for (const name of names) {
            before = [context.resource(THING, name, { key: secret("opensesame") }, { dependsOn: before })];
        }
    };

const things = (document) => {
    const found = (document.deployment.resources ?? []).filter((record) => record.type === THING);
    return found.map((record) => record.urn.split("::").at(-1)).sort();
};

const refusing = () =>
    new Memory({
        create: ({ name }) => {
            if (name === "refused") {
                throw new Error("no such thing");
            }
        },
    });

for (const [name, form] of [
    ["object", (document) => document],
    ["text", JSON.stringify],
]) {
    test(`an operation takes a deployment as ${name} and returns the next one, without the store`, async (t) => {
        const store = folder(t);
        const engine = memoryEngine(refusing(), { store: `file://${store}` });
        let stack = await engine.stack("shop/dev", { program: making("a"), deployment: form({}) });
        assert.deepEqual(things(await (await stack.up()).deployment()), ["a"]);
        const again = await stack.up({ program: making("a", "b") });
        assert.deepEqual(again.changes, { same: 2, create: 1 });

        const program = making("a", "b", "c", "refused");
        stack = await engine.stack("shop/dev", { program, deployment: form(await again.deployment()) });
        const error = await failureOf(stack.up());
        assert.ok(error instanceof FailedError, error.kind);
        const left = await error.result.deployment();
        assert.deepEqual(things(left), ["a", "b", "c"]);
        assert.deepEqual(left, await stack.exportDeployment());
        assert.ok(!JSON.stringify(left).includes("opensesame") && JSON.stringify(left).includes("ciphertext"));
        assert.deepEqual(await stack.history(), []);

        stack = await engine.stack("shop/dev", { create: false, deployment: form(left) });
        assert.deepEqual(things(await (await stack.destroy()).deployment()), []);
        assert.deepEqual(await engine.stacks(), []);
        assert.deepEqual(fs.readdirSync(store), []);
    });
}

test("a cancelled operation returns its deployment", async () => {
    let operation;
    const provider = new Memory({ create: ({ name }) => (name === "b" ? operation.cancel() : undefined) });
    const stack = await memoryEngine(provider).stack("shop/dev", { program: making("a", "b"), deployment: {} });
    await stack.up({ program: making("a") });
    operation = stack.up();
    const error = await failureOf(operation);
    assert.ok(error instanceof CancelledError, error.kind);
    assert.deepEqual(things(await error.result.deployment()), ["a", "b"]);
});

test("a stack of the store and a supplied stack of the same name are independent", async () => {
    const engine = memoryEngine();
    const stored = await engine.stack("shop/dev", { program: making("stored") });
    await stored.up();
    const before = await stored.exportDeployment();
    const opened = ["one", "other"].map((name) => engine.stack("shop/dev", { program: making(name), deployment: {} }));
    const results = await Promise.all((await Promise.all(opened)).map((stack) => stack.up()));
    const left = await Promise.all(results.map((result) => result.deployment()));
    assert.deepEqual(left.map(things), [["one"], ["other"]]);
    assert.deepEqual(await stored.exportDeployment(), before);
});

test("a wrong passphrase of a supplied deployment is refused when the stack is opened", async () => {
    const engine = memoryEngine();
    const settings = { program: making("a"), passphrase: "right" };
    const deployment = await (await (await engine.stack("shop/dev", { ...settings, deployment: {} })).up()).deployment();
    for (const wrong of [{}, { passphrase: "wrong" }]) {
        const error = await failureOf(engine.stack("shop/dev", { ...wrong, deployment }));
        assert.ok(error instanceof DecryptError, error.kind);
        assert.match(error.message, /^the deployment of stack 'shop\/dev': incorrect passphrase/);
    }
    const result = await (await engine.stack("shop/dev", { ...settings, deployment })).up();
    assert.deepEqual(result.changes, { same: 2 });
});

test("the error of a malformed deployment names the defect", async () => {
    const circle = {};
    circle.deployment = circle;
    for (const [deployment, kind, message] of [
        ["{", StateError, /the deployment of stack 'shop\/dev': cannot read the state: EOF/],
        ["", StateError, /cannot read the state: EOF/],
        [{ version: 99, deployment: {} }, StateError, /too new/],
        [{ version: 3, checkpoint: {} }, StateError, /no field 'deployment'/],
        [5, InvalidInputError, /deployment.* a deployment document.*number/],
        [null, InvalidInputError, /deployment is null, not a deployment document/],
        [[], InvalidInputError, /deployment.* a deployment document/],
        [circle, InvalidInputError, /^deployment\.deployment.*: .*contains itself/],
    ]) {
        const error = await failureOf(memoryEngine().stack("shop/dev", { deployment }));
        assert.ok(error instanceof kind, `${error.kind}: ${error.message}`);
        assert.match(error.message, message);
    }
});
