/** Programs of both kinds, made startable. */
import type { Bridge } from "./bridge";
import { describeProgramError, type Program, ProgramContext } from "./context";
import { InvalidInputError } from "./errors";
import { refuseGenerator } from "./generators";
import type { Native } from "./native";
import { described } from "./options";
import { Run, runProgram } from "./run";
import { runSdkProgram, SdkProgram } from "./sdk";
import { refuseUnwrapped } from "./sdk/outside";
import { textOf } from "./thrown";

/** A program that is run by a language runtime which is listening already. */
export class LanguageRuntime {
    constructor(
        /** `host:port`, or a URL. */
        readonly address: string,
    ) {}
}

/** Describes a program that is run by the language runtime listening at an address, in any process. */
export function languageRuntime(address: string): LanguageRuntime {
    return new LanguageRuntime(address);
}

/** A program: a function of our own API, one that is written with `@pulumi/pulumi`, or one in another process. */
export type AnyProgram = Program | SdkProgram | LanguageRuntime;

/**
 * Makes a program startable and describes it to the native side.
 * @internal
 */
export function addProgram(bridge: Bridge, program: AnyProgram): Native.ProgramEntry {
    if (program instanceof LanguageRuntime) {
        return { address: program.address };
    }
    const own = !(program instanceof SdkProgram);
    refuseGenerator(own ? program : program.program);
    if (own && typeof program !== "function") {
        const programs = "a function, what sdkProgram() returns, or what languageRuntime() returns";
        throw new InvalidInputError(`a program is ${programs}, not ${described(program)}`);
    }
    const number = bridge.addProgram((number, info) => {
        const run = new Run(bridge, number, info);
        const ran = own ? runOwnProgram(run, program) : runSdkProgram(run, program);
        ran.catch((error: unknown) => bridge.finishRun(number, { message: textOf(error), reported: false }));
    });
    return { number, own };
}

/** Refuses what a program has returned when it would be ignored: a generator, another program, or outputs, as a program that is written with `@pulumi/pulumi` returns them. */
function refuseReturned(value: unknown): void {
    refuseGenerator(value);
    if (typeof value === "function") {
        throw new InvalidInputError("the program returned a function, which would be ignored: what a factory of programs returns is passed as the program");
    }
    if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
        throw new InvalidInputError(
            "the program returned an object, which would be ignored: context.export(name, value) makes an output, and a function that is " +
                "written with @pulumi/pulumi is passed as sdkProgram(function)",
        );
    }
}

async function runOwnProgram(run: Run, program: Program): Promise<void> {
    refuseUnwrapped();
    const body = async () => {
        const context = new ProgramContext(run);
        let returned = false;
        try {
            const result: unknown = await program(context);
            refuseReturned(result);
            returned = true;
        } finally {
            await context.settle(returned);
        }
    };
    await runProgram(run, body, (error) => ({ message: describeProgramError(error), reported: false }));
}
