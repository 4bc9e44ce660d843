/** The marks by which values and resources are known, regardless of the copy of this package that made one. */
import type { AnyResource } from "./resource";

/** The symbol of the property with a value class's number; shared by all copies of this package in a process. */
export const BRAND = Symbol.for("stackwright.value");
/** The number of `Secret`. */
export const SECRET_BRAND = 1;
/** The number of `OutputValue`. */
export const OUTPUT_BRAND = 6;

/** The symbol of the property that resources have. */
export const RESOURCE_BRAND = Symbol.for("stackwright.resource");

/** Returns whether a value is a resource. */
export function isResource(value: unknown): value is AnyResource {
    return typeof value === "object" && value !== null && RESOURCE_BRAND in value;
}

/** Returns the number of a value's class; `undefined` for plain values. */
export function brandOf(value: unknown): number | undefined {
    return typeof value === "object" && value !== null ? (value as { [BRAND]?: number })[BRAND] : undefined;
}
