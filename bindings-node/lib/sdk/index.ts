/** Runs programs that are written with `@pulumi/pulumi`, in this process and without any socket. */
import { refuseGenerator } from "../generators";
import { type Ending, runProgram, type Run, stackOf } from "../run";
import { attempt, fullTextOf, textOf } from "../thrown";
import { serveCallbacks } from "./callbacks";
import { makeClient } from "./client";
import { findSdk, type Sdk, type SdkStore } from "./find";
import { installLog, logged } from "./log";
import { refuseOutside } from "./outside";
import { secretsLearned } from "./secrets";

/** The displayed address of the monitor and the engine. */
const ADDRESS = "in-process";

/** A program that is written with `@pulumi/pulumi`: makes resources and returns the stack's outputs. */
export type SdkProgramFunction = () => unknown;

/** A program that is written with `@pulumi/pulumi`, and where its copy of the SDK is. */
export class SdkProgram {
    constructor(
        readonly program: SdkProgramFunction,
        readonly sdk?: string | URL,
    ) {}
}

/**
 * Describes a program that is written with `@pulumi/pulumi`.
 *
 * `sdk` selects the copy: a path in it, or one from which it is resolved (`import.meta.url`, `__filename`). By default
 * it is the one that the process's main module resolves.
 */
export function sdkProgram(program: SdkProgramFunction, options: { sdk?: string | URL } = {}): SdkProgram {
    return new SdkProgram(program, options.sdk);
}

/** Runs an SDK program to its end. */
export async function runSdkProgram(run: Run, { program, sdk: from }: SdkProgram): Promise<void> {
    let sdk: Sdk;
    try {
        sdk = findSdk(from);
    } catch (error) {
        run.bridge.finishRun(run.number, { message: textOf(error), reported: false });
        return;
    }
    prepare(sdk);
    await runProgram(
        run,
        () => sdk.state.withLocalStorage(() => body(sdk, run, program)),
        describe,
    );
}

/** Prepares a copy of the SDK for runs; does nothing the second time. */
export function prepare(sdk: Sdk): void {
    installLog(sdk);
    refuseOutside(sdk.state.getGlobalStore());
}

/** Configures the SDK for a run, in its current local storage, which is returned. */
export async function configure(sdk: Sdk, run: Run): Promise<SdkStore> {
    const { info } = run;
    // With 1 the SDK would put the registrations of all runs in the process into one queue, which a single one
    // without an answer blocks for ever. The engine itself keeps to the limit.
    const parallel = info.parallel === 1 ? 2 : info.parallel;
    sdk.settings.resetOptions(info.project, info.stack, parallel, ADDRESS, ADDRESS, info.dryRun, info.organization);
    const store = sdk.state.getStore();
    store.settings.monitor = makeClient(sdk.monitorService, run);
    store.settings.engine = makeClient(sdk.engineService, run);
    store.settings.options.rootDirectory = info.rootDirectory;
    sdk.config.setAllConfig(info.config, info.configSecretKeys);
    void run.over.then(() => {
        // Once, when the process exits, the SDK looks for promises that were left behind, and sets an exit code.
        store.terminated = true;
        store.leakCandidates.clear();
        closeCallbacks(store);
    });
    return store;
}

async function body(sdk: Sdk, run: Run, program: SdkProgramFunction): Promise<void> {
    const store = await configure(sdk, run);
    try {
        await serveCallbacks(sdk, run, store);
        await sdk.stack.runInPulumiStack(() => {
            const returned = program();
            refuseGenerator(returned);
            return returned;
        });
        await logged(run);
        await sdk.settings.disconnect(true);
    } catch (error) {
        await secretsLearned(run);
        throw error;
    } finally {
        store.leakCandidates.clear();
        closeCallbacks(store);
    }
}

/** Ends the SDK's own server of functions, where it has started one. */
function closeCallbacks(store: SdkStore): void {
    store.callbacks?.shutdown();
}

/** The marks by which errors of all copies of the SDK are known. */
interface Marked {
    __pulumiRunError?: boolean;
    __pulumResourceError?: boolean;
    hideStack?: boolean;
    code?: unknown;
}

/**
 * Makes the displayed text of a program's error, as the SDK's own hosts do. It is made here: to inspect an error
 * of the SDK can take Node minutes.
 */
function describe(error: unknown): Ending {
    const message = fullTextOf(error);
    const { isEnd, hidden } = attempt(() => marksOf(error), { isEnd: false, hidden: false });
    if (isEnd) {
        // The monitor went away under the program: the diagnostics have the reason already.
        return { message, reported: true };
    }
    return { message: hidden ? message : `Unhandled exception: ${stackOf(error)}`, reported: false };
}

function marksOf(error: unknown): { isEnd: boolean; hidden: boolean } {
    const marks = (typeof error === "object" && error !== null ? error : {}) as Marked;
    return {
        isEnd: marks.code === UNAVAILABLE || marks.code === CANCELLED,
        hidden: marks.__pulumiRunError === true || (marks.__pulumResourceError === true && marks.hideStack === true),
    };
}

/** The gRPC statuses by which the SDK recognizes that the monitor has gone away. */
const CANCELLED = 1;
const UNAVAILABLE = 14;
