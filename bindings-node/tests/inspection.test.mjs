/** What `util.inspect`, and with it `console.log`, shows of objects: every public class has a text of its own, and none has a secret. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { inspect } from "node:util";

import * as stackwright from "stackwright";
import { ErrorHook, Hook, Policy, secret } from "stackwright";
import * as automation from "stackwright/automation";
import * as testing from "stackwright/testing";

import { folder, memoryEngine } from "./support.mjs";

const SECRET = "hunter2-hunter2";
const FILE = "mem:index:File";
const CUSTOM = Symbol.for("nodejs.util.inspect.custom");
/** Classes whose members are all public: they are shown as Node does. */
const DATA = [
    "Archive",
    "Asset",
    "FleetResult",
    "LanguageRuntime",
    "ResourceReference",
    "Result",
    "SdkProgram",
    "SimulatedResource",
    "SimulatedResult",
    "Unknown",
];

test("every public class has a text of its own, or public members", () => {
    const classes = Object.entries({ ...stackwright, ...testing }).filter(
        ([, exported]) => typeof exported === "function" && Function.prototype.toString.call(exported).startsWith("class"),
    );
    assert.ok(classes.length > 30);
    const without = classes.filter(([, { prototype }]) => !(prototype instanceof Error) && !Object.hasOwn(prototype, CUSTOM));
    assert.deepEqual(without.map(([name]) => name).sort(), DATA);
});

test("every class of the automation module that is this package's own has a text without the environment", async (t) => {
    const upstream = new Set(Object.values(await import("@pulumi/pulumi/automation/index.js")));
    const own = Object.entries(automation).filter(
        ([, exported]) => typeof exported === "function" && !upstream.has(exported) && exported.prototype !== undefined,
    );
    assert.deepEqual(own.map(([name]) => name).sort(), ["Command", "LocalWorkspace", "PulumiCommand", "RemoteWorkspace", "Stack"]);
    const workDir = folder(t);
    writeFileSync(`${workDir}/Pulumi.yaml`, "name: shop\nruntime: nodejs\n");
    const envVars = { PULUMI_BACKEND_URL: `file://${workDir}`, PULUMI_CONFIG_PASSPHRASE: SECRET };
    const stack = await automation.LocalWorkspace.createStack({ stackName: "dev", workDir }, { envVars });
    assert.equal(inspect(stack), "<Stack dev>");
    assert.equal(inspect(stack.workspace), `<LocalWorkspace ${workDir}>`);
    assert.match(inspect(stack.workspace.pulumiCommand), /^<Command 3\.\d+\.\d+>$/);
    // Its methods are static, and refuse.
    assert.equal(inspect(new automation.RemoteWorkspace()), "RemoteWorkspace {}");
});

test("what a host holds is shown by its names", async (t) => {
    const engine = memoryEngine();
    t.after(() => engine.close());
    assert.equal(inspect(engine), "<Engine on memory://>");
    const shown = {};
    const program = (context) => {
        const password = secret(SECRET);
        const shop = context.component("shop:index:Shop", "shop");
        const file = context.resource(FILE, "a", { content: password }, { parent: shop });
        Object.assign(shown, { context, shop, file, content: file.get("content"), config: context.config });
    };
    const stack = await engine.stack("shop/dev", { program, config: { "shop:size": "1", "shop:token": secret(SECRET) } });
    assert.equal(inspect([stack]), "[ <Stack shop/dev> ]");
    const operation = stack.up();
    assert.equal(inspect(operation), "<Operation running>");
    await operation;
    assert.equal(inspect(operation), "<Operation done>");
    assert.deepEqual(Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, inspect(value, { depth: 9 })])), {
        context: "<ProgramContext of shop/dev>",
        shop: '<Component shop:index:Shop "shop">',
        file: `<Resource ${FILE} "a">`,
        content: "<Output>",
        config: "<Config shop:size, shop:token>",
    });
    const fleet = engine.upAll([stack]);
    assert.equal(inspect(fleet), "<FleetOperation on 1 stacks, running>");
    await fleet;
    assert.equal(inspect(fleet), "<FleetOperation on 1 stacks, done>");
    const place = folder(t);
    writeFileSync(`${place}/Pulumi.yaml`, "name: shop\nruntime: nodejs\n");
    assert.equal(inspect(await engine.project(place)), `<Project ${place}>`);
    await engine.close();
    assert.equal(inspect(engine), "<Engine on memory://, closed>");
});

test("the text of an engine has no password of its store", async (t) => {
    for (const [store, text] of [
        [`postgres://me:${SECRET}@db.example:6432/state?table=team`, "<Engine on postgres://db.example:6432/state?table=team>"],
        [`postgres://me:a/${SECRET}@db.example/state?sslmode=disable`, "<Engine on postgres://db.example/state>"],
        [`postgres://db.example/state?user=me&password=${SECRET}`, "<Engine on postgres://db.example/state>"],
        [`file://${folder(t)}`, undefined],
    ]) {
        const engine = memoryEngine(undefined, { store });
        t.after(() => engine.close());
        assert.equal(inspect(engine), text ?? `<Engine on ${store}>`);
    }
});

test("hooks and policies are shown by their names", () => {
    const run = () => undefined;
    assert.equal(inspect(new Hook("drain", run)), "<Hook drain>");
    assert.equal(inspect(new ErrorHook("patient", run)), "<ErrorHook patient>");
    assert.equal(inspect(new Policy("tags", { check: run, level: "mandatory" })), "<Policy tags, mandatory>");
});
