/** Imports: existing things become resources, and the programs of the result change nothing. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { pathToFileURL } from "node:url";

import { Engine, FailedError, InvalidInputError, Secret, sdkProgram, secret } from "stackwright";

const things = {
    "vm-1": { size: 3, tags: { team: "core", "weird-key": [1, 2.5, null, true] }, motd: 'a "quoted" \\ line\n', token: "s3cret-token" },
    "vm-2": { size: 4 },
    "vm-3": { size: 5, motd: "hello" },
    "vm-4": { size: 4, motd: "hello" },
};

const properties = { size: { type: "integer" }, tags: { type: "object" }, motd: { type: "string", default: "hello" }, token: { type: "string" } };
const schema = { name: "cloud", version: "1.0.0", resources: { "cloud:index:Machine": { inputProperties: properties } } };

/** Things that exist. A creation would be a bug: imports and programs of imports create nothing. */
const cloud = {
    read({ id }) {
        const { token, ...inputs } = things[id] ?? {};
        const all = token === undefined ? inputs : { ...inputs, token: secret(token) };
        return things[id] === undefined ? { id: "" } : { id, inputs: all, outputs: all };
    },
    create({ name }) {
        throw new Error(`${name} is created`);
    },
    delete({ name }) {
        throw new Error(`${name} is deleted`);
    },
    getSchema: () => JSON.stringify(schema),
};

const rows = [
    { type: "cloud:index:Machine", name: "web", id: "vm-1", parent: "shelf", provider: "mine" },
    { type: "cloud:index:Machine", name: "class", id: "vm-2", parent: "web" },
    { type: "shop:index:Shelf", name: "shelf", component: true },
    { type: "pulumi:providers:cloud", name: "mine", inputs: { region: "eu", key: secret("prov1der-key") } },
];

async function withEngine(work) {
    const folder = mkdtempSync(join(tmpdir(), "import-"));
    const engine = new Engine({ store: `file://${folder}/state`, passphrase: "p", providers: { cloud } });
    try {
        await work(engine, folder);
    } finally {
        await engine.close();
        rmSync(folder, { recursive: true, force: true });
    }
}

test("the program of an import changes nothing", () =>
    withEngine(async (engine, folder) => {
        const stack = await engine.stack("shop/dev");
        const preview = await stack.importResources(rows, { dryRun: true });
        assert.equal(preview.isPreview, true);
        assert.equal(preview.changes.import, 3);
        const result = await stack.importResources(rows);
        const { resources, code, configuration } = result.imported;
        assert.deepEqual(
            resources.map(({ outcome }) => outcome),
            ["imported", "imported", "imported", "imported"],
        );
        assert.ok(resources[0].inputs.token instanceof Secret);
        assert.deepEqual(resources[0].inputs.tags, things["vm-1"].tags);
        assert.equal(configuration["shop:webToken"].value, "s3cret-token");
        for (const text of [inspect(result, { depth: 9 }), JSON.stringify(result), String(result)]) {
            assert.ok(!text.includes("s3cret-token") && !text.includes("prov1der-key"), text);
        }
        const file = join(folder, "imported.mjs");
        writeFileSync(file, code.typescript);
        const { program } = await import(pathToFileURL(file).href);
        const programmed = await engine.stack("shop/dev", { program, config: configuration });
        const update = await programmed.up();
        assert.deepEqual([update.changes, update.hasChanges], [{ same: 5 }, false]);
    }));

test("the program of the SDK changes nothing", () =>
    withEngine(async (engine) => {
        const pulumi = await import("@pulumi/pulumi");
        class Machine extends pulumi.CustomResource {
            constructor(name, inputs, options) {
                super("cloud:index:Machine", name, { motd: "hello", ...inputs }, options);
            }
        }
        class Provider extends pulumi.ProviderResource {
            constructor(name, inputs, options) {
                super("cloud", name, inputs, options);
            }
        }
        const child = { ...rows[1], id: "vm-4" };
        const own = [rows[0], child, rows[2], { type: "pulumi:providers:cloud", name: "mine" }, { type: "cloud:index:Machine", name: "plain", id: "vm-3" }];
        const stack = await engine.stack("shop/dev");
        const { code, configuration } = (await stack.importResources(own)).imported;
        const source = code.sdkTypescript;
        assert.ok(source.includes('new cloud.Machine("plain", { size: 5 }, { protect: true });'), source);
        const body = source.replace(/^import .*$/gm, "");
        const run = new Function("pulumi", "cloud", body);
        const program = sdkProgram(async () => void run(pulumi, { Machine, Provider }));
        const programmed = await engine.stack("shop/dev", { program, config: configuration });
        const preview = await programmed.preview();
        assert.equal(preview.hasChanges, false, `${preview}\n${source}`);
    }));

test("what fails is named, and the rest is kept", () =>
    withEngine(async (engine) => {
        const stack = await engine.stack("shop/dev");
        const list = [
            { type: "cloud:index:Machine", name: "web", id: "vm-1" },
            { type: "cloud:index:Machine", name: "lost", id: "vm-9" },
        ];
        const error = await stack.importResources(list).then(assert.fail, (error) => error);
        assert.ok(error instanceof FailedError && error.message.includes("resource 'vm-9' does not exist"), error.message);
        const [web, lost] = error.result.imported.resources;
        assert.deepEqual([web.outcome, web.error, web.protect], ["imported", null, true]);
        assert.ok(lost.outcome === "failed" && lost.error instanceof FailedError);
        assert.equal((await stack.history())[0].kind, "resource-import");
    }));

test("an import file is an object or a string, and misspelt names are refused", () =>
    withEngine(async (engine) => {
        const stack = await engine.stack("shop/dev");
        const file = { resources: [{ type: "shop:index:Shelf", name: "shelf", component: true }] };
        const { imported } = await stack.importResources(file, { protect: false, generateCode: false });
        assert.deepEqual([imported.resources[0].protect, imported.code.python], [false, ""]);
        const again = await stack.importResources(JSON.stringify(file));
        assert.equal(again.imported.resources[0].outcome, "existing");
        assert.throws(() => stack.importResources([{ type: "a:b:C", name: "a", id: "1", protct: true }]), InvalidInputError);
    }));
