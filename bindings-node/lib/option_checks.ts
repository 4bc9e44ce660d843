/** Checks of resources and their options, at the call of the program; errors name the resource. */
import type { RESOURCE_OPTIONS } from "./documents";
import { guarded, InvalidInputError } from "./errors";
import { native } from "./native";
import { described, isCollection, isInstance, requireOptions, STAND_IN } from "./options";
import { Output } from "./output";
import { Resource } from "./resource";
import { isWellFormed } from "./thrown";

/** Options by their names, each with the kind of which every value is valid. */
type Known = { readonly [name: string]: (typeof RESOURCE_OPTIONS)[keyof typeof RESOURCE_OPTIONS] };

/** How deep options may nest; deeper values are invalid, or contain themselves. */
const DEEPEST = 8;
/** The option that is a property value. */
const TRIGGER = "replacementTrigger";

/** Refuses options with unknown names or invalid values. `what` is their owner. */
export function checkOptions(of: "resource" | "read" | "invoke" | "exists" | "call", what: string, options: object, known: Known): void {
    requireOptions(what, options);
    // The engine need not check options with known names and values of their always valid kind.
    if (!Object.entries(options).every(([name, value]) => isEvident(Object.hasOwn(known, name) ? known[name] : undefined, value))) {
        const document = Object.entries(options).map(([name, value]) => [name, name === TRIGGER ? null : standIn(value, 0)]);
        guarded(() => native.checkOptions(of, JSON.stringify(Object.fromEntries(document)), what));
    }
}

function isEvident(kind: Known[string] | undefined, value: unknown): boolean {
    return kind === "resource" ? value instanceof Resource : kind !== undefined && typeof value === kind;
}

/** Returns a value as JSON, with stand-ins for values without a JSON form. */
function standIn(value: unknown, depth: number): unknown {
    if (value === null || value === undefined || typeof value === "boolean") {
        return value ?? null;
    }
    if (typeof value === "string") {
        return isWellFormed(value) ? value : { [STAND_IN]: "a string with a lone surrogate" };
    }
    if (typeof value === "number") {
        return Number.isFinite(value) ? value : { [STAND_IN]: String(value) };
    }
    if (value instanceof Resource || value instanceof Output) {
        return { [STAND_IN]: value instanceof Resource ? "a resource" : "an output" };
    }
    if (typeof value !== "object" || isCollection(value) || depth === DEEPEST) {
        return { [STAND_IN]: described(value) };
    }
    if (Array.isArray(value)) {
        return value.map((element) => standIn(element, depth + 1));
    }
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, standIn(member, depth + 1)]));
}

/** The name of the inputs of a resource in errors. */
export function inputsOf(name: string): string {
    return `the inputs of the resource "${name}"`;
}

/** Refuses an invalid type, name or inputs of a resource. */
export function requireNamed(type: unknown, name: unknown, inputs: unknown): void {
    if (typeof name !== "string") {
        throw new InvalidInputError(`the name of a resource is a string, not ${described(name)}`);
    }
    requireWellFormed(name, "the name of a resource");
    if (typeof type !== "string") {
        throw new InvalidInputError(`the type of the resource "${name}" is a string, not ${described(type)}`);
    }
    requireWellFormed(type, `the type of the resource "${name}"`);
    requireInputs(inputs, inputsOf(name));
}

/** Refuses a value that is no object with named values, or has them elsewhere than in its members: a resource, an output, a promise. */
export function requireInputs(inputs: unknown, what: string): void {
    requireValues(inputs, what);
    if (inputs instanceof Resource || typeof (inputs as { then?: unknown }).then === "function") {
        throw new InvalidInputError(`${what} are an object of values by name, not ${described(inputs)}`);
    }
}

/** Refuses a text with a lone surrogate, which the engine could only record as another text. */
export function requireWellFormed(text: string, what: string): void {
    if (!isWellFormed(text)) {
        throw new InvalidInputError(`${what} has a lone surrogate, which UTF-8 cannot represent: ${JSON.stringify(text)}`);
    }
}

/**
 * Refuses what is no plain object with named values: the content of an object of a class can be elsewhere than in its properties.
 * `whence` follows what was given.
 */
export function requirePlainValues(values: unknown, what: string, whence = ""): void {
    if (typeof values !== "object" || values === null || Array.isArray(values) || isInstance(values)) {
        throw new InvalidInputError(`${what} are an object of values by name, not ${described(values)}${whence}`);
    }
}

/** Refuses a value that is no object with named values. */
export function requireValues(values: unknown, what: string): void {
    if (typeof values !== "object" || values === null || Array.isArray(values) || isCollection(values)) {
        throw new InvalidInputError(`${what} are an object of values by name, not ${described(values)}`);
    }
}
