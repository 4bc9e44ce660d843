/** The text of patterns that match nothing. */
import type { SimulatedCall } from "./stack";

/** A pattern of the settings that matches no call. */
export interface UnmatchedPattern {
    setting: string;
    pattern: string;
    /** What it may be a misspelling of. */
    nearest: string[];
}

const camelCase = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

export function unmatchedText(unmatched: readonly UnmatchedPattern[], calls: readonly SimulatedCall[]): string {
    const lines = unmatched.map(({ setting, pattern, nearest }) => {
        const hint = nearest.length === 0 ? "" : `; did you mean ${nearest.map((name) => `"${name}"`).join(" or ")}?`;
        return `  ${camelCase(setting)}: "${pattern}"${hint}`;
    });
    const tokens = [...new Set(calls.map(({ type }) => type))].sort();
    return [
        "patterns match nothing that the program uses (allowUnmatched: true accepts them):",
        ...lines,
        "the types and functions of its calls were:",
        ...(tokens.length === 0 ? ["none"] : tokens).map((token) => `  ${token}`),
    ].join("\n");
}
