/** Options as callers write them: a name that does not exist is refused instead of ignored. */
import { fromText, InvalidInputError } from "./errors";
import { native } from "./native";
import { attempt } from "./thrown";

/** The only member of the stand-in for a value without a JSON form; it describes the value. */
export const STAND_IN = "\0";

/** The names of all members of a type, which the compiler keeps complete. */
export type Names<T> = { readonly [name in keyof Required<T>]: true };

/** Refuses options with a name that does not exist. `what` is their owner, and `part` the noun of one of them. */
export function refuseUnknown(
    what: string,
    options: unknown,
    known: { readonly [name: string]: unknown },
    part = "option",
): void {
    requireOptions(what, options, part);
    const unknown = Object.keys(options as object).find((name) => !Object.hasOwn(known, name));
    if (unknown !== undefined) {
        throw fromText(native.unknownName(part, unknown, what, Object.keys(known).sort()));
    }
}

/** Refuses options that are no object with named members: their content would be lost. */
export function requireOptions(what: string, options: unknown, part = "option"): void {
    if (typeof options !== "object" || options === null || Array.isArray(options) || isCollection(options)) {
        throw new InvalidInputError(`the ${part}s of ${what} are an object, not ${described(options)}`);
    }
}

/** Returns options without those that are null: as with `undefined`, they are not given. */
export function given<T extends object>(options: T): T {
    if (options === null || options === undefined) {
        return {} as T;
    }
    if (typeof options !== "object" || Array.isArray(options) || !Object.values(options).includes(null)) {
        return options;
    }
    return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null)) as T;
}

/** Refuses a value that is no function; `undefined` is accepted. */
export function requireFunction(option: string, value: unknown): void {
    if (value !== undefined && typeof value !== "function") {
        throw new InvalidInputError(`${option} is a function, not ${described(value)}`);
    }
}

/** Refuses a value that is no object with named members; `undefined` is accepted. */
export function requireObject(option: string, value: unknown): void {
    if (value !== undefined && (typeof value !== "object" || value === null || Array.isArray(value))) {
        throw new InvalidInputError(`${option} is an object, not ${described(value)}`);
    }
    if (isCollection(value)) {
        // Its content is not in its members.
        throw new InvalidInputError(`${option} is a plain object, not ${described(value)}`);
    }
}

/** Whether a value is a `Map` or a `Set`, whose content is not in its properties. */
export function isCollection(value: unknown): boolean {
    return value instanceof Map || value instanceof Set;
}

/** Refuses a value that lacks one of the methods; `undefined` is accepted. */
export function requireMethods(option: string, value: unknown, methods: readonly string[]): void {
    requireObject(option, value);
    const missing = methods.find((name) => typeof (value as { [name: string]: unknown })?.[name] !== "function");
    if (value !== undefined && missing !== undefined) {
        throw new InvalidInputError(`${option} has no method ${missing}()`);
    }
}

/** Describes a value by its type or its class, without its content. */
export function described(value: unknown): string {
    if (value === null) {
        return "null";
    }
    if (typeof value === "object") {
        // Each of these operations throws for a revoked proxy.
        return attempt(() => kindOf(value), "an object");
    }
    return value === undefined ? "undefined" : `a ${typeof value}`;
}

function kindOf(value: object): string {
    if (Array.isArray(value)) {
        return "a list";
    }
    if (isCollection(value)) {
        return value instanceof Map ? "a Map" : "a Set";
    }
    const name = isInstance(value) ? (value.constructor as { name?: unknown } | undefined)?.name : undefined;
    return typeof name === "string" && name !== "" ? `an object of the class ${name}` : "an object";
}

/** Returns whether an object belongs to a class. Plain objects do not, also those of other realms. */
export function isInstance(value: object): boolean {
    const prototype: unknown = Object.getPrototypeOf(value);
    return prototype !== null && Object.getPrototypeOf(prototype) !== null;
}
