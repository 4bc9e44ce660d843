/** Checks of options: each takes a value; its error names the option, the accepted values and the given one. */
import { InvalidInputError } from "./errors";
import { described, isCollection, refuseUnknown } from "./options";

/** Looks at the value of an option of `what`. */
export type Check = (value: unknown, option: string, what: string) => void;

/** Checks by the names of options. */
export interface Checks {
    readonly [name: string]: Check;
}

/** Looks at each option that has a check; one that is null or undefined is not given. */
export function checkMembers(values: object, checks: Checks, what: string, named = (name: string) => name): void {
    for (const [name, value] of Object.entries(values)) {
        if (value !== undefined && value !== null && Object.hasOwn(checks, name)) {
            checks[name]?.(value, named(name), what);
        }
    }
}

/** Throws what is wrong with the value of an option. */
export function refuse(option: string, wanted: string, value: unknown, what: string, given = described(value)): never {
    throw new InvalidInputError(`${option} takes ${wanted}, not ${given}, in the options of ${what}`);
}

/**
 * Takes what `accepts` does. The error contains a refused value of the type `shown`; of others, which may be secrets, it contains
 * the type.
 */
export function where(accepts: (value: unknown) => boolean, wanted: string, shown?: "string" | "number"): Check {
    return (value, option, what) => {
        if (!accepts(value)) {
            const isShown = shown !== undefined && typeof value === shown;
            refuse(option, wanted, value, what, isShown ? (shown === "string" ? JSON.stringify(value) : String(value)) : undefined);
        }
    };
}

/** Takes an array whose elements pass a check. */
export function each(wanted: string, check: Check): Check {
    return (value, option, what) => {
        if (!Array.isArray(value)) {
            refuse(option, wanted, value, what);
        }
        value.forEach((element, index) => check(element, `${option}[${index}]`, what));
    };
}

/** Takes an object with these members and no others. */
export function members(wanted: string, checks: Checks): Check {
    return (value, option, what) => {
        requireMembers(value, option, wanted, what);
        refuseUnknown(`${option} in the options of ${what}`, value, checks, "member");
        checkMembers(value, checks, what, (name) => `${option}.${name}`);
    };
}

function requireMembers(value: unknown, option: string, wanted: string, what: string): asserts value is object {
    if (typeof value !== "object" || value === null || Array.isArray(value) || isCollection(value)) {
        refuse(option, wanted, value, what);
    }
}

export const anything: Check = () => undefined;
export const flag = where((value) => typeof value === "boolean", "true or false");
export const text = where((value) => typeof value === "string", "a string");
export const texts = each("an array of strings", text);
