/** Options as callers write them: a name that nobody knows is refused instead of ignored. */
import { InvalidInputError } from "./errors";
import { attempt } from "./thrown";

/** The names of all members of a type, which the compiler keeps complete. */
export type Names<T> = { readonly [name in keyof Required<T>]: true };

/**
 * Refuses options with a name that is not known. `what` says whose options they are, and `part` what one of them is
 * called.
 */
export function refuseUnknown(
    what: string,
    options: unknown,
    known: { readonly [name: string]: unknown },
    part = "option",
): void {
    requireOptions(what, options, part);
    const unknown = Object.keys(options as object).find((name) => !Object.hasOwn(known, name));
    if (unknown !== undefined) {
        const names = Object.keys(known).sort();
        const near = nearest(unknown, names);
        const hint = near === undefined ? "" : `; did you mean "${near}"?`;
        throw new InvalidInputError(`unknown ${part} "${unknown}" of ${what}${hint}; there are: ${names.join(", ")}`);
    }
}

/** Refuses options that are no object by names: their members would be lost. */
export function requireOptions(what: string, options: unknown, part = "option"): void {
    if (typeof options !== "object" || options === null || Array.isArray(options) || isCollection(options)) {
        throw new InvalidInputError(`the ${part}s of ${what} are an object, not ${described(options)}`);
    }
}

/** Returns options without those that are null: as with `undefined`, they are not given. */
export function given<T extends object>(options: T): T {
    if (options === null) {
        return {} as T;
    }
    if (typeof options !== "object" || Array.isArray(options) || !Object.values(options).includes(null)) {
        return options;
    }
    return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null)) as T;
}

/** Refuses what is no function where an option takes one, before anything starts; `undefined` says nothing. */
export function requireFunction(option: string, value: unknown): void {
    if (value !== undefined && typeof value !== "function") {
        throw new InvalidInputError(`${option} is a function, not ${described(value)}`);
    }
}

/** Refuses what is no object by names where an option takes one; `undefined` says nothing. */
export function requireObject(option: string, value: unknown): void {
    if (value !== undefined && (typeof value !== "object" || value === null || Array.isArray(value))) {
        throw new InvalidInputError(`${option} is an object, not ${described(value)}`);
    }
    if (isCollection(value)) {
        // What it holds is no member of it.
        throw new InvalidInputError(`${option} is a plain object, not ${described(value)}`);
    }
}

/** Tells whether a value is a `Map` or a `Set`, whose content is not in its properties. */
export function isCollection(value: unknown): boolean {
    return value instanceof Map || value instanceof Set;
}

/** Refuses what lacks one of the methods that the engine will call; `undefined` says nothing. */
export function requireMethods(option: string, value: unknown, methods: readonly string[]): void {
    requireObject(option, value);
    const missing = methods.find((name) => typeof (value as { [name: string]: unknown })?.[name] !== "function");
    if (value !== undefined && missing !== undefined) {
        throw new InvalidInputError(`${option} has no method ${missing}()`);
    }
}

/** Returns the name that a misspelt one is most likely meant to be, if one is near. */
function nearest(misspelt: string, names: readonly string[]): string | undefined {
    const [best] = names
        .map((name) => ({ name, distance: distance(misspelt.toLowerCase(), name.toLowerCase()) }))
        .filter(({ name, distance }) => distance * 3 <= Math.max(name.length, misspelt.length))
        .sort((one, other) => one.distance - other.distance);
    return best?.name;
}

/** Counts how many characters have to be added, removed or changed to make one text of another. */
function distance(from: string, to: string): number {
    let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
    for (let row = 1; row <= from.length; row++) {
        const current = [row];
        for (let column = 1; column <= to.length; column++) {
            const changed = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
            current.push(Math.min(changed, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
        }
        previous = current;
    }
    return previous[to.length] ?? 0;
}

/** Says what a value is, without saying what is in it. */
export function described(value: unknown): string {
    if (value === null) {
        return "null";
    }
    if (typeof value === "object") {
        // A revoked proxy refuses each of these questions.
        return attempt(() => kindOf(value), "an object");
    }
    return value === undefined ? "undefined" : `a ${typeof value}`;
}

function kindOf(value: object): string {
    if (Array.isArray(value)) {
        return "a list";
    }
    return value instanceof Map ? "a Map" : value instanceof Set ? "a Set" : "an object";
}
