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
/** The flag of a command line that runs a program, its value for a program of a folder, and that for a program of the process. */
const [EXEC_KIND, OF_FOLDER, INLINE] = ["--exec-kind", "auto.local", "auto.inline"];

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

/** Returns a command line with the flags of a program of the process; `undefined` when it runs no program. */
function inline(args: readonly string[]): string[] | undefined {
    if (args.some((argument) => argument.startsWith(CLIENT))) {
        return [...args];
    }
    const kind = args.indexOf(EXEC_KIND) + 1;
    if (kind === 0 || args[kind] !== OF_FOLDER) {
        return undefined;
    }
    // The SDK has seen no program, and has started no server.
    return args.toSpliced(kind, 1, INLINE, `${CLIENT}in-process`);
}

/**
 * Returns the arguments of a command line and its program, which can be started; `undefined` when it has none. What the program raises
 * is added to `failures`.
 */
export function prepared(bridge: Bridge, args: string[], failures: unknown[]): { args: string[]; entry?: Native.ProgramEntry } {
    const program = current.getStore()?.program;
    const own = program === undefined ? undefined : inline(args);
    if (program === undefined || own === undefined) {
        return { args };
    }
    const observed: PulumiFn = async () => {
        try {
            return await program();
        } catch (error) {
            failures.push(error);
            throw error;
        }
    };
    const entry = addProgram(bridge, sdkProgram(observed, { sdk: require.resolve("@pulumi/pulumi/automation") }));
    return { args: own, entry };
}
