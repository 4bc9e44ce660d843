/** The display of a running operation: a tree on a terminal, lines elsewhere. */
import { fromNative, InvalidInputError } from "./errors";
import { FleetOperation, type FleetResult } from "./fleet";
import { Operation, type Result } from "./operation";
import { described } from "./options";

/** The least that a stream has on which an operation is shown. */
export interface DisplayStream {
    write(text: string): unknown;
    isTTY?: boolean;
    columns?: number;
    rows?: number;
}

/** Options of `display`. */
export interface DisplayOptions {
    /** Where the operation is shown; `process.stdout` when left out. */
    stream?: DisplayStream;
}

/**
 * Shows a running operation until its end, and returns its result: `await display(stack.up())`.
 *
 * On a terminal it is a tree, or for a set of stacks a table of those that run, whose rows are updated in place, in colour unless the
 * environment has `NO_COLOR`, and elsewhere lines, as `onOutput` of the operation gets them. Secrets are masked. Where something else
 * listens to the operation's events, it is shown from now on, and the end has all rows in any case.
 *
 * @throws {StackwrightError} The operation failed.
 */
export async function display(operation: Operation, options?: DisplayOptions): Promise<Result>;
export async function display(operation: FleetOperation, options?: DisplayOptions): Promise<FleetResult>;
export async function display(operation: Operation | FleetOperation, options: DisplayOptions = {}): Promise<Result | FleetResult> {
    if (!(operation instanceof Operation || operation instanceof FleetOperation)) {
        throw new InvalidInputError(`display() takes an operation, not ${described(operation)}`);
    }
    const stream = options.stream ?? (process.stdout as DisplayStream);
    const isScreen = stream.isTTY === true && (process.env["TERM"] ?? "dumb") !== "dumb";
    const coloured = isScreen && !process.env["NO_COLOR"];
    const shown = operation instanceof Operation ? Operation.shown(operation, isScreen, coloured) : FleetOperation.shown(operation, isScreen, coloured);
    for (;;) {
        let piece: string | null;
        try {
            piece = await shown.next(stream.columns ?? 0, stream.rows ?? 0);
        } catch (error) {
            throw fromNative(error);
        }
        if (piece === null) {
            return await operation;
        }
        stream.write(piece);
    }
}
