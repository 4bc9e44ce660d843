/** A component of a plugin, which a program of one of the two APIs uses, through all operations. */
import assert from "node:assert/strict";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { Engine, Hook, sdkProgram, secret } from "stackwright";

import { componentHosts, goComponent, Memory, newestGoComponent, served } from "./support.mjs";

export class SdkBox extends pulumi.ComponentResource {
    constructor(outer, name, inputs, options = {}) {
        super(`${outer}:index:Box`, name, { doubled: undefined, label: undefined, ...inputs }, options, true);
    }
}

/** A component of the plugin `outer` with a transform that adds 10 to its size, and a hook that notes its creation. */
const guarded = {
    own: ({ outer, size, ran }) => (context) => {
        // The component that its host registers has no inputs.
        const larger = ({ type, inputs }) =>
            type === `${outer}:index:Box` && "size" in inputs ? { inputs: { ...inputs, size: inputs.size + 10 } } : undefined;
        const note = new Hook("note", ({ name }) => void ran.push(name));
        const options = { transforms: [larger], hooks: { afterCreate: [note] } };
        const box = context.remoteComponent(`${outer}:index:Box`, "box", { size: size(), label: secret("hush-hush") }, options);
        const other = context.remoteComponent(`${outer}:index:Box`, "other", { size: size() });
        context.export("doubled", box.get("doubled"));
        context.export("other", other.get("doubled"));
    },
    sdk: ({ outer, size, ran }) =>
        sdkProgram(() => {
            const larger = ({ type, props, opts }) =>
                type === `${outer}:index:Box` && "size" in props
                    ? { props: { ...props, size: pulumi.output(props.size).apply((given) => given + 10) }, opts }
                    : undefined;
            const note = new pulumi.ResourceHook("note", ({ name }) => void ran.push(name));
            const options = { transforms: [larger], hooks: { afterCreate: [note] } };
            const box = new SdkBox(outer, "box", { size: size(), label: pulumi.secret("hush-hush") }, options);
            const other = new SdkBox(outer, "other", { size: size() });
            return { doubled: box.doubled, other: other.doubled };
        }),
};

/** Returns the records of a stack by name. */
export async function records(stack) {
    const { deployment } = await stack.exportDeployment();
    return Object.fromEntries((deployment.resources ?? []).map((record) => [record.urn.split("::").at(-1), record]));
}

/** Tests the components of all plugins with a program of an API: `own` or `sdk`. */
export function operations(written) {
    for (const [host, { plugin: outer, commands, skip }] of Object.entries(componentHosts)) {
        const name = `transforms, hooks, targets and the program (${written}) reach a component in ${host}, through all operations`;
        test(name, { skip }, async (t) => {
            goComponent();
            newestGoComponent();
            const memory = new Memory();
            // As users start them, in one of the APIs.
            const places = written === "own" ? { plugins: { commands } } : served(commands);
            const engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: memory }, ...places });
            t.after(() => engine.close());
            const ran = [];
            let size = 1;
            const stack = await engine.stack(`shop/${written}`, { program: guarded[written]({ outer, size: () => size, ran }) });
            await stack.preview();
            assert.deepEqual([memory.things.size, ran], [0, []]);
            const { outputs } = await stack.up();
            assert.deepEqual([outputs.doubled.value, outputs.other.value], [22, 2]);
            // The library of providers 1.1 for Go leaves out hooks.
            const created = host === "gobox" ? [] : ["box"];
            assert.deepEqual(ran, created);
            assert.deepEqual(Object.keys((await stack.up()).changes), ["same"]);
            const before = await records(stack);
            assert.deepEqual([before["box-lid"].inputs.size, before["other-lid"].inputs.size], [11, 1]);
            size = 2;
            await stack.up({ targets: [before["box-lid"].urn] });
            const partial = await records(stack);
            assert.deepEqual([partial["box-lid"].inputs.size, partial["other-lid"].inputs.size], [12, 1]);
            await stack.up();
            memory.things.set(before["other-lid"].id, { size: 7, changed: "elsewhere" });
            await stack.refresh({ refreshProgram: true });
            assert.equal((await records(stack))["other-lid"].outputs.changed, "elsewhere");
            await stack.destroy({ destroyProgram: true });
            assert.deepEqual([memory.things.size, ran], [0, created]);
        });
    }
}
