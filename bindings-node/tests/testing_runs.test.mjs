/** The test kit: components, other stacks, real providers, what is retained, refactorings of options, and configurations of fast-check. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";

import fc from "fast-check";
import { Secret, secret } from "stackwright";
import { configurations, crashEverywhere, kill, refactoring, simulate, simulated } from "stackwright/testing";

const MACHINE = "cloud:index:Machine";

const shop = (context) => void context.resource(MACHINE, "web", { size: context.config.get("size") ?? "small" });

function folder(t) {
    const made = mkdtempSync(path.join(tmpdir(), "stackwright-testing-"));
    t.after(() => rmSync(made, { recursive: true }));
    return made;
}

const boxed = (context) => {
    const box = context.remoteComponent("cloud:index:Box", "box", { size: 1 });
    context.resource(MACHINE, "web", { address: box.get("address") });
};

test("a program with a remote component is stable", async (t) => {
    const outputs = { "cloud:index:Box": { address: "10.0.0.1" } };
    const stack = await simulated(t, boxed, { outputs });
    (await stack.preview()).assertNoChanges();
    assert.ok((await crashEverywhere(boxed, { outputs, every: 4 })).length > 2);
});

test("stack references read the stacks of the test", async (t) => {
    const program = (context) => {
        const other = context.read("pulumi:pulumi:StackReference", "other", "org/other/dev", { name: "org/other/dev" });
        context.resource(MACHINE, "web", { all: other.get("outputs") });
    };
    const stacks = { "other/dev": { url: "https://other", key: secret("k-31337") } };
    const stack = await simulated(t, program, { stacks });
    const { all } = stack.resources.find("web").inputs;
    const text = JSON.stringify(all instanceof Secret ? all.value : all);
    assert.ok(text.includes("https://other"), text);
    assert.ok(!stack.result.planText().includes("31337"));
    await assert.rejects(simulate(program), /in the option `stacks`/);
});

const cloud = (more = {}) => ({
    create: ({ name, inputs }) => ({ id: `i-${name}`, outputs: inputs }),
    update: ({ inputs }) => ({ outputs: inputs }),
    delete() {},
    ...more,
});

test("crashes with real providers are completed, and what is created twice is reported", async () => {
    for (const verb of ["up", "destroy"]) {
        assert.ok((await crashEverywhere(shop, { providers: { cloud: cloud() }, verb })).length > 10);
    }
    let count = 0;
    const numbered = cloud({ create: ({ inputs }) => ({ id: `i-${count++}`, outputs: inputs }) });
    await assert.rejects(crashEverywhere(shop, { providers: { cloud: numbered }, recover: "none" }), /exists with the id i-\d+, and no record has it/);
});

test("what is retained is no discrepancy", async (t) => {
    const retained = (context) => void context.resource(MACHINE, "web", {}, { retainOnDelete: true });
    const stack = await simulated(t, retained);
    await stack.destroy();
    assert.deepEqual([stack.world.size, stack.discrepancies()], [1, []]);
    await crashEverywhere(retained, { verb: "destroy", every: 3 });
});

test("a destroy that leaves something is reported", async () => {
    const recover = (stack) => {
        // The next run destroys nothing.
        const destroy = stack.destroy.bind(stack);
        stack.destroy = (options) => (options.dryRun ? destroy(options) : stack.refresh({ check: false }));
    };
    await assert.rejects(crashEverywhere(shop, { verb: "destroy", recover, every: 30 }), /it left something to do: delete of web/);
});

test("a refactoring changes neither options nor outputs", async (t) => {
    const options = (protect, output) => (context) => {
        context.resource(MACHINE, "web", {}, { protect });
        context.export("o", output);
    };
    await refactoring(options(true, 1), options(true, 1));
    await assert.rejects(refactoring(options(true, 1), options(false, 2)), /protect: true -> false[^]*o: 1 -> 2/);
    const stack = await simulated(t, options(true, 1));
    (await stack.preview(options(false, 1))).assertNoChanges();
});

test("a refactoring may put resources into a component", async () => {
    const program = (group, aliases) => (context) => {
        const parent = group ? context.component("my:index:Group", "group") : undefined;
        const web = context.resource(MACHINE, "web", { size: "small" }, parent ? { parent, aliases } : {});
        context.resource("cloud:index:Record", "dns", { of: web.id });
    };
    const grouped = program(true, [{ noParent: true }]);
    await refactoring(program(false), grouped, { allowComponents: true });
    await assert.rejects(refactoring(program(false), grouped), /no alias explains:\n.*my:index:Group/);
    const unnamed = refactoring(program(false), program(true, []), { allowComponents: true });
    await assert.rejects(unnamed, (error) => /web \(cloud:index:Machine\)  aliases/.test(error.message) && !error.message.includes("dns"));
    const renamed = (context) => {
        const parent = context.component("my:index:Group", "group");
        const web = context.resource(MACHINE, "group-web", { size: "small" }, { parent });
        context.resource("cloud:index:Record", "group-dns", { of: web.id }, { parent });
    };
    await assert.rejects(refactoring(program(false), renamed, { allowComponents: true }), /group-web [^]*group-dns \(cloud:index:Record\)  aliases/);
});

test("a recording with components needs their provider, or is refused", async (t) => {
    const record = path.join(folder(t), "recorded.json");
    const construct = (context, { name, inputs }) => {
        const web = context.resource(MACHINE, `${name}-machine`, { size: inputs.size });
        return { address: web.id };
    };
    const providers = { cloud: cloud({ construct }) };
    await assert.rejects(simulate(boxed, { record, providers }), /a recording cannot have the remote component box/);
    assert.ok(!existsSync(record));
    await simulated(t, boxed, { record, providers, real: ["cloud"] });
    const played = await simulated(t, boxed, { record, providers, real: ["cloud"] });
    assert.ok(played.resources.has("box-machine"));
    (await played.preview()).assertNoChanges();
});

test("an operation after a killed run names restart", async (t) => {
    const stack = await simulated(t, shop, { run: false });
    await stack.up(undefined, { faults: [kill("create", "*", { name: "web" })], check: false });
    const error = await stack.up().then(() => undefined, (thrown) => thrown);
    assert.ok(error.hints.some((hint) => hint.includes("restart()")), error);
});

test("configurations are drawn by fast-check, and a key that is not declared is refused", async (t) => {
    const project = folder(t);
    const config = "config:\n  size: {type: string}\n  count: {type: integer, default: 2}\n  key: {type: string, secret: true}\n  names: {type: array, items: {type: string}}\n";
    writeFileSync(path.join(project, "Pulumi.yaml"), `name: shop\nruntime: nodejs\n${config}`);
    const size = fc.constantFrom("small", "large");
    const drawn = [];
    const configs = await configurations(fc, project, { size });
    const property = fc.asyncProperty(configs, async (each) => {
        drawn.push(each);
        const stack = await simulate(shop, { config: each, stack: "shop/test" });
        (await stack.preview()).assertNoChanges();
        await stack.close();
    });
    await fc.assert(property, { numRuns: 10, seed: 1 });
    assert.ok(drawn.every((each) => ["small", "large"].includes(each["shop:size"]) && each["shop:key"] instanceof Secret));
    const counts = fc.sample(configs, { numRuns: 50, seed: 1 }).map((each) => "shop:count" in each);
    assert.deepEqual(new Set(counts), new Set([true, false]), "a key with a default is left out in some");
    const all = { a: "integer", b: "number", c: "boolean", d: "object", e: "array", f: "array<array<string>>" };
    fc.assert(fc.property(await configurations(fc, all), (each) => Object.keys(each).length === 6), { numRuns: 5, seed: 1 });
    const refused = configurations(fc, { size: "string" }, { sise: size });
    await assert.rejects(refused, { message: /unknown key "sise" of the declared configuration; did you mean "size"\?/ });
    await assert.rejects(configurations(fc, { size: "text" }), /the type of size takes one of/);
});

test("without a recovery, what a crash leaves is a problem", async () => {
    for (const recover of ["none", null]) {
        await assert.rejects(crashEverywhere(shop, { recover }), /no record has it/);
    }
});
