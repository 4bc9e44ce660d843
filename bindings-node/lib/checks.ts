/** Checks of values that no document describes; errors name the option, the accepted values and the given one. */
import { InvalidInputError } from "./errors";
import { described } from "./options";

/** Looks at the value of an option of `what`. */
export type Check = (value: unknown, option: string, what: string) => void;

/** Checks by the names of options. */
export interface Checks {
    readonly [name: string]: Check;
}

/** Looks at each option that has a check; one that is null or undefined is not given. */
export function checkMembers(values: object, checks: Checks, what: string): void {
    for (const [name, value] of Object.entries(values)) {
        if (value !== undefined && value !== null && Object.hasOwn(checks, name)) {
            checks[name]?.(value, name, what);
        }
    }
}

/**
 * Takes what `accepts` does. The error contains a refused value of the type `shown`; of others, which may be secrets, it contains
 * the type.
 */
export function where(accepts: (value: unknown) => boolean, wanted: string, shown?: "number"): Check {
    return (value, option, what) => {
        if (!accepts(value)) {
            const given = typeof value === shown ? String(value) : described(value);
            throw new InvalidInputError(`${option} takes ${wanted}, not ${given}, in the options of ${what}`);
        }
    };
}

export const anything: Check = () => undefined;
export const flag = where((value) => typeof value === "boolean", "true or false");
export const seconds = where((value) => typeof value === "number" && value >= 0 && value <= 1e9, "a number of seconds from 0", "number");
export const text = where((value) => typeof value === "string", "a string");
