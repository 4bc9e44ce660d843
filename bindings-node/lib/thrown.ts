/** Reads what code of the host threw: any value, also one whose properties throw when they are read. */

/** The text of a value that has none, or whose text cannot be read. */
const UNREADABLE = "a value without a readable text was thrown";

/** Runs `read`; returns `fallback` when it throws. */
export function attempt<T>(read: () => T, fallback: T): T {
    try {
        return read();
    } catch {
        return fallback;
    }
}

/** Returns whether a value is an instance of a class. A proxy can refuse to answer; it is not an instance then. */
export function isA<T>(value: unknown, type: abstract new (...parameters: never[]) => T): value is T {
    return attempt(() => value instanceof type, false);
}

/** Returns the text of what was thrown: the message of an error, otherwise the value's own text. Never throws. */
export function textOf(error: unknown): string {
    return wellFormed(attempt(() => (mayHold(error) ? textOfObject(error) : String(error)), undefined) ?? UNREADABLE);
}

/**
 * Returns the text of what was thrown, and in a line each what caused it and the errors that it aggregates. What a text contains
 * already is not repeated. Never throws.
 */
export function fullTextOf(error: unknown): string {
    return [textOf(error), ...causesOf(error)].join("\n");
}

/** Returns the lines that `fullTextOf` adds to an error's own text. */
export function causesOf(error: unknown): string[] {
    const lines: string[] = [];
    addCauses(error, "", new Set(), lines);
    return lines;
}

/** How many causes and aggregated errors are shown. */
const MAX_CAUSES = 20;
/** How many errors are looked at for their causes. */
const MAX_VISITED = 100;
/** How many characters of a cause or an object are shown. */
const MAX_TEXT_LENGTH = 1000;
/** How many members of an object are shown, and of how many levels. */
const MAX_MEMBERS = 10;
const MAX_LEVELS = 3;

function addCauses(error: unknown, indent: string, seen: Set<unknown>, lines: string[]): void {
    // A getter may make a new cause each time.
    if (!mayHold(error) || seen.has(error) || seen.size === MAX_VISITED) {
        return;
    }
    seen.add(error);
    const add = (introduction: string, cause: unknown, below: string) => {
        if (lines.length === MAX_CAUSES) {
            lines.push("…");
        }
        if (lines.length < MAX_CAUSES) {
            if (!repeats(error, cause)) {
                lines.push(`${indent}${introduction}${clipped(namedTextOf(cause))}`);
            }
            addCauses(cause, below, seen, lines);
        }
    };
    const aggregated = attempt(() => (error as { errors?: unknown }).errors, undefined);
    if (isA(error, Error) && attempt(() => Array.isArray(aggregated), false)) {
        const length = attempt(() => Math.min((aggregated as unknown[]).length, MAX_CAUSES + 1), 0);
        for (let index = 0; index < length; index++) {
            add("- ", attempt(() => (aggregated as unknown[])[index], undefined), `${indent}  `);
        }
    }
    const cause = attempt(() => (error as { cause?: unknown }).cause, undefined);
    if (cause !== undefined && cause !== null && !seen.has(cause)) {
        add("caused by: ", cause, indent);
    }
}

/** Returns whether the text of an error ends with that of its cause, as it does where a program puts both together. */
function repeats(error: unknown, cause: unknown): boolean {
    const text = textOf(cause);
    return text !== "" && textOf(error).endsWith(text);
}

/** Returns the text of what was thrown, after the name of its class where it is an error. */
function namedTextOf(error: unknown): string {
    const name = isA(error, Error) ? nameOf(error) : undefined;
    const text = textOf(error);
    return name === undefined || name === text ? text : `${name}: ${text}`;
}

function nameOf(error: object): string | undefined {
    const name = attempt(() => (error as { name?: unknown }).name, undefined);
    return typeof name === "string" && name !== "" ? wellFormed(name) : undefined;
}

/** Returns the text of an object; `undefined` when it has none. May throw what the object does. */
function textOfObject(value: object): string | undefined {
    const message = attempt(() => (value as { message?: unknown }).message, undefined);
    if (typeof message === "string" && message !== "") {
        // An error of another realm, or an object with the members of one, is no instance of `Error`.
        const name = isA(value, Error) ? undefined : nameOf(value);
        return name === undefined ? message : `${name}: ${message}`;
    }
    if (isA(value, Error)) {
        return typeof message === "string" ? nameOf(value) : undefined;
    }
    const own = attempt(() => (typeof value === "function" || Array.isArray(value) ? "" : String(value)), "");
    if (own !== "" && !/^\[object .*\]$/s.test(own)) {
        return own;
    }
    const members = clipped(shown(value, MAX_LEVELS));
    const of = attempt(() => (value.constructor as { name?: unknown } | undefined)?.name, undefined);
    const isNamed = typeof of === "string" && of !== "" && !["Object", "Array", "Function"].includes(of);
    return isNamed ? `${of} ${members}` : members === "{}" ? undefined : members;
}

/** Returns a value's text in the manner of JSON. Getters are not called, and what throws is left out. */
function shown(value: unknown, levels: number): string {
    if (typeof value === "string") {
        return JSON.stringify(clipped(value));
    }
    if (typeof value === "function") {
        return "[function]";
    }
    if (typeof value !== "object" || value === null) {
        return String(value);
    }
    if (isA(value, Error)) {
        return JSON.stringify(clipped(namedTextOf(value)));
    }
    const isArray = Array.isArray(value);
    if (levels === 0) {
        return isArray ? "[…]" : "{…}";
    }
    const names = Object.keys(value);
    const members = names.slice(0, MAX_MEMBERS).map((name) => {
        const member = attempt(() => shownMember(value, name, levels - 1), "[unreadable]");
        return isArray ? member : `${JSON.stringify(name)}:${member}`;
    });
    if (names.length > MAX_MEMBERS) {
        members.push("…");
    }
    return isArray ? `[${members.join(",")}]` : `{${members.join(",")}}`;
}

function shownMember(value: object, name: string, levels: number): string {
    const member = Object.getOwnPropertyDescriptor(value, name);
    return member !== undefined && "value" in member ? shown(member.value, levels) : "[getter]";
}

function clipped(text: string): string {
    return text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
}

function mayHold(value: unknown): value is object {
    return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Returns the stack of an error; `undefined` when there is none that can be read. */
export function stackTextOf(error: unknown): string | undefined {
    return attempt(() => {
        const stack = error instanceof Error ? error.stack : undefined;
        return typeof stack === "string" ? wellFormed(stack) : undefined;
    }, undefined);
}

/** Replaces lone surrogates, which no other encoding of a text can hold. For messages only: values are refused. */
export function wellFormed(text: string): string {
    return isWellFormed(text) ? text : text.replace(LONE_SURROGATES, "\uFFFD");
}

/** Returns whether a text has no lone surrogate. */
export function isWellFormed(text: string): boolean {
    return (text as unknown as { isWellFormed(): boolean }).isWellFormed();
}

const LONE_SURROGATES = /\p{Surrogate}/gu;
