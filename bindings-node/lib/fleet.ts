/** Operations on a set of stacks: each runs after those that it needs, independent ones at the same time. */
import type { FleetOptions, Outcome, StepOp } from "./documents";
import { awaited, type Facts, fromFacts, guarded, InvalidInputError, StackwrightError } from "./errors";
import { EngineEvent } from "./event";
import { inspectAs } from "./inspection";
import { jsonOfMembers } from "./json";
import { native, type Native } from "./native";
import { batches, deliver, type Operation, type OperationOptions, Result, withResult } from "./operation";
import { described, given, requireFunction, requireOptions } from "./options";
import { type ProgramOptions, Stack } from "./stack";

/** A stack of a set, and its part of the operation: its program and the options of its operation. */
export interface StackRun extends Omit<ProgramOptions, "signal" | "onEvent" | "onOutput"> {
    stack: Stack;
    /**
     * The stacks of the set that it needs, or their names (`project/stack`), beside those that its recorded stack references
     * name.
     */
    dependsOn?: readonly (Stack | string)[];
}

/** Options of an operation on a set of stacks. */
export interface FleetCallOptions extends FleetOptions {
    /** Cancels the operation when it is aborted. */
    signal?: AbortSignal;
    /** Receives every event of all stacks. An exception ends the listening and rejects the operation when that is over. */
    onEvent?: (event: FleetEvent) => void | Promise<void>;
    /**
     * Receives each line of a plain display, which begins with the name of its stack: `onOutput: console.log`. An exception is
     * treated as one of `onEvent`.
     */
    onOutput?: OperationOptions["onOutput"];
}

/** An event of a stack of a set. */
export interface FleetEvent {
    /** The name of the stack, as `project/stack`. */
    readonly stack: string;
    /** The event. Its sequence number is that of the stack's operation. */
    readonly event: EngineEvent;
}

/** The end of a stack of a set. */
export interface StackEnd {
    readonly result: Result;
    /** Why it failed or did not begin. */
    readonly error?: StackwrightError;
}

/** A result as the native side writes it. */
interface Summary {
    error: Facts | null;
    outcome: Outcome;
    changes: FleetResult["changes"];
    skipped: string[];
    duration: number;
}

/** The result of an operation on a set of stacks. Its text is a tree of the steps of each stack. */
export class FleetResult {
    /** The end of each stack by its name, in the order of the call. */
    readonly stacks: { readonly [name: string]: StackEnd };
    /** The names of the stacks that did not begin: one that they need did not succeed, or the set was cancelled or refused. */
    readonly skipped: readonly string[];
    /** How it ended: `canceled` where the host cancelled it before every stack had ended. */
    readonly outcome: Outcome;
    /** How many resources of all stacks each kind of step was applied to. */
    readonly changes: { readonly [op in StepOp]?: number };
    /** How long it took, in seconds. */
    readonly duration: number;
    readonly #operation: Native.FleetOperation;

    /** @internal */
    constructor(summary: Summary, stacks: { [name: string]: StackEnd }, operation: Native.FleetOperation) {
        this.#operation = operation;
        this.stacks = stacks;
        this.skipped = summary.skipped;
        this.outcome = summary.outcome;
        this.changes = summary.changes;
        this.duration = summary.duration;
    }

    /** Draws what each stack came to, one after the other. */
    toString(): string {
        return this.#operation.tree() ?? "";
    }
}

/**
 * An operation on a set of stacks that runs. Awaiting it gives its `FleetResult`, or throws why it failed, with the `fleetResult` on
 * the error, whose `cause` is the error of the first stack that failed.
 */
export class FleetOperation implements PromiseLike<FleetResult> {
    /** The operation of each stack by its name, in the order of the call. */
    readonly operations: { readonly [name: string]: Operation };
    readonly #native: Native.FleetOperation;
    readonly #result: Promise<FleetResult>;
    #done = false;

    /** @internal */
    constructor(operation: Native.FleetOperation, operations: { [name: string]: Operation }, options: FleetCallOptions) {
        this.#native = operation;
        this.operations = operations;
        const { signal, onEvent, onOutput } = options;
        const called = onEvent === undefined ? undefined : (written: Native.StackEvent) => onEvent(eventOf(written));
        const written = () => batches(operation.events(onOutput !== undefined));
        const listened = (onEvent ?? onOutput) === undefined ? undefined : deliver(written(), called, onOutput);
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
                    throw withResult(error, result, "fleetResult");
                });
                return result;
            } finally {
                this.#done = true;
                signal?.removeEventListener("abort", cancel);
            }
        })();
        // The failure of an operation that is not awaited must not end the process.
        this.#result.catch(() => undefined);
    }

    static {
        inspectAs(this, (fleet) => `on ${Object.keys(fleet.operations).length} stacks, ${fleet.#done ? "done" : "running"}`);
    }

    then<A = FleetResult, B = never>(
        fulfilled?: ((value: FleetResult) => A | PromiseLike<A>) | null,
        rejected?: ((reason: StackwrightError) => B | PromiseLike<B>) | null,
    ): Promise<A | B> {
        return this.#result.then(fulfilled, rejected);
    }

    catch<B = never>(rejected?: ((reason: StackwrightError) => B | PromiseLike<B>) | null): Promise<FleetResult | B> {
        return this.#result.catch(rejected);
    }

    finally(settled?: (() => void) | null): Promise<FleetResult> {
        return this.#result.finally(settled);
    }

    toString(): string {
        return `operation on ${Object.keys(this.operations).length} stacks: await it for its result`;
    }

    /**
     * Asks for an end: no further stack begins, and what runs finishes and is recorded. A second time, running provider calls are
     * given up.
     */
    cancel(): void {
        this.#native.cancel();
    }

    /** The events of all stacks, those of each in their order: all of them for the first listener, those still to come for others. */
    async *events(): AsyncGenerator<FleetEvent, void, undefined> {
        for await (const written of batches(this.#native.events(false))) {
            yield eventOf(written);
        }
    }

    /** The same as `events()`. */
    [Symbol.asyncIterator](): AsyncGenerator<FleetEvent, void, undefined> {
        return this.events();
    }

    /** @internal Returns what shows the operation: a table on a terminal, or lines. */
    static shown(operation: FleetOperation, isScreen: boolean, coloured: boolean): Native.Display {
        return operation.#native.display(isScreen, coloured);
    }

    async #wait(): Promise<FleetResult> {
        const summary = JSON.parse(await awaited(() => this.#native.wait())) as Summary;
        const ends: { [name: string]: StackEnd } = {};
        let cause: StackwrightError | undefined;
        for (const [name, operation] of Object.entries(this.operations)) {
            ends[name] = await ended(operation);
            if (!summary.skipped.includes(name)) {
                cause ??= ends[name].error;
            }
        }
        const result = new FleetResult(summary, ends, this.#native);
        if (summary.error !== null) {
            const error = fromFacts(summary.error);
            error.fleetResult = result;
            if (cause !== undefined) {
                error.cause = cause;
            }
            throw error;
        }
        return result;
    }
}

/** Waits for the end of a stack. */
async function ended(operation: Operation): Promise<StackEnd> {
    try {
        return { result: await operation };
    } catch (error) {
        if (error instanceof StackwrightError && error.result instanceof Result) {
            return { result: error.result, error };
        }
        throw error;
    }
}

function eventOf({ stack, event }: Native.StackEvent): FleetEvent {
    return { stack, event: EngineEvent.parse(event) };
}

/** Returns a stack of a set with its part of the operation. */
function partOf(run: Stack | StackRun, called: string): StackRun {
    const part = run instanceof Stack ? { stack: run } : run;
    if (typeof part !== "object" || part === null || !(part.stack instanceof Stack)) {
        throw new InvalidInputError(`${called} takes stacks, or objects with a stack and its options, not ${described(run)}`);
    }
    return part;
}

/** Returns the name of a stack that another one needs. */
function nameOf(stack: Stack | string): string {
    const name = stack instanceof Stack ? stack.name : stack;
    if (typeof name !== "string") {
        throw new InvalidInputError(`dependsOn takes stacks or their names, not ${described(stack)}`);
    }
    return name;
}

/**
 * Starts an operation on a set.
 * @internal
 */
export function startAll(
    engine: Native.Engine,
    verb: "preview" | "up" | "refresh" | "destroy",
    runs: readonly (Stack | StackRun)[],
    options: FleetCallOptions,
): FleetOperation {
    const called = `${verb}All()`;
    if (!Array.isArray(runs)) {
        throw new InvalidInputError(`${called} takes a list of stacks, not ${described(runs)}`);
    }
    options = given(options);
    requireOptions(called, options);
    requireFunction("onEvent", options.onEvent);
    requireFunction("onOutput", options.onOutput);
    const { signal, onEvent: _event, onOutput: _output, ...limits } = options;
    if (signal !== undefined && typeof signal?.addEventListener !== "function") {
        throw new InvalidInputError(`signal is an AbortSignal, not ${described(signal)}`);
    }
    const set = new native.StackSet();
    const handles = (runs as readonly (Stack | StackRun)[]).map((run) => {
        const { stack, dependsOn, ...own } = partOf(run, called);
        if (dependsOn !== undefined && !Array.isArray(dependsOn)) {
            throw new InvalidInputError(`dependsOn takes a list of stacks or of their names, not ${described(dependsOn)}`);
        }
        return Stack.addTo(set, stack, (dependsOn ?? []).map(nameOf), own, verb);
    });
    const kind = verb === "up" || verb === "preview" ? "update" : verb;
    const started = guarded(() => engine.startAll(kind, set, jsonOfMembers(limits, "options."), called));
    const operations = handles.map((handle, place) => handle(started.operation(place)!));
    const named = operations.map((operation) => [operation.stack, operation] as const);
    return new FleetOperation(started, Object.fromEntries(named), options);
}
