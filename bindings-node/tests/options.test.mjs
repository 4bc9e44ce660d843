/** Options in Node: valid ones, and errors that name the invalid ones. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Engine, InvalidInputError, Secret } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";

function refusal(call) {
    return failureOf((async () => call())());
}

function oneThing(context) {
    context.resource(THING, "a", { content: new Secret("hidden-from-all") });
}

test("a throwing listener does not end the process and rejects the operation after its end", async () => {
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev", { program: oneThing });
    const listeners = [
        () => {
            throw new Error("cannot listen");
        },
        async () => {
            throw new Error("cannot listen");
        },
    ];
    for (const onEvent of listeners) {
        const failure = await stack.up({ onEvent }).then(
            () => assert.fail("the operation did not reject"),
            (error) => error,
        );
        assert.match(failure.message, /cannot listen/);
        assert.equal(failure.result.outcome, "succeeded");
    }
    assert.equal(provider.things.size, 1, "the update went on");
    assert.equal((await stack.up()).changes.same, 2, "the lock was released");
});

test("invalid options of operations are refused before anything starts", async () => {
    const provider = new Memory();
    const engine = memoryEngine(provider);
    const stack = await engine.stack("shop/dev", { program: oneThing });
    const preview = await stack.preview();
    for (const [options, message] of [
        [{ signal: 5 }, /signal is an AbortSignal, not a number/],
        [{ onEvent: 5 }, /onEvent is a function, not a number/],
        [{ program: 5 }, /a program is a function, .* not a number/],
        [{ plan: undefined }, /generatePlan: true/],
        [{ plan: null }, /generatePlan: true/],
        [{ plan: preview.plan }, /generatePlan: true/],
        [{ plan: stack.preview() }, /await the preview first/],
        [{ targets: "a" }, /targets takes a list of URNs or globs, not a string, in the options of up\(\)/],
        [{ targets: ["a", 5] }, /targets\[1\] takes a string, not a number/],
        [{ parallel: 5e9 }, /parallel takes a whole number from 0 to 2147483647, not 5000000000/],
        [{ parallel: "4" }, /parallel takes a whole number .*, not a string/],
        [{ refreshProgram: 1 }, /refreshProgram takes true or false, not a number/],
        [{ message: ["m"] }, /message takes a string, not an array/],
        [{ plan: 5 }, /plan takes the result of a preview or a plan's document, not a number/],
        [{ localPolicyPacks: [{ nme: "x" }] }, /unknown member "nme" of localPolicyPacks\[0\] .*did you mean "name"/],
        [[], /the options of up\(\) are an object, not a list/],
        [new Map(), /the options of up\(\) are an object, not a Map/],
    ]) {
        const failure = await refusal(() => stack.up(options));
        assert.equal(failure.kind, "invalid_input", failure.stack);
        assert.match(failure.message, message);
    }
    assert.match((await refusal(() => stack.preview(preview))).message, /\{ plan: result \}/);
    assert.match((await refusal(() => stack.up(preview, { plan: preview }))).message, /given two plans/);
    for (const passed of [[undefined], [null], [preview.plan], [undefined, { message: "m" }], [undefined, undefined]]) {
        const failure = await refusal(() => stack.up(...passed));
        assert.equal(failure.kind, "invalid_input", failure.stack);
        assert.match(failure.message, /the plan is undefined; .*generatePlan: true/);
    }
    assert.equal((await refusal(() => stack.preview({ dryRun: false }))).kind, "invalid_input");
    assert.equal((await refusal(() => stack.remove({ forse: true }))).kind, "invalid_input");
    assert.match((await refusal(() => stack.remove({ force: 1 }))).message, /force takes true or false, not a number, in the options of remove/);
    assert.match((await refusal(() => stack.exportDeployment({ showSecrets: "no" }))).message, /showSecrets takes true or false, not a string/);
    assert.equal((await refusal(() => engine.stack("shop/b", { organization: 5 }))).kind, "invalid_input");
    assert.equal(provider.things.size, 0);
    assert.equal((await stack.up({ dryRun: true })).changes.create, 2);
    assert.equal(provider.things.size, 0);
});

test("options of engines and stacks of a wrong type are refused at once", async () => {
    for (const [options, message] of [
        [{ providers: [new Memory()] }, /providers is an object, not a list/],
        [{ providers: { box: { create() {}, diff: 1 } } }, /the provider of "box" has a diff that is not a method: a number/],
        [{ providers: { box: { create: {} } } }, /the provider of "box" has a create that is not a method: an object/],
        [{ plugins: 5 }, /plugins is an object, not a number/],
        [{ resolver: "127.0.0.1:1" }, /resolver is a function, not a string/],
        [{ fetch: {} }, /fetch is a function, not an object/],
        [{ autonamer: 5 }, /autonamer is a function, not a number/],
        [{ stackReader: () => ({}) }, /stackReader is an object, not a function/],
        [{ stackReader: { stackOutputs: () => ({}) } }, /stackReader has no method stackResourceOutputs\(\)/],
        [{ secrets: { encrypt: () => [] } }, /secrets has no method decrypt\(\)/],
        [{ store: 5 }, /store takes a URL as a string, not a number, in the options of an engine/],
        [{ passphrase: 123456789 }, /passphrase takes a string, not a number, in the options of an engine/],
        [{ passphrase: "" }, /passphrase takes a string that is not empty; leave it out to have secrets only encoded/],
        [{ sdk: 5 }, /sdk takes a path or a URL, not a number/],
        [{ plugins: { directorys: [] } }, /unknown member "directorys" of plugins .*did you mean "directories"/],
        [{ plugins: { directories: "a" } }, /plugins.directories takes a list of paths of folders, not a string/],
        [{ plugins: { commands: { own: "run" } } }, /plugins.commands.own takes a list of strings: the program and its arguments, not a string/],
    ]) {
        const failure = await refusal(() => new Engine({ store: "memory://", ...options }));
        assert.equal(failure.kind, "invalid_input", failure.stack);
        assert.match(failure.message, message);
        assert.doesNotMatch(failure.message, /123456789/);
    }
    const engine = memoryEngine(new Memory());
    for (const [options, message] of [
        [{ create: "no" }, /create takes true or false, not a string, in the options of a stack/],
        [{ organization: 5 }, /organization takes a string, not a number/],
        [{ tags: { owner: 5 } }, /tags.owner takes a string, not a number/],
    ]) {
        assert.match((await refusal(() => engine.stack("shop/dev", options))).message, message);
    }
    assert.match((await refusal(() => engine.stack(5))).message, /the name of a stack is a string, project\/stack, not a number/);
    assert.match((await refusal(() => engine.stacks(5))).message, /is a string, not a number/);
    assert.match((await refusal(() => engine.stack("shop/dev", { journal: 5 }))).message, /journal is a function, not a number/);
    assert.match((await refusal(() => engine.stack("shop/dev", { tags: ["a"] }))).message, /tags takes strings by name, not an array/);
    const map = new Map([["key", "value"]]);
    assert.match((await refusal(() => engine.stack("shop/dev", { config: map }))).message, /config is a plain object, not a Map/);
    assert.deepEqual(await engine.stacks(), []);
});

test("a deployment is imported as an object, and errors of invalid ones omit their content", async () => {
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev", { program: oneThing });
    await stack.up();
    const state = await stack.exportDeployment({ showSecrets: true });
    await stack.importDeployment(state);
    assert.equal((await stack.up()).changes.same, 2);
    state.deployment.pending_operations = "wrong";
    for (const document of [state, undefined, 5]) {
        const failure = await refusal(() => stack.importDeployment(document));
        assert.notEqual(failure.kind, "internal", failure.message);
        assert.doesNotMatch(failure.message, /hidden-from-all/);
    }
});

test("errors about invalid declarations use the names of the program", async () => {
    const stack = await memoryEngine(new Memory()).stack("shop/dev");
    for (const [make, message] of [
        [(context) => context.resource(5, "a"), /the type of the resource "a" is a string, not a number/],
        [(context) => context.resource(THING, 5), /the name of a resource is a string, not a number/],
        [(context) => context.resource(THING, "a", []), /the inputs of the resource "a" are an object of values by name, not a list/],
        [(context) => context.resource(THING, "a", {}, 5), /the options of the resource a are an object, not a number/],
        [(context) => context.resource(THING, "a", {}, { parent: "box" }), /parent takes a resource or its URN, not "box"/],
        [(context) => context.resource(THING, "a", {}, { aliases: ["old"] }), /aliases\[0\] takes a URN, not "old"/],
        [(context) => context.resource(THING, "a", {}, { customTimeouts: { create: -1 } }), /customTimeouts.create takes a number of seconds from 0, not -1/],
        [(context) => context.resource(THING, "a", {}, { hideDiffs: ["b["] }), /hideDiffs of resource 'a': invalid property path "b\["/],
        [(context) => context.read(THING, "a", 5), /the id of the resource "a" is a string, not a number/],
        [(context) => context.invoke(5), /the token of a function is a string, not a number/],
        [(context) => context.export(5, "x"), /the name of an output of the stack is a string, not a number/],
        [(context) => context.component("my:index:Box", "b").registerOutputs(5), /the outputs of the component "b" are an object/],
    ]) {
        const failure = await refusal(() => stack.up({ program: (context) => void make(context) }));
        assert.equal(failure.kind, "program", failure.stack);
        assert.match(failure.message, message);
    }
});

test("a logged value need not be a text", async () => {
    const stack = await memoryEngine(new Memory()).stack("shop/dev");
    const result = await stack.up({ program: (context) => context.log.warning(5) });
    assert.deepEqual(result.diagnostics.map(({ message }) => message), ["5"]);
});

test("an option that is null counts as undefined", async () => {
    const nothing = (names) => Object.fromEntries(names.map((name) => [name, null]));
    const optional = ["passphrase", "baseDirectory", "plugins", "resolver", "installer", "stackReader", "secrets", "fetch", "autonamer"];
    const provider = new Memory();
    const engine = new Engine({
        store: "memory://",
        providers: { mem: provider },
        ...nothing([...optional, "trustedPeers", "sdk"]),
    });
    new Engine({ store: "memory://", plugins: nothing(["directories", "path", "cache", "commands", "waitsForRegistrations", "poolCapacity"]) });
    new Engine({ store: "memory://", providers: null });
    const settings = ["config", "encryptionSalt", "organization", "tags", "rootDirectory", "runtimeOptions", "create",
        "journal", "passphrase", "secrets", "referencePassphrases"];
    const program = (context) => {
        const options = nothing(["parent", "dependsOn", "provider", "protect", "aliases", "customTimeouts", "replacementTrigger"]);
        const box = context.component("my:index:Box", "box", {}, options);
        context.resource(THING, "a", { x: 1 }, { ...options, parent: box });
        context.resource(THING, "b", {}, options);
        context.resource(THING, "c", {}, null);
        context.invoke("mem:index:double", { x: 2 }, { parent: null, provider: null });
    };
    const stack = await engine.stack("shop/dev", { program, ...nothing(settings) });
    await engine.stack("shop/other", { program: null, create: true });
    assert.deepEqual((await engine.stacks(null)).map(({ name }) => name), ["shop/dev", "shop/other"]);
    const operation = ["signal", "onEvent", "program", "targets", "parallel", "refresh", "message", "localPolicyPacks"];
    const result = await stack.up(nothing(operation));
    assert.equal(result.changes.create, 5);
    await stack.exportDeployment({ showSecrets: null });
    await stack.destroy(null);
    await stack.remove({ force: null });
    assert.match((await refusal(() => new Engine({ store: null }))).message, /the options of an engine lack store/);
});

test("inputs of a resource are values by name, and neither a resource nor what is awaited", async () => {
    const texts = [];
    const program = (context) => {
        const other = context.resource("mem:index:Thing", "other", {});
        for (const inputs of [other, Promise.resolve({ size: 1 }), other.id]) {
            const makes = [
                () => context.resource("mem:index:Thing", "a", inputs),
                () => context.component("box:index:Box", "a", inputs),
                () => context.invoke("mem:index:find", inputs),
            ];
            for (const make of makes) {
                assert.throws(make, (error) => texts.push(error.message) > 0 && error instanceof InvalidInputError);
            }
        }
    };
    const stack = await memoryEngine(new Memory()).stack("shop/dev", { program });
    await stack.up().catch((error) => assert.match(error.message, /are an object of values by name, not/));
    assert.equal(texts.length, 9);
    assert.deepEqual(texts.filter((text) => !/^the (inputs|arguments) of .* are an object of values by name, not /.test(text)), []);
});
