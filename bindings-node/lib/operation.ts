/** An operation that runs: awaitable, cancellable, and a source of events. */
import type { Diagnostic, DroppedOperation, ImportedResource, ImportReport, OperationOptions as OperationSettings, Outcome, Step, StepOp, SuggestedMove } from "./documents";
import { awaited, type Facts, fromFacts, fromNative, InvalidInputError, type StackwrightError } from "./errors";
import { EngineEvent } from "./event";
import { inspectAs } from "./inspection";
import type { Native } from "./native";
import { Picture } from "./picture";
import { enter, leave, owned } from "./strays";
import { attempt, isA, textOf } from "./thrown";
import type { OutputValue } from "./values";

/** The options of one operation, with what only a function or an object can express. */
export interface OperationOptions extends OperationSettings {
    /** Cancels the operation when it is aborted. */
    signal?: AbortSignal;
    /** Receives every event, in order. An exception ends the listening and rejects the operation when that is over. */
    onEvent?: (event: EngineEvent) => void | Promise<void>;
    /**
     * Receives each line that a plain display of the operation has, without its newline and with secrets masked:
     * `onOutput: console.log`. An exception is treated as one of `onEvent`. See also `display`.
     */
    onOutput?: (line: string) => void | Promise<void>;
}

/** What an operation calls while it runs. */
interface Listeners {
    onEvent?: OperationOptions["onEvent"];
    onOutput?: OperationOptions["onOutput"];
}

/** The part of a plan about one resource. */
export interface ResourcePlan {
    /** The goal; absent for a resource that the program does not register any more. */
    goal?: { type: string; name: string; custom: boolean; [member: string]: unknown };
    /** The steps, in their order. */
    steps?: StepOp[];
    /** The outputs, as far as they were known; secrets are encrypted. */
    state: { [name: string]: unknown } | null;
    /** The random seed, in base64. */
    seed?: string;
}

/** A plan as a document, which can be saved as JSON and constrain an update of another process. */
export interface Plan {
    manifest: { time: string; magic: string; version: string };
    config: { [key: string]: unknown };
    resourcePlans: { [urn: string]: ResourcePlan };
    [member: string]: unknown;
}

/** The outputs of a stack by name. */
export type Outputs = { readonly [name: string]: OutputValue };

/** A stack's state as a document. */
export interface Deployment {
    version: number;
    features?: string[];
    deployment: { [member: string]: unknown };
}

/** A result as the native side writes it. */
interface Summary {
    error: Facts | null;
    outcome: Result["outcome"];
    changes: { [op: string]: number };
    hasChanges: boolean;
    steps: (Omit<Step, "error"> & { error: Facts | null })[];
    suggestedMoves: SuggestedMove[];
    diagnostics: Diagnostic[];
    droppedPending: DroppedOperation[];
    duration: number;
    isRecorded?: boolean;
    unfinishedReads?: string[];
    imported?: Omit<ImportReport, "resources"> & { resources: (Omit<ImportedResource, "error"> & { error: Facts | null })[] };
}

/** The values of the report of an import. */
type ImportedValues = Pick<ImportReport, "configuration"> & { resources: Pick<ImportedResource, "inputs" | "outputs">[] };

/**
 * The stack of an operation, and whether it is a preview.
 * @internal
 */
export interface Subject {
    /** As `project/stack`. */
    stack: string;
    isPreview: boolean;
}

/** The result of an operation. Its text is a tree of its steps. */
export class Result {
    /** The name of the stack, as `project/stack`. */
    readonly stack: string;
    readonly isPreview: boolean;
    /**
     * How it ended: `canceled` where the host cancelled it and it ended for that. The summary among the events counts as the
     * reference engine does: there, one whose running calls were left to finish has `failed`.
     */
    readonly outcome: Outcome;
    /** How many resources each kind of step was applied to. */
    readonly changes: { readonly [op in StepOp]?: number };
    /** The steps that changed something, or would, and those that failed. */
    readonly steps: readonly Step[];
    /**
     * The moves that were applied, and those that a preview of an update suggests, the most probable ones first. The option
     * `acceptMoves` takes them.
     */
    readonly suggestedMoves: readonly SuggestedMove[];
    /** The messages, those of the severity `debug` left out. */
    readonly diagnostics: readonly Diagnostic[];
    /**
     * The pending operations of an earlier run that were dropped from the state without being resolved: no step has worked on their
     * resources. An operation that succeeds drops all but creations, as the reference engine does.
     */
    readonly droppedPending: readonly DroppedOperation[];
    /** How long it took, in seconds. */
    readonly duration: number;
    /** Whether an operation with the same `runId` had ended before: counts and outputs are the recorded ones, and there are no steps. */
    readonly isRecorded: boolean;
    /** The stacks of the option `unfinishedStacks` that the program has tried to read. */
    readonly unfinishedReads: readonly string[];
    /** Whether anything was changed, or would be: a resource, or the stack's outputs. */
    readonly hasChanges: boolean;
    /** The stack's outputs by name. */
    readonly outputs: Outputs;
    /**
     * What has become of the resources of an import, with programs that declare them; undefined for other operations.
     * `configuration` has the secrets that the programs read: it can be the `config` of a stack.
     */
    readonly imported?: ImportReport;
    readonly #operation: Native.Operation;

    /** @internal */
    constructor(summary: Summary, outputs: Outputs, operation: Native.Operation, subject: Subject) {
        this.#operation = operation;
        this.stack = subject.stack;
        this.isPreview = subject.isPreview;
        this.outcome = summary.outcome;
        this.changes = summary.changes;
        this.hasChanges = summary.hasChanges;
        this.steps = summary.steps.map((step) => ({
            ...step,
            error: step.error === null ? null : fromFacts(step.error),
        }));
        this.suggestedMoves = summary.suggestedMoves;
        this.diagnostics = summary.diagnostics;
        this.droppedPending = summary.droppedPending;
        this.duration = summary.duration;
        this.isRecorded = summary.isRecorded ?? false;
        this.unfinishedReads = summary.unfinishedReads ?? [];
        this.outputs = outputs;
        if (summary.imported !== undefined) {
            const values = operation.imported() as unknown as ImportedValues;
            const resources = summary.imported.resources.map((resource, index) => ({
                ...resource,
                ...values.resources[index]!,
                error: resource.error === null ? null : fromFacts(resource.error),
            }));
            this.imported = { resources, code: summary.imported.code, configuration: values.configuration };
        }
    }

    /** The plan as a document, where `generatePlan: true` asked for one; secrets in it are encrypted. */
    get plan(): Plan | undefined {
        const document = this.#operation.planDocument();
        return typeof document === "string" ? (JSON.parse(document) as Plan) : undefined;
    }

    /**
     * Returns the state after the operation, also after one that failed or was cancelled, as a deployment document, which
     * `Stack.importDeployment` and the option `deployment` of `Engine.stack` take; secrets in it are encrypted. It is written
     * at each call. Undefined for a preview, and for an operation that failed before it read the state or whose saved state is
     * unknown.
     * @throws {SecretsError} The operation could not encrypt its state.
     */
    async deployment(): Promise<Deployment | undefined> {
        const document = await awaited(() => this.#operation.deployment());
        return typeof document === "string" ? (JSON.parse(document) as Deployment) : undefined;
    }

    /** @internal Returns the operation of a result. */
    static native(result: Result): Native.Operation {
        return result.#operation;
    }

    /** @internal Returns the operation with the plan of a result. */
    static planned(result: Result): Native.Operation {
        if (result.outcome !== "succeeded") {
            throw new InvalidInputError("the plan is not the result of a preview that succeeded");
        }
        if (!result.#operation.hasPlan()) {
            throw new InvalidInputError("the result has no plan: it was asked for none, or is not of a preview");
        }
        return result.#operation;
    }

    /**
     * Returns the resources with what was done, or would be, to be drawn. After an operation that failed before it read the state, the picture
     * is empty.
     */
    picture(): Picture {
        return new Picture(this.#operation.picture()!);
    }

    /** Returns the picture as one HTML page; see `Picture.toHtml`. */
    toHtml(): string {
        return this.picture().toHtml();
    }

    /** Returns the picture as a flowchart of Mermaid. */
    toMermaid(): string {
        return this.picture().toMermaid();
    }

    /** Returns the picture as a digraph of Graphviz. */
    toDot(): string {
        return this.picture().toDot();
    }

    /** Draws the steps as a tree. */
    toString(): string {
        return this.#operation.tree() ?? "";
    }
}

/**
 * Yields what comes in batches, until an empty one.
 * @internal
 */
export async function* batches<T>(events: { next(): Promise<T[]> }): AsyncGenerator<T, void, undefined> {
    for (;;) {
        const batch = await awaited(() => events.next());
        if (batch.length === 0) {
            return;
        }
        yield* batch;
    }
}

/**
 * Passes events and the lines that they add to a display to listeners, until one throws.
 * @internal
 */
export async function deliver<T extends { lines: string }>(
    events: AsyncIterable<T>,
    onEvent: ((event: T) => void | Promise<void>) | undefined,
    onOutput: ((line: string) => void | Promise<void>) | undefined,
): Promise<void> {
    let stray: { error: unknown } | undefined;
    const owner = { fail: (error: unknown) => void (stray ??= { error }) };
    const call = async (listener: () => void | Promise<void>): Promise<void> => {
        await owned(owner, listener);
        if (stray !== undefined) {
            throw stray.error;
        }
    };
    for await (const event of events) {
        if (onEvent !== undefined) {
            await call(() => onEvent(event));
        }
        if (onOutput !== undefined && event.lines !== "") {
            for (const line of event.lines.replace(/\n$/, "").split("\n")) {
                await call(() => onOutput(line));
            }
        }
    }
}

/**
 * Adds the result to the error that a listener threw, where that can hold it; what is no error becomes the cause of one.
 * @internal
 */
export function withResult(thrown: unknown, result: object, member: "result" | "fleetResult" = "result"): unknown {
    const error = isA(thrown, Error) ? thrown : new InvalidInputError(`onEvent failed: ${textOf(thrown)}`);
    return attempt(() => {
        if (Object.isExtensible(error)) {
            Object.defineProperty(error, member, { value: result, configurable: true, writable: true });
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
    #done = false;

    /** @internal */
    constructor(
        operation: Native.Operation,
        subject: Subject,
        explain: (error: StackwrightError | undefined) => void,
        signal?: AbortSignal,
        listeners: Listeners = {},
    ) {
        this.#native = operation;
        this.#subject = subject;
        this.#explain = explain;
        // Work that provider methods started may fail after their calls have been answered.
        enter(operation);
        const { onEvent, onOutput } = listeners;
        const listened = (onEvent ?? onOutput) === undefined ? undefined : this.#listen(listeners);
        // An exception of a listener rejects the operation when that is over, and never ends the process.
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
                this.#done = true;
                signal?.removeEventListener("abort", cancel);
                setImmediate(leave, operation);
            }
        })();
        // The failure of an operation that is not awaited must not end the process.
        this.#result.catch(() => undefined);
    }

    static {
        inspectAs(this, (operation) => (operation.#done ? "done" : "running"));
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

    /** The name of the stack, as `project/stack`. */
    get stack(): string {
        return this.#subject.stack;
    }

    toString(): string {
        return `operation of ${this.#subject.stack}: await it for its result`;
    }

    /** Asks for an end: what runs finishes and is recorded. A second time, running provider calls are given up. */
    cancel(): void {
        this.#native.cancel();
    }

    /**
     * Ends a held session, and waits until nothing of it is left: unanswered calls fail, because the operation has ended,
     * and the providers are released. Without `holdSession` that is the operation's own end.
     */
    async release(): Promise<void> {
        await this.#native.release();
    }

    /** The events: all of them for the first listener, those still to come for others. */
    async *events(): AsyncGenerator<EngineEvent, void, undefined> {
        for await (const { event } of this.#written(false)) {
            yield EngineEvent.parse(event);
        }
    }

    async *#written(withLines: boolean): AsyncGenerator<Native.WrittenEvent, void, undefined> {
        yield* batches(this.#native.events(withLines));
    }

    /** @internal Returns what shows the operation: a tree on a terminal, or lines. */
    static shown(operation: Operation, isScreen: boolean, coloured: boolean): Native.Display {
        return operation.#native.display(isScreen, coloured);
    }

    /** The same as `events()`. */
    [Symbol.asyncIterator](): AsyncGenerator<EngineEvent, void, undefined> {
        return this.events();
    }

    #listen({ onEvent, onOutput }: Listeners): Promise<void> {
        const called = onEvent === undefined ? undefined : ({ event }: Native.WrittenEvent) => onEvent(EngineEvent.parse(event));
        return deliver(this.#written(onOutput !== undefined), called, onOutput);
    }

    async #wait(): Promise<Result> {
        let summary: Summary;
        try {
            summary = JSON.parse(await this.#native.wait()) as Summary;
        } catch (error) {
            throw fromNative(error);
        }
        const result = new Result(summary, (this.#native.outputs() ?? {}) as Outputs, this.#native, this.#subject);
        const error = summary.error === null ? undefined : fromFacts(summary.error);
        this.#explain(error);
        if (error !== undefined) {
            error.result = result;
            throw error;
        }
        return result;
    }
}
