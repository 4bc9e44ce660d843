/** Errors: one base class and one class for each kind, distinguished by `kind` or by `instanceof`. */
import type { ErrorFacts } from "./documents";
import type { FleetResult } from "./fleet";
import type { Result } from "./operation";
import { isA, textOf } from "./thrown";

/** The facts of an error, as the native module gives them. */
export type Facts = Pick<ErrorFacts, "kind" | "message"> & Partial<ErrorFacts>;

/** An error of the engine. `kind` is what a program branches on; the message is for display. */
export class StackwrightError extends Error {
    /** The stable name of the kind, `conflict` for instance. */
    readonly kind: string = "internal";
    /**
     * The class that the reference engine sorts the error into: `bail` when the diagnostics contain the cause.
     */
    get errorClass(): "bail" | "decrypt" | "internal" {
        return "internal";
    }
    /** The name of the page about the kind in the documentation: `errors/conflict` for instance. */
    get page(): string {
        return `errors/${this.kind}`;
    }
    /** The resource that the error is about. */
    declare readonly urn: string | undefined;
    /** The provider that the error came from. */
    declare readonly provider: string | undefined;
    /** The phase that failed: `check`, `create`, `load`… */
    declare readonly phase: string | undefined;
    /**
     * The text that the reference engine gives such an error, for tools that match on it: one whose reason stands in the
     * diagnostics begins with `BAIL: `.
     */
    declare readonly referenceMessage: string;
    /** The stable name of the message, where it has one: `protected_from_deletion` for instance. */
    declare readonly messageCode: string | undefined;
    /** What a message with a code is about, by name. */
    declare readonly messageArguments: { readonly [name: string]: unknown } | undefined;
    /** The configuration key, as `namespace:name`, whose value the error is about. */
    declare readonly configKey: string | undefined;
    /** Advice; the message ends with it. */
    declare readonly hints: readonly string[];
    /** The text of the cause, as the engine knows it; `cause` is what code of the host threw. */
    declare readonly reason: string | undefined;
    /** What the operation came to, when it is an operation's error. */
    declare result: Result | undefined;
    /** What an operation on a set of stacks came to, when it is the error of one. */
    declare fleetResult: FleetResult | undefined;
    /** Where in the program it happened: the stack of a program's own error. Not part of the message on purpose. */
    declare readonly programStack: string | undefined;

    constructor(message: string, facts: Partial<Facts> = {}) {
        const { urn, provider, phase, configKey, hints = [], reason } = facts;
        super([message, ...hints.map((hint) => `hint: ${hint}`)].join("\n"));
        this.name = new.target.name;
        const { referenceMessage = message, messageCode, messageArguments } = facts;
        for (const [name, value] of Object.entries({ referenceMessage, messageCode, messageArguments })) {
            Object.defineProperty(this, name, { value: value ?? undefined });
        }
        for (const [name, value] of Object.entries({ urn, provider, phase, configKey, reason })) {
            // A printed error shows only what is known.
            Object.defineProperty(this, name, { value: value ?? undefined, enumerable: value != null });
        }
        Object.defineProperty(this, "hints", { value: hints, enumerable: hints.length !== 0 });
        Object.defineProperty(this, "result", { writable: true, value: undefined });
        Object.defineProperty(this, "fleetResult", { writable: true, value: undefined });
        Object.defineProperty(this, "programStack", { writable: true, value: undefined });
    }
}

/** The caller passed something wrong. Nothing was changed. */
export class InvalidInputError extends StackwrightError {
    override readonly kind = "invalid_input";
}
/** The stack, resource or file does not exist. */
export class NotFoundError extends StackwrightError {
    override readonly kind = "not_found";
}
/** The lock of the stack is held elsewhere, or its state was changed meanwhile. Try again later. */
export class ConflictError extends StackwrightError {
    override readonly kind = "conflict";
}
/** A provider refused or failed a call; the message is the provider's own. */
export class ProviderFailedError extends StackwrightError {
    override readonly kind = "provider";
}
/** A plugin process could not be found, started or spoken to. */
export class PluginError extends StackwrightError {
    override readonly kind = "plugin";
}
/** The recorded state is corrupt, of an unknown version, or would become invalid. */
export class StateError extends StackwrightError {
    override readonly kind = "state";
}
/** Secrets could not be encrypted, or what encrypts those of a stack is not known here. */
export class SecretsError extends StackwrightError {
    override readonly kind = "secrets";
}
/** The operation was cancelled; what had run is recorded. */
export class CancelledError extends StackwrightError {
    override readonly kind = "cancelled";
    override get errorClass() {
        return "bail" as const;
    }
}
/** A store or service did not answer; the same call may succeed later. */
export class UnavailableError extends StackwrightError {
    override readonly kind = "unavailable";
}
/** The program raised an error of its own. */
export class ProgramError extends StackwrightError {
    override readonly kind = "program";
    override get errorClass() {
        return "bail" as const;
    }
}
/** The deployment failed; its diagnostics and events contain the causes. What succeeded is recorded. */
export class FailedError extends StackwrightError {
    override readonly kind = "failed";
    override get errorClass() {
        return "bail" as const;
    }
}
/** A bug in the engine. */
export class InternalError extends StackwrightError {
    override readonly kind = "internal";
}
/**
 * A secret could not be decrypted, for instance because the passphrase is wrong; the message names the key of the
 * configuration when it is a value of that.
 */
export class DecryptError extends StackwrightError {
    override readonly kind = "decrypt";
    override get errorClass() {
        return "decrypt" as const;
    }
}

type ErrorClass = new (message: string, facts?: Partial<Facts>) => StackwrightError;

/** Every class by its kind; checked against the engine's own table by a test. */
export const errorClasses: Readonly<Record<string, ErrorClass>> = {
    invalid_input: InvalidInputError,
    not_found: NotFoundError,
    conflict: ConflictError,
    provider: ProviderFailedError,
    plugin: PluginError,
    state: StateError,
    secrets: SecretsError,
    cancelled: CancelledError,
    unavailable: UnavailableError,
    program: ProgramError,
    failed: FailedError,
    internal: InternalError,
    decrypt: DecryptError,
};

/**
 * Makes the error of the facts that the native module put into a message; anything else is a bug of ours.
 * @internal
 */
export function fromNative(error: unknown): StackwrightError {
    if (isA(error, StackwrightError)) {
        return error;
    }
    const text = textOf(error);
    // The native module could not convert an argument. Its message contains the value, which may be a secret.
    const expected = /\binto rust type `([^`]*)`/.exec(text)?.[1];
    if (expected !== undefined && !text.startsWith("{")) {
        return new InvalidInputError(`an argument has a wrong type: expected ${expected.toLowerCase()}`);
    }
    return fromText(text);
}

/**
 * Makes the error of facts as JSON; a text that is none is the message of a bug.
 * @internal
 */
export function fromText(text: string): StackwrightError {
    if (text.startsWith("{")) {
        try {
            return fromFacts(JSON.parse(text) as Facts);
        } catch {
            // A message that only looks like facts.
        }
    }
    return new InternalError(text);
}

/** @internal */
export function fromFacts(facts: Facts): StackwrightError {
    const errorClass = errorClasses[facts.kind] ?? StackwrightError;
    // Node takes minutes to print some frames of the SDK when they are part of an error's message.
    const frames = facts.kind === "program" ? facts.message.search(/\n\s+at /) : -1;
    if (frames < 0) {
        return new errorClass(facts.message, facts);
    }
    const error = new errorClass(facts.message.slice(0, frames), facts);
    Object.assign(error, { programStack: facts.message });
    return error;
}

/**
 * Runs a native call and makes our errors of what it throws.
 * @internal
 */
export function guarded<T>(call: () => T): T {
    try {
        return call();
    } catch (error) {
        throw fromNative(error);
    }
}

/**
 * Awaits a native call and makes our errors of what it rejects with.
 * @internal
 */
export async function awaited<T>(call: () => Promise<T>): Promise<T> {
    try {
        return await call();
    } catch (error) {
        throw fromNative(error);
    }
}
