/** A helper for `node:test`. */
import { InvalidInputError } from "../errors";
import { given } from "../options";
import type { AnyProgram } from "../program";
import { operationOptionsOf, refuseUnknownSettings } from "./settings";
import { simulate, type SimulatedStack, type SimulationOptions } from "./stack";

/** What a test of `node:test` gets. */
export interface TestContextLike {
    after(ends: () => Promise<void>): void;
}

/** Does what `simulate()` does, and closes the stack at the end of a test of `node:test`: `const stack = await simulated(t, program)`. */
export async function simulated(context: TestContextLike, program?: AnyProgram, options: SimulationOptions = {}): Promise<SimulatedStack> {
    if (typeof (context as Partial<TestContextLike> | undefined | null)?.after !== "function") {
        throw new InvalidInputError("simulated() takes the context of a test first: simulated(t, program); simulate() takes the program alone");
    }
    options = given(options);
    refuseUnknownSettings("simulated()", options);
    const stack = await simulate(program, { ...options, run: false });
    context.after(() => stack.close());
    if (options.run !== false) {
        await stack.up(undefined, operationOptionsOf(options));
    }
    return stack;
}
