/** Options as the engine reads them: URNs and references in the place of resources. */
import type { Alias, ResourceOptions } from "./documents";
import { toPlainJson } from "./json";
import { type Inputs, type Origin, Output, resolve } from "./output";
import { type AnyResource, Resource } from "./resource";
import type { PropertyMap } from "./values";

/** The protocol's text in place of an unknown id. */
export const UNKNOWN_ID = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Returns one or several as a list. */
function listed<T>(one: T | readonly T[]): readonly T[] {
    return Array.isArray(one) ? (one as readonly T[]) : [one as T];
}

/** Returns the URN of a resource, which can be its URN already. */
export async function urnOf(resource: AnyResource | string): Promise<string> {
    return typeof resource === "string" ? resource : (await resource).urn;
}

/** Returns an alias with a URN as its parent. */
async function aliasOf(alias: string | Alias): Promise<unknown> {
    return typeof alias === "string" || !(alias.parent instanceof Resource) ? alias : { ...alias, parent: await urnOf(alias.parent) };
}

/** Adds URNs to a list of settings, each once. */
export function addTo(settings: { [name: string]: unknown }, name: string, urns: string[]): void {
    settings[name] = [...new Set([...((settings[name] as string[] | undefined) ?? []), ...urns])];
}

/** Returns the URNs of resources and other origins, those of components with all resources below them. */
export async function urnsOf(origins: readonly (Origin | Output<unknown> | string)[]): Promise<string[]> {
    const urns = new Set<string>();
    const collect = async (one: Origin | Output<unknown> | string): Promise<unknown> => {
        if (typeof one === "string") {
            return urns.add(one);
        }
        const sources = one instanceof Output ? [...(await one.traced).sources] : [one];
        return Promise.all(sources.map((source) => source.collect(urns)));
    };
    await Promise.all(origins.map(collect));
    return [...urns];
}

/** Returns the reference of a provider resource, which can be its reference already. */
async function providerReference(provider: AnyResource | string): Promise<string> {
    if (typeof provider === "string") {
        return provider;
    }
    const { urn, id } = await provider;
    return `${urn}::${id ?? UNKNOWN_ID}`;
}

/** Makes the registration's settings of options: resources become URNs and references. */
export async function settingsOf(options: ResourceOptions): Promise<{ [name: string]: unknown }> {
    const { parent, dependsOn, provider, providers, aliases, deletedWith, replaceWith, replacementTrigger, ...rest } = options;
    const settings: { [name: string]: unknown } = { ...rest };
    if (parent !== undefined) {
        settings["parent"] = await urnOf(parent);
    }
    if (dependsOn !== undefined) {
        settings["dependencies"] = await urnsOf(listed(dependsOn));
    }
    if (provider !== undefined) {
        settings["provider"] = await providerReference(provider);
    }
    if (providers !== undefined) {
        const entries = Object.entries(providers).map(
            async ([name, resource]) => [name, await providerReference(resource)] as const,
        );
        settings["providers"] = Object.fromEntries(await Promise.all(entries));
    }
    if (aliases !== undefined) {
        settings["aliases"] = await Promise.all(aliases.map(aliasOf));
    }
    if (deletedWith !== undefined) {
        settings["deletedWith"] = await urnOf(deletedWith);
    }
    if (replaceWith !== undefined) {
        settings["replaceWith"] = await Promise.all(listed(replaceWith).map(urnOf));
    }
    if (replacementTrigger !== undefined) {
        const { value } = await resolve(replacementTrigger, "the values of replacementTrigger");
        settings["replacementTrigger"] = toPlainJson(value);
    }
    return settings;
}

/** Values by name, with the URNs of the resources that each comes from. */
export interface Named {
    readonly values: PropertyMap;
    readonly dependencies: { readonly [name: string]: string[] };
}

/** Awaits values by name; `whatOf` names one of them in errors. */
export async function named(inputs: Inputs, whatOf: (name: string) => string): Promise<Named> {
    const values: PropertyMap = {};
    const dependencies: { [name: string]: string[] } = {};
    await Promise.all(
        Object.keys(inputs).map(async (name) => {
            const traced = await resolve(inputs[name], whatOf(name));
            values[name] = traced.value;
            dependencies[name] = await urnsOf([...traced.sources]);
        }),
    );
    return { values, dependencies };
}
