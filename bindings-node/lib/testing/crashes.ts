/** Crashes: a run is killed at each of its moments, and the next one has to complete what it left. */
import assert from "node:assert";

import { InvalidInputError } from "../errors";
import type { AnyProgram } from "../program";
import { simulate, SimulatedStack, type SimulationOptions } from "./stack";

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
     * it, or deletes it where the state has another one; `none` does nothing, and the next run creates such things again.
     */
    recover?: "adopt" | "none" | ((stack: SimulatedStack) => Promise<void> | void);
    /** Kills at every such moment only. */
    every?: number;
}

/** How many crashes with problems the text of an error lists. */
const MAX_SHOWN = 5;

/**
 * Kills a run at each of its moments (before and after each call of a provider and each write of the store, and in the middle of appends to the
 * journal), and asserts that the next run completes it and nothing exists twice. Returns the crashes.
 */
export async function crashEverywhere(program: AnyProgram, options: CrashOptions = {}): Promise<Crash[]> {
    const { before, verb = "up", recover = "adopt", every = 1, parallel = 1, ...settings } = options;
    if (!Number.isInteger(every) || every < 1) {
        throw new InvalidInputError(`every takes a whole number from 1 on, not ${String(every)}`);
    }
    const first = before ?? (verb === "up" ? undefined : program);
    const crashes: Crash[] = [];
    for (let moment = 0; ; moment += every) {
        const stack = await simulate(first ?? program, { ...settings, run: false });
        try {
            if (first !== undefined) {
                await stack.up(undefined, { parallel });
            }
            stack.program = program;
            await stack.stack();
            SimulatedStack.beginRun(stack, moment);
            const run = () => (verb === "up" ? stack.up(undefined, { parallel, check: false }) : stack[verb]({ parallel, check: false }));
            try {
                await run();
            } catch (error) {
                if (stack.killedAt === undefined) {
                    throw error;
                }
            }
            const place = stack.killedAt;
            if (place === undefined) {
                break;
            }
            await stack.restart();
            crashes.push({ moment, place, problems: await problemsOf(stack, verb, recover, run) });
        } finally {
            await stack.close();
        }
    }
    const broken = crashes.filter((crash) => crash.problems.length > 0);
    if (broken.length > 0) {
        throw new assert.AssertionError({ message: textOf(broken, crashes.length), operator: "crashEverywhere", stackStartFn: crashEverywhere });
    }
    return crashes;
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

async function problemsOf(
    stack: SimulatedStack,
    verb: "up" | "destroy" | "refresh",
    recover: NonNullable<CrashOptions["recover"]>,
    run: () => ReturnType<SimulatedStack["up"]>,
): Promise<string[]> {
    if (recover === "adopt") {
        await adopt(stack);
    } else if (recover !== "none") {
        await recover(stack);
    }
    const completed = await run();
    if (completed.error !== undefined) {
        return [`it failed: ${completed.error.message}`];
    }
    const problems = stack.discrepancies();
    if (verb !== "destroy") {
        const again = verb === "up" ? await stack.preview(undefined, { check: false }) : await stack.refresh({ check: false, dryRun: true });
        if (again.error !== undefined) {
            problems.push(`the preview after it failed: ${again.error.message}`);
        } else if (again.hasChanges) {
            const changes = again.steps.map((step) => `${step.op} of ${step.urn.split("::").slice(3).join("::")}`).join(", ");
            problems.push(`it left something to do: ${changes || "the outputs of the stack change"}`);
        }
    }
    return problems;
}

/** Records what interrupted creations have made, and deletes it where the state has another one. */
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
        const made = [...simulated.world].filter((thing) => thing.urn === each.urn && !recorded.has(`${thing.type} ${thing.id}`));
        if (made.length === 1 && !urns.has(each.urn)) {
            await stack.adoptPending(each, { resourceId: made[0]!.id });
            continue;
        }
        made.forEach((thing) => thing.remove());
        await stack.forgetPending(each);
    }
}
