/**
 * Signals that would end the process while commands run. As a `pulumi` command in the foreground does, a command is cancelled first: its
 * running steps complete and are recorded.
 */

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** What cancels each running command. A second call abandons the running calls of its providers. */
const running = new Set<() => void>();
/** How many signals have arrived since the first command began. */
let count = 0;
let received: NodeJS.Signals | undefined;

function receive(signal: NodeJS.Signals): void {
    // A host with a function of its own decides itself.
    if (process.listenerCount(signal) > 1) {
        return;
    }
    received = signal;
    count += 1;
    if (count > 2) {
        end();
        return;
    }
    running.forEach((cancel) => cancel());
}

/** Ends the process as the signal would have without the commands, unless the host has a function for it. */
function end(): void {
    const signal = received;
    SIGNALS.forEach((name) => process.removeListener(name, receive));
    [count, received] = [0, undefined];
    if (signal !== undefined && process.listenerCount(signal) === 0) {
        process.kill(process.pid, signal);
    }
}

/** Cancels a command on a signal, and ends the process when the last such command has ended; returns what must be called at its end. */
export function cancelledBySignals(cancel: () => void): () => void {
    if (running.size === 0) {
        for (const name of SIGNALS.filter((name) => process.listenerCount(name) === 0)) {
            process.on(name, receive);
        }
    }
    running.add(cancel);
    return () => {
        running.delete(cancel);
        if (running.size === 0) {
            end();
        }
    };
}
