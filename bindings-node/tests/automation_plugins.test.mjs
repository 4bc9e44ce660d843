/** Plugins over the Automation API: installed from servers, and for a project. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import * as auto from "stackwright/automation";

import { archive, serve } from "./archive_server.mjs";
import { folder } from "./automation_support.mjs";

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
