/**
 * Failures that nothing handles: each goes to the program's run or the call that it comes from, known by its asynchronous
 * context, so that it ends that and nothing else in the process.
 */
import { AsyncLocalStorage } from "node:async_hooks";

/** The run or call that code of the host belongs to; it receives the failures of that code that are not handled. */
export interface Owner {
    /** Takes a failure that was not handled. Must not throw. */
    fail(error: unknown): void;
    /** The run of the program that a called function belongs to. */
    readonly caller?: Owner | undefined;
}

const current = new AsyncLocalStorage<Owner>();

/** Returns what the running code belongs to. */
export function currentOwner(): Owner | undefined {
    return current.getStore();
}

/** Runs code that belongs to an owner, with all that it starts. */
export function owned<T>(owner: Owner, work: () => T): T {
    return current.run(owner, work);
}

/** Runs and operations whose code may still run. */
let active = 0;
const left = new WeakSet<object>();
/** A run that is collected cannot run any more: its context is gone. */
const registry = new FinalizationRegistry(() => uncount());

/** Attributes failures from now on, until `leave` is called with the same object. */
export function enter(_holder: object): void {
    if (active++ === 0) {
        attribute();
    }
}

/** Ends what `enter` began; a second time does nothing. */
export function leave(holder: object): void {
    if (!left.has(holder)) {
        left.add(holder);
        registry.unregister(holder);
        uncount();
    }
}

/** Ends what `enter` began once nothing can reach the object any more, unless `leave` comes first. */
export function leaveWithoutRoots(holder: object): void {
    registry.register(holder, undefined, holder);
}

function uncount(): void {
    if (--active === 0 && process.emit === attributing) {
        process.emit = original as typeof process.emit;
        original = undefined;
    }
}

type Emit = (this: NodeJS.Process, event: string | symbol, ...details: unknown[]) => boolean;

/** The `emit` of the process before the first run. */
let original: Emit | undefined;

/**
 * Passes failures that were not handled to their owner, which handles them. Failures without an owner are emitted as usual, to
 * the host's listeners or Node's own handler.
 */
function attribute(): void {
    // Other code may have wrapped ours meanwhile: then it is still in place.
    if (original === undefined) {
        original = process.emit as unknown as Emit;
        process.emit = attributing as unknown as typeof process.emit;
    }
}

const attributing: Emit & typeof process.emit = function (this: NodeJS.Process, event: string | symbol, ...details: unknown[]) {
    if (event === "unhandledRejection" || event === "uncaughtException" || event === "uncaughtExceptionMonitor") {
        const owner = current.getStore();
        if (owner !== undefined) {
            // The monitor's event precedes the other one, of the same failure.
            if (event !== "uncaughtExceptionMonitor") {
                owner.fail(details[0]);
            }
            return true;
        }
    }
    return (original as Emit).call(this, event, ...details);
} as Emit & typeof process.emit;
