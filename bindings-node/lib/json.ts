/** Values as the engine writes them in JSON: special values are objects with a signature, unknowns a fixed text. */
import { guarded, InvalidInputError } from "./errors";
import { native, type Native } from "./native";
import { described, isCollection, STAND_IN } from "./options";
import { attempt, isWellFormed, textOf } from "./thrown";
import { type PropertyValue, revive } from "./values";

/** Makes the instances of values that are read. */
let reader: Native.Bridge | undefined;

/** Makes plain JSON of a value. Its secrets are readable. */
export function toPlainJson(value: PropertyValue): unknown {
    return JSON.parse(guarded(() => native.valueToJson(value)));
}

/** Makes a value of plain JSON. */
export function fromPlainJson(json: unknown): PropertyValue {
    const bridge = (reader ??= new native.Bridge(() => undefined, revive as never));
    return guarded(() => native.valueFromJson(bridge, jsonOf(json, "the value"))) as PropertyValue;
}

/** How deep values may nest. */
const MAX_DEPTH = 1000;
/** How much of a path is shown; that of a value which contains itself has no end. */
const MAX_PATH_LENGTH = 200;
/**
 * Returns options as JSON. Members that are undefined are left out; one that is a function, or another value without JSON, has a
 * stand-in, so that the engine names the option: it can be misspelt. `place` begins the place of a value in errors.
 * @throws {InvalidInputError} A value in a member cannot be written as JSON; the message names the member and the place.
 */
export function jsonOfMembers(members: object, place = ""): string {
    const given = Object.entries(members).filter(([, value]) => value !== undefined);
    const written = given.map(([name, value]) => {
        const member = hasJson(value) ? value : { [STAND_IN]: described(value) };
        return `${JSON.stringify(name)}:${jsonOf(member, place + name)}`;
    });
    return `{${written.join(",")}}`;
}

/** Whether a value is of a kind that JSON has, apart from what is in it. */
function hasJson(value: unknown): boolean {
    return typeof value === "object" ? !isCollection(value) : !["function", "symbol", "bigint"].includes(typeof value);
}

/**
 * Returns a value as JSON. Members that are undefined are left out.
 * @throws {InvalidInputError} The value, or one in it, cannot be written as JSON: it is neither null nor a boolean, a finite
 * number, a string, an array nor a plain object. The message names `what` and the path, and holds no value.
 */
export function jsonOf(value: unknown, what: string): string {
    let misfit: Misfit | undefined;
    try {
        misfit = findMisfit(value, MAX_DEPTH);
    } catch (error) {
        misfit = unreadable(error);
    }
    if (misfit !== undefined) {
        const path = misfit.path.length > MAX_PATH_LENGTH ? `${misfit.path.slice(0, MAX_PATH_LENGTH)}…` : misfit.path;
        throw new InvalidInputError(`${what}${path}: ${misfit.reason}`);
    }
    try {
        // Nothing at all is no JSON either.
        return JSON.stringify(value ?? null);
    } catch {
        // The error may show what is in the value.
        throw new InvalidInputError(`${what}: the value cannot be written as JSON`);
    }
}

/** What cannot be written, and where: as `.member` and `[index]`. */
interface Misfit {
    path: string;
    reason: string;
}

function findMisfit(value: unknown, depth: number): Misfit | undefined {
    if (value === null || typeof value === "boolean" || value === undefined) {
        return undefined;
    }
    if (typeof value === "string") {
        return isWellFormed(value) ? undefined : unwritable("a string with a lone surrogate");
    }
    if (typeof value === "number") {
        return Number.isFinite(value) ? undefined : unwritable(String(value));
    }
    if (typeof value !== "object") {
        return unwritable(`a ${typeof value}`);
    }
    if (depth < 0) {
        return { path: "", reason: "the value is nested too deep, or contains itself" };
    }
    return Array.isArray(value) ? findInArray(value, depth) : findInObject(value, depth);
}

function findInArray(array: readonly unknown[], depth: number): Misfit | undefined {
    for (const [index, element] of array.entries()) {
        const misfit = findMisfit(element, depth - 1);
        if (misfit !== undefined) {
            return { path: `[${index}]${misfit.path}`, reason: misfit.reason };
        }
    }
    return undefined;
}

function findInObject(object: object, depth: number): Misfit | undefined {
    if (!isPlain(object)) {
        return unwritable(className(object));
    }
    for (const name of Object.keys(object)) {
        let misfit: Misfit | undefined;
        try {
            misfit = isWellFormed(name)
                ? findMisfit((object as { [name: string]: unknown })[name], depth - 1)
                : unwritable("a name with a lone surrogate");
        } catch (error) {
            misfit = unreadable(error);
        }
        if (misfit !== undefined) {
            const step = /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
            return { path: step + misfit.path, reason: misfit.reason };
        }
    }
    return undefined;
}

/** Returns whether an object is an instance of no class. The realm in which it was made does not count. */
function isPlain(object: object): boolean {
    const prototype: unknown = Object.getPrototypeOf(object);
    return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

function className(object: object): string {
    const name: unknown = attempt(() => (object.constructor as { name?: unknown } | undefined)?.name, undefined);
    return typeof name === "string" && name !== "" ? `${/^[AEIOU]/i.test(name) ? "an" : "a"} ${name}` : "an object of a class";
}

function unreadable(error: unknown): Misfit {
    return { path: "", reason: `the value cannot be read: ${textOf(error)}` };
}

function unwritable(what: string): Misfit {
    return { path: "", reason: `${what} cannot be written as JSON` };
}
