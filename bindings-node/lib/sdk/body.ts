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
    readonly outputs: { output(value: unknown): unknown; secret(value: unknown): unknown };
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
        ["output output", parts.outputs.output],
        ["output secret", parts.outputs.secret],
        ["proto/resource_pb RegisterResourceResponse", parts.messages.RegisterResourceResponse],
        ["runtime/settings awaitFeatureSupport", parts.settings.awaitFeatureSupport],
        ["runtime/settings waitForRPCs", parts.settings.waitForRPCs],
    ];
    const missing = needed.filter(([, one]) => typeof one !== "function").map(([name]) => name);
    if (missing.length !== 0) {
        throw new InvalidInputError(`@pulumi/pulumi ${sdk.version} can not run in a component: it has no ${missing.join(", ")}`);
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
    inputs: PropertyMap,
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
            await secretsLearned(run);
            throw error;
        } finally {
            store.leakCandidates.clear();
        }
    });
}

/** Returns values as the SDK's code takes them. */
function inputsOf({ rpc, outputs }: Parts, inputs: PropertyMap): { readonly [name: string]: unknown } {
    const plain = toPlainJson(inputs);
    const values = rpc.deserializeProperties({ toJavaScript: () => plain }, true);
    const entries = Object.entries(values).map(([name, value]) => {
        if (rpc.isRpcSecret(value)) {
            return [name, outputs.secret(rpc.unwrapRpcSecret(value))];
        }
        return [name, rpc.containsUnknownValues(value) ? outputs.output(value) : value];
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
