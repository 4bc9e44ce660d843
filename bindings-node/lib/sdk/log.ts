/**
 * The SDK's log, per run. The SDK itself queues the messages of all programs in one chain that a single resource without
 * an answer blocks for the rest of the process; in our runs each program has an order of its own.
 */
import { currentRun, type Run, type Severity } from "../run";
import type { Sdk, SdkLog, SdkResource } from "./find";
import { learnSecrets, secretsLearned } from "./secrets";

const SEVERITIES: Record<keyof SdkLog, Severity> = {
    debug: "debug",
    info: "info",
    warn: "warning",
    error: "error",
};

const installed = new WeakSet<SdkLog>();
/** The last message of each run that waits for a resource's URN; later ones wait for it. */
const waiting = new WeakMap<Run, Promise<void>>();

/** Sends the messages of programs of our runs to their own run. Outside of any run the SDK's log is as it was. */
export function installLog(sdk: Sdk): void {
    if (installed.has(sdk.log)) {
        return;
    }
    installed.add(sdk.log);
    learnSecrets(sdk);
    for (const name of Object.keys(SEVERITIES) as (keyof SdkLog)[]) {
        const original = sdk.log[name];
        sdk.log[name] = (message, resource, streamId, ephemeral) => {
            const run = currentRun();
            if (run === undefined) {
                return original(message, resource, streamId, ephemeral);
            }
            if (name === "error") {
                sdk.state.getStore().logErrorCount++;
            }
            return send(run, SEVERITIES[name], message, resource, streamId, ephemeral);
        };
    }
}

function send(
    run: Run,
    severity: Severity,
    message: string,
    resource: SdkResource | undefined,
    stream: number | undefined,
    ephemeral: boolean | undefined,
): Promise<void> {
    const before = waiting.get(run);
    const emit = (urn?: string) => run.log(severity, String(message), urn, stream, ephemeral === true);
    const learned = secretsLearned(run);
    if (resource === undefined && before === undefined && learned === undefined) {
        emit();
        return Promise.resolve();
    }
    // The message of a resource without a URN is emitted without one when its run is over.
    const named = resource === undefined ? undefined : nameOf(run, resource);
    const sent: Promise<void> = Promise.all([before, named, learned])
        .then(([, urn]) => emit(urn))
        .finally(() => {
            if (waiting.get(run) === sent) {
                waiting.delete(run);
            }
        });
    waiting.set(run, sent);
    return sent;
}

function nameOf(run: Run, resource: SdkResource): Promise<string | undefined> {
    const over = run.over.then(() => undefined);
    return Promise.race([resource.urn.promise(), over]).catch(() => undefined);
}

/** Resolves when a run's messages so far have been emitted. */
export async function logged(run: Run): Promise<void> {
    await waiting.get(run);
}
