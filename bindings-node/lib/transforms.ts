/** Transforms: functions that change what a program registers and calls, before the engine acts on it. */
import { AsyncLocalStorage } from "node:async_hooks";

import { RESOURCE_OPTIONS } from "./documents";
import { InvalidInputError } from "./errors";
import { type FunctionAnswer, functionHost, type FunctionRequest, plainValues, readOptions, type WrittenOptions } from "./functions";
import { refuseGenerator } from "./generators";
import { bindHooks, checkHooks } from "./hooks";
import { checkOptions, requireValues } from "./option_checks";
import { described, given, refuseUnknown, requireObject } from "./options";
import { type Inputs, Output } from "./output";
import { named, settingsOf } from "./references";
import { type AnyResource, Resource } from "./resource";
import type { ResourceOptions } from "./resource_options";
import type { Run } from "./run";
import { learnIn } from "./secrecy";
import type { PropertyMap } from "./values";

type Answer<T> = T | PromiseLike<T>;

/** The options of a registration that a transform can change. Resources arrive as their URNs, providers as their references. */
export interface TransformOptions extends Omit<ResourceOptions, "parent" | "transforms"> {
    /** Hex checksums of the plugin by platform. */
    pluginChecksums?: { readonly [platform: string]: string };
}

/**
 * A registration, for a transform. Secrets are marked; values are unknown in previews only. It is frozen, and so are its inputs and options:
 * changed copies are returned.
 */
export interface TransformArgs {
    readonly type: string;
    readonly name: string;
    /** True for a resource that a provider manages, false for a component. */
    readonly custom: boolean;
    /** The URN of the parent. */
    readonly parent?: string;
    readonly inputs: Readonly<PropertyMap>;
    /** The options, those that the resource inherits included. */
    readonly options: Readonly<TransformOptions>;
}

/** Options that a transform changes: one that is `null` is removed, and one that is left out is unchanged. */
type Changes<Options> = { [option in keyof Options]?: Options[option] | null };

/** What a transform changes: a member that is left out is unchanged. */
export interface TransformResult {
    /** All inputs. An input keeps what it depended on; outputs and resources in it add their own. */
    inputs?: Inputs;
    /** The options that change: `{ protect: true }`; one that is `null` is removed. */
    options?: Changes<TransformOptions>;
}

/**
 * A function that changes the inputs and the options of resources before they are registered. An exception refuses the
 * registration, whose error names the resource and the transform. `signal` is aborted when the operation is cancelled. Calls
 * for several resources run at the same time.
 */
export type ResourceTransform = (args: TransformArgs, signal: AbortSignal) => Answer<TransformResult | undefined | null | void>;

/** The options of a call of a function that a transform can change. The provider arrives as its reference. */
export interface InvokeTransformOptions {
    /** The provider resource that is called, or its reference, `<urn>::<id>`. */
    provider?: AnyResource | string;
    /** The version of the package. */
    version?: string;
    /** The address from which the plugin of the package can be downloaded, for the resolver and the installer. */
    pluginDownloadURL?: string;
    /** Hex checksums of the plugin by platform. */
    pluginChecksums?: { readonly [platform: string]: string };
}

/** A call of a function, for a transform. It is frozen, and so are its arguments and options: changed copies are returned. */
export interface InvokeTransformArgs {
    /** The function: `package:module:member`. */
    readonly token: string;
    readonly arguments: Readonly<PropertyMap>;
    readonly options: Readonly<InvokeTransformOptions>;
}

/** What a transform of calls changes: a member that is left out is unchanged. */
export interface InvokeTransformResult {
    /** All arguments. */
    arguments?: Inputs;
    /** The options that change; one that is `null` is removed. */
    options?: Changes<InvokeTransformOptions>;
}

/**
 * A function that changes the arguments and the options of calls of functions. An exception refuses the call, whose error
 * names the function and the transform. `signal` is aborted when the operation is cancelled. Calls are serial. A transform may
 * call functions itself, which are not transformed then.
 */
export type InvokeTransform = (
    args: InvokeTransformArgs,
    signal: AbortSignal,
) => Answer<InvokeTransformResult | undefined | null | void>;

/** Whether the running code is a transform of calls of functions. */
const inTransform = new AsyncLocalStorage<true>();

/**
 * Returns whether the running code is a transform of calls of functions, whose own calls are not transformed.
 * @internal
 */
export function isInTransform(): boolean {
    return inTransform.getStore() === true;
}

/** The options that a transform can return. */
const { parent: _, ...CHANGEABLE } = RESOURCE_OPTIONS;
const TRANSFORM_OPTIONS = { ...CHANGEABLE, hooks: true, pluginChecksums: true };
const INVOKE_OPTIONS = { provider: true, version: true, pluginDownloadURL: true, pluginChecksums: true };

/**
 * Refuses what is no transform; `what` names it.
 * @internal
 */
export function requireTransform(transform: unknown, what: string): void {
    if (typeof transform !== "function") {
        throw new InvalidInputError(`${what} is a function, not ${described(transform)}`);
    }
    refuseGenerator(transform, what);
}

/**
 * Refuses what is no list of transforms; `owner` is the resource.
 * @internal
 */
export function checkTransforms(transforms: unknown, owner: string): readonly ResourceTransform[] {
    if (!Array.isArray(transforms)) {
        throw new InvalidInputError(`transforms takes a list of functions, not ${described(transforms)}, in the options of ${owner}`);
    }
    transforms.forEach((transform, index) => requireTransform(transform, `transforms[${index}] in the options of ${owner}`));
    return transforms as readonly ResourceTransform[];
}

/**
 * Makes a transform of resources callable, and returns its number.
 * @internal
 */
export function addTransform(run: Run, transform: ResourceTransform): number {
    const body = (request: FunctionRequest, signal: AbortSignal) => transformResource(run, transform, request, signal);
    return run.bridge.addHost(functionHost(run, body, (error) => run.keepThrown(error)));
}

/**
 * Makes a transform of calls callable, and returns its number.
 * @internal
 */
export function addInvokeTransform(run: Run, transform: InvokeTransform): number {
    const body = (request: FunctionRequest, signal: AbortSignal) => transformInvoke(run, transform, request, signal);
    return run.bridge.addHost(functionHost(run, body, (error) => run.keepThrown(error)));
}

/** The facts of a call, without values. */
interface Facts {
    readonly type: string;
    readonly name: string;
    readonly parent?: string | null;
    readonly options: WrittenOptions;
    readonly token: string;
}

async function transformResource(
    run: Run,
    transform: ResourceTransform,
    { document, inputs = {} }: FunctionRequest,
    signal: AbortSignal,
): Promise<FunctionAnswer> {
    const { options, ...facts } = JSON.parse(document) as Facts;
    const { plain, origins } = plainValues(inputs);
    // A change in place would have no effect.
    const args = Object.freeze(given({ ...facts, inputs: Object.freeze(plain), options: Object.freeze(readOptions(options)) }));
    const changed = membersOf(await transform(args as unknown as TransformArgs, signal), { inputs: true, options: true });
    const answer: { -readonly [name in keyof FunctionAnswer]: FunctionAnswer[name] } = {};
    if (changed.inputs !== undefined) {
        const sent = await valuesOf(run, changed.inputs, "inputs");
        answer.inputs = sent.values;
        const both = Object.entries(sent.dependencies).map(([name, urns]) => [name, [...new Set([...(origins.get(name) ?? []), ...urns])]]);
        answer.dependencies = Object.fromEntries(both) as { [name: string]: string[] };
    }
    if (changed.options !== undefined) {
        const from = [...origins.values()].flat();
        answer.options = await optionsOf(run, changed.options, `${facts.type}_${facts.name}`, from);
    }
    return answer;
}

async function transformInvoke(
    run: Run,
    transform: InvokeTransform,
    { document, arguments: values = {} }: FunctionRequest,
    signal: AbortSignal,
): Promise<FunctionAnswer> {
    const { token, options } = JSON.parse(document) as Facts;
    const args = Object.freeze({
        token,
        arguments: Object.freeze(plainValues(values).plain),
        options: Object.freeze(options as InvokeTransformOptions),
    });
    const changed = membersOf(await inTransform.run(true, () => transform(args, signal)), { arguments: true, options: true });
    const answer: { -readonly [name in keyof FunctionAnswer]: FunctionAnswer[name] } = {};
    if (changed.arguments !== undefined) {
        answer.arguments = (await valuesOf(run, changed.arguments, "arguments")).values;
    }
    if (changed.options !== undefined) {
        const owner = "the result of a transform";
        refuseUnknown(owner, changed.options, INVOKE_OPTIONS);
        const { pluginChecksums, ...own } = given(changed.options) as InvokeTransformOptions;
        checkOptions("invoke", owner, own, {});
        const removed = removedOf(changed.options);
        answer.options = JSON.stringify({ ...(await settingsOf(own)), pluginChecksums: checksumsOf(pluginChecksums), ...removed });
    }
    return answer;
}

/** Returns the members of what a transform has returned; nothing changes nothing. */
function membersOf<Known extends string>(
    returned: unknown,
    known: { readonly [name in Known]: true },
): { readonly [name in Known]?: object } {
    refuseGenerator(returned, "the function");
    if (returned === undefined || returned === null) {
        return {};
    }
    const names = Object.keys(known).join(" and ");
    if (typeof returned !== "object" || Array.isArray(returned) || returned instanceof Output || returned instanceof Resource) {
        const kind = returned instanceof Output ? "an output" : returned instanceof Resource ? "a resource" : described(returned);
        throw new InvalidInputError(`a transform returns an object with ${names}, or nothing, not ${kind}`);
    }
    refuseUnknown("the result of a transform", returned, known, "member");
    return given(returned);
}

/** Awaits returned values; `member` names them in errors. */
async function valuesOf(run: Run, values: object, member: string): ReturnType<typeof named> {
    const what = `the ${member} that a transform returned`;
    if (values instanceof Output || values instanceof Resource) {
        throw new InvalidInputError(`${what} are an object of values by name, not ${values instanceof Output ? "an output" : "a resource"}`);
    }
    requireValues(values, what);
    learnIn(run, values);
    return named(values as Inputs, (name) => `the values of ${member}.${name} that a transform returned`);
}

/** Returns the options that a transform removes, with the names of documents. */
function removedOf(changed: object): { [option: string]: null } {
    const removed = Object.entries(changed).filter(([, value]) => value === null);
    return Object.fromEntries(removed.map(([option]) => [option === "hooks" ? "resourceHooks" : option, null]));
}

/**
 * Returns changed options as JSON: URNs and references in the place of resources, and hooks by their names. The resource still
 * depends on what its inputs came from, `origins`: the transform may have made other inputs of these.
 */
async function optionsOf(run: Run, changed: object, prefix: string, origins: readonly string[]): Promise<string> {
    const owner = "the result of a transform";
    refuseUnknown(owner, changed, TRANSFORM_OPTIONS);
    const { hooks, pluginChecksums, ...own } = given(changed) as TransformOptions;
    checkOptions("resource", owner, own, CHANGEABLE);
    const { dependencies, ...settings } = await settingsOf(own);
    const resourceHooks = hooks === undefined ? undefined : bindHooks(run, checkHooks(hooks, owner), prefix);
    const removed = removedOf(changed);
    const isGiven = dependencies !== undefined || "dependsOn" in removed;
    const dependsOn = isGiven ? [...new Set([...((dependencies ?? []) as string[]), ...origins])] : undefined;
    return JSON.stringify({ ...settings, pluginChecksums: checksumsOf(pluginChecksums), resourceHooks, ...removed, dependsOn });
}

function checksumsOf(checksums: { readonly [platform: string]: string } | undefined): object | undefined {
    requireObject("pluginChecksums", checksums);
    const wrong = Object.entries(checksums ?? {}).find(([, checksum]) => typeof checksum !== "string");
    if (wrong !== undefined) {
        throw new InvalidInputError(`pluginChecksums[${JSON.stringify(wrong[0])}] is a string, not ${described(wrong[1])}`);
    }
    return checksums;
}
