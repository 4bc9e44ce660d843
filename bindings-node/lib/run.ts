/**
 * One run of a program, or of the code of a component or a method: what belongs to it is known by its asynchronous context, so
 * that a stray failure ends that run and nothing else in the process.
 */
import type { Bridge, Callback, RunInfo } from "./bridge";
import { CancelledError } from "./errors";
import { currentOwner, enter, leave, leaveWithoutRoots, owned, type Owner } from "./strays";
import { causesOf, fullTextOf, stackTextOf, textOf } from "./thrown";

/** How much a message matters. */
export type Severity = "debug" | "info" | "warning" | "error";

const SEVERITIES: readonly Severity[] = ["debug", "info", "warning", "error"];

/** Returns the run that the running code belongs to. */
export function currentRun(): Run | undefined {
    const owner = currentOwner();
    return owner instanceof Run ? owner : undefined;
}

/** Returns the run that the running code belongs to, also where that is a transform or a hook of a program. */
export function runOfCode(): Run | undefined {
    const caller = currentOwner()?.caller;
    return currentRun() ?? (caller instanceof Run ? caller : undefined);
}

/** What runs: a program, or the code of a component or a method. */
export type Code = "program" | "method";

/** A run. */
export class Run implements Owner {
    /** Resolves when the program should end: its operation failed or was cancelled, or a stray failure was seen. */
    readonly over: Promise<void>;
    /** What failed outside of the program's own promise. */
    stray: { error: unknown } | undefined;
    #end!: () => void;
    #stopped = false;
    #ended = false;
    #closed = false;
    /** The calls that have no answer. */
    readonly #inFlight = new Set<Callback>();
    #quiet: (() => void)[] = [];
    /** The errors that calls were answered with. */
    readonly #refusals = new WeakSet<Error>();
    /** The hooks that this run has registered. */
    readonly hooks = new Set<object>();
    /** What transforms have thrown, until the errors of their registrations arrive. */
    readonly #thrown = new Set<unknown>();
    /** Messages that wait to cross together: severity, message, URN, stream, ephemeral. */
    #messages: unknown[] = [];

    constructor(
        readonly bridge: Bridge,
        readonly number: number,
        readonly info: RunInfo,
        readonly code: Code = "program",
        /** Whose code it is, for errors. */
        readonly owner = "the program",
    ) {
        this.over = new Promise((resolve) => (this.#end = resolve));
    }

    /** True once the operation has failed or was cancelled: nothing more will be answered. */
    get stopped(): boolean {
        return this.#stopped;
    }

    /** Called when the program has ended by itself: later calls fail. */
    end(): void {
        this.#ended = true;
    }

    /**
     * Returns the error of what a program does after its end, `undefined` when it has not ended. The operation fails for it;
     * when that is over as well, a process warning is emitted.
     */
    late(what: string): CancelledError | undefined {
        if (!this.#ended) {
            return undefined;
        }
        const error = new CancelledError(
            `${what} after ${this.owner} had ended: what ${this.owner} starts must be awaited, or its promise be returned`,
        );
        if (!this.#closed) {
            // The end has not been reported yet.
            this.fail(error);
        } else if (!this.bridge.native.failLate(this.number, error.message)) {
            process.emitWarning(error.message, { type: "StackwrightWarning" });
        }
        return error;
    }

    /** Throws the error of what a program does after its end. */
    refuseLate(what: string): void {
        const late = this.late(what);
        if (late !== undefined) {
            throw late;
        }
    }

    /** Called when the operation fails or is cancelled. Answers of earlier calls still arrive; no further call is made. */
    stop(): void {
        this.#stopped = true;
        this.#end();
    }

    /** Ends all calls, those that wait and those to come. */
    close(): void {
        this.#stopped = true;
        this.#closed = true;
        for (const answer of [...this.#inFlight]) {
            answer(ended(), undefined);
        }
    }

    /** Takes a failure that was not handled. */
    fail(error: unknown): void {
        this.stray ??= { error };
        this.#end();
    }

    /** Makes a call to the monitor; the callback runs outside of any asynchronous context. */
    call(send: (call: number) => void, callback: Callback): void {
        this.flush();
        const answer: Callback = (error, value) => {
            if (this.#inFlight.delete(answer)) {
                if (error instanceof CancelledError) {
                    // The run ends before the call's callback reports the cancellation.
                    this.stop();
                }
                this.#landed();
                callback(error, value);
            }
        };
        this.#inFlight.add(answer);
        if (this.#stopped) {
            setImmediate(answer, ended(), undefined);
            return;
        }
        try {
            this.bridge.call(send, answer);
        } catch (error) {
            this.#inFlight.delete(answer);
            this.#landed();
            throw error;
        }
    }

    /** As `call`, with a promise. */
    request<T>(send: (call: number) => void): Promise<T> {
        return new Promise<T>((resolve, reject) => {
            this.call(send, (error, value) => {
                if (error === undefined) {
                    resolve(value as T);
                } else {
                    this.#refusals.add(error);
                    this.#explain(error);
                    reject(error);
                }
            });
        });
    }

    /** Keeps what a transform threw as the cause of the error that its registration is answered with. */
    keepThrown(error: unknown): void {
        this.#thrown.add(error);
    }

    #explain(error: Error): void {
        for (const thrown of this.#thrown) {
            const text = textOf(thrown);
            if (text !== "" && error.message.includes(text) && error.cause === undefined) {
                Object.defineProperty(error, "cause", { value: thrown, configurable: true, writable: true });
                this.#thrown.delete(thrown);
            }
        }
    }

    /** Returns whether an error is the engine's answer to a call, and not one of the call itself. */
    isAnswer(error: Error): boolean {
        return this.#refusals.has(error);
    }

    #landed(): void {
        if (this.#inFlight.size === 0) {
            for (const notify of this.#quiet.splice(0)) {
                notify();
            }
        }
    }

    /** Resolves when no call is in flight and none follows from the last answers. */
    async quiet(): Promise<void> {
        for (let turns = 0; turns < 3; turns++) {
            if (this.#inFlight.size !== 0) {
                turns = 0;
                await new Promise<void>((resolve) => this.#quiet.push(resolve));
            }
            await new Promise((resolve) => setImmediate(resolve));
        }
    }

    /** Emits a diagnostic. Messages of one turn are sent together, before the next call of this run. */
    log(severity: Severity, message: string, urn = "", stream = 0, ephemeral = false): void {
        if (this.#messages.length === 0) {
            queueMicrotask(() => this.flush());
        }
        this.#messages.push(SEVERITIES.indexOf(severity), message, urn, stream, ephemeral);
    }

    /** Sends the messages that wait. */
    flush(): void {
        if (this.#messages.length !== 0) {
            const messages = this.#messages;
            this.#messages = [];
            try {
                this.bridge.native.log(this.number, messages);
            } catch (error) {
                this.fail(error);
            }
        }
    }
}

/** How a failed run ends: the error's text, and whether the diagnostics contain it already. */
export interface Ending {
    message: string;
    reported: boolean;
}

/** The error of a call that will not be answered. */
function ended(): CancelledError {
    return new CancelledError("the operation has ended");
}

/** How the code of a run ended: what it returned, or how it failed; neither when the run was over before. */
interface End<T> {
    /** Resolves when the code has ended, which may be later. */
    readonly settled: Promise<void>;
    readonly returned: { value: T } | undefined;
    readonly failure: { error: unknown } | undefined;
}

/** Runs `body` as the code of a run until it ends, fails, or is over for another reason. */
async function play<T>(run: Run, body: () => T | PromiseLike<T>): Promise<End<T>> {
    run.bridge.onStop(run.number, () => run.stop());
    enter(run);
    let returned: { value: T } | undefined;
    let failure: { error: unknown } | undefined;
    const settled = owned(run, async () => {
        try {
            returned = { value: await body() };
        } catch (error) {
            failure = { error };
        }
    });
    await Promise.race([settled, run.over]);
    // A rejection without a handler is reported after the promises of its turn: let those come first.
    await new Promise((resolve) => setImmediate(resolve));
    failure ??= run.stray;
    if (failure !== undefined || run.stopped) {
        // Each call is answered once the operation wants no more of the run.
        await run.quiet();
    }
    return { settled, returned, failure };
}

/** Reports the end of a run to the engine; nothing that its code does later is a part of it. */
function conclude(run: Run, { settled, failure }: End<unknown>, ending: Ending | undefined): void {
    run.flush();
    if (failure === undefined && !run.stopped) {
        run.end();
    }
    run.close();
    run.bridge.finishRun(run.number, ending);
    leaveWithoutRoots(run);
    void settled.then(() => setImmediate(leave, run));
}

/**
 * Runs `body` as the run's program until it ends, fails, or is over for another reason, and reports the end to the engine.
 * `describe` makes the displayed text of an error.
 */
export async function runProgram(
    run: Run,
    body: () => unknown,
    describe: (error: unknown, run: Run) => Ending,
): Promise<void> {
    const end = await play(run, body);
    let ending: Ending | undefined;
    if (end.failure !== undefined && !run.stopped) {
        ending = describe(end.failure.error, run);
        run.bridge.raised.ofProgram(run.info.project, run.info.stack, end.failure.error);
    }
    conclude(run, end, ending);
}

/** Runs `body` as the code of a component or a method, and returns its result; throws what it throws. */
export async function runBody<T>(run: Run, body: () => Promise<T>): Promise<T> {
    const end = await play(run, body);
    conclude(run, end, end.failure && { message: fullTextOf(end.failure.error), reported: false });
    if (end.failure !== undefined) {
        throw end.failure.error;
    }
    if (end.returned === undefined) {
        throw ended();
    }
    return end.returned.value;
}

/**
 * Returns an error's stack, with its causes, without the frames of this package at its end. It is made here, and never by inspection:
 * to inspect an error of the Pulumi SDK can take Node minutes.
 */
export function stackOf(error: unknown): string {
    const stack = stackTextOf(error);
    if (stack === undefined) {
        return fullTextOf(error);
    }
    const lines = stack.split("\n");
    const last = lines.findLastIndex((line) => !line.includes(__dirname) && !line.includes("node:async_hooks"));
    const shown = lines.slice(0, last + 1).join("\n");
    // Before the frames, which are no part of the message of the operation's error.
    const frames = shown.search(/\n\s+at /);
    const text = frames < 0 ? shown : shown.slice(0, frames);
    return [text, ...causesOf(error)].join("\n") + (frames < 0 ? "" : shown.slice(frames));
}
