/** What a program has started: its end waits for all of it, and reports what has failed. */
import type { Track } from "./output";

/** The started work of one program. */
export class Pending {
    /** How much of it has not ended. */
    #count = 0;
    #settled: (() => void) | undefined;
    /** What failed, and whether the program has handled it. */
    readonly #failures: { error: unknown; observed: () => boolean }[] = [];

    /** Delays the program's end until a promise has settled; a failure that is not `observed` then fails the program. */
    readonly add: Track = (promise, observed) => {
        this.#count++;
        promise.then(
            () => this.#landed(),
            (error: unknown) => {
                this.#failures.push({ error, observed });
                this.#landed();
            },
        );
    };

    /** Waits for everything, and throws the first failure that was not handled. */
    async settle(): Promise<void> {
        while (this.#count !== 0) {
            await new Promise<void>((resolve) => (this.#settled = resolve));
        }
        const failure = this.#failures.find(({ observed }) => !observed());
        if (failure !== undefined) {
            throw failure.error;
        }
    }

    #landed(): void {
        if (--this.#count === 0) {
            this.#settled?.();
        }
    }
}
