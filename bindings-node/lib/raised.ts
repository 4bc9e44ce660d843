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

/** How many exceptions are kept for one resource or stack: of functions that ran at the same time, and of repeated calls. */
const MAX_KEPT = 20;

function keepIn(kept: Map<string, unknown[]>, key: string, error: unknown): void {
    kept.set(key, [error, ...(kept.get(key) ?? [])].slice(0, MAX_KEPT));
}

/** Returns the parts of a stack's name, and its key. */
function keyOf(stack: string): { project: string; name: string; key: string } {
    const [project = "", name = ""] = stack.split("/").slice(-2);
    return { project, name, key: `${project}/${name}` };
}

/** What the providers and programs of one engine threw, and its encryption. */
export class Raised {
    /** By the URN of the resource in question; each list begins with the latest. */
    readonly #byUrn = new Map<string, unknown[]>();
    /** By the stack of a check of all its resources, as `project/stack`. */
    readonly #byCheckedStack = new Map<string, unknown[]>();
    /** By the stack of the program, as `project/stack`. */
    readonly #byStack = new Map<string, unknown>();

    /** Keeps what a provider's method threw. */
    ofProvider(request: unknown, error: unknown): void {
        const urn = attempt(() => urnIn(request as Subject | null | undefined), undefined);
        if (typeof urn === "string" && urn !== "") {
            keepIn(this.#byUrn, urn, error);
        }
    }

    /** Keeps what a check of all resources of a stack threw; it is named as by `explain`. */
    ofCheckedStack(stack: string, error: unknown): void {
        keepIn(this.#byCheckedStack, keyOf(stack).key, error);
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
        const { project, name, key } = keyOf(stack);
        const ofProgram = this.#byStack.get(key);
        this.#byStack.delete(key);
        const prefix = `urn:pulumi:${name}::${project}::`;
        const ofResource = error?.urn === undefined ? undefined : this.#byUrn.get(error.urn);
        const ofProviders = [...(ofResource ?? []), ...(this.#byCheckedStack.get(key) ?? [])];
        this.#byCheckedStack.delete(key);
        for (const urn of this.#byUrn.keys()) {
            if (urn.startsWith(prefix)) {
                this.#byUrn.delete(urn);
            }
        }
        const isOfSecrets = error?.kind === "decrypt" || error?.kind === "secrets";
        const causes = error?.kind === "program" ? [causeIn(ofProgram)] : isOfSecrets ? [this.#ofSecrets] : ofProviders;
        if (error !== undefined && error.cause === undefined) {
            const cause = causes.find((each) => (typeof each === "string" || isA(each, Error)) && error.message.includes(textOf(each)));
            if (cause !== undefined) {
                // Not enumerable: to print an error of the Pulumi SDK can take Node minutes.
                Object.defineProperty(error, "cause", { value: cause, configurable: true, writable: true });
            }
        }
    }
}
