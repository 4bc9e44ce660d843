/** Records what a function of `apply()` awaits: its result depends on that. */
import { AsyncLocalStorage } from "node:async_hooks";

import type { Origin, Traced } from "./output";
import { isSecret, isUnknown, type PropertyValue, Secret, Unknown } from "./values";

const current = new AsyncLocalStorage<Trace | undefined>();

/** All that one call of a function has awaited so far. */
export class Trace {
    readonly #sources = new Set<Origin>();
    #secret = false;
    #unknown = false;

    /** Runs a function whose awaits are recorded here, those of inner functions of `apply()` excepted. */
    run<T>(body: () => T): T {
        return current.run(this, body);
    }

    /** Records a value and what it came from. */
    add(value: unknown, sources: Iterable<Origin>): void {
        this.#secret ||= isSecret(value);
        this.#unknown ||= isUnknown(value) || (isSecret(value) && isUnknown(value.value));
        for (const source of sources) {
            this.#sources.add(source);
        }
    }

    /** Returns the result with all recorded sources: secret if one value was secret, and unknown if one was unknown. */
    close(made: Traced): Traced {
        this.add(undefined, made.sources);
        const value: PropertyValue = this.#unknown && !isUnknown(made.value) ? new Unknown() : made.value;
        return {
            value: this.#secret && !isSecret(value) ? new Secret(value) : value,
            sources: this.#sources,
        };
    }
}

/** Returns the record of the function that is running, if one of `apply()` is. */
export function currentTrace(): Trace | undefined {
    return current.getStore();
}

/** Runs code of this package whose awaits are not recorded for the running function. */
export function untraced<T>(body: () => T): T {
    return current.getStore() === undefined ? body() : current.run(undefined, body);
}
