/** Functions of a program that the engine calls: transforms and hooks. Each is an object of the host. */
import { answerOf, type HostObject } from "./host";
import { fromPlainJson } from "./json";
import type { Moment } from "./hooks";
import type { Run } from "./run";
import { type PropertyMap, type PropertyValue, withoutOutputs } from "./values";

/** A call of a function, as the native side makes it: facts as JSON, and values by their names. */
export interface FunctionRequest {
    readonly document: string;
    readonly inputs?: PropertyMap;
    readonly arguments?: PropertyMap;
    readonly newInputs?: PropertyMap;
    readonly oldInputs?: PropertyMap;
    readonly newOutputs?: PropertyMap;
    readonly oldOutputs?: PropertyMap;
}

/** What a function has returned, as the native side takes it. */
export interface FunctionAnswer {
    readonly inputs?: PropertyMap;
    readonly arguments?: PropertyMap;
    /** By the name of each value the URNs that it comes from. */
    readonly dependencies?: { readonly [name: string]: readonly string[] };
    /** As JSON. */
    readonly options?: string;
    readonly retry?: boolean;
}

/**
 * Makes an object that runs a function of a program. `keep` receives what the function throws.
 * @internal
 */
export function functionHost(
    run: Run,
    body: (request: FunctionRequest, signal: AbortSignal) => Promise<FunctionAnswer>,
    keep: (error: unknown, request: FunctionRequest) => void,
): HostObject {
    return {
        run,
        callFunction: (request, signal) =>
            answerOf(
                () => body(request, signal),
                (error) => keep(error, request),
            ),
    };
}

/** The options of a call's document: with hooks by the names that programs give their moments, and special values. */
export interface WrittenOptions {
    resourceHooks?: { readonly [moment: string]: readonly string[] };
    replacementTrigger?: unknown;
    [option: string]: unknown;
}

/**
 * Returns written options as programs have them.
 * @internal
 */
export function readOptions({ resourceHooks, replacementTrigger, ...rest }: WrittenOptions): { [option: string]: unknown } {
    const options: { [option: string]: unknown } = rest;
    const moments = Object.entries(resourceHooks ?? {}).map(([moment, names]) => [lowered(moment), names]);
    if (moments.length !== 0) {
        options["hooks"] = Object.fromEntries(moments);
    }
    if (replacementTrigger !== undefined && replacementTrigger !== null) {
        options["replacementTrigger"] = fromPlainJson(replacementTrigger);
    }
    return options;
}

function lowered(moment: string): Moment {
    return `${moment.charAt(0).toLowerCase()}${moment.slice(1)}` as Moment;
}

/**
 * Returns values without outputs around them or inside them, and what each depended on.
 * @internal
 */
export function plainValues(values: PropertyMap): { plain: PropertyMap; origins: Map<string, readonly string[]> } {
    const origins = new Map<string, readonly string[]>();
    const entries = Object.entries(values).map(([name, value]): [string, PropertyValue] => {
        const urns = new Set<string>();
        const plain = withoutOutputs(value, urns);
        if (urns.size !== 0) {
            origins.set(name, [...urns]);
        }
        return [name, plain];
    });
    return { plain: Object.fromEntries(entries), origins };
}
