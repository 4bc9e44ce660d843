/** Conversion of values between Node and the engine: each kind, and values that are refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import { Archive, Asset, isSecret, OutputValue, ResourceReference, secret, Secret, Unknown } from "stackwright";

import { internal } from "./package.mjs";

const { native } = internal("native.js");
const { Bridge } = internal("bridge.js");

const bridge = new Bridge();
const roundTrip = (value) => native.roundTrip(bridge.native, value);

test("plain values are unchanged by a round trip", () => {
    const values = {
        nothing: null,
        yes: true,
        number: -1.5,
        big: Number.MAX_SAFE_INTEGER,
        text: "héllo 🌍",
        empty: "",
        long: "x".repeat(10_000),
        nearlyLong: "é".repeat(126) + "abc",
        list: [1, "a", [null], {}],
        nested: { a: { b: { c: [] } } },
    };
    assert.deepEqual(roundTrip(values), values);
    assert.deepEqual(roundTrip([]), []);
});

test("texts of all lengths around the short buffer are unchanged", () => {
    for (let length = 240; length < 270; length++) {
        for (const letter of ["a", "é", "€", "🌍"]) {
            const text = letter.repeat(length);
            assert.equal(roundTrip(text), text);
            assert.equal(roundTrip(`a${text}`), `a${text}`);
        }
    }
});

test("undefined properties are left out, and undefined elements are null", () => {
    assert.deepEqual(roundTrip({ a: undefined, b: 1 }), { b: 1 });
    assert.deepEqual(roundTrip([undefined]), [null]);
});

test("values without a JavaScript type are instances of their classes", () => {
    const kept = roundTrip({
        secret: secret({ deep: [secret("inner")] }),
        unknown: new Unknown("number"),
        asset: new Asset({ text: "content" }, "abc"),
        file: new Asset({ path: "a/b" }),
        remote: new Asset({ uri: "https://example.com/x" }),
        archive: new Archive({ assets: { a: new Asset({ text: "x" }), sub: new Archive({ path: "dir" }) } }),
        reference: new ResourceReference("urn:pulumi:s::p::a:b:C::n", "id-1", "1.2.3"),
        component: new ResourceReference("urn:pulumi:s::p::a:b:C::n"),
        pending: new ResourceReference("urn:pulumi:s::p::a:b:C::n", new Unknown()),
        output: new OutputValue("v", true, ["urn:pulumi:s::p::a:b:C::n"]),
        bytes: Buffer.from([0, 255]),
    });
    assert.ok(kept.secret instanceof Secret);
    assert.equal(kept.secret.value.deep[0].value, "inner");
    assert.deepEqual(kept.unknown, new Unknown("number"));
    assert.deepEqual(kept.asset, new Asset({ text: "content" }, "abc"));
    assert.equal(kept.file.path, "a/b");
    assert.equal(kept.remote.uri, "https://example.com/x");
    assert.equal(kept.archive.assets.a.text, "x");
    assert.equal(kept.archive.assets.sub.path, "dir");
    assert.deepEqual(kept.reference, new ResourceReference("urn:pulumi:s::p::a:b:C::n", "id-1", "1.2.3"));
    assert.equal(kept.component.id, undefined);
    assert.ok(kept.pending.id instanceof Unknown);
    assert.deepEqual(kept.output.dependencies, ["urn:pulumi:s::p::a:b:C::n"]);
    assert.ok(kept.output.secret);
    assert.deepEqual([...kept.bytes], [0, 255]);
});

test("a property that is named __proto__ is a property", () => {
    const value = JSON.parse('{"__proto__": {"polluted": true}, "a": 1}');
    const kept = roundTrip(value);
    assert.equal(kept.polluted, undefined);
    assert.deepEqual(Object.getOwnPropertyDescriptor(kept, "__proto__").value, { polluted: true });
});

test("an invalid value is refused with its path", () => {
    const refused = (value, pattern) =>
        assert.throws(() => roundTrip(value), (error) => pattern.test(JSON.parse(error.message).message));
    refused({ a: { b: [1, () => 1] } }, /value: a\.b\[1\]: a function is not a value/);
    refused({ a: Promise.resolve(1) }, /a: a promise is not a value/);
    refused({ a: new Date() }, /a: a date is not a value/);
    for (const opaque of [new Map([["b", 1]]), new Set([1]), /x/, new Error("x"), new (class Hidden { #b = 1; })()]) {
        refused({ a: [opaque] }, /a\[0\]: an object of the class \w+, without properties of its own, is not a value/);
    }
    assert.deepEqual(roundTrip({ a: {}, b: Object.create(null) }), { a: {}, b: {} });
    refused({ a: 1n }, /a: a BigInt/);
    refused({ a: Symbol("x") }, /a: a symbol/);
    refused({ a: new ResourceReference("nonsense") }, /a: invalid URN/);
    const cyclic = {};
    cyclic.self = cyclic;
    refused(cyclic, /holds itself/);
});

test("a lone surrogate is refused with its path, and never replaced", () => {
    const long = "x".repeat(1000);
    assert.throws(() => roundTrip({ a: { b: ["fine", "\uD800"] } }), /a\.b\[1\]: .*lone surrogate U\+D800/);
    assert.throws(() => roundTrip({ text: long + "\uDC00" + long }), /text: .*lone surrogate U\+DC00/);
    assert.throws(() => roundTrip({ a: { "k\uD83D": 1 } }), /a: in the name of a property, .*lone surrogate U\+D83D/);
    assert.throws(() => roundTrip({ a: new Asset({ path: "\uD800" }) }), /a\.path: .*lone surrogate/);
    assert.throws(() => roundTrip({ a: secret("\uD800hidden") }), (error) => !error.message.includes("hidden"));
    // Well-formed texts are unchanged, also with the replacement character.
    const fine = { replacement: "\uFFFD", pair: "\uD83D\uDE00", long: long + "\uFFFD" + long };
    assert.deepEqual(roundTrip(fine), fine);
});

test("a property that cannot be read is refused with its path", () => {
    assert.throws(() => roundTrip({ a: [{ get b() { throw new Error("no b"); } }] }), /a\[0\]\.b: .*it threw: no b/);
    assert.throws(() => roundTrip({ a: { get b() { throw Object.create(null); } } }), /a\.b: .*without a readable text/);
    // No pending exception is left for a later call.
    assert.deepEqual(roundTrip({ a: 1 }), { a: 1 });
});

test("the plain JSON form of a value is read and written", () => {
    const text = native.valueToJson({ s: secret("pw"), u: new Unknown() });
    assert.deepEqual(JSON.parse(text), {
        s: { "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", value: "pw" },
        u: "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
    });
    const read = native.valueFromJson(bridge.native, text);
    assert.equal(read.s.value, "pw");
    assert.ok(read.u instanceof Unknown);
});

test("no text of a secret contains its value", () => {
    const value = { a: secret("hunter2") };
    assert.ok(!inspect(value, { showHidden: true, depth: 9 }).includes("hunter2"));
    assert.ok(!JSON.stringify(value).includes("hunter2"));
    for (const show of [() => `${value.a}`, () => String(value.a), () => value.a + ""]) {
        assert.throws(show, (error) => /a secret has no text/.test(error.message) && !/hunter2/.test(error.message));
    }
    assert.ok(isSecret(secret(secret(1))));
    assert.equal(secret(secret(1)).value, 1);
});
