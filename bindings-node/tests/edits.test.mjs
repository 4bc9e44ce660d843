/** Edits of the state: what they report, what they refuse, and that a renamed resource keeps its real thing. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { ConflictError, DecryptError, InvalidInputError, NotFoundError, StateError, secret } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";
const A = "urn:pulumi:dev::shop::mem:index:Thing::a";
const Z = `${A.slice(0, -1)}z`;

const programOf = (name) => (context) => {
    const a = context.resource(THING, name, { n: 1, key: secret("hunter2") });
    context.resource(THING, "b", { of: a.get("n") });
};

test("a renamed resource is the same for a program that registers the new name", async () => {
    const engine = memoryEngine(new Memory());
    const stack = await engine.stack("shop/dev", { program: programOf("a") });
    await stack.up();
    assert.ok((await stack.rename(A, { name: "z", dryRun: true })).dryRun);
    const report = await stack.rename(A, { name: "z" });
    const [renamed, dependent] = report.records;
    assert.deepEqual([renamed.kind, renamed.urn, renamed.formerUrn, renamed.fields], ["renamed", Z, A, ["urn"]]);
    assert.deepEqual([dependent.kind, dependent.fields], ["changed", ["dependencies", "propertyDependencies"]]);
    assert.ok(`${report}` === report.text && report.text.includes(`renamed ${Z}, formerly ${A}: urn`), report.text);
    assert.ok(!JSON.stringify(report).includes("hunter2"));
    assert.deepEqual((await stack.up({ program: programOf("z") })).changes, { same: 3 });
    const unknown = await failureOf(stack.taint([A]));
    assert.ok(unknown instanceof NotFoundError && unknown.hints.includes(`did you mean '${Z}'?`), unknown.hints.join());
    assert.ok((await failureOf(stack.deleteResources([Z]))) instanceof ConflictError);
    assert.match((await failureOf(stack.rename(Z, { name: 5 }))).message, /rename\.name takes a string/);
    assert.match((await failureOf(stack.rename(Z, { nam: "y" }))).message, /nam/);
    for (const [call, text] of [
        [() => stack.rename(Z), /names no new name, parent or type/],
        [() => stack.restore(), /by its version or by a time/],
        [() => stack.changeSecrets(), /either a passphrase or an encryption/],
        [() => stack.readPending("none", "id"), /is its member resourceId/],
    ]) {
        const missing = await failureOf(call());
        assert.ok(missing instanceof InvalidInputError && text.test(missing.message), String(missing));
    }
    assert.ok((await failureOf(stack.unprotect([]))) instanceof InvalidInputError);
    assert.equal((await stack.protect([], { all: true })).records.length, 4);
    assert.equal((await stack.unprotect({ all: true })).records.length, 4);
    assert.match((await failureOf(stack.protect({ al: true }))).message, /'al'|"al"/);
    assert.deepEqual((await stack.taint({ all: true, dryRun: true })).dryRun, true);
    const removed = await stack.deleteResources([Z], { dependents: true });
    assert.deepEqual(removed.records.map(({ kind }) => kind), ["removed", "removed"]);
    const restored = await stack.restore({ time: new Date() });
    assert.deepEqual(restored.records.map(({ kind }) => kind), ["added", "added"]);
    assert.deepEqual((await stack.repair()).records, []);
});

test("a renamed stack opens by its new name with its history", async () => {
    const engine = memoryEngine(new Memory());
    const stack = await engine.stack("shop/dev", { program: programOf("a") });
    await stack.up();
    const state = await stack.exportDeployment();
    await stack.renameStack("live");
    assert.deepEqual((await engine.stacks()).map(({ name }) => name), ["shop/live"]);
    const live = await engine.stack("shop/live", { program: programOf("a") });
    assert.deepEqual((await live.up()).changes, { same: 3 });
    assert.deepEqual((await live.history()).map(({ version }) => version), [2, 1]);
    assert.deepEqual((await live.restore({ version: 1 })).records, []);
    assert.ok((await failureOf(live.importDeployment(state))) instanceof StateError);
    assert.ok((await live.importDeployment(state, { force: true, dryRun: true })).warnings.length > 0);
});

test("a stack gets another passphrase and then an encryption of the host", async () => {
    const engine = memoryEngine(new Memory());
    const stack = await engine.stack("shop/dev", { program: programOf("a"), passphrase: "old" });
    await stack.up();
    assert.deepEqual((await stack.changeSecrets({ passphrase: "new", dryRun: true })).records.map(({ urn }) => urn), [A]);
    assert.deepEqual((await stack.changeSecrets({ passphrase: "new" })).records[0].fields, ["inputs", "outputs"]);
    assert.ok((await failureOf(engine.stack("shop/dev", { passphrase: "old" }))) instanceof DecryptError);
    assert.ok((await failureOf(stack.changeSecrets({ passphrase: "newer" }))) instanceof DecryptError);
    assert.ok((await failureOf(stack.changeSecrets({}))) instanceof InvalidInputError);
    assert.match((await failureOf(stack.changeSecrets({ secrets: {} }))).message, /encrypt/);
    const reversed = (texts) => texts.map((text) => [...text].reverse().join(""));
    const secrets = { kind: "vault", encrypt: reversed, decrypt: reversed };
    const opened = await engine.stack("shop/dev", { program: programOf("a"), passphrase: "new" });
    const failure = await failureOf(opened.restore({ version: 1 }));
    assert.ok(failure instanceof DecryptError && failure.hints.some((hint) => hint.includes("former passphrase")), failure);
    await opened.restore({ version: 1, passphrase: "old" });
    assert.deepEqual((await opened.up()).changes, { same: 3 });
    await opened.changeSecrets({ secrets });
    const { deployment } = await opened.exportDeployment();
    assert.equal(deployment.secrets_providers.type, "vault");
    assert.ok(JSON.stringify(deployment).includes("2retnuh"));
    const last = await engine.stack("shop/dev", { program: programOf("a"), secrets });
    assert.deepEqual((await last.up()).changes, { same: 3 });
});

test("resources move to another stack, whose program keeps them", async () => {
    const memory = new Memory();
    const engine = memoryEngine(memory);
    const stack = await engine.stack("shop/dev", { program: programOf("a") });
    await stack.up();
    const other = memoryEngine(new Memory());
    const live = await other.stack("shop/live", { create: true, passphrase: "other" });
    const planned = await stack.moveResources([A], live, { dryRun: true });
    assert.ok(planned.source.dryRun && (await stack.resources()).length === 4);
    const { source, destination } = await stack.moveResources([A], live);
    assert.deepEqual(source.records.map(({ kind, urn }) => [kind, urn]).at(-1), ["removed", A]);
    const moved = destination.records.at(-1);
    assert.deepEqual([moved.kind, moved.urn, moved.formerUrn], ["added", A.replace(":dev:", ":live:"), A]);
    assert.ok(!JSON.stringify(destination).includes("hunter2"));
    assert.ok((await failureOf(stack.moveResources([A], live))) instanceof NotFoundError);
    assert.match((await failureOf(stack.moveResources([A], "live"))).message, /takes a Stack/);
    assert.match((await failureOf(stack.moveResources([A], live, { dryrun: true }))).message, /dryrun/);
    assert.match((await failureOf(stack.moveResources([A], stack))).message, /moved to itself/);
    const back = await live.moveResources([moved.urn], stack);
    assert.deepEqual(back.destination.records.map(({ kind }) => kind), ["added"]);
});
