/** Refactorings: programs that are to change nothing. */
import assert from "node:assert";

import { native } from "../native";
import { given } from "../options";
import type { SuggestedMove } from "../documents";
import { type Deployment, Result } from "../operation";
import type { AnyProgram } from "../program";
import type { SimulatedResult } from "./result";
import { operationOptionsOf, refuseUnknownSettings, refuseUnrepeatable, requireProgram } from "./settings";
import { simulate, SimulatedStack, type SimulationOptions } from "./stack";

/** The options of `refactoring()`, for both programs. */
export interface RefactoringOptions extends Omit<SimulationOptions, "state" | "run" | "faults" | "check"> {
    /**
     * Whether components may be created and deleted, for programs that put resources into a new component. These resources still need their
     * aliases.
     */
    allowComponents?: boolean;
}

const NOT_OWN = ["state", "run", "faults", "check"];

/** How many previews look for missing aliases at most. */
const MAX_PREVIEWS = 8;

/**
 * Asserts that a program changes nothing in the state of another one, or in an exported one, neither resources nor options of their records
 * (`protect` for instance) nor outputs of the stack, and returns the result of the preview. Otherwise, the text of the error has the aliases
 * that are missing, as source code, the changes that follow from these, those that no alias explains, and the options and outputs that change.
 * @throws {InvalidInputError} For what is neither a program nor, as `before`, `{ state }`; nothing has run then.
 */
export async function refactoring(
    before: AnyProgram | { state: Deployment | string },
    after: AnyProgram,
    { allowComponents = false, ...options }: RefactoringOptions = {},
): Promise<SimulatedResult> {
    options = given(options);
    refuseUnknownSettings("refactoring()", options, ["allowComponents"], NOT_OWN);
    refuseUnrepeatable("refactoring()", options);
    const isState = typeof before === "object" && before !== null && "state" in before;
    if (!isState) {
        requireProgram("before", before, ", or an exported state as { state }");
    }
    requireProgram("after", after);
    // Either program may be the one that reaches what a pattern names.
    const settings = { ...options, allowUnmatched: true };
    const stack = isState
        ? await simulate(undefined, { ...settings, state: before.state, run: false })
        : await simulate(before as AnyProgram, settings);
    const previewed = (acceptMoves: SuggestedMove[]): Promise<SimulatedResult> =>
        stack.preview(after, { ...operationOptionsOf(options), ignoreProtect: true, acceptMoves });
    try {
        // Where a resource is known to have moved, others are recognised: below it, and by inputs that come from it.
        const moves: SuggestedMove[] = [];
        let preview = await previewed(moves);
        for (let count = 1; count < MAX_PREVIEWS && preview.result.suggestedMoves.some((move) => !move.accepted); count++) {
            moves.push(...preview.result.suggestedMoves.filter((move) => !move.accepted));
            preview = await previewed(moves);
        }
        const text = native.missingAliases(Result.native(preview.result), allowComponents);
        if (typeof text === "string") {
            throw new assert.AssertionError({ message: text, operator: "refactoring", stackStartFn: refactoring });
        }
        if (options.allowUnmatched !== true) {
            SimulatedStack.refuseUnmatched(stack, options);
        }
        return preview;
    } finally {
        await stack.close();
    }
}
