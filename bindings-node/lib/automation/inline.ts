/** Inline programs, which are handed to the engine without the language server that the Automation API starts for them. */
import { AsyncLocalStorage } from "node:async_hooks";

import { log } from "@pulumi/pulumi";
import type { EngineEvent, PulumiFn } from "@pulumi/pulumi/automation";

import type { Bridge } from "../bridge";
import type { Native } from "../native";
import { addProgram } from "../program";
import { sdkProgram } from "../sdk";

/** What precedes the address of a language server in a command line. */
const CLIENT = "--client=";

/** What a command knows of the operation that it runs. */
interface Current {
    /** `undefined` for that of a folder. */
    readonly program: PulumiFn | undefined;
    /** Gets the events, a line each. */
    onEvent?: (line: string) => void;
}

/** The operation that the current code starts. */
const current = new AsyncLocalStorage<Current>();

/** Starts an operation, whose command knows its program. */
export function withProgram<T>(program: PulumiFn | undefined, start: () => T): T {
    return current.run({ program }, start);
}

/** What the SDK keeps of the server that it would start for events. It removes the folder of the place, which must be no path of a file. */
const EVENT_LOG = { logFile: "tcp://inline", logPromise: undefined, server: { forceShutdown(): void {} } };

/** Sets the function that gets the events of the current operation; `undefined` where there is none. */
export function listening(onEvent: (event: EngineEvent) => void): typeof EVENT_LOG | undefined {
    const operation = current.getStore();
    if (operation === undefined) {
        return undefined;
    }
    operation.onEvent = (line) => {
        try {
            onEvent(JSON.parse(line) as EngineEvent);
        } catch (error) {
            // As the server of the SDK does.
            void log.warn(`Failed to parse engine event: ${String(error)}`);
        }
    };
    return EVENT_LOG;
}

/** Returns what gets the events of the operation that the current code starts, a line each. */
export function eventListener(): ((line: string) => void) | undefined {
    return current.getStore()?.onEvent;
}

/** Makes the program of a command line startable; `undefined` when it has none. What the program raises is added to `failures`. */
export function prepared(bridge: Bridge, args: readonly string[], failures: unknown[]): Native.ProgramEntry | undefined {
    const program = current.getStore()?.program;
    if (program === undefined || !args.some((argument) => argument.startsWith(CLIENT))) {
        return undefined;
    }
    const observed: PulumiFn = async () => {
        try {
            return await program();
        } catch (error) {
            failures.push(error);
            throw error;
        }
    };
    return addProgram(bridge, sdkProgram(observed, { sdk: require.resolve("@pulumi/pulumi/automation") }));
}
