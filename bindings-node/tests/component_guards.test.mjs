/** Transforms and hooks that a component in TypeScript registers in Construct: the engine calls them also when Construct has ended. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Engine, FailedError } from "stackwright";

import { componentPlugins, failureOf, folder, Memory } from "./support.mjs";

/** A stack with the component `Guarded`, whose inputs can be set. */
class Guards {
    memory = new Memory();
    inputs = undefined;

    constructor(t) {
        // The hooks of the component add lines to this file.
        this.log = join(folder(t), "called");
        process.env.GUARDED_LOG = this.log;
        const plugins = { commands: { tsbox: componentPlugins.tsbox } };
        this.engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: this.memory }, plugins });
        t.after(() => this.engine.close());
        t.after(() => delete process.env.GUARDED_LOG);
    }

    stack() {
        const program = (context) => {
            context.resource("things:index:Thing", "other", { size: 101 });
            if (this.inputs !== undefined) {
                context.export("size", context.remoteComponent("tsbox:index:Guarded", "guard", this.inputs).get("size"));
            }
        };
        return this.engine.stack("shop/dev", { program });
    }

    /** Returns the hooks that have run, and forgets them. */
    called() {
        const lines = existsSync(this.log) ? readFileSync(this.log, "utf8").trim().split("\n") : [];
        rmSync(this.log, { force: true });
        return lines.sort();
    }

    names() {
        return [...this.memory.things.keys()].map((id) => id.replace(/-\d+$/, "")).sort();
    }
}

const resourceOf = async (stack, name) => {
    const { deployment } = await stack.exportDeployment();
    return deployment.resources.find(({ urn }) => urn.endsWith(`::${name}`));
};

test("hooks of a component in TypeScript run after its Construct", async (t) => {
    const guards = new Guards(t);
    const stack = await guards.stack();
    guards.inputs = { size: 1, count: 2 };
    await stack.up();
    assert.deepEqual(guards.called(), ["afterCreate guard-0", "afterCreate guard-1", "beforeCreate guard-0", "beforeCreate guard-1"]);
    assert.equal((await resourceOf(stack, "guard-0")).inputs.size, 101, "the transform of the component applies");
    // A thing that the component no longer has is deleted when its Construct has ended.
    guards.inputs = { size: 2, count: 1, refused: "beforeDelete" };
    const error = await failureOf(stack.up());
    assert.ok(error instanceof FailedError, String(error));
    assert.match(error.message, /before hook "guard beforeDelete" failed: .*no beforeDelete of guard-1 today/);
    assert.deepEqual(guards.called(), ["afterUpdate guard-0", "beforeDelete guard-1", "beforeUpdate guard-0"]);
    assert.deepEqual(guards.names(), ["guard-0", "guard-1", "other"]);
    // Only Construct registers the hooks.
    guards.inputs = undefined;
    assert.match((await failureOf(stack.up())).message, /hook "guard beforeDelete" was not registered/);
    assert.match((await failureOf(stack.destroy())).message, /delete hooks/);
    assert.deepEqual(guards.names(), ["guard-0", "guard-1", "other"]);
    guards.inputs = { size: 2, count: 2 };
    await stack.destroy({ destroyProgram: true });
    assert.deepEqual(guards.called(), ["afterDelete guard-0", "afterDelete guard-1", "beforeDelete guard-0", "beforeDelete guard-1"]);
    assert.equal(guards.memory.things.size, 0);
});

test("a component host in TypeScript that dies in a hook fails the resource", async (t) => {
    const guards = new Guards(t);
    const stack = await guards.stack();
    guards.inputs = { size: 1, count: 1 };
    await stack.up();
    // Construct has ended when its hook runs.
    guards.inputs = { size: 1, count: 0, dies: "beforeDelete" };
    const error = await failureOf(stack.up());
    const text = /resource `guard-0` .*before hook "guard beforeDelete" failed: the program's functions at 127\.0\.0\.1:\d+ did not answer/;
    assert.match(error.message, text);
    assert.ok(await resourceOf(stack, "guard-0"), "what is not deleted is recorded");
    assert.deepEqual(guards.names(), ["guard-0", "other"]);
});
