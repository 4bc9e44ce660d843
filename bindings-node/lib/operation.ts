/** An operation that runs: awaitable, cancellable, and a source of events. */
import { awaited, fromFacts, fromNative, InvalidInputError, type StackwrightError } from "./errors";
import type { EngineEvent, StepOp } from "./event";
import type { Native } from "./native";
import type { Names } from "./options";
import { enter, leave, owned } from "./strays";
import { attempt, isA, textOf } from "./thrown";
import type { PropertyMap } from "./values";

/** How strictly a policy is enforced; `remediate` lets it rewrite inputs. */
export type EnforcementLevel = "advisory" | "mandatory" | "remediate" | "disabled";

/** A policy pack, at an address. It needs a name or a path. */
export interface PolicyPack {
    /** The name by which the pack is asked for, and which errors say; the path when it is left out. */
    name?: string;
    /** The folder or file of the pack, for the resolver. */
    path?: string;
    /** The version that is wanted. */
    version?: string;
    /** Where its analyzer listens, as `host:port`. Without it the engine's resolver is asked for an `analyzer`. */
    address?: string;
    /** Where the pack can be had, for the resolver. */
    downloadUrl?: string;
    /** Hex checksums by platform, for the resolver. */
    checksums?: { [platform: string]: string };
    /** Settings by policy, and for `all`: a level, or an object with it and what else the policy's own schema has. */
    config?: { [policy: string]: EnforcementLevel | { enforcementLevel?: EnforcementLevel; [setting: string]: unknown } };
}

/** What a user can say about one operation. */
export interface OperationOptions {
    /** Only say what would be done. */
    dryRun?: boolean;
    /**
     * How many calls of Create, Update, Delete and Read may run at a time, those of refreshes and imports too; 0 is the
     * default of 16. Of Check and Diff, 16 times as many may. The limit is strict, except for providers whose calls may wait
     * for later registrations: see `waitsForRegistrations`. Invokes do not count.
     */
    parallel?: number;
    /**
     * Calls of every provider may wait for what a later registration or step causes. Left out, that holds for providers that
     * declare it in their `capabilities`, and for plugins that the engine's settings name. When all that `parallel` allows
     * stand still while others queue, some of these calls no longer count, so that more than `parallel` run.
     */
    waitsForRegistrations?: boolean;
    /** Read every resource before an update or a destroy. */
    refresh?: boolean;
    /**
     * A refresh runs the program: each resource is read when the program registers it, by a provider that is configured
     * as the program says; the others are read at the end. Where an update, or a destroy with its program, is to
     * `refresh`, it reads each resource when the program registers it, instead of all of them first.
     */
    refreshProgram?: boolean;
    /**
     * A destroy runs the program, which says how providers are configured; then everything is deleted, also what the
     * program registers.
     */
    destroyProgram?: boolean;
    /** Policy packs that an organization demands. Wherever a program runs, each resource is shown to them. */
    requiredPolicies?: PolicyPack[];
    /** Policy packs of the user; they are asked like the required ones, after these. */
    localPolicyPacks?: PolicyPack[];
    /** A failed step stops only what depends on it. */
    continueOnError?: boolean;
    /** Delete and replace protected resources too. */
    ignoreProtect?: boolean;
    /**
     * An update may delete every resource because its program registered none. Without it that is refused with
     * `InvalidInputError`, and a preview warns: most often the program is a module that an earlier operation has imported
     * already, so that it does not run again.
     */
    allowEmpty?: boolean;
    /** URNs of resources to be replaced whatever has changed, globs as in `targets`. */
    replaceTargets?: string[];
    /**
     * URNs of the only resources to be worked on; in a glob, `*` stands for anything but a colon and `**` for anything. What
     * is left out keeps its record (a component still publishes
     * outputs), or is not created: its outputs are unknown then. Providers and the stack
     * itself are always worked on. A target that names no resource fails the operation.
     */
    targets?: string[];
    /** What depends on a target is a target, too. */
    targetDependents?: boolean;
    /** URNs of resources to be left alone, globs as in `targets`. They say nothing where there are targets. */
    excludes?: string[];
    /** What depends on an excluded resource is excluded, too. */
    excludeDependents?: boolean;
    /** Forget interrupted creations when the operation has succeeded: you know what became of them. */
    clearPendingCreates?: boolean;
    /** Compare inputs before asking providers. */
    useLegacyDiff?: boolean;
    /** A refresh reports what its outputs say, without asking providers for a diff. */
    useLegacyRefreshDiff?: boolean;
    /** Programs are not told that the monitor understands references to resources. */
    disableResourceReferences?: boolean;
    /** Programs are not told that the monitor understands output values. */
    disableOutputValues?: boolean;
    /** Previews show inputs as outputs without asking providers. */
    disableProviderPreview?: boolean;
    /** Accepted; Check and Diff of different resources always run at the same time. */
    parallelDiff?: boolean;
    /**
     * Have plugins installed no sooner than they are needed. When absent, an engine with an installer installs
     * beforehand what the state's providers need, and what the program's language runtime says that it requires.
     */
    skipPluginPreInstall?: boolean;
    /** Accepted; nothing hides behind it. */
    experimental?: boolean;
    /** Not supported yet: an operation with it is refused before anything happens. */
    snippets?: { [member: string]: unknown }[];
    /** Not supported yet: an operation with it is refused before anything happens. */
    targetSnippets?: string[];
    /**
     * Keep secret values in the inputs and outputs of events: as secrets whose `ciphertext` is the base64 of their JSON
     * text. Left out, that is `[secret]`.
     */
    showSecrets?: boolean;
    /** Nobody will ask for what has happened before: events are made only while somebody listens. */
    noEvents?: boolean;
    /** Have diagnostics of the severity `debug` among the events. */
    debug?: boolean;
    /** A note for the history. */
    message?: string;
    /**
     * What the operation is held to: the result of a preview, or a plan's document, parsed or as text. Steps, inputs and
     * options that the plan does not foresee are refused before a provider is asked to do them, and fail the operation.
     * Plans have no place for `retainOnDelete`, `deletedWith`, `replaceOnChanges` and `hideDiffs`, nor for mere reads:
     * these may differ. Not for refreshes.
     */
    plan?: Result | Plan | string;
    /**
     * Write down what is found as a plan: `Result.plan`. Left out, previews of updates keep one without a document; with
     * `false` they keep none.
     */
    generatePlan?: boolean;
    /** Preview an update or a destroy first, where no plan is given, and hold it to what the preview found. */
    strict?: boolean;
    /** Keep the session after the result, until `release()`: providers stay, unanswered calls stay unanswered. */
    holdSession?: boolean;
    /** Cancels the operation when it is aborted. */
    signal?: AbortSignal;
    /** Hears every event, in order. What it throws ends the listening and rejects the operation when that is over. */
    onEvent?: (event: EngineEvent) => void | Promise<void>;
}

/** The names of all options that the engine knows, also of those that it refuses so far. */
export const OPERATION_OPTIONS: Names<OperationOptions> = {
    allowEmpty: true,
    clearPendingCreates: true,
    continueOnError: true,
    debug: true,
    destroyProgram: true,
    disableOutputValues: true,
    disableProviderPreview: true,
    disableResourceReferences: true,
    dryRun: true,
    excludeDependents: true,
    excludes: true,
    experimental: true,
    generatePlan: true,
    holdSession: true,
    ignoreProtect: true,
    localPolicyPacks: true,
    message: true,
    noEvents: true,
    onEvent: true,
    parallel: true,
    parallelDiff: true,
    plan: true,
    refresh: true,
    refreshProgram: true,
    replaceTargets: true,
    requiredPolicies: true,
    showSecrets: true,
    signal: true,
    skipPluginPreInstall: true,
    snippets: true,
    strict: true,
    targetDependents: true,
    targetSnippets: true,
    targets: true,
    useLegacyDiff: true,
    useLegacyRefreshDiff: true,
    waitsForRegistrations: true,
};

/** How one property of a resource changes that was there before. */
export interface PropertyChange {
    /** The path of the property: `tags.owner`, `rules[0].port`. */
    readonly path: string;
    readonly kind: "add" | "add-replace" | "delete" | "delete-replace" | "update" | "update-replace";
    /** The value before, in plain JSON form, secrets masked; null where there was none, or where it is not known. */
    readonly old: unknown;
    /** The value after, likewise. */
    readonly new: unknown;
}

/** One step of a result. */
export interface Step {
    op: StepOp;
    urn: string;
    type: string;
    /** The properties that force a replacement. */
    keys: string[];
    /** The properties that differ. */
    diffs: string[];
    /**
     * How it ended: `planned` in a preview; `refused` where it was not tried (a failed check, a missing plugin, a duplicate
     * URN, a policy), `failed` where nothing was changed, `partially_failed` where the resource exists all the same,
     * `unknown` where it is not known what the step did: a pending operation stands for it in the state.
     */
    status: "planned" | "succeeded" | "refused" | "failed" | "partially_failed" | "unknown";
    /** How long it took, in seconds. */
    duration: number;
    /** Why it failed. */
    error: StackwrightError | null;
    /** The properties that change in a resource that was there before, with their values. */
    changes: readonly PropertyChange[];
}

/** What a plan says of one resource. */
export interface ResourcePlan {
    /** What the program asked for; absent for what it does not register any more. */
    goal?: { type: string; name: string; custom: boolean; [member: string]: unknown };
    /** The steps, in their order. */
    steps?: StepOp[];
    /** The outputs, as far as they were known; secrets are encrypted. */
    state: { [name: string]: unknown } | null;
    /** What random parts are made of, in base64. */
    seed?: string;
}

/** A plan as a document: what can be saved as JSON, and hold an update of another process. */
export interface Plan {
    manifest: { time: string; magic: string; version: string };
    config: { [key: string]: unknown };
    resourcePlans: { [urn: string]: ResourcePlan };
    [member: string]: unknown;
}

/** A stack's state as a document. */
export interface Deployment {
    version: number;
    features?: string[];
    deployment: { [member: string]: unknown };
}

/** A message that was said during an operation. */
export interface Diagnostic {
    severity: "debug" | "info" | "info#err" | "warning" | "error";
    /** The text for people. */
    message: string;
    /** The text that the reference engine gives such a message, for tools that match on it. */
    referenceMessage: string;
    /** The stable name of the message, where it has one: `target_not_found` for instance. */
    messageCode: string | null;
    /** What a message with a code is about, by name. */
    messageArguments: { readonly [name: string]: unknown } | null;
    urn: string | null;
}

/** A result as the native side writes it. */
interface Summary {
    error: string | null;
    outcome: Result["outcome"];
    changes: { [op: string]: number };
    steps: (Omit<Step, "error"> & { error: string | null })[];
    diagnostics: Diagnostic[];
    duration: number;
}

/**
 * What an operation works on.
 * @internal
 */
export interface Subject {
    /** As `project/stack`. */
    stack: string;
    isPreview: boolean;
}

/** What an operation came to. Printed, it is a tree of its steps. */
export class Result {
    /** The name of the stack, as `project/stack`. */
    readonly stack: string;
    readonly isPreview: boolean;
    /**
     * How it ended: `canceled` where the host cancelled it and it ended for that. The summary among the events counts as the
     * reference engine does: there, one whose running calls were left to finish has `failed`.
     */
    readonly outcome: "succeeded" | "failed" | "canceled";
    /** How many resources each kind of step was applied to. */
    readonly changes: { readonly [op in StepOp]?: number };
    /** The steps that changed something, or would, and those that failed. */
    readonly steps: readonly Step[];
    /** What was said, debug messages left out. */
    readonly diagnostics: readonly Diagnostic[];
    /** How long it took, in seconds. */
    readonly duration: number;
    /** The stack's outputs, with secrets wrapped. */
    readonly outputs: PropertyMap;
    readonly #operation: Native.Operation;

    /** @internal */
    constructor(summary: Summary, outputs: PropertyMap, operation: Native.Operation, subject: Subject) {
        this.#operation = operation;
        this.stack = subject.stack;
        this.isPreview = subject.isPreview;
        this.outcome = summary.outcome;
        this.changes = summary.changes;
        this.steps = summary.steps.map((step) => ({
            ...step,
            error: step.error === null ? null : fromFacts(step.error),
        }));
        this.diagnostics = summary.diagnostics;
        this.duration = summary.duration;
        this.outputs = outputs;
    }

    /** Whether anything was changed, or would be. */
    get hasChanges(): boolean {
        return Object.entries(this.changes).some(([op, count]) => op !== "same" && count > 0);
    }

    /** The plan as a document, where `generatePlan: true` asked for one; secrets in it are encrypted. */
    get plan(): Plan | undefined {
        const document = this.#operation.planDocument();
        return typeof document === "string" ? (JSON.parse(document) as Plan) : undefined;
    }

    /**
     * Returns the state that the operation left, also one that failed or was cancelled, as a deployment document, which
     * `Stack.import` and the option `deployment` of `Engine.stack` take; secrets in it are encrypted. It is written at each call. Undefined for a preview, and for an
     * operation that failed before it read the state, or so that nobody knows what is saved of it.
     * @throws {SecretsError} The operation could not encrypt what it was to save.
     */
    async deployment(): Promise<Deployment | undefined> {
        const document = await awaited(() => this.#operation.deployment());
        return typeof document === "string" ? (JSON.parse(document) as Deployment) : undefined;
    }

    /** @internal The operation whose plan holds others. */
    static planned(result: Result): Native.Operation {
        if (result.outcome !== "succeeded") {
            throw new InvalidInputError("the plan is not the result of a preview that succeeded");
        }
        if (!result.#operation.hasPlan()) {
            throw new InvalidInputError("the result has no plan: it was asked for none, or is not of a preview");
        }
        return result.#operation;
    }

    /** Draws the steps as a tree. */
    toString(): string {
        return this.#operation.tree() ?? "";
    }
}

/** Adds the result to the error that a listener threw, where that can hold it; what is no error becomes the cause of one. */
function withResult(thrown: unknown, result: Result): unknown {
    const error = isA(thrown, Error) ? thrown : new InvalidInputError(`onEvent failed: ${textOf(thrown)}`);
    return attempt(() => {
        if (Object.isExtensible(error)) {
            Object.defineProperty(error, "result", { value: result, configurable: true, writable: true });
        }
        return error;
    }, error);
}

/** An operation that runs. Awaiting it gives its `Result`, or throws why it failed, with the `result` on the error. */
export class Operation implements PromiseLike<Result> {
    readonly #native: Native.Operation;
    readonly #subject: Subject;
    readonly #explain: (error: StackwrightError | undefined) => void;
    readonly #result: Promise<Result>;

    /** @internal */
    constructor(
        operation: Native.Operation,
        subject: Subject,
        explain: (error: StackwrightError | undefined) => void,
        signal?: AbortSignal,
        onEvent?: (event: EngineEvent) => void | Promise<void>,
    ) {
        this.#native = operation;
        this.#subject = subject;
        this.#explain = explain;
        // What the methods of providers start may fail when their calls have been answered.
        enter(operation);
        const listened = onEvent === undefined ? undefined : this.#listen(onEvent);
        // What a listener throws is told when the operation is over, and not to the process meanwhile.
        listened?.catch(() => undefined);
        const cancel = () => operation.cancel();
        if (signal?.aborted === true) {
            cancel();
        } else {
            signal?.addEventListener("abort", cancel, { once: true });
        }
        this.#result = (async () => {
            try {
                const result = await this.#wait();
                await listened?.catch((error: unknown) => {
                    throw withResult(error, result);
                });
                return result;
            } finally {
                signal?.removeEventListener("abort", cancel);
                setImmediate(leave, operation);
            }
        })();
        // Whoever awaits the operation hears of a failure; one that nobody awaits must not end the process.
        this.#result.catch(() => undefined);
    }

    then<A = Result, B = never>(
        fulfilled?: ((value: Result) => A | PromiseLike<A>) | null,
        rejected?: ((reason: StackwrightError) => B | PromiseLike<B>) | null,
    ): Promise<A | B> {
        return this.#result.then(fulfilled, rejected);
    }

    catch<B = never>(rejected?: ((reason: StackwrightError) => B | PromiseLike<B>) | null): Promise<Result | B> {
        return this.#result.catch(rejected);
    }

    finally(settled?: (() => void) | null): Promise<Result> {
        return this.#result.finally(settled);
    }

    toString(): string {
        return `operation of ${this.#subject.stack}: await it for its result`;
    }

    /** Asks for an end: what runs finishes and is recorded. A second time, running provider calls are given up. */
    cancel(): void {
        this.#native.cancel();
    }

    /**
     * Ends a held session, and waits until nothing of it is left: what was unanswered hears that the operation has ended,
     * and the providers are let go. Without `holdSession` that is the operation's own end.
     */
    async release(): Promise<void> {
        await this.#native.release();
    }

    /** The events: all of them for the first listener, those still to come for others. */
    async *events(): AsyncGenerator<EngineEvent, void, undefined> {
        const events = this.#native.events();
        for (;;) {
            let lines: string[];
            try {
                lines = await events.next();
            } catch (error) {
                throw fromNative(error);
            }
            if (lines.length === 0) {
                return;
            }
            for (const line of lines) {
                yield JSON.parse(line) as EngineEvent;
            }
        }
    }

    /** The same as `events()`. */
    [Symbol.asyncIterator](): AsyncGenerator<EngineEvent, void, undefined> {
        return this.events();
    }

    async #listen(onEvent: (event: EngineEvent) => void | Promise<void>): Promise<void> {
        let stray: { error: unknown } | undefined;
        const owner = { fail: (error: unknown) => void (stray ??= { error }) };
        for await (const event of this.events()) {
            await owned(owner, () => onEvent(event));
            if (stray !== undefined) {
                throw stray.error;
            }
        }
    }

    async #wait(): Promise<Result> {
        let summary: Summary;
        try {
            summary = JSON.parse(await this.#native.wait()) as Summary;
        } catch (error) {
            throw fromNative(error);
        }
        const result = new Result(summary, (this.#native.outputs() ?? {}) as PropertyMap, this.#native, this.#subject);
        const error = summary.error === null ? undefined : fromFacts(summary.error);
        this.#explain(error);
        if (error !== undefined) {
            error.result = result;
            throw error;
        }
        return result;
    }
}
