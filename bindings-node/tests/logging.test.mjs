/** The engine's log records on a channel of `node:diagnostics_channel`. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { disableLogging, enableLogging, InvalidInputError, LOG_CHANNEL, secret } from "stackwright";

import { Memory, memoryEngine } from "./support.mjs";

const ENDED = "an operation has ended";

/** Runs an update, and returns the records of it. */
async function recordsOfUpdate(t, level) {
    const records = [];
    let ended;
    // Records keep no process alive: the timer does.
    const whole = new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error("the last record did not arrive within 30 s")), 30_000);
        ended = () => {
            clearTimeout(late);
            resolve();
        };
    });
    const note = (record) => {
        records.push(record);
        if (record.message === ENDED) {
            ended();
        }
    };
    subscribe(LOG_CHANNEL, note);
    t.after(() => unsubscribe(LOG_CHANNEL, note));
    t.after(disableLogging);
    enableLogging(level);
    const program = (context) =>
        void context.resource("mem:index:Thing", "named-hunter22", { password: secret("named-hunter22") });
    const stack = await memoryEngine(new Memory()).stack("shop/dev", { program });
    await stack.up();
    await whole;
    return records;
}

test("records reach the channel with their fields and without secrets", { timeout: 60_000 }, async (t) => {
    const records = await recordsOfUpdate(t, "debug");
    const begins = records.find((record) => record.message === "an operation begins");
    assert.deepEqual(begins.fields, { stack: "shop/dev", verb: "update", preview: "false" });
    assert.deepEqual([begins.level, begins.logger], ["info", "stackwright.operation"]);
    assert.ok(Math.abs(begins.time - Date.now() / 1000) < 600);
    assert.ok(records.some((record) => record.fields.urn?.endsWith("mem:index:Thing::[secret]")));
    assert.ok(!JSON.stringify(records).includes("hunter22"));
});

test("records below the level are not made", { timeout: 60_000 }, async (t) => {
    const records = await recordsOfUpdate(t, "info");
    assert.deepEqual([...new Set(records.map((record) => record.level))], ["info"]);
    assert.throws(() => enableLogging("loud"), InvalidInputError);
});

test("a process with a log ends by itself, after all records", { timeout: 60_000 }, async () => {
    const script = `
        import { subscribe } from "node:diagnostics_channel";
        import { enableLogging, LOG_CHANNEL } from ${JSON.stringify(import.meta.resolve("stackwright"))};
        import { memoryEngine } from ${JSON.stringify(fileURLToPath(new URL("support.mjs", import.meta.url)))};
        subscribe(LOG_CHANNEL, (record) => console.log(record.message));
        enableLogging();
        const stack = await memoryEngine().stack("shop/dev", { program() {} });
        await stack.up();
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
    assert.match(stdout, /an operation begins[^]*an operation has ended/);
});
