/** Inline programs, which are handed to the engine without the language server that the Automation API starts for them. */
import { AsyncLocalStorage } from "node:async_hooks";

import type { PulumiFn } from "@pulumi/pulumi/automation";

import type { Bridge } from "../bridge";
import type { Native } from "../native";
import { addProgram } from "../program";
import { sdkProgram } from "../sdk";

/** What precedes the address of a language server in a command line. */
const CLIENT = "--client=";

/** The program of the operation that the current code starts; `undefined` for that of a folder. */
const current = new AsyncLocalStorage<PulumiFn | undefined>();

/** Starts an operation, whose command knows its program. */
export function withProgram<T>(program: PulumiFn | undefined, start: () => T): T {
    return current.run(program, start);
}

/** Makes the program of a command line startable; `undefined` when it has none. */
export function prepared(bridge: Bridge, args: readonly string[]): Native.ProgramEntry | undefined {
    const program = current.getStore();
    if (program === undefined || !args.some((argument) => argument.startsWith(CLIENT))) {
        return undefined;
    }
    return addProgram(bridge, sdkProgram(program, { sdk: require.resolve("@pulumi/pulumi/automation") }));
}
