/** Refactorings: programs that are to change nothing. */
import assert from "node:assert";

import { native } from "../native";
import { type Deployment, Result } from "../operation";
import type { AnyProgram } from "../program";
import type { SimulatedResult } from "./result";
import { simulate, type SimulationOptions } from "./stack";

/**
 * Asserts that a program changes nothing in the state of another one, or in an exported one, and returns the result of the preview.
 * Otherwise, the text of the error has the aliases that are missing, as source code, and the changes that no alias explains.
 */
export async function refactoring(
    before: AnyProgram | { state: Deployment | string },
    after: AnyProgram,
    options: Omit<SimulationOptions, "state" | "run"> = {},
): Promise<SimulatedResult> {
    const isState = typeof before === "object" && "state" in before;
    const stack = isState
        ? await simulate(undefined, { ...options, state: before.state, run: false })
        : await simulate(before as AnyProgram, options);
    try {
        const preview = await stack.preview(after, { ignoreProtect: true });
        const text = native.missingAliases(Result.native(preview.result));
        if (typeof text === "string") {
            throw new assert.AssertionError({ message: text, operator: "refactoring", stackStartFn: refactoring });
        }
        return preview;
    } finally {
        await stack.close();
    }
}
