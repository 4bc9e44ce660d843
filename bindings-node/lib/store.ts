/** Stores of the host: named objects with conditional writes, in which an engine keeps the states of its stacks; and credentials. */
import type { StoreCredentials } from "./documents";
import { InvalidInputError } from "./errors";
import { answerOf, type HostObject } from "./host";
import { jsonOf } from "./json";
import { described, requireMethods } from "./options";

type Answer<T> = T | PromiseLike<T>;

/** An object as it was read. */
export interface StoredObject {
    content: Uint8Array;
    /** What distinguishes this content from others that the object had or will have: a counter, or a hash of the whole history. */
    version: string;
}

/** An object in a listing. */
export interface ObjectInfo {
    /** The full key. */
    key: string;
    /** The length of its content in bytes. */
    size: number;
    /** The time of its last write. */
    modified: Date;
}

/**
 * The condition of a write: none, that there is no object, or that the object has this version. What is tested and what is written
 * must be one step, whichever other host writes at that time.
 */
export type Condition =
    | { readonly kind: "any" }
    | { readonly kind: "absent" }
    | { readonly kind: "match"; readonly version: string };

/**
 * A store of the host. Keys are strings of segments with `/` between them.
 *
 * It has the states of stacks, their journals and their leases, as a bucket has: several hosts can use it at once. A write is durable
 * when its method returns, and what was written is read from then on. Methods are called concurrently, and none is called once
 * `close()` of the engine has resolved.
 *
 * What they throw becomes an `UnavailableError` that names the method and the key; a call without an answer does after two
 * minutes. A write that threw may have been done.
 */
export interface Store {
    /** Names the store in messages, instead of its class. */
    readonly url?: string;
    /** Reads an object; `undefined` or `null` when there is none. */
    get(key: string): Answer<StoredObject | null | undefined>;
    /**
     * Replaces an object as a whole if the condition holds, and returns the new version.
     * @throws {ConflictError} The condition does not hold. Nothing is changed then.
     */
    put(key: string, content: Uint8Array, condition: Condition): Answer<string>;
    /** Returns the objects whose keys start with `prefix`, in any order. */
    list(prefix: string): Answer<Iterable<ObjectInfo>>;
    /** Removes an object; does nothing when there is none. */
    delete(key: string): Answer<unknown>;
    /**
     * Copies the content of an object, in place of that of another. Without this method, objects are read and written.
     * @throws {NotFoundError} There is no such object.
     */
    copy?(source: string, target: string): Answer<unknown>;
}

/**
 * Returns credentials. It is called when a store is used first, and again one minute before `expires` of what it returned; without
 * `expires`, one minute after that. Calls do not overlap. What it throws fails the request of the store that needed the credentials;
 * its text must contain no secret.
 */
export type CredentialSource = () => Answer<StoreCredentials>;

/** A call of a store as the native side makes it. */
export interface StoreRequest {
    method: "get" | "put" | "list" | "delete" | "copy";
    key: string;
    content?: Uint8Array;
    condition?: Condition;
    target?: string;
}

/** The parts of an answer: what a method returned as a text is JSON. */
interface StoreAnswer {
    content?: Uint8Array;
    version?: string;
    text?: string;
}

/**
 * Returns whether the option is a store of the host, and refuses an object that is none.
 * @internal
 */
export function isHostStore(store: unknown): store is Store {
    if (typeof store === "function") {
        const hint = store.name === "" ? "" : `, new ${store.name}()`;
        throw new InvalidInputError(`store is a class or a function; pass an instance${hint}`);
    }
    if (typeof store !== "object" || store === null) {
        return false;
    }
    requireMethods("store", store, ["get", "put", "list", "delete"]);
    const { url } = store as { url?: unknown };
    if (url !== undefined && typeof url !== "string") {
        throw new InvalidInputError(`url of the store is a string, not ${described(url)}`);
    }
    return true;
}

/**
 * Returns the name of a store in messages.
 * @internal
 */
export function nameOfStore(store: Store): string {
    const { constructor } = store as { constructor?: { name?: unknown } };
    return store.url ?? (typeof constructor?.name === "string" ? constructor.name : "");
}

/**
 * Makes an object that calls a store.
 * @internal
 */
export function storeHost(store: Store): HostObject {
    return { supply: (request) => answerOf(async () => use(store, request as StoreRequest)) };
}

async function use(store: Store, { method, key, content, condition, target }: StoreRequest): Promise<StoreAnswer> {
    switch (method) {
        case "get":
            return stored(await store.get(key));
        case "put":
            return { version: versionOf(await store.put(key, content!, condition!)) };
        case "list":
            return { text: listed(await store.list(key)) };
        case "delete":
            await store.delete(key);
            return {};
        case "copy":
            await store.copy!(key, target!);
            return {};
    }
}

function stored(returned: StoredObject | null | undefined): StoreAnswer {
    if (returned === null || returned === undefined) {
        return {};
    }
    const wanted = "{ content: Uint8Array, version: string }, undefined or null";
    if (typeof returned !== "object") {
        throw new InvalidInputError(`it returned ${described(returned)}, not ${wanted}`);
    }
    const { content, version } = returned;
    if (!(content instanceof Uint8Array) || typeof version !== "string") {
        const parts = `{ content: ${described(content)}, version: ${described(version)} }`;
        throw new InvalidInputError(`it returned ${parts}, not ${wanted}`);
    }
    return { content, version };
}

function versionOf(returned: unknown): string {
    if (typeof returned !== "string" || returned === "") {
        const given = returned === "" ? "an empty string" : described(returned);
        const hint = "a condition that does not hold is a ConflictError";
        throw new InvalidInputError(`it returned ${given}, not the new version (a string); ${hint}`);
    }
    return returned;
}

function listed(returned: unknown): string {
    const wanted = "objects with key (a string), size (a number) and modified (a Date)";
    const isIterable = typeof (returned as Partial<Iterable<unknown>> | null | undefined)?.[Symbol.iterator] === "function";
    if (!isIterable || typeof returned === "string") {
        throw new InvalidInputError(`it returned ${described(returned)}, not ${wanted}`);
    }
    const objects = Array.from(returned as Iterable<Partial<ObjectInfo> | null | undefined>, (object) => {
        const { key, size, modified } = object ?? {};
        const isRight = typeof key === "string" && Number.isSafeInteger(size) && size! >= 0;
        if (!isRight || !(modified instanceof Date) || Number.isNaN(modified.getTime())) {
            throw new InvalidInputError(`it returned a list in which one is ${described(object)}, not ${wanted}`);
        }
        return { key, size, modified: modified.toISOString() };
    });
    return jsonOf(objects, "the list");
}

/**
 * Makes an object that returns credentials.
 * @internal
 */
export function credentialsHost(source: CredentialSource): HostObject {
    return {
        supply: () =>
            answerOf(async () => {
                const returned = await source();
                if (typeof returned !== "object" || returned === null) {
                    throw new InvalidInputError(`it returned ${described(returned)}, not an object with credentials`);
                }
                return { text: jsonOf(plainCredentials(returned), "credentials") };
            }),
    };
}

/**
 * Returns credentials with their end as a text.
 * @internal
 */
export function plainCredentials(credentials: StoreCredentials): object {
    const { expires } = credentials;
    const isTime = expires instanceof Date && !Number.isNaN(expires.getTime());
    return isTime ? { ...credentials, expires: expires.toISOString() } : credentials;
}
