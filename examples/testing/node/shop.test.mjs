/** Tests of a program: run with `node --test`. Neither a provider nor an account is needed. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { crashEverywhere, fail, refactoring, simulated } from "stackwright/testing";

import { program } from "./shop.mjs";

const SETTINGS = {
    config: { password: "correct horse" },
    outputs: {
        "cloud:index:Database": { address: "orders.internal" },
        "cloud:index:Machine": (machine) => ({ address: `${machine.name}.internal` }),
    },
    replaceOn: { "cloud:index:Database": ["engine"] },
};

test("each record has the address of its machine", async (t) => {
    const stack = await simulated(t, program, { stack: "shop/live", ...SETTINGS });
    for (const record of stack.resources.ofType("cloud:index:Record")) {
        assert.equal(record.inputs.address, record.name.replace(".shop", ".internal"));
    }
    (await stack.preview()).assertNoChanges();
});

test("another size updates the machines and nothing else", async (t) => {
    const stack = await simulated(t, program, { stack: "shop/live", ...SETTINGS });
    const result = await stack.up(undefined, { config: { ...SETTINGS.config, size: "large" } });
    result.assertUpdates("web-*", { only: true });
});

test("the live database is protected", async (t) => {
    (await simulated(t, program, { stack: "shop/live", ...SETTINGS })).result.assertProtected("orders");
    const dev = await simulated(t, program, { stack: "shop/dev", ...SETTINGS });
    assert.throws(() => dev.result.assertProtected("orders"), /orders is not/);
});

test("the plan is the one that was reviewed", async (t) => {
    const stack = await simulated(t, program, { stack: "shop/live", run: false, ...SETTINGS });
    (await stack.preview()).assertMatchesSnapshot("plans/live.txt");
});

test("a failed machine leaves the database, and the next run completes it", async (t) => {
    const stack = await simulated(t, program, { run: false, ...SETTINGS });
    const faults = [fail("create", "cloud:index:Machine", { message: "the quota is exceeded" })];
    const result = await stack.up(undefined, { faults, check: false });
    assert.equal(result.outcome, "failed");
    assert.ok(stack.world.has("orders"));
    (await stack.up()).assertCreates("web-0");
});

test("the names of last week are known by their aliases", async () => {
    const lastWeek = (context) => void context.resource("cloud:index:Machine", "web", { size: "small" });
    const today = (context) => void context.resource("cloud:index:Machine", "web-0", { size: "small" }, { aliases: [{ name: "web" }] });
    await refactoring(lastWeek, today);
});

test("a crash at any moment is completed by the next run", async () => {
    assert.ok((await crashEverywhere(program, SETTINGS)).length > 20);
});
