/** Files that options name. */
import { readFileSync } from "node:fs";

import { InvalidInputError } from "../errors";
import { described } from "../options";

/** Refuses what is no path. */
export function requirePath(option: string, value: unknown): void {
    if (typeof value !== "string") {
        throw new InvalidInputError(`${option} takes the path of a file, not ${described(value)}`);
    }
}

/** Returns the text of the file that an option names. */
export function readText(option: string, file: string): string {
    try {
        return readFileSync(file, "utf8");
    } catch (error) {
        throw withCause(new InvalidInputError(`${option}: ${file} cannot be read: ${(error as Error).message}`), error);
    }
}

/** Returns the document in the file that an option names. */
export function readJson(option: string, file: string): unknown {
    const text = readText(option, file);
    try {
        return JSON.parse(text);
    } catch (error) {
        throw withCause(new InvalidInputError(`${option}: ${file} is no JSON: ${(error as Error).message}`), error);
    }
}

function withCause<E extends Error>(error: E, cause: unknown): E {
    Object.defineProperty(error, "cause", { value: cause, configurable: true, writable: true });
    return error;
}
