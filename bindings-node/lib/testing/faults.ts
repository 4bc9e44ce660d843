/** Faults: what happens to the calls of providers that a pattern names. */
import { InvalidInputError } from "../errors";
import { inspectAs } from "../inspection";
import { type Names, refuseUnknown } from "../options";
import { ProviderStatus } from "../provider";
import { listed, requireBoolean, requireText, shown } from "./settings";

/** A call of a provider. */
export type FaultCall = "check" | "diff" | "create" | "read" | "update" | "delete" | "invoke" | "call" | "construct" | "*";

const CALLS: readonly string[] = ["check", "diff", "create", "read", "update", "delete", "invoke", "call", "construct", "*"];

/** Which calls a fault happens to. */
export interface FaultOptions {
    /** A pattern of the names of resources; `*` in it is any text. */
    name?: string;
    /** How many calls it happens to, 1 when left out; `Infinity` is every one. */
    times?: number;
    /** How many calls that match are spared first. */
    skip?: number;
    /** Whether calls of previews count. */
    inPreviews?: boolean;
}

/** The options of `fail()`. */
export interface FailOptions extends FaultOptions {
    /** The message of the provider. */
    message?: string;
    /** The status of its answer: one of `ProviderStatus`. */
    status?: number;
    /** The call has its effect, but its answer is lost. */
    answerLost?: boolean;
    /** The resource is created or updated, but its initialization fails. */
    initialization?: boolean;
}

/** The options of `delay()`. */
export interface DelayOptions extends FaultOptions {
    /** How long, in seconds. */
    seconds?: number;
}

/** The options of `kill()`. */
export interface KillOptions extends FaultOptions {
    /** The call has its effect before. */
    after?: boolean;
}

/** What happens to a call, as the engine reads it. */
interface Effect {
    effect: string;
    [member: string]: unknown;
}

interface FaultDocument extends Effect {
    call: string;
    type: string;
    name: string;
}

const LIST = "a list of fail(), delay(), interrupt() and kill()";

const STATUSES: readonly unknown[] = Object.values(ProviderStatus);

/** A day, in seconds: a test that waits longer has a mistake. */
const MAX_SECONDS = 86_400;

/** A fault of one operation; made by `fail()`, `delay()`, `interrupt()` and `kill()`. */
export class Fault {
    readonly #document: FaultDocument;

    /** @internal */
    constructor(call: FaultCall, type: string, options: FaultOptions, effect: Effect) {
        requireText("name", options.name ?? "*");
        requireBoolean("inPreviews", options.inPreviews);
        if (!CALLS.includes(call)) {
            throw new InvalidInputError(`call takes one of ${CALLS.join(", ")}, not ${JSON.stringify(call)}`);
        }
        const { name = "*", times = 1, skip = 0, inPreviews = false } = options;
        for (const [what, number] of Object.entries({ times, skip })) {
            if (!(number >= 0) || (number !== Infinity && !Number.isInteger(number))) {
                throw new InvalidInputError(`${what} takes a whole number from 0 on, not ${String(number)}`);
            }
        }
        this.#document = { call, type, name, times: times === Infinity ? null : times, skip, in_previews: inPreviews, ...effect };
    }

    static {
        inspectAs(this, (fault) => {
            const { effect, call, type, name } = fault.#document;
            return `${effect} ${call} of "${type}" named "${name}"`;
        });
    }

    /** @internal Writes faults for the engine. */
    static document(faults: unknown): string {
        const refused = (value: unknown): InvalidInputError =>
            new InvalidInputError(`faults takes ${LIST}, not ${value instanceof Fault ? "one alone" : shown(value)}`);
        if (faults instanceof Fault) {
            throw refused(faults);
        }
        const documents = listed("faults", faults, LIST).map((fault) => {
            if (!(fault instanceof Fault)) {
                throw refused(fault);
            }
            return fault.#document;
        });
        return JSON.stringify(documents);
    }
}

const FAULT_OPTIONS: Names<FaultOptions> = { name: true, times: true, skip: true, inPreviews: true };
const FAIL_OPTIONS: Names<FailOptions> = { ...FAULT_OPTIONS, message: true, status: true, answerLost: true, initialization: true };

/** Returns a pattern of types and options; the options can stand in the place of a pattern that is left out. */
function selected<T extends FaultOptions>(type: string | T, options: T): [string, T] {
    if (typeof type === "string") {
        return [type, options];
    }
    if (typeof type !== "object" || type === null) {
        throw new InvalidInputError(`type takes a pattern of types, a text, not ${JSON.stringify(type)}`);
    }
    return ["*", type];
}

/**
 * Fails calls: `fail("create", "aws:s3/bucket:*", { name: "logs" })`. `type` is a pattern of types, or of the tokens of functions;
 * without it, the options follow the call: `fail("create", { name: "logs" })`.
 */
export function fail(call: FaultCall = "create", type: string | FailOptions = "*", options: FailOptions = {}): Fault {
    const [pattern, given] = selected(type, options);
    refuseUnknown("fail()", given, FAIL_OPTIONS);
    const { message = "the test has failed this call", status = ProviderStatus.unknown } = given;
    requireText("message", message);
    requireBoolean("answerLost", given.answerLost);
    requireBoolean("initialization", given.initialization);
    if (!STATUSES.includes(status)) {
        throw new InvalidInputError(`status takes one of ProviderStatus, such as ProviderStatus.unavailable, not ${shown(status)}`);
    }
    if (given.answerLost === true && given.initialization === true) {
        throw new InvalidInputError("fail() takes one of answerLost and initialization: a lost answer has no failed initialization");
    }
    const effect =
        given.answerLost === true
            ? { effect: "lose_answer", message }
            : given.initialization === true
              ? { effect: "fail_initialization", message }
              : { effect: "fail", message, status };
    return new Fault(call, pattern, given, effect);
}

/** Delays calls by real time, 0.02 seconds when left out, so that others end before. */
export function delay(call: FaultCall = "create", type: string | DelayOptions = "*", options: DelayOptions = {}): Fault {
    const [pattern, given] = selected(type, options);
    refuseUnknown("delay()", given, { ...FAULT_OPTIONS, seconds: true });
    const seconds: unknown = given.seconds ?? 0.02;
    if (typeof seconds !== "number" || !(seconds >= 0 && seconds <= MAX_SECONDS)) {
        throw new InvalidInputError(`seconds takes a number from 0 to ${MAX_SECONDS}, not ${shown(seconds)}`);
    }
    return new Fault(call, pattern, given, { effect: "delay", seconds });
}

/** Interrupts the operation when the call begins, as by a key press: the call ends, and no other begins. */
export function interrupt(call: FaultCall = "create", type: string | FaultOptions = "*", options: FaultOptions = {}): Fault {
    const [pattern, given] = selected(type, options);
    refuseUnknown("interrupt()", given, FAULT_OPTIONS);
    return new Fault(call, pattern, given, { effect: "interrupt" });
}

/**
 * Kills the run at a call, as the end of its process does: nothing of it has an effect any more. With `after`, the call still has its
 * effect: the thing is created, and not recorded.
 */
export function kill(call: FaultCall = "create", type: string | KillOptions = "*", options: KillOptions = {}): Fault {
    const [pattern, given] = selected(type, options);
    refuseUnknown("kill()", given, { ...FAULT_OPTIONS, after: true });
    requireBoolean("after", given.after);
    return new Fault(call, pattern, given, { effect: given.after === true ? "kill_after" : "kill_before" });
}
