/** What a program of `@pulumi/pulumi` gives a component arrives at the host of the component, and is in the state. */
import assert from "node:assert/strict";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { Engine, sdkProgram } from "stackwright";

import { componentHosts, failureOf, goComponent, Memory, NEWEST_GO, newestGoComponent, served } from "./support.mjs";

/** What each host leaves out of the options of a component. */
const LEFT_OUT = {
    pybox: ["customTimeouts"],
    // It reads the URN of `deletedWith` as the reference of a provider, and registers the component with an invalid one.
    tsbox: ["deletedWith"],
    gobox: ["hooks", "replacementTrigger"],
    [NEWEST_GO]: [],
};

class Thing extends pulumi.CustomResource {
    constructor(name) {
        super("things:index:Thing", name, { content: "x" });
    }
}

class Special extends pulumi.ProviderResource {
    constructor() {
        super("things", "special", { region: "us" });
    }
}

class Mirror extends pulumi.ComponentResource {
    constructor(plugin, name, inputs, options) {
        super(`${plugin}:index:Mirror`, name, { seen: undefined, ...inputs }, options, true);
    }
}

const without = (names, options) => Object.fromEntries(Object.entries(options).filter(([name]) => !names.includes(name)));

/** Returns what a mirror has as its output: its options and the marks of its inputs. */
function expected(host, known) {
    const { plugin } = componentHosts[host];
    // The engine sends each alias as a URN, too; hosts in Go know only these.
    const urn = `urn:pulumi:dev::shop::${plugin}:index:Mirror::former`;
    const options = {
        aliases: plugin === "gobox" ? [urn] : ["name former", urn],
        customTimeouts: { create: "30s", update: "1m30s" },
        deletedWith: ["first"],
        dependsOn: ["first", "second"],
        hooks: ["note"],
        ignoreChanges: ["key"],
        parent: ["group"],
        protect: true,
        providers: { things: "special" },
        replaceOnChanges: ["size"],
        replacementTrigger: "one",
        retainOnDelete: true,
    };
    const inputs = { size: { known, secret: false, from: ["first"] }, key: { known: true, secret: true, from: [] } };
    return { inputs, options: without(LEFT_OUT[host], options) };
}

/** Returns the options of a mirror in the state. */
function recorded(host, first, second) {
    const options = {
        customTimeouts: { create: 30, update: 90 },
        deletedWith: first,
        dependencies: [first, second],
        hooks: { AfterCreate: ["note"] },
        ignoreChanges: ["key"],
        protect: true,
        replaceOnChanges: ["size"],
        replacementTrigger: "one",
        retainOnDelete: true,
    };
    return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, LEFT_OUT[host].includes(name) ? undefined : value]));
}

/** Returns the records of a stack by name. */
async function records(stack) {
    const { deployment } = await stack.exportDeployment();
    return Object.fromEntries((deployment.resources ?? []).map((record) => [record.urn.split("::").at(-1), record]));
}

for (const [host, { plugin, commands, skip }] of Object.entries(componentHosts)) {
    test(`options and inputs of an SDK program arrive at the host of ${host}`, { skip }, async (t) => {
        goComponent();
        newestGoComponent();
        const found = [];
        let phase = "mirror";
        const options = (first, second) => ({
            parent: new pulumi.ComponentResource("shop:index:Group", "group"),
            providers: { things: new Special() },
            aliases: [{ name: "former", parent: pulumi.rootStackResource }],
            dependsOn: [second],
            protect: true,
            ignoreChanges: ["key"],
            replaceOnChanges: ["size"],
            deletedWith: plugin === "tsbox" ? undefined : first,
            replacementTrigger: "one",
            customTimeouts: { create: "30s", update: "90s" },
            retainOnDelete: true,
            hooks: { afterCreate: [new pulumi.ResourceHook("note", () => undefined)] },
        });
        const program = sdkProgram(() => {
            const [first, second] = [new Thing("first"), new Thing("second")];
            const inputs = { size: first.id, key: pulumi.secret("hunter2") };
            const given = phase === "former" ? { providers: { things: new Special() } } : options(first, second);
            const { seen } = new Mirror(plugin, phase, inputs, given);
            seen.apply((text) => void found.push(JSON.parse(text)));
        });
        const memory = new Memory();
        const engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: memory }, ...served(commands) });
        t.after(() => engine.close());
        const stack = await engine.stack("shop/dev", { program });
        await stack.preview();
        assert.deepEqual(found.pop(), expected(host, false));

        phase = "former";
        await stack.up();
        const made = (await records(stack))["former-thing"];
        // What the inputs come from is among the dependencies.
        assert.deepEqual(found.pop().options, { dependsOn: ["first"], parent: ["shop-dev"], providers: { things: "special" } });

        phase = "mirror";
        await stack.up();
        assert.deepEqual(found.pop(), expected(host, true));
        const known = await records(stack);
        const { mirror, group, first, second, special, "mirror-thing": thing } = known;
        const inState = { ...mirror, dependencies: mirror.dependencies.sort(), hooks: mirror.resourceHooks };
        for (const [name, value] of Object.entries(recorded(host, first.urn, second.urn))) {
            assert.deepEqual(inState[name], value, name);
        }
        assert.equal(mirror.parent, group.urn);
        // What is below the component gets its alias, its providers and what is inherited.
        assert.equal(thing.id, made.id);
        assert.equal(memory.calls.filter((call) => /^(create|delete) /.test(call)).length, 3);
        assert.ok(thing.provider.startsWith(`${special.urn}::`));
        assert.deepEqual([thing.protect, thing.retainOnDelete, thing.ignoreChanges], [true, true, undefined]);
        assert.ok(!JSON.stringify(known).includes("hunter2"));
        assert.match((await failureOf(stack.destroy())).message, /protect/);
        assert.equal(memory.things.size, 3);
    });
}
