/** Components of the host: providers with `construct` and `call`. */
import assert from "node:assert/strict";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { InvalidInputError, isUnknown, OutputValue, ProviderError, ProviderStatus, sdkProgram, Secret, secret } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

/** Constructs boxes: a lid, and a floor below it. */
class Boxes {
    requests = [];

    async construct(context, request) {
        this.requests.push(request);
        const { name, inputs } = request;
        const lid = context.resource("mem:index:Thing", `${name}-lid`, { content: inputs.content });
        const floor = context.resource("mem:index:Thing", `${name}-floor`, { content: lid.get("content") }, { parent: lid });
        return { content: lid.get("content"), floor: floor.id, color: "red" };
    }

    call(context, { token, arguments: given }) {
        if (given.by === undefined) {
            return { failures: [{ property: "by", reason: "is missing" }] };
        }
        const opened = context.resource("mem:index:Thing", "opened", { content: given.by });
        return { result: { by: opened.get("content"), token, box: given.__self__.urn } };
    }
}

function box(context) {
    const made = context.remoteComponent("box:index:Box", "box", { content: "wood" });
    context.export("content", made.get("content"));
    context.export("floor", made.get("floor"));
    return made;
}

/** Opens a stack of an engine with the packages `mem` and `providers`. */
async function stackOf(t, program, providers = { box: new Boxes() }, memory = new Memory()) {
    const engine = memoryEngine(memory, { providers: { mem: memory, ...providers } });
    t.after(() => engine.close());
    return engine.stack("shop/dev", { program });
}

/** Returns the records of a stack by name. */
async function records(stack) {
    const { deployment } = await stack.exportDeployment();
    return Object.fromEntries((deployment.resources ?? []).map((record) => [record.urn.split("::").at(-1), record]));
}

test("a component lives with what is below it", async (t) => {
    const memory = new Memory();
    const stack = await stackOf(t, (context) => void box(context), { box: new Boxes() }, memory);
    await stack.preview();
    const { outputs, changes } = await stack.up();
    assert.deepEqual([outputs.content.value, outputs.floor.value], ["wood", "box-floor-2"]);
    assert.deepEqual(changes, { create: 4 });
    const known = await records(stack);
    assert.equal(known["box-lid"].parent, known.box.urn);
    assert.equal(known["box-floor"].parent, known["box-lid"].urn);
    assert.deepEqual(known.box.outputs, { content: "wood", floor: "box-floor-2", color: "red" });
    assert.deepEqual((await stack.up()).changes, { same: 4 });
    await stack.destroy();
    assert.equal(memory.things.size, 0);
});

test("what uses an output of a component depends on the component and on what that output comes from", async (t) => {
    const stack = await stackOf(t, (context) => {
        const made = box(context);
        context.resource("mem:index:Thing", "first", { content: made.get("content") });
        context.resource("mem:index:Thing", "second", { content: made.get("floor") });
        context.resource("mem:index:Thing", "third", {}, { dependsOn: [made] });
    });
    await stack.up();
    const { box: component, first, second, third, ...known } = await records(stack);
    const [lid, floor] = [known["box-lid"].urn, known["box-floor"].urn];
    assert.deepEqual(new Set(first.dependencies), new Set([component.urn, lid]));
    assert.deepEqual(new Set(second.dependencies), new Set([component.urn, floor]));
    assert.deepEqual(new Set(third.dependencies), new Set([component.urn, lid, floor]));
});

test("components inside components belong to their parents, also with one slot", async (t) => {
    const crates = {
        construct(context, { name }) {
            const made = [0, 1, 2].map((number) =>
                context.remoteComponent("box:index:Box", `${name}-${number}`, { content: String(number) }),
            );
            return { contents: made.map((each) => each.get("content")) };
        },
    };
    const program = (context) => {
        const made = ["a", "b"].map((name) => context.remoteComponent("crate:index:Crate", name));
        context.export("contents", made.map((each) => each.get("contents")));
    };
    const stack = await stackOf(t, program, { box: new Boxes(), crate: crates });
    const { outputs } = await stack.up({ parallel: 1 });
    assert.deepEqual(outputs.contents.value, [["0", "1", "2"], ["0", "1", "2"]]);
    const known = await records(stack);
    assert.equal(known["b-1"].parent, known.b.urn);
    assert.equal(known["a-2-lid"].parent, known["a-2"].urn);
});

test("several components are constructed at the same time", async (t) => {
    const waiting = [];
    const pairs = {
        async construct(context, { name }) {
            await new Promise((resolve) => {
                waiting.push(resolve);
                if (waiting.length === 2) {
                    waiting.forEach((go) => go());
                }
            });
            return { id: context.resource("mem:index:Thing", `${name}-thing`).id };
        },
    };
    const program = (context) => ["a", "b"].forEach((name) => context.remoteComponent("pair:index:Pair", name));
    const stack = await stackOf(t, program, { pair: pairs });
    await stack.up({ parallel: 1 });
    const known = await records(stack);
    assert.equal(known["a-thing"].parent, known.a.urn);
    assert.equal(known["b-thing"].parent, known.b.urn);
});

test("secrets and unknowns stay what they are", async (t) => {
    const boxes = new Boxes();
    const stack = await stackOf(
        t,
        (context) => {
            const thing = context.resource("mem:index:Thing", "thing", { content: secret("hunter2") });
            const made = context.remoteComponent("box:index:Box", "box", { content: thing.get("content"), of: thing.id });
            context.export("content", made.get("content"));
        },
        { box: boxes },
    );
    await stack.preview();
    assert.ok(isUnknown(boxes.requests[0].inputs.of));
    assert.equal(boxes.requests[0].preview, true);
    const { outputs } = await stack.up();
    assert.ok(boxes.requests[1].inputs.content instanceof Secret);
    assert.deepEqual([outputs.content.value, outputs.content.secret], ["hunter2", true]);
    assert.ok(!JSON.stringify(await records(stack)).includes("hunter2"), "every copy is encrypted");
});

test("a request has the options of the component", async (t) => {
    const boxes = new Boxes();
    const stack = await stackOf(
        t,
        (context) => {
            const first = context.component("a:b:C", "first");
            const options = { parent: first, protect: true, ignoreChanges: ["x"] };
            context.remoteComponent("box:index:Box", "box", { content: "wood" }, options);
        },
        { box: boxes },
    );
    await stack.up();
    const [{ urn, type, name, parent, options }] = boxes.requests;
    const known = await records(stack);
    assert.deepEqual({ urn, type, name, parent }, { urn: known.box.urn, type: "box:index:Box", name: "box", parent: known.first.urn });
    assert.deepEqual(options, { protect: true, ignoreChanges: ["x"] });
    assert.equal(known["box-lid"].protect, true);
});

test("a method gets its resource, and may register others, which depend on its arguments", async (t) => {
    const stack = await stackOf(t, (context) => {
        const made = box(context);
        const opened = context.call("box:index:Box/open", made, { by: made.get("content") });
        for (const name of ["by", "token", "box"]) {
            context.export(name, opened.get(name));
        }
    });
    await stack.preview();
    const { outputs } = await stack.up();
    const known = await records(stack);
    assert.equal(outputs.by.value, "wood");
    assert.equal(outputs.token.value, "box:index:Box/open");
    assert.equal(outputs.box.value, known.box.urn);
    assert.ok(known.opened.dependencies.includes(known["box-lid"].urn));
});

test("a provider that keeps outputs gets arguments with their dependencies", async (t) => {
    const seen = [];
    const boxes = new Boxes();
    boxes.capabilities = { outputs: true };
    boxes.call = (context, { arguments: given }) => {
        seen.push(given.by);
        const opened = context.resource("mem:index:Thing", "opened", { content: given.by });
        return { result: { by: opened.get("content") } };
    };
    const stack = await stackOf(
        t,
        (context) => {
            const made = box(context);
            context.export("by", context.call("box:index:Box/open", made, { by: made.get("content") }).get("by"));
        },
        { box: boxes },
    );
    const { outputs } = await stack.up();
    assert.ok(seen[0] instanceof OutputValue);
    assert.equal(outputs.by.value, "wood");
    const known = await records(stack);
    assert.ok(known.opened.propertyDependencies.content.includes(known["box-lid"].urn));
});

test("the failure of an argument rejects the call where it is awaited", async (t) => {
    let failure;
    const stack = await stackOf(t, async (context) => {
        failure = await failureOf(context.call("box:index:Box/open", box(context)));
    });
    await stack.up();
    assert.ok(failure instanceof InvalidInputError);
    assert.match(failure.message, /call to function 'box:index:Box\/open' failed: by: is missing/);
});

test("an exception of construct fails the operation with type, name and cause; what was made is recorded", async (t) => {
    const broken = {
        async construct(context) {
            await context.resource("mem:index:Thing", "made");
            throw new Error("no more wood", { cause: new Error("the forest is closed") });
        },
    };
    const stack = await stackOf(t, (context) => void box(context), { box: broken });
    const error = await failureOf(stack.up());
    assert.match(error.message, /box:index:Box resource 'box' has a problem: no more wood\ncaused by: Error: the forest is closed/);
    assert.deepEqual([error.cause?.message, error.phase], ["no more wood", "construct"]);
    assert.match(error.urn, /::box:index:Box::box$/);
    assert.ok((await records(stack)).made);
});

test("a component and a method refuse their inputs with every failure", async (t) => {
    const refuse = () => {
        throw new ProviderError("no such box", ProviderStatus.invalidArgument, [
            { property: "size", reason: "is odd" },
            { property: "wood", reason: "is required" },
        ]);
    };
    const listed =
        "no such box\n- property size with value '3' has a problem: is odd\n" +
        "- property wood with value '<nil>' has a problem: is required";
    const component = await stackOf(t, (context) => void context.remoteComponent("box:index:Box", "box", { size: 3 }), {
        box: { construct: refuse },
    });
    const refused = await failureOf(component.up());
    assert.ok(refused.message.includes(`box:index:Box resource 'box' has a problem: ${listed}`), refused.message);

    const boxes = new Boxes();
    boxes.call = refuse;
    const method = await stackOf(t, (context) => void context.call("box:index:Box/open", box(context), { size: 3 }), { box: boxes });
    const failed = await failureOf(method.up());
    assert.ok(failed.message.includes(`call to function 'box:index:Box/open' failed: ${listed}`), failed.message);
});

test("an exception of a method ends the run", async (t) => {
    const boxes = new Boxes();
    boxes.call = () => {
        throw new ProviderError("it is stuck");
    };
    const stack = await stackOf(t, (context) => void context.call("box:index:Box/open", box(context)), { box: boxes });
    const error = await failureOf(stack.up());
    assert.match(error.message, /call to function 'box:index:Box\/open' failed: it is stuck/);
    assert.deepEqual([error.cause?.message, error.phase], ["it is stuck", "call"]);
    assert.match(error.urn, /::box:index:Box::box$/);
});

test("a construct that never returns ends with a cancelled operation", async (t) => {
    let began;
    const running = new Promise((resolve) => (began = resolve));
    let aborted;
    const waiting = {
        construct(context, _request, signal) {
            aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
            began();
            return new Promise(() => {});
        },
    };
    const stack = await stackOf(t, (context) => void box(context), { box: waiting });
    const operation = stack.up();
    await running;
    operation.cancel();
    operation.cancel();
    const error = await failureOf(operation);
    assert.equal(error.kind, "cancelled");
    await aborted;
});

test("a component has no stack outputs", async (t) => {
    const exporting = { construct: (context) => context.export("x", 1) };
    const stack = await stackOf(t, (context) => void box(context), { box: exporting });
    const error = await failureOf(stack.up());
    assert.match(error.message, /the component "box" has no stack outputs; return its outputs from construct\(\)/);
});

test("a failure that construct does not handle fails the component", async (t) => {
    const broken = {
        async construct() {
            void Promise.reject(new Error("not handled"));
            await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
        },
    };
    const stack = await stackOf(t, (context) => void box(context), { box: broken });
    const error = await failureOf(stack.up());
    assert.match(error.message, /box:index:Box resource 'box' has a problem: not handled/);
});

test("what a component registers after its end is refused", async (t) => {
    let late;
    const careless = {
        construct(context) {
            late = () => context.resource("mem:index:Thing", "late");
            return {};
        },
    };
    const stack = await stackOf(
        t,
        async (context) => {
            await box(context);
            await assert.rejects(Promise.resolve(late()), /after the component "box" had ended/);
        },
        { box: careless },
    );
    const error = await failureOf(stack.up());
    assert.match(error.message, /the resource "late" was registered after the component "box" had ended/);
});

test("an answer that is no object of values is refused", async (t) => {
    for (const [answer, message] of [
        [[1], /the outputs of the component "box" are an object of values by name, not a list/],
        ["text", /the outputs of the component "box" are an object of values by name, not a string/],
    ]) {
        const stack = await stackOf(t, (context) => void box(context), { box: { construct: () => answer } });
        assert.match((await failureOf(stack.up())).message, message);
    }
    const boxes = new Boxes();
    boxes.call = () => ({ by: 1 });
    const stack = await stackOf(t, (context) => void context.call("box:index:Box/open", box(context)), { box: boxes });
    assert.match((await failureOf(stack.up())).message, /unknown member "by" of the answer of the method box:index:Box\/open/);
});

/** What `construct` may not return as the outputs of a component, and how the error names it. */
const NO_OUTPUTS = {
    "a resource": [(context) => context.resource("mem:index:Thing", "thing"), "a resource"],
    "a promise of a resource": [async (context) => context.resource("mem:index:Thing", "thing"), "a resource"],
    "an awaited component": [async (context) => await context.component("a:b:C", "thing"), "a resource"],
    "an error": [() => new Error("bad"), "an object of the class Error"],
    "a date": [() => new Date(), "an object of the class Date"],
    "a Map": [() => new Map(), "a Map"],
    "bytes": [() => Buffer.from("a"), "an object of the class Buffer"],
    "a secret": [(context) => context.secret({ a: 1 }), "an object of the class Secret"],
};

for (const [what, [construct, named]] of Object.entries(NO_OUTPUTS)) {
    test(`a component whose construct returns ${what} is refused, and has no outputs`, { timeout: 60_000 }, async (t) => {
        const stack = await stackOf(t, (context) => void context.remoteComponent("box:index:Box", "box"), { box: { construct } });
        const error = await failureOf(stack.up());
        const message = `the outputs of the component "box" are an object of values by name, not ${named}, which construct() returned`;
        assert.ok(error.message.includes(message), error.message);
        assert.deepEqual((await records(stack)).box.outputs ?? {}, {});
    });
}

test("the outputs of a component may be those of a resource or the result of a function, also an unknown one", { timeout: 60_000 }, async (t) => {
    const thing = (context) => context.resource("mem:index:Thing", "thing", { content: "wood", x: 4 });
    const constructs = {
        "an output of all outputs": [(context) => thing(context).outputs, "size", 4],
        "awaited outputs": [async (context) => (await thing(context)).outputs, "size", 4],
        "a result": [async (context) => context.invoke("mem:index:double", { x: thing(context).get("x") }), "doubled", 8],
        "without a prototype": [() => Object.assign(Object.create(null), { size: 4 }), "size", 4],
    };
    for (const [what, [construct, output, value]] of Object.entries(constructs)) {
        const program = (context) => context.export("made", context.remoteComponent("box:index:Box", "box").get(output));
        const stack = await stackOf(t, program, { box: { construct } });
        await stack.preview();
        assert.equal((await stack.up()).outputs.made.value, value, what);
    }
});

/** What `call` may not return, and the text of the error. */
const NO_RESULTS = {
    "a promise as its result": [() => ({ result: Promise.resolve({ r: 1 }) }), /the values of the result of .* are an object of values by name, not an object of the class Promise, which call\(\) returned/],
    "a resource as its result": [(context) => ({ result: context.resource("mem:index:Thing", "thing") }), /not an object of the class Resource/],
    "an awaited resource as its result": [async (context) => ({ result: await context.resource("mem:index:Thing", "thing") }), /not a resource, which call\(\) returned/],
    "an output as its result": [(context) => ({ result: context.resource("mem:index:Thing", "thing").outputs }), /not an object of the class Output/],
    "an error": [() => new Error("bad"), /the members of the answer of .*, not an object of the class Error/],
    "a text as a failure": [() => ({ failures: ["x"] }), /failures\[0\]: expected an object with property and reason/],
    "an unknown member of a failure": [() => ({ failures: [{ property: "a", reason: "b" }, { prop: "a" }] }), /failures\[1\]: it has the unknown key "prop"; there are: property, reason/],
};

for (const [what, [call, text]] of Object.entries(NO_RESULTS)) {
    test(`a method that returns ${what} is refused`, { timeout: 60_000 }, async (t) => {
        const boxes = new Boxes();
        boxes.call = call;
        const stack = await stackOf(t, (context) => context.export("r", context.call("box:index:Box/open", box(context)).get("r")), { box: boxes });
        assert.match((await failureOf(stack.up())).message, text);
    });
}

test("a provider's error with failures that are none keeps its message, its status and its cause", { timeout: 60_000 }, async (t) => {
    for (const [failures, text] of [
        [["x"], /inputErrors\[0\]: expected an object with property and reason/],
        ["x", /inputErrors: expected a list/],
    ]) {
        const refusal = new ProviderError("it is stuck", ProviderStatus.invalidArgument, failures);
        const fail = () => {
            throw refusal;
        };
        const boxes = new Boxes();
        boxes.call = fail;
        const programs = [
            [(context) => void context.call("box:index:Box/open", box(context)), { box: boxes }],
            [(context) => void context.remoteComponent("box:index:Box", "box"), { box: { construct: fail } }],
        ];
        for (const [program, providers] of programs) {
            const error = await failureOf((await stackOf(t, program, providers)).up());
            assert.match(error.message, /: it is stuck\n/);
            assert.match(error.message, text);
            assert.equal(error.cause, refusal);
        }
    }
});

test("a provider without construct has no components", async (t) => {
    const stack = await stackOf(t, (context) => void box(context), { box: new Memory() });
    assert.match((await failureOf(stack.up())).message, /box:index:Box/);
});

test("the options of a method's call are checked where it is called", async (t) => {
    let failure;
    const stack = await stackOf(t, (context) => {
        failure = assert.throws(() => context.call("box:index:Box/open", undefined, {}, { protect: true }), InvalidInputError);
    });
    await stack.up();
    assert.equal(failure, undefined);
});

test("the resource of a method's call is a resource or a URN", { timeout: 60_000 }, async (t) => {
    const stack = await stackOf(t, async (context) => {
        const made = box(context);
        for (const [of, given] of [
            [3, "a number"],
            ["b", '"b"'],
            ["urn:nope", '"urn:nope"'],
            [made.urn, "an object of the class Output"],
            [new Date(), "an object of the class Date"],
        ]) {
            const message = `of takes a resource or its URN, not ${given}, in the call of box:index:Box/open`;
            assert.throws(() => context.call("box:index:Box/open", of, { by: 1 }), { name: "InvalidInputError", message });
        }
        const { urn } = await made;
        context.export("box", context.call("box:index:Box/open", urn, { by: "hand" }).get("box"));
    });
    const { outputs } = await stack.up();
    assert.match(outputs.box.value, /::box:index:Box::box$/);
});

class SdkThing extends pulumi.CustomResource {
    constructor(name, inputs) {
        super("mem:index:Thing", name, { content: undefined, ...inputs });
    }
}

class SdkBox extends pulumi.ComponentResource {
    constructor(name, inputs) {
        super("box:index:Box", name, { floor: undefined, ...inputs }, {}, true);
    }

    open(by) {
        return pulumi.runtime.call("box:index:Box/open", { __self__: this, by }, this);
    }
}

test("a program of the SDK uses a component of the host and its method", async (t) => {
    const program = sdkProgram(() => {
        const thing = new SdkThing("thing", { content: pulumi.secret("hunter2") });
        const made = new SdkBox("box", { content: thing.content });
        return { content: made.content, floor: made.floor, opened: made.open(made.content) };
    });
    const stack = await stackOf(t, program);
    await stack.preview();
    const { outputs } = await stack.up();
    const known = await records(stack);
    assert.deepEqual([outputs.content.value, outputs.content.secret], ["hunter2", true]);
    assert.match(outputs.floor.value, /^box-floor-/);
    assert.deepEqual(outputs.opened.value, { by: "hunter2", token: "box:index:Box/open", box: known.box.urn });
    assert.equal(outputs.opened.secret, true);
    assert.equal(known["box-lid"].parent, known.box.urn);
    assert.ok(known.box.dependencies.includes(known.thing.urn));
    assert.ok(!JSON.stringify(known).includes("hunter2"), "every copy is encrypted");
    await stack.destroy();
});
