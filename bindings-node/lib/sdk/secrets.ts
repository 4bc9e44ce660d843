/**
 * Secrets of SDK programs, learned where a program makes them: the SDK sends them to the engine much later.
 *
 * `secret` is replaced, which learns a value at the call. A module of ECMAScript that imported the SDK before holds the
 * original, and a value may be there later than the call. Both make an output, whose value is learned as soon as it is there.
 */
import { currentRun, type Run } from "../run";
import { learnIn, learnSecret } from "../secrecy";
import type { Sdk } from "./find";

/** Runs that have made outputs whose values may be there and have not been looked at. */
const unsettled = new WeakSet<Run>();

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
        sdk.outputs.Output = new Proxy(Output, {
            construct(target, made: unknown[], newTarget) {
                const run = currentRun();
                if (run !== undefined) {
                    const [, value, , isSecret] = made;
                    unsettled.add(run);
                    Promise.resolve(isSecret)
                        .then(async (secret) => secret === true && learnIn(run, await value, true))
                        .catch(() => undefined);
                }
                return Reflect.construct(target, made, newTarget) as object;
            },
        });
    }
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
