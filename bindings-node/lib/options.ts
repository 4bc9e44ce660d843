/** Options as callers write them: a name that nobody knows is refused instead of ignored. */
import { InvalidInputError } from "./errors";

/** The names of all members of a type, which the compiler keeps complete. */
export type Names<T> = { readonly [name in keyof Required<T>]: true };

/** Refuses options with a name that is not known. `what` says whose options they are. */
export function refuseUnknown(what: string, options: unknown, known: { readonly [name: string]: true }): void {
    if (typeof options !== "object" || options === null) {
        throw new InvalidInputError(`the options of ${what} are an object, not ${described(options)}`);
    }
    const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
    if (unknown !== undefined) {
        const names = Object.keys(known).sort().join(", ");
        throw new InvalidInputError(`unknown option "${unknown}" of ${what}; there are: ${names}`);
    }
}

/** Says what a value is, without saying what is in it. */
export function described(value: unknown): string {
    return value === null ? "null" : `a ${typeof value}`;
}
