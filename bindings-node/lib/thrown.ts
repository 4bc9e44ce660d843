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

/** Tells whether a value is an instance of a class. A proxy can refuse to answer; it is not an instance then. */
export function isA<T>(value: unknown, type: abstract new (...parameters: never[]) => T): value is T {
    return attempt(() => value instanceof type, false);
}

/** Returns the text of what was thrown: the message of an error, otherwise the value's own text. Never throws. */
export function textOf(error: unknown): string {
    return attempt(() => {
        const text = error instanceof Error ? error.message : error;
        return wellFormed(typeof text === "string" ? text : String(text));
    }, UNREADABLE);
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

/** Tells whether a text has no lone surrogate. */
export function isWellFormed(text: string): boolean {
    return (text as unknown as { isWellFormed(): boolean }).isWellFormed();
}

const LONE_SURROGATES = /\p{Surrogate}/gu;
