/** What a resource meets that is made outside of any run: a clear error instead of a silent nothing. */
import { InvalidInputError } from "../errors";
import type { Sdk } from "./find";

/**
 * Makes the SDK's process-wide settings refuse to register anything, unless the host has settings of its own there
 * (a program of its own, or mocks), now or later: those win.
 */
export function refuseOutside(sdk: Sdk): void {
    const store = sdk.state.getGlobalStore();
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
            throw new InvalidInputError(
                "a resource was made outside of any program's run, so that it belongs to no stack",
                {
                    hints: [
                        "make resources inside the program function, or in code that it calls or awaits",
                        "a listener that was registered outside of the run does not belong to it: use AsyncResource.bind",
                    ],
                },
            );
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
