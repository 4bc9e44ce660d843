/** Errors of the protocol. */

/** A protocol error: its gRPC status and its text. */
export class WireError extends Error {
    constructor(
        readonly code: number,
        readonly details: string,
    ) {
        super(details);
        this.name = "WireError";
    }
}
