/**
 * Registers secrets of SDK programs where a program makes them: the SDK sends them to the engine much later.
 *
 * `secret` is replaced, which learns a value at the call. A module of ECMAScript that imported the SDK before holds the
 * original, and a value may be there later than the call. Both make an output, whose value is learned as soon as it is there.
 *
 * An output of several parts (`all`, the outputs of a stack) is a secret when one of them is. Only those are learned: the others
 * are words that later texts show.
 */
import { currentRun, type Run } from "../run";
import { learnIn, learnSecret } from "../secrecy";
import type { Sdk } from "./find";

/** An output of the SDK, as far as it is touched. */
interface SdkOutput {
    resources: () => unknown;
    isSecret: unknown;
    promise(withUnknowns: boolean): Promise<unknown>;
}

type Func = (value: unknown) => unknown;

interface OutputPrototype {
    apply?(this: unknown, func: Func, runWithUnknowns?: boolean): SdkOutput;
}

type OutputClass = new (...made: never[]) => object;

/** Runs with outputs whose values have not been searched for secrets yet. */
const unsettled = new WeakSet<Run>();

/**
 * The outputs whose resources were asked for since the last output was made, with these. The SDK asks each part of a composite
 * right before it makes that.
 */
let asked: { output: SdkOutput; resources: unknown }[] = [];
let isForgetting = false;

/** The values of composites, with what they contained when each secret in them had been learned. */
const composed = new WeakMap<object, unknown[]>();

function ignore(): void {}

/** Has the current run learn what its program makes a secret. */
export function learnSecrets(sdk: Sdk): void {
    for (const module of [sdk.outputs, sdk.index]) {
        const original = module.secret;
        if (typeof original === "function") {
            module.secret = (value) => {
                learnSecret(value);
                return original(value);
            };
        }
    }
    const { Output } = sdk.outputs;
    if (typeof Output === "function") {
        watchApply(Output.prototype as OutputPrototype);
        sdk.outputs.Output = learning(Output);
    }
}

/** Returns a constructor that makes outputs as `Output` does, and has the current run learn what is secret in them. */
function learning(Output: OutputClass): OutputClass {
    // A function with the prototype of the original, and no proxy: programs make ten outputs for each resource.
    function Learning(...made: never[]): object {
        const parts = asked;
        asked = [];
        const output = new.target === Learning ? new Output(...made) : (Reflect.construct(Output, made, new.target) as object);
        // The outputs of resources and functions, which are most, come from the engine: it knows their secrets.
        const run = (made[0] as unknown) instanceof Set ? currentRun() : undefined;
        if (run !== undefined) {
            unsettled.add(run);
            watch(output as SdkOutput);
            // A composite has resources of its own; an output that is made of another one has those of that.
            if (parts.length > 0 && parts.every(({ resources }) => resources !== made[0])) {
                // The secrets in a part that is a composite itself have been learned.
                parts.forEach(({ output: part }) => learnLater(run, part.promise(true), part.isSecret, isComposed));
                Promise.all<unknown>([made[1], made[3]]).then(([value, isSecret]) => isSecret === true && compose(value), ignore);
            } else {
                learnLater(run, made[1], made[3]);
            }
        }
        return output;
    }
    Learning.prototype = Output.prototype as object;
    return Object.setPrototypeOf(Learning, Output) as OutputClass;
}

/** Registers a value as soon as it is known, and known to be a secret. */
function learnLater(run: Run, made: unknown, isSecret: unknown, isLearned: (value: unknown) => boolean = () => false): void {
    Promise.all([made, isSecret]).then(([value, isKnown]) => isKnown === true && !isLearned(value) && learnIn(run, value, true), ignore);
}

/** Watches the outputs that `apply` makes: the SDK makes those of the parts of a composite, and of members, with unknowns. */
function watchApply(prototype: OutputPrototype): void {
    const { apply } = prototype;
    if (typeof apply === "function") {
        prototype.apply = function (func, runWithUnknowns) {
            const output = watch(apply.call(this, runWithUnknowns === true ? following(func) : func, runWithUnknowns));
            asked = [];
            return output;
        };
    }
}

/** Has a copy of a composite value, and a member of one, be such a value, too. */
function following(func: Func): Func {
    return (value) => {
        const result = func(value);
        if (isComposed(value)) {
            compose(result);
        }
        return result;
    };
}

function watch(output: SdkOutput): SdkOutput {
    const { resources } = output;
    output.resources = () => {
        const found = resources();
        asked.push({ output, resources: found });
        if (!isForgetting) {
            isForgetting = true;
            queueMicrotask(() => {
                isForgetting = false;
                asked = [];
            });
        }
        return found;
    };
    return output;
}

function compose(value: unknown): void {
    if (isComposite(value)) {
        composed.set(value, contents(value));
    }
}

/** Returns whether a value is that of a composite, as it was: a function of the program may have added to it. */
function isComposed(value: unknown): boolean {
    const known = isComposite(value) ? composed.get(value) : undefined;
    if (known === undefined) {
        return false;
    }
    const now = contents(value);
    return now.length === known.length && now.every((element, index) => Object.is(element, known[index]));
}

function isComposite(value: unknown): value is object {
    return Array.isArray(value) || (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype);
}

/** Returns what a value consists of, at any depth. */
function contents(value: unknown, found: unknown[] = [], seen = new Set<unknown>()): unknown[] {
    found.push(value);
    if (isComposite(value) && !seen.has(value)) {
        seen.add(value);
        for (const element of Object.values(value)) {
            contents(element, found, seen);
        }
    }
    return found;
}

/** Resolves when the values that are there have been learned; `undefined` when nothing is to be waited for. */
export function secretsLearned(run: Run): Promise<void> | undefined {
    if (!unsettled.has(run)) {
        return undefined;
    }
    return new Promise((resolve) => {
        setImmediate(() => {
            unsettled.delete(run);
            resolve();
        });
    });
}
