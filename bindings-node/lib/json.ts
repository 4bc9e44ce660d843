/** Values as the engine writes them in JSON: special values are objects with a signature, unknowns a fixed text. */
import { Bridge } from "./bridge";
import { guarded, InvalidInputError } from "./errors";
import { native } from "./native";
import { described } from "./options";
import type { PropertyValue } from "./values";

/** Makes the instances of values that are read. */
let reader: Bridge | undefined;

/** Makes plain JSON of a value. Its secrets are readable. */
export function toPlainJson(value: PropertyValue): unknown {
    return JSON.parse(guarded(() => native.valueToJson(value)));
}

/** Makes a value of plain JSON. */
export function fromPlainJson(json: unknown): PropertyValue {
    const bridge = (reader ??= new Bridge());
    return guarded(() => native.valueFromJson(bridge.native, JSON.stringify(json))) as PropertyValue;
}

/** How deep the values of runtime options may nest. */
const MAX_DEPTH = 100;

/**
 * Returns the options of a project's runtime as JSON. Those that are undefined are left out.
 * @throws {InvalidInputError} A value is no JSON; the message names the option and the place in its value.
 */
export function jsonOfOptions(options: object): string {
    const values: { [name: string]: unknown } = {};
    for (const [name, value] of Object.entries(options)) {
        try {
            requireJson(value, name, 0);
            values[name] = value;
        } catch (error) {
            const reason = error instanceof InvalidInputError ? error.message : `reading it failed: ${String(error)}`;
            throw new InvalidInputError(`the runtime option "${name}" is not a JSON value: ${reason}`);
        }
    }
    return JSON.stringify(values);
}

function requireJson(value: unknown, path: string, depth: number): void {
    if (depth > MAX_DEPTH) {
        throw new InvalidInputError("it nests too deeply, or contains itself");
    }
    if (typeof value === "object" && value !== null) {
        for (const [key, element] of Object.entries(value)) {
            requireJson(element, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`, depth + 1);
        }
    } else if (typeof value === "number" && !Number.isFinite(value)) {
        throw new InvalidInputError(`${path} is ${value}`);
    } else if (value !== undefined && !["boolean", "number", "string"].includes(typeof value) && value !== null) {
        throw new InvalidInputError(`${path} is ${described(value)}`);
    }
}
