/** Options as the engine reads them: URNs and references in the place of resources. */
import type { Alias } from "./documents";
import { Output } from "./output";
import { type AnyResource, Resource } from "./resource";

/** The protocol's text in place of a provider's unknown id. */
const UNKNOWN_ID = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Returns one or several as a list. */
export function listed<T>(one: T | readonly T[]): readonly T[] {
    return Array.isArray(one) ? (one as readonly T[]) : [one as T];
}

/** Returns the URN of a resource, which can be its URN already. */
export async function urnOf(resource: AnyResource | string): Promise<string> {
    return typeof resource === "string" ? resource : (await resource).urn;
}

/** Returns an alias with a URN as its parent. */
export async function aliasOf(alias: string | Alias): Promise<unknown> {
    return typeof alias === "string" || !(alias.parent instanceof Resource) ? alias : { ...alias, parent: await urnOf(alias.parent) };
}

/** Adds URNs to a list of settings, each once. */
export function addTo(settings: { [name: string]: unknown }, name: string, urns: string[]): void {
    settings[name] = [...new Set([...((settings[name] as string[] | undefined) ?? []), ...urns])];
}

/** Returns the URNs of resources, those of components with all resources below them. */
export async function urnsOf(named: readonly (AnyResource | Output<unknown> | string)[]): Promise<string[]> {
    const urns = new Set<string>();
    const collect = async (one: AnyResource | Output<unknown> | string): Promise<unknown> => {
        if (typeof one === "string") {
            return urns.add(one);
        }
        const sources = one instanceof Output ? [...(await one.traced).sources] : [one];
        return Promise.all(sources.map((source) => source.collect(urns)));
    };
    await Promise.all(named.map(collect));
    return [...urns];
}

/** Returns the reference of a provider resource, which can be its reference already. */
export async function providerReference(provider: AnyResource | string): Promise<string> {
    if (typeof provider === "string") {
        return provider;
    }
    const { urn, id } = await provider;
    return `${urn}::${id ?? UNKNOWN_ID}`;
}
