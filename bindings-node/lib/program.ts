/** Programs of both kinds, made startable. */
import type { Bridge } from "./bridge";
import { describeProgramError, type Program, ProgramContext } from "./context";
import { Run, runProgram } from "./run";
import { runSdkProgram, SdkProgram } from "./sdk";

/** A program: a function of our own API, or one that is written with `@pulumi/pulumi`. */
export type AnyProgram = Program | SdkProgram;

/**
 * Makes a program startable and returns its number; `own` says that it uses our own API.
 * @internal
 */
export function addProgram(bridge: Bridge, program: AnyProgram): { number: number; own: boolean } {
    const own = !(program instanceof SdkProgram);
    const number = bridge.addProgram((number, info) => {
        const run = new Run(bridge, number, info);
        void (own ? runOwnProgram(run, program) : runSdkProgram(run, program));
    });
    return { number, own };
}

async function runOwnProgram(run: Run, program: Program): Promise<void> {
    const body = async () => {
        const context = new ProgramContext(run);
        let outputs: unknown;
        try {
            outputs = await program(context);
        } finally {
            await context.settle();
        }
        return outputs;
    };
    await runProgram(run, body, (error) => ({ message: describeProgramError(error), told: false }));
}
