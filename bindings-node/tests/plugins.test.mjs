/** Installed plugins: listing, installing and removing them; their downloads, and those of the Automation API. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";

import * as auto from "../dist/automation/index.js";
import { Engine, InvalidInputError, NotFoundError, PluginError, Plugins } from "../index.mjs";
import { folder } from "./support.mjs";

/** Packs a plugin, and returns the path of its archive. */
function archive(directory, name = "shop") {
    const place = join(directory, "unpacked");
    const executable = `pulumi-resource-${name}`;
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, executable), "shelf");
    chmodSync(join(place, executable), 0o755);
    const path = join(directory, `${name}.tar.gz`);
    execFileSync("tar", ["-czf", path, "-C", place, executable]);
    return path;
}

/** Serves one archive at the paths that begin with a text. */
async function serve(t, begin, path) {
    const asked = [];
    const server = createServer((request, response) => {
        asked.push(request.url);
        const found = request.url?.startsWith(begin);
        response.writeHead(found ? 200 : 404).end(found ? readFileSync(path) : "");
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
    t.after(() => server.close());
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    return { url: `http://127.0.0.1:${port}`, asked };
}

const sha256 = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");

test("a plugin is installed from a file, listed and removed", async (t) => {
    const directory = folder(t);
    const file = archive(directory);
    await using engine = new Engine({ store: "memory://", plugins: { cache: join(directory, "plugins") } });
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
    await using engine = new Engine({ store: "memory://", plugins: { cache: join(directory, "plugins"), server: url } });
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
    const without = new Engine({ store: "memory://" });
    await assert.rejects(without.plugins(), /no folder of installed plugins/);
    await using engine = new Engine({ store: "memory://", plugins: { cache: directory } });
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
    await using engine = new Engine({ store: "memory://", plugins: Plugins.default() });
    const installed = await engine.installPlugin({ name: "shop", version: "1.0.0", file: archive(directory) });
    assert.equal(installed.path, join(directory, "plugins", "resource-shop-v1.0.0"));
});

test("the Automation API installs plugins from servers", async (t) => {
    const directory = folder(t);
    const { url, asked } = await serve(t, "/pulumi-resource-shop-v1.0.0-", archive(directory));
    const workspace = await auto.LocalWorkspace.create({
        workDir: directory,
        pulumiHome: join(directory, "home"),
        projectSettings: { name: "shop", runtime: "nodejs" },
        envVars: { PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES: `^shop$=${url}` },
    });
    const names = async () => (await workspace.listPlugins()).map(({ name, version }) => `${name}-${version}`);
    await workspace.installPluginFromServer("shop", "v1.0.0", url);
    await workspace.installPluginFromServer("shop", "v1.0.0", url);
    assert.deepEqual([asked.length, await names()], [1, ["shop-1.0.0"]]);
    await workspace.removePlugin("shop", "1.0.0");
    await workspace.installPlugin("shop", "v1.0.0", "resource");
    assert.deepEqual([asked.length, await names()], [2, ["shop-1.0.0"]]);
    await workspace.removePlugin("shop");
    const manifest = { name: "@acme/shop", version: "1.0.0", pulumi: { resource: true, name: "shop" } };
    const place = join(directory, "node_modules", "@acme", "shop");
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, "package.json"), JSON.stringify(manifest));
    await workspace.install({ noDependencies: true });
    assert.deepEqual([asked.length, await names()], [3, ["shop-1.0.0"]]);
    await assert.rejects(workspace.installPlugin("shop", "v9.9.9"), /failed to download plugin: shop-9.9.9: failed all 5 attempts/);
});
