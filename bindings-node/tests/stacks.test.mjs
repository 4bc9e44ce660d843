/** Settings and state of stacks: organization, tags, locks, remote assets, deployments after failures. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { Asset, ConflictError, InvalidInputError, sdkProgram, secret, unwrap } from "stackwright";

import { failureOf, folder, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";

test("the context and the SDK return the organization of the stack", async () => {
    const engine = memoryEngine();
    const own = (context) => context.export("organization", context.organization);
    const ofTheSdk = sdkProgram(() => ({ organization: pulumi.getOrganization() }));
    for (const program of [own, ofTheSdk]) {
        const settings = { program, organization: "acme", tags: { "team:owner": "net" } };
        const stack = await engine.stack("shop/dev", settings);
        assert.deepEqual(unwrap((await stack.up()).outputs), { organization: "acme" });
        assert.equal(stack.organization, "acme");
        assert.deepEqual(stack.tags, { "team:owner": "net" });
    }
    assert.equal((await engine.stack("shop/dev")).organization, "organization");
    for (const [settings, pattern] of [
        [{ organization: "a/b" }, /organization "a\/b"/],
        [{ tags: { "no name": "x" } }, /tag "no name"/],
        [{ tags: { owner: "x".repeat(257) } }, /longer than 256/],
        [{ tags: { owner: 1 } }, /tags.owner takes a string/],
    ]) {
        const error = await failureOf(engine.stack("shop/other", settings));
        assert.ok(error instanceof InvalidInputError, error.kind);
        assert.match(error.message, pattern);
    }
});

test("unlock removes the lock of another machine", async (t) => {
    const store = folder(t);
    const stack = await memoryEngine(new Memory(), { store: `file://${store}` }).stack("shop/dev", { program() {} });
    const locks = path.join(store, ".pulumi/locks/organization/shop/dev");
    fs.mkdirSync(locks, { recursive: true });
    const owner = { pid: 1, username: "me", hostname: "elsewhere", timestamp: "2026-01-01T00:00:00Z" };
    fs.writeFileSync(path.join(locks, "1.json"), JSON.stringify(owner));
    const error = await failureOf(stack.up());
    assert.ok(error instanceof ConflictError, error.kind);
    assert.match(error.message, /`unlock`.*me@elsewhere/s);
    assert.equal(await stack.unlock(), 1);
    assert.equal(await stack.unlock(), 0);
    await stack.up();
});

test("breakLock removes the lock of the named owner only, and waitForLock waits for it", async (t) => {
    const store = folder(t);
    const settings = { store: `file://${store}`, allowUnfenced: true };
    const stack = await memoryEngine(new Memory(), settings).stack("shop/dev", { program() {} });
    const locks = path.join(store, ".pulumi/locks/organization/shop/dev");
    fs.mkdirSync(locks, { recursive: true });
    const owner = { pid: 1, username: "me", hostname: "elsewhere", timestamp: "2026-01-01T00:00:00Z" };
    fs.writeFileSync(path.join(locks, "1.json"), JSON.stringify(owner));
    const other = await failureOf(stack.breakLock("you@elsewhere"));
    assert.ok(other instanceof ConflictError, other.kind);
    assert.ok((await failureOf(stack.breakLock("me"))) instanceof InvalidInputError);
    const error = await failureOf(stack.up({ waitForLock: 0.2 }));
    assert.ok(error instanceof ConflictError, error.kind);
    assert.ok(error.hints.some((hint) => hint.includes("has waited")), String(error.hints));
    let broken;
    const onEvent = (event) => {
        if (JSON.stringify(event).includes("waiting for the lock")) {
            broken ??= stack.breakLock("me@elsewhere:1");
        }
    };
    await stack.up({ waitForLock: 60, onEvent });
    assert.equal(await broken, 1);
    assert.equal(await stack.breakLock("me@elsewhere"), 0);

    fs.mkdirSync(locks, { recursive: true });
    fs.writeFileSync(path.join(locks, "1.json"), JSON.stringify(owner));
    const edits = [
        (waitForLock) => stack.restore({ version: 1, waitForLock }),
        (waitForLock) => stack.forgetPending("none", { waitForLock }),
        (waitForLock) => stack.remove({ force: true, waitForLock }),
    ];
    for (const edit of edits) {
        const refused = await failureOf(edit(0.02));
        assert.ok(refused instanceof ConflictError, refused.kind);
        assert.ok(refused.hints.some((hint) => hint.includes("has waited")), String(refused.hints));
        const invalid = await failureOf((async () => edit(-1))());
        assert.ok(invalid instanceof InvalidInputError && invalid.message.includes("waitForLock"), String(invalid));
    }
    const removed = stack.remove({ force: true, waitForLock: 60 });
    assert.equal(await stack.breakLock("me@elsewhere"), 1);
    await removed;
});

test("dependents of a failed resource are skipped, and the failure has a deployment", async () => {
    const provider = new Memory({
        create: ({ name }) => {
            if (name === "refused") {
                throw new Error("no such thing");
            }
        },
    });
    const seen = {};
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: async (context) => {
            const refused = context.resource(THING, "refused");
            const after = context.resource(THING, "after", {}, { dependsOn: refused });
            const made = context.resource(THING, "made", { password: secret("hunter2") });
            for (const resource of [refused, after, made]) {
                const { failed, skipped } = await resource;
                seen[resource.name] = [failed, skipped];
            }
        },
    });
    const error = await failureOf(stack.up({ continueOnError: true }));
    assert.equal(error.errorClass, "bail");
    assert.deepEqual(seen, { refused: [true, false], after: [true, true], made: [false, false] });
    const document = await stack.exportDeployment();
    assert.equal(document.version, 3);
    const names = document.deployment.resources.map(({ urn }) => urn.split("::").at(-1));
    assert.ok(names.includes("made") && !names.includes("refused") && !JSON.stringify(document).includes("hunter2"));
});

test("the host fetches remote assets", async () => {
    const fetch = async (uri) => {
        if (uri === "vault://text") {
            return "no bytes";
        }
        if (uri !== "vault://hello") {
            throw new Error(`no asset at ${uri}`);
        }
        return Buffer.from("hello");
    };
    const of = (uri) => (context) => void context.resource(THING, "a", { file: new Asset({ uri }) });
    const stack = await memoryEngine(new Memory(), { fetch }).stack("shop/dev");
    await stack.up({ program: of("vault://hello") });
    const { resources } = (await stack.exportDeployment()).deployment;
    const { inputs } = resources.find(({ type }) => type === THING);
    assert.ok(inputs.file.hash.startsWith("2cf24dba5fb0a30e"), inputs.file.hash);
    for (const [uri, pattern] of [
        ["vault://bye", /no asset at vault:\/\/bye/],
        ["vault://text", /expected a Buffer or Uint8Array/],
    ]) {
        assert.match((await failureOf(stack.up({ program: of(uri) }))).message, pattern);
    }
});
