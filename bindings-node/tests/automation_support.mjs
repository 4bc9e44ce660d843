/** Shared by the tests of the Automation API: a program, and stacks on an engine with a provider in memory. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "stackwright/automation";

import { Memory, memoryEngine } from "./support.mjs";

export class Thing extends pulumi.CustomResource {
    /**
     * @param {string} name
     * @param {object} props
     * @param {pulumi.CustomResourceOptions} [opts]
     */
    constructor(name, props, opts) {
        super("mem:index:Thing", name, { made: undefined, ...props }, opts);
    }
}

/** Two resources, of which one depends on the other, and a third beside them. */
export async function chain() {
    const size = new pulumi.Config().getNumber("size") ?? 1;
    const first = new Thing("first", { size });
    new Thing("after", {}, { dependsOn: [first] });
    new Thing("beside", { size });
    return { size: String(size), password: pulumi.secret("hunter2") };
}

/** A folder that is removed after the test. */
export function folder(t) {
    const path = mkdtempSync(join(tmpdir(), "stackwright-automation-"));
    t.after(() => rmSync(path, { recursive: true }));
    return path;
}

/**
 * Opens stacks on an engine with a provider in memory.
 *
 * @returns {(program?: auto.PulumiFn, opts?: auto.LocalWorkspaceOptions) => Promise<auto.Stack>}
 */
export function opener(t, memory = new Memory(), stackName = "dev") {
    const pulumiCommand = new auto.Command({ engine: memoryEngine(memory, { providers: { mem: memory } }) });
    const pulumiHome = join(folder(t), "home");
    return (program = chain, opts = {}) => {
        /** @type {auto.InlineProgramArgs} */
        const args = { stackName, projectName: "shop", program };
        return auto.LocalWorkspace.createOrSelectStack(args, { pulumiCommand, pulumiHome, ...opts });
    };
}

/** The counts of a summary by the names of operations. */
export const counts = (changes) => ({ ...changes });
