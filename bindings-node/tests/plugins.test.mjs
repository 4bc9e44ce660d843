/** Installed plugins: listing, installing and removing them, and their downloads. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Engine, InvalidInputError, NotFoundError, PluginError, Plugins } from "stackwright";

import { archive, serve } from "./archive_server.mjs";
import { folder } from "./support.mjs";

/** Closes an engine after the test. */
function open(t, engine) {
    t.after(() => engine.close());
    return engine;
}

const sha256 = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");

test("a plugin is installed from a file, listed and removed", async (t) => {
    const directory = folder(t);
    const file = archive(directory);
    const engine = open(t, new Engine({ store: "memory://", plugins: { cache: join(directory, "plugins") } }));
    assert.deepEqual(await engine.plugins(), []);
    const installed = await engine.installPlugin({ name: "shop", version: "1.0.0", file, checksum: sha256(file) });
    assert.deepEqual([installed.kind, installed.name, installed.version], ["resource", "shop", "1.0.0"]);
    assert.deepEqual([installed.path, installed.size], [join(directory, "plugins", "resource-shop-v1.0.0"), 5]);
    assert.ok(installed.installed && installed.lastUsed);
    await engine.installPlugin({ name: "shop", version: "v2.0.0", file });
    assert.deepEqual((await engine.plugins({ name: "shop" })).map(({ version }) => version), ["1.0.0", "2.0.0"]);
    assert.deepEqual(await engine.plugins({ kind: "tool" }), []);
    const removed = await engine.removePlugin({ name: "shop", versions: "<2.0.0" });
    assert.deepEqual(removed.map(({ version }) => version), ["1.0.0"]);
    assert.deepEqual((await engine.plugins()).map(({ version }) => version), ["2.0.0"]);
});

test("a download reports its progress, and a wrong checksum installs nothing", async (t) => {
    const directory = folder(t);
    const file = archive(directory);
    const { url, asked } = await serve(t, "/pulumi-resource-shop-v1.0.0-", file);
    const engine = open(t, new Engine({ store: "memory://", plugins: { cache: join(directory, "plugins"), server: url } }));
    const shop = { name: "shop", version: "1.0.0" };
    await assert.rejects(engine.installPlugin({ ...shop, checksum: "0".repeat(64) }), (error) => {
        assert.ok(error instanceof PluginError);
        return error.message.includes(sha256(file)) && error.message.includes("0".repeat(64));
    });
    assert.deepEqual(await engine.plugins(), []);
    const seen = [];
    await engine.installPlugin({ ...shop, onProgress: (progress) => void seen.push(progress) });
    const stages = ["downloading", "downloading", "unpacking", "unpacking", "installed"];
    assert.deepEqual(seen.map(({ stage }) => stage), stages);
    const size = readFileSync(file).length;
    assert.deepEqual(seen.map(({ bytes }) => bytes), [0, size, 0, size, 0]);
    await engine.installPlugin(shop);
    assert.equal(asked.length, 2);
    const fail = () => {
        throw new RangeError("on purpose");
    };
    await assert.rejects(engine.installPlugin({ ...shop, reinstall: true, onProgress: fail }), RangeError);
    assert.equal((await engine.plugins()).length, 1);
});

test("wrong requests are refused by name", async (t) => {
    const directory = folder(t);
    const without = open(t, new Engine({ store: "memory://" }));
    await assert.rejects(without.plugins(), /no folder of installed plugins/);
    const engine = open(t, new Engine({ store: "memory://", plugins: { cache: directory } }));
    const shop = { name: "shop", version: "1.0.0" };
    await assert.rejects(engine.installPlugin(shop), InvalidInputError);
    await assert.rejects(engine.installPlugin({ ...shop, file: join(directory, "nowhere") }), NotFoundError);
    // @ts-expect-error: no such member
    await assert.rejects(engine.installPlugin({ ...shop, files: "a" }), /files/);
    // @ts-expect-error: no such kind
    await assert.rejects(engine.plugins({ kind: "bundle" }), InvalidInputError);
    await assert.rejects(engine.removePlugin({}), /names their kind, name or versions/);
});

test("the usual settings are those of the environment", async (t) => {
    const directory = folder(t);
    const before = process.env.PULUMI_HOME;
    process.env.PULUMI_HOME = directory;
    t.after(() => {
        if (before === undefined) {
            delete process.env.PULUMI_HOME;
        } else {
            process.env.PULUMI_HOME = before;
        }
    });
    const engine = open(t, new Engine({ store: "memory://", plugins: Plugins.default() }));
    const installed = await engine.installPlugin({ name: "shop", version: "1.0.0", file: archive(directory) });
    assert.equal(installed.path, join(directory, "plugins", "resource-shop-v1.0.0"));
});
