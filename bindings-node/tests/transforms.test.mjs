/** Transforms of resources, of the stack and of calls of functions, with the package's own API. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";

import { InvalidInputError, isSecret, isUnknown, Output, ProviderError, secret, Unknown } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";
const BOX = "box:index:Box";

/** Opens a stack with a program and a provider in memory. */
async function stackOf(program, memory = new Memory(), providers = {}) {
    const engine = memoryEngine(memory, { providers: { mem: memory, ...providers } });
    return engine.stack("shop/dev", { program });
}

/** Returns the records of a stack by name, with readable secrets. */
async function records(stack, showSecrets = true) {
    const { deployment } = await stack.exportDeployment({ showSecrets });
    return Object.fromEntries((deployment.resources ?? []).map((record) => [record.urn.split("::").at(-1), record]));
}

/** Makes a transform that notes its calls as `note name`. */
const noting = (notes, note) => ({ name }) => void notes.push(`${note} ${name}`);

test("a resource's own transforms run first, then those of the components above it, then those of the stack", async () => {
    const notes = [];
    const stack = await stackOf(async (context) => {
        const outer = context.component(BOX, "outer", {}, { transforms: [noting(notes, "far")] });
        const inner = context.component(BOX, "inner", {}, { parent: outer, transforms: [noting(notes, "near")] });
        await inner;
        context.transform(noting(notes, "first"));
        context.transform(noting(notes, "second"));
        const transforms = [noting(notes, "own"), noting(notes, "other")];
        context.resource(THING, "a", {}, { parent: inner, transforms });
    });
    await stack.up();
    assert.deepEqual(notes.slice(0, 3), ["far outer", "near inner", "far inner"]);
    assert.deepEqual(notes.slice(3), ["own a", "other a", "near a", "far a", "first a", "second a"]);
});

test("a transform changes inputs and options, and the next run changes nothing", async () => {
    const seen = [];
    const guard = (args) => {
        seen.push(args);
        const { inputs, options } = args;
        return { inputs: { ...inputs, tag: "team" }, options: { ...options, protect: true, customTimeouts: { create: 90 } } };
    };
    const stack = await stackOf((context) => {
        context.resource(THING, "a", { content: "x" }, { transforms: [guard], ignoreChanges: ["color"] });
    });
    await stack.up();
    const { parent, ...args } = seen[0];
    assert.deepEqual(args, { type: THING, name: "a", custom: true, inputs: { content: "x" }, options: { ignoreChanges: ["color"] } });
    assert.match(parent, /::shop-dev$/);
    const { a } = await records(stack);
    assert.deepEqual(a.inputs, { content: "x", tag: "team" });
    assert.deepEqual([a.protect, a.customTimeouts.create, a.ignoreChanges], [true, 90, ["color"]]);
    assert.deepEqual((await stack.up()).changes, { same: 2 });
});

test("what a transform leaves out is unchanged: returned inputs are all of them, returned options those that change", async () => {
    const results = { nothing: undefined, null: null, empty: {}, inputs: { inputs: { content: "new" } }, options: { options: { retainOnDelete: true } } };
    const stack = await stackOf((context) => {
        for (const [name, result] of Object.entries(results)) {
            context.resource(THING, name, { content: "old", more: 1 }, { protect: true, transforms: [() => result] });
        }
    });
    await stack.up();
    const known = await records(stack);
    for (const name of ["nothing", "null", "empty", "options"]) {
        assert.deepEqual(known[name].inputs, { content: "old", more: 1 }, name);
    }
    assert.deepEqual(known.inputs.inputs, { content: "new" });
    assert.deepEqual(Object.keys(results).map((name) => known[name].protect ?? false), [true, true, true, true, true]);
    assert.equal(known.options.retainOnDelete, true);
});

test("transforms may be asynchronous, and those of several resources run at the same time", async () => {
    const waiting = [];
    const together = async ({ inputs }) => {
        await new Promise((resolve) => {
            waiting.push(resolve);
            if (waiting.length === 2) {
                waiting.forEach((each) => each());
            }
        });
        return { inputs: { ...inputs, seen: true } };
    };
    const stack = await stackOf((context) => {
        context.resource(THING, "a", {}, { transforms: [together] });
        context.resource(THING, "b", {}, { transforms: [together] });
    });
    await stack.up();
    const { a, b } = await records(stack);
    assert.deepEqual([a.inputs, b.inputs], [{ seen: true }, { seen: true }]);
});

test("secrets and assets arrive as such, and a secret stays one through a transform", async () => {
    const seen = [];
    const copy = ({ inputs }) => {
        seen.push(inputs);
        return { inputs: { ...inputs, added: secret("of the transform"), derived: secret(`${inputs.key.value}!`) } };
    };
    const stack = await stackOf((context) => {
        context.resource(THING, "a", { key: secret("hyacinth"), content: "x" }, { transforms: [copy] });
    });
    await stack.up();
    assert.ok(isSecret(seen[0].key) && seen[0].key.value === "hyacinth");
    const { a } = await records(stack, false);
    assert.ok(["key", "added", "derived"].every((name) => "ciphertext" in a.inputs[name]), JSON.stringify(a.inputs));
    assert.doesNotMatch(JSON.stringify(await stack.exportDeployment()), /hyacinth|of the transform/);
});

test("a secret that a transform makes is in no text of its failure", async () => {
    const stack = await stackOf((context) => {
        const fails = () => {
            throw new Error(`cannot use ${secret("narcissus").value}`);
        };
        context.resource(THING, "a", {}, { transforms: [fails] });
    });
    const error = await failureOf(stack.up());
    assert.match(error.message, /cannot use \[secret\]/);
});

test("in previews, values that are not known yet are unknown, and inputs keep what they depend on", async () => {
    const seen = [];
    const look = ({ inputs, options }) => {
        seen.push(inputs.of);
        return { inputs: { ...inputs, changed: 1, known: isUnknown(inputs.known) ? inputs.known : `${inputs.known}!` }, options };
    };
    const stack = await stackOf((context) => {
        const a = context.resource(THING, "a", { content: "x" });
        context.resource(THING, "b", { of: a.id, known: a.get("content") }, { transforms: [look] });
    });
    await stack.preview();
    assert.ok(isUnknown(seen[0]));
    await stack.up();
    assert.equal(seen[1], "a-1");
    const { a, b } = await records(stack);
    assert.deepEqual(b.inputs, { of: "a-1", known: "x!", changed: 1 });
    assert.deepEqual(b.dependencies, [a.urn]);
    assert.deepEqual(b.propertyDependencies, { of: [a.urn], known: [a.urn], changed: [] });
});

test("what a resource depends on stays, also where a transform makes other inputs of its inputs and leaves out dependsOn", async () => {
    const stack = await stackOf((context) => {
        const [a, base, other] = ["a", "base", "other"].map((name) => context.resource(THING, name, { content: name }));
        const renames = ({ inputs }) => ({ inputs: { text: `${inputs.of}!` }, options: { protect: true } });
        context.resource(THING, "own", { of: a.get("content") }, { dependsOn: base, transforms: [renames] });
        const replaces = ({ inputs }) => ({ inputs: { text: inputs.of }, options: { dependsOn: [other] } });
        context.resource(THING, "replaced", { of: a.get("content") }, { dependsOn: base, transforms: [replaces] });
        const box = context.component(BOX, "box", {}, { transforms: [() => ({ options: { protect: true } })] });
        context.resource(THING, "inherits", { of: a.get("content") }, { parent: box, dependsOn: base });
    });
    await stack.up();
    const { a, base, other, own, replaced, inherits } = await records(stack);
    assert.deepEqual([own.inputs, own.protect], [{ text: "a!" }, true]);
    assert.deepEqual(new Set(own.dependencies), new Set([a.urn, base.urn]));
    assert.deepEqual(new Set(replaced.dependencies), new Set([a.urn, other.urn]));
    assert.deepEqual(new Set(inherits.dependencies), new Set([a.urn, base.urn]));
    assert.deepEqual(inherits.propertyDependencies, { of: [a.urn] });
});

test("outputs, resources and promises in returned inputs and options are awaited, and their resource is depended on", async () => {
    const stack = await stackOf((context) => {
        const base = context.resource(THING, "base", { content: "wood", key: secret("iris") });
        const given = context.provider("mem", "given");
        const transforms = [
            ({ inputs, options }) => ({
                inputs: { ...inputs, content: base.get("content"), key: base.get("key"), list: [Promise.resolve(base.id)], base },
                options: { ...options, provider: given, dependsOn: [base], replacementTrigger: base.get("content") },
            }),
        ];
        context.resource(THING, "user", { content: "none" }, { transforms });
    });
    await stack.preview();
    await stack.up();
    const { base, user, given } = await records(stack, false);
    assert.equal(user.inputs.content, "wood");
    assert.ok("ciphertext" in user.inputs.key);
    assert.deepEqual(user.inputs.list, ["base-1"]);
    assert.deepEqual(user.propertyDependencies.content, [base.urn]);
    assert.ok(user.dependencies.includes(base.urn));
    assert.equal(user.provider, `${given.urn}::${given.id}`);
    assert.equal(user.replacementTrigger, "wood");
});

test("transforms of a remote component reach it and what its provider registers below it", async () => {
    const notes = [];
    const boxes = {
        construct(context, { name, inputs }) {
            const lid = context.resource(THING, `${name}-lid`, { content: inputs.content });
            return { content: lid.get("content") };
        },
    };
    const wooden = ({ name, custom, inputs }) => {
        notes.push(`${name} ${custom}`);
        return { inputs: { ...inputs, content: name === "box" ? "wood" : inputs.content, tag: "all" } };
    };
    const stack = await stackOf(
        (context) => {
            const box = context.remoteComponent(BOX, "box", { content: "steel" }, { transforms: [wooden] });
            context.export("content", box.get("content"));
        },
        new Memory(),
        { box: boxes },
    );
    const { outputs } = await stack.up();
    assert.equal(outputs.content.value, "wood");
    const known = await records(stack);
    assert.deepEqual(known["box-lid"].inputs, { content: "wood", tag: "all" });
    assert.ok(notes.includes("box false") && notes.includes("box-lid true"), notes.join());
    assert.deepEqual((await stack.up()).changes, { same: 3 });
});

test("the code of a component adds transforms with its own context", async () => {
    const boxes = {
        construct(context, { name }) {
            context.transform(({ inputs }) => ({ inputs: { ...inputs, tag: "inside" } }));
            const lid = context.resource(THING, `${name}-lid`);
            return { tag: lid.get("tag") };
        },
    };
    const program = (context) => context.export("tag", context.remoteComponent(BOX, "box").get("tag"));
    const stack = await stackOf(program, new Memory(), { box: boxes });
    assert.equal((await stack.up()).outputs.tag.value, "inside");
});

test("transforms of calls change the arguments, one call after the other", async () => {
    const notes = [];
    const memory = new Memory();
    memory.invoke = ({ arguments: given }) => ({ result: given });
    const stack = await stackOf(async (context) => {
        context.transformInvokes(async ({ token, arguments: given, options }) => {
            notes.push(`begin ${given.size}`);
            await new Promise((resolve) => setImmediate(resolve));
            notes.push(`end ${given.size}`);
            assert.deepEqual([token, options.version], ["mem:index:echo", given.size === 1 ? "1.2.3" : undefined]);
            return { arguments: { ...given, region: "north", key: secret("crocus") } };
        });
        const results = [1, 2].map((size) => context.invoke("mem:index:echo", { size }, size === 1 ? { version: "1.2.3" } : {}));
        results.forEach((result, index) => context.export(`found${index}`, result));
    }, memory);
    const { outputs } = await stack.up();
    assert.deepEqual(
        [outputs.found0.value, outputs.found1.value].map(({ size, region, key }) => [size, region, key]),
        [
            [1, "north", "crocus"],
            [2, "north", "crocus"],
        ],
    );
    assert.deepEqual(notes.map((note) => note.split(" ")[0]), ["begin", "end", "begin", "end"]);
});

test("a call in a transform of calls is not transformed", async () => {
    const memory = new Memory();
    memory.invoke = ({ arguments: given }) => ({ result: given });
    const stack = await stackOf((context) => {
        context.transformInvokes(async ({ arguments: given }) => {
            const inner = await context.invoke("mem:index:echo", { inner: true });
            const later = context.invoke("mem:index:echo", { later: true });
            return { arguments: { ...given, inner, later } };
        });
        context.export("found", context.invoke("mem:index:echo", { outer: true }));
    }, memory);
    const { outputs } = await stack.up();
    assert.deepEqual(outputs.found.value, { outer: true, inner: { inner: true }, later: { later: true } });
});

test("a transform removes the options that are null, and leaves those that it does not name", async () => {
    const stack = await stackOf((context) => {
        const base = context.resource(THING, "base");
        const guard = () => ({ options: { protect: true, ignoreChanges: null, customTimeouts: null, dependsOn: null, hooks: null } });
        const options = { dependsOn: [base], ignoreChanges: ["content"], retainOnDelete: true, customTimeouts: { create: 5 } };
        context.resource(THING, "a", {}, { ...options, hooks: { beforeCreate: [() => undefined] }, transforms: [guard] });
    });
    await stack.up();
    const { protect, retainOnDelete, ignoreChanges, customTimeouts, dependencies, resourceHooks } = (await records(stack)).a;
    assert.deepEqual([protect, retainOnDelete], [true, true]);
    assert.deepEqual([ignoreChanges, customTimeouts, dependencies ?? [], resourceHooks], [undefined, undefined, [], undefined]);
});

test("what a transform threw is the cause of the error of the operation, which has the resource", async () => {
    const mine = new RangeError("no such region");
    const fails = () => {
        throw mine;
    };
    const stack = await stackOf((context) => void context.resource(THING, "a", {}, { transforms: [fails] }));
    const error = await failureOf(stack.up());
    assert.match(error.message, /transform 1 of resource 'a'/);
    assert.equal(error.cause, mine);
    assert.deepEqual([error.urn, error.phase], ["urn:pulumi:dev::shop::mem:index:Thing::a", "transform"]);
});

/** What a transform can throw, and what of it is shown. */
const THROWN = {
    "an error": [() => new RangeError("no such region"), /no such region/],
    "a provider's error": [() => new ProviderError("no such zone"), /no such zone/],
    "a text": [() => "just a text", /just a text/],
    "nothing": [() => undefined, /undefined/],
    "what cannot be read": [() => new Proxy({}, { get: () => assert.fail("read"), getPrototypeOf: () => assert.fail("read") }), /without a readable text|read/],
};

for (const [what, [make, text]] of Object.entries(THROWN)) {
    test(`a transform that throws ${what} refuses the registration, whose error names both`, async () => {
        const memory = new Memory();
        const fails = [() => Promise.reject(make()), () => { throw make(); }];
        for (const fail of fails) {
            const stack = await stackOf((context) => {
                context.resource(THING, "a", {}, { transforms: [() => undefined, fail] });
            }, memory);
            const error = await failureOf(stack.up());
            assert.match(error.message, /transform 2 of resource 'a': /);
            assert.match(error.message, text);
        }
        assert.ok(!memory.calls.includes("create a"));
    });
}

test("a program can handle the error of a transform, whose cause is the exception", async () => {
    const boom = new RangeError("no such region");
    let error;
    const stack = await stackOf(async (context) => {
        context.transform(({ name }) => {
            if (name === "a") {
                throw boom;
            }
        });
        context.transformInvokes(() => {
            throw boom;
        });
        error = await failureOf(context.resource(THING, "a"));
        const refused = await failureOf(context.invoke("mem:index:double", { x: 1 }));
        assert.match(refused.message, /transform 1 of function 'mem:index:double': no such region/);
        context.resource(THING, "b");
    });
    assert.deepEqual((await stack.up()).changes, { create: 2 });
    assert.match(error.message, /transform 1 of the stack for resource 'a': no such region/);
    assert.equal(error.cause, boom);
});

/** What transforms may not return, and the text of the error. */
const GARBAGE = {
    "a text": ["garbage", /a transform returns an object with inputs and options, or nothing, not a string/],
    "a list": [[], /a transform returns an object with inputs and options, or nothing, not a list/],
    "true": [true, /or nothing, not a boolean/],
    "an unknown member": [{ inptus: {} }, /did you mean "inputs"/],
    "a type": [{ type: "mem:index:Other" }, /type/],
    "inputs that are a text": [{ inputs: "x" }, /the inputs that a transform returned are an object of values by name, not a string/],
    "inputs that are a list": [{ inputs: [] }, /are an object of values by name, not a list/],
    "inputs that are a Map": [{ inputs: new Map() }, /are an object of values by name, not a Map/],
    "a function as a value": [{ inputs: { size: () => 1 } }, /inputs\.size: a function is not a value/],
    "a value that contains itself": [{ inputs: (() => { const all = {}; all.self = all; return { all }; })() }, /the values of inputs\.all that a transform returned contain themselves/],
    "an unknown option": [{ options: { protct: true } }, /did you mean "protect"/],
    "an option of a wrong type": [{ options: { protect: "yes" } }, /protect takes .*, not "?yes|protect takes/],
    "a parent": [{ options: { parent: "urn:pulumi:dev::shop::a:b:C::x" } }, /parent/],
    "transforms": [{ options: { transforms: [] } }, /transforms/],
    "hooks that are none": [{ options: { hooks: { beforeCreate: [3] } } }, /hooks\.beforeCreate\[0\] takes a Hook, not a number/],
    "checksums that are none": [{ options: { pluginChecksums: { "linux-amd64": 3 } } }, /pluginChecksums/],
    "a promise of garbage": [Promise.resolve(3), /not a number/],
};

for (const [what, [result, text]] of Object.entries(GARBAGE)) {
    test(`a transform that returns ${what} refuses the registration`, async () => {
        const stack = await stackOf((context) => {
            context.resource(THING, "a", {}, { transforms: [() => result] });
        });
        const error = await failureOf(stack.up());
        assert.match(error.message, /transform 1 of resource 'a': /);
        assert.match(error.message, text);
    });
}

test("a transform cannot change what it gets in place, also one of calls", { timeout: 60_000 }, async () => {
    const ofResources = {
        "an input": ({ inputs }) => void (inputs.n = 7),
        "a new input": ({ inputs }) => void (inputs.more = 7),
        "an option": ({ options }) => void (options.protect = true),
        "the name": (args) => void (args.name = "b"),
    };
    for (const [what, change] of Object.entries(ofResources)) {
        const stack = await stackOf((context) => void context.resource(THING, "a", { n: 1 }, { transforms: [change] }));
        const error = await failureOf(stack.up());
        assert.match(error.message, /transform 1 of resource 'a': Cannot /, what);
        assert.ok(error.cause instanceof TypeError, what);
    }
    const ofCalls = {
        "an argument": ({ arguments: given }) => void (given.x = 7),
        "an argument that is deleted": ({ arguments: given }) => void delete given.x,
        "an option": ({ options }) => void (options.version = "1.2.3"),
        "the token": (args) => void (args.token = "mem:index:other"),
    };
    for (const [what, change] of Object.entries(ofCalls)) {
        const stack = await stackOf(async (context) => {
            context.transformInvokes(change);
            await context.invoke("mem:index:double", { x: 1 });
        });
        const error = await failureOf(stack.up());
        assert.match(error.message, /transform 1 of function 'mem:index:double': Cannot /, what);
        assert.ok(error.cause instanceof TypeError, what);
    }
});

test("a transform that returns a generator, an output or a resource is refused", async () => {
    const results = {
        generator: [() => (function* () {})(), /is a generator/],
        output: [(made) => made.get("content"), /or nothing, not an output|not a string/],
    };
    for (const [make, text] of Object.values(results)) {
        const stack = await stackOf((context) => {
            const made = context.resource(THING, "made", { content: "x" });
            context.resource(THING, "a", {}, { transforms: [() => make(made)] });
        });
        assert.match((await failureOf(stack.up())).message, text);
    }
});

test("a transform of calls that returns garbage refuses the call", async () => {
    for (const [result, text] of [
        [3, /a transform returns an object with arguments and options, or nothing, not a number/],
        [{ inputs: {} }, /inputs/],
        [{ arguments: 3 }, /the arguments that a transform returned are an object of values by name/],
        [{ options: { parent: "x" } }, /parent/],
        [{ options: { version: 3 } }, /version takes a string, not/],
    ]) {
        const stack = await stackOf(async (context) => {
            context.transformInvokes(() => result);
            await context.invoke("mem:index:double", { x: 1 });
        });
        const error = await failureOf(stack.up());
        assert.match(error.message, /transform 1 of function 'mem:index:double': /);
        assert.match(error.message, text);
    }
});

test("a failure that nothing handles, in what a transform started, refuses the registration and nothing else", async () => {
    const stack = await stackOf(async (context) => {
        const strays = async () => {
            void Promise.reject(new Error("stray"));
            await new Promise(() => {});
        };
        const error = await failureOf(context.resource(THING, "a", {}, { transforms: [strays] }));
        assert.match(error.message, /transform 1 of resource 'a': stray/);
        context.resource(THING, "b");
    });
    assert.deepEqual((await stack.up()).changes, { create: 2 });
});

test("a transform that settles twice is answered once", async () => {
    const stack = await stackOf((context) => {
        const twice = () => ({
            then(fulfilled, rejected) {
                fulfilled({ inputs: { content: "first" } });
                fulfilled({ inputs: { content: "second" } });
                rejected(new Error("third"));
            },
        });
        context.resource(THING, "a", {}, { transforms: [twice] });
    });
    await stack.up();
    assert.deepEqual((await records(stack)).a.inputs, { content: "first" });
});

test("cancelling the operation gives up a transform that hangs, and aborts its signal", async () => {
    const memory = new Memory();
    let given;
    let reached;
    const begun = new Promise((resolve) => (reached = resolve));
    const stack = await stackOf((context) => {
        const hangs = (_, signal) => {
            given = signal;
            reached();
            return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        };
        context.resource(THING, "a", {}, { transforms: [hangs] });
    }, memory);
    const operation = stack.up();
    await begun;
    const aborted = given.aborted ? undefined : once(given, "abort");
    operation.cancel();
    const error = await failureOf(operation);
    await aborted;
    assert.equal(error.kind, "cancelled");
    assert.ok(!memory.calls.includes("create a"));
});

test("what is no transform is refused where the program writes it", async () => {
    const refusals = [];
    const stack = await stackOf((context) => {
        const attempts = [
            () => context.transform("tag"),
            () => context.transform(undefined),
            () => context.transformInvokes({}),
            () => context.transform(function* () {}),
            () => context.resource(THING, "a", {}, { transforms: () => undefined }),
            () => context.resource(THING, "a", {}, { transforms: [() => undefined, 3] }),
            () => context.resource(THING, "a", {}, { transform: [] }),
            () => context.read(THING, "r", "id", {}, { transforms: [] }),
        ];
        refusals.push(...attempts.map((attempt) => {
            try {
                attempt();
                return undefined;
            } catch (error) {
                return error;
            }
        }));
    });
    const failure = await failureOf(stack.up());
    assert.match(failure.message, /transforms takes a list of functions/);
    assert.ok(refusals.every((error) => error instanceof InvalidInputError), String(refusals));
    const texts = refusals.map(({ message }) => message);
    assert.match(texts[0], /a transform is a function, not a string/);
    assert.match(texts[3], /is a generator/);
    assert.match(texts[4], /transforms takes a list of functions, not a function, in the options of the resource a/);
    assert.match(texts[5], /transforms\[1\] in the options of the resource a is a function, not a number/);
    assert.match(texts[6], /did you mean "transforms"/);
    assert.match(texts[7], /transforms/);
});

test("a transform after the program's end is refused", async () => {
    let context;
    const stack = await stackOf((own) => void (context = own));
    await stack.up();
    assert.throws(() => context.transform(() => undefined), /a transform was added after the program had ended/);
});

test("outputs that transforms make of their inputs are no concern of later transforms", async () => {
    const seen = [];
    const stack = await stackOf((context) => {
        const base = context.resource(THING, "base", { content: "x" });
        const transforms = [() => ({ inputs: { of: base.get("content") } }), ({ inputs }) => void seen.push(inputs.of)];
        context.resource(THING, "a", {}, { transforms });
    });
    await stack.up();
    assert.deepEqual(seen, ["x"]);
    assert.ok(!(seen[0] instanceof Output) && !(seen[0] instanceof Unknown));
    const { a, base } = await records(stack);
    assert.deepEqual(a.propertyDependencies, { of: [base.urn] });
});

test("a transform cannot give a resource to the provider of another package", async () => {
    const memory = new Memory();
    let changes = false;
    const engine = memoryEngine(memory, { providers: { mem: memory, other: new Memory() } });
    const program = (context) => {
        const provider = context.provider("other", "p");
        if (changes) {
            context.transform(({ type }) => (type === THING ? { options: { provider } } : undefined));
        }
        context.resource(THING, "a", {});
    };
    const stack = await engine.stack("shop/dev", { program });
    await stack.up();
    changes = true;
    const { message } = await failureOf(stack.up());
    assert.ok(message.includes('provider is a provider of the package "other" for the package "mem"'), message);
    await stack.destroy();
    assert.equal(memory.things.size ?? Object.keys(memory.things).length, 0);
});
