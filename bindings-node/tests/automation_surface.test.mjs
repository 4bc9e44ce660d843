/** Workspaces over the Automation API: settings, stacks, plugins, the command, and what is refused. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import * as auto from "stackwright/automation";

import { chain, folder, opener } from "./automation_support.mjs";
import { Memory, memoryEngine } from "./support.mjs";

const command = (memory = new Memory()) => new auto.Command({ engine: memoryEngine(memory, { providers: { mem: memory } }) });

test("a workspace keeps the settings that it is given", async (t) => {
    const workDir = folder(t);
    const pulumiCommand = command();
    /** @type {auto.ProjectSettings} */
    const given = {
        name: "shop",
        runtime: { name: "nodejs", options: { typescript: false } },
        main: "app",
        description: "A shop.",
        author: "The shop",
        website: "https://example.com",
        license: "Apache-2.0",
        config: "settings",
        template: {
            description: "A template.",
            quickstart: "Begin here.",
            config: { size: { description: "How big.", default: "3", secret: false } },
            important: true,
        },
        backend: { url: "file://~" },
    };
    const workspace = await auto.LocalWorkspace.create({
        workDir,
        pulumiHome: join(workDir, "home"),
        program: chain,
        envVars: { SHOP_TOKEN: "given" },
        secretsProvider: "passphrase",
        projectSettings: given,
        stackSettings: { dev: { config: { "shop:size": "4" } } },
        pulumiCommand,
    });
    assert.deepEqual([workspace.workDir, workspace.pulumiHome], [workDir, join(workDir, "home")]);
    assert.deepEqual([workspace.program, workspace.envVars], [chain, { SHOP_TOKEN: "given" }]);
    assert.deepEqual([workspace.secretsProvider, workspace.pulumiCommand], ["passphrase", pulumiCommand]);
    assert.deepEqual(await workspace.projectSettings(), given);
    assert.deepEqual((await workspace.stackSettings("dev")).config, { "shop:size": "4" });
});

test("the settings of a stack are those that the command writes", async (t) => {
    const stack = await opener(t)();
    await stack.setConfig("size", { value: "3" });
    await stack.setConfig("password", { value: "hush", secret: true });
    const { workspace } = stack;
    const settings = await workspace.stackSettings("dev");
    assert.ok(settings.config !== undefined && settings.encryptionSalt !== undefined);
    assert.deepEqual([settings.encryptedKey, settings.secretsProvider], [undefined, undefined]);
    assert.equal(settings.config["shop:size"], "3");
    /** @type {auto.StackSettingsSecureConfigValue} */
    const secret = settings.config["shop:password"];
    assert.ok(secret.secure !== "" && !secret.secure.includes("hush"));
    /** @type {{ [key: string]: auto.StackSettingsConfigValue }} */
    const config = { ...settings.config, "shop:size": "8" };
    await workspace.saveStackSettings("dev", { ...settings, config });
    assert.equal((await stack.getConfig("size")).value, "8");
    assert.deepEqual(await stack.getConfig("password"), { value: "hush", secret: true });
    /** @type {auto.ProjectSettings & { runtime?: auto.ProjectRuntimeInfo | auto.ProjectRuntime }} */
    const project = await workspace.projectSettings();
    await workspace.saveProjectSettings({ ...project, description: "Changed." });
    assert.equal((await workspace.projectSettings()).description, "Changed.");
});

test("settings that are read and saved keep values, environments and comments", async (t) => {
    const { workspace } = await opener(t)();
    const file = join(workspace.workDir, "Pulumi.dev.yaml");
    const text =
        "# Of the team.\nenvironment:\n  - shared/base\nconfig:\n  shop:size: 4 # servers\n  shop:tags:\n    team: payments\n" +
        "  shop:token:\n    secure: v1:abc\nowner: ops\n";
    writeFileSync(file, text);
    const settings = await workspace.stackSettings("dev");
    const { config = {} } = settings;
    assert.deepEqual(config["shop:tags"], { team: "payments" });
    await workspace.saveStackSettings("dev", settings);
    assert.equal(readFileSync(file, "utf8"), text);
    await workspace.saveStackSettings("dev", { config: { ...config, "shop:size": "8" } });
    assert.equal(readFileSync(file, "utf8"), text.replace("shop:size: 4", 'shop:size: "8"'));
    await workspace.saveStackSettings("live", settings);
    const live = readFileSync(join(workspace.workDir, "Pulumi.live.yaml"), "utf8");
    assert.ok(["shared/base", "team: payments", "owner: ops"].every((entry) => live.includes(entry)), live);
    // Options replace what the type has, and nothing else.
    const { workDir, pulumiCommand } = workspace;
    const stackSettings = { dev: { config: { "shop:size": "1" } } };
    await auto.LocalWorkspace.create({ workDir, pulumiCommand, stackSettings });
    const written = '# Of the team.\nenvironment:\n  - shared/base\nconfig:\n  shop:size: "1" # servers\nowner: ops\n';
    assert.equal(readFileSync(file, "utf8"), written);
    writeFileSync(file, "config: [");
    await assert.rejects(workspace.saveStackSettings("dev", settings), /Pulumi\.dev\.yaml/);
    assert.equal(readFileSync(file, "utf8"), "config: [");
});

test("a workspace does for each stack what a stack does", async (t) => {
    const { workspace } = await opener(t)();
    await workspace.createStack("live");
    await workspace.selectStack("dev");
    assert.equal((await workspace.stack())?.name, "dev");
    await workspace.setConfig("live", "plain", { value: "1" });
    await workspace.setConfig("live", "tags.team", { value: "payments" }, true);
    await workspace.setAllConfig("live", { "tags.owner": { value: "me" }, a: { value: "x" } }, true);
    await workspace.setAllConfigJson("live", '{"shop:b": {"value": "y", "secret": true}}');
    assert.equal((await workspace.getConfig("live", "tags.team", true)).value, "payments");
    assert.equal((await workspace.getConfig("live", "plain")).value, "1");
    /** @type {auto.ConfigMap} */
    const every = await workspace.getAllConfig("live");
    assert.ok(every["shop:b"].secret && every["shop:tags"].value === '{"owner":"me","team":"payments"}');
    await workspace.removeConfig("live", "tags.team", true);
    await workspace.removeConfig("live", "plain");
    await workspace.removeAllConfig("live", ["tags.owner", "a", "b"], true);
    assert.deepEqual(Object.keys(await workspace.getAllConfig("live")).filter((key) => key !== "shop:tags"), []);
    await workspace.setTag("live", "owner", "payments");
    assert.equal(await workspace.getTag("live", "owner"), "payments");
    /** @type {auto.TagMap} */
    const tags = await workspace.listTags("live");
    assert.deepEqual(tags, { owner: "payments" });
    await workspace.removeTag("live", "owner");
    assert.deepEqual(await workspace.listTags("live"), {});
    await workspace.importStack("live", await workspace.exportStack("live"));
    assert.deepEqual(await workspace.stackOutputs("live"), {});
    await assert.rejects(workspace.refreshConfig("live"), auto.CommandError);
});

test("a stack reads and removes its configuration, tags and history", async (t) => {
    const stack = await opener(t)();
    await stack.setAllConfig({ "tags.team": { value: "payments" }, "tags.owner": { value: "me" } }, true);
    assert.equal((await stack.getConfig("tags.team", true)).value, "payments");
    await stack.removeConfig("tags.team", true);
    await stack.removeAllConfig(["tags.owner"], true);
    await stack.setConfig("size", { value: "3" });
    await stack.up();
    await stack.setConfig("size", { value: "4" });
    assert.equal((await stack.refreshConfig())["shop:size"].value, "3");
    await stack.removeConfig("size");
    await stack.setTag("owner", "payments");
    assert.equal(await stack.getTag("owner"), "payments");
    await stack.removeTag("owner");
    assert.deepEqual(await stack.listTags(), {});
    await stack.refresh();
    assert.deepEqual((await stack.history(1, 2)).map(({ kind }) => kind), ["update"]);
    /** @type {auto.UpdateKind | undefined} */
    const kind = (await stack.info())?.kind;
    /** @type {auto.UpdateResult | undefined} */
    const result = (await stack.info())?.result;
    assert.deepEqual([kind, result], ["refresh", "succeeded"]);
    await stack.cancel();
    const outputs = await stack.outputs();
    assert.ok(outputs.password.secret && outputs.password.value === "hunter2");
});

test("stacks are listed with their resources, and removed", async (t) => {
    const stack = await opener(t)();
    const { workspace } = stack;
    const settings = join(workspace.workDir, "Pulumi.dev.yaml");
    await stack.setConfig("size", { value: "3" });
    await stack.up();
    const [row] = await workspace.listStacks({ all: true });
    assert.deepEqual([row.name, row.current, row.resourceCount], ["dev", true, 5]);
    assert.ok(!Number.isNaN(Date.parse(row.lastUpdate ?? "")) && !row.updateInProgress && row.url === undefined);
    await assert.rejects(workspace.removeStack("dev"), /still has resources/);
    await workspace.removeStack("dev", { force: true, preserveConfig: true });
    assert.deepEqual([existsSync(settings), await workspace.listStacks()], [true, []]);
    const again = await auto.Stack.createOrSelect("dev", workspace);
    assert.equal((await again.getConfig("size")).value, "3");
    await workspace.removeStack("dev");
    assert.ok(!existsSync(settings));
});

test("a second update is refused while one runs", async (t) => {
    const open = opener(t);
    let begin = () => {};
    let proceed = () => {};
    const begun = new Promise((resolve) => (begin = () => resolve(undefined)));
    const released = new Promise((resolve) => (proceed = () => resolve(undefined)));
    const stack = await open(async () => {
        begin();
        await released;
    });
    const first = stack.up();
    await begun;
    const second = await open();
    await assert.rejects(second.up(), auto.ConcurrentUpdateError);
    proceed();
    assert.equal((await first).summary.result, "succeeded");
});

test("hooks of workspaces are called with each command", async (t) => {
    const called = [];
    let extra = [];
    const { workspace } = await opener(t)();
    assert.ok(workspace instanceof auto.LocalWorkspace);
    assert.deepEqual(await workspace.serializeArgsForOp("dev"), []);
    await workspace.postCommandCallback("dev");
    workspace.serializeArgsForOp = async (name) => {
        called.push(`arguments of ${name}`);
        return extra;
    };
    workspace.postCommandCallback = async (name) => {
        called.push(`after ${name}`);
    };
    const stack = await auto.Stack.select("dev", workspace);
    await stack.up();
    assert.ok(called.includes("arguments of dev") && called.includes("after dev"), called.join());
    extra = ["--nonsense"];
    await assert.rejects(stack.up(), /unknown flag: --nonsense/);
});

test("the user and the store are known", async (t) => {
    const who = await (await opener(t)()).workspace.whoAmI();
    assert.deepEqual([who.user, who.url], [userInfo().username, "memory://"]);
    assert.deepEqual([who.organizations, who.tokenInformation], [undefined, undefined]);
});

test("plugins are listed and removed", async (t) => {
    const { workspace } = await opener(t)();
    const path = folder(t);
    mkdirSync(join(path, "plugin"));
    writeFileSync(join(path, "plugin", "pulumi-resource-shop"), "shelf");
    const archive = join(path, "shop.tar.gz");
    execFileSync("tar", ["-czf", archive, "-C", join(path, "plugin"), "pulumi-resource-shop"]);
    const PULUMI_HOME = workspace.pulumiHome ?? "";
    for (const version of ["1.0.0", "2.0.0"]) {
        const args = ["plugin", "install", "resource", "shop", version, "--file", archive];
        await new auto.Command().run(args, workspace.workDir, { PULUMI_HOME });
    }
    const found = await workspace.listPlugins();
    assert.deepEqual(found.map(({ version }) => version), ["1.0.0", "2.0.0"]);
    const [plugin] = found;
    /** @type {auto.PluginKind} */
    const kind = plugin.kind;
    assert.deepEqual([plugin.name, kind, plugin.size], ["shop", "resource", 5]);
    assert.ok(plugin.installTime instanceof Date && plugin.lastUsedTime instanceof Date);
    await workspace.removePlugin("shop", ">=2.0.0", "resource");
    assert.deepEqual((await workspace.listPlugins()).map(({ version }) => version), ["1.0.0"]);
});

test("the command has a version and is not installed", async (t) => {
    const { workspace } = await opener(t)();
    /** @type {auto.PulumiCommandOptions} */
    const options = { root: "/nowhere", skipVersionCheck: true };
    const got = await auto.PulumiCommand.get(options);
    const version = got.version ?? undefined;
    const installed = await auto.PulumiCommand.install(/** @type {auto.PulumiCommandOptions} */ ({ version }));
    assert.deepEqual([got.command, String(got.version)], ["pulumi", workspace.pulumiVersion]);
    assert.ok(installed instanceof auto.Command && !existsSync("/nowhere"));
    assert.ok(workspace instanceof auto.LocalWorkspace);
    await workspace.install({ noPlugins: true, noDependencies: true });
    await assert.rejects(workspace.install({ reinstall: true, useLanguageVersionTools: true }), auto.CommandError);
});

test("names of stacks with organization and project are known", async (t) => {
    const { workspace } = await opener(t)();
    const name = auto.fullyQualifiedStackName("organization", "shop", "dev");
    assert.equal(name, "organization/shop/dev");
    assert.equal((await auto.Stack.select(name, workspace)).name, name);
});

test("what the engine does not have is refused", async (t) => {
    const stack = await opener(t)();
    const { workspace } = stack;
    await assert.rejects(stack.addEnvironments("base"), /does not support environments/);
    await assert.rejects(stack.listEnvironments(), /does not support environments/);
    await assert.rejects(stack.removeEnvironment("base"), /does not support environments/);
    await assert.rejects(workspace.addEnvironments("dev", "base"), /does not support environments/);
    await assert.rejects(workspace.listEnvironments("dev"), /does not support environments/);
    await assert.rejects(workspace.removeEnvironment("dev", "base"), /does not support environments/);
    await assert.rejects(stack.orgGetDefault(), /do not support organizations/);
    await assert.rejects(stack.orgSetDefault("acme"), /unable to set a default organization/);
    await assert.rejects(workspace.installPlugin("aws", "v6.0.0", "resource"), /no server of its archive is known/);
});

test("remote workspaces are refused", async () => {
    /** @type {auto.RemoteGitProgramArgs} */
    const args = {
        stackName: "a/b/c",
        url: "https://example.com/x.git",
        projectPath: "p",
        branch: "main",
        commitHash: "1",
        auth: {
            sshPrivateKeyPath: "key",
            sshPrivateKey: "hush",
            password: "hush",
            personalAccessToken: "hush",
            username: "me",
        },
    };
    /** @type {auto.RemoteWorkspaceOptions} */
    const opts = {
        envVars: { TOKEN: { secret: "hush" } },
        preRunCommands: ["make"],
        skipInstallDependencies: true,
        inheritSettings: true,
        executorImage: { image: "example/image", credentials: { username: "me", password: "hush" } },
    };
    await assert.rejects(auto.RemoteWorkspace.createStack(args, opts), /remote workspaces run on the Pulumi service/);
    await assert.rejects(auto.RemoteWorkspace.selectStack(args, opts), /remote workspaces run on the Pulumi service/);
    await assert.rejects(auto.RemoteWorkspace.createOrSelectStack(args, opts), /remote workspaces run on the Pulumi service/);
});

test("stacks with the interface of remote ones forward to this engine", async (t) => {
    /** @type {auto.RemoteStack} */
    const stack = Reflect.construct(auto.RemoteStack, [await opener(t)()]);
    let output = "";
    /** @type {auto.EngineEvent[]} */
    const events = [];
    const onOutput = (/** @type {string} */ text) => void (output += text);
    const onEvent = (/** @type {auto.EngineEvent} */ event) => void events.push(event);
    assert.deepEqual([stack.name, (await stack.preview({ onOutput, onEvent })).changeSummary], ["dev", { create: 4 }]);
    assert.deepEqual((await stack.up({ onOutput, onEvent })).summary.resourceChanges, { create: 4 });
    assert.equal((await stack.outputs()).password.value, "hunter2");
    await stack.refresh({ onOutput, onEvent });
    assert.deepEqual((await stack.history(1, 1)).map(({ kind }) => kind), ["refresh"]);
    await stack.importStack(await stack.exportStack());
    await stack.cancel();
    assert.equal((await stack.destroy({ onOutput, onEvent })).summary.result, "succeeded");
    assert.ok(output.includes("Destroying (dev)"));
    assert.equal(events.filter(({ cancelEvent }) => cancelEvent !== undefined).length, 4);
});
