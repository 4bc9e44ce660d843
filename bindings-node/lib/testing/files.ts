/** Files that options name. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import { InvalidInputError } from "../errors";
import { described } from "../options";

/** Refuses what is no path. */
export function requirePath(option: string, value: unknown): void {
    if (typeof value !== "string" || value === "") {
        throw new InvalidInputError(`${option} takes the path of a file, not ${value === "" ? "an empty string" : described(value)}`);
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

/** Writes the file that an option names, in a folder that is made where it is missing. */
export function writeText(option: string, file: string, text: string): void {
    try {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, text);
    } catch (error) {
        throw withCause(new InvalidInputError(`${option}: ${file} cannot be written: ${(error as Error).message}`), error);
    }
}

function withCause<E extends Error>(error: E, cause: unknown): E {
    Object.defineProperty(error, "cause", { value: cause, configurable: true, writable: true });
    return error;
}
