/** The world of a simulation: what simulated providers have created, and what a test changes by hand. */
import { guarded, InvalidInputError } from "../errors";
import { inspectAs } from "../inspection";
import { type Native, native } from "../native";
import type { PropertyMap, PropertyValue } from "../values";
import { found, patternOf } from "./resources";
import { membersOf, requireText } from "./settings";

interface Members {
    type: string;
    id: string;
    urn: string | null;
    name: string;
    properties: PropertyMap;
}

/** What reads the world: the simulation, and the bridge of its engine. @internal */
export interface WorldSource {
    simulation: Native.Simulation;
    bridge(): Native.Bridge;
}

function thingsOf(source: WorldSource): Members[] {
    return guarded(() => source.simulation.things(source.bridge())).things as Members[];
}

/** A thing in the world. What is set here changes by hand, as in a console of the cloud: a refresh finds it, and the program does not know. */
export class Thing {
    readonly #source: WorldSource;
    /** The type of its resource. */
    readonly type: string;
    /** Its id. */
    readonly id: string;
    /** The name of the resource; the id for what the program has not created. */
    readonly name: string;
    /** The URN of the resource that it was created for. */
    readonly urn: string | null;

    /** @internal */
    constructor(source: WorldSource, members: Members) {
        this.#source = source;
        this.type = members.type;
        this.id = members.id;
        this.name = members.name;
        this.urn = members.urn;
    }

    static {
        inspectAs(this, (thing) => `${thing.type} ${thing.name} ${thing.id}`);
    }

    /** Its present properties. */
    get properties(): PropertyMap {
        const own = thingsOf(this.#source).find((members) => members.type === this.type && members.id === this.id);
        if (own === undefined) {
            throw new InvalidInputError(`the ${this.type} with the id ${this.id} does not exist any more`);
        }
        return own.properties;
    }

    /** Returns a property. */
    get(name: string): PropertyValue | undefined {
        return this.properties[name];
    }

    /** Sets a property by hand. */
    set(name: string, value: PropertyValue): void {
        if (!guarded(() => this.#source.simulation.change(this.type, this.id, name, value))) {
            void this.properties;
        }
    }

    /** Removes a property by hand. */
    unset(name: string): void {
        this.#source.simulation.unset(this.type, this.id, name);
    }

    /** Removes the thing by hand. */
    remove(): void {
        this.#source.simulation.remove(this.type, this.id);
    }
}

/** The things that exist. They are found by patterns as `Resources` are, and by their ids. */
export class World implements Iterable<Thing> {
    readonly #source: WorldSource;

    /** @internal */
    constructor(source: WorldSource) {
        this.#source = source;
    }

    #things(): [Thing[], string[]] {
        const things = thingsOf(this.#source).map((members) => new Thing(this.#source, members));
        return [things, things.map((thing) => thing.urn ?? `urn:pulumi:world::world::${thing.type}::${thing.name}`)];
    }

    /** How many there are. */
    get size(): number {
        return thingsOf(this.#source).length;
    }

    static {
        inspectAs(this, (world) => [...world].map((thing) => thing.name).join(", "));
    }

    [Symbol.iterator](): Iterator<Thing> {
        return this.#things()[0][Symbol.iterator]();
    }

    /**
     * Returns the one thing of a type and a name, or that one pattern or id names.
     * @throws {InvalidInputError} There is none, or more than one; the message has the nearest names.
     */
    find(type: string, name?: string): Thing {
        const [things, urns] = this.#things();
        const ofId = things.filter((thing) => name === undefined && thing.id === type);
        return ofId.length === 1 ? ofId[0]! : found(patternOf(type, name), urns, things, "things in the world");
    }

    /** Returns whether a pattern or an id names a thing. */
    has(pattern: string): boolean {
        const [things, urns] = this.#things();
        return things.some((thing) => thing.id === pattern) || guarded(() => native.findResources(pattern, urns)).places.length > 0;
    }

    /**
     * Adds a thing that the program has not created: for reads and imports.
     * @throws {InvalidInputError} There is a thing of this type and id.
     */
    add(type: string, id: string, properties: PropertyMap): Thing {
        requireText("type", type);
        requireText("id", id);
        membersOf("properties", properties, "an object of values by names");
        if ([...this].some((thing) => thing.type === type && thing.id === id)) {
            const advice = "find() returns it, and set() changes its properties";
            throw new InvalidInputError(`the world has a ${type} with the id "${id}" already; ${advice}`);
        }
        guarded(() => this.#source.simulation.put(type, id, properties));
        return [...this].find((thing) => thing.type === type && thing.id === id)!;
    }
}
