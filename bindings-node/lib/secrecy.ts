/** Registers the secrets of a program's values where the program makes or passes them, before any later text is emitted. */
import { brandOf, OUTPUT_BRAND, SECRET_BRAND } from "./brands";
import { type Run, runOfCode } from "./run";

/** Values are not searched below this depth; what is nested deeper is refused when it is sent. */
const DEPTH_LIMIT = 200;

/** Redacts a secret value in later texts of the current run; outside of a run it has no effect. */
export function learnSecret(value: unknown): void {
    const run = runOfCode();
    if (run !== undefined) {
        learnIn(run, value, true);
    }
}

/** Registers the secrets in a value: all of it when `isSecret`, otherwise the values in secrets. */
export function learnIn(run: Run, value: unknown, isSecret = false): void {
    const texts: string[] = [];
    const scalars: string[] = [];
    try {
        search(value, isSecret, texts, scalars, 0);
    } catch {
        // What cannot be searched is refused when it is sent.
    }
    if (texts.length !== 0 || scalars.length !== 0) {
        run.bridge.native.learn(run.number, texts, scalars);
    }
}

function search(value: unknown, isSecret: boolean, texts: string[], scalars: string[], depth: number): void {
    if (typeof value === "string") {
        if (isSecret) {
            texts.push(value);
        }
    } else if (typeof value === "number" || typeof value === "boolean") {
        if (isSecret) {
            scalars.push(String(value));
        }
    } else if (typeof value === "object" && value !== null && depth <= DEPTH_LIMIT) {
        const brand = brandOf(value);
        if (brand === OUTPUT_BRAND) {
            const output = value as { value: unknown; secret: boolean };
            search(output.value, isSecret || output.secret, texts, scalars, depth + 1);
        } else if (brand === SECRET_BRAND) {
            search((value as { value: unknown }).value, true, texts, scalars, depth + 1);
        } else if (Array.isArray(value)) {
            for (const element of value) {
                search(element, isSecret, texts, scalars, depth + 1);
            }
        } else if (isPlainObject(value)) {
            for (const element of Object.values(value)) {
                search(element, isSecret, texts, scalars, depth + 1);
            }
        }
    }
}

function isPlainObject(value: object): boolean {
    const prototype: unknown = Object.getPrototypeOf(value);
    return prototype === Object.prototype || prototype === null;
}
