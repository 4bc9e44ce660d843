/** Values that contain themselves or are nested too deep: refused before they are sent, by an error with the path. */
import { InvalidInputError } from "./errors";
import { brandOf } from "./brands";

/** How deep values may be nested; the native module refuses what is nested deeper. */
export const DEPTH_LIMIT = 200;

/** Thrown where a value is nested too deep; `explained` makes its error. */
export const TOO_DEEP: unique symbol = Symbol("nested too deep");

/** Calls `work`, which traverses `value`, and throws the error of `explained` when that is nested too deep. */
export function following<T>(value: unknown, what: string, work: () => T): T {
    try {
        return work();
    } catch (error) {
        throw error === TOO_DEEP ? explained(value, what) : error;
    }
}

/** Returns the error of a value that contains itself, with the path, or is nested too deep. */
export function explained(value: unknown, what: string): InvalidInputError {
    const cycle = findCycle(value);
    return new InvalidInputError(
        cycle === undefined
            ? `${what} are nested more than ${DEPTH_LIMIT} levels deep`
            : `${what} contain themselves: ${cycle.path} is the same object as ${cycle.target || "all of them"}`,
    );
}

/** A value that is being traversed. */
interface Visit {
    readonly object: object;
    readonly path: string;
    readonly members: Iterator<readonly [string, unknown]>;
}

/** Finds a place where a value contains one that contains it. Each object is traversed once, without recursion. */
function findCycle(value: unknown): { path: string; target: string } | undefined {
    const way: Visit[] = [];
    /** The path of each object on `way`; `undefined` for those that have been traversed. */
    const places = new Map<object, string | undefined>();
    const enter = (object: object, path: string) => {
        places.set(object, path);
        way.push({ object, path, members: members(object, path) });
    };
    if (typeof value === "object" && value !== null) {
        enter(value, "");
    }
    for (let top = way.at(-1); top !== undefined; top = way.at(-1)) {
        const next = top.members.next();
        if (next.done === true) {
            places.set(top.object, undefined);
            way.pop();
            continue;
        }
        const [path, member] = next.value;
        if (typeof member !== "object" || member === null) {
            continue;
        }
        const target = places.get(member);
        if (target !== undefined) {
            return { path, target };
        }
        if (!places.has(member)) {
            enter(member, path);
        }
    }
    return undefined;
}

function* members(object: object, path: string): Generator<readonly [string, unknown]> {
    const brand = brandOf(object);
    if (Array.isArray(object)) {
        for (const [index, element] of object.entries()) {
            yield [`${path}[${index}]`, element];
        }
    } else if (brand === 1 || brand === 6) {
        // The value in a secret or an output has the place of the wrapper.
        yield [path, (object as { value: unknown }).value];
    } else if (brand === undefined && !ArrayBuffer.isView(object)) {
        for (const [name, member] of Object.entries(object)) {
            yield [path === "" ? name : `${path}.${name}`, member];
        }
    }
}
