/** The resources of a simulated stack, as data. */
import type { ResourceRecord } from "../documents";
import { guarded, InvalidInputError } from "../errors";
import { inspectAs } from "../inspection";
import { native } from "../native";
import { type OutputValue, type PropertyMap, type PropertyValue, secret } from "../values";

/**
 * Returns the pattern of a type and a name, or of one of both.
 * @internal
 */
export function patternOf(type: string, name: string | undefined): string {
    if (typeof type !== "string") {
        throw new InvalidInputError("a resource is found by a string: its name, type, type::name or URN");
    }
    return name === undefined ? type : `${type}::${name}`;
}

/**
 * Returns the one item that a pattern names; throws an error with the nearest names when it names none or several.
 * @internal
 */
export function found<T>(pattern: string, urns: readonly string[], items: readonly T[], what: string): T {
    const { places, near } = guarded(() => native.findResources(pattern, [...urns]));
    if (places.length === 1) {
        return items[places[0]!]!;
    }
    if (places.length > 1) {
        const names = places.map((place) => urns[place]).join("\n  ");
        throw new InvalidInputError(`"${pattern}" names ${places.length} ${what}; name one of them by its type and name:\n  ${names}`);
    }
    const hint = near.length === 0 ? "" : `; did you mean ${near.map((name) => `"${name}"`).join(" or ")}?`;
    const known = urns.map((urn) => {
        const [, , types, ...name] = urn.split("::");
        return `${types!.split("$").at(-1)}::${name.join("::")}`;
    });
    throw new InvalidInputError(`"${pattern}" names none of the ${what}${hint}\nthere are:\n  ${known.join("\n  ") || "none"}`);
}

function valuesOf(values: { readonly [name: string]: OutputValue }): PropertyMap {
    return Object.fromEntries(
        Object.entries(values).map(([name, output]): [string, PropertyValue] => [name, output.secret ? secret(output.value) : output.value]),
    );
}

/** A resource of a simulated stack. */
export class SimulatedResource {
    /** The type. */
    readonly type: string;
    /** The name. */
    readonly name: string;
    /** The URN. */
    readonly urn: string;
    /** The id; empty for components, and in previews while it is not known. */
    readonly id: string;
    /** The inputs by name, secret ones as a `Secret`. */
    readonly inputs: PropertyMap;
    /** The outputs by name, likewise. In previews, those that are not known are `Unknown`. */
    readonly outputs: PropertyMap;
    /** The URN of its parent. */
    readonly parent: string | null;
    /** The URNs of the resources that it depends on. */
    readonly dependencies: readonly string[];
    /** Whether its deletion is refused. */
    readonly protect: boolean;
    /** All that the state has of it. */
    readonly record: ResourceRecord;

    /** @internal */
    constructor(record: ResourceRecord) {
        this.type = record.type;
        this.name = record.name;
        this.urn = record.urn;
        this.id = record.id;
        this.inputs = valuesOf(record.inputs);
        this.outputs = valuesOf(record.outputs);
        this.parent = record.parent;
        this.dependencies = record.dependencies;
        this.protect = record.protect;
        this.record = record;
    }
}

/**
 * The resources that a program has registered, each after those that it depends on. Patterns are names, types (with a `:`),
 * `type::name` or URNs; `*` in them is any text.
 */
export class Resources implements Iterable<SimulatedResource> {
    readonly #resources: readonly SimulatedResource[];

    /** @internal */
    constructor(resources: readonly SimulatedResource[]) {
        this.#resources = resources;
    }

    /** How many there are. */
    get size(): number {
        return this.#resources.length;
    }

    /** The names, in order. */
    get names(): string[] {
        return this.#resources.map((resource) => resource.name);
    }

    static {
        inspectAs(this, (resources) => resources.names.join(", "));
    }

    [Symbol.iterator](): Iterator<SimulatedResource> {
        return this.#resources[Symbol.iterator]();
    }

    /**
     * Returns the one resource of a type and a name, or that one pattern names.
     * @throws {InvalidInputError} There is none, or more than one; the message has the nearest names.
     */
    find(type: string, name?: string): SimulatedResource {
        const urns = this.#resources.map((resource) => resource.urn);
        return found(patternOf(type, name), urns, this.#resources, "resources");
    }

    /** Returns whether a pattern names a resource. */
    has(pattern: string): boolean {
        const urns = this.#resources.map((resource) => resource.urn);
        return guarded(() => native.findResources(pattern, urns)).places.length > 0;
    }

    /** Returns those of a type; `*` in it is any text. */
    ofType(type: string): Resources {
        return new Resources(this.#resources.filter((resource) => native.matchesType(type, resource.type)));
    }
}
