/** Programs of the Pulumi SDK that an import generates: run with classes in the form of generated SDKs, they change nothing. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { Engine, sdkProgram, secret } from "stackwright";

const rule = { fromPort: 80, publicIPs: ["10.0.0.1"], labels: { "weird-Key": "x" }, target: { hostName: "web", maxTries: 3 }, mode: "fast" };
const things = {
    "disk-1": { size: 3, rules: [rule, { fromPort: 81, mode: "slow" }] },
    "link-1": { kmsKeyId: "k", token: secret("s3cret-token") },
    "link-2": { kmsKeyId: "l" },
};

const target = { type: "object", properties: { hostName: { type: "string" }, maxTries: { type: "integer" }, userName: { type: "string" } } };
const ruleType = {
    type: "object",
    properties: {
        fromPort: { type: "integer" },
        publicIPs: { type: "array", items: { type: "string" } },
        labels: { type: "object", additionalProperties: { type: "string" } },
        target: { $ref: "#/types/cloud:compute%2Fv1:Target" },
        mode: { type: "string", default: "slow" },
    },
};
const schema = {
    name: "cloud",
    version: "1.0.0",
    language: { nodejs: { moduleToPackage: { "compute/v1": "compute/one" } } },
    provider: {
        inputProperties: {
            region: { type: "string" },
            retries: { type: "integer", default: 5 },
            ratio: { type: "number" },
            verbose: { type: "boolean" },
            target: { $ref: "#/types/cloud:compute%2Fv1:Target" },
            zones: { type: "array", items: { type: "string" } },
            mode: { $ref: "#/types/cloud:index:Mode" },
            apiKey: { type: "string", secret: true },
            login: { $ref: "#/types/cloud:compute%2Fv1:Target", secret: true },
        },
    },
    resources: {
        "cloud:compute/v1:Disk": {
            inputProperties: { size: { type: "integer" }, rules: { type: "array", items: { $ref: "#/types/cloud:compute%2Fv1:Rule" } } },
        },
        "cloud:appMesh:Link": { inputProperties: { kmsKeyId: { type: "string" }, token: { type: "string" } } },
        "cloud:index:Group": { isComponent: true },
    },
    types: {
        "cloud:compute/v1:Rule": ruleType,
        "cloud:compute/v1:Target": target,
        "cloud:index:Mode": { type: "string", enum: [{ value: "fast" }] },
    },
};

/** Things that exist. A creation would be a bug: programs of imports create nothing. */
const provider = {
    read: ({ id }) => ({ id, inputs: things[id], outputs: things[id] }),
    create({ name }) {
        throw new Error(`${name} is created`);
    },
    construct: () => ({}),
    getSchema: () => JSON.stringify(schema),
};

const withDefaults = (rule) => ({ ...rule, mode: rule.mode ?? "slow" });

class Disk extends pulumi.CustomResource {
    constructor(name, inputs, options) {
        super("cloud:compute/v1:Disk", name, { ...inputs, rules: pulumi.output(inputs.rules).apply((rules) => rules.map(withDefaults)) }, options);
    }
}

class Link extends pulumi.CustomResource {
    constructor(name, inputs, options) {
        super("cloud:appMesh:Link", name, inputs, options);
    }
}

class Group extends pulumi.ComponentResource {
    constructor(name, _inputs, options) {
        super("cloud:index:Group", name, {}, options, true);
    }
}

/** As generated classes do, it writes what is no string as JSON. */
class Provider extends pulumi.ProviderResource {
    constructor(name, inputs, options) {
        const encoded = (value) => pulumi.output(value).apply(JSON.stringify);
        super(
            "cloud",
            name,
            {
                region: inputs?.region,
                retries: encoded(inputs?.retries ?? 5),
                ratio: encoded(inputs?.ratio),
                verbose: encoded(inputs?.verbose),
                target: encoded(inputs?.target),
                zones: encoded(inputs?.zones),
                mode: encoded(inputs?.mode),
                apiKey: inputs?.apiKey ? pulumi.secret(inputs.apiKey) : undefined,
                login: encoded(inputs?.login ? pulumi.secret(inputs.login) : undefined),
            },
            options,
        );
    }
}

const cloud = { compute: { one: { Disk } }, appmesh: { Link }, Group, Provider };

/** Imports the rows, and runs the program that declares them. */
async function sourceWithoutChanges(rows, records) {
    const folder = mkdtempSync(join(tmpdir(), "import-"));
    const engine = new Engine({ store: `file://${folder}/state`, passphrase: "p", providers: { cloud: provider } });
    try {
        const stack = await engine.stack("shop/dev");
        const { code, configuration } = (await stack.importResources(rows)).imported;
        const source = code.sdkTypescript;
        const run = new Function("pulumi", "cloud", source.replace(/^import .*$/gm, ""));
        const program = sdkProgram(async () => void run(pulumi, cloud));
        const programmed = await engine.stack("shop/dev", { program, config: configuration });
        const update = await programmed.up();
        assert.deepEqual(update.changes, { same: records }, `${update}\n${source}`);
        return [source, configuration];
    } finally {
        await engine.close();
        rmSync(folder, { recursive: true, force: true });
    }
}

test("a provider gets the values that its class writes as JSON", async () => {
    const configuration = {
        region: "12",
        retries: "3",
        ratio: "1.5",
        verbose: "true",
        target: '{"maxTries":3,"hostName":"höst"}',
        zones: '["a","b"]',
        mode: '"fast"',
        apiKey: secret("123"),
        login: secret('{"userName":"hunter2"}'),
    };
    const [source, secrets] = await sourceWithoutChanges(
        [
            { type: "pulumi:providers:cloud", name: "mine", inputs: configuration },
            { type: "cloud:appMesh:Link", name: "first", id: "link-1", provider: "mine" },
        ],
        3,
    );
    for (const line of [
        'region: "12",',
        "retries: 3,",
        "ratio: 1.5,",
        "verbose: true,",
        'target: { maxTries: 3, hostName: "höst" },',
        'zones: ["a", "b"],',
        'mode: "fast",',
        'apiKey: config.requireSecret("mineApiKey"),',
        'login: config.requireSecretObject("mineLogin"),',
    ]) {
        assert.ok(source.includes(line), `${line}\n${source}`);
    }
    assert.ok(!source.includes("hunter2"));
    assert.equal(secrets["shop:mineLogin"].value, '{"userName":"hunter2"}');
});

test("classes of modules get objects in the names of the SDK", async () => {
    const [source] = await sourceWithoutChanges(
        [
            { type: "cloud:compute/v1:Disk", name: "disk", id: "disk-1" },
            { type: "cloud:index:Group", name: "group", component: true, remote: true },
            { type: "cloud:appMesh:Link", name: "link", id: "link-1", parent: "group" },
            { type: "cloud:appMesh:Link", name: "below", id: "link-2", parent: "link" },
        ],
        5,
    );
    for (const part of [
        'new cloud.compute.one.Disk("disk", {',
        'publicIPs: ["10.0.0.1"]',
        'target: { hostName: "web", maxTries: 3 }',
        'labels: { "weird-Key": "x" }',
        "{ fromPort: 81 }",
        'const group = new cloud.Group("group", {}, { protect: true });',
        'const link = new cloud.appmesh.Link("link", {\n    kmsKeyId: "k",\n    token: config.requireSecret("linkToken"),\n}, { parent: group, protect: true });',
    ]) {
        assert.ok(source.includes(part), `${part}\n${source}`);
    }
});

test("the plugin of a provider and of a resource is an option, and a default of a class is left out", async () => {
    const plugin = { version: "1.2.0", pluginDownloadUrl: "https://plugins.example" };
    const options = 'version: "1.2.0", pluginDownloadURL: "https://plugins.example"';
    const row = { type: "pulumi:providers:cloud", name: "mine", inputs: { retries: "5", verbose: "false" }, ...plugin };
    const [provider] = await sourceWithoutChanges([row], 2);
    assert.ok(provider.includes(`new cloud.Provider("mine", {\n    verbose: false,\n}, { ${options} });`), provider);
    const [disk] = await sourceWithoutChanges([{ type: "cloud:compute/v1:Disk", name: "disk", id: "disk-1", ...plugin }], 2);
    assert.ok(disk.includes(`}, { ${options}, protect: true });`), disk);
});
