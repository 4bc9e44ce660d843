/** Resources of our own API: registered as soon as they are made, whether or not they are awaited. */
import { RESOURCE_BRAND } from "./brands";
import { inspectAs } from "./inspection";
import { KnownOrigin, type Origin, Output, type Traced, type Track } from "./output";
import { currentTrace } from "./tracing";
import { type PropertyMap, ResourceReference, Unknown } from "./values";

/** A resource as the engine answered it. */
export interface Registered<Outputs extends object = PropertyMap> {
    readonly urn: string;
    /** Absent for components, and in previews while it is not known. */
    readonly id?: string;
    /** The outputs, with secrets wrapped. */
    readonly outputs: Outputs;
    /** True when what is not in `outputs` is not known: in previews, and after a failure that did not end the operation. */
    readonly unknown: boolean;
    /** True when the resource failed and the operation went on. */
    readonly failed: boolean;
    /** True when it was not worked on at all, because something that it depends on failed; `failed` is true as well. */
    readonly skipped: boolean;
    /** @internal What each output of a remote component depends on, beside the component. */
    readonly dependencies?: { readonly [output: string]: readonly string[] };
}

/** The answers that code has awaited. */
const awaited = new WeakSet<object>();

/**
 * Returns whether a value is what awaiting a resource gives: its `Registered`.
 * @internal
 */
export function isAnswer(value: unknown): boolean {
    return typeof value === "object" && value !== null && awaited.has(value);
}

/** A resource with outputs of any types. */
export type AnyResource = Resource<object>;

/**
 * A resource. Awaiting it gives its `Registered`; passing it on, or a `get()` of it, needs no await.
 *
 * The types of its outputs are those that the program declares, `resource<{ address: string }>(…)`; they are not checked when
 * it runs.
 */
export class Resource<Outputs extends object = PropertyMap> implements PromiseLike<Registered<Outputs>> {
    /** The components and resources below this one. */
    readonly #children: AnyResource[] = [];
    /** @internal The engine's answer. Awaiting the resource itself marks failures as handled. */
    readonly answer: Promise<Registered<Outputs>>;
    /** True when the program handles a failure. */
    #observed = false;
    readonly #track: Track;
    /** @internal The answer, once it is there. */
    registered: Registered<Outputs> | undefined;

    /** @internal */
    constructor(
        readonly type: string,
        readonly name: string,
        /** True when a provider manages it, false for components. */
        readonly custom: boolean,
        answer: Promise<Registered<Outputs>>,
        parent: AnyResource | undefined,
        /** True in previews, where outputs that are not there are not known yet. */
        readonly dryRun: boolean,
        track: Track,
    ) {
        this.answer = answer;
        this.#track = track;
        track(answer, () => this.#observed);
        if (parent !== undefined) {
            parent.#children.push(this);
        }
        answer.then(
            (registered) => (this.registered = registered),
            // The program's end reports failures that were not observed.
            () => undefined,
        );
    }

    static {
        inspectAs(this, (resource) => `${resource.type} ${JSON.stringify(resource.name)}`);
    }

    then<A = Registered<Outputs>, B = never>(
        fulfilled?: ((value: Registered<Outputs>) => A | PromiseLike<A>) | null,
        rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
    ): Promise<A | B> {
        this.#observed = true;
        currentTrace()?.add(undefined, [this]);
        const answered =
            typeof fulfilled === "function" &&
            ((registered: Registered<Outputs>) => {
                awaited.add(registered);
                return fulfilled(registered);
            });
        return this.answer.then(answered || undefined, rejected) as Promise<A | B>;
    }

    /** The URN. */
    get urn(): Output<string> {
        return this.#output((registered) => registered.urn) as Output<string>;
    }

    /** The id. */
    get id(): Output<string> {
        return this.#output((registered) => registered.id ?? new Unknown()) as Output<string>;
    }

    /** All outputs. */
    get outputs(): Output<Outputs> {
        return this.#output((registered) => registered.outputs as PropertyMap) as Output<Outputs>;
    }

    /**
     * Returns one output; a resource that uses it depends on this one. An output that the resource does not have is `null`, as
     * are those that a provider leaves out; in previews it is unknown, and so is each output of a resource that failed.
     */
    get<Name extends string & keyof Outputs>(name: Name): Output<Outputs[Name]> {
        return this.#output((registered) => {
            const value = (registered.outputs as PropertyMap)[name];
            if (value !== undefined) {
                return value;
            }
            return registered.unknown || registered.failed || this.dryRun ? new Unknown() : null;
        }, name) as Output<Outputs[Name]>;
    }

    toString(): never {
        throw new Error(`${this.#named()} is not a text: use its urn, its id or an output of it, with apply() or await`);
    }

    toJSON(): never {
        throw new Error(`${this.#named()} is not JSON: make the JSON of its outputs with apply(), or await them`);
    }

    #named(): string {
        return `the resource "${this.name}" (${this.type})`;
    }

    /** Returns a value of the resource, or the output with a name. */
    #output(take: (registered: Registered<Outputs>) => Traced["value"], name?: string): Output<unknown> {
        const whole = new Set<Origin>([this]);
        const sourcesOf = ({ urn, dependencies }: Registered<Outputs>): Set<Origin> => {
            // An output of a remote component comes from other resources than the next one.
            const isPart = name !== undefined && dependencies !== undefined;
            return isPart ? new Set([new KnownOrigin([urn, ...(dependencies[name] ?? [])])]) : whole;
        };
        // Only awaiting an output marks failures as handled, not taking one.
        return new Output(
            this.answer.then((registered) => ({ value: take(registered), sources: sourcesOf(registered) })),
            () => (this.#observed = true),
            this.#track,
        );
    }

    /** @internal */
    async reference(): Promise<ResourceReference> {
        const registered = await this.answer;
        return new ResourceReference(
            registered.urn,
            this.custom ? (registered.id ?? new Unknown()) : undefined,
        );
    }

    /** @internal Collects the URNs that a dependency on this resource stands for: a component's are those below it. */
    async collect(urns: Set<string>): Promise<void> {
        const { urn, dependencies = {} } = await this.answer;
        if (urns.has(urn)) {
            return;
        }
        urns.add(urn);
        Object.values(dependencies).flat().forEach((dependency) => urns.add(dependency));
        if (!this.custom) {
            await Promise.all(this.#children.map((child) => child.collect(urns)));
        }
    }
}

Object.defineProperty(Resource.prototype, RESOURCE_BRAND, { value: true });

/** A component: a resource that groups others, and whose outputs the program itself registers. */
export class Component extends Resource {
    readonly #register: (component: Component, outputs: object) => Promise<void>;

    /** @internal */
    constructor(
        type: string,
        name: string,
        answer: Promise<Registered>,
        parent: AnyResource | undefined,
        dryRun: boolean,
        track: Track,
        register: (component: Component, outputs: object) => Promise<void>,
    ) {
        super(type, name, false, answer, parent, dryRun, track);
        this.#register = register;
    }

    static {
        inspectAs(this, (component) => `${component.type} ${JSON.stringify(component.name)}`);
    }

    /** Registers the component's outputs: it is complete then. */
    registerOutputs(outputs: import("./output").Inputs = {}): Promise<void> {
        return this.#register(this, outputs);
    }
}
