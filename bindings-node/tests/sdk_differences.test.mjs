/** Versions of `@pulumi/pulumi` whose private parts differ: transforms and hooks of programs work, through the server of the SDK where they need it. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { sdkProgram, unwrap } from "stackwright";

import { listeners } from "./listeners.mjs";
import { Memory, memoryEngine } from "./support.mjs";

const load = createRequire(import.meta.url);
const callbacks = load("@pulumi/pulumi/runtime/callbacks.js");
const settings = load("@pulumi/pulumi/runtime/settings.js");
const Original = callbacks.CallbackServer;
const { getCallbacks } = settings;

/** A class of the SDK with a method that needs what only its constructor makes. */
function needsServer(method) {
    class Changed extends Original {
        #ready = true;

        [method](...given) {
            assert.ok(this.#ready);
            return super[method](...given);
        }
    }
    callbacks.CallbackServer = Changed;
}

/** Renames the class; the SDK knows its new name. */
function renameClass() {
    delete callbacks.CallbackServer;
    settings.getCallbacks = () => {
        callbacks.CallbackServer = Original;
        try {
            return getCallbacks();
        } finally {
            delete callbacks.CallbackServer;
        }
    };
}

/** Renames the method for hooks; what the SDK calls has the new name. */
function renameHookMethod() {
    class Renamed extends Original {
        registerHook(hook) {
            return super.registerResourceHook(hook);
        }
    }
    Renamed.prototype.registerResourceHook = undefined;
    callbacks.CallbackServer = Renamed;
    settings.getCallbacks = () => {
        const server = getCallbacks();
        const get = (_, name) => {
            const found = server[name === "registerResourceHook" ? "registerHook" : name];
            return typeof found === "function" ? found.bind(server) : found;
        };
        return new Proxy(server, { get });
    };
}

/** Renames the map of functions. */
function renameFields() {
    callbacks.CallbackServer = class Renamed extends Original {
        #functions = new Map();

        get _callbacks() {
            return this.#functions;
        }

        set _callbacks(_) {}
    };
}

const differences = {
    "no difference": () => {},
    "the class has another name": renameClass,
    "the method for hooks has another name": renameHookMethod,
    "fields have other names": renameFields,
    "transforms need the server": () => needsServer("registerTransform"),
    "stack transforms need the server": () => needsServer("registerStackTransform"),
    "invoke transforms need the server": () => needsServer("registerStackInvokeTransform"),
    "hooks need the server": () => needsServer("registerResourceHook"),
    "error hooks need the server": () => needsServer("registerErrorHook"),
};

class Thing extends pulumi.CustomResource {
    constructor(name, inputs, options) {
        super("mem:index:Thing", name, inputs, options);
    }
}

const trail = (mark) => async ({ props, opts }) =>
    props.content === undefined
        ? undefined
        : { props: { ...props, content: pulumi.interpolate`${props.content},${mark}`, key: pulumi.secret("s3cr3t") }, opts };

for (const [name, change] of Object.entries(differences)) {
    test(`transforms and hooks work where ${name}`, async (t) => {
        t.after(() => Object.assign(callbacks, { CallbackServer: Original }));
        t.after(() => Object.assign(settings, { getCallbacks }));
        change();
        let attempts = 0;
        const provider = new Memory({
            create() {
                attempts += 1;
                if (attempts === 1) {
                    throw new Error("attempt 1 failed");
                }
            },
        });
        const before = listeners();
        const calls = [];
        const stack = await memoryEngine(provider).stack("shop/dev", {
            program: sdkProgram(async () => {
                pulumi.runtime.registerResourceTransform(trail("stack"));
                pulumi.runtime.registerInvokeTransform(async ({ args, opts }) => ({ args: { x: args.x + 1 }, opts }));
                const note = new pulumi.ResourceHook("note", ({ name }) => {
                    const isServed = listeners().some((socket) => !before.includes(socket));
                    calls.push(`created ${name} in ${pulumi.getStack()}, ${isServed ? "served" : "direct"}`);
                });
                const retry = new pulumi.ErrorHook("retry", async ({ name }) => calls.push(`failed ${name}`) > 0);
                new Thing("a", { content: "made" }, { transforms: [trail("own")], hooks: { afterCreate: [note], onError: [retry] } });
                return { doubled: (await pulumi.runtime.invoke("mem:index:double", { x: 4 })).doubled };
            }),
        });
        assert.deepEqual(unwrap((await stack.up()).outputs), { doubled: 10 });
        assert.deepEqual(calls, ["failed a", `created a in dev, ${name === "no difference" ? "direct" : "served"}`]);
        const { deployment } = await stack.exportDeployment();
        const [made] = deployment.resources.filter(({ type }) => type === "mem:index:Thing");
        assert.equal(made.inputs.content, "made,own,stack");
        assert.doesNotMatch(JSON.stringify(deployment), /s3cr3t/, "what functions make a secret is one");
    });
}
