/**
 * Registers secrets of SDK programs where a program makes them: the SDK sends them to the engine much later.
 *
 * `secret` is replaced, which learns a value at the call. A module of ECMAScript that imported the SDK before holds the
 * original, and a value may be there later than the call. Both make an output, whose value is learned as soon as it is there.
 */
import { currentRun, type Run } from "../run";
import { learnIn, learnSecret } from "../secrecy";
import type { Sdk } from "./find";

/** Runs with outputs whose values have not been searched for secrets yet. */
const unsettled = new WeakSet<Run>();

function ignore(): void {}

/** Registers a secret value as soon as it is known. */
function learnLater(run: Run, value: unknown): void {
    Promise.resolve(value).then((known) => learnIn(run, known, true), ignore);
}

type OutputClass = new (...made: never[]) => object;

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
        sdk.outputs.Output = learning(Output);
    }
}

/** Returns a constructor that makes outputs as `Output` does, and has the current run learn what is secret in them. */
function learning(Output: OutputClass): OutputClass {
    // A function with the prototype of the original, and no proxy: programs make ten outputs for each resource.
    function Learning(...made: never[]): object {
        // The outputs of resources and functions, which are most, come from the engine: it knows their secrets.
        const run = (made[0] as unknown) instanceof Set ? currentRun() : undefined;
        if (run !== undefined) {
            unsettled.add(run);
            Promise.resolve<unknown>(made[3]).then((isSecret) => isSecret === true && learnLater(run, made[1]), ignore);
        }
        return new.target === Learning ? new Output(...made) : (Reflect.construct(Output, made, new.target) as object);
    }
    Learning.prototype = Output.prototype as object;
    return Object.setPrototypeOf(Learning, Output) as OutputClass;
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
