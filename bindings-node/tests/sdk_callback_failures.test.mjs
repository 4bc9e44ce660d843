/** Each way in which a transform or a hook of an SDK program fails, where it is called directly: what the user reads, and the state. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { sdkProgram } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

/** How long a function may take that does not answer, in seconds: longer than what others of its program take on a machine with other work. */
const DEADLINE = 2;
const OVERDUE = `it did not return within ${DEADLINE} s, which is the operation's callback timeout`;

class Thing extends pulumi.CustomResource {
    constructor(name, options) {
        super("mem:index:Thing", name, { content: "x" }, options);
    }
}

const hooked = (moment, hook, name = "a") => void new Thing(name, { hooks: { [moment]: [hook] } });

/** How a program uses a function, and how an error names it. */
const uses = {
    own: {
        run: (called) => void new Thing("a", { transforms: [() => undefined, called] }),
        head: "transform 2 of resource 'a': ",
    },
    stack: {
        run: (called) => {
            // Resources that the program has registered before get it, too.
            pulumi.runtime.registerResourceTransform((args) => (args.name === "a" ? called(args) : undefined));
            new Thing("a");
        },
        head: "transform 1 of the stack for resource 'a': ",
    },
    invoke: {
        run: async (called) => {
            pulumi.runtime.registerInvokeTransform(called);
            return { x: await pulumi.runtime.invoke("mem:index:double", { x: 1 }) };
        },
        head: "transform 1 of function 'mem:index:double': ",
    },
    before: {
        run: (called) => hooked("beforeCreate", new pulumi.ResourceHook("guard", called)),
        head: 'update failed: resource `a` (mem:index:Thing): before hook "guard" failed: ',
    },
    after: {
        run: (called) => hooked("afterCreate", new pulumi.ResourceHook("guard", called)),
        head: 'update failed: resource `a` (mem:index:Thing): after hook "guard" failed: ',
    },
    error: {
        run: (called) => hooked("onError", new pulumi.ErrorHook("retry", called), "fragile"),
        head:
            "update failed: resource `fragile` (mem:index:Thing), create by provider `mem`: " +
            'error hooks execution failed: error hook "retry" failed: ',
    },
};
const TRANSFORMS = ["own", "stack", "invoke"];
const HOOKS = ["before", "after", "error"];
const ALL = [...TRANSFORMS, ...HOOKS];

const thrown = (value) => () => {
    throw value;
};
const NO_PROPERTIES = "transform failed: TypeError: Cannot convert undefined or null to object";

/** Where a function is used, what it does, and the text of its failure. */
const failures = [
    [TRANSFORMS, "throws", thrown(new Error("the window is closed")), "transform failed: Error: the window is closed"],
    [HOOKS, "throws", thrown(new Error("the window is closed")), "the window is closed"],
    [TRANSFORMS, "rejects", async () => thrown(new RangeError("too large"))(), "transform failed: RangeError: too large"],
    [HOOKS, "rejects", async () => thrown(new RangeError("too large"))(), "too large"],
    // The SDK itself takes what a hook throws without a message for a success.
    [TRANSFORMS, "throws a text", thrown("closed"), "transform failed: closed"],
    [HOOKS, "throws a text", thrown("closed"), "closed"],
    [HOOKS, "throws undefined", thrown(undefined), "undefined"],
    [HOOKS, "throws an error without a message", thrown(new RangeError()), "RangeError"],
    [TRANSFORMS, "returns a number", () => 7, NO_PROPERTIES],
    [TRANSFORMS, "returns a text", async () => "yes", NO_PROPERTIES],
    [TRANSFORMS, "returns an object without properties", () => ({}), NO_PROPERTIES],
];

async function records(stack) {
    const { deployment } = await stack.exportDeployment();
    assert.equal(deployment.pending_operations?.length ?? 0, 0);
    return deployment.resources.filter(({ type }) => type === "mem:index:Thing");
}

const namesOf = (found) => found.map(({ urn }) => urn.split("::").at(-1)).sort();

/** A provider that creates nothing called `fragile`. */
function fragile() {
    const provider = new Memory({
        create: ({ name }) => {
            if (name === "fragile") {
                throw new Error("no such wood");
            }
        },
    });
    return provider;
}

/** Tests a use of a function; `limits` are options of the update. */
function fails(use, what, called, text, limits = {}) {
    test(`a function (${use}) that ${what} is named with its resource, and the state stays valid`, async (t) => {
        const provider = fragile();
        const engine = memoryEngine(provider);
        t.after(() => engine.close());
        const program = (used) =>
            sdkProgram(async () => {
                new Thing("other");
                return uses[use].run(used);
            });
        const stack = await engine.stack("shop/dev", { program: program(called) });
        const error = await failureOf(stack.up(limits));
        assert.ok(error.message.includes(uses[use].head + text), error.message);
        assert.equal(error.kind, TRANSFORMS.includes(use) ? "program" : "failed");
        if (use === "error") {
            assert.ok(error.message.endsWith("; the step had failed with: no such wood"), error.message);
        }
        // A hook after a creation keeps what was created; nothing else that failed is recorded.
        const kept = await records(stack);
        assert.deepEqual(namesOf(kept).filter((name) => name !== "other"), use === "after" ? ["a"] : []);
        assert.deepEqual(kept.map(({ id }) => id).sort(), [...provider.things.keys()].sort());

        // The next run goes on, also where what failed to be created still fails.
        const next = stack.up({ program: program(() => (use === "error" ? false : undefined)) });
        if (use === "error") {
            assert.match((await failureOf(next)).message, /no such wood/);
        } else {
            await next;
        }
        await stack.destroy();
        assert.equal(provider.things.size, 0);
    });
}

/** Tests a use of a function that answers when its time is over. */
function answersLate(use) {
    test(`an answer (${use}) after the deadline changes nothing`, async (t) => {
        let answer;
        const provider = fragile();
        const engine = memoryEngine(provider);
        t.after(() => engine.close());
        const late = (args) => new Promise((resolve) => (answer = () => resolve(answerTo(args))));
        const answerTo = (args) => {
            const [props, given] = [{ content: "late" }, { x: 2 }];
            return { own: { ...args, props }, stack: { ...args, props }, invoke: { ...args, args: given }, error: true }[use];
        };
        const stack = await engine.stack("shop/dev", { program: sdkProgram(async () => uses[use].run(late)) });
        const error = await failureOf(stack.up({ callbackTimeout: DEADLINE }));
        assert.ok(error.message.includes(uses[use].head + OVERDUE), error.message);
        const before = JSON.stringify([await stack.exportDeployment(), provider.calls]);
        answer();
        // Everything that the answer could have started has its turn.
        for (let turn = 0; turn < 20; turn++) {
            await new Promise((resolve) => setImmediate(resolve));
        }
        assert.equal(JSON.stringify([await stack.exportDeployment(), provider.calls]), before);
        assert.deepEqual([...provider.things.values()].map(({ content }) => content), use === "after" ? ["x"] : []);
        await stack.destroy();
        assert.equal(provider.things.size, 0);
    });
}

for (const [places, what, called, text] of failures) {
    for (const use of places) {
        fails(use, what, called, text);
    }
}

// At the same time, as each of them takes as long as the deadline.
describe("functions that do not answer in time", { concurrency: 2 * ALL.length }, () => {
    for (const use of ALL) {
        fails(use, "hangs", () => new Promise(() => {}), OVERDUE, { callbackTimeout: DEADLINE });
        answersLate(use);
    }
});
