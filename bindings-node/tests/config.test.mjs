/** The configuration as a program reads it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import { Config, InvalidInputError, NotFoundError, secret, Secret } from "stackwright";

import { memoryEngine } from "./support.mjs";

test("secret configuration is secret however it is read", async () => {
    let config;
    const values = { pw: secret("hunter2"), open: "x", list: [1, { a: true }], keys: secret({ a: ["b", 1] }), "other:n": 3 };
    const stack = await memoryEngine().stack("shop/dev", {
        config: values,
        program: (context) => void ({ config } = context),
    });
    await stack.up();
    assert.ok(config instanceof Config);
    for (const value of [config.get("pw"), config.require("pw"), config.secret("shop:pw"), new Map(config).get("shop:pw")]) {
        assert.ok(value instanceof Secret && value.value === "hunter2");
    }
    assert.deepEqual([config.get("open"), config.require("open"), config.secret("open").value], ["x", "x", "x"]);
    assert.deepEqual(config.object("list"), [1, { a: true }]);
    assert.deepEqual(config.object("keys").value, { a: ["b", 1] });
    assert.deepEqual([config.get("other:n"), config.get("none"), config.get("__proto__")], ["3", undefined, undefined]);
    assert.deepEqual([config.has("pw"), config.has("none"), config.isSecret("pw"), config.isSecret("open")], [true, false, true, false]);
    assert.deepEqual(config.keys().sort(), ["other:n", "shop:keys", "shop:list", "shop:open", "shop:pw"]);
    assert.ok(!inspect(config).includes("hunter2") && !JSON.stringify(config).includes("hunter2"));
    assert.throws(() => config.require("none"), new NotFoundError("the configuration has no 'shop:none'"));
    assert.throws(() => config.object("pw"), new InvalidInputError("the configuration 'shop:pw' is no JSON"));
    assert.throws(() => config.get(5), /the name of a configuration value is a string, not a number/);
});
