/** Cyclic values and values that are nested too deep: the error names the path, in inputs and in outputs. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Secret } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";

function cycle() {
    const box = { list: [1, { inner: {} }] };
    box.list[1].inner.box = box;
    return box;
}

function deep(levels) {
    let value = {};
    for (let level = 0; level < levels; level++) {
        value = { in: value };
    }
    return value;
}

/** Returns a tree whose leaves refer to the root: the number of paths is exponential. */
function tree(breadth) {
    const root = { leaves: [] };
    root.leaves = Array.from({ length: breadth }, () => ({ root }));
    return root;
}

test("cyclic inputs are refused by the path that closes the cycle", async () => {
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev");
    const own = {};
    own.self = own;
    for (const [make, message] of [
        [(context) => context.resource(THING, "a", { box: cycle() }), /the inputs of the resource "a" contain themselves: box\.list\[1\]\.inner\.box is the same object as box$/],
        [(context) => context.resource(THING, "a", own), /self is the same object as all of them$/],
        [(context) => context.resource(THING, "a", { box: new Secret(cycle()) }), /box\.list\[1\]\.inner\.box is the same object as box$/],
        [(context) => context.resource(THING, "a", { box: tree(100) }), /box\.leaves\[0\]\.root is the same object as box$/],
        [(context) => context.resource(THING, "a", { deep: deep(300) }), /the inputs of the resource "a" are nested more than 200 levels deep/],
        [(context) => context.resource(THING, "a", { deep: deep(100_000) }), /are nested more than 200 levels deep/],
        [(context) => context.invoke("mem:index:double", { x: cycle() }), /the arguments of mem:index:double contain themselves: x\.list/],
        [(context) => context.export("out", cycle()), /the values of the output "out" contain themselves: list\[1\]\.inner\.box/],
        [
            (context) => {
                const a = context.resource(THING, "a");
                const box = cycle();
                box.list[0] = a.id;
                context.resource(THING, "b", { box });
            },
            /the input box of the resource "b" contain themselves: list\[1\]\.inner\.box is the same object as all of them$/,
        ],
        [
            (context) => {
                const root = tree(20);
                root.leaves[0].id = context.resource(THING, "a").id;
                context.resource(THING, "b", { root });
            },
            /the inputs of the resource "b" contain themselves: root\.leaves\[0\]\.root is the same object as root$/,
        ],
    ]) {
        const failure = await failureOf(stack.up({ program: (context) => void make(context) }));
        assert.equal(failure.kind, "program", failure.stack);
        assert.match(failure.message, message);
    }
    assert.ok(!provider.calls.includes("create b"));
});

test("an object may occur in two places", async () => {
    const shared = { x: 1 };
    const stack = await memoryEngine(new Memory()).stack("shop/dev");
    const result = await stack.up({
        program: (context) => context.export("out", context.resource(THING, "a", { one: shared, other: [shared, shared] }).outputs),
    });
    assert.deepEqual(result.outputs.out.value.other, [shared, shared]);
});

test("cyclic outputs of a provider are refused by the path", async () => {
    const provider = new Memory();
    const own = {};
    own.self = own;
    for (const [outputs, message] of [
        [{ box: cycle() }, /create cannot be read: outputs\.box\.list\[1\]\.inner\.box: it is the same object as box, which so holds itself/],
        [own, /outputs\.self: the value holds itself there/],
        [{ deep: deep(300) }, /outputs\.deep\.in\.in\S*: it is nested more than 200 levels deep/],
    ]) {
        provider.create = () => ({ id: "a", outputs });
        const program = (context) => void context.resource(THING, "a");
        const stack = await memoryEngine(provider).stack("shop/dev", { program });
        const failure = await failureOf(stack.up());
        assert.equal(failure.kind, "failed", failure.stack);
        assert.match(failure.message, message);
    }
});
