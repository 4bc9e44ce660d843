/** The engine's log records, on a channel of `node:diagnostics_channel`. */
import { channel } from "node:diagnostics_channel";

import type { LogRecord } from "./documents";
import { guarded, InvalidInputError } from "./errors";
import { native, type Native } from "./native";

/** The level of a log record. */
export type LogLevel = "error" | "warn" | "info" | "debug" | "trace";

/** The name of the channel of `node:diagnostics_channel` on which log records are published. */
export const LOG_CHANNEL = "stackwright:log";

/** How many records wait for the JavaScript thread at most. */
const CAPACITY = 4096;

const LEVELS: readonly LogLevel[] = ["error", "warn", "info", "debug", "trace"];

let records: Native.LogRecords | undefined;

function publish(from: Native.LogRecords): void {
    const logs = channel(LOG_CHANNEL);
    const taken = JSON.parse(from.take()) as { records: LogRecord[]; dropped: number };
    if (taken.dropped > 0) {
        const fields = { dropped: String(taken.dropped) };
        const message = "records were dropped";
        logs.publish({ level: "warn", logger: "stackwright", message, fields, time: Date.now() / 1000 } satisfies LogRecord);
    }
    for (const record of taken.records) {
        logs.publish(record);
    }
}

function publishTheRest(): void {
    if (records !== undefined) {
        publish(records);
    }
}

/**
 * Publishes the engine's log records on the channel {@link LOG_CHANNEL} of `node:diagnostics_channel`: {@link LogRecord}. A second call
 * sets the level anew.
 *
 * ```ts
 * import { subscribe } from "node:diagnostics_channel";
 *
 * subscribe(LOG_CHANNEL, (record) => console.log(record));
 * enableLogging("info");
 * ```
 *
 * Secrets that the operations of this process know are replaced in every record. The engine never waits for a subscriber: records are
 * dropped, and counted, while the JavaScript thread is far behind. Each worker has a channel of its own. What is below `level` costs
 * nothing.
 */
export function enableLogging(level: LogLevel = "info"): void {
    if (!LEVELS.includes(level)) {
        throw new InvalidInputError(`enableLogging() takes one of ${LEVELS.join(", ")}, not ${JSON.stringify(level)}`);
    }
    const former = records;
    const begun: Native.LogRecords = guarded(() => new native.LogRecords(level, CAPACITY, () => publish(begun)));
    records = begun;
    if (former === undefined) {
        process.on("exit", publishTheRest);
    } else {
        former.close();
        publish(former);
    }
}

/** Ends what {@link enableLogging} has begun, after the records that were made before. Does nothing otherwise. */
export function disableLogging(): void {
    const former = records;
    records = undefined;
    if (former !== undefined) {
        process.off("exit", publishTheRest);
        former.close();
        publish(former);
    }
}
