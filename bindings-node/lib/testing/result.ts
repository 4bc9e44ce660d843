/** The result of a simulated operation, with assertions. */
import assert from "node:assert";
import { existsSync } from "node:fs";

import type { ResourceRecord, StepOp } from "../documents";
import { guarded, InvalidInputError } from "../errors";
import { type Native, native } from "../native";
import { Result } from "../operation";
import { type Names, refuseUnknown } from "../options";
import { readText, requirePath, writeText } from "./files";
import { Resources, SimulatedResource } from "./resources";
import { shown } from "./settings";

/** The variable of the environment that makes `assertMatchesSnapshot` write. */
const UPDATE_VARIABLE = "STACKWRIGHT_UPDATE_SNAPSHOTS";

/** The options of assertions. */
export interface AssertionOptions {
    /** Whether nothing else may change. */
    only?: boolean;
}

const ASSERTION_OPTIONS: Names<AssertionOptions> = { only: true };

/** The options of `assertMatchesSnapshot()`. */
export interface SnapshotOptions {
    /** Whether the file is written instead. */
    update?: boolean;
}

const SNAPSHOT_OPTIONS: Names<SnapshotOptions> = { update: true };

/** Returns whether a resource is the stack itself or a default provider. */
function isOwn({ type, name }: ResourceRecord): boolean {
    return type === "pulumi:pulumi:Stack" || (type.startsWith("pulumi:providers:") && name.startsWith("default"));
}

/**
 * A result with its resources as data, and assertions that say what happened instead. Resources in assertions are patterns: names,
 * types (with a `:`), `type::name` or URNs, in which `*` is any text; one, or a list. A step that failed does not count as what it was to do.
 */
export class SimulatedResult {
    readonly #native: Native.Operation;
    readonly #bridge: Native.Bridge;
    #resources: Resources | undefined;
    /** The result itself. */
    readonly result: Result;
    /** Why the operation failed; only with `check: false`. */
    readonly error: Error | undefined;

    /** @internal */
    constructor(result: Result, error: Error | undefined, bridge: Native.Bridge) {
        this.result = result;
        this.error = error;
        this.#native = Result.native(result);
        this.#bridge = bridge;
    }

    /** How it ended. */
    get outcome(): Result["outcome"] {
        return this.result.outcome;
    }

    /** How many resources each kind of step was applied to. */
    get changes(): { readonly [op in StepOp]?: number } {
        return this.result.changes;
    }

    /** Whether anything was changed, or would be. */
    get hasChanges(): boolean {
        return this.result.hasChanges;
    }

    /** The steps that changed something, or would, and those that failed. */
    get steps(): Result["steps"] {
        return this.result.steps;
    }

    /** The stack's outputs by name. */
    get outputs(): Result["outputs"] {
        return this.result.outputs;
    }

    /** The resources after the operation, without the stack itself and default providers; of a preview, those that there would be. */
    get resources(): Resources {
        if (this.#resources === undefined) {
            const records = guarded(() => native.resourcesAfter(this.#bridge, this.#native)).resources as ResourceRecord[];
            this.#resources = new Resources(records.filter((record) => !isOwn(record)).map((record) => new SimulatedResource(record)));
        }
        return this.#resources;
    }

    #assert(expected: string, resources: string | readonly string[], only: boolean, from: (...given: never[]) => unknown): void {
        const named = typeof resources === "string" ? [resources] : resources;
        if (!Array.isArray(named) || !named.every((name) => typeof name === "string") || (named.length === 0 && expected !== "no_changes")) {
            throw new InvalidInputError("an assertion takes a resource, or a list of them: names, types, type::name or URNs");
        }
        if (typeof only !== "boolean") {
            throw new InvalidInputError(`only takes true or false, not ${shown(only)}`);
        }
        const text = guarded(() => native.unmet(this.#native, JSON.stringify({ expected, resources: named, only })));
        if (typeof text === "string") {
            throw new assert.AssertionError({ message: text, operator: expected, stackStartFn: from });
        }
    }

    /**
     * Asserts that the operation has succeeded, and that neither a resource nor an output of the stack has changed, or would. Options of
     * records alone, such as `protect`, count as no change: `refactoring()` compares them.
     */
    assertNoChanges(): void {
        this.#assert("no_changes", [], false, this.assertNoChanges);
    }

    /** Asserts that each pattern names a resource that is created. */
    assertCreates(resources: string | readonly string[], options: AssertionOptions = {}): void {
        refuseUnknown("assertCreates()", options, ASSERTION_OPTIONS);
        this.#assert("created", resources, options.only ?? false, this.assertCreates);
    }

    /** Asserts that each pattern names a resource that is updated in place. */
    assertUpdates(resources: string | readonly string[], options: AssertionOptions = {}): void {
        refuseUnknown("assertUpdates()", options, ASSERTION_OPTIONS);
        this.#assert("updated", resources, options.only ?? false, this.assertUpdates);
    }

    /** Asserts that each pattern names a resource that is replaced. */
    assertReplaces(resources: string | readonly string[], options: AssertionOptions = {}): void {
        refuseUnknown("assertReplaces()", options, ASSERTION_OPTIONS);
        this.#assert("replaced", resources, options.only ?? false, this.assertReplaces);
    }

    /** Asserts that each pattern names a resource that is deleted. */
    assertDeletes(resources: string | readonly string[], options: AssertionOptions = {}): void {
        refuseUnknown("assertDeletes()", options, ASSERTION_OPTIONS);
        this.#assert("deleted", resources, options.only ?? false, this.assertDeletes);
    }

    /** Asserts that each pattern names resources that exist and all stay as they are. A preview that failed does not show that. */
    assertUnchanged(resources: string | readonly string[]): void {
        this.#assert("unchanged", resources, false, this.assertUnchanged);
    }

    /** Asserts that each pattern names resources that are all protected. */
    assertProtected(resources: string | readonly string[]): void {
        this.#assert("protected", resources, false, this.assertProtected);
    }

    /** Returns the steps with their properties, and the outputs, as text that is the same for equal runs. Secrets are masked. That of a failed operation begins with the first line of its error. */
    planText(): string {
        return native.planText(this.#native);
    }

    /**
     * Asserts that `planText()` is what a file has. With `update`, or where the variable `STACKWRIGHT_UPDATE_SNAPSHOTS` of the environment is
     * `1`, the file is written instead. A relative path begins at the working directory.
     */
    assertMatchesSnapshot(file: string, options: SnapshotOptions = {}): void {
        requirePath("file", file);
        refuseUnknown("assertMatchesSnapshot()", options, SNAPSHOT_OPTIONS);
        const { update = process.env[UPDATE_VARIABLE] === "1" } = options;
        const actual = this.planText();
        if (update) {
            writeText("file", file, actual);
            return;
        }
        const wayOut = `run the test with ${UPDATE_VARIABLE}=1 to write it`;
        const fail = (message: string): never => {
            throw new assert.AssertionError({ message, operator: "snapshot", stackStartFn: this.assertMatchesSnapshot });
        };
        if (!existsSync(file)) {
            fail(`the snapshot ${file} does not exist; ${wayOut}\n${actual}`);
        }
        const difference = native.textDifference(readText("file", file), actual);
        if (typeof difference === "string") {
            fail(`the plan is not that of the snapshot ${file}; ${wayOut}\n${difference}`);
        }
    }

    toString(): string {
        return this.result.toString();
    }
}
