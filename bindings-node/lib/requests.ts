/** How calls of functions and methods go to the engine: what their arguments contain is awaited, then they are sent. */
import type { CallOptions, ExistsOptions, InvokeOptions } from "./documents";
import { InvalidInputError } from "./errors";
import { described } from "./options";
import { type Input, type Inputs, KnownOrigin, type Origin, resolve, type Traced } from "./output";
import { addTo, named, settingsOf, UNKNOWN_ID, urnOf, urnsOf } from "./references";
import type { AnyResource } from "./resource";
import type { Run } from "./run";
import { containsUnknown, type PropertyMap, Secret, Unknown } from "./values";

/** The name of the arguments of a function in errors. */
export function argumentsOf(token: string): string {
    return `the arguments of ${token}`;
}

/** Calls a function; the result is unknown while what its arguments come from is only planned. `inTransform`: a transform calls it. */
export async function sendInvoke(
    run: Run,
    token: string,
    inputs: Inputs,
    options: InvokeOptions,
    inTransform: boolean,
): Promise<Traced> {
    const sent = await resolve(inputs, argumentsOf(token));
    if (containsUnknown(sent.value)) {
        return { value: new Unknown(), sources: sent.sources };
    }
    const settings = await settingsOf(options);
    addTo(settings, "dependencies", await urnsOf([...sent.sources]));
    const { dependencies: dependsOn, ...rest } = settings as { dependencies?: string[] };
    const document = JSON.stringify({ ...rest, dependsOn, token, inTransform });
    const value = await run.request<PropertyMap | undefined>((call) =>
        run.bridge.native.invoke(run.number, call, document, sent.value),
    );
    // The engine answers nothing for a call that has to wait for what is only planned.
    return { value: value ?? new Unknown(), sources: sent.sources };
}

/** Returns an id, whose outputs are known, as a text; nothing can be read by one that is unknown. */
export function plainId(value: unknown, owner: string): string {
    const shown = value instanceof Secret ? value.value : value;
    const plain = shown instanceof Unknown ? UNKNOWN_ID : shown;
    if (typeof plain !== "string") {
        throw new InvalidInputError(`the id of ${owner} is a string, not ${described(plain)}`);
    }
    return plain;
}

/** Queries whether a resource exists; the result is unknown while its id or an input is, or what it depends on is only planned. */
export async function sendExists(run: Run, type: string, id: Input, inputs: Inputs, options: ExistsOptions): Promise<Traced> {
    const owner = `the query for ${type}`;
    const [settledId, sent] = [await resolve(id), await resolve(inputs, `the inputs of ${owner}`)];
    const settings = await settingsOf(options);
    const sources = new Set([...settledId.sources, ...sent.sources]);
    addTo(settings, "dependencies", await urnsOf([...sources]));
    const { dependencies: dependsOn, ...rest } = settings as { dependencies?: string[] };
    const document = JSON.stringify({ ...rest, dependsOn, type, id: plainId(settledId.value, owner) });
    const answer = await run.request<{ exists: boolean } | undefined>((call) =>
        run.bridge.native.exists(run.number, call, document, sent.value),
    );
    return { value: answer === undefined ? new Unknown() : answer.exists, sources };
}

/** The result of a method as the engine answers it. */
interface MethodResult {
    readonly value: PropertyMap;
    readonly dependencies: readonly string[];
}

/** Calls a method of a resource, or of none. */
export async function sendMethodCall(
    run: Run,
    token: string,
    of: AnyResource | string | undefined,
    inputs: Inputs,
    options: CallOptions,
): Promise<Traced> {
    const settings = await settingsOf(options);
    if (of !== undefined) {
        settings["of"] = await urnOf(of);
    }
    const sent = await named(inputs, (name) => `the values of the argument ${name} of ${token}`);
    const document = JSON.stringify({ ...settings, token, argumentDependencies: sent.dependencies });
    const { value, dependencies } = await run.request<MethodResult>((call) =>
        run.bridge.native.callMethod(run.number, call, document, sent.values),
    );
    const sources = new Set<Origin>([new KnownOrigin([...Object.values(sent.dependencies).flat(), ...dependencies])]);
    if (of !== undefined) {
        sources.add(typeof of === "string" ? new KnownOrigin([of]) : of);
    }
    return { value, sources };
}

/** Returns whether an object has no members. */
export function isEmpty(options: object): boolean {
    if (typeof options !== "object" || options === null || Array.isArray(options)) {
        return false;
    }
    for (const _ in options) {
        return false;
    }
    return true;
}
