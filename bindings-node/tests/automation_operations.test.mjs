/** Every option of the operations of stacks over the Automation API, and what they return. */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "stackwright/automation";

import { chain, counts, folder, opener, Thing } from "./automation_support.mjs";
import { Memory } from "./support.mjs";

const URN = "urn:pulumi:dev::shop::mem:index:Thing::";
const NO_EFFECT = ["warning: --logflow", "warning: --logtostderr", "warning: --verbose"];

const warnings = (stderr) =>
    stderr.split("\n").filter((line) => line.includes("has no effect")).map((line) => line.split(" has no effect")[0]);

/** A settings file with another size. */
function special(t) {
    const file = join(folder(t), "special.yaml");
    writeFileSync(file, 'config:\n  shop:size: "7"\n');
    return file;
}

const called = (memory, method) => memory.calls.filter((call) => call.startsWith(method)).length;

test("previews show their options and change nothing", async (t) => {
    const memory = new Memory();
    const stack = await opener(t, memory)();
    await stack.up();
    const heard = { output: "", error: "", events: [] };
    const preview = await stack.preview({
        message: "look",
        parallel: 1,
        color: "never",
        logFlow: true,
        logVerbosity: 3,
        logToStdErr: true,
        debug: true,
        diff: true,
        suppressOutputs: true,
        suppressProgress: true,
        configFile: special(t),
        userAgent: "shop/1.0",
        signal: new AbortController().signal,
        program: chain,
        onOutput: (text) => (heard.output += text),
        onError: (text) => (heard.error += text),
        onEvent: (event) => heard.events.push(event),
    });
    assert.equal(counts(preview.changeSummary).update, 2);
    assert.match(preview.stdout, /size: 1 => 7/);
    assert.doesNotMatch(preview.stdout, /Outputs:/);
    assert.deepEqual(warnings(preview.stderr), NO_EFFECT);
    assert.deepEqual([heard.output.trimEnd(), heard.error.trimEnd()], [preview.stdout, preview.stderr]);
    assert.deepEqual(heard.events.map(({ sequence }) => sequence), [...heard.events.keys()]);
    assert.equal(called(memory, "update"), 0);
});

test("previews are limited to resources", async (t) => {
    const stack = await opener(t)();
    await stack.up();
    const configFile = special(t);
    const of = async (/** @type {Promise<auto.PreviewResult>} */ preview) => counts((await preview).changeSummary);
    const [first, beside] = [`${URN}first`, `${URN}beside`];
    const one = { same: 3, update: 1 };
    assert.deepEqual(await of(stack.preview({ configFile, target: [beside] })), one);
    assert.deepEqual(await of(stack.preview({ configFile, target: [first], targetDependents: true })), one);
    assert.deepEqual(await of(stack.preview({ configFile, exclude: [beside] })), one);
    assert.deepEqual(await of(stack.preview({ configFile, exclude: [first], excludeDependents: true })), one);
    assert.deepEqual(await of(stack.preview({ replace: [beside] })), { same: 3, replace: 1 });
    assert.deepEqual(await of(stack.preview({ expectNoChanges: true })), { same: 4 });
    await assert.rejects(stack.preview({ configFile, expectNoChanges: true }), /no changes were expected for preview/);
});

test("a refresh before an operation finds what has changed outside", async (t) => {
    const memory = new Memory();
    const stack = await opener(t, memory)();
    await stack.up();
    const lose = () => [...memory.things.keys()].filter((name) => name.startsWith("beside")).forEach((name) => memory.things.delete(name));
    lose();
    assert.deepEqual(counts((await stack.preview()).changeSummary), { same: 4 });
    assert.equal(counts((await stack.preview({ refresh: true })).changeSummary).create, 1);
    assert.equal(counts((await stack.preview({ refresh: true, runProgram: true })).changeSummary).create, 1);
    assert.equal(counts((await stack.up({ refresh: true })).summary.resourceChanges).create, 1);
    lose();
    assert.equal(counts((await stack.up({ refresh: true, runProgram: true })).summary.resourceChanges).create, 1);
    lose();
    assert.equal(counts((await stack.previewDestroy({ refresh: true })).changeSummary).delete, 3);
    await stack.destroy({ refresh: true });
    assert.equal(called(memory, "delete"), 2);
});

test("updates have every option of the display", async (t) => {
    const stack = await opener(t)();
    await stack.up();
    let errors = "";
    const up = await stack.up({
        message: "sized",
        parallel: 2,
        color: "never",
        logFlow: true,
        logVerbosity: 3,
        logToStdErr: true,
        debug: true,
        diff: true,
        suppressOutputs: true,
        suppressProgress: true,
        configFile: special(t),
        continueOnError: true,
        userAgent: "shop/1.0",
        program: chain,
        onError: (text) => (errors += text),
    });
    assert.match(up.stdout, /size: 1 => 7/);
    assert.doesNotMatch(up.stdout, /Outputs:/);
    assert.deepEqual([warnings(up.stderr), errors.trimEnd()], [NO_EFFECT, up.stderr]);
    const { summary } = up;
    assert.deepEqual([summary.kind, summary.message, summary.result, summary.version], ["update", "sized", "succeeded", 0]);
    assert.deepEqual(counts(summary.resourceChanges), { same: 2, update: 2 });
    assert.ok(summary.startTime instanceof Date && summary.startTime <= summary.endTime && summary.Deployment === undefined);
    assert.equal(summary.environment["exec.agent"], "shop/1.0");
});

test("updates are limited with and without dependents", async (t) => {
    const memory = new Memory();
    const stack = await opener(t, memory)();
    await stack.up({ target: [`${URN}first`], targetDependents: true });
    assert.equal(called(memory, "create"), 2);
    await stack.up({ exclude: [`${URN}first`], excludeDependents: true });
    assert.equal(called(memory, "create"), 3);
    const replaced = await stack.up({ replace: [`${URN}beside`] });
    assert.deepEqual(counts(replaced.summary.resourceChanges), { same: 3, replace: 1 });
    assert.deepEqual(counts((await stack.up({ expectNoChanges: true })).summary.resourceChanges), { same: 4 });
});

test("a plan constrains a later update", async (t) => {
    const stack = await opener(t)();
    const plan = join(folder(t), "plan.json");
    await stack.preview({ plan });
    assert.ok("resourcePlans" in JSON.parse(readFileSync(plan, "utf8")));
    await stack.setConfig("size", { value: "5" });
    await assert.rejects(stack.up({ plan }), /violates plan/);
});

test("secrets of the configuration are shown where that is asked for", async (t) => {
    const stack = await opener(t)();
    await stack.setConfig("password", { value: "hush", secret: true });
    const shown = (/** @type {auto.UpdateSummary | undefined} */ summary) => summary?.config["shop:password"].value;
    assert.equal(shown((await stack.up()).summary), "hush");
    assert.equal(shown(await stack.info()), "hush");
    const hidden = [
        (await stack.up({ showSecrets: false })).summary,
        (await stack.refresh({ showSecrets: false })).summary,
        await stack.info(false),
        (await stack.history(1, 1, false))[0],
        (await stack.rename({ stackName: "live", showSecrets: false })).summary,
        (await stack.destroy({ showSecrets: false })).summary,
    ];
    // The SDK for Node gives hidden values no text.
    assert.deepEqual(hidden.map((summary) => summary.config["shop:password"]), Array(6).fill({ secret: true }));
});

test("refreshes have every option", async (t) => {
    const memory = new Memory();
    const stack = await opener(t, memory)();
    await stack.up();
    const heard = { output: "", error: "", events: [] };
    const refresh = await stack.refresh({
        message: "looked",
        parallel: 1,
        color: "never",
        logFlow: true,
        logVerbosity: 3,
        logToStdErr: true,
        debug: true,
        suppressOutputs: true,
        suppressProgress: true,
        configFile: special(t),
        expectNoChanges: true,
        clearPendingCreates: true,
        runProgram: false,
        userAgent: "shop/1.0",
        signal: new AbortController().signal,
        onOutput: (text) => (heard.output += text),
        onError: (text) => (heard.error += text),
        onEvent: (event) => heard.events.push(event),
    });
    assert.deepEqual([refresh.summary.kind, refresh.summary.message], ["refresh", "looked"]);
    assert.deepEqual([heard.output.trimEnd(), heard.error.trimEnd()], [refresh.stdout, refresh.stderr]);
    assert.deepEqual(warnings(refresh.stderr), NO_EFFECT);
    assert.ok(heard.events.at(-1).cancelEvent !== undefined);
    memory.things.clear();
    // The result of a refresh that is only a preview has the summary of the operation before.
    assert.equal((await stack.refresh({ previewOnly: true })).summary.message, "looked");
    const beside = await stack.refresh({ target: [`${URN}beside`], targetDependents: true });
    assert.equal(counts(beside.summary.resourceChanges).delete, 1);
    const none = await stack.refresh({ exclude: [`${URN}first`], excludeDependents: true });
    assert.equal(counts(none.summary.resourceChanges).delete ?? 0, 0);
    await assert.rejects(stack.refresh({ expectNoChanges: true }), /no changes were expected/);
});

test("refreshes and destroys run the program where that is asked for", async (t) => {
    let runs = 0;
    const stack = await opener(t)(async () => {
        runs += 1;
    });
    await stack.up();
    runs = 0;
    await stack.refresh();
    await stack.previewRefresh({ runProgram: false });
    assert.equal(runs, 0);
    await stack.refresh({ runProgram: true });
    await stack.previewRefresh({ runProgram: true });
    await stack.previewDestroy({ runProgram: true });
    await stack.destroy({ runProgram: true });
    assert.equal(runs, 4);
});

test("previews of refreshes have their options", async (t) => {
    const memory = new Memory();
    const stack = await opener(t, memory)();
    await stack.up();
    let output = "";
    const events = [];
    const preview = await stack.previewRefresh({
        message: "look",
        expectNoChanges: true,
        clearPendingCreates: true,
        onOutput: (text) => (output += text),
        onEvent: (event) => events.push(event),
    });
    assert.deepEqual(counts(preview.changeSummary), { same: 4 });
    assert.ok(preview.stdout.includes("Previewing refresh") && output.trimEnd() === preview.stdout);
    assert.equal(preview.stderr, "");
    assert.ok(events.at(-1).cancelEvent !== undefined);
    memory.things.clear();
    assert.equal(counts((await stack.previewRefresh({ target: [`${URN}beside`] })).changeSummary).delete, 1);
    assert.deepEqual((await stack.history()).map(({ kind }) => kind), ["update"]);
});

test("destroys have every option", async (t) => {
    const memory = new Memory();
    const program = async () => {
        new Thing("kept", {}, { protect: true });
        const first = new Thing("first", {});
        new Thing("after", {}, { dependsOn: [first] });
        new Thing("beside", {});
    };
    const stack = await opener(t, memory)(program);
    await stack.up();
    const heard = { output: "", error: "", events: [] };
    // The result of a destroy that is only a preview has the summary of the operation before.
    assert.equal((await stack.destroy({ previewOnly: true, excludeProtected: true })).summary.kind, "update");
    assert.equal(called(memory, "delete"), 0);
    await stack.destroy({ target: [`${URN}first`], targetDependents: true });
    assert.equal(called(memory, "delete"), 2);
    await stack.destroy({ exclude: [`${URN}beside`, `${URN}kept`], excludeDependents: true }).catch(() => {});
    assert.ok([...memory.things.keys()].some((name) => name.startsWith("beside")));
    await stack.destroy({ excludeProtected: true });
    assert.deepEqual([...memory.things.keys()].map((name) => name.split("-")[0]), ["kept"]);
    await stack.up({ program: async () => {
        new Thing("kept", {}, { protect: false });
    } });
    const destroyed = await stack.destroy({
        message: "gone",
        parallel: 1,
        color: "never",
        logFlow: true,
        logVerbosity: 3,
        logToStdErr: true,
        debug: true,
        diff: true,
        suppressOutputs: true,
        suppressProgress: true,
        configFile: special(t),
        continueOnError: true,
        runProgram: false,
        remove: true,
        userAgent: "shop/1.0",
        signal: new AbortController().signal,
        onOutput: (text) => (heard.output += text),
        onError: (text) => (heard.error += text),
        onEvent: (event) => heard.events.push(event),
    });
    assert.deepEqual([destroyed.summary.kind, destroyed.summary.message], ["destroy", "gone"]);
    assert.deepEqual([heard.output.trimEnd(), heard.error.trimEnd()], [destroyed.stdout, destroyed.stderr]);
    assert.deepEqual(warnings(destroyed.stderr), NO_EFFECT);
    assert.ok(heard.events.at(-1).cancelEvent !== undefined);
    assert.deepEqual([memory.things.size, await stack.workspace.listStacks()], [0, []]);
});

test("options that are not supported are refused, and those without effect warn", async (t) => {
    const stack = await opener(t)();
    const tracing = "file:trace.json";
    const ran = [
        await stack.preview({ tracing }),
        await stack.up({ tracing }),
        await stack.refresh({ tracing }),
        await stack.destroy({ tracing }),
    ];
    assert.deepEqual(ran.flatMap(({ stderr }) => warnings(stderr)), Array(4).fill("warning: --tracing"));
    await assert.rejects(stack.up({ attachDebugger: true }), /--attach-debugger is not supported/);
    await assert.rejects(stack.preview({ attachDebugger: true }), /--attach-debugger is not supported/);
    await assert.rejects(stack.import({ converter: "terraform", converterArgs: ["state.tf"] }), /pulumi-converter-terraform|unexpected/);
});

test("a preview writes a request that imports what it would create", async (t) => {
    const importFile = join(folder(t), "import.json");
    const stack = await opener(t)();
    await stack.preview({ importFile });
    const request = JSON.parse(readFileSync(importFile, "utf8"));
    const row = (name) => ({ type: "mem:index:Thing", name, id: "<PLACEHOLDER>" });
    assert.deepEqual(request.resources.toSorted((one, other) => one.name.localeCompare(other.name)), ["after", "beside", "first"].map(row));
    await stack.up();
    await stack.preview({ importFile });
    assert.equal(readFileSync(importFile, "utf8"), "{}\n");
});

/** A provider that can import. */
class Found extends Memory {
    async read({ id }) {
        const outputs = this.things.get(id);
        return outputs === undefined ? undefined : { id, inputs: outputs, outputs };
    }
}

test("resources are imported with every option", async (t) => {
    const memory = new Found();
    memory.things.set("mine-1", { size: 7 });
    memory.things.set("other-1", { size: 7 });
    const stack = await opener(t, memory)(async () => {
        new pulumi.ProviderResource("mem", "own", { region: "eu" });
        new Thing("first", {});
    });
    await stack.up();
    let output = "";
    /** @type {auto.ImportResource[]} */
    const resources = [
        {
            type: "mem:index:Thing",
            name: "mine",
            id: "mine-1",
            logicalName: "renamed",
            parent: "owner",
            properties: ["size"],
        },
        { type: "mem:index:Thing", name: "other", id: "other-1", provider: "own", version: "1.0.0" },
        { type: "shop:index:Site", name: "site", component: true, remote: false, pluginDownloadUrl: "" },
    ];
    const imported = await stack.import({
        message: "adopted",
        resources,
        nameTable: { owner: `${URN}first`, own: "urn:pulumi:dev::shop::pulumi:providers:mem::own" },
        protect: true,
        generateCode: false,
        showSecrets: false,
        color: "never",
        tracing: "file:trace.json",
        debug: true,
        logFlow: true,
        logVerbosity: 3,
        logToStdErr: true,
        suppressOutputs: true,
        suppressProgress: true,
        configFile: special(t),
        onOutput: (text) => (output += text),
    });
    assert.deepEqual([imported.summary.message, imported.generatedCode], ["adopted", ""]);
    assert.equal(output.trimEnd(), imported.stdout);
    assert.ok(typeof imported.stderr === "string");
    const { deployment, version } = await stack.exportStack();
    assert.equal(version, 3);
    const mine = deployment.resources.find(({ id }) => id === "mine-1");
    assert.ok(mine.urn.endsWith("::renamed") && mine.protect && mine.parent === `${URN}first`);
    assert.match(deployment.resources.find(({ id }) => id === "other-1").provider, /::own::/);
});

test("renames refuse the options of operations, as the executable does", async (t) => {
    const stack = await opener(t)();
    const stackName = "live";
    await assert.rejects(stack.rename({ stackName, debug: true }), /unknown flag: --debug/);
    await assert.rejects(stack.rename({ stackName, configFile: "other.yaml" }), /unknown flag: --config-file/);
    await assert.rejects(stack.rename({ stackName, suppressOutputs: true }), /unknown flag: --suppress-outputs/);
    await assert.rejects(stack.rename({ stackName, suppressProgress: true }), /unknown flag: --suppress-progress/);
    /** @type {auto.GlobalOpts} */
    const known = { color: "never" };
    await stack.rename({ stackName, ...known, tracing: "file:trace.json" });
    assert.equal(stack.name, "live");
});

test("a renamed stack reports to functions", async (t) => {
    const stack = await opener(t)();
    await stack.up();
    const heard = { output: "", error: "" };
    const renamed = await stack.rename({
        stackName: "live",
        color: "never",
        logFlow: true,
        logVerbosity: 3,
        logToStdErr: true,
        signal: new AbortController().signal,
        onOutput: (text) => (heard.output += text),
        onError: (text) => (heard.error += text),
    });
    assert.match(renamed.stdout, /Renamed dev to live/);
    assert.deepEqual([heard.output.trimEnd(), heard.error.trimEnd()], [renamed.stdout, renamed.stderr]);
    assert.deepEqual([renamed.summary.kind, stack.name], ["update", "live"]);
});

const PACK = `
const policy = require("@pulumi/policy");
new policy.PolicyPack("guard", {
    policies: [{
        name: "not-big",
        description: "Things are small.",
        enforcementLevel: "mandatory",
        configSchema: { properties: { most: { type: "number" } } },
        validateResource: (args, report) => {
            if (args.type === "mem:index:Thing" && args.props.content !== undefined && 5 > (args.getConfig().most ?? 1)) {
                report(args.name + " is too big");
            }
        },
    }],
});
`;

test("policy packs of folders are enforced with their settings", async (t) => {
    const path = folder(t);
    const pack = join(path, "pack");
    mkdirSync(pack);
    writeFileSync(join(pack, "PulumiPolicy.yaml"), "runtime: nodejs\n");
    writeFileSync(join(pack, "package.json"), '{"name": "guard", "version": "1.0.0", "main": "index.js"}');
    writeFileSync(join(pack, "index.js"), PACK);
    symlinkSync(new URL("../../node_modules", import.meta.url), join(pack, "node_modules"));
    const lenient = join(path, "lenient.json");
    writeFileSync(lenient, '{"not-big": {"most": 9}}');
    const stack = await opener(t)(async () => {
        new Thing("thing", { content: "large" });
    });
    /** @type {auto.EngineEvent[]} */
    const events = [];
    const refused = await stack.preview({ policyPacks: [pack], onEvent: (event) => events.push(event) }).catch((error) => error);
    assert.ok(refused instanceof auto.CommandError);
    const text = refused.message;
    assert.ok(text.includes(`    ❌ guard@v1.0.0 (local: ${pack})\n        - [mandatory]  not-big  (mem:index:Thing: thing)\n`), text);
    assert.ok(text.includes("          thing is too big\n") && text.includes("error: preview failed"), text);
    const violation = events.find(({ policyEvent }) => policyEvent !== undefined)?.policyEvent;
    assert.ok(violation !== undefined);
    assert.deepEqual([violation.policyName, violation.policyPackName, violation.enforcementLevel], ["not-big", "guard", "mandatory"]);
    assert.deepEqual([violation.policyPackVersion, violation.policyPackVersionTag], ["1.0.0", "1.0.0"]);
    assert.equal(violation.resourceUrn, `${URN}thing`);
    assert.ok(violation.message.includes("thing is too big") && violation.color !== "");
    await assert.rejects(stack.up({ policyPacks: [pack] }), auto.CommandError);
    await stack.preview({ policyPacks: [pack], policyPackConfigs: [lenient] });
    const up = await stack.up({ policyPacks: [pack], policyPackConfigs: [lenient] });
    assert.equal(up.summary.result, "succeeded");
});
