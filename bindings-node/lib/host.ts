/** What a host supplies beside providers: a journal, a reader of other stacks, its own encryption, remote assets, names. */
import { InvalidInputError, StackwrightError } from "./errors";
import type { FunctionRequest } from "./functions";
import type { JournalEntry } from "./journal";
import { described, type Names, refuseUnknown, requireMethods } from "./options";
import type { PolicyRequest } from "./policy";
import type { Autonaming, ResolutionRequest, ResourceSubject } from "./provider";
import type { Owner } from "./strays";
import { fullTextOf, isA } from "./thrown";
import type { PropertyMap } from "./values";

type Answer<T> = T | PromiseLike<T>;

/**
 * Receives every entry of a stack's journal, in order. The engine continues when the returned promise has resolved. An
 * exception refuses the entry, and the operation ends with that error. Secrets in an entry are readable.
 */
export type JournalReceiver = (entry: JournalEntry) => Answer<unknown>;

/** Answers stack references, in place of the engine's own store. Called concurrently. */
export interface StackReader {
    /** Returns the outputs of the stack that a reference names. */
    stackOutputs(stack: string): Answer<PropertyMap>;
    /** Returns what there is of that stack's resources, by URN. */
    stackResourceOutputs(stack: string): Answer<{ [urn: string]: StackResource }>;
}

/** A resource of another stack. */
export interface StackResource {
    type: string;
    outputs: PropertyMap;
}

/**
 * Gets what the URI of a remote asset or archive names, for its hash. Called concurrently; what it throws fails the
 * resource.
 */
export type Fetch = (uri: string) => Answer<Uint8Array>;

/** A request for the name of a physical resource. */
export interface NamingRequest extends ResourceSubject {
    /** 32 random bytes. A plan keeps them: names that are drawn from them are those that the preview showed. */
    randomSeed: Uint8Array;
    /** True while previewing. */
    preview: boolean;
}

/** The name of one physical resource, as it is proposed to the provider. */
export interface ProposedName {
    /** The name; may be left out for the mode `disable` alone. */
    name?: string;
    /** How much the provider may differ from it; `propose` when absent. */
    mode?: Autonaming["mode"];
    /** The name would be the same again, so that a replacement must delete the old thing first. */
    deleteBeforeReplace?: boolean;
    /** Whether a warning is emitted for a provider that does not support proposed names. */
    warnIfUnsupported?: boolean;
}

/**
 * Names physical resources, in place of `pulumi:autonaming` of the configuration. Called concurrently, once for each registration
 * of a resource that is no component and no provider. A text proposes a name that the provider may change; `undefined` and
 * `null` leave the name to the provider. An exception ends the operation.
 */
export type Autonamer = (request: NamingRequest) => Answer<ProposedName | string | null | undefined | void>;

/** A host's own encryption of secrets. Called concurrently; the text of an exception must contain no secret. */
export interface Secrets {
    /** The name of its kind in states; states of another kind are opened with the passphrase. `host` when absent. */
    kind?: string;
    /** Recorded in states beside the name, for the engine that opens them next: any JSON value, never a key. */
    state?: unknown;
    /** Encrypts a batch, in order. */
    encrypt(plaintexts: string[]): Answer<readonly string[]>;
    /** Decrypts a batch, in order. */
    decrypt(ciphertexts: string[]): Answer<readonly string[]>;
}

/**
 * Wraps the data keys of stacks with the key of a key service. Called concurrently; the text of an exception must not contain the key.
 *
 * The engine makes a data key of 32 bytes for each new stack, encrypts the stack's secrets with it, and stores it as this object has
 * wrapped it, in the form of the reference engine's managers for key services. A data key is unwrapped once for each engine. `awsKms()`
 * returns one of AWS.
 */
export interface KeyService {
    /** The URL of the key for new stacks, `awskms://alias/shop` for instance. States and settings files record it. */
    readonly url: string;
    /** Encrypts a data key with the key that `url` names: that of a stack, or of its settings file. */
    wrapKey(url: string, key: Uint8Array): Answer<Uint8Array>;
    /** Decrypts what `wrapKey` returned, or what the reference engine has stored. */
    unwrapKey(url: string, wrapped: Uint8Array): Answer<Uint8Array>;
}

/** An object that the engine calls, with the methods that the native side defines. */
export interface HostObject {
    receive?(entry: string): unknown;
    stackOutputs?(stack: string): unknown;
    stackResourceOutputs?(stack: string): unknown;
    encrypt?(plaintexts: string[]): unknown;
    decrypt?(ciphertexts: string[]): unknown;
    fetch?(uri: string): unknown;
    proposeName?(request: NamingRequest): unknown;
    isInstalled?(plugin: ResolutionRequest, signal: AbortSignal): unknown;
    latestVersion?(plugin: ResolutionRequest, signal: AbortSignal): unknown;
    install?(plugin: ResolutionRequest, signal: AbortSignal): unknown;
    checkPolicy?(request: PolicyRequest): unknown;
    callFunction?(request: FunctionRequest, signal: AbortSignal): unknown;
    supply?(request: object): unknown;
    /** The run of the program whose function `callFunction` is. */
    readonly run?: Owner;
}

/** Keeps an exception as the cause of the operation's error. */
type Keep = (error: unknown) => void;

/**
 * Makes an object that receives a journal.
 * @internal
 */
export function journalHost(receive: JournalReceiver): HostObject {
    return {
        receive: (entry) =>
            answerOf(async () => {
                await receive(JSON.parse(entry) as JournalEntry);
                return {};
            }),
    };
}

/**
 * Makes an object that reads other stacks.
 * @internal
 */
export function stackReaderHost(reader: StackReader): HostObject {
    return {
        stackOutputs: (stack) => answerOf(async () => ({ values: await reader.stackOutputs(stack) })),
        stackResourceOutputs: (stack) => answerOf(async () => ({ values: await reader.stackResourceOutputs(stack) })),
    };
}

/**
 * Makes an object that fetches remote assets.
 * @internal
 */
export function fetchHost(fetch: Fetch): HostObject {
    return { fetch: (uri) => answerOf(async () => ({ content: await fetch(uri) })) };
}

/**
 * Makes an object that names physical resources.
 * @internal
 */
export function autonamerHost(autonamer: Autonamer, keep: (urn: string, error: unknown) => void): HostObject {
    return {
        proposeName: (request) =>
            answerOf(
                async () => ({ proposal: proposed(await autonamer(request)) }),
                (error) => keep(request.urn, error),
            ),
    };
}

const PROPOSED_NAME: Names<ProposedName> = { name: true, mode: true, deleteBeforeReplace: true, warnIfUnsupported: true };
const MODES: Names<{ [mode in Autonaming["mode"]]: true }> = { propose: true, enforce: true, disable: true };

/** Checks what an autonamer returned, and completes it. */
function proposed(answer: ProposedName | string | null | undefined | void): ProposedName | undefined {
    if (answer === undefined || answer === null) {
        return undefined;
    }
    if (typeof answer === "string") {
        return proposed({ name: answer });
    }
    if (typeof answer !== "object") {
        throw new InvalidInputError(`an autonamer returns an object, a text or nothing, not ${described(answer)}`);
    }
    refuseUnknown("a proposed name", answer, PROPOSED_NAME);
    const { name = "", mode = "propose" } = answer;
    if (!Object.hasOwn(MODES, mode)) {
        throw new InvalidInputError(`the mode of a name is one of ${Object.keys(MODES).join(", ")}, not "${mode}"`);
    }
    if (typeof name !== "string" || (name === "" && mode !== "disable")) {
        throw new InvalidInputError(`an autonamer returned the mode "${mode}" without a name`);
    }
    return { ...answer, name, mode };
}

/**
 * Makes an object that encrypts.
 * @internal
 */
export function secretsHost(secrets: Secrets | KeyService, keep: Keep): HostObject {
    if (isKeyService(secrets)) {
        return keyServiceHost(secrets, keep);
    }
    return {
        encrypt: (plaintexts) => answerOf(async () => ({ texts: await secrets.encrypt(plaintexts) }), keep),
        decrypt: (ciphertexts) => answerOf(async () => ({ texts: await secrets.decrypt(ciphertexts) }), keep),
    };
}

/**
 * Returns whether secrets are a key service.
 * @internal
 */
export function isKeyService(secrets: Secrets | KeyService): secrets is KeyService {
    return typeof secrets === "object" && secrets !== null && ("wrapKey" in secrets || "unwrapKey" in secrets);
}

/**
 * Refuses secrets without the methods of an encryption or of a key service.
 * @internal
 */
export function requireSecrets(secrets: Secrets | KeyService | undefined): void {
    if (secrets === undefined || !isKeyService(secrets)) {
        requireMethods("secrets", secrets, ["encrypt", "decrypt"]);
        return;
    }
    requireMethods("secrets", secrets, ["wrapKey", "unwrapKey"]);
    if (typeof secrets.url !== "string") {
        throw new InvalidInputError(`secrets takes a key service whose url is a string, not ${described(secrets.url)}`);
    }
}

/**
 * Makes an object that wraps data keys; the native side passes URL and key as texts.
 * @internal
 */
export function keyServiceHost(service: Pick<KeyService, "wrapKey" | "unwrapKey">, keep?: Keep): HostObject {
    const answer = (what: "wrapKey" | "unwrapKey", [url, key]: string[]): unknown =>
        answerOf(async () => {
            const returned: unknown = await service[what](url as string, Buffer.from(key as string, "base64"));
            if (!(returned instanceof Uint8Array)) {
                throw new InvalidInputError(`secrets.${what} returns a Buffer or Uint8Array, not ${described(returned)}`);
            }
            return { texts: [Buffer.from(returned).toString("base64")] };
        }, keep);
    return { encrypt: (texts) => answer("wrapKey", texts), decrypt: (texts) => answer("unwrapKey", texts) };
}

/**
 * Returns the answer of a host's method, or `refused` with the message and the kind of its exception.
 * @internal
 */
export async function answerOf<T extends object>(answer: () => Promise<T>, keep?: Keep): Promise<T | { refused: object }> {
    try {
        return await answer();
    } catch (error) {
        keep?.(error);
        return { refused: { message: fullTextOf(error), ...(isA(error, StackwrightError) ? { code: error.kind } : {}) } };
    }
}
