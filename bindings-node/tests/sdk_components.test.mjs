/** Components and methods of the host whose code is written with `@pulumi/pulumi`, run without a socket. */
import assert from "node:assert/strict";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { InvalidInputError, sdkProgram, secret } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

class Thing extends pulumi.CustomResource {
    constructor(name, content, options) {
        super("mem:index:Thing", name, { content }, options);
    }
}
Object.defineProperty(Thing.prototype, "content", { value: undefined, writable: true });

/** A component of the SDK: a lid, and a floor below it. */
class Box extends pulumi.ComponentResource {
    constructor(name, inputs, options) {
        super("box:index:Box", name, {}, options);
        this.lid = new Thing(`${name}-lid`, inputs.content, { parent: this });
        const below = { parent: this.lid };
        this.floor = new Thing(`${name}-floor`, pulumi.interpolate`${this.lid.content} floor`, below);
        this.registerOutputs({ ignored: true });
    }
}

class Boxes {
    construct(context, request) {
        return context.runSdk((inputs) => {
            assert.equal(pulumi.getStack(), context.stack);
            const { lid, floor } = new Box(request.name, inputs);
            return { content: lid.content, floor: floor.id, key: pulumi.secret("hunter2") };
        }, request.inputs);
    }

    async call(context, request) {
        const result = await context.runSdk(async ({ by }) => ({ by: new Thing("opened", by).content }), {
            by: request.arguments.by,
        });
        return { result };
    }
}

async function stackOf(t, program, providers = { box: new Boxes() }, memory = new Memory()) {
    const engine = memoryEngine(memory, { providers: { mem: memory, ...providers } });
    t.after(() => engine.close());
    return engine.stack("shop/dev", { program });
}

async function records(stack) {
    const { deployment } = await stack.exportDeployment();
    return Object.fromEntries((deployment.resources ?? []).map((record) => [record.urn.split("::").at(-1), record]));
}

function box(context) {
    const made = context.remoteComponent("box:index:Box", "box", { content: "wood" });
    context.resource("mem:index:Thing", "user", { content: made.get("content") });
    for (const name of ["content", "floor", "key"]) {
        context.export(name, made.get(name));
    }
}

test("an SDK component is the component itself, with what is below it", async (t) => {
    const memory = new Memory();
    const stack = await stackOf(t, box, { box: new Boxes() }, memory);
    await stack.preview();
    const { outputs } = await stack.up();
    assert.deepEqual([outputs.content.value, outputs.floor.value], ["wood", "box-floor-2"]);
    assert.deepEqual([outputs.key.value, outputs.key.secret], ["hunter2", true]);
    const known = await records(stack);
    assert.equal(known["box-lid"].parent, known.box.urn);
    assert.equal(known["box-floor"].parent, known["box-lid"].urn);
    assert.equal(known["box-floor"].inputs.content, "wood floor");
    assert.deepEqual(Object.keys(known.box.outputs).sort(), ["content", "floor", "key"]);
    assert.ok(known.user.dependencies.includes(known["box-lid"].urn));
    assert.deepEqual((await stack.up()).changes, { same: 5 });
    await stack.destroy();
    assert.equal(memory.things.size, 0);
});

test("the SDK program that uses the component may be of the same process", async (t) => {
    class Remote extends pulumi.ComponentResource {
        constructor(name, inputs) {
            super("box:index:Box", name, { content: undefined, ...inputs }, {}, true);
        }
    }
    const program = sdkProgram(() => ({ content: new Remote("box", { content: "oak" }).content }));
    const stack = await stackOf(t, program);
    assert.equal((await stack.up()).outputs.content.value, "oak");
    const known = await records(stack);
    assert.equal(known["box-lid"].parent, known.box.urn);
});

test("secrets and unknowns reach the SDK as outputs", async (t) => {
    const seen = [];
    const watching = {
        construct: (context, request) =>
            context.runSdk(async (inputs) => {
                const [size, key] = [pulumi.output(inputs.size), pulumi.output(inputs.key)];
                seen.push([await size.isKnown, await key.isSecret]);
                return { key: new Thing("made", key).content };
            }, request.inputs),
    };
    const program = (context) => {
        const first = context.resource("mem:index:Thing", "first", { content: "1" });
        const made = context.remoteComponent("box:index:Box", "box", { size: first.id, key: secret("hunter2") });
        context.export("key", made.get("key"));
    };
    const stack = await stackOf(t, program, { box: watching });
    await stack.preview();
    assert.deepEqual(seen, [[false, true]]);
    const { outputs } = await stack.up();
    assert.deepEqual(seen[1], [true, true]);
    assert.deepEqual([outputs.key.value, outputs.key.secret], ["hunter2", true]);
    assert.ok(!JSON.stringify(await stack.exportDeployment()).includes("hunter2"));
});

test("several run at the same time, each below its own component", async (t) => {
    const running = [];
    let together;
    const met = new Promise((resolve) => (together = resolve));
    const meeting = {
        construct: (context, { name }) =>
            context.runSdk(async () => {
                running.push(name);
                if (running.length === 8) {
                    together();
                }
                await met;
                return { id: new Thing(`${name}-child`, "x").id };
            }),
    };
    const program = (context) => {
        for (let number = 0; number < 8; number++) {
            context.remoteComponent("box:index:Box", `box-${number}`);
        }
    };
    const stack = await stackOf(t, program, { box: meeting });
    await stack.up();
    const known = await records(stack);
    assert.equal(running.length, 8);
    for (const name of running) {
        assert.equal(known[`${name}-child`].parent, known[name].urn);
    }
});

test("a method registers resources with the SDK", async (t) => {
    const stack = await stackOf(t, (context) => {
        const made = context.remoteComponent("box:index:Box", "box", { content: "wood" });
        context.export("by", context.call("box:index:Box/open", made, { by: "me" }).apply(({ by }) => by));
    });
    assert.equal((await stack.up()).outputs.by.value, "me");
    assert.ok((await records(stack)).opened);
});

test("a program of our own may use an SDK component", async (t) => {
    const stack = await stackOf(t, async (context) => {
        const first = context.resource("mem:index:Thing", "first", { content: "oak" });
        const code = (inputs) => ({ floor: new Box("box", inputs).floor.id });
        context.export("floor", (await context.runSdk(code, { content: first.get("content") })).floor);
    });
    assert.equal((await stack.up()).outputs.floor.value, "box-floor-3");
    const known = await records(stack);
    assert.equal(known["box-lid"].parent, known.box.urn);
    assert.ok(known.box.parent.endsWith("::shop-dev"));
});

test("a failure of the code fails the component", async (t) => {
    const failing = (code) => ({ construct: (context) => context.runSdk(code) });
    for (const [code, text] of [
        [() => { throw new Error("no such wood"); }, "no such wood"],
        [() => 7, "the values that the SDK's code returns are an object of values by name, not a number"],
        [function* () {}, "is a generator (function*)"],
        [() => { new Thing("broken", "refused"); return {}; }, "no such thing"],
    ]) {
        const memory = new Memory();
        memory.check = ({ inputs }) => (inputs.content === "refused" ? { failures: [{ property: "content", reason: "no such thing" }] } : { inputs });
        const stack = await stackOf(t, (context) => void context.remoteComponent("box:index:Box", "box"), { box: failing(code) }, memory);
        const error = await failureOf(stack.up());
        const texts = JSON.stringify([error.message, error.result?.diagnostics]);
        assert.ok(texts.includes(text), `${texts} does not contain ${text}`);
    }
});

test("wrong arguments are refused where the code is run", async (t) => {
    const stack = await stackOf(t, async (context) => {
        await assert.rejects(context.runSdk(7), InvalidInputError);
        await assert.rejects(context.runSdk(() => ({}), 7), InvalidInputError);
        await assert.rejects(context.runSdk(() => ({}), {}, { sdk: "/nowhere" }), /cannot be found/);
    });
    await stack.up();
});

test("code that waits ends with a cancelled operation", async (t) => {
    let start;
    const started = new Promise((resolve) => (start = resolve));
    const waiting = {
        construct: (context) =>
            context.runSdk(() => {
                start();
                return new Promise(() => undefined);
            }),
    };
    const stack = await stackOf(t, (context) => void context.remoteComponent("box:index:Box", "box"), { box: waiting });
    const operation = stack.up();
    await started;
    operation.cancel();
    operation.cancel();
    const error = await failureOf(operation);
    assert.equal(error.kind, "cancelled");
});

test("what the code makes depends on what its inputs come from", async (t) => {
    const stack = await stackOf(t, async (context) => {
        const first = context.resource("mem:index:Thing", "first", { content: "oak" });
        await context.runSdk((inputs) => ({ id: new Thing("made", inputs.content).id }), { content: first.get("content") });
        const made = context.remoteComponent("box:index:Box", "box", { content: "wood" });
        await context.call("box:index:Box/open", made, { by: first.get("content") });
    });
    await stack.up();
    const known = await records(stack);
    assert.deepEqual(known.made.propertyDependencies, { content: [known.first.urn] });
    assert.ok(known.opened.dependencies.includes(known.first.urn));
});

test("what was made before a failure is registered", async (t) => {
    let fails = false;
    const memory = new Memory();
    const program = async (context) => {
        const code = () => {
            const made = new Thing("made", "x");
            if (fails) {
                throw new Error("later");
            }
            return { id: made.id };
        };
        await context.runSdk(code).catch((error) => assert.ok(fails && error.message === "later", error.message));
    };
    const stack = await stackOf(t, program, {}, memory);
    await stack.up();
    fails = true;
    assert.deepEqual((await stack.up()).changes, { same: 2 });
    assert.equal(memory.things.size, 1);
});

test("hooks and transforms of the code are served until the end of the run", async (t) => {
    const ran = [];
    let withThing = true;
    const tagged = ({ type, props, opts }) => (type === "mem:index:Thing" ? { props: { ...props, tag: "all" }, opts } : undefined);
    const stack = await stackOf(t, async (context) => {
        await context.runSdk(async () => {
            const drain = new pulumi.ResourceHook("drain", ({ name }) => void ran.push(name));
            await drain.__registered;
            pulumi.runtime.registerResourceTransform(tagged);
            if (withThing) {
                new Thing("made", "x", { hooks: { beforeDelete: [drain] } });
            }
        });
        await context.resource("mem:index:Thing", "later", { content: "y" });
    });
    await stack.up();
    assert.equal((await records(stack)).later.inputs.tag, "all");
    withThing = false;
    await stack.up();
    assert.deepEqual(ran, ["made"]);
});

test("options of an SDK component that have no effect are refused", async (t) => {
    const named = {
        construct: (context, request) =>
            context.runSdk(() => ({ id: new Box(request.name, { content: "x" }, { aliases: [{ name: "former" }], protect: true }).lid.id })),
    };
    const stack = await stackOf(t, (context) => void context.remoteComponent("box:index:Box", "box"), { box: named });
    const error = await failureOf(stack.up());
    const texts = JSON.stringify([error.message, error.result?.diagnostics]);
    assert.match(texts, /leave out aliases, protect/);
});
