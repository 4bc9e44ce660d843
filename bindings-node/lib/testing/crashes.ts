/** Crashes: a run is killed at each of its moments, and the next one has to complete what it left. */
import assert from "node:assert";

import type { PendingOperation } from "../documents";
import { InvalidInputError, StackwrightError } from "../errors";
import { given } from "../options";
import type { AnyProgram } from "../program";
import type { Stack } from "../stack";
import { oneOf, operationOptionsOf, refuseUnknownSettings, refuseUnrepeatable, requireProgram } from "./settings";
import { simulate, type SimulatedOptions, SimulatedStack, type SimulationOptions } from "./stack";

/** A run that was killed. */
export interface Crash {
    /** The number of the moment, from 0. */
    moment: number;
    /** The moment: `before the create of web (cloud:index:Machine)`, `in the middle of appending to the journal`… */
    place: string;
    /** What was wrong after the next run; none when it has completed everything. */
    problems: string[];
}

/** The options of `crashEverywhere()`. */
export interface CrashOptions extends Omit<SimulationOptions, "run" | "faults" | "check"> {
    /**
     * The program whose state it begins with: for updates, replacements and deletions. With the verbs `destroy` and `refresh` it is the
     * program itself when left out.
     */
    before?: AnyProgram;
    /** The operation that is killed; `up` when left out. */
    verb?: "up" | "destroy" | "refresh";
    /**
     * What is done before the next run, as by an operator: `adopt`, as when left out, looks up what interrupted creations have made and records
     * it, or deletes it where the state has another one, or where a real provider cannot read it; `none` does nothing, and the next run creates
     * such things again.
     */
    recover?: "adopt" | "none" | null | ((stack: SimulatedStack) => Promise<void> | void);
    /** Kills at every such moment only. */
    every?: number;
}

const VERBS = ["up", "destroy", "refresh"];
const RECOVERIES = ["adopt", "none"];
const OWN = ["before", "verb", "recover", "every"];
const NOT_OWN = ["run", "faults", "check"];

/** How many crashes with problems the text of an error lists. */
const MAX_SHOWN = 5;

/**
 * Kills a run at each of its moments (before and after each call of a provider and each write of the store, and in the middle of appends to the
 * journal), and asserts that the next run completes it and nothing exists twice. Returns the crashes. The options of operations hold for each
 * run; `parallel` is 1 when left out. A program that fails without a crash, too, rejects with its own error.
 */
export async function crashEverywhere(program: AnyProgram, options: CrashOptions = {}): Promise<Crash[]> {
    // As None in Python; what is given as null counts as left out otherwise.
    const isWithout = options.recover === null;
    options = given(options);
    refuseUnknownSettings("crashEverywhere()", options, OWN, NOT_OWN);
    refuseUnrepeatable("crashEverywhere()", options);
    const { before, verb = "up", recover: chosen, every = 1, ...rest } = options;
    const recover = isWithout ? "none" : (chosen ?? "adopt");
    if (!Number.isInteger(every) || every < 1) {
        throw new InvalidInputError(`every takes a whole number from 1 on, not ${String(every)}`);
    }
    oneOf("verb", verb, VERBS);
    if (typeof recover !== "function") {
        oneOf("recover", recover, RECOVERIES);
    }
    if (before !== undefined) {
        requireProgram("before", before);
    }
    if ((program !== undefined && program !== null) || options.project === undefined) {
        requireProgram("program", program);
    }
    const settings = { ...rest, allowUnmatched: true };
    const operation = { parallel: 1, ...operationOptionsOf(rest) };
    const killed: Killed = { program, first: before ?? (verb === "up" ? undefined : program), verb, settings, operation };
    await withStack(killed, async (stack) => {
        await uncrashed("the program", () => operate(stack, killed));
        const unstable = await unfinished(stack, killed);
        if (unstable !== undefined) {
            const message = `crashEverywhere() has killed no run, because a second run without a crash is not empty: ${unstable}`;
            throw new assert.AssertionError({ message, operator: "crashEverywhere", stackStartFn: crashEverywhere });
        }
        if (options.allowUnmatched !== true) {
            SimulatedStack.refuseUnmatched(stack, operation);
        }
    });
    const crashes: Crash[] = [];
    for (let moment = 0, isOver = false; !isOver; moment += every) {
        await withStack(killed, async (stack) => {
            const place = await kill(stack, killed, moment);
            isOver = place === undefined;
            if (place !== undefined) {
                await stack.restart();
                crashes.push({ moment, place, problems: await problemsOf(stack, killed, recover) });
            }
        });
    }
    const broken = crashes.filter((crash) => crash.problems.length > 0);
    if (broken.length > 0) {
        throw new assert.AssertionError({ message: textOf(broken, crashes.length), operator: "crashEverywhere", stackStartFn: crashEverywhere });
    }
    return crashes;
}

/** What is killed. */
interface Killed {
    program: AnyProgram;
    /** The program whose state it begins with. */
    first: AnyProgram | undefined;
    verb: "up" | "destroy" | "refresh";
    settings: SimulationOptions;
    operation: SimulatedOptions;
}

/** Calls `work` with a stack in the state of the first program, with the program that is killed. */
async function withStack({ first, program, settings, operation }: Killed, work: (stack: SimulatedStack) => Promise<void>): Promise<void> {
    const stack = await simulate(first ?? program, { ...settings, run: false });
    try {
        if (first !== undefined) {
            await uncrashed("the program whose state it begins with", () => stack.up(undefined, operation));
        }
        stack.program = program;
        await work(stack);
    } finally {
        await stack.close();
    }
}

function operate(stack: SimulatedStack, { verb, operation }: Killed, options: SimulatedOptions = {}): ReturnType<SimulatedStack["up"]> {
    return verb === "up" ? stack.up(undefined, { ...operation, ...options }) : stack[verb]({ ...operation, ...options });
}

/** Runs an operation that is not killed. Its error has a text that names that. */
async function uncrashed(which: string, run: () => Promise<unknown>): Promise<void> {
    try {
        await run();
    } catch (error) {
        if (error instanceof StackwrightError) {
            error.message = `crashEverywhere() has killed no run, because ${which} fails without a crash: ${error.message}`;
        }
        throw error;
    }
}

/** Kills an operation at a moment, and returns its description; nothing when it has ended before. */
async function kill(stack: SimulatedStack, killed: Killed, moment: number): Promise<string | undefined> {
    // A stack that exists is opened without a write.
    await stack.stack();
    SimulatedStack.beginRun(stack, moment);
    try {
        await operate(stack, killed, { check: false });
    } catch (error) {
        if (stack.killedAt === undefined) {
            throw error;
        }
    }
    return stack.killedAt;
}

function textOf(broken: readonly Crash[], count: number): string {
    const lines = [`after ${broken.length} of ${count} crashes the next run did not complete what was left:`];
    for (const { place, moment, problems } of broken.slice(0, MAX_SHOWN)) {
        lines.push(`  killed ${place} (moment ${moment}):`, ...problems.map((problem) => `    ${problem}`));
    }
    if (broken.length > MAX_SHOWN) {
        lines.push(`  and ${broken.length - MAX_SHOWN} more`);
    }
    return lines.join("\n");
}

async function problemsOf(stack: SimulatedStack, killed: Killed, recover: NonNullable<CrashOptions["recover"]>): Promise<string[]> {
    if (recover === "adopt") {
        await adopt(stack);
    } else if (recover !== "none") {
        await recover(stack);
    }
    const completed = await operate(stack, killed, { check: false });
    if (completed.error !== undefined) {
        return [`it failed: ${completed.error.message}`];
    }
    const left = await unfinished(stack, killed);
    return left === undefined ? stack.discrepancies() : [...stack.discrepancies(), left];
}

/** Returns what an operation that has completed left to do; nothing when there is nothing. */
async function unfinished(stack: SimulatedStack, { verb, operation }: Killed): Promise<string | undefined> {
    const options = { ...operation, check: false };
    const again = verb === "up" ? await stack.preview(undefined, options) : await stack[verb]({ ...options, dryRun: true });
    if (again.error !== undefined) {
        return `the preview after it failed: ${again.error.message}`;
    }
    if (!again.hasChanges) {
        return undefined;
    }
    const changes = again.steps.map((step) => `${step.op} of ${step.urn.split("::").slice(3).join("::")}`).join(", ");
    return `it left something to do: ${changes || "the outputs of the stack change"}`;
}

/** Records what interrupted creations have made, and deletes it where the state has another one, or where it cannot be read. */
async function adopt(simulated: SimulatedStack): Promise<void> {
    const stack = await simulated.stack();
    const pending = (await stack.pending()).filter((each) => each.kind === "creating");
    if (pending.length === 0) {
        return;
    }
    const records = await stack.resources();
    const recorded = new Set(records.map((record) => `${record.type} ${record.id}`));
    const urns = new Set(records.filter((record) => !record.delete).map((record) => record.urn));
    for (const each of pending) {
        const made = SimulatedStack.existingOf(simulated, each.urn).filter(([type, id]) => !recorded.has(`${type} ${id}`));
        if (made.length === 1 && !urns.has(each.urn) && (await isAdopted(stack, each, made[0]![1]))) {
            continue;
        }
        made.forEach((thing) => SimulatedStack.removeThing(simulated, thing));
        await stack.forgetPending(each);
    }
}

/** Adopts what a creation has made. A real provider may have no method that reads it. */
async function isAdopted(stack: Stack, pending: PendingOperation, resourceId: string): Promise<boolean> {
    try {
        await stack.adoptPending(pending, { resourceId });
        return true;
    } catch (error) {
        if (error instanceof StackwrightError) {
            return false;
        }
        throw error;
    }
}
