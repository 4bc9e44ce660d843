/** Hooks of resources: functions that run before and after steps, and after failures. */
import { checkMembers, flag } from "./checks";
import type { CustomTimeouts } from "./documents";
import { guarded, InvalidInputError } from "./errors";
import { type FunctionRequest, functionHost, plainValues, readOptions, type WrittenOptions } from "./functions";
import { refuseGenerator } from "./generators";
import { inspectAs } from "./inspection";
import { requireWellFormed } from "./option_checks";
import { described, given, type Names, refuseUnknown, requireOptions } from "./options";
import type { Run } from "./run";
import type { PropertyMap, PropertyValue } from "./values";

type Answer<T> = T | PromiseLike<T>;

/** When a hook runs. */
export type Moment = "beforeCreate" | "afterCreate" | "beforeUpdate" | "afterUpdate" | "beforeDelete" | "afterDelete" | "onError";

/** The options of a resource, as its record has them. */
export interface HookResourceOptions {
    /** The URN of the parent. */
    readonly parent?: string;
    /** The URNs of all resources that it depends on. */
    readonly dependsOn: readonly string[];
    /** The provider's reference, `<urn>::<id>`; empty for components and providers. */
    readonly provider: string;
    /** Whether deletion is refused. */
    readonly protect: boolean;
    /** Whether deletion keeps the real resource. */
    readonly retainOnDelete: boolean;
    /** The former URNs. */
    readonly aliases: readonly string[];
    readonly ignoreChanges: readonly string[];
    readonly replaceOnChanges: readonly string[];
    readonly additionalSecretOutputs: readonly string[];
    /** The id that it was imported from; empty for none. */
    readonly importId: string;
    /** Limits of the provider's calls in seconds. */
    readonly customTimeouts: CustomTimeouts;
    /** The URN of the resource whose deletion deletes this one, too. */
    readonly deletedWith?: string;
    /** The URNs of resources whose replacement replaces this one, too. */
    readonly replaceWith: readonly string[];
    readonly hideDiffs: readonly string[];
    readonly replacementTrigger?: PropertyValue;
    /** The names of the hooks by the moments at which they run. */
    readonly hooks?: { readonly [moment in Moment]?: readonly string[] };
}

/** A step, for a hook that runs before or after it. Secrets are marked; values are unknown in previews only. */
export interface HookArgs {
    readonly urn: string;
    /** The id; empty before the creation, and for components. */
    readonly id: string;
    readonly name: string;
    readonly type: string;
    /** The requested inputs; absent in deletions. */
    readonly newInputs?: PropertyMap;
    /** The recorded inputs; absent in creations. */
    readonly oldInputs?: PropertyMap;
    /** The outputs of the step; absent before it, and in deletions. */
    readonly newOutputs?: PropertyMap;
    /** The recorded outputs; absent in creations. */
    readonly oldOutputs?: PropertyMap;
    /** The requested options; absent in deletions. */
    readonly newOptions?: HookResourceOptions;
    /** The recorded options; absent in creations. */
    readonly oldOptions?: HookResourceOptions;
}

/** A failed step, for a hook that decides whether it is tried again. */
export interface ErrorHookArgs extends Omit<HookArgs, "newOutputs"> {
    /** The call of the provider that failed. */
    readonly failedOperation: "create" | "update" | "delete";
    /** The errors of all attempts, the latest first. */
    readonly errors: readonly string[];
}

/**
 * The function of a hook. An exception before a step fails the step, and no provider is called; one after a step fails the
 * operation, whose state has the step. `signal` is aborted when the operation is cancelled.
 */
export type HookFunction = (args: HookArgs, signal: AbortSignal) => unknown;

/**
 * The function of a hook after failures: `true` has the step tried again, `false` or nothing does not; it may wait before it
 * returns. An exception fails the step. `signal` is aborted when the operation is cancelled.
 */
export type ErrorHookFunction = (args: ErrorHookArgs, signal: AbortSignal) => Answer<boolean | undefined | null | void>;

/** The options of a hook. */
export interface HookOptions {
    /** Whether it runs in previews, too. The default is `false`. */
    onDryRun?: boolean;
    /** Whether its failures are warnings, and change nothing else. The default is `false`. */
    ignoreErrors?: boolean;
}

const HOOK_OPTIONS: Names<HookOptions> = { onDryRun: true, ignoreErrors: true };
const HOOK_CHECKS = { onDryRun: flag, ignoreErrors: flag };

/** The number of the next hook: each hook of the process has one of its own. */
let nextIdentity = 1;

/**
 * A named function that runs before or after steps of the resources that have it among their `hooks`. Its name is in the
 * state: deletions of later runs find the hook by it. One hook can be used by many resources; another one cannot have its name.
 *
 * @example
 * const drain = new Hook("drain", async ({ id }, signal) => {
 *     await fetch(`https://balancer/drain/${id}`, { method: "POST", signal });
 * });
 * context.resource("aws:ec2:Instance", "web", { size: "small" }, { hooks: { beforeDelete: [drain] } });
 */
export class Hook {
    readonly name: string;
    readonly onDryRun: boolean;
    readonly ignoreErrors: boolean;
    /** @internal */
    readonly run: HookFunction;
    /** @internal */
    readonly identity: number = nextIdentity++;

    /** @throws {InvalidInputError} The name is no text, `run` is no function, or an option does not exist. */
    constructor(name: string, run: HookFunction, options: HookOptions = {}) {
        const what = requireHook(name, run);
        options = given(options);
        refuseUnknown(what, options, HOOK_OPTIONS);
        checkMembers(options, HOOK_CHECKS, what);
        this.name = name;
        this.run = run;
        this.onDryRun = options.onDryRun ?? false;
        this.ignoreErrors = options.ignoreErrors ?? false;
    }

    static {
        inspectAs(this, (hook) => hook.name);
    }

    toString(): string {
        return `hook ${this.name}`;
    }
}

/**
 * A named function that runs after a failed creation, update or deletion of the resources that have it in `hooks.onError`, and
 * decides whether the step is tried again: at most 100 times. It runs in previews, too.
 *
 * @example
 * const patient = new ErrorHook("patient", async ({ errors }) => {
 *     await new Promise((resolve) => setTimeout(resolve, 1000 * errors.length));
 *     return errors.length < 5;
 * });
 * context.resource("aws:rds:Instance", "db", {}, { hooks: { onError: [patient] } });
 */
export class ErrorHook {
    readonly name: string;
    /** @internal */
    readonly run: ErrorHookFunction;
    /** @internal */
    readonly identity: number = nextIdentity++;

    /** @throws {InvalidInputError} The name is no text, or `run` is no function. */
    constructor(name: string, run: ErrorHookFunction) {
        requireHook(name, run);
        this.name = name;
        this.run = run;
    }

    static {
        inspectAs(this, (hook) => hook.name);
    }

    toString(): string {
        return `error hook ${this.name}`;
    }
}

/** Refuses what is no name or no function of a hook; returns the name of the hook in errors. */
function requireHook(name: unknown, run: unknown): string {
    if (typeof name !== "string") {
        throw new InvalidInputError(`the name of a hook is a string, not ${described(name)}`);
    }
    requireWellFormed(name, "the name of a hook");
    const what = `the hook ${JSON.stringify(name)}`;
    if (typeof run !== "function") {
        throw new InvalidInputError(`${what} takes a function, not ${described(run)}`);
    }
    refuseGenerator(run, `the function of ${what}`);
    return what;
}

/**
 * The hooks of a resource, by the moments at which they run, each list in its order. An entry is a hook, the name of one that
 * is registered, or a function, whose name is made of the resource's type and name, the moment and its place. Hooks of
 * deletions need a name: a later run finds them by it.
 */
export interface Hooks {
    beforeCreate?: readonly (Hook | HookFunction | string)[];
    /** Those of a component run after its outputs have been registered. */
    afterCreate?: readonly (Hook | HookFunction | string)[];
    beforeUpdate?: readonly (Hook | HookFunction | string)[];
    afterUpdate?: readonly (Hook | HookFunction | string)[];
    beforeDelete?: readonly (Hook | string)[];
    afterDelete?: readonly (Hook | string)[];
    onError?: readonly (ErrorHook | ErrorHookFunction | string)[];
}

const MOMENTS: Names<Hooks> = {
    beforeCreate: true,
    afterCreate: true,
    beforeUpdate: true,
    afterUpdate: true,
    beforeDelete: true,
    afterDelete: true,
    onError: true,
};

/**
 * Refuses hooks of a resource that are wrong in themselves; `what` is their owner.
 * @internal
 */
export function checkHooks(hooks: unknown, what: string): Hooks {
    const owner = `hooks in the options of ${what}`;
    requireOptions(owner, hooks, "member");
    const named = given(hooks as object);
    refuseUnknown(owner, named, MOMENTS, "member");
    for (const [moment, list] of Object.entries(named)) {
        if (list === undefined) {
            continue;
        }
        if (!Array.isArray(list)) {
            throw new InvalidInputError(`hooks.${moment} takes a list of hooks, not ${described(list)}, in the options of ${what}`);
        }
        list.forEach((entry, index) => checkEntry(entry, moment as Moment, `hooks.${moment}[${index}]`, what));
    }
    return named as Hooks;
}

function checkEntry(entry: unknown, moment: Moment, place: string, what: string): void {
    const isOfErrors = moment === "onError";
    if (typeof entry === "string" || entry instanceof (isOfErrors ? ErrorHook : Hook)) {
        return;
    }
    const kind = isOfErrors ? "an ErrorHook" : "a Hook";
    if (typeof entry !== "function") {
        const other = entry instanceof Hook ? "a Hook" : entry instanceof ErrorHook ? "an ErrorHook" : described(entry);
        throw new InvalidInputError(`${place} takes ${kind}, not ${other}, in the options of ${what}`);
    }
    if (moment === "beforeDelete" || moment === "afterDelete") {
        const why = "a later run finds the hooks of a deletion by their names";
        throw new InvalidInputError(`${place} takes a Hook with a name, not a function, in the options of ${what}: ${why}`);
    }
    refuseGenerator(entry, `${place} in the options of ${what}`);
}

/**
 * Registers the hooks of a resource that are not registered yet, and returns their names by moment, as registrations have them.
 * `prefix` begins the names of functions.
 * @internal
 */
export function bindHooks(run: Run, hooks: Hooks, prefix: string): { [moment: string]: string[] } {
    const bindings: { [moment: string]: string[] } = {};
    for (const [moment, list] of Object.entries(hooks) as [Moment, readonly (Hook | ErrorHook | HookFunction | string)[] | undefined][]) {
        const names = (list ?? []).map((entry, index) => {
            if (typeof entry === "string") {
                return entry;
            }
            const hook = typeof entry === "function" ? madeHook(run, `${prefix}_${moment}_${index}`, moment, entry) : entry;
            registerHook(run, hook);
            return hook.name;
        });
        if (names.length !== 0) {
            bindings[`${moment.charAt(0).toUpperCase()}${moment.slice(1)}`] = names;
        }
    }
    return bindings;
}

/** Makes a hook of a function, with a name that no other hook has: resources below different parents can be named alike. */
function madeHook(run: Run, name: string, moment: Moment, body: HookFunction | ErrorHookFunction): Hook | ErrorHook {
    const isTaken = (name: string) => guarded(() => run.bridge.native.hookNamed(run.number, name) ?? undefined) !== undefined;
    let free = name;
    for (let count = 2; isTaken(free); count++) {
        free = `${name}_${count}`;
    }
    return moment === "onError" ? new ErrorHook(free, body as ErrorHookFunction) : new Hook(free, body as HookFunction);
}

/**
 * Registers a hook for the rest of the operation, unless it is registered.
 * @internal
 */
export function registerHook(run: Run, hook: Hook | ErrorHook): void {
    const { native, raised } = run.bridge;
    if (run.hooks.has(hook) || guarded(() => native.hookNamed(run.number, hook.name)) === hook.identity) {
        return;
    }
    const body = (request: FunctionRequest, signal: AbortSignal) => runHook(hook, request, signal);
    const host = functionHost(run, body, (error, { document }) => raised.ofProvider(JSON.parse(document), error));
    const number = run.bridge.addHost(host);
    const { name, identity } = hook;
    const { onDryRun = false, ignoreErrors = false } = hook as Partial<Hook>;
    const ofErrors = hook instanceof ErrorHook;
    guarded(() => native.registerHook(run.number, { name, identity, number, ofErrors, onDryRun, ignoreErrors }));
    run.hooks.add(hook);
}

async function runHook(hook: Hook | ErrorHook, request: FunctionRequest, signal: AbortSignal): Promise<{ retry?: boolean }> {
    const args = argsOf(request);
    if (hook instanceof Hook) {
        refuseGenerator(await hook.run(args as unknown as HookArgs, signal), "the function");
        return {};
    }
    const retry: unknown = (await hook.run(args as unknown as ErrorHookArgs, signal)) ?? false;
    refuseGenerator(retry, "the function");
    if (typeof retry !== "boolean") {
        throw new InvalidInputError(`an error hook returns true, false or nothing, not ${described(retry)}`);
    }
    return { retry };
}

/** Returns the arguments of a hook's function. */
function argsOf({ document, newInputs, oldInputs, newOutputs, oldOutputs }: FunctionRequest): { [name: string]: unknown } {
    const facts = JSON.parse(document) as { newOptions?: WrittenOptions | null; oldOptions?: WrittenOptions | null; [name: string]: unknown };
    const args: { [name: string]: unknown } = { ...facts };
    for (const [name, values] of Object.entries({ newInputs, oldInputs, newOutputs, oldOutputs })) {
        args[name] = values === undefined ? undefined : plainValues(values).plain;
    }
    for (const name of ["newOptions", "oldOptions"] as const) {
        args[name] = optionsOf(facts[name] ?? undefined);
    }
    return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined));
}

function optionsOf(written: WrittenOptions | undefined): object | undefined {
    if (written === undefined) {
        return undefined;
    }
    const { dependencies, ...rest } = written;
    return given({ ...readOptions(rest), dependsOn: dependencies });
}
