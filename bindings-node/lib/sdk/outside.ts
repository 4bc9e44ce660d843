/** Refuses resources of the SDK that are made outside of an SDK program's run: without an error they would be lost. */
import { InvalidInputError } from "../errors";
import { currentRun } from "../run";
import type { SdkStore } from "./find";

/** Where all copies of the SDK in a process keep their common store, from the first use of one on. */
const STORE = "globalStore";

/** Makes the SDK refuse what no SDK program's run makes, also a copy that is loaded only later. */
export function refuseUnwrapped(): void {
    const existing = Object.getOwnPropertyDescriptor(globalThis, STORE);
    if (existing?.get !== undefined) {
        return;
    }
    if (existing?.value !== undefined) {
        refuse(existing.value);
        return;
    }
    Object.defineProperty(globalThis, STORE, {
        configurable: true,
        // Hidden until the SDK is loaded.
        enumerable: false,
        get: () => undefined,
        set(store: unknown) {
            Object.defineProperty(globalThis, STORE, {
                configurable: true,
                enumerable: true,
                writable: true,
                value: store,
            });
            refuse(store);
        },
    });
}

function refuse(store: unknown): void {
    // Another library may keep a value under this name.
    if ((store as Partial<SdkStore> | null)?.settings?.options !== undefined) {
        refuseOutside(store as SdkStore);
    }
}

/**
 * Makes the SDK's process-wide settings refuse to register anything, unless the host has settings of its own there
 * (a program of its own, or mocks), now or later: those win.
 */
export function refuseOutside(store: SdkStore): void {
    const { settings } = store;
    const existing = Object.getOwnPropertyDescriptor(settings, "monitor");
    if (existing?.get !== undefined || settings.monitor !== undefined || settings.options.monitorAddr) {
        return;
    }
    // The SDK looks at the settings' own monitor only under this address, which is the one of its mocks.
    settings.options.monitorAddr = "mock";
    Object.defineProperty(settings, "monitor", {
        configurable: true,
        enumerable: true,
        get() {
            // The resource has announced itself already: what is refused here is not waited for, and is no leak.
            settings.rpcDone = Promise.resolve();
            store.leakCandidates.clear();
            throw refusal();
        },
        set(monitor: unknown) {
            if (settings.options.monitorAddr === "mock") {
                settings.options.monitorAddr = undefined;
            }
            Object.defineProperty(settings, "monitor", {
                configurable: true,
                enumerable: true,
                writable: true,
                value: monitor,
            });
        },
    });
}

function refusal(): InvalidInputError {
    const run = currentRun();
    if (run === undefined) {
        return new InvalidInputError("a resource was made outside of any program's run, so that it belongs to no stack", {
            hints: [
                "make resources inside the program function, or in code that it calls or awaits",
                "a listener that was registered outside of the run does not belong to it: use AsyncResource.bind",
            ],
        });
    }
    const error = new InvalidInputError(
        "the program uses @pulumi/pulumi, but was not wrapped: give sdkProgram(program) in place of the function itself",
    );
    // A program that caught this would go on to its end, and all that it has not registered would be deleted.
    run.fail(error);
    return error;
}
