/** Code that is written with `@pulumi/pulumi` inside code of our own API: of a component, a method, or a program. */
import * as path from "node:path";

import { InvalidInputError } from "../errors";
import { refuseGenerator } from "../generators";
import { fromPlainJson, toPlainJson } from "../json";
import { requireValues } from "../option_checks";
import type { Named } from "../references";
import type { Run } from "../run";
import type { PropertyMap } from "../values";
import { findSdk, type Sdk, type SdkResource } from "./find";
import { serveCallbacks } from "./callbacks";
import { configure, prepare } from "./index";
import { logged } from "./log";
import { secretsLearned } from "./secrets";

/** Code that makes resources with `@pulumi/pulumi`, and returns values by name. Secrets and unknowns arrive as its outputs. */
export type SdkCode = (inputs: { readonly [name: string]: unknown }) => unknown;

/** The parts of the SDK that only such code needs. */
interface Parts {
    readonly rpc: {
        deserializeProperties(values: { toJavaScript(): unknown }, keepUnknowns: boolean): { [name: string]: unknown };
        serializePropertiesReturnDeps(
            label: string,
            values: object,
        ): Promise<[{ [name: string]: unknown }, Map<string, Set<SdkResource>>]>;
        isRpcSecret(value: unknown): boolean;
        unwrapRpcSecret(value: unknown): unknown;
        containsUnknownValues(value: unknown): boolean;
    };
    readonly resource: { DependencyResource: new (urn: string) => SdkResource };
    readonly outputs: {
        Output: new (
            resources: Set<SdkResource>,
            value: Promise<unknown>,
            isKnown: Promise<boolean>,
            isSecret: Promise<boolean>,
            allResources: Promise<Set<SdkResource>>,
        ) => object;
    };
    readonly messages: { RegisterResourceResponse: new () => { setUrn(urn: string): void } };
    readonly settings: { awaitFeatureSupport(): Promise<void>; waitForRPCs(): Promise<void> };
}

const found = new WeakMap<Sdk, Parts>();

/** Returns the parts of a copy of the SDK, or throws an `InvalidInputError` that names what it lacks. */
function partsOf(sdk: Sdk): Parts {
    const known = found.get(sdk);
    if (known !== undefined) {
        return known;
    }
    const part = (name: string): unknown => require(path.join(sdk.directory, name));
    const parts = {
        rpc: part("runtime/rpc.js"),
        resource: part("resource.js"),
        outputs: part("output.js"),
        messages: part("proto/resource_pb.js"),
        settings: part("runtime/settings.js"),
    } as Parts;
    const needed: [string, unknown][] = [
        ["runtime/rpc deserializeProperties", parts.rpc.deserializeProperties],
        ["runtime/rpc serializePropertiesReturnDeps", parts.rpc.serializePropertiesReturnDeps],
        ["runtime/rpc isRpcSecret", parts.rpc.isRpcSecret],
        ["runtime/rpc unwrapRpcSecret", parts.rpc.unwrapRpcSecret],
        ["runtime/rpc containsUnknownValues", parts.rpc.containsUnknownValues],
        ["resource DependencyResource", parts.resource.DependencyResource],
        ["output Output", parts.outputs.Output],
        ["proto/resource_pb RegisterResourceResponse", parts.messages.RegisterResourceResponse],
        ["runtime/settings awaitFeatureSupport", parts.settings.awaitFeatureSupport],
        ["runtime/settings waitForRPCs", parts.settings.waitForRPCs],
    ];
    const missing = needed.filter(([, one]) => typeof one !== "function").map(([name]) => name);
    if (missing.length !== 0) {
        throw new InvalidInputError(`@pulumi/pulumi ${sdk.version} cannot run in a component: it has no ${missing.join(", ")}`);
    }
    found.set(sdk, parts);
    return parts;
}

/**
 * Runs code below `component`, or below the stack without one, and returns its values with the URNs that each comes from. `from`
 * selects the copy of the SDK.
 */
export function runSdkCode(
    run: Run,
    component: string | undefined,
    code: SdkCode,
    inputs: Named,
    from?: string | URL,
): Promise<Named> {
    const sdk = findSdk(from);
    const parts = partsOf(sdk);
    prepare(sdk);
    return sdk.state.withLocalStorage(async () => {
        const store = await configure(sdk, run);
        await serveCallbacks(sdk, run, store);
        if (component !== undefined) {
            store.settings.monitor = new ComponentMonitor(store.settings.monitor as Monitor, component, parts).client;
        }
        const { stack, project } = run.info;
        const root = `urn:pulumi:${stack}::${project}::pulumi:pulumi:Stack::${project}-${stack}`;
        store.stackResource = new parts.resource.DependencyResource(component ?? root);
        try {
            await parts.settings.awaitFeatureSupport();
            const returned = (await code(inputsOf(parts, inputs))) ?? {};
            refuseGenerator(returned, "the SDK's code");
            requireValues(returned, "the values that the SDK's code returns");
            const named = await resolved(parts, returned as object);
            await parts.settings.waitForRPCs();
            await logged(run);
            return named;
        } catch (error) {
            // What has been made is registered all the same: otherwise it would be deleted.
            await parts.settings.waitForRPCs().catch(() => undefined);
            await secretsLearned(run);
            throw error;
        } finally {
            store.leakCandidates.clear();
        }
    });
}

/** Returns values as the SDK's code takes them: those that are secret or unknown, or come from resources, are outputs. */
function inputsOf(parts: Parts, { values, dependencies }: Named): { readonly [name: string]: unknown } {
    const { rpc, outputs, resource } = parts;
    const plain = toPlainJson(values);
    const entries = Object.entries(rpc.deserializeProperties({ toJavaScript: () => plain }, true)).map(([name, value]) => {
        const [isSecret, isUnknown, urns] = [rpc.isRpcSecret(value), rpc.containsUnknownValues(value), dependencies[name] ?? []];
        if (!isSecret && !isUnknown && urns.length === 0) {
            return [name, value];
        }
        const origins = new Set(urns.map((urn) => new resource.DependencyResource(urn)));
        const unwrapped = isSecret ? rpc.unwrapRpcSecret(value) : value;
        const known = Promise.resolve(!isUnknown);
        const all = Promise.resolve(origins);
        return [name, new outputs.Output(origins, Promise.resolve(unwrapped), known, Promise.resolve(isSecret), all)];
    });
    return Object.fromEntries(entries) as { [name: string]: unknown };
}

/** Awaits the SDK's outputs among values. */
async function resolved({ rpc }: Parts, returned: object): Promise<Named> {
    const [plain, origins] = await rpc.serializePropertiesReturnDeps("the SDK's code", returned);
    const dependencies: { [name: string]: string[] } = {};
    for (const [name, resources] of origins) {
        dependencies[name] = await Promise.all([...resources].map((resource) => resource.urn.promise()));
    }
    return { values: fromPlainJson(plain) as PropertyMap, dependencies };
}

interface Request {
    getType(): string;
    getName(): string;
    getParent(): string;
    getCustom(): boolean;
    getRemote(): boolean;
    getUrn(): string;
}

type Answer = (error: null, response: object) => void;
type Call = (request: Request, ...rest: unknown[]) => object;

interface Monitor {
    registerResource: Call;
    registerResourceOutputs: Call;
}

/** The number of gRPC for a request that is wrong in itself. */
const INVALID_ARGUMENT = 3;

/** The options of a request that have no effect on a component which is registered already. */
const OPTIONS = [
    "aliases",
    "dependencies",
    "deletedWith",
    "ignoreChanges",
    "protect",
    "providers",
    "replaceOnChanges",
    "retainOnDelete",
    "transforms",
] as const;

/** Returns whether a request has an option: a flag, a text, a list or a map. */
function isGiven(request: Request, name: (typeof OPTIONS)[number]): boolean {
    const getters = request as unknown as { [getter: string]: (() => unknown) | undefined };
    const base = `get${name[0]?.toUpperCase()}${name.slice(1).toLowerCase()}`;
    const [list, map, one] = [getters[`${base}List`], getters[`${base}Map`], getters[base]];
    if (list !== undefined) {
        return (list.call(request) as unknown[]).length !== 0;
    }
    return map === undefined ? Boolean(one?.call(request)) : (map.call(request) as { getLength(): number }).getLength() !== 0;
}

/** The monitor of a component's code: a component of the SDK with its type and name is the component itself. */
class ComponentMonitor {
    readonly client: Monitor;
    #isRegistered = false;

    constructor(
        monitor: Monitor,
        readonly component: string,
        parts: Parts,
    ) {
        const answer = (rest: unknown[], response: object): object => {
            const callback = rest.findLast((argument) => typeof argument === "function") as Answer;
            setImmediate(callback, null, response);
            return { cancel() {} };
        };
        this.client = {
            ...monitor,
            registerResource: (request, ...rest) => {
                if (!this.#isComponent(request)) {
                    return monitor.registerResource(request, ...rest);
                }
                const given = OPTIONS.filter((name) => isGiven(request, name));
                if (given.length !== 0) {
                    const message = `the component "${request.getName()}" has the options of the program that uses it: leave out ${given.join(", ")} where its code makes it`;
                    const callback = rest.findLast((argument) => typeof argument === "function") as (error: Error) => void;
                    setImmediate(callback, Object.assign(new InvalidInputError(message), { code: INVALID_ARGUMENT, details: message }));
                    return { cancel() {} };
                }
                this.#isRegistered = true;
                const response = new parts.messages.RegisterResourceResponse();
                response.setUrn(component);
                return answer(rest, response);
            },
            // What the code returns are the component's outputs.
            registerResourceOutputs: (request, ...rest) =>
                request.getUrn() === component ? answer(rest, {}) : monitor.registerResourceOutputs(request, ...rest),
        };
    }

    #isComponent(request: Request): boolean {
        const [, , types, ...name] = this.component.split("::");
        return (
            !this.#isRegistered &&
            !request.getCustom() &&
            !request.getRemote() &&
            request.getType() === types?.split("$").at(-1) &&
            request.getName() === name.join("::") &&
            request.getParent() === this.component
        );
    }
}
