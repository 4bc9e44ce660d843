/** Components of plugins in three languages: each alone, and inside each other, up to three deep. */
import assert from "node:assert/strict";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { Engine, sdkProgram, secret } from "stackwright";

import { records, SdkBox } from "./component_operations.mjs";
import {
    componentHosts,
    componentPlugins as commands,
    goComponent,
    Memory,
    NEWEST_GO,
    newestGoComponent,
    noPythonPlugin as skip,
    served,
} from "./support.mjs";

// Each language is outside, in the middle and inside, next to each of the others.
const nests = [
    ["pybox", "tsbox"],
    ["tsbox", "gobox"],
    ["gobox", "pybox"],
    ["tsbox", "pybox", "gobox"],
    ["pybox", "gobox", "tsbox"],
    ["gobox", "tsbox", "pybox"],
];
const boxes = nests.flat().length;

/** Programs of both APIs, with boxes of the size that `size` returns. */
const programs = {
    own: (size) => (context) => {
        nests.forEach(([outer, ...inner], number) => {
            const inputs = { size: size(), label: secret("hush-hush"), inner };
            const box = context.remoteComponent(`${outer}:index:Box`, `box${number}`, inputs);
            context.export(`doubled${number}`, box.get("doubled"));
            context.export(`label${number}`, box.get("label"));
        });
    },
    sdk: (size) =>
        sdkProgram(() => {
            const outputs = {};
            nests.forEach(([outer, ...inner], number) => {
                const box = new SdkBox(outer, `box${number}`, { size: size(), label: pulumi.secret("hush-hush"), inner });
                outputs[`doubled${number}`] = box.doubled;
                outputs[`label${number}`] = box.label;
            });
            return outputs;
        }),
};

/** The output of a box is twice that of the box inside it. */
function check({ outputs }, size) {
    nests.forEach((nest, number) => {
        assert.equal(outputs[`doubled${number}`].value, size * 2 ** nest.length);
        const { value, secret: isSecret } = outputs[`label${number}`];
        assert.deepEqual({ value, isSecret }, { value: "hush-hush", isSecret: true });
    });
}

/** Checks that each box of the state is below the box outside of it. */
async function checkParents(stack) {
    const { deployment } = await stack.exportDeployment();
    const known = Object.fromEntries(deployment.resources.map((record) => [record.urn.split("::").at(-1), record]));
    assert.ok(!JSON.stringify(deployment).includes("hush-hush"), "every copy is encrypted");
    nests.forEach((nest, number) => {
        let name = `box${number}`;
        for (const inner of nest.slice(1)) {
            assert.equal(known[`${name}-in`].type, `${inner}:index:Box`);
            assert.equal(known[`${name}-in`].parent, known[name].urn);
            name += "-in";
        }
        assert.equal(known[`${name}-lid`].parent, known[name].urn);
    });
}

for (const outer of Object.keys(commands)) {
    test(`a component in ${outer} with an unknown provider configuration is previewed alone`, { skip }, async (t) => {
        goComponent();
        const memory = new Memory();
        const engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: memory }, ...served(commands) });
        t.after(() => engine.close());
        const stack = await engine.stack("shop/dev", {
            program: (context) => {
                const first = context.resource("things:index:Thing", "first", { content: "x" });
                const boxes = context.provider(outer, "boxes", { region: first.id });
                const box = context.remoteComponent(`${outer}:index:Box`, "box", { size: 1 }, { provider: boxes });
                context.export("doubled", box.get("doubled"));
            },
        });
        // The stack, the thing, the provider and the box, without its lid.
        assert.deepEqual((await stack.preview()).changes, { create: 4 });
        const { changes, outputs } = await stack.up();
        assert.deepEqual([changes, outputs.doubled.value], [{ create: 5 }, 2]);
    });
}

for (const host of ["gobox", NEWEST_GO]) {
    test(`a renamed component of ${host} goes on with what is below it`, async (t) => {
        goComponent();
        newestGoComponent();
        const { plugin: outer, commands } = componentHosts[host];
        const memory = new Memory();
        const engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: memory }, ...served(commands) });
        t.after(() => engine.close());
        let name = "box";
        const program = (context) => void context.remoteComponent(`${outer}:index:Box`, name, { size: 1 }, { aliases: [{ name: "box" }] });
        const stack = await engine.stack("shop/dev", { program });
        await stack.up();
        const made = (await records(stack))["box-lid"].id;
        name = "case";
        await stack.up();
        const known = await records(stack);
        assert.deepEqual([known["case-lid"].id, known["case-lid"].parent], [made, known.case.urn]);
        assert.deepEqual([known.box, known["box-lid"], [...memory.things.keys()]], [undefined, undefined, [made]]);
        assert.deepEqual(memory.calls.filter((call) => /^(create|delete) /.test(call)), ["create box-lid"]);
    });
}

test("components of three languages nest", { skip }, async (t) => {
    goComponent();
    const memory = new Memory();
    const engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: memory }, ...served(commands) });
    t.after(() => engine.close());
    for (const [name, written] of Object.entries(programs)) {
        let size = 3;
        const stack = await engine.stack(`shop/${name}`, { program: written(() => size) });
        await stack.preview();
        assert.equal(memory.things.size, 0);
        check(await stack.up(), size);
        await checkParents(stack);
        assert.equal(memory.things.size, boxes);
        assert.deepEqual(Object.keys((await stack.up()).changes), ["same"]);
        size = 4;
        const changed = await stack.up();
        check(changed, size);
        assert.deepEqual(Object.keys(changed.changes).sort(), ["same", "update"]);
        await stack.destroy();
        assert.equal(memory.things.size, 0);
    }
});

/** The hosts that register a component with an option; the others leave it out or refuse it. */
const REGISTER = { replaceWith: ["pybox", NEWEST_GO], additionalSecretOutputs: ["gobox", NEWEST_GO], deletedWith: ["pybox", "gobox", NEWEST_GO] };

for (const [option, hosts] of Object.entries(REGISTER)) {
    for (const [host, { plugin, commands: command, skip: missing }] of Object.entries(componentHosts)) {
        const [isRefused, isRegistered] = [option === "deletedWith" && host === "tsbox", hosts.includes(host)];
        const title = isRefused ? "refuses" : isRegistered ? "registers a component with" : "leaves out";
        test(`${host} ${title} ${option}`, { skip: missing }, async (t) => {
            if (plugin === "gobox") {
                host === NEWEST_GO ? newestGoComponent() : goComponent();
            }
            const engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: new Memory() }, ...served(command) });
            t.after(() => engine.close());
            const program = (context) => {
                const first = context.resource("things:index:Thing", "first", { size: 1 });
                const values = { deletedWith: first, replaceWith: [first], additionalSecretOutputs: ["doubled"] };
                context.remoteComponent(`${plugin}:index:Box`, "box", { size: 1 }, { [option]: values[option] });
            };
            const stack = await engine.stack("shop/dev", { program });
            const error = await stack.up().then(() => undefined, (reason) => reason);
            const known = await records(stack);
            if (isRefused) {
                assert.match(error?.message, /invalid DeletedWith URN: invalid URN "urn:pulumi:dev::shop::things:index:Thing"/);
                assert.deepEqual([known.box, known["box-lid"]], [undefined, undefined]);
                return;
            }
            assert.equal(error, undefined);
            const values = { deletedWith: known.first.urn, replaceWith: [known.first.urn], additionalSecretOutputs: ["doubled"] };
            assert.deepEqual(known.box[option], isRegistered ? values[option] : undefined);
            assert.ok(known["box-lid"]);
        });
    }
}
