/** Transforms and hooks of `@pulumi/pulumi` programs: called directly, and through the SDK's own server where its parts differ. */
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import { describe, test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { CancelledError, FailedError, sdkProgram, unwrap } from "stackwright";

import { listeners } from "./listeners.mjs";
import { failureOf, Memory, memoryEngine } from "./support.mjs";

const callbacks = createRequire(import.meta.url)("@pulumi/pulumi/runtime/callbacks.js");
const Original = callbacks.CallbackServer;

/** A class of the SDK whose objects cannot be used without its constructor, as a later version might have it. */
class Changed extends Original {
    #ready = true;

    registerTransform(transform) {
        assert.ok(this.#ready);
        return super.registerTransform(transform);
    }
}

class Thing extends pulumi.CustomResource {
    constructor(name, inputs, options) {
        super("mem:index:Thing", name, { size: undefined, ...inputs }, options);
    }
}

class Group extends pulumi.ComponentResource {
    constructor(name, options) {
        super("mem:index:Group", name, {}, options);
        this.inner = new Thing("inner", { content: "made" }, { parent: this, transforms: [trail("own")] });
        this.registerOutputs({});
    }
}

class Remote extends pulumi.ComponentResource {
    constructor(name, inputs, options) {
        super("remote:index:Box", name, { size: undefined, ...inputs }, options, true);
    }
}

/** Returns an asynchronous transform that adds its mark to the input `content`. */
const trail = (mark) => async ({ props, opts }) => {
    await new Promise((resolve) => setImmediate(resolve));
    return props.content === undefined ? undefined : { props: { ...props, content: pulumi.interpolate`${props.content},${mark}` }, opts };
};

const contents = (provider) =>
    Object.fromEntries([...provider.things].map(([id, thing]) => [id.replace(/-\d+$/, ""), thing.content]));
const resourceOf = async (stack, name) => {
    const { deployment } = await stack.exportDeployment();
    return deployment.resources.find(({ urn }) => urn.endsWith(`::${name}`));
};

/** Returns whether no other socket than those listens, after at most a thousand turns of the event loop: closing one takes some. */
async function closed(before) {
    for (let turn = 0; turn < 1000; turn++) {
        if (listeners().every((socket) => before.includes(socket))) {
            return true;
        }
        await new Promise((resolve) => setImmediate(resolve));
    }
    return false;
}

for (const way of ["direct", "server"]) {
    /** A test with direct calls, or as with a version of the SDK whose functions need its server. */
    const tried = (name, body) =>
        test(name, async (t) => {
            callbacks.CallbackServer = way === "direct" ? Original : Changed;
            t.after(() => (callbacks.CallbackServer = Original));
            await body(t);
        });

    describe(`transforms and hooks, ${way}`, () => {
        tried("transforms apply from the resource to the stack", async () => {
            const provider = new Memory();
            const stack = await memoryEngine(provider).stack("shop/dev", {
                program: sdkProgram(async () => {
                    pulumi.runtime.registerResourceTransform(trail("stack"));
                    new Group("group", { transforms: [trail("component")] });
                    new Thing("plain", { content: "made" });
                }),
            });
            await stack.preview();
            assert.deepEqual((await stack.up()).changes, { create: 4 });
            assert.deepEqual(contents(provider), { inner: "made,own,component,stack", plain: "made,stack" });
            assert.deepEqual((await stack.up()).changes, { same: 4 });
            await stack.destroy();
            assert.equal(provider.things.size, 0);
        });

        tried("a transform changes inputs and options", async () => {
            const hardened = ({ type, name, custom, props, opts }) => {
                assert.deepEqual([type, name, custom], ["mem:index:Thing", "a", true]);
                const options = { protect: true, additionalSecretOutputs: ["token"], ignoreChanges: ["content"] };
                return { props: { ...props, token: "hunter2" }, opts: pulumi.mergeOptions(opts, options) };
            };
            const stack = await memoryEngine().stack("shop/dev", {
                program: sdkProgram(async () => {
                    const first = new Thing("first", {});
                    const secret = pulumi.secret("s3cr3t");
                    new Thing("a", { of: first.size, secret }, { transforms: [hardened] });
                }),
            });
            await stack.up();
            const made = await resourceOf(stack, "a");
            assert.ok(made.protect);
            assert.deepEqual([made.additionalSecretOutputs, made.ignoreChanges], [["token"], ["content"]]);
            assert.equal(made.inputs.of, 0);
            assert.doesNotMatch(JSON.stringify(made.outputs), /hunter2/);
            assert.doesNotMatch(JSON.stringify(made), /s3cr3t/);
            assert.deepEqual(made.dependencies, [(await resourceOf(stack, "first")).urn]);
        });

        tried("a transform of invokes changes their arguments", async () => {
            const stack = await memoryEngine().stack("shop/dev", {
                program: sdkProgram(async () => {
                    pulumi.runtime.registerInvokeTransform(async ({ token, args, opts }) => {
                        assert.equal(token, "mem:index:double");
                        return { args: { x: args.x + 1 }, opts };
                    });
                    return { doubled: (await pulumi.runtime.invoke("mem:index:double", { x: 4 })).doubled };
                }),
            });
            assert.deepEqual(unwrap((await stack.up()).outputs), { doubled: 10 });
        });

        tried("a transform that throws is named with its resource", async () => {
            const provider = new Memory();
            const broken = ({ name }) => {
                throw new Error(`${name} is not allowed`);
            };
            const stack = await memoryEngine(provider).stack("shop/dev", {
                program: sdkProgram(async () => void new Thing("bad", {}, { transforms: [trail("first"), broken] })),
            });
            const error = await failureOf(stack.up());
            assert.equal(error.kind, "program");
            assert.match(error.message, /transform 2 of resource 'bad'.*bad is not allowed/);
            assert.equal(provider.things.size, 0);
            await stack.up({ program: sdkProgram(async () => ({ fine: true })) });
        });

        tried("transforms reach a remote component and what is below it", async () => {
            const provider = new Memory();
            const boxes = {
                construct(context, { name, inputs }) {
                    const lid = context.resource("mem:index:Thing", `${name}-lid`, { content: "made", of: inputs.size });
                    return { size: lid.get("of") };
                },
            };
            const larger = ({ type, props, opts }) =>
                type === "remote:index:Box" ? { props: { ...props, size: pulumi.output(props.size).apply((size) => size + 1) }, opts } : undefined;
            const engine = memoryEngine(provider, { providers: { mem: provider, remote: boxes } });
            const stack = await engine.stack("shop/dev", {
                program: sdkProgram(async () => {
                    pulumi.runtime.registerResourceTransform(trail("stack"));
                    return { size: new Remote("box", { size: 3 }, { transforms: [larger, trail("component")] }).size };
                }),
            });
            assert.deepEqual(unwrap((await stack.up()).outputs), { size: 4 });
            const lid = await resourceOf(stack, "box-lid");
            assert.deepEqual(lid.inputs, { content: "made,component,stack", of: 4 });
        });

        tried("hooks run around each step", async () => {
            const provider = new Memory();
            const calls = [];
            const hook = (moment) =>
                new pulumi.ResourceHook(moment, async ({ name, newInputs, oldInputs, newOutputs, oldOutputs }) => {
                    await new Promise((resolve) => setImmediate(resolve));
                    assert.equal(name, "a");
                    const values = [newInputs, oldInputs, newOutputs, oldOutputs];
                    calls.push([moment, ...values.map((value) => value?.content)]);
                });
            const moments = ["beforeCreate", "afterCreate", "beforeUpdate", "afterUpdate", "beforeDelete", "afterDelete"];
            const program = sdkProgram(async () => {
                const hooks = Object.fromEntries(moments.map((moment) => [moment, [hook(moment)]]));
                // The SDK does not wait for hooks that no resource has.
                await Promise.all(Object.values(hooks).map(([hook]) => hook.__registered));
                const content = new pulumi.Config().require("content");
                if (content !== "none") {
                    new Thing("a", { content }, { hooks });
                }
            });
            const engine = memoryEngine(provider);
            const up = async (content) => {
                calls.length = 0;
                const stack = await engine.stack("shop/dev", { program, config: { content } });
                await stack.preview({ allowEmpty: true });
                assert.deepEqual(calls, [], "hooks do not run in previews");
                await stack.up({ allowEmpty: true });
                return stack;
            };
            const none = undefined;
            await up("one");
            assert.deepEqual(calls, [["beforeCreate", "one", none, none, none], ["afterCreate", "one", none, "one", none]]);
            let stack = await up("two");
            assert.deepEqual(calls, [["beforeUpdate", "two", "one", none, "one"], ["afterUpdate", "two", "one", "two", "one"]]);
            assert.match((await failureOf(stack.destroy())).message, /delete hooks/);
            assert.equal(provider.things.size, 1);
            // The program ends only when the hooks of what it no longer registers have run.
            await up("none");
            assert.deepEqual(calls, [["beforeDelete", none, "two", none, "two"], ["afterDelete", none, "two", none, "two"]]);
            assert.equal(provider.things.size, 0);
            stack = await up("three");
            calls.length = 0;
            await stack.destroy({ destroyProgram: true });
            assert.deepEqual(calls.map(([moment]) => moment), ["beforeDelete", "afterDelete"]);
            assert.equal(provider.things.size, 0);
        });

        tried("hooks of a component get its outputs, and those of a replacement run around both steps", async () => {
            let calls = [];
            const moments = ["beforeCreate", "afterCreate", "beforeUpdate", "afterUpdate", "beforeDelete", "afterDelete"];
            const hook = (moment) =>
                new pulumi.ResourceHook(moment, ({ name, newOutputs, oldOutputs }) => {
                    calls.push([name, moment, (newOutputs ?? oldOutputs)?.content]);
                });
            class Crate extends pulumi.ComponentResource {
                constructor(content, options) {
                    super("box:index:Crate", "crate", { content }, options);
                    this.registerOutputs({ content });
                }
            }
            const program = sdkProgram(async () => {
                const hooks = Object.fromEntries(moments.map((moment) => [moment, [hook(moment)]]));
                await Promise.all(Object.values(hooks).map(([hook]) => hook.__registered));
                const content = new pulumi.Config().require("content");
                if (content !== "none") {
                    new Crate(content, { hooks });
                    new Thing("a", { content }, { hooks, replaceOnChanges: ["content"] });
                }
            });
            const engine = memoryEngine(new Memory());
            const up = async (content) => {
                calls = [];
                const stack = await engine.stack("shop/dev", { program, config: { content } });
                await stack.up({ allowEmpty: true });
                return ["crate", "a"].map((of) => calls.filter(([name]) => name === of).map(([, moment, found]) => [moment, found]));
            };
            const created = [["beforeCreate", undefined], ["afterCreate", "one"]];
            assert.deepEqual(await up("one"), [created, created]);
            const replaced = [["beforeCreate", undefined], ["afterCreate", "two"], ["beforeDelete", "one"], ["afterDelete", "one"]];
            assert.deepEqual(await up("two"), [[["beforeUpdate", "one"], ["afterUpdate", "two"]], replaced]);
            const deleted = [["beforeDelete", "two"], ["afterDelete", "two"]];
            assert.deepEqual(await up("none"), [deleted, deleted]);
        });

        tried("hooks run in previews and failures are ignored where their options say so", async () => {
            const provider = new Memory();
            const calls = [];
            const stack = await memoryEngine(provider).stack("shop/dev", {
                program: sdkProgram(async () => {
                    const run = () => {
                        calls.push(pulumi.runtime.isDryRun() ? "dry" : "up");
                        throw new Error("not now");
                    };
                    const hook = new pulumi.ResourceHook("always", run, { onDryRun: true, ignoreErrors: true });
                    new Thing("a", {}, { hooks: { beforeCreate: [hook] } });
                }),
            });
            for (const result of [await stack.preview(), await stack.up()]) {
                const warnings = result.diagnostics.filter(({ severity }) => severity === "warning");
                assert.ok(warnings.some(({ message }) => /"always".*not now/.test(message)));
            }
            assert.deepEqual(calls, ["dry", "up"]);
            assert.equal(provider.things.size, 1);
        });

        tried("a hook that throws prevents a creation, or fails the run after it", async () => {
            const provider = new Memory();
            const engine = memoryEngine(provider);
            const program = (moment) =>
                sdkProgram(async () => {
                    const hook = new pulumi.ResourceHook("window", async () => {
                        throw new Error("the window is closed");
                    });
                    new Thing("a", {}, { hooks: { [moment]: [hook] } });
                });
            const stack = await engine.stack("shop/dev", {});
            const before = await failureOf(stack.up({ program: program("beforeCreate") }));
            assert.ok(before instanceof FailedError, before.message);
            assert.match(before.message, /before hook "window" failed: the window is closed/);
            assert.equal(provider.things.size, 0);
            const after = await failureOf(stack.up({ program: program("afterCreate") }));
            assert.match(after.message, /after hook "window" failed: the window is closed/);
            assert.ok(await resourceOf(stack, "a"), "what was created is recorded");
        });

        tried("an error hook decides how often a creation is tried", async () => {
            let attempts = 0;
            const provider = new Memory({
                create: () => {
                    attempts += 1;
                    if (attempts <= 2) {
                        throw new Error(`attempt ${attempts} failed`);
                    }
                },
            });
            const asked = [];
            const program = (retries) =>
                sdkProgram(async () => {
                    const hook = new pulumi.ErrorHook("retry", async ({ failedOperation, errors }) => {
                        asked.push([failedOperation, errors.length]);
                        await new Promise((resolve) => setTimeout(resolve, 1));
                        return errors.length <= retries;
                    });
                    new Thing("a", {}, { hooks: { onError: [hook] } });
                });
            const engine = memoryEngine(provider);
            await (await engine.stack("shop/dev", { program: program(2) })).up();
            assert.deepEqual(asked, [["create", 1], ["create", 2]]);
            assert.equal(provider.things.size, 1);
            attempts = 0;
            const refused = await failureOf((await engine.stack("shop/other", { program: program(0) })).up());
            assert.match(refused.message, /attempt 1 failed/);
        });

        tried("hooks see their own program", async () => {
            const color = new AsyncLocalStorage();
            const seen = [];
            const program = sdkProgram(() =>
                color.run(`of ${pulumi.getStack()}`, async () => {
                    for (let index = 0; index < 5; index++) {
                        const hook = new pulumi.ResourceHook(`hook-${index}`, ({ name }) => {
                            seen.push(`${name} ${pulumi.getStack()} ${way === "direct" ? color.getStore() : ""}`);
                        });
                        new Thing(`${pulumi.getStack()}-${index}`, {}, { hooks: { afterCreate: [hook] } });
                    }
                }),
            );
            const engine = memoryEngine();
            const names = ["s0", "s1", "s2", "s3"];
            const stacks = await Promise.all(names.map((name) => engine.stack(`shop/${name}`, { program })));
            await Promise.all(stacks.map((stack) => stack.up()));
            const expected = names.flatMap((name) =>
                [0, 1, 2, 3, 4].map((index) => `${name}-${index} ${name} ${way === "direct" ? `of ${name}` : ""}`),
            );
            assert.deepEqual(seen.sort(), expected);
        });

        tried("a cancelled operation does not wait for a transform", async () => {
            const controller = new AbortController();
            const stack = await memoryEngine().stack("shop/dev", {
                program: sdkProgram(async () => {
                    const endless = () => {
                        controller.abort();
                        return new Promise(() => {});
                    };
                    new Thing("a", {}, { transforms: [endless] });
                }),
            });
            const error = await failureOf(stack.up({ signal: controller.signal }));
            assert.ok(error instanceof CancelledError, `${error.kind}: ${error.message}`);
        });

        tried("direct calls need no listening socket", async () => {
            const before = listeners();
            const found = [];
            const count = () => {
                found.push(listeners().filter((socket) => !before.includes(socket)).length);
                return undefined;
            };
            const stack = await memoryEngine().stack("shop/dev", {
                program: sdkProgram(async () => {
                    pulumi.runtime.registerResourceTransform(count);
                    pulumi.runtime.registerInvokeTransform(count);
                    const hook = new pulumi.ResourceHook("hook", count);
                    new Thing("a", {}, { transforms: [count], hooks: { beforeCreate: [hook] } });
                    await pulumi.runtime.invoke("mem:index:double", { x: 1 });
                }),
            });
            await stack.up();
            assert.deepEqual(found, Array(4).fill(way === "direct" ? 0 : 1));
            assert.ok(await closed(before), "the SDK's server is closed as well");
            const failing = sdkProgram(async () => {
                new Thing("b", {}, { transforms: [count] });
                throw new Error("no more");
            });
            await failureOf(stack.up({ program: failing }));
            assert.ok(await closed(before), "also after a failure");
        });

        tried("code of components and methods needs no listening socket", async () => {
            const before = listeners();
            const found = {};
            const count = (where) => void (found[where] = listeners().filter((socket) => !before.includes(socket)).length);
            const code = (where) => () => {
                count(`${where} begins`);
                const hook = new pulumi.ResourceHook(`hook ${where}`, () => count(`hook in ${where}`));
                const options = { transforms: [() => count(`transform in ${where}`)], hooks: { beforeCreate: [hook] } };
                return { size: new Thing(`${where}-thing`, { content: "x" }, options).size };
            };
            const boxes = {
                construct: (context) => context.runSdk(code("construct")),
                call: async (context) => ({ result: await context.runSdk(code("call")) }),
            };
            const memory = new Memory();
            const stack = await memoryEngine(memory, { providers: { mem: memory, box: boxes } }).stack("shop/dev", {
                program: async (context) => {
                    await context.runSdk(code("program"));
                    const box = context.remoteComponent("box:index:Box", "box");
                    assert.deepEqual(await context.call("box:index:Box/open", box), { size: 1 });
                },
            });
            await stack.up();
            const wheres = ["program", "construct", "call"];
            assert.deepEqual(
                Object.keys(found).sort(),
                wheres.flatMap((where) => [`${where} begins`, `hook in ${where}`, `transform in ${where}`]).sort(),
            );
            assert.equal(found["program begins"], 0, "nothing listens before the first function");
            for (const where of wheres) {
                assert.equal(found[`transform in ${where}`] > 0, way === "server", where);
                assert.equal(found[`hook in ${where}`] > 0, way === "server", where);
            }
            assert.ok(await closed(before), "nothing listens afterwards");
        });
    });
}
