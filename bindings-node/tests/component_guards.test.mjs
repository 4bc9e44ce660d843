/** Transforms and hooks that components of plugins register in Construct: the engine calls them also when Construct has ended. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";

import { Engine, FailedError } from "stackwright";

import { componentHosts, failureOf, folder, Memory, NEWEST_GO, newestGoComponent, served } from "./support.mjs";

/** The file to which the hooks of the component add lines: processes that serve several tests have it in their environment. */
const log = join(folder({ after }), "called");
process.env.GUARDED_LOG = log;

/** A stack with the component `Guarded`, whose inputs can be set. */
class Guards {
    inputs = undefined;
    /** How many of the next creations of `guard-0` fail. */
    failures = 0;
    memory = new Memory({ create: ({ name }) => this.fail(name) });

    /** With `dies`, its plugin has processes of its own. */
    constructor(t, host, dies = false) {
        if (host === NEWEST_GO) {
            newestGoComponent();
        }
        const { plugin, commands } = componentHosts[host];
        this.plugin = plugin;
        this.called();
        const places = dies ? { plugins: { commands } } : served(commands);
        this.engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: this.memory }, ...places });
        t.after(() => this.engine.close());
    }

    stack() {
        const program = (context) => {
            context.resource("things:index:Thing", "other", { size: 101 });
            if (this.inputs !== undefined) {
                context.export("size", context.remoteComponent(`${this.plugin}:index:Guarded`, "guard", this.inputs).get("size"));
            }
        };
        return this.engine.stack("shop/dev", { program });
    }

    fail(name) {
        if (name === "guard-0" && this.failures > 0) {
            this.failures -= 1;
            throw new Error(`throttled, ${this.failures} to go`);
        }
    }

    /** Returns the name that the component has for a moment. */
    moment(name) {
        return this.plugin === "tsbox" ? name : name.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`);
    }

    /** Returns the hooks that have run, with the names of moments in TypeScript, and forgets them. */
    called() {
        const lines = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
        rmSync(log, { force: true });
        return lines.map((line) => line.replace(/_[a-z]/, (part) => part[1].toUpperCase())).sort();
    }

    names() {
        return [...this.memory.things.keys()].map((id) => id.replace(/-\d+$/, "")).sort();
    }
}

const resourceOf = async (stack, name) => {
    const { deployment } = await stack.exportDeployment();
    return deployment.resources.find(({ urn }) => urn.endsWith(`::${name}`));
};

for (const host of ["tsbox", NEWEST_GO]) {
    test(`hooks of a component of ${host} run after its Construct`, async (t) => {
        const guards = new Guards(t, host);
        const [stack, moment] = [await guards.stack(), guards.moment("beforeDelete")];
        guards.inputs = { size: 1, count: 2 };
        await stack.up();
        assert.deepEqual(guards.called(), ["afterCreate guard-0", "afterCreate guard-1", "beforeCreate guard-0", "beforeCreate guard-1"]);
        assert.equal((await resourceOf(stack, "guard-0")).inputs.size, 101, "the transform of the component applies");
        // A thing that the component no longer has is deleted when its Construct has ended.
        guards.inputs = { size: 2, count: 1, refused: moment };
        const error = await failureOf(stack.up());
        assert.ok(error instanceof FailedError, String(error));
        assert.match(error.message, new RegExp(`before hook "guard ${moment}" failed: .*no ${moment} of guard-1 today`));
        assert.deepEqual(guards.called(), ["afterUpdate guard-0", "beforeDelete guard-1", "beforeUpdate guard-0"]);
        assert.deepEqual(guards.names(), ["guard-0", "guard-1", "other"]);
        // Only Construct registers the hooks.
        guards.inputs = undefined;
        assert.match((await failureOf(stack.up())).message, new RegExp(`hook "guard ${moment}" was not registered`));
        assert.match((await failureOf(stack.destroy())).message, /delete hooks/);
        assert.deepEqual(guards.names(), ["guard-0", "guard-1", "other"]);
        guards.inputs = { size: 2, count: 2 };
        await stack.destroy({ destroyProgram: true });
        assert.deepEqual(guards.called(), ["afterDelete guard-0", "afterDelete guard-1", "beforeDelete guard-0", "beforeDelete guard-1"]);
        assert.equal(guards.memory.things.size, 0);
    });

    test(`a component host of ${host} that dies in a hook fails the resource`, async (t) => {
        const guards = new Guards(t, host, true);
        const [stack, moment] = [await guards.stack(), guards.moment("beforeDelete")];
        guards.inputs = { size: 1, count: 1 };
        await stack.up();
        // Construct has ended when its hook runs.
        guards.inputs = { size: 1, count: 0, dies: moment };
        const error = await failureOf(stack.up());
        const failure = String.raw`failed: the program's functions at 127\.0\.0\.1:\d+ did not answer`;
        assert.match(error.message, new RegExp(`resource \`guard-0\` .*before hook "guard ${moment}" ${failure}`));
        assert.ok(await resourceOf(stack, "guard-0"), "what is not deleted is recorded");
        assert.deepEqual(guards.names(), ["guard-0", "other"]);
    });
}

for (const [host, dies] of [["pybox", "transform"], ["tsbox", "transform"], ["pybox", "onError"], ["tsbox", "onError"], [NEWEST_GO, "onError"]]) {
    const { plugin, skip } = componentHosts[host];
    test(`a component host of ${host} that dies in ${dies} leaves a valid state`, { skip }, async (t) => {
        const guards = new Guards(t, host, true);
        const [stack, moment] = [await guards.stack(), guards.moment(dies)];
        guards.failures = dies === "onError" ? 5 : 0;
        guards.inputs = { size: 1, count: 1, dies: moment, retries: 5 };
        const { message } = await failureOf(stack.up());
        // Construct waits for the resource: either failure can be noticed first.
        const silent = String.raw`failed: the program's functions at 127\.0\.0\.1:\d+ did not answer`;
        const of = dies === "onError" ? String.raw`resource .guard-0. .*error hook "guard ${moment}" ${silent}` : `'guard-0'[^]*${silent}`;
        const construct = `${plugin}:index:Guarded resource 'guard' has a problem: .* died during Construct`;
        assert.match(message, new RegExp(`${of}|${construct}`));
        const { deployment } = await stack.exportDeployment();
        assert.equal(deployment.pending_operations, undefined);
        assert.ok(await resourceOf(stack, "guard"), "the component is recorded");
        assert.equal(await resourceOf(stack, "guard-0"), undefined, "what is not created is not recorded");
        assert.deepEqual(guards.names(), ["other"]);
        const ran = guards.called().filter((call) => call.startsWith("on"));
        assert.deepEqual(ran, dies === "onError" ? ["onError guard-0"] : []);
        const tried = guards.memory.calls.filter((call) => call === "create guard-0");
        assert.equal(tried.length, ran.length, "a failed operation is not repeated without the hook");
        // Another process takes the place of that one.
        guards.failures = 0;
        guards.inputs = { size: 1, count: 1 };
        await stack.up();
        assert.equal((await resourceOf(stack, "guard-0")).inputs.size, 101);
        await stack.destroy({ destroyProgram: true });
        assert.equal(guards.memory.things.size, 0);
    });
}

for (const host of ["pybox", "tsbox", NEWEST_GO]) {
    const { skip } = componentHosts[host];
    test(`an error hook of a component of ${host} decides whether a failed operation is repeated`, { skip }, async (t) => {
        const guards = new Guards(t, host);
        const [stack, moment] = [await guards.stack(), guards.moment("onError")];

        /** Returns the failure of an update, how often the hook has run, and how often `guard-0` was to be created. */
        const up = async (failures, inputs) => {
            guards.failures = failures;
            guards.inputs = { size: 1, count: 2, ...inputs };
            guards.memory.calls = [];
            const error = await stack.up().then(() => undefined, (reason) => reason);
            assert.equal(error !== undefined, (await resourceOf(stack, "guard-0")) === undefined, "what is not created is not recorded");
            const [ran, tried] = [guards.called(), guards.memory.calls].map((calls) => calls.filter((call) => /^(onError|create) guard-0$/.test(call)));
            return [error?.message ?? "", ran.length, tried.length];
        };

        const [refused, ...once] = await up(1, { refused: moment, retries: 2 });
        assert.match(refused, new RegExp(`resource \`guard-0\`[^]*no ${moment} of guard-0 today`));
        assert.deepEqual(once, [1, 1]);
        const [stands, ...twice] = await up(3, { retries: 1 });
        assert.match(stands, /resource `guard-0`[^]*throttled, 1 to go/);
        assert.deepEqual(twice, [2, 2]);
        assert.deepEqual(await up(2, { retries: 2 }), ["", 2, 3]);
        assert.deepEqual(guards.names(), ["guard-0", "guard-1", "other"]);
        await stack.destroy({ destroyProgram: true });
        assert.equal(guards.memory.things.size, 0);
    });
}
