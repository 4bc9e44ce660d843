/** Messages of values that code of the host throws: causes, aggregated errors and values that are no errors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as vm from "node:vm";

import { sdkProgram, secret } from "stackwright";

import { oddValues } from "./hostile_values.mjs";
import { internal } from "./package.mjs";
import { failureOf, Memory, memoryEngine } from "./support.mjs";

const { fullTextOf, textOf } = internal("thrown.js");

const throwing = (value) => () => {
    throw value;
};

async function failure(value, make = (program) => program) {
    const stack = await memoryEngine(new Memory()).stack("shop/dev");
    const error = await failureOf(stack.up({ program: make(throwing(value)) }));
    assert.equal(error.kind, "program", error.stack);
    return error;
}

const inner = new TypeError("connect refused", { cause: new RangeError("port 99999") });

test("the message contains each cause of a program's error once", async () => {
    for (const make of [(program) => program, sdkProgram]) {
        const error = await failure(new Error("cannot load", { cause: inner }), make);
        assert.match(error.message, /Error: cannot load\ncaused by: TypeError: connect refused\ncaused by: RangeError: port 99999$/);
        assert.match(error.programStack, /port 99999\n\s+at .*thrown\.test\.mjs/);
        const messages = error.result.diagnostics.map(({ message }) => message).join("\n");
        assert.equal(`${error.result}`.split("connect refused").length, 2, `${error.result}`);
        assert.ok(messages === "" || messages.split("connect refused").length === 2, messages);
    }
    const repeated = new Error(`cannot load: ${inner.message}`, { cause: inner });
    assert.match((await failure(repeated)).message, /^Error: cannot load: connect refused\ncaused by: RangeError: port 99999$/);
});

test("the message contains the errors of an AggregateError", async () => {
    const several = new AggregateError([new Error("first"), inner, "third"], "all failed", { cause: "late" });
    assert.equal((await failure(several)).message, [
        "AggregateError: all failed",
        "- Error: first",
        "- TypeError: connect refused",
        "  caused by: RangeError: port 99999",
        "- third",
        "caused by: late",
    ].join("\n"));
    const rejected = await failureOf(Promise.any([Promise.reject(new Error("no")), Promise.reject(new Error("nor"))]));
    assert.match((await failure(rejected)).message, /- Error: no\n- Error: nor$/);
});

test("the message contains the cause of a provider's error", async () => {
    const create = throwing(new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:1") }));
    const stack = await memoryEngine(new Memory({ create })).stack("shop/dev");
    const error = await failureOf(stack.up({ program: (context) => void context.resource("mem:index:Thing", "a") }));
    assert.match(error.message, /fetch failed\ncaused by: Error: connect ECONNREFUSED 127\.0\.0\.1:1/);
    assert.equal(error.cause.message, "fetch failed");
});

test("thrown values that are no errors are shown by their content", async () => {
    class Refusal {
        code = 5;
    }
    for (const [value, text] of [
        [{ code: "E5", detail: { tries: [1, 2] } }, '{"code":"E5","detail":{"tries":[1,2]}}'],
        [{ name: "Refused", message: "not today" }, "Refused: not today"],
        [{ message: "not today" }, "not today"],
        [new Refusal(), 'Refusal {"code":5}'],
        [[1, { a: null }], '[1,{"a":null}]'],
        [{ toString: () => "my own text" }, "my own text"],
        [vm.runInNewContext("new TypeError('of another realm')"), "TypeError: of another realm"],
        [new RangeError(), "RangeError"],
        [Symbol("odd"), "Symbol(odd)"],
        [undefined, "undefined"],
        [5n, "5"],
    ]) {
        assert.match((await failure(value)).message, new RegExp(`^${text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}`));
    }
});

test("getters, proxies, cycles and large values have a bounded text", () => {
    let reads = 0;
    const cycle = { get secretly() { reads++; return 1; } };
    cycle.itself = cycle;
    assert.equal(textOf(cycle), '{"secretly":[getter],"itself":{"secretly":[getter],"itself":{"secretly":[getter],"itself":{…}}}}');
    assert.equal(reads, 0);
    assert.ok(textOf({ many: Array.from({ length: 1e6 }, () => "x".repeat(1e4)) }).length < 1100);
    assert.doesNotMatch(textOf({ password: secret("hidden") }), /hidden/);
    for (const [name, make] of Object.entries(oddValues)) {
        for (const value of [make(), { nested: make() }, new Error("outer", { cause: make() }), new AggregateError([make()], "outer")]) {
            const text = fullTextOf(value);
            assert.ok(typeof text === "string" && text.length < 5000, name);
        }
    }
});

test("chains of causes are bounded", () => {
    const circle = new Error("outer");
    circle.cause = new Error("inner", { cause: circle });
    assert.equal(fullTextOf(circle), "outer\ncaused by: Error: inner");
    const endless = (n) => Object.defineProperty(new Error(`number ${n}`), "cause", { get: () => endless(n + 1) });
    assert.equal(fullTextOf(endless(0)).split("\n").length, 22);
    const repeating = () => Object.defineProperty(new Error("the same"), "cause", { get: repeating });
    assert.equal(fullTextOf(repeating()), "the same");
    const many = new AggregateError(Array.from({ length: 1000 }, (_, n) => new Error(`e${n}`)), "many");
    assert.match(fullTextOf(many), /^many\n(- Error: e\d+\n){20}…$/);
    const hostile = Object.defineProperty(new Error("outer"), "cause", { get() { throw Object.create(null); } });
    assert.equal(fullTextOf(hostile), "outer");
});
