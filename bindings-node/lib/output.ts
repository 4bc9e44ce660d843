/** Values that come from resources: they carry the resources that they came from. */
import { brandOf, isResource, OUTPUT_BRAND } from "./brands";
import { DEPTH_LIMIT, explained, TOO_DEEP } from "./cycles";
import { inspectAs } from "./inspection";
import type { AnyResource } from "./resource";
import { currentTrace, Trace } from "./tracing";
import { isSecret, isUnknown, type PropertyValue, Secret, withoutOutputs } from "./values";

/** What a program can pass as an input: values, outputs, resources, and promises of them, at any depth. */
export type Input =
    | PropertyValue
    | Output<unknown>
    | AnyResource
    | PromiseLike<Input>
    | readonly Input[]
    | { readonly [name: string]: Input };

/** Inputs by name. */
export type Inputs = { readonly [name: string]: Input };

/** What a value comes from: a resource, or resources by their URNs. */
export interface Origin {
    /** Adds the URNs that a dependency on this stands for. */
    collect(urns: Set<string>): Promise<void>;
}

/** Resources of which only the URNs are known. */
export class KnownOrigin implements Origin {
    constructor(readonly urns: Iterable<string>) {}

    async collect(urns: Set<string>): Promise<void> {
        for (const urn of this.urns) {
            urns.add(urn);
        }
    }
}

/** A settled value, and what it came from. */
export interface Traced {
    value: PropertyValue;
    sources: ReadonlySet<Origin>;
}

/**
 * Delays the program's end until a promise has settled. Its failure fails the program unless `observed` returns true.
 * @internal
 */
export type Track = (promise: Promise<unknown>, observed: () => boolean) => void;

/** A value that is known later. Awaiting it gives the value, which may be a `Secret` or, in a preview, an `Unknown`. */
export class Output<T = PropertyValue> implements PromiseLike<T> {
    /** @internal */
    readonly traced: Promise<Traced>;
    readonly #observe: () => void;
    readonly #track: Track;

    /** @internal `observe` marks failures of the value's sources as handled. */
    constructor(traced: Promise<Traced>, observe: () => void, track: Track) {
        this.traced = traced;
        this.#observe = observe;
        this.#track = track;
        // A failure rejects the `await` of the output. Without one, the program's end reports the failures of its sources.
        traced.catch(() => undefined);
    }

    static {
        // The value can be secret, and what it comes from is known with it.
        inspectAs(this, () => "");
    }

    then<A = T, B = never>(
        fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
        rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
    ): Promise<A | B> {
        this.#observe();
        const trace = currentTrace();
        return this.traced
            .then(({ value, sources }) => {
                trace?.add(value, sources);
                return value as T;
            })
            .then(fulfilled, rejected);
    }

    /**
     * Makes another output of this one's value. Unknown values stay unknown, and what is made of a secret is one. What the
     * function returns may be or hold outputs: all that they come from is carried on, as is that of outputs and resources
     * which the function awaits.
     */
    apply<U>(make: (value: T extends Secret<infer V> ? V : T) => U | PromiseLike<U>): Output<Awaited<U>> {
        return this.derive(
            this.traced.then(async ({ value, sources }) => {
                if (isUnknown(value)) {
                    return { value, sources };
                }
                const plain = isSecret(value) ? value.value : value;
                if (isUnknown(plain)) {
                    return { value, sources };
                }
                const trace = new Trace();
                trace.add(value, sources);
                return trace.close(await trace.run(() => take(make(plain as never))));
            }),
        );
    }

    /** @internal Makes an output that is derived from this one; as with promises, the failure of each is handled separately. */
    derive<U>(traced: Promise<Traced>): Output<U> {
        let observed = false;
        this.#track(traced, () => observed);
        const observe = () => {
            observed = true;
            this.#observe();
        };
        return new Output<U>(traced, observe, this.#track);
    }

    /** @internal Returns the value with its sources, for a caller that handles failures. */
    take(): Promise<Traced> {
        this.#observe();
        return this.traced;
    }

    /** Returns the output of one property of an object, or of one element of a list. */
    get(name: string | number): Output {
        return (this as Output<unknown>).apply((value) => {
            const found = (value as { [name: string]: PropertyValue } | null)?.[name];
            return found ?? null;
        }) as Output;
    }

    toString(): never {
        throw new Error("an output is not a text: use apply(), or await it");
    }

    toJSON(): never {
        throw new Error("an output is not JSON: make the JSON of its value with apply(), or await it");
    }
}

/** Awaits what a function of `apply()` has returned; what it awaits on the way is recorded for that function. */
async function take(made: unknown): Promise<Traced> {
    return made instanceof Output ? made.take() : resolve((await made) as Input);
}

/**
 * Returns whether a value need not be awaited or traced before it can be sent.
 * @throws {TOO_DEEP} It is nested too deep, perhaps because it contains itself.
 */
export function isPlain(value: Input, depth = 0): boolean {
    if (typeof value !== "object" || value === null) {
        return true;
    }
    if (depth > DEPTH_LIMIT) {
        throw TOO_DEEP;
    }
    if (value instanceof Output || isResource(value) || isPromise(value)) {
        return false;
    }
    if (Array.isArray(value)) {
        return value.every((element) => isPlain(element, depth + 1));
    }
    if (isSecret(value)) {
        return isPlain(value.value, depth + 1);
    }
    const brand = brandOf(value);
    if (brand !== undefined || ArrayBuffer.isView(value)) {
        return brand !== OUTPUT_BRAND;
    }
    for (const name in value) {
        if (!isPlain((value as { [name: string]: Input })[name], depth + 1)) {
            return false;
        }
    }
    return true;
}

/**
 * Awaits all that is in an input and collects the resources that it came from. `what` names the input in the error of
 * one that contains itself or is nested too deep.
 */
export async function resolve(input: Input, what = "values"): Promise<Traced> {
    const sources = new Set<Origin>();
    try {
        return { value: await settle(input, sources), sources };
    } catch (error) {
        throw error === TOO_DEEP ? explained(input, what) : error;
    }
}

/** A value that contains the current one, and its own holder. */
interface Holder {
    readonly value: unknown;
    readonly holder: Holder | undefined;
    readonly depth: number;
}

async function settle(input: Input, sources: Set<Origin>, holder?: Holder): Promise<PropertyValue> {
    if (isPlain(input)) {
        return input as PropertyValue;
    }
    for (let above = holder; above !== undefined; above = above.holder) {
        if (above.value === input || above.depth > DEPTH_LIMIT) {
            throw TOO_DEEP;
        }
    }
    const here = { value: input, holder, depth: (holder?.depth ?? 0) + 1 };
    if (input instanceof Output) {
        const traced = await input.traced;
        for (const source of traced.sources) {
            sources.add(source);
        }
        return traced.value;
    }
    if (isResource(input)) {
        sources.add(input);
        return input.reference();
    }
    if (brandOf(input) === OUTPUT_BRAND) {
        const urns = new Set<string>();
        const value = withoutOutputs(input as PropertyValue, urns);
        sources.add(new KnownOrigin(urns));
        return value;
    }
    if (isPromise(input)) {
        return settle((await (input as PromiseLike<unknown>)) as Input, sources, here);
    }
    if (Array.isArray(input)) {
        return Promise.all(input.map((element: Input) => settle(element, sources, here)));
    }
    if (isSecret(input)) {
        return new Secret(await settle(input.value, sources, here));
    }
    const names = Object.keys(input as object);
    const values = await Promise.all(names.map((name) => settle((input as Inputs)[name], sources, here)));
    return Object.fromEntries(names.map((name, index) => [name, values[index]]));
}

function isPromise(value: unknown): value is PromiseLike<Input> {
    return typeof (value as { then?: unknown }).then === "function";
}

