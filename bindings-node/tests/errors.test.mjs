import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import * as stackwright from "../index.mjs";

const require = createRequire(import.meta.url);
const { native } = require("../dist/native.js");

test("every kind of error of the engine has a class with its code", () => {
    const codes = native.errorCodes();
    assert.ok(codes.length >= 12);
    assert.deepEqual(Object.keys(stackwright.errorClasses), codes);
    for (const code of codes) {
        const errorClass = stackwright.errorClasses[code];
        const error = new errorClass("text");
        assert.equal(error.code, code);
        assert.ok(error instanceof stackwright.StackwrightError);
        assert.equal(error.name, errorClass.name);
        assert.equal(stackwright[errorClass.name], errorClass, `${errorClass.name} is exported`);
    }
});

test("require and import give the same classes, and all of them", async () => {
    const required = require("../dist/index.js");
    assert.deepEqual(
        Object.keys(required).filter((name) => name !== "__esModule").sort(),
        Object.keys(stackwright).sort(),
    );
    for (const name of Object.keys(stackwright)) {
        assert.equal(stackwright[name], required[name]);
    }
});

test("a wrong store is the caller's mistake, with a hint", () => {
    assert.throws(
        () => new stackwright.Engine({ store: "nowhere" }),
        (error) => error instanceof stackwright.InvalidInputError && error.hints.length > 0,
    );
    assert.throws(() => new stackwright.Engine({}), stackwright.InvalidInputError);
});

test("a wrong stack name, configuration or option is named", async () => {
    const engine = new stackwright.Engine({ store: "memory://" });
    await assert.rejects(engine.stack("nodash"), stackwright.InvalidInputError);
    await assert.rejects(
        engine.stack("shop/dev", { config: { "a:b": new Date() } }),
        (error) => error instanceof stackwright.InvalidInputError && /a:b.*date/.test(error.message),
    );
    await assert.rejects(engine.stack("shop/dev", { create: false }), stackwright.NotFoundError);
    const stack = await engine.stack("shop/dev");
    assert.throws(
        () => stack.up({ paralel: 3 }),
        (error) => error instanceof stackwright.InvalidInputError && /paralel/.test(error.message),
    );
    await assert.rejects(stack.up(), (error) => /no program/.test(error.message));
});
