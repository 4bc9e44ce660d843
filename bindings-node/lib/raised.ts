/** What code of the host threw during operations: kept until the operation ends, as the cause of its error. */
import { StackwrightError } from "./errors";
import { attempt, isA, textOf } from "./thrown";

/** What a request is about: a resource, or the one whose method it calls. */
interface Subject {
    readonly urn?: unknown;
    readonly arguments?: { readonly __self__?: { readonly urn?: unknown } };
}

function urnIn(request: Subject | null | undefined): unknown {
    return request?.urn ?? request?.arguments?.__self__?.urn;
}

/**
 * Returns the cause of an error of the engine that a program passed on, because the operation's error repeats the rest of it, and
 * everything else that a program threw as it is.
 */
function causeIn(thrown: unknown): unknown {
    return isA(thrown, StackwrightError) && thrown.cause !== undefined ? thrown.cause : thrown;
}

/** What the providers and programs of one engine threw, and its encryption. */
export class Raised {
    /** By the URN of the resource in question. */
    readonly #byUrn = new Map<string, unknown>();
    /** By the stack of the program, as `project/stack`. */
    readonly #byStack = new Map<string, unknown>();

    /** Keeps what a provider's method threw. */
    ofProvider(request: unknown, error: unknown): void {
        const urn = attempt(() => urnIn(request as Subject | null | undefined), undefined);
        if (typeof urn === "string" && urn !== "") {
            this.#byUrn.set(urn, error);
        }
    }

    /** What the host's encryption threw last. */
    #ofSecrets: unknown;

    /** Keeps what the host's encryption threw. */
    ofSecrets(error: unknown): void {
        this.#ofSecrets = error;
    }

    /** Keeps what a program threw. */
    ofProgram(project: string, stack: string, error: unknown): void {
        this.#byStack.set(`${project}/${stack}`, error);
    }

    /** Sets a kept exception as the cause of an operation's error, if its text contains the exception's, and drops all others. */
    explain(stack: string, error: StackwrightError | undefined): void {
        const [project = "", name = ""] = stack.split("/").slice(-2);
        const key = `${project}/${name}`;
        const ofProgram = this.#byStack.get(key);
        this.#byStack.delete(key);
        const prefix = `urn:pulumi:${name}::${project}::`;
        const ofProvider = error?.urn === undefined ? undefined : this.#byUrn.get(error.urn);
        for (const urn of this.#byUrn.keys()) {
            if (urn.startsWith(prefix)) {
                this.#byUrn.delete(urn);
            }
        }
        const isOfSecrets = error?.kind === "decrypt" || error?.kind === "secrets";
        const cause = error?.kind === "program" ? causeIn(ofProgram) : isOfSecrets ? this.#ofSecrets : ofProvider;
        if (error !== undefined && cause !== undefined && error.cause === undefined) {
            const text = typeof cause === "string" || isA(cause, Error) ? textOf(cause) : undefined;
            if (text !== undefined && error.message.includes(text)) {
                // Not enumerable: to print an error of the Pulumi SDK can take Node minutes.
                Object.defineProperty(error, "cause", { value: cause, configurable: true, writable: true });
            }
        }
    }
}
