/** Hooks of resources and error hooks, with the package's own API. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";

import { ErrorHook, Hook, InvalidInputError, isSecret, isUnknown, secret } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";
const BOX = "box:index:Box";
const A = "urn:pulumi:dev::shop::mem:index:Thing::a";

/** Opens a stack with a provider in memory. */
async function stackOf(program, memory = new Memory(), providers = {}) {
    const engine = memoryEngine(memory, { providers: { mem: memory, ...providers } });
    return engine.stack("shop/dev", { program });
}

/** Returns the record of a resource. */
async function recordOf(stack, name) {
    const { deployment } = await stack.exportDeployment();
    return (deployment.resources ?? []).find(({ urn }) => urn.endsWith(`::${name}`));
}

/** All moments of steps, with one hook. */
const always = (hook) => ({
    beforeCreate: [hook],
    afterCreate: [hook],
    beforeUpdate: [hook],
    afterUpdate: [hook],
    beforeDelete: [hook],
    afterDelete: [hook],
});

test("hooks run before and after a creation, an update and a deletion, around the provider's call", async () => {
    const memory = new Memory();
    const seen = [];
    const gate = new Hook("gate", async (args) => {
        await undefined;
        memory.calls.push(`hook ${args.name}`);
        seen.push(args);
    });
    let content = "x";
    const program = (context) => {
        context.registerHook(gate);
        context.resource(THING, "kept");
        if (content !== undefined) {
            context.resource(THING, "a", { content }, { hooks: always(gate) });
        }
    };
    const stack = await stackOf(program, memory);
    await stack.up();
    content = "xyz";
    await stack.up();
    await stack.up();
    content = undefined;
    await stack.up();
    const calls = memory.calls.filter((call) => !call.startsWith("check") && !call.endsWith(" kept"));
    const around = (call) => ["hook a", `${call} a`, "hook a"];
    assert.deepEqual(calls, [...around("create"), ...around("update"), ...around("delete")]);

    const facts = { urn: A, name: "a", type: THING };
    const id = seen[1].id;
    const values = ({ newOptions, oldOptions, ...rest }) => rest;
    assert.match(id, /^a-\d$/);
    assert.deepEqual(seen.map(values), [
        { ...facts, id: "", newInputs: { content: "x" } },
        { ...facts, id, newInputs: { content: "x" }, newOutputs: { content: "x", size: 1 } },
        { ...facts, id, newInputs: { content: "xyz" }, oldInputs: { content: "x" }, oldOutputs: { content: "x", size: 1 } },
        {
            ...facts,
            id,
            newInputs: { content: "xyz" },
            oldInputs: { content: "x" },
            newOutputs: { content: "xyz", size: 3 },
            oldOutputs: { content: "x", size: 1 },
        },
        { ...facts, id, oldInputs: { content: "xyz" }, oldOutputs: { content: "xyz", size: 3 } },
        { ...facts, id, oldInputs: { content: "xyz" }, oldOutputs: { content: "xyz", size: 3 } },
    ]);
});

test("hooks receive the old and the new options", async () => {
    const seen = [];
    const look = new Hook("look", ({ newOptions, oldOptions }) => void seen.push([newOptions, oldOptions]));
    let protect = false;
    const stack = await stackOf((context) => {
        const base = context.resource(THING, "base");
        const hooks = { beforeCreate: [look], beforeUpdate: [look] };
        const options = { hooks, protect, dependsOn: base, ignoreChanges: ["color"], customTimeouts: { create: 5 }, replacementTrigger: secret("v1") };
        context.resource(THING, "a", { content: String(protect) }, options);
    });
    await stack.up();
    protect = true;
    await stack.up();
    const [[created, none], [updated, before]] = seen;
    assert.equal(none, undefined);
    const base = await recordOf(stack, "base");
    assert.deepEqual([created.protect, created.retainOnDelete, created.dependsOn, created.ignoreChanges], [false, false, [base.urn], ["color"]]);
    assert.deepEqual(created.customTimeouts, { create: 5 });
    assert.deepEqual(created.hooks, { beforeCreate: ["look"], beforeUpdate: ["look"] });
    assert.match(created.provider, /::mem::|default/);
    assert.match(created.parent, /::shop-dev$/);
    assert.ok(isSecret(created.replacementTrigger) && created.replacementTrigger.value === "v1");
    assert.deepEqual([before.protect, updated.protect], [false, true]);
});

test("secrets arrive as such, and values that are not known yet are unknown in previews", async () => {
    const seen = [];
    const look = new Hook("look", ({ newInputs, newOutputs }) => void seen.push({ newInputs, newOutputs }), { onDryRun: true });
    const stack = await stackOf((context) => {
        const base = context.resource(THING, "base");
        context.resource(THING, "a", { key: secret("hyacinth"), of: base.id }, { hooks: { afterCreate: [look] } });
    });
    await stack.preview();
    await stack.up();
    assert.ok(isUnknown(seen[0].newInputs.of));
    assert.equal(seen[1].newInputs.of, "base-1");
    for (const { newInputs } of seen) {
        assert.ok(isSecret(newInputs.key) && newInputs.key.value === "hyacinth");
    }
    assert.ok(isSecret(seen[1].newOutputs.key));
});

test("previews run only the hooks that are for them, too", async () => {
    const notes = [];
    const real = new Hook("real", () => void notes.push("real"));
    const dry = new Hook("dry", () => void notes.push("dry"), { onDryRun: true });
    const stack = await stackOf((context) => {
        context.resource(THING, "a", {}, { hooks: { beforeCreate: [real, dry] } });
    });
    await stack.preview();
    assert.deepEqual(notes, ["dry"]);
    await stack.up();
    assert.deepEqual(notes, ["dry", "real", "dry"]);
});

/** What a hook can throw, and what of it is shown. */
const THROWN = {
    "an error": [() => new RangeError("not now"), /not now/],
    "an error with a cause": [() => new Error("not now", { cause: new Error("too early") }), /too early/],
    "a text": [() => "just a text", /just a text/],
    "nothing": [() => undefined, /undefined/],
    "what cannot be read": [() => new Proxy({}, { get: () => assert.fail("read") }), /without a readable text/],
};

for (const [what, [make, text]] of Object.entries(THROWN)) {
    test(`a hook before a step that throws ${what} fails the step before the provider is called`, async () => {
        for (const fail of [() => Promise.reject(make()), () => { throw make(); }]) {
            const memory = new Memory();
            const stack = await stackOf((context) => {
                context.resource(THING, "a", {}, { hooks: { beforeCreate: [new Hook("gate", fail)] } });
            }, memory);
            const error = await failureOf(stack.up());
            assert.match(error.message, /before hook "gate" failed: /);
            assert.match(error.message, text);
            assert.equal(error.urn, A);
            assert.ok(!memory.calls.includes("create a"));
            assert.equal(await recordOf(stack, "a"), undefined);
        }
    });
}

test("what a hook throws is the cause of the operation's error", async () => {
    const boom = new RangeError("not now");
    const stack = await stackOf((context) => {
        const gate = new Hook("gate", () => {
            throw boom;
        });
        context.resource(THING, "a", {}, { hooks: { beforeCreate: [gate] } });
    });
    assert.equal((await failureOf(stack.up())).cause, boom);
});

test("a hook after a step that throws fails the operation, and the step is recorded", async () => {
    const stack = await stackOf((context) => {
        const note = new Hook("note", () => {
            throw new Error("no list");
        });
        context.resource(THING, "a", {}, { hooks: { afterCreate: [note] } });
    });
    const error = await failureOf(stack.up());
    assert.match(error.message, /after hook "note" failed: no list/);
    assert.equal((await recordOf(stack, "a")).id, "a-1");
});

test("failures of a hook that ignores them are warnings", async () => {
    const stack = await stackOf((context) => {
        const fails = () => {
            throw new Error("no list");
        };
        const quiet = new Hook("quiet", fails, { ignoreErrors: true });
        context.resource(THING, "a", {}, { hooks: { beforeCreate: [quiet], afterCreate: [quiet] } });
    });
    const { diagnostics, changes } = await stack.up();
    assert.deepEqual(changes, { create: 2 });
    const warnings = diagnostics.filter(({ severity }) => severity === "warning").map(({ message }) => message);
    assert.deepEqual(warnings, ['before hook "quiet" failed: no list', 'after hook "quiet" failed: no list']);
});

test("a destroy with the program runs its delete hooks, and one without it is refused", async () => {
    const memory = new Memory();
    const notes = [];
    const drain = new Hook("drain", ({ name, id }) => void notes.push(`${name} ${id} ${memory.things.size}`));
    let hasResource = true;
    const stack = await stackOf((context) => {
        if (hasResource) {
            context.resource(THING, "a", {}, { hooks: { beforeDelete: [drain], afterDelete: [drain] } });
        } else {
            context.registerHook(drain);
        }
    }, memory);
    await stack.up();
    assert.deepEqual((await recordOf(stack, "a")).resourceHooks, { BeforeDelete: ["drain"], AfterDelete: ["drain"] });
    const refused = await failureOf(stack.destroy());
    assert.match(refused.message, /::a \(drain\); set destroyProgram/);
    assert.match(refused.referenceMessage, /--run-program/);
    assert.deepEqual([notes, memory.things.size], [[], 1]);

    const without = await failureOf(stack.destroy({ destroyProgram: true, program: () => undefined }));
    assert.match(without.message, /hook "drain" was not registered/);
    assert.equal(memory.things.size, 1);

    hasResource = false;
    await stack.destroy({ destroyProgram: true });
    assert.deepEqual(notes, ["a a-1 1", "a a-1 0"]);
    assert.equal(memory.things.size, 0);
});

test("a delete hook runs after the program's end, and its messages are part of the operation", async () => {
    let content = "x";
    const stack = await stackOf((context) => {
        const note = new Hook("note", ({ name }) => {
            context.log.info(`deleting ${name} with ${secret("hyacinth").value}`);
        });
        context.registerHook(note);
        context.resource(THING, "kept");
        if (content !== undefined) {
            context.resource(THING, "a", { content }, { hooks: { beforeDelete: [note] } });
        }
    });
    await stack.up();
    content = undefined;
    const { diagnostics } = await stack.up();
    assert.ok(diagnostics.some(({ message }) => message === "deleting a with [secret]"), JSON.stringify(diagnostics));
});

test("hooks of a component run around its creation, and after its outputs", async () => {
    const notes = [];
    const gate = new Hook("gate", ({ name }) => void notes.push(`gate ${name}`));
    const note = new Hook("note", ({ name, newOutputs }) => void notes.push(`note ${name} ${JSON.stringify(newOutputs)}`));
    const stack = await stackOf(async (context) => {
        const box = context.component(BOX, "box", {}, { hooks: { beforeCreate: [gate], afterCreate: [note] } });
        const lid = context.resource(THING, "lid", { content: "x" }, { parent: box });
        await box.registerOutputs({ content: lid.get("content") });
    });
    await stack.up();
    assert.deepEqual(notes, ["gate box", 'note box {"content":"x"}']);
});

test("one hook of many resources is registered once, also in the code of components", async () => {
    const notes = [];
    const gate = new Hook("gate", ({ name }) => void notes.push(name));
    const hooks = { beforeCreate: [gate] };
    const boxes = {
        construct(context, { name }) {
            context.registerHook(gate);
            context.resource(THING, `${name}-lid`, {}, { hooks });
            return {};
        },
    };
    const program = (context) => {
        context.resource(THING, "a", {}, { hooks: { beforeCreate: [gate, gate] } });
        context.resource(THING, "b", {}, { hooks });
        context.registerHook(gate);
        context.remoteComponent(BOX, "first");
        context.remoteComponent(BOX, "second");
    };
    const stack = await stackOf(program, new Memory(), { box: boxes });
    await stack.up();
    assert.deepEqual(notes.sort(), ["a", "a", "b", "first-lid", "second-lid"]);
});

test("hooks reach a remote component", async () => {
    const notes = [];
    const note = new Hook("note", ({ name, newOutputs }) => void notes.push([name, newOutputs]));
    const boxes = { construct: () => ({ color: "red" }) };
    const stack = await stackOf(
        (context) => void context.remoteComponent(BOX, "box", {}, { hooks: { afterCreate: [note] } }),
        new Memory(),
        { box: boxes },
    );
    await stack.up();
    assert.deepEqual(notes, [["box", { color: "red" }]]);
});

test("two hooks of one name are an error that names it", async () => {
    const first = new Hook("gate", () => undefined);
    for (const second of [new Hook("gate", () => undefined), new ErrorHook("gate", () => true)]) {
        let error;
        const stack = await stackOf((context) => {
            context.resource(THING, "a", {}, { hooks: { beforeCreate: [first] } });
            try {
                context.registerHook(second);
            } catch (caught) {
                error = caught;
            }
        });
        await stack.up();
        assert.ok(error instanceof InvalidInputError, String(error));
        assert.match(error.message, /resource hook already registered for name "gate"/);
    }
    const stack = await stackOf((context) => {
        context.resource(THING, "a", {}, { hooks: { beforeCreate: [first, new Hook("gate", () => undefined)] } });
    });
    assert.match((await failureOf(stack.up())).message, /already registered for name "gate"/);
    const nameless = await stackOf((context) => context.registerHook(new Hook("", () => undefined)));
    assert.match((await failureOf(nameless.up())).message, /name cannot be empty/);
});

test("a function among the hooks has a name of type, name, moment and place; another resource of that name has another", async () => {
    const notes = [];
    const stack = await stackOf((context) => {
        const hooks = () => ({ beforeCreate: [({ urn }) => void notes.push(urn)], onError: [() => false] });
        context.resource(THING, "a", {}, { hooks: hooks() });
        const box = context.component(BOX, "box");
        context.resource(THING, "a", {}, { parent: box, hooks: hooks() });
    });
    await stack.up();
    assert.equal(new Set(notes).size, 2);
    const { deployment } = await stack.exportDeployment();
    const names = deployment.resources.filter(({ resourceHooks }) => resourceHooks).map(({ resourceHooks }) => resourceHooks);
    const prefix = `${THING}_a`;
    assert.deepEqual(new Set(names.map(({ BeforeCreate }) => BeforeCreate[0])), new Set([`${prefix}_beforeCreate_0`, `${prefix}_beforeCreate_0_2`]));
    assert.deepEqual(new Set(names.map(({ OnError }) => OnError[0])), new Set([`${prefix}_onError_0`, `${prefix}_onError_0_2`]));
    assert.deepEqual((await stack.up()).changes, { same: 4 });
});

test("hooks can be given by transforms, and a transform sees those that are there", async () => {
    const notes = [];
    const seen = [];
    const own = new Hook("own", () => void notes.push("own"));
    const added = new Hook("added", () => void notes.push("added"));
    const stack = await stackOf((context) => {
        context.transform(({ options }) => {
            const { hooks = {} } = options;
            seen.push(hooks);
            return { options: { ...options, hooks: { ...hooks, beforeCreate: [...(hooks.beforeCreate ?? []), added, () => void notes.push("function")] } } };
        });
        context.resource(THING, "a", {}, { hooks: { beforeCreate: [own] } });
    });
    await stack.up();
    assert.deepEqual(seen, [{ beforeCreate: ["own"] }]);
    assert.deepEqual(notes, ["own", "added", "function"]);
});

/** Fails the first calls of Create. */
class Flaky extends Memory {
    constructor(failures) {
        super();
        this.failures = failures;
    }

    async create(request, signal) {
        if (this.failures-- > 0) {
            this.calls.push(`failed ${request.name}`);
            throw new Error(`failure ${this.failures}`);
        }
        return super.create(request, signal);
    }
}

test("an error hook has a failed step tried again, after a delay of its own", async () => {
    const memory = new Flaky(2);
    const seen = [];
    const order = [];
    memory.create = (...given) => {
        order.push("attempt");
        return Flaky.prototype.create.apply(memory, given);
    };
    const patient = new ErrorHook("patient", async (args) => {
        order.push("called");
        await new Promise((resolve) => setTimeout(resolve, 20));
        seen.push(args);
        order.push("returned");
        return true;
    });
    const stack = await stackOf((context) => {
        context.resource(THING, "a", { content: "x" }, { hooks: { onError: [patient] } });
    }, memory);
    await stack.up();
    assert.deepEqual(memory.calls.filter((call) => !call.startsWith("check")), ["failed a", "failed a", "create a"]);
    assert.deepEqual(order, ["attempt", "called", "returned", "attempt", "called", "returned", "attempt"]);
    const [first, second] = seen;
    assert.deepEqual([first.urn, first.id, first.name, first.type, first.failedOperation], [A, "", "a", THING, "create"]);
    assert.deepEqual([first.newInputs, first.oldInputs, first.newOptions.hooks], [{ content: "x" }, undefined, { onError: ["patient"] }]);
    assert.equal(first.errors.length, 1);
    assert.match(first.errors[0], /failure 1/);
    assert.match(second.errors[0], /failure 0/);
    assert.equal(second.errors.length, 2);
});

test("without agreement the step fails with the provider's error", async () => {
    for (const answer of [false, undefined, null, Promise.resolve(false)]) {
        const memory = new Flaky(1);
        const stack = await stackOf((context) => {
            context.resource(THING, "a", {}, { hooks: { onError: [new ErrorHook("never", () => answer)] } });
        }, memory);
        assert.match((await failureOf(stack.up())).message, /failure 0/);
        assert.ok(!memory.calls.includes("create a"));
    }
});

for (const [what, answer, text] of [
    ["a text", "yes", /an error hook returns true, false or nothing, not a string/],
    ["a number", 1, /not a number/],
    ["an object", { retry: true }, /not an object/],
]) {
    test(`an error hook that returns ${what} fails the step`, async () => {
        const stack = await stackOf((context) => {
            context.resource(THING, "a", {}, { hooks: { onError: [new ErrorHook("odd", () => answer)] } });
        }, new Flaky(1));
        const error = await failureOf(stack.up());
        assert.match(error.message, /error hook "odd" failed: /);
        assert.match(error.message, text);
    });
}

test("an error hook that throws fails the step with its text", async () => {
    const stack = await stackOf((context) => {
        const fails = () => Promise.reject(new TypeError("no clock"));
        context.resource(THING, "a", {}, { hooks: { onError: [new ErrorHook("broken", fails)] } });
    }, new Flaky(1));
    assert.match((await failureOf(stack.up())).message, /error hooks execution failed: error hook "broken" failed: no clock/);
});

test("what a hook returns does not matter, unless it is a generator, which never runs", async () => {
    const program = (made) => (context) => void context.resource(THING, "a", {}, { hooks: { beforeCreate: [new Hook("odd", made)] } });
    for (const returned of [3, "text", { a: 1 }, [], Promise.resolve(false), Symbol("x")]) {
        await (await stackOf(program(() => returned))).up();
    }
    const lazy = () => (async function* () {})();
    assert.match((await failureOf((await stackOf(program(lazy))).up())).message, /before hook "odd" failed: .*is a generator/);
});

test("cancelling the operation ends a hook that hangs, and aborts its signal", async () => {
    const memory = new Memory();
    let reached;
    const begun = new Promise((resolve) => (reached = resolve));
    const stack = await stackOf((context) => {
        const hangs = new Hook("hangs", (_, signal) => {
            reached(signal);
            return new Promise(() => {});
        });
        context.resource(THING, "a", {}, { hooks: { beforeCreate: [hangs] } });
    }, memory);
    const operation = stack.up();
    const signal = await begun;
    const aborted = once(signal, "abort");
    operation.cancel();
    operation.cancel();
    const error = await failureOf(operation);
    await aborted;
    assert.equal(error.kind, "cancelled");
    assert.ok(!memory.calls.includes("create a"));
});

test("a failure that nothing handles, in what a hook started, fails the hook and nothing else", async () => {
    const stack = await stackOf((context) => {
        const strays = new Hook("strays", async () => {
            void Promise.reject(new Error("stray"));
            await new Promise(() => {});
        });
        context.resource(THING, "a", {}, { hooks: { beforeCreate: [strays] } });
    });
    assert.match((await failureOf(stack.up())).message, /before hook "strays" failed: stray/);
});

test("what is no hook is refused where the program writes it", async () => {
    const texts = [];
    const wrong = [
        [() => new Hook(3, () => undefined), /the name of a hook is a string, not a number/],
        [() => new Hook("\uD800", () => undefined), /lone surrogate/],
        [() => new Hook("x"), /the hook "x" takes a function, not undefined/],
        [() => new Hook("x", function* () {}), /is a generator/],
        [() => new Hook("x", () => undefined, { onDryrun: true }), /did you mean "onDryRun"/],
        [() => new Hook("x", () => undefined, { onDryRun: "yes" }), /onDryRun takes true or false, not a string/],
        [() => new ErrorHook("x", true), /the hook "x" takes a function, not a boolean/],
    ];
    for (const [make, text] of wrong) {
        assert.throws(make, (error) => error instanceof InvalidInputError && text.test(error.message));
    }
    const hook = new Hook("fine", () => undefined);
    const refused = [
        [{ beforeCrate: [hook] }, /did you mean "beforeCreate"/],
        [{ beforeCreate: hook }, /hooks\.beforeCreate takes a list of hooks, not an object/],
        [{ beforeCreate: [new ErrorHook("again", () => true)] }, /hooks\.beforeCreate\[0\] takes a Hook, not an ErrorHook/],
        [{ onError: [hook] }, /hooks\.onError\[0\] takes an ErrorHook, not a Hook/],
        [{ beforeCreate: [3] }, /takes a Hook, not a number/],
        [{ beforeCreate: [function* () {}] }, /is a generator/],
        [{ beforeDelete: [() => undefined] }, /takes a Hook with a name, not a function/],
        [{ afterDelete: [() => undefined] }, /a later run finds the hooks of a deletion by their names/],
        [[], /an object, not a list/],
        ["drain", /an object, not a string/],
    ];
    const stack = await stackOf((context) => {
        for (const [hooks] of refused) {
            try {
                context.resource(THING, "a", {}, { hooks });
            } catch (error) {
                texts.push(error.message);
            }
        }
        assert.throws(() => context.registerHook(() => undefined), /a hook is a Hook or an ErrorHook, not a function/);
    });
    await failureOf(stack.up());
    refused.forEach(([, text], index) => assert.match(texts[index], text));
});

test("the name of a hook that is not registered fails the step", async () => {
    const stack = await stackOf((context) => void context.resource(THING, "a", {}, { hooks: { beforeCreate: ["absent"] } }));
    assert.match((await failureOf(stack.up())).message, /hook "absent" was not registered/);
});

test("hooks of several operations at the same time are those of their own", async () => {
    const notes = [];
    const engine = memoryEngine();
    const gate = new Hook("gate", ({ urn }) => void notes.push(urn.split("::")[0]));
    const stacks = await Promise.all(
        ["one", "two"].map((name) =>
            engine.stack(`shop/${name}`, { program: (context) => void context.resource(THING, "a", {}, { hooks: { beforeCreate: [gate] } }) }),
        ),
    );
    await Promise.all(stacks.map((stack) => stack.up()));
    assert.deepEqual(notes.sort(), ["urn:pulumi:one", "urn:pulumi:two"]);
});

test("a transform that the code of a component has added can name hooks after the end of that code", async () => {
    const notes = [];
    const gate = new Hook("gate", ({ name }) => void notes.push(name));
    const boxes = {
        construct(context) {
            context.transform(({ options }) => ({ options: { ...options, hooks: { beforeCreate: [gate] } } }));
            return {};
        },
    };
    const program = async (context) => {
        await context.remoteComponent(BOX, "box");
        context.resource(THING, "a");
    };
    const stack = await stackOf(program, new Memory(), { box: boxes });
    await stack.up();
    assert.deepEqual(notes, ["a"]);
});
