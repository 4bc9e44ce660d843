/** A stack and the operations on it. */
import type { Bridge } from "./bridge";
import { checkMembers, flag } from "./checks";
import type { ImportResource, PolicyAnalysis, PolicyPack } from "./documents";
import { awaited, guarded, InvalidInputError, StackwrightError } from "./errors";
import { jsonOf, jsonOfMembers, toPlainJson } from "./json";
import type { Native } from "./native";
import { type Deployment, Operation, type OperationOptions, type Outputs, type Plan, Result } from "./operation";
import { described, given, refuseUnknown, requireFunction, requireOptions } from "./options";
import { addPacks, type HostPolicyPack, type Policy, placed } from "./policy";
import { addProgram, type AnyProgram } from "./program";
import type { PropertyValue } from "./values";

/** Options of operations that run a program. */
export interface ProgramOptions extends OperationOptions {
    /** Another program than the stack's own. */
    program?: AnyProgram;
    /** What every resource is checked by: policies that are functions, packs of these, and packs as in `localPolicyPacks`. */
    policies?: readonly (Policy | HostPolicyPack | PolicyPack)[];
}

/** Options of an import. */
export interface ImportOptions extends OperationOptions {
    /** URNs of recorded resources by names, which `parent` and `provider` of resources can have. */
    nameTable?: { readonly [name: string]: string };
    /** Whether imported resources are protected, so that no update or destroy deletes them; `true` when left out. */
    protect?: boolean;
    /**
     * Whether the result has programs; `true` when left out. For those of the Pulumi SDKs the provider of each package is asked
     * for its schema.
     */
    generateCode?: boolean;
}

/** Returns a resource to import with its values in the form of JSON. */
function row(resource: ImportResource): object {
    if (typeof resource !== "object" || resource === null) {
        return resource;
    }
    const { inputs, outputs, ...rest } = resource;
    const values = (of: unknown) => (of === undefined || of === null ? undefined : toPlainJson(of as PropertyValue));
    return { ...rest, inputs: values(inputs), outputs: values(outputs) };
}

/** Distinguishes a plan from options: it is a result, a text, or an object with the plans of resources. */
function isPlan(value: Result | Plan | string | ProgramOptions): value is Result | Plan | string {
    return typeof value === "string" || value instanceof Result || (typeof value === "object" && value !== null && "resourcePlans" in value);
}

/** The error of a plan that is `undefined` or `null`, as `Result.plan` is without a plan's document. */
function undefinedPlan(): InvalidInputError {
    return new InvalidInputError(
        "the plan is undefined; a result has a plan's document when it was asked for with generatePlan: true",
    );
}

/** Returns the options that are given, and refuses invalid ones, before the operation starts. */
function checked(what: string, options: ProgramOptions): ProgramOptions {
    if (options instanceof Result) {
        throw new InvalidInputError(`${what} takes options; to be constrained by a result's plan: { plan: result }`);
    }
    // It may come from a result without a document. The update must not run unconstrained then.
    if (typeof options === "object" && options !== null && "plan" in options && (options.plan ?? undefined) === undefined) {
        throw undefinedPlan();
    }
    options = given(options);
    requireOptions(what, options);
    requireFunction("onEvent", options.onEvent);
    if (options.signal !== undefined && typeof options.signal?.addEventListener !== "function") {
        throw new InvalidInputError(`signal is an AbortSignal, not ${described(options.signal)}`);
    }
    if (options.plan instanceof Operation) {
        throw new InvalidInputError("the plan is an operation: await the preview first");
    }
    return options;
}

/** One entry of a stack's history. */
export interface HistoryEntry {
    kind: string;
    startTime: number;
    endTime: number;
    message: string;
    result: string;
    resourceChanges?: { [op: string]: number };
    [member: string]: unknown;
}

/** Returns the JSON of a deployment document, which may be a text already; `what` names it in errors. */
export function documentOf(document: string | object, what = "the deployment document"): string {
    return typeof document === "string" ? document : jsonOf(document, what);
}

/** Returns the option `showSecrets` of a call, and refuses others. */
function showsSecrets(what: string, options: { showSecrets?: boolean }): boolean {
    options = given(options);
    refuseUnknown(what, options, { showSecrets: true });
    checkMembers(options, { showSecrets: flag }, what);
    return options.showSecrets ?? false;
}

/** A stack: a named state, and its program. */
export class Stack {
    readonly #native: Native.Stack;
    readonly #bridge: Bridge;
    /** Throws once the engine has been closed. */
    readonly #requireOpen: () => void;

    /** @internal */
    constructor(stack: Native.Stack, bridge: Bridge, requireOpen: () => void) {
        this.#native = stack;
        this.#bridge = bridge;
        this.#requireOpen = requireOpen;
    }

    /** The name, as `project/stack`. */
    get name(): string {
        return this.#native.name;
    }

    /** The organization, as programs see it. */
    get organization(): string {
        return this.#native.organization;
    }

    /** The host's tags of the stack, by name. */
    get tags(): { readonly [name: string]: string } {
        return this.#native.tags;
    }

    /** Computes what an update would do. */
    preview(options: ProgramOptions = {}): Operation {
        if (options?.dryRun === false) {
            throw new InvalidInputError("a preview is a dry run; up() is not");
        }
        return this.#start("update", options, "preview");
    }

    /**
     * Brings the stack to the state that its program describes.
     * @param plan Constrains the update: the result of a preview, or a plan's document, parsed or as text. It is the option `plan`.
     * @throws {InvalidInputError} The first argument is `undefined` or `null`, like the `plan` of a result without a document.
     */
    up(): Operation;
    up(options: ProgramOptions): Operation;
    up(plan: Result | Plan | string, options?: ProgramOptions): Operation;
    up(...passed: [first?: Result | Plan | string | ProgramOptions, second?: ProgramOptions]): Operation {
        const first = passed[0];
        const second: ProgramOptions = passed[1] ?? {};
        if (passed.length === 0) {
            return this.#start("update", {}, "up");
        }
        if (first === undefined || first === null) {
            throw undefinedPlan();
        }
        if (!isPlan(first)) {
            return this.#start("update", first, "up");
        }
        const options = given(second);
        requireOptions("up()", options);
        if (options.plan !== undefined) {
            throw new InvalidInputError("up() was given two plans");
        }
        return this.#start("update", { ...options, plan: first }, "up");
    }

    /**
     * Reads every resource and records what is there. With `refreshProgram` the program, or `program` in its place,
     * runs, which determines how providers are configured.
     */
    refresh(options: ProgramOptions = {}): Operation {
        return this.#start("refresh", options, "refresh");
    }

    /**
     * Deletes every resource. With `destroyProgram` the program, or `program` in its place, runs, which determines how
     * providers are configured.
     */
    destroy(options: ProgramOptions = {}): Operation {
        return this.#start("destroy", options, "destroy");
    }

    /**
     * Records existing resources, which the stack manages from then on; with `dryRun` it only reports what it found. What cannot
     * be imported fails the operation, and the rest is kept. The result has the inputs of the resources, and programs that
     * declare them, in `imported`.
     * @param resources What to import; an object or a string is an import file of the Pulumi command.
     */
    importResources(resources: readonly ImportResource[] | object | string, options: ImportOptions = {}): Operation {
        this.#requireOpen();
        const { signal, onEvent, nameTable, protect, generateCode, ...own } = checked("importResources()", options as ProgramOptions) as ImportOptions;
        const given = Array.isArray(resources)
            ? { resources: resources.map(row) }
            : { file: documentOf(resources, "the import file") };
        const request = jsonOfMembers({ ...given, nameTable, protect, generateCode });
        const started = guarded(() => this.#native.importResources(request, jsonOfMembers(own, "options.")));
        const explain = (error: StackwrightError | undefined) => this.#bridge.raised.explain(this.name, error);
        return new Operation(started, { stack: this.name, isPreview: own.dryRun === true }, explain, signal, onEvent);
    }

    /** Returns the state as a deployment document; secrets stay encrypted unless they are to be shown. */
    async exportDeployment(options: { showSecrets?: boolean } = {}): Promise<Deployment> {
        const showSecrets = showsSecrets("exportDeployment()", options);
        return JSON.parse(await awaited(() => this.#native.export(showSecrets))) as Deployment;
    }

    /** Replaces the state by a deployment document, parsed or as text. */
    importDeployment(document: string | object): Promise<void> {
        return awaited(() => this.#native.import(documentOf(document)));
    }

    /** Returns the stack's outputs by name. `showSecrets: true` has the values of secret ones in text for display, too. */
    async outputs(options: { showSecrets?: boolean } = {}): Promise<Outputs> {
        const showSecrets = showsSecrets("outputs()", options);
        const outputs = (await awaited(() => this.#native.outputs())) as Outputs;
        const entries = Object.entries(outputs);
        return showSecrets ? Object.fromEntries(entries.map(([name, output]) => [name, output.shown()])) : outputs;
    }

    /**
     * Analyzes the recorded state, without a program: each resource by its inputs, then all resources by their outputs.
     * Remediations rewrite nothing. The state and its locks stay as they are, also while an operation runs.
     * @param policies Policies that are functions, packs of these, and packs as in `localPolicyPacks`.
     */
    async analyze(policies: readonly (Policy | HostPolicyPack | PolicyPack)[]): Promise<PolicyAnalysis> {
        this.#requireOpen();
        const packs = placed(policies ?? null);
        const options = jsonOfMembers({ localPolicyPacks: packs.local, requiredPolicies: packs.required }, "options.");
        try {
            const entries = addPacks(this.#bridge, packs.functions);
            return JSON.parse(await awaited(() => this.#native.analyze(options, entries))) as PolicyAnalysis;
        } catch (error) {
            this.#bridge.raised.explain(this.name, error instanceof StackwrightError ? error : undefined);
            throw error;
        }
    }

    /** Returns the history, newest first. */
    async history(): Promise<HistoryEntry[]> {
        return JSON.parse(await awaited(() => this.#native.history())) as HistoryEntry[];
    }

    /**
     * Removes every lock of the stack, regardless of its holder, and returns how many there were: for locks that dead
     * machines left behind. An operation that runs after all goes on.
     */
    unlock(): Promise<number> {
        return awaited(() => this.#native.unlock());
    }

    /** Removes the stack and its history. One that still has resources is only removed by force. */
    remove(options: { force?: boolean } = {}): Promise<void> {
        options = given(options);
        refuseUnknown("remove()", options, { force: true });
        checkMembers(options, { force: flag }, "remove()");
        return awaited(() => this.#native.remove(options.force ?? false));
    }

    toString(): string {
        return `stack ${this.name}`;
    }

    #start(kind: "update" | "refresh" | "destroy", options: ProgramOptions, called: "preview" | "up" | "refresh" | "destroy"): Operation {
        this.#requireOpen();
        options = checked(`${called}()`, options);
        const { signal, onEvent, program, plan, policies, ...own } = options;
        const packs = placed(policies, own.localPolicyPacks, own.requiredPolicies);
        const given = policies === undefined ? own : { ...own, localPolicyPacks: packs.local, requiredPolicies: packs.required };
        const rest = called === "preview" ? { ...given, dryRun: given.dryRun ?? true } : given;
        const asked = kind === "update" ? undefined : (`${kind}Program` as const);
        if (program !== undefined && asked !== undefined && options[asked] !== true) {
            throw new InvalidInputError(`${called}() runs a program only with ${asked}: true`);
        }
        const planned = plan instanceof Result ? Result.planned(plan) : undefined;
        const held = planned === undefined && plan !== undefined ? { ...rest, plan } : rest;
        const added = program === undefined ? undefined : addProgram(this.#bridge, program);
        const started = guarded(() => this.#native.start(kind, jsonOfMembers(held, "options."), `${called}()`, added, planned, addPacks(this.#bridge, packs.functions)));
        const explain = (error: StackwrightError | undefined) => this.#bridge.raised.explain(this.name, error);
        const subject = { stack: this.name, isPreview: rest.dryRun === true };
        return new Operation(started, subject, explain, signal, onEvent);
    }
}
