/** What shows operations, and the command of the package. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

import { display, InvalidInputError, ProgramError, secret } from "stackwright";

import { fileOf, packageFolder, root } from "./package.mjs";
import { folder, memoryEngine } from "./support.mjs";

const BIN = fileOf("bin.js");

function shop(context) {
    context.resource("mem:index:Thing", "a", { content: "x", password: secret("hunter2") });
    context.resource("mem:index:Thing", "b", { content: "it is hunter2" });
}

/** A stream that keeps what is written. */
class Kept {
    text = "";

    constructor(facts = {}) {
        Object.assign(this, facts);
    }

    write(text) {
        this.text += text;
    }
}

test("onOutput gets the lines of a plain display, beside onEvent", async () => {
    const stack = await memoryEngine().stack("shop/dev", { program: shop });
    const lines = [];
    const events = [];
    await stack.up({ onOutput: (line) => void lines.push(line), onEvent: (event) => void events.push(event) });
    assert.deepEqual(lines.slice(0, 2), ["Updating (dev):", ""]);
    assert.ok(lines.some((line) => line.startsWith(" +  mem:index:Thing a created (")), lines.join("\n"));
    assert.ok(lines.some((line) => line.startsWith("Duration: ")));
    assert.ok(!lines.some((line) => line.includes("hunter2") || line.includes("\n")), lines.join("\n"));
    assert.equal(events[0].sequence, 0);
    assert.notEqual(events.at(-1).cancelEvent, undefined);
});

test("what onOutput throws rejects the operation when that is over", async () => {
    const stack = await memoryEngine().stack("shop/dev", { program: shop });
    const wrong = () => {
        throw new RangeError("the pipe is closed");
    };
    await assert.rejects(stack.up({ onOutput: wrong }), RangeError);
    assert.throws(() => stack.up({ onOutput: "print" }), InvalidInputError);
});

test("display writes lines to a stream and returns the result", async () => {
    const stack = await memoryEngine().stack("shop/dev", { program: shop });
    const stream = new Kept();
    const result = await display(stack.up(), { stream });
    assert.equal(result.outcome, "succeeded");
    assert.ok(stream.text.startsWith("Updating (dev):\n\n") && !stream.text.includes("\x1b"), stream.text);
    const broken = stack.up({
        program: () => {
            throw new Error("no such luck");
        },
    });
    await assert.rejects(display(broken, { stream }), ProgramError);
    assert.match(stream.text, /no such luck/);
    await assert.rejects(display(stack, { stream }), InvalidInputError);
});

test("display updates a tree on a terminal", async () => {
    const { TERM, NO_COLOR } = process.env;
    process.env.TERM = "xterm";
    delete process.env.NO_COLOR;
    try {
        const stack = await memoryEngine().stack("shop/dev", { program: shop });
        const stream = new Kept({ isTTY: true, columns: 100, rows: 30 });
        await display(stack.up(), { stream });
        const end = stream.text.slice(stream.text.lastIndexOf("\x1b[J"));
        assert.match(end, /\x1b\[32mcreated \(/);
        assert.ok(!stream.text.includes("hunter2"));
    } finally {
        process.env.TERM = TERM ?? "";
        if (NO_COLOR !== undefined) {
            process.env.NO_COLOR = NO_COLOR;
        }
    }
});

test("the command of the package passes arguments, streams and exit codes on", (context) => {
    const directory = folder(context);
    const run = (...list) => {
        const env = { PATH: "", HOME: directory, PULUMI_BACKEND_URL: `file://${directory}`, PULUMI_CONFIG_PASSPHRASE: "correct horse" };
        return spawnSync(process.execPath, [BIN, ...list], { cwd: directory, env, encoding: "utf8", timeout: 60_000 });
    };
    assert.match(run("version").stdout, /^v3\.\d+\.\d+\n$/);
    const unknown = run("stack", "select", "dev");
    assert.deepEqual([unknown.status, unknown.stdout], [1, ""]);
    assert.match(unknown.stderr, /^error: no Pulumi\.yaml project file found/);
    assert.equal(run("--nonsense").status, 1);
    const manifest = JSON.parse(readFileSync(path.join(packageFolder, "package.json"), "utf8"));
    assert.equal(path.join(packageFolder, manifest.bin.stackwright), BIN);
});

for (const signal of ["SIGINT", "SIGTERM"]) {
    test(`${signal} cancels the command of the package, and what it has done is recorded`, async (context) => {
        const directory = folder(context);
        writeFileSync(path.join(directory, "Pulumi.yaml"), "name: shop\nruntime: nodejs\n");
        writeFileSync(path.join(directory, "package.json"), "{}");
        writeFileSync(path.join(directory, "index.js"), 'console.log("has begun"); setInterval(() => {}, 1000);\n');
        symlinkSync(path.join(root, "node_modules"), path.join(directory, "node_modules"));
        const env = {
            PATH: path.dirname(process.execPath),
            HOME: directory,
            PULUMI_BACKEND_URL: `file://${directory}`,
            PULUMI_CONFIG_PASSPHRASE: "correct horse",
        };
        const run = (...list) => spawnSync(process.execPath, [BIN, ...list], { cwd: directory, env, encoding: "utf8", timeout: 60_000 });
        assert.equal(run("stack", "init", "dev").status, 0);
        const update = spawn(process.execPath, [BIN, "up", "--yes", "--skip-preview"], { cwd: directory, env });
        let errors = "";
        let written = "";
        update.stderr.on("data", (text) => (errors += text));
        const ended = new Promise((resolve) => update.on("close", (code, by) => resolve([code, by])));
        await new Promise((resolve) => {
            update.stdout.on("data", (text) => {
                written += text;
                if (written.includes("has begun")) {
                    resolve();
                }
            });
            update.on("close", resolve);
        });
        update.kill(signal);
        assert.deepEqual(await ended, [8, null], errors + written);
        assert.match(errors, /^cancelling: running steps complete and are recorded/);
        assert.notEqual(run("stack", "history").stdout, "");
        assert.equal(run("refresh", "--yes", "--skip-preview").status, 0, "the lock is free again");
    });
}
