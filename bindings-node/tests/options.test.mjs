/** What operations can be told in Node, and what is refused by name. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Engine, Secret } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";

function refusal(call) {
    return failureOf((async () => call())());
}

function oneThing(context) {
    context.resource(THING, "a", { content: new Secret("hidden-from-all") });
}

test("a listener that throws ends no process, and rejects the operation when that is over", async () => {
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev", { program: oneThing });
    const listeners = [
        () => {
            throw new Error("no ear for it");
        },
        async () => {
            throw new Error("no ear for it");
        },
    ];
    for (const onEvent of listeners) {
        const failure = await stack.up({ onEvent }).then(
            () => assert.fail("it was not told"),
            (error) => error,
        );
        assert.match(failure.message, /no ear for it/);
        assert.equal(failure.result.outcome, "succeeded");
    }
    assert.equal(provider.things.size, 1, "the update went on");
    assert.equal((await stack.up()).changes.same, 2, "and left no lock");
});

test("options that nobody could act on are refused before anything happens", async () => {
    const provider = new Memory();
    const engine = memoryEngine(provider);
    const stack = await engine.stack("shop/dev", { program: oneThing });
    const preview = await stack.preview();
    for (const [options, message] of [
        [{ signal: 5 }, /signal is an AbortSignal, not a number/],
        [{ onEvent: 5 }, /onEvent is a function, not a number/],
        [{ program: 5 }, /a program is a function, .* not a number/],
        [{ program: null }, /a program is a function, .* not null/],
        [{ plan: undefined }, /generatePlan: true/],
        [{ plan: preview.plan }, /generatePlan: true/],
        [{ plan: stack.preview() }, /await the preview first/],
        [preview, /\{ plan: result \}/],
        [{ targets: "a" }, /invalid option targets: .*expected a sequence/],
    ]) {
        const failure = await refusal(() => stack.up(options));
        assert.equal(failure.code, "invalid_input", failure.stack);
        assert.match(failure.message, message);
    }
    assert.equal((await refusal(() => stack.preview({ dryRun: false }))).code, "invalid_input");
    assert.equal((await refusal(() => stack.remove({ forse: true }))).code, "invalid_input");
    assert.equal((await refusal(() => engine.stack("shop/b", { organization: 5 }))).code, "invalid_input");
    assert.equal(provider.things.size, 0);
    assert.equal((await stack.up({ dryRun: true })).changes.create, 2);
    assert.equal(provider.things.size, 0);
});

test("options of engines and stacks of a wrong type are refused when they are given", async () => {
    for (const [options, message] of [
        [{ providers: [new Memory()] }, /providers is an object, not a list/],
        [{ plugins: 5 }, /plugins is an object, not a number/],
        [{ resolver: "127.0.0.1:1" }, /resolver is a function, not a string/],
        [{ fetch: {} }, /fetch is a function, not an object/],
        [{ autonamer: 5 }, /autonamer is a function, not a number/],
        [{ stackReader: () => ({}) }, /stackReader is an object, not a function/],
        [{ stackReader: { stackOutputs: () => ({}) } }, /stackReader has no method stackResourceOutputs\(\)/],
        [{ secrets: { encrypt: () => [] } }, /secrets has no method decrypt\(\)/],
    ]) {
        const failure = await refusal(() => new Engine({ store: "memory://", ...options }));
        assert.equal(failure.code, "invalid_input", failure.stack);
        assert.match(failure.message, message);
    }
    const engine = memoryEngine(new Memory());
    assert.match((await refusal(() => engine.stack("shop/dev", { journal: 5 }))).message, /journal is a function, not a number/);
    assert.match((await refusal(() => engine.stack("shop/dev", { tags: ["a"] }))).message, /tags is an object, not a list/);
    const map = new Map([["key", "value"]]);
    assert.match((await refusal(() => engine.stack("shop/dev", { config: map }))).message, /config is a plain object, not a Map/);
    assert.deepEqual(await engine.stacks(), []);
});

test("a state is imported as an object, and what cannot be one is refused without its content", async () => {
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev", { program: oneThing });
    await stack.up();
    const state = JSON.parse(await stack.export({ showSecrets: true }));
    await stack.import(state);
    assert.equal((await stack.up()).changes.same, 2);
    state.deployment.pending_operations = "wrong";
    for (const document of [state, undefined, 5]) {
        const failure = await refusal(() => stack.import(document));
        assert.notEqual(failure.code, "internal", failure.message);
        assert.doesNotMatch(failure.message, /hidden-from-all/);
    }
});
