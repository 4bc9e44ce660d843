/** Programs written with `@pulumi/pulumi`, run in this process. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { CancelledError, FailedError, NotFoundError, sdkProgram, secret, unwrap } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

class Thing extends pulumi.CustomResource {
    constructor(name, inputs, options) {
        super("mem:index:Thing", name, { size: undefined, ...inputs }, options);
    }
}

class Group extends pulumi.ComponentResource {
    constructor(name, content, options) {
        super("mem:index:Group", name, {}, options);
        this.inner = new Thing("inner", { content }, { parent: this });
        this.registerOutputs({ size: this.inner.size });
    }
}

const turns = async (count) => {
    for (let turn = 0; turn < count; turn++) {
        await new Promise((resolve) => setImmediate(resolve));
    }
};

test("a program runs through its lifecycle without a socket", async () => {
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev", {
        config: { plain: "p", password: secret("hunter2"), flag: true },
        program: sdkProgram(async () => {
            const config = new pulumi.Config();
            assert.equal(config.require("plain"), "p");
            assert.equal(config.requireBoolean("flag"), true);
            assert.equal(pulumi.getProject(), "shop");
            const group = new Group("group", config.requireSecret("password"));
            const second = new Thing("second", { content: group.inner.size }, { dependsOn: [group] });
            const doubled = await pulumi.runtime.invoke("mem:index:double", { x: 4 });
            await pulumi.log.info("from the program", second);
            return {
                stack: pulumi.getStack(),
                size: second.size,
                doubled: doubled.doubled,
                password: config.requireSecret("password"),
            };
        }),
    });
    assert.equal((await stack.preview()).changes.create, 4);
    assert.equal(provider.things.size, 0);
    const created = await stack.up();
    assert.equal(created.changes.create, 4);
    assert.equal(created.outputs.doubled.value, 8);
    assert.equal(created.outputs.stack.value, "dev");
    assert.equal(created.outputs.size.value, 1);
    assert.ok(created.outputs.password.secret);
    assert.equal(created.outputs.password.value, "hunter2");
    assert.ok(
        created.diagnostics.some(
            ({ message, urn }) => message.includes("from the program") && urn.endsWith("::second"),
        ),
    );
    assert.equal((await stack.up()).changes.same, 4);
    const { deployment } = await stack.exportDeployment();
    const group = deployment.resources.find(({ type }) => type === "mem:index:Group");
    assert.ok(group.outputs.size !== undefined, "a component's outputs are registered");
    await stack.destroy();
    assert.equal(provider.things.size, 0);
});

test("a refresh and a destroy run the program for its credentials", async () => {
    let password = "old";
    const provider = new Memory();
    provider.configure = ({ inputs }) => {
        if (inputs.password !== password) {
            throw new Error(`${inputs.password} is not the password`);
        }
    };
    const program = sdkProgram(async () => {
        const config = new pulumi.Config();
        const guarded = new pulumi.ProviderResource("mem", "guarded", { password: config.require("password") });
        const a = new Thing("a", { content: "1" }, { provider: guarded });
        new Thing("b", { content: a.size }, { provider: guarded });
        const added = config.get("more") && new Thing("added", { content: "22" }, { provider: guarded });
        return { id: a.id, ...(added ? { added: added.size } : {}) };
    });
    const engine = memoryEngine(provider);
    let stack = await engine.stack("shop/dev", { config: { password }, program });
    assert.deepEqual((await stack.up()).changes, { create: 4 });
    password = "new";
    provider.things.delete([...provider.things.keys()].find((id) => id.startsWith("b")));
    stack = await engine.stack("shop/dev", { config: { password, more: "yes" }, program });
    assert.match((await failureOf(stack.refresh())).message, /is not the password/);
    const seen = await stack.refresh({ refreshProgram: true, dryRun: true });
    assert.deepEqual(seen.changes, { delete: 1, same: 4, update: 1 });
    const read = await stack.refresh({ refreshProgram: true });
    assert.deepEqual(read.changes, { delete: 1, same: 4, update: 1 });
    assert.ok(provider.things.has(read.outputs.id.value));
    assert.ok(!("added" in read.outputs), "what does not exist is in no output");
    assert.throws(() => stack.destroy({ program }), /destroyProgram: true/);
    assert.equal((await stack.destroy({ destroyProgram: true })).changes.delete, 3);
    assert.equal(provider.things.size, 0);
    assert.equal(provider.calls.filter((call) => call.startsWith("create")).length, 2);
});

test("concurrent programs are isolated, also when one of them fails", async () => {
    const engine = memoryEngine();
    const program = (fails) =>
        sdkProgram(async () => {
            const own = pulumi.getStack();
            for (let index = 0; index < 20; index++) {
                new Thing(`${own}-${index}`, { content: own });
                await turns(1);
                assert.equal(pulumi.getStack(), own);
            }
            if (fails) {
                throw new Error(`${own} fails`);
            }
            return { own, who: new pulumi.Config().require("who") };
        });
    const names = ["a", "b", "c", "d", "e", "f"];
    const results = await Promise.allSettled(
        names.map(async (name) => {
            const fails = name === "c";
            const stack = await engine.stack(`shop/${name}`, { config: { who: name }, program: program(fails) });
            return stack.up();
        }),
    );
    for (const [index, { status, value, reason }] of results.entries()) {
        const name = names[index];
        if (name === "c") {
            assert.match(reason.message, /c fails/);
        } else {
            assert.equal(status, "fulfilled", reason?.message);
            assert.deepEqual(unwrap(value.outputs), { own: name, who: name });
            assert.equal(value.changes.create, 21);
        }
    }
});

test("each failure ends the run at once, with its kind and the program's message", async () => {
    const stack = await memoryEngine().stack("shop/dev", {});
    const cases = {
        "a throw": [async () => { throw new Error("boom"); }, "program", /boom/],
        "a RunError": [async () => { throw new pulumi.RunError("just this"); }, "program", /^just this$/],
        "a resource's rejected input": [
            async () => void new Thing("x", { content: Promise.reject(new Error("late")) }),
            "program",
            /late/,
        ],
        "a rejected output": [
            async () => void new Thing("x", { content: pulumi.output(1).apply(() => { throw new Error("applied"); }) }),
            "program",
            /applied/,
        ],
        "a logged error": [async () => void pulumi.log.error("no disk"), "program", /^the program reported errors: no disk$/],
        "something that is no error": [async () => { throw "a text"; }, "program", /a text/],
    };
    for (const [name, [body, code, pattern]] of Object.entries(cases)) {
        const error = await failureOf(stack.up({ program: sdkProgram(body) }));
        assert.equal(error.kind, code, `${name}: ${error.message}`);
        assert.match(error.message, pattern, name);
    }
    await stack.up({ program: sdkProgram(async () => ({ fine: true })) });
    assert.deepEqual(unwrap(await stack.outputs()), { fine: true });
});

test("a failing program deletes no resource that it has not registered yet", async () => {
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: sdkProgram(async () => {
            new Thing("a", {});
            new Thing("b", {});
        }),
    });
    await stack.up();
    assert.equal(provider.things.size, 2);
    for (const body of [
        async () => void new Thing("a", { content: Promise.reject(new Error("late")) }),
        async () => { throw new Error("early"); },
        async () => void pulumi.log.error("logged"),
    ]) {
        await failureOf(stack.up({ program: sdkProgram(body) }));
        assert.equal(provider.things.size, 2, "nothing was deleted");
    }
});

test("a failed resource ends a run that waits for it", async () => {
    const provider = new Memory({
        create: ({ name }) => {
            if (name === "no") {
                throw new Error("no such luck");
            }
        },
    });
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: sdkProgram(async () => {
            const failed = new Thing("no", {});
            await pulumi.log.warn("about the failed one", failed);
            await new Promise((resolve) => failed.size.apply(resolve));
        }),
    });
    const error = await failureOf(stack.up());
    assert.ok(error instanceof FailedError, `${error.kind}: ${error.message}`);
    assert.ok(error.result.diagnostics.some(({ message }) => message.includes("no such luck")));
    // The next run in this process is independent of its messages and registrations.
    const next = await stack.up({
        parallel: 1,
        program: sdkProgram(async () => {
            const thing = new Thing("yes", {});
            await pulumi.log.info("fine", thing);
            return { size: thing.size };
        }),
    });
    assert.deepEqual(unwrap(next.outputs), { size: 0 });
    assert.ok(next.diagnostics.some(({ message }) => message.includes("fine")));
});

test("a cancelled operation ends its program", async () => {
    const controller = new AbortController();
    const provider = new Memory({ create: () => controller.abort() });
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: sdkProgram(async () => {
            const first = new Thing("first", {});
            new Thing("second", { content: first.size });
            await new Promise(() => {});
        }),
    });
    const error = await failureOf(stack.up({ signal: controller.signal }));
    assert.ok(error instanceof CancelledError, `${error.kind}: ${error.message}`);
});

test("a resource outside of any run is refused and registered in no stack", async () => {
    const provider = new Memory();
    const bus = new EventEmitter();
    let refused;
    bus.on("tick", () => {
        try {
            new Thing("lost", {});
        } catch (error) {
            refused = error;
        }
    });
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: sdkProgram(async () => void new Thing("a", {})),
    });
    await stack.up();
    bus.emit("tick");
    assert.equal(refused.kind, "invalid_input");
    assert.match(refused.message, /outside of any program's run/);
    assert.equal(provider.things.size, 1);
});

test("a resource of the host is registered in neither of two running programs", async () => {
    const provider = new Memory();
    const engine = memoryEngine(provider);
    let running = 0;
    let bothRun, goOn;
    const both = new Promise((resolve) => (bothRun = resolve));
    const released = new Promise((resolve) => (goOn = resolve));
    const program = sdkProgram(async () => {
        new Thing(`of-${pulumi.getStack()}`, {});
        running += 1;
        if (running === 2) {
            bothRun();
        }
        await released;
    });
    const stacks = await Promise.all(["one", "two"].map((name) => engine.stack(`shop/${name}`, { program })));
    const operations = stacks.map((stack) => stack.up());
    await both;
    assert.throws(() => new Thing("lost", {}), { kind: "invalid_input", message: /outside of any program's run/ });
    goOn();
    for (const operation of operations) {
        assert.deepEqual((await operation).changes, { create: 2 });
    }
    assert.deepEqual([...provider.things.keys()].map((id) => id.replace(/-\d+$/, "")).sort(), ["of-one", "of-two"]);
});

test("the SDK's own mocks work beside the engine", async () => {
    const stack = await memoryEngine().stack("shop/dev", { program: sdkProgram(async () => void new Thing("a", {})) });
    await stack.up();
    pulumi.runtime.setMocks({
        newResource: ({ name, inputs }) => ({ id: `${name}-mock`, state: { ...inputs, size: 42 } }),
        call: ({ inputs }) => inputs,
    });
    const thing = new Thing("mocked", {});
    assert.equal(await new Promise((resolve) => thing.size.apply(resolve)), 42);
    assert.equal((await stack.up()).changes.same, 2);
});

test("the environment and the working directory are unchanged", async () => {
    const [environment, directory] = [{ ...process.env }, process.cwd()];
    const stack = await memoryEngine().stack("shop/dev", {
        config: { a: "1" },
        program: sdkProgram(async () => void new Thing("a", {})),
    });
    await stack.up();
    assert.deepEqual({ ...process.env }, environment);
    assert.equal(process.cwd(), directory);
});

// The oldest supported version of the SDK has no such function.
const skipExists = pulumi.runtime.existsResource === undefined && "this version of the SDK cannot ask whether a resource exists";

test("a program can ask whether a resource exists", { skip: skipExists }, async () => {
    const provider = new Memory();
    provider.things.set("there", { size: 1 });
    const stack = await memoryEngine(provider).stack("shop/dev", {
        program: sdkProgram(async () => {
            const exists = (id) => pulumi.runtime.existsResource("mem:index:Thing", id, {}, {});
            return { there: exists("there"), gone: exists("gone"), later: exists(new Thing("a", {}).id) };
        }),
    });
    // An unknown identity has no answer.
    assert.equal(unwrap((await stack.preview()).outputs).gone, false);
    assert.deepEqual(unwrap((await stack.up()).outputs), { there: true, gone: false, later: true });
    const { deployment } = await stack.exportDeployment();
    const names = deployment.resources.map(({ urn }) => urn.split("::").at(-1)).sort();
    assert.deepEqual(names, ["a", "default", "shop-dev"], "what is asked for is not recorded");
});

test("a missing copy of the SDK is reported", async () => {
    const stack = await memoryEngine().stack("shop/dev", {
        program: sdkProgram(async () => undefined, { sdk: "/nowhere/at/all.js" }),
    });
    const error = await failureOf(stack.up());
    assert.match(error.message, /@pulumi\/pulumi cannot be found from \/nowhere/);
    assert.throws(() => memoryEngine(new Memory(), { sdk: "/nowhere/at/all.js" }), NotFoundError);
});

test("a program with a thousand resources is previewed", async (t) => {
    const stack = await memoryEngine().stack("shop/dev", {
        program: sdkProgram(async () => {
            for (let index = 0; index < 1000; index++) {
                new Thing(`t${index}`, { index, tags: { a: "b", c: [1, 2, 3] } });
            }
        }),
    });
    const began = performance.now();
    assert.equal((await stack.preview()).changes.create, 1001);
    t.diagnostic(`preview of 1000: ${Math.round(performance.now() - began)} ms`);
});
