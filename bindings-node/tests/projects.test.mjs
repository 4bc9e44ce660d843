/** Projects: files of a real folder, which keep their bytes where nothing is changed; stacks that take their settings from there. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ConflictError, DecryptError, Engine, InvalidInputError, NotFoundError, Secret, secret } from "stackwright";

import { failureOf, folder } from "./support.mjs";

const PROJECT = `# the shop
name: shop
runtime:
  name: nodejs
  options:
    typescript: true # kept
description: 'Sells things' # short
config:
  size: {type: integer, default: 3} # pieces
  token:
    type: string
    secret: true
  zone: {type: string}
`;

const SETTINGS = `# settings of dev
config:
  # where
  aws:region: eu # here
  aws:tags:
    owner: 'net' # quoted
    ports:
      - 80 # web
`;

/** Makes a folder with a project, and engines on one store. */
function shop(t) {
    const path = folder(t);
    writeFileSync(join(path, "Pulumi.yaml"), PROJECT);
    writeFileSync(join(path, "Pulumi.dev.yaml"), SETTINGS);
    const engine = (passphrase = "correct horse") => new Engine({ store: `file://${join(path, "state")}`, passphrase });
    const text = (name) => readFileSync(join(path, name), "utf8");
    return { path, engine, text };
}

async function refused(promise, kind, pattern) {
    const error = await failureOf(promise);
    assert.ok(error instanceof kind, String(error));
    assert.match(error.message, pattern);
    assert.ok(!error.message.includes("hunter"));
}

test("a change of the project file keeps all other bytes", async (t) => {
    const { path, engine, text } = shop(t);
    const project = await engine().project(path);
    assert.equal(project.folder, path);
    const facts = await project.facts();
    assert.deepEqual([facts.name, facts.runtime, facts.runtimeOptions], ["shop", "nodejs", { typescript: true }]);
    assert.deepEqual(facts.config.map(({ key, type, secret }) => [key, type, secret]), [
        ["shop:size", "integer", false],
        ["shop:token", "string", true],
        ["shop:zone", "string", false],
    ]);
    assert.equal(facts.config[0].default, 3);
    await project.set("config.size.default", 4);
    await project.set("author", "me");
    assert.equal(text("Pulumi.yaml"), `${PROJECT.replace("default: 3", "default: 4")}author: me\n`);
    assert.deepEqual([await project.remove("author"), await project.remove("author")], [true, false]);
    await project.set("config.size.default", 3);
    await refused(project.set("name", "no name!"), InvalidInputError, /name/);
    await refused(project.set("author", () => 1), InvalidInputError, /value/);
    await refused(project.set("author", undefined), InvalidInputError, /value/);
    assert.equal(text("Pulumi.yaml"), PROJECT);
});

test("configuration is set, listed and removed with all other bytes kept", async (t) => {
    const { path, engine, text } = shop(t);
    const project = await engine().project(path);
    await project.setConfig("dev", "aws:tags.ports[0]", "8080");
    await project.setAllConfig("shop/dev", { zone: "a", "aws:tags.ports[1]": "443" });
    assert.equal(
        text("Pulumi.dev.yaml"),
        `${SETTINGS.replace("- 80 # web\n", "- 8080 # web\n      - 443\n")}  shop:zone: a\n`,
    );
    assert.deepEqual(await project.getConfig("dev", "aws:tags"), {
        value: '{"owner":"net","ports":[8080,443]}',
        objectValue: { owner: "net", ports: [8080, 443] },
        secret: false,
    });
    const listed = await project.listConfig("dev");
    assert.deepEqual(Object.keys(listed), ["aws:region", "aws:tags", "shop:size", "shop:zone"]);
    assert.deepEqual(listed["shop:size"], { value: "3", secret: false });
    assert.equal(await project.removeConfig("dev", ["zone", "aws:tags.ports[1]", "nothing"]), 2);
    await project.setConfig("dev", "aws:tags.ports[0]", 80);
    assert.equal(text("Pulumi.dev.yaml"), SETTINGS);
    await refused(project.getConfig("dev", "zone"), NotFoundError, /configuration key 'zone' not found for stack 'dev'/);
    await refused(project.getConfig("other/dev", "zone"), InvalidInputError, /doesn't match Pulumi.yaml/);
    for (const value of [undefined, null]) {
        await refused(project.setConfig("dev", "zone", value), InvalidInputError, /is no value; /);
    }
    await refused(project.setAllConfig("dev", []), InvalidInputError, /values is an object/);
    await refused(project.setConfig("dev", "zone", "a", { secrt: true }), InvalidInputError, /secrt/);
    await refused(project.setConfig("dev", "zone", "a", { secret: "yes" }), InvalidInputError, /secret/);
    await refused(project.getConfig("dev", "zone", { passphrase: "" }), InvalidInputError, /passphrase/);
    await refused(project.removeConfig("dev", 5), InvalidInputError, /paths/);
    assert.equal(text("Pulumi.dev.yaml"), SETTINGS);
});

test("secrets are encrypted, and shown only when asked for", async (t) => {
    const { path, engine, text } = shop(t);
    const project = await engine().project(path);
    await project.setConfig("dev", "key", "hunter2", { secret: true });
    await project.setConfig("dev", "token", "hunter3");
    await project.setConfig("dev", "nested.password", secret("hunter4"));
    const written = text("Pulumi.dev.yaml");
    assert.ok(written.includes(SETTINGS.slice(SETTINGS.indexOf("config:"))), written);
    assert.ok(written.includes("encryptionsalt: v1:") && !written.includes("hunter"));
    const settings = await project.settings("dev");
    assert.ok(written.includes(settings.encryptionSalt) && settings.exists);
    assert.equal((await project.settings("live")).exists, false);
    const masked = await project.listConfig("dev");
    assert.deepEqual(masked["shop:token"], { secret: true });
    const shown = await project.listConfig("dev", { showSecrets: true });
    assert.deepEqual([shown["shop:key"].value, shown["shop:token"].value], ["hunter2", "hunter3"]);
    assert.deepEqual(shown["shop:nested"].objectValue, { password: "hunter4" });
    assert.equal((await project.getConfig("dev", "nested.password")).value, "hunter4");
    const other = await engine("wrong").project(path);
    await refused(other.setConfig("dev", "key", "hunter5", { secret: true }), DecryptError, /incorrect passphrase/);
    await refused(engine("wrong").stack("dev", { program: () => {}, project: path }), DecryptError, /passphrase/);
    assert.equal((await other.getConfig("dev", "key", { passphrase: "correct horse" })).value, "hunter2");
    assert.equal(text("Pulumi.dev.yaml"), written);
});

test("a stack takes configuration, defaults and salt from its project", async (t) => {
    const { path, engine: make } = shop(t);
    const engine = make();
    const project = await engine.project(path);
    let seen = new Map();
    const program = (context) => {
        seen = new Map(context.config);
    };
    const stack = await engine.stack("dev", { program, project, config: { own: "host" } });
    assert.equal(stack.name, "shop/dev");
    await refused(stack.up(), InvalidInputError, /Stack 'dev' is missing configuration value.* 'token'/);
    await project.setAllConfig("dev", { token: "hunter2", zone: "a", size: "many" });
    await refused(stack.up(), InvalidInputError, /configuration key 'size' must be of type 'integer'/);
    await project.removeConfig("dev", "size");
    await project.setConfig("dev", "token", "hunter2", { secret: false });
    await refused(stack.up(), InvalidInputError, /configuration key 'token' must be encrypted as it's secret/);
    await project.setConfig("dev", "token", "hunter2");
    await stack.up();
    assert.deepEqual([...seen.keys()].sort(), ["aws:region", "aws:tags", "shop:own", "shop:size", "shop:token", "shop:zone"]);
    assert.deepEqual([seen.get("shop:size"), seen.get("shop:own"), seen.get("shop:zone")], ["3", "host", "a"]);
    assert.ok(seen.get("shop:token") instanceof Secret && seen.get("shop:token").value === "hunter2");
    const { encryptionSalt } = await project.settings("dev");
    const { deployment } = await stack.exportDeployment();
    assert.deepEqual(deployment.secrets_providers, { type: "passphrase", state: { salt: encryptionSalt } });
    const byPath = await engine.selectStack("organization/shop/dev", { program, project: path });
    assert.deepEqual((await byPath.preview()).changes, { same: 1 });
    await refused(engine.stack("dev", { program, project: join(path, "state") }), NotFoundError, /no Pulumi.yaml/);
    await refused(engine.stack("other/dev", { program, project }), InvalidInputError, /doesn't match/);
    await refused(engine.stack("dev", { program, project: 5 }), InvalidInputError, /project takes the path of a folder/);
    writeFileSync(join(path, "Pulumi.yaml"), "name: [\n");
    await refused(stack.preview(), InvalidInputError, /Pulumi.yaml/);
});

test("a renamed stack keeps its settings file, and a file of the new name is not replaced", async (t) => {
    const { path, engine: make, text } = shop(t);
    const engine = make();
    const project = await engine.project(path);
    await project.setAllConfig("dev", { token: secret("hunter2"), zone: "a" });
    const settings = text("Pulumi.dev.yaml");
    const stack = await engine.stack("dev", { program: () => {}, project });
    await stack.up();
    writeFileSync(join(path, "Pulumi.taken.yaml"), "config: {}\n");
    for (const dryRun of [true, false]) {
        await refused(stack.renameStack("taken", { dryRun }), ConflictError, /Pulumi.taken.yaml exists already/);
    }
    await stack.renameStack("live", { dryRun: true });
    assert.equal(text("Pulumi.dev.yaml"), settings);
    await stack.renameStack("live");
    assert.ok(!existsSync(join(path, "Pulumi.dev.yaml")));
    assert.deepEqual([text("Pulumi.live.yaml"), text("Pulumi.taken.yaml")], [settings, "config: {}\n"]);
    const live = await engine.stack("live", { program: () => {}, project });
    assert.deepEqual((await live.up()).changes, { same: 1 });
});

test("tags are kept with a stack", async (t) => {
    const { engine } = shop(t);
    const stack = await engine().stack("shop/dev", { program: () => {} });
    await stack.up();
    await stack.setTag("owner", "net");
    await stack.setTag("tier", "1");
    await stack.setTag("any name!", "x".repeat(300));
    await refused(stack.setTag("owner", 5), InvalidInputError, /value takes a string/);
    const again = await engine().selectStack("shop/dev");
    assert.deepEqual(await again.listTags(), { "any name!": "x".repeat(300), owner: "net", tier: "1" });
    assert.equal(await again.removeTag("any name!"), true);
    assert.deepEqual([await again.removeTag("tier"), await again.removeTag("tier")], [true, false]);
    assert.deepEqual(await again.listTags(), { owner: "net" });
});

test("a closed engine opens no project", async (t) => {
    const { path, engine: make } = shop(t);
    const engine = make();
    const project = await engine.project(path);
    await engine.close();
    await refused(project.facts(), InvalidInputError, /closed/);
    await refused(engine.project(path), InvalidInputError, /closed/);
});
