/** Methods of components and resources, of plugins in three languages and of a provider of the host, called by programs of both APIs. */
import assert from "node:assert/strict";
import * as path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import * as pulumi from "@pulumi/pulumi";
import { Engine, sdkProgram, secret } from "stackwright";

import { componentPlugins, failureOf, goComponent, Memory, noPythonPlugin as skip, served, shared } from "./support.mjs";

const testkit = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../testkit");
const [python] = componentPlugins.pybox;
const commands = {
    pymodule: [python, "-u", path.join(testkit, "python-module")],
    gobox: componentPlugins.gobox,
    tsmodule: shared([...componentPlugins.tsbox.slice(0, -1), path.join(testkit, "node-module")]),
};

/** A provider of the host with the same methods. */
class Modules {
    construct(context, { name, inputs }) {
        context.resource("things:index:Thing", `${name}-thing`, { size: inputs.size });
        return { size: inputs.size };
    }

    async call(context, { token, arguments: given }) {
        const self = given.__self__;
        if (token === "hosted:index:Lock/turn") {
            return { result: { lock: self.urn, turned: given.by } };
        }
        if (given.by === undefined) {
            return { failures: [{ property: "by", reason: "is missing" }, { property: "lock[0]", reason: "is stuck" }] };
        }
        if (given.raise !== undefined) {
            throw new Error("no such key");
        }
        const opened = context.resource("things:index:Thing", "opened", { size: given.by }, { parent: self.urn });
        return { result: { by: opened.get("size"), box: self.urn, opened: opened.id } };
    }

    async check({ inputs }) {
        return { inputs };
    }

    async create({ inputs }) {
        return { id: "lock", outputs: inputs };
    }

    async delete() {}
}

const types = { pymodule: "pymodule:index:Module", gobox: "gobox:index:Box", tsmodule: "tsmodule:index:Module", hosted: "hosted:index:Module" };

class Thing extends pulumi.CustomResource {
    constructor(name, size) {
        super("things:index:Thing", name, { size });
    }
}
Object.defineProperty(Thing.prototype, "size", { value: undefined, writable: true });

class Lock extends pulumi.CustomResource {
    constructor(type) {
        super(type, "lock", {});
    }
}

class Component extends pulumi.ComponentResource {
    constructor(type) {
        super(type, "box", { size: 1 }, {}, true);
    }
}

/** What `open` returns. The host for Node leaves out results with the name `id`. */
const resultsOf = (plugin) => ["by", "box", plugin === "tsmodule" || plugin === "hosted" ? "opened" : "id"];

const programs = {
    own: (plugin) => (context) => {
        const type = types[plugin];
        const first = context.resource("things:index:Thing", "first", { size: secret(7) });
        const box = context.remoteComponent(type, "box", { size: 1 });
        const opened = context.call(`${type}/open`, box, { by: first.get("size") });
        resultsOf(plugin).forEach((name) => context.export(name, opened.get(name)));
        context.resource("things:index:Thing", "user", { size: opened.get("by") });
    },
    sdk: (plugin) =>
        sdkProgram(() => {
            const type = types[plugin];
            const first = new Thing("first", pulumi.secret(7));
            const box = new Component(type);
            const opened = pulumi.runtime.call(`${type}/open`, { by: first.size, __self__: box }, box);
            new Thing("user", opened.by);
            return Object.fromEntries(resultsOf(plugin).map((name) => [name, opened[name]]));
        }),
};

/** Returns the records of a stack by name. */
async function records(stack) {
    const { deployment } = await stack.exportDeployment();
    return Object.fromEntries((deployment.resources ?? []).map((record) => [record.urn.split("::").at(-1), record]));
}

/** Makes a stack whose things a provider keeps in memory. */
async function stackOf(t, program) {
    goComponent();
    const memory = new Memory();
    memory.create = async ({ name, inputs }) => {
        memory.things.set(name, inputs);
        return { id: name, outputs: inputs };
    };
    const providers = { things: memory, hosted: new Modules() };
    const engine = new Engine({ store: "memory://", passphrase: "test", providers, ...served(commands) });
    t.after(() => engine.close());
    return { stack: await engine.stack("shop/dev", { program }), memory };
}

for (const [plugin, type] of Object.entries(types)) {
    for (const [written, programOf] of Object.entries(programs)) {
        test(`a method of ${plugin} gets its resource and registers others, called by a program (${written})`, { skip }, async (t) => {
            const { stack, memory } = await stackOf(t, programOf(plugin));
            await stack.preview();
            assert.equal(memory.things.size, 0);
            const { outputs } = await stack.up();
            const { first, box, opened, user } = await records(stack);
            assert.deepEqual([outputs.by.value, outputs.by.secret], [7, true]);
            assert.equal(outputs.box.value, box.urn);
            assert.equal(outputs[resultsOf(plugin)[2]].value, opened.id);
            assert.equal(memory.things.get("opened").size, 7);
            assert.equal(memory.things.get("user").size, 7);
            if (plugin !== "pymodule") {
                // In methods the host for Python registers resources without marks of secrets.
                assert.ok("ciphertext" in opened.inputs.size, JSON.stringify(opened.inputs));
                assert.equal(opened.parent, box.urn);
            }
            if (plugin !== "gobox") {
                // The host for Go leaves out what arguments and results depend on.
                assert.ok(opened.dependencies.includes(first.urn));
                assert.ok(user.dependencies.includes(first.urn));
            }
            assert.deepEqual(Object.keys((await stack.up()).changes), ["same"]);
            await stack.destroy();
            assert.equal(memory.things.size, 0);
        });
    }

    test(`failures of a method of ${plugin} have its token and their properties in an SDK program`, { skip }, async (t) => {
        const program = (given) =>
            sdkProgram(async () => {
                const box = new Component(type);
                const opened = pulumi.runtime.call(`${type}/open`, { ...given, __self__: box }, box);
                return { by: opened.by };
            });
        const { stack, memory } = await stackOf(t, program({}));
        const failed = await failureOf(stack.up());
        assert.equal(failed.kind, "program");
        assert.ok(failed.message.includes(`Invoke of '${type}/open' failed: is missing (by); is stuck (lock[0])`), failed.message);
        const raised = await failureOf(stack.up({ program: program({ by: 1, raise: true }) }));
        assert.equal(raised.kind, "failed");
        assert.ok(raised.message.includes(`call by provider \`${plugin}\`: call to function '${type}/open' failed: `), raised.message);
        assert.match(raised.message, /no such key/);
        assert.ok(!("opened" in (await records(stack))));
        await stack.destroy();
        assert.equal(memory.things.size, 0);
    });
}

for (const plugin of ["tsmodule", "hosted"]) {
    test(`a method of a resource of ${plugin} returns what its argument depends on`, { skip }, async (t) => {
        const token = `${plugin}:index:Lock/turn`;
        const program = sdkProgram(() => {
            const [first, lock] = [new Thing("first", 7), new Lock(`${plugin}:index:Lock`)];
            const turned = pulumi.runtime.call(token, { by: first.size, __self__: lock }, lock);
            new Thing("user", turned.turned);
            return { lock: turned.lock };
        });
        const { stack, memory } = await stackOf(t, program);
        const { outputs } = await stack.up();
        const { first, lock, user } = await records(stack);
        assert.equal(outputs.lock.value, lock.urn);
        assert.equal(memory.things.get("user").size, 7);
        assert.ok(user.propertyDependencies.size.includes(first.urn));
        await stack.destroy();
        assert.equal(memory.things.size, 0);
    });
}
