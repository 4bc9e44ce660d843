/** The Automation API over this engine: scripts as they are written for `@pulumi/pulumi/automation`, with one changed import. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "stackwright/automation";

import { connections, listeners } from "./listeners.mjs";
import { Memory, memoryEngine } from "./support.mjs";

const require = createRequire(import.meta.url);
const upstream = require("@pulumi/pulumi/automation");

class Thing extends pulumi.CustomResource {
    constructor(name, props, opts) {
        super("mem:index:Thing", name, { made: undefined, ...props }, opts);
    }
}

async function shop() {
    const config = new pulumi.Config();
    const size = new Thing("size", { size: config.getNumber("size") ?? 1 });
    new Thing("after", { first: size.made }, { dependsOn: [size] });
    return { password: pulumi.secret("hunter2"), nested: { list: [1, pulumi.secret("hush")] }, text: "[secret]" };
}

function folder(t) {
    const path = mkdtempSync(join(tmpdir(), "stackwright-automation-"));
    t.after(() => rmSync(path, { recursive: true }));
    return path;
}

/** Opens stacks on an engine with a provider in memory. */
function opener(t, memory = new Memory()) {
    const command = new auto.Command({ engine: memoryEngine(memory, { providers: { mem: memory } }) });
    const envVars = { PULUMI_HOME: join(folder(t), "home") };
    return (stackName = "dev", program = shop) =>
        auto.LocalWorkspace.createOrSelectStack(
            { stackName, projectName: "shop", program },
            { pulumiCommand: command, envVars },
        );
}

function children() {
    const tasks = readdirSync("/proc/self/task");
    return tasks.map((task) => readFileSync(`/proc/self/task/${task}/children`, "utf8")).join("").trim();
}

test("every name of the automation API is there, and mostly the same object", () => {
    const own = new Set(["LocalWorkspace", "PulumiCommand", "RemoteWorkspace", "Stack"]);
    for (const name of Object.keys(upstream).filter((name) => !own.has(name))) {
        assert.equal(auto[name], upstream[name], name);
    }
    assert.ok(auto.LocalWorkspace.prototype instanceof upstream.LocalWorkspace);
});

test("a stack lives from its creation to its removal without a process", async (t) => {
    const path = folder(t);
    mkdirSync(join(path, "state"));
    const envVars = {
        PULUMI_BACKEND_URL: `file://${path}/state`,
        PULUMI_CONFIG_PASSPHRASE: "correct horse",
        PULUMI_HOME: join(path, "home"),
        PATH: "/nonexistent",
    };
    const program = async () => {
        new pulumi.ComponentResource("shop:index:Site", "site");
        return { region: new pulumi.Config("aws").get("region"), password: new pulumi.Config().requireSecret("password") };
    };
    const args = { stackName: "dev", projectName: "shop", program };
    const before = [children(), process.cwd(), JSON.stringify(process.env)];
    const stack = await auto.LocalWorkspace.createStack(args, { envVars });
    assert.equal((await auto.LocalWorkspace.selectStack(args, { envVars, workDir: stack.workspace.workDir })).name, "dev");
    await stack.setConfig("aws:region", { value: "eu" });
    await stack.setConfig("password", { value: "hunter2", secret: true });
    assert.deepEqual((await stack.preview()).changeSummary, { create: 2 });
    const events = [];
    let output = "";
    const up = await stack.up({ message: "first", onOutput: (text) => (output += text), onEvent: (event) => events.push(event) });
    assert.equal(output.trimEnd(), up.stdout);
    assert.ok(up.stdout.includes("    + 2 created"), up.stdout);
    assert.deepEqual(events.map((event) => event.sequence), [...events.keys()]);
    assert.ok(events.at(-1).cancelEvent !== undefined);
    assert.deepEqual(up.outputs, {
        password: { value: "hunter2", secret: true },
        region: { value: "eu", secret: false },
    });
    assert.equal(up.summary.message, "first");
    assert.equal(up.summary.environment["exec.kind"], "auto.inline");
    assert.deepEqual((await stack.refresh()).summary.resourceChanges, { same: 2 });
    assert.equal((await stack.destroy()).summary.result, "succeeded");
    assert.deepEqual((await stack.history()).map((row) => row.kind), ["destroy", "refresh", "update"]);
    assert.equal((await stack.workspace.whoAmI()).url, envVars.PULUMI_BACKEND_URL);
    await stack.workspace.removeStack("dev");
    assert.deepEqual(await stack.workspace.listStacks(), []);
    assert.deepEqual([children(), process.cwd(), JSON.stringify(process.env)], before);
});

test("configuration is set at paths, listed and removed", async (t) => {
    const stack = await opener(t)();
    await stack.setConfig("tags.team", { value: "payments" }, true);
    await stack.setAllConfig({ a: { value: "x=y" }, b: { value: "hush", secret: true } });
    await stack.setAllConfigJson(JSON.stringify({ "shop:c": { value: "3", secret: true } }));
    const every = await stack.getAllConfig();
    assert.deepEqual(
        Object.entries(every).map(([key, { value, secret }]) => [key, value, secret]),
        [
            ["shop:a", "x=y", false],
            ["shop:b", "hush", true],
            ["shop:c", "3", true],
            ["shop:tags", '{"team":"payments"}', false],
        ],
    );
    await stack.removeAllConfig(["a", "b", "c"]);
    await assert.rejects(stack.getConfig("a"), /configuration key 'a' not found for stack 'dev'/);
});

test("outputs are secret where anything inside them is", async (t) => {
    const { outputs } = await (await opener(t)()).up();
    assert.deepEqual(outputs, {
        nested: { value: { list: [1, "hush"] }, secret: true },
        password: { value: "hunter2", secret: true },
        text: { value: "[secret]", secret: false },
    });
});

test("a stack is exported, imported, renamed and tagged", async (t) => {
    const stack = await opener(t)();
    await stack.setTag("owner", "payments");
    await stack.up();
    const exported = await stack.exportStack();
    await stack.importStack({ version: 3, deployment: {} });
    assert.deepEqual(await stack.outputs(), {});
    await stack.importStack(exported);
    await stack.rename({ stackName: "live" });
    assert.equal(stack.name, "live");
    assert.deepEqual(await stack.listTags(), { owner: "payments" });
    assert.deepEqual((await stack.up()).summary.resourceChanges, { same: 3 });
    assert.deepEqual((await stack.workspace.listStacks()).map(({ name, current }) => [name, current]), [["live", true]]);
});

test("secrets are in no file and no command line", async (t) => {
    const open = opener(t);
    const temporary = folder(t);
    const before = process.env.TMPDIR;
    process.env.TMPDIR = temporary;
    t.after(() => {
        before === undefined ? delete process.env.TMPDIR : (process.env.TMPDIR = before);
    });
    const program = async () => {
        const password = new pulumi.Config().requireSecret("password");
        new Thing("made", { password });
        return { password };
    };
    const stack = await open("dev", program);
    await stack.setConfig("password", { value: "a-rare-secret", secret: true });
    const { outputs, stdout } = await stack.up();
    await stack.importStack(await stack.exportStack());
    await assert.rejects(stack.importStack({ version: 99, deployment: { secret: "a-rare-secret" } }), auto.CommandError);
    assert.equal(outputs.password.value, "a-rare-secret");
    assert.ok(!stdout.includes("a-rare-secret"));
    const files = readdirSync(temporary, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const texts = files.map(({ parentPath, path, name }) => readFileSync(join(parentPath ?? path, name), "utf8"));
    assert.ok(files.length > 0 && !texts.some((text) => text.includes("a-rare-secret")));
    assert.ok(!readFileSync("/proc/self/cmdline", "utf8").includes("a-rare-secret"));
});

test("errors have the classes that scripts catch, and the code of the command", async (t) => {
    const open = opener(t);
    const { workspace } = await open();
    await assert.rejects(auto.Stack.select("nothing", workspace), auto.StackNotFoundError);
    await assert.rejects(auto.Stack.create("dev", workspace), auto.StackAlreadyExistsError);
    await assert.rejects(new auto.Command().run(["up", "--nonsense"], tmpdir(), {}), /unknown flag: --nonsense/);
    await assert.rejects(auto.RemoteWorkspace.createStack({}), /remote workspaces run on the Pulumi service/);
});

/** In a process of its own: the SDK leaves the rejection of the program to the process, too. */
const BROKEN = `
    import * as auto from "stackwright/automation";
    import { memoryEngine } from "./support.mjs";
    process.on("unhandledRejection", () => {});
    const program = async () => {
        throw new Error("the program is wrong");
    };
    const pulumiCommand = new auto.Command({ engine: memoryEngine() });
    const args = { stackName: "dev", projectName: "shop", program };
    const opts = { pulumiCommand, envVars: { PULUMI_HOME: process.argv[1] } };
    const stack = await auto.LocalWorkspace.createOrSelectStack(args, opts);
    const error = await stack.up().catch((error) => error);
    console.log(error instanceof auto.CommandError, /code: 1[^]*the program is wrong/.test(error.message), error.cause?.message);
`;

test("a program that throws is an error with its message", async (t) => {
    const options = ["--input-type=module", "--eval", BROKEN, join(folder(t), "home")];
    const { stdout } = await promisify(execFile)(process.execPath, options, { cwd: new URL(".", import.meta.url), timeout: 60_000 });
    assert.equal(stdout, "true true the program is wrong\n");
});

test("an inline program runs without a connection and without a listener", async (t) => {
    const open = opener(t);
    const seen = [];
    const program = async () => {
        const thing = new Thing("thing", { size: 1 });
        await new Promise((resolve) => thing.urn.apply(resolve));
        seen.push([connections().length, listeners().length]);
        return { urn: thing.urn };
    };
    const stack = await open("dev", program);
    assert.ok(stack instanceof auto.Stack);
    assert.match((await stack.up()).outputs.urn.value, /::thing$/);
    await stack.preview();
    await stack.preview({ program });
    const { workspace } = stack;
    await (await auto.Stack.select("dev", workspace)).up();
    // The SDK sees no program, so that it starts no server for it. Events need none either.
    assert.deepEqual(seen, new Array(4).fill([0, 0]));
    assert.equal(workspace.program, program);
    const events = [];
    assert.equal((await stack.refresh({ runProgram: true, onEvent: (event) => events.push(event) })).summary.result, "succeeded");
    assert.ok(events.some((event) => event.resourcePreEvent !== undefined));
    assert.equal(seen.length, 5);
});

test("a signal cancels an operation, and what a function throws does as well", async (t) => {
    const open = opener(t);
    const stack = await open();
    const controller = new AbortController();
    controller.abort();
    await assert.rejects(stack.up({ signal: controller.signal }), auto.CommandError);
    const refuse = (text) => {
        throw new TypeError(`refused: ${text}`);
    };
    await assert.rejects(stack.up({ onOutput: refuse }), /refused: Updating/);
    assert.equal((await stack.up()).summary.result, "succeeded");
});

test("stacks that run at the same time do not see each other", async (t) => {
    const open = opener(t);
    const deploy = async (number) => {
        const program = async () => {
            new Thing(`thing-${number}`, { number });
            return { stack: pulumi.getStack() };
        };
        const stack = await open(`dev-${number}`, program);
        const { outputs } = await stack.up();
        const { deployment } = await stack.exportStack();
        return [outputs.stack.value, deployment.resources.map((record) => record.urn.split("::").at(-1)).sort()];
    };
    const results = await Promise.all([...Array(6).keys()].map(deploy));
    results.forEach(([stack, names], number) => {
        assert.equal(stack, `dev-${number}`);
        assert.ok(names.includes(`thing-${number}`) && !names.includes(`thing-${(number + 1) % 6}`), names.join());
    });
});

test("callers that race for a new stack all get it", async (t) => {
    const command = new auto.Command({ engine: memoryEngine(new Memory()) });
    const workDir = folder(t);
    writeFileSync(join(workDir, "Pulumi.yaml"), "name: shop\nruntime: nodejs\n");
    const args = { stackName: "dev", projectName: "shop", program: shop };
    const opts = { pulumiCommand: command, workDir, envVars: { PULUMI_HOME: join(workDir, "home") } };
    const opened = [1, 2, 3, 4].map(() => auto.LocalWorkspace.createOrSelectStack(args, opts));
    assert.deepEqual((await Promise.all(opened)).map(({ name }) => name), ["dev", "dev", "dev", "dev"]);
    const { workspace } = await opened[0];
    const raced = await Promise.all([1, 2, 3, 4].map(() => auto.Stack.createOrSelect("live", workspace)));
    assert.deepEqual(raced.map(({ name }) => name), ["live", "live", "live", "live"]);
});

test("the program of a folder is run in a process of its own, which is gone afterwards", async (t) => {
    const workDir = folder(t);
    symlinkSync(new URL("../../node_modules", import.meta.url), join(workDir, "node_modules"));
    writeFileSync(join(workDir, "Pulumi.yaml"), "name: shop\nruntime: nodejs\n");
    writeFileSync(
        join(workDir, "index.js"),
        `const pulumi = require("@pulumi/pulumi");
        exports.process = process.pid;
        exports.size = new pulumi.Config().requireNumber("size");`,
    );
    const pulumiCommand = new auto.Command({ engine: memoryEngine() });
    const opts = { pulumiCommand, envVars: { PULUMI_HOME: join(workDir, "home") } };
    const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", workDir }, opts);
    await stack.setConfig("size", { value: "3" });
    const { outputs, summary } = await stack.up();
    assert.equal(outputs.size.value, 3);
    assert.notEqual(outputs.process.value, process.pid);
    assert.throws(() => process.kill(outputs.process.value, 0), /ESRCH/);
    assert.equal(summary.environment["exec.kind"], "auto.local");
});

test("the command serves the unchanged automation API", async (t) => {
    const memory = new Memory();
    const pulumiCommand = new auto.Command({ engine: memoryEngine(memory, { providers: { mem: memory } }) });
    const opts = { pulumiCommand, envVars: { PULUMI_HOME: join(folder(t), "home") } };
    const args = { stackName: "dev", projectName: "shop", program: shop };
    const stack = await upstream.LocalWorkspace.createOrSelectStack(args, opts);
    assert.deepEqual((await stack.up()).summary.resourceChanges, { create: 3 });
    assert.equal(stack.workspace.pulumiVersion, "3.260.0");
});
