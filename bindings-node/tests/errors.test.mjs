/** Errors in Node: classes, kinds, causes and messages. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import * as stackwright from "stackwright";

import { internal } from "./package.mjs";

const require = createRequire(import.meta.url);
const { native } = internal("native.js");

test("every kind of error of the engine has a class of its own", () => {
    const kinds = native.errorKinds();
    assert.ok(kinds.length >= 13);
    assert.deepEqual(Object.keys(stackwright.errorClasses), kinds.map(({ kind }) => kind));
    for (const { kind, errorClass: name } of kinds) {
        const errorClass = stackwright.errorClasses[kind];
        const error = new errorClass("text");
        assert.equal(error.kind, kind);
        assert.equal(error.errorClass, name);
        assert.ok(error instanceof stackwright.StackwrightError);
        assert.equal(error.name, errorClass.name);
        assert.equal(stackwright[errorClass.name], errorClass, `${errorClass.name} is exported`);
    }
});

test("require and import give the same classes, and all of them", async () => {
    const required = require("stackwright");
    assert.deepEqual(
        Object.keys(required).filter((name) => name !== "__esModule").sort(),
        Object.keys(stackwright).sort(),
    );
    for (const name of Object.keys(stackwright)) {
        assert.equal(stackwright[name], required[name]);
    }
});

test("a wrong store is an InvalidInputError with a hint", () => {
    assert.throws(
        () => new stackwright.Engine({ store: "nowhere" }),
        (error) => error instanceof stackwright.InvalidInputError && error.hints.length > 0,
    );
    assert.throws(() => new stackwright.Engine({}), stackwright.InvalidInputError);
});

test("errors name a wrong stack name, configuration or option", async () => {
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

test("an unknown option is named, with the known options", async () => {
    const { Engine, InvalidInputError } = stackwright;
    const refused = (what, known) => (error) =>
        error instanceof InvalidInputError && error.message.includes(what) && error.message.includes(known);
    assert.throws(
        () => new Engine({ store: "memory://", pasphrase: "x" }),
        refused('unknown option "pasphrase" of an engine', "passphrase"),
    );
    const provider = { create: () => ({ id: "x" }), delete() {} };
    const engine = new Engine({ store: "memory://", passphrase: "x", providers: { own: provider } });
    await assert.rejects(
        engine.stack("shop/dev", { programm() {} }),
        refused('unknown option "programm" of a stack', 'did you mean "program"?'),
    );
    const seen = [];
    const stack = await engine.stack("shop/dev", {
        program: (context) => {
            for (const make of [
                () => context.resource("own:index:Thing", "q", {}, { depends_on: [] }),
                () => context.component("my:index:Box", "q", {}, { depends_on: [] }),
                () => context.read("own:index:Thing", "q", "id", {}, { depends_on: [] }),
                () => context.invoke("own:index:do", {}, { depends_on: [] }),
            ]) {
                try {
                    make();
                } catch (error) {
                    seen.push(error);
                }
            }
        },
    });
    for (const name of ["up", "preview", "refresh", "destroy"]) {
        assert.throws(() => stack[name]({ paralel: 3 }), refused(`unknown option "paralel" of ${name}()`, "parallel"));
        assert.throws(() => stack[name](() => {}), refused(`the options of ${name}() are an object`, "not a function"));
    }
    assert.throws(() => stack.up({ onEvnt() {} }), refused('unknown option "onEvnt" of up()', 'did you mean "onEvent"?'));
    assert.throws(() => new Engine({ store: "memory://", resolvr() {} }), refused('unknown option "resolvr"', '"resolver"?'));
    assert.throws(() => stack.destroy({ program() {} }), InvalidInputError);
    await assert.rejects(Promise.resolve(stack.up()), refused("depends_on", "dependsOn"));
    assert.equal(seen.length, 4);
    for (const error of seen) {
        assert.ok(refused('unknown option "depends_on" of the', "dependsOn")(error), error.message);
    }
});

test("a class is refused as a provider", () => {
    const { Engine, InvalidInputError } = stackwright;
    class Files {}
    for (const [wrong, pattern] of [[Files, /"disk" is a class or a function; pass an instance, new Files\(\)/], [3, /no object/]]) {
        assert.throws(
            () => new Engine({ store: "memory://", providers: { disk: wrong } }),
            (error) => error instanceof InvalidInputError && pattern.test(error.message),
        );
    }
});

test("the cause of an error is the value that a provider or a program threw", async () => {
    const fire = new RangeError("on fire");
    for (const create of [() => { throw fire; }, async () => { throw fire; }]) {
        const engine = new stackwright.Engine({
            store: "memory://",
            passphrase: "x",
            providers: { own: { create, delete() {} } },
        });
        const stack = await engine.stack("shop/dev", {
            program: (context) => void context.resource("own:index:Thing", "q"),
        });
        await assert.rejects(stack.up(), (error) => error.kind === "failed" && error.cause === fire);
        const mine = new TypeError("mine");
        const program = async () => { throw mine; };
        await assert.rejects(stack.up({ program }), (error) => error.kind === "program" && error.cause === mine);
        await assert.rejects(
            stack.up({ program: () => { throw new stackwright.InvalidInputError("other"); } }),
            (error) => error.cause !== mine && error.cause?.message === "other",
        );
    }
});
