/** Values as the engine writes them in JSON: special values are objects with a signature, unknowns a fixed text. */
import { Bridge } from "./bridge";
import { guarded } from "./errors";
import { native } from "./native";
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
