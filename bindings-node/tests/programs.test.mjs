/** Programs in Node, valid and refused: resources, options, outputs. */
import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import { test } from "node:test";

import { InvalidInputError, ProgramError, sdkProgram } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";

function two(context) {
    context.resource(THING, "a");
    context.resource(THING, "b");
}

async function twoThings() {
    const provider = new Memory();
    const engine = memoryEngine(provider);
    const stack = await engine.stack("shop/dev", { program: two });
    await stack.up();
    return { provider, engine, stack };
}

const generators = [
    function* (context) {
        context.resource(THING, "a");
    },
    async function* (context) {
        context.resource(THING, "a");
    },
];

test("a generator is refused as a program, and deletes nothing", async () => {
    const { provider, engine, stack } = await twoThings();
    for (const generator of generators) {
        for (const program of [generator, sdkProgram(generator)]) {
            assert.throws(() => stack.up({ program }), (error) => error instanceof InvalidInputError && /function\*/.test(error.message));
            assert.ok((await failureOf(engine.stack("shop/b", { program }))) instanceof InvalidInputError);
        }
        for (const program of [(context) => generator(context), sdkProgram(() => generator())]) {
            const failure = await failureOf(stack.up({ program }));
            assert.ok(failure instanceof ProgramError && /function\*/.test(failure.message), failure.message);
        }
    }
    assert.equal(provider.things.size, 2);
});

test("outputs that a program returns are refused, because they would be lost", async () => {
    const { stack } = await twoThings();
    await stack.up({ program: (context) => (two(context), context.export("a", 1)) });
    for (const program of [async () => ({ a: 1 }), (context) => (two(context), { a: 1 })]) {
        const failure = await failureOf(stack.up({ program }));
        assert.ok(failure instanceof ProgramError && /the program returned an object, which would be ignored/.test(failure.message), failure.message);
    }
    assert.equal((await stack.outputs()).a.value, 1);
});

test("a program that reports an error has failed, and nothing is deleted", async () => {
    const { provider, stack } = await twoThings();
    for (const program of [
        (context) => context.log.error("b has gone missing"),
        sdkProgram(() => void pulumi.log.error("b has gone missing")),
    ]) {
        const failure = await failureOf(stack.up({ program }));
        assert.equal(failure.message, "the program reported errors: b has gone missing");
        const errors = failure.result.diagnostics.filter(({ severity }) => severity === "error");
        assert.deepEqual(errors.map(({ message }) => message), ["b has gone missing"]);
        assert.equal(provider.things.size, 2);
    }
});

test("errors name a misspelt option with its resource and the nearest option, and one of a wrong type", async () => {
    const wrong = [
        [{ protct: true }, 'unknown option "protct" of the resource q; did you mean "protect"?'],
        [{ aliases: [{ nam: "old" }] }, 'unknown member "nam" of aliases[0] in the options of the resource q; did you mean "name"?'],
        [{ customTimeouts: { creat: 1 } }, 'unknown member "creat" of customTimeouts in the options of the resource q; did you mean "create"?'],
        [{ protect: "yes" }, "protect takes true or false, not a string, in the options of the resource q"],
        [{ ignoreChanges: "v" }, "ignoreChanges takes an array of strings, not a string, in the options of the resource q"],
        [{ hideDiffs: [1] }, "hideDiffs[0] takes a string, not a number, in the options of the resource q"],
        [{ aliases: [1] }, "aliases[0] takes a URN or the parts that differ, not a number, in the options of the resource q"],
        [{ customTimeouts: { create: "5m" } }, "customTimeouts.create takes a number of seconds from 0, not a string"],
        [{ dependsOn: "a" }, "dependsOn takes a resource or its URN, not \"a\", in the options of the resource q"],
        [{ provider: 5 }, "provider takes a provider resource, not a number, in the options of the resource q"],
    ];
    const seen = [];
    const program = (context) => {
        for (const [options] of wrong) {
            try {
                context.resource(THING, "q", {}, options);
            } catch (error) {
                seen.push(error);
            }
        }
    };
    const stack = await memoryEngine().stack("shop/dev", { program });
    const error = await failureOf(stack.up());
    assert.ok(error instanceof InvalidInputError && error.message.startsWith(wrong[0][1]), String(error));
    wrong.forEach(([, message], index) => {
        assert.ok(seen[index] instanceof InvalidInputError);
        assert.ok(seen[index].message.startsWith(message), seen[index].message);
    });
});

test("a malformed declaration fails the run even if its error is caught, and deletes nothing", async () => {
    const declared = [
        (context) => context.resource(THING, "b", { v: () => 1 }),
        (context) => context.resource(THING, "b", {}, { protct: true }),
        (context) => context.resource(THING, "b", { v: context.resource(THING, "a").id, w: () => 1 }),
        (context) => context.export(5, 1),
    ];
    for (const declare of declared) {
        const { engine } = await twoThings();
        await (await engine.stack("shop/dev", { program: (context) => {
            context.resource(THING, "a");
            context.resource(THING, "b");
        } })).up();
        const program = async (context) => {
            try {
                await declare(context);
                assert.fail("it was read");
            } catch (error) {
                assert.ok(error instanceof InvalidInputError, String(error));
            }
        };
        const stack = await engine.stack("shop/dev", { program });
        const error = await failureOf(stack.up());
        assert.ok(error instanceof InvalidInputError, String(error));
        assert.ok(!error.result.steps.some((step) => step.op === "delete"));
        await engine.close();
    }
});

test("a closed engine opens no stack and starts no operation", async () => {
    const { engine, stack } = await twoThings();
    await engine.close();
    assert.match((await failureOf(engine.stack("shop/b"))).message, /the engine is closed/);
    for (const name of ["preview", "up", "refresh", "destroy"]) {
        assert.throws(() => stack[name](), InvalidInputError);
    }
});

test("an operation iterates over its events", async () => {
    const { stack } = await twoThings();
    const operation = stack.up();
    const events = [];
    for await (const event of operation) {
        events.push(event);
    }
    assert.ok(events.some((event) => event.summaryEvent !== undefined));
    assert.equal((await operation).changes.same, 3);
});

/** Declares a component, a thing, a thing below the component, and a thing that is read, each as in `changed`. */
function declare(context, changed = {}) {
    const usual = {
        box: () => context.component("shop:index:Box", "box"),
        keep: () => context.resource(THING, "keep", { v: 1 }),
        child: (box) => context.resource(THING, "child", { v: 1 }, { parent: box }),
        known: () => context.read(THING, "known", "k-1"),
    };
    const makers = { ...usual, ...changed };
    const box = makers.box();
    return [box, makers.keep(box), makers.child(box), makers.known(box)];
}

const failures = {
    "a failed function": (context) => context.invoke("mem:index:busy").get("x"),
    "a rejected promise": () => Promise.reject(new Error("the service is busy")),
};
const needs = {
    "an input": ["keep", (context, failed) => context.resource(THING, "keep", { v: failed })],
    "a part of an input": ["keep", (context, failed) => context.resource(THING, "keep", { v: [{ w: failed }] })],
    "a trigger": ["keep", (context, failed) => context.resource(THING, "keep", { v: 1 }, { replacementTrigger: failed })],
    "an alias": ["keep", (context, failed) => context.resource(THING, "kept", { v: failed }, { aliases: [{ name: "keep" }] })],
    "the former parent": ["keep", (context, failed) => {
        const parent = context.component("shop:index:Box", "former", { v: failed });
        parent.urn.then(undefined, () => undefined);
        return context.resource(THING, "keep", { v: 1 }, { aliases: [{ name: "kept", parent }] });
    }],
    "a component": ["box", (context, failed) => context.component("shop:index:Box", "box", { v: failed })],
    "a child": ["child", (context, failed, box) => context.resource(THING, "child", { v: failed }, { parent: box })],
    "an id": ["known", (context, failed) => context.read(THING, "known", failed)],
};

for (const [failure, failing] of Object.entries(failures)) {
    for (const [need, [name, make]] of Object.entries(needs)) {
        test(`a recorded resource is kept where ${failure} is ${need}, and the program goes on`, async () => {
            const memory = new Memory();
            memory.things.set("k-1", {});
            const engine = memoryEngine(memory);
            await (await engine.stack("shop/dev", { program: (context) => void declare(context) })).up();
            const program = async (context) => {
                const failed = failing(context);
                const made = declare(context, { [name]: (box) => make(context, failed, box) });
                await Promise.allSettled([failed, ...made]);
            };
            const stack = await engine.stack("shop/dev", { program });
            const before = (await stack.exportDeployment()).deployment.resources.map(({ urn }) => urn);
            for (const operation of ["preview", "up"]) {
                const error = await failureOf(stack[operation]());
                assert.ok(error instanceof ProgramError, String(error));
                assert.match(error.message, /busy/);
                assert.match(error.hints.join(), /the program went on after this failure/);
                assert.ok(error.urn.endsWith(`::${name}`), error.urn);
            }
            assert.ok(!memory.calls.some((call) => call.startsWith("delete")), memory.calls.join());
            const after = (await stack.exportDeployment()).deployment.resources.map(({ urn }) => urn);
            assert.deepEqual(after.sort(), before.sort());
            await engine.close();
        });
    }
}

test("a new resource whose needs have failed is the affair of the program", async () => {
    const program = async (context) => {
        context.resource(THING, "other");
        await assert.rejects(Promise.resolve(context.resource(THING, "new", { v: Promise.reject(new Error("busy")) })), /busy/);
    };
    const engine = memoryEngine();
    assert.deepEqual((await (await engine.stack("shop/dev", { program })).up()).changes, { create: 2 });
    await engine.close();
});

for (const failure of ["an input of a resource", "an input of the code"]) {
    test(`code of the SDK for which ${failure} has failed fails the run also where the program goes on`, async () => {
        const memory = new Memory();
        const engine = memoryEngine(memory);
        let fails = false;
        class Thing extends pulumi.CustomResource {
            constructor() {
                const value = pulumi.output(1).apply((given) => {
                    if (fails && failure === "an input of a resource") {
                        throw new RangeError("the service is busy");
                    }
                    return given;
                });
                super(THING, "keep", { value });
            }
        }
        const program = async (context) => {
            context.resource(THING, "other");
            const failed = async () => Promise.reject(new Error("the service is busy"));
            const inputs = fails && failure === "an input of the code" ? { v: failed() } : {};
            await context.runSdk(() => ({ urn: new Thing().urn }), inputs).catch((error) => assert.match(error.message, /the service is busy/));
        };
        const stack = await engine.stack("shop/dev", { program });
        await stack.up();
        fails = true;
        assert.match((await failureOf(stack.up())).message, /the service is busy|the program reported errors/);
        assert.equal(memory.things.size, 2);
        assert.ok(!memory.calls.some((call) => call.startsWith("delete")));
        await engine.close();
    });
}
