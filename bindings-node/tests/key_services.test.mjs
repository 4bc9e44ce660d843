/** Key services: data keys that the host's clients wrap. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { awsKms, DecryptError, InvalidInputError, secret, SecretsError } from "stackwright";

import { failureOf, folder, Memory, memoryEngine } from "./support.mjs";

const URL = "awskms://alias/shop?context_app=shop";

const masked = (key) => Uint8Array.from(key, (byte) => byte ^ 90);

class EncryptCommand {
    constructor(input) {
        this.input = input;
    }
}

class DecryptCommand extends EncryptCommand {}

const commands = { EncryptCommand, DecryptCommand };

/** A client of KMS, as far as it is used. */
class FakeKms {
    sent = [];
    error = undefined;

    async send(command) {
        this.sent.push(command);
        if (this.error !== undefined) {
            throw this.error;
        }
        const { input } = command;
        return command instanceof DecryptCommand
            ? { Plaintext: masked(input.CiphertextBlob) }
            : { CiphertextBlob: masked(input.Plaintext) };
    }
}

const program = (context) => {
    context.export("password", secret("hunter2"));
    context.export("token", context.config.get("token") ?? "");
};

const managerOf = async (stack) => (await stack.exportDeployment()).deployment.secrets_providers;

test("a stack goes from settings to a passphrase and back", async (t) => {
    const place = folder(t);
    const store = `file://${folder(t)}`;
    writeFileSync(join(place, "Pulumi.yaml"), "name: shop\nruntime: nodejs\n");
    const settings = () => readFileSync(join(place, "Pulumi.dev.yaml"), "utf8");
    const client = new FakeKms();
    const secrets = awsKms(client, URL, commands);
    const engine = memoryEngine(new Memory(), { store, secrets });
    const stack = await engine.createStack("dev", { program, project: place });
    const [, key] = /^secretsprovider: (?:.*)\nencryptedkey: (.*)\n$/.exec(settings()) ?? [];
    assert.ok(key !== undefined, settings());
    await (await engine.project(place)).setConfig("dev", "token", secret("t0ken"));
    assert.ok(!settings().includes("t0ken"));
    await stack.up();
    assert.deepEqual(await managerOf(stack), { type: "cloud", state: { url: URL, encryptedkey: key } });
    assert.equal(client.sent.length, 2, "the key is wrapped and checked once");
    assert.ok(client.sent[0] instanceof EncryptCommand && client.sent[1] instanceof DecryptCommand);
    assert.deepEqual(
        [client.sent[0].input.KeyId, client.sent[0].input.EncryptionContext, client.sent[1].input.EncryptionContext],
        ["alias/shop", { app: "shop" }, { app: "shop" }],
    );

    const other = memoryEngine(new Memory(), { store, secrets, passphrase: "correct horse" });
    let again = await other.selectStack("dev", { program, project: place });
    assert.equal((await again.outputs()).token.value, "t0ken");
    await again.changeSecrets({ passphrase: "correct horse" });
    assert.match(settings(), /encryptionsalt: /);
    assert.doesNotMatch(settings(), /encryptedkey/);
    again = await other.selectStack("dev", { program, project: place });
    await again.up();
    assert.equal((await managerOf(again)).type, "passphrase");
    await again.changeSecrets({ secrets });
    again = await other.selectStack("dev", { program, project: place });
    await again.up();
    assert.equal((await managerOf(again)).type, "cloud");
    assert.notEqual((await managerOf(again)).state.encryptedkey, key);
    assert.equal((await again.outputs()).token.value, "t0ken");
});

test("the error of a key service names its URL and its cause", async (t) => {
    const store = `file://${folder(t)}`;
    const client = new FakeKms();
    const secrets = awsKms(client, URL, commands);
    await (await memoryEngine(new Memory(), { store, secrets }).stack("shop/dev", { program })).up();
    client.error = new RangeError("AccessDenied");
    const engine = memoryEngine(new Memory(), { store, secrets });
    const unwrapping = await failureOf(engine.stack("shop/dev"));
    assert.ok(unwrapping instanceof DecryptError, unwrapping);
    assert.ok(unwrapping.message.includes(`${URL}: the data key was not unwrapped: `), unwrapping.message);
    assert.match(unwrapping.message, /AccessDenied/);
    const wrapping = await failureOf((await engine.stack("shop/new", { program })).up());
    assert.ok(wrapping instanceof SecretsError, wrapping);
    assert.ok(wrapping.message.includes(`${URL}: the data key was not wrapped: `), wrapping.message);
});

test("what is no key service, and what is no key, is refused by name", async () => {
    const engine = (secrets) => memoryEngine(new Memory(), { secrets });
    assert.throws(() => engine({ url: URL, wrapKey: masked }), /secrets has no method unwrapKey\(\)/);
    assert.throws(() => engine({ wrapKey: masked, unwrapKey: masked }), /whose url is a string/);
    assert.throws(() => awsKms(new FakeKms(), "gcpkms://projects/p"), SecretsError);
    assert.throws(() => awsKms(new FakeKms(), ""), InvalidInputError);
    assert.equal(awsKms(new FakeKms(), "arn:aws:kms:eu-west-1:1:key/a").url, "awskms:///arn:aws:kms:eu-west-1:1:key/a");
    for (const [wrapKey, expected] of [
        [() => "text", /secrets.wrapKey returns a Buffer or Uint8Array/],
        [(_, key) => key, /wrap_key returned the data key itself/],
        [() => new Uint8Array(), /wrap_key returned nothing/],
        [() => new Uint8Array(32), /unwrap_key did not return the data key/],
    ]) {
        const stack = await engine({ url: URL, wrapKey, unwrapKey: (_, key) => masked(key) }).stack("shop/dev", { program });
        assert.match((await failureOf(stack.up())).message, expected);
    }
});

test("an own key service wraps keys of any URL", async () => {
    const calls = [];
    const secrets = {
        url: "hashivault://shop",
        wrapKey: (url, key) => (calls.push(`wrap ${url}`), masked(key)),
        unwrapKey: async (url, key) => (calls.push(`unwrap ${url}`), Buffer.from(masked(key))),
    };
    const stack = await memoryEngine(new Memory(), { secrets }).stack("shop/dev", { program });
    await stack.up();
    assert.deepEqual(calls, ["wrap hashivault://shop", "unwrap hashivault://shop"]);
    assert.equal((await managerOf(stack)).state.url, "hashivault://shop");
});

test("a whole store is encrypted", async (t) => {
    const place = folder(t);
    const store = `file://${place}`;
    const secrets = { url: "hashivault://shop", wrapKey: (_, key) => masked(key), unwrapKey: (_, key) => masked(key) };
    const open = (options) => memoryEngine(new Memory(), { store, ...options }).stack("shop/dev", { program });
    await (await open({ secrets, encryptStore: true })).up();
    const state = readFileSync(join(place, ".pulumi/stacks/shop/dev.json"));
    assert.ok(!state.includes("urn:pulumi"), "the state is not readable");
    assert.equal((await (await open({ secrets, encryptStore: true })).outputs()).password.value, "hunter2");
    const error = await failureOf(open({ secrets }));
    assert.match(error.message, /is encrypted with the secrets manager hashivault:\/\/shop/);
});
