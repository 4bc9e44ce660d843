/** Providers that are JavaScript objects: their shape, their errors, and how their answers are given back. */
import type { RunInfo } from "./bridge";
import type { ProgramContext } from "./context";
import type { StepOp } from "./documents";
import { InvalidInputError } from "./errors";
import type { HostObject } from "./host";
import { native } from "./native";
import { described } from "./options";
import type { Inputs } from "./output";
import { attempt, fullTextOf } from "./thrown";
import type { PropertyMap, PropertyValue } from "./values";

/** The resource that a call is about. */
export interface ResourceSubject {
    urn: string;
    type: string;
    name: string;
}

export interface CheckRequest extends ResourceSubject {
    /** The recorded inputs; absent when there are none. */
    oldInputs?: PropertyMap;
    /** The recorded outputs; absent where there are no recorded inputs. */
    oldOutputs?: PropertyMap;
    /** The inputs that the program asks for. */
    inputs: PropertyMap;
    /** Bytes that are the same whenever this registration is checked again: a seed for names. */
    randomSeed: Uint8Array;
    /** True while previewing; unknowns may occur. */
    preview: boolean;
    /** How the physical resource is to be named; absent when that is left to the provider. */
    autonaming?: Autonaming;
}

/** How a physical resource is to be named. */
export interface Autonaming {
    /** The name; empty when there must be none. */
    proposedName: string;
    /**
     * `propose`: the provider may change the name; `enforce`: it must take it, or fail; `disable`: it must make up none,
     * the program has to give one.
     */
    mode: "propose" | "enforce" | "disable";
}

/** One thing that is wrong with inputs. */
export interface CheckFailure {
    /** The path of the property; empty for the whole resource. */
    property?: string;
    reason: string;
}

export interface CheckAnswer {
    /** The inputs to go on with; those asked for when absent. */
    inputs?: PropertyMap;
    failures?: CheckFailure[];
}

export interface DiffRequest extends ResourceSubject {
    id: string;
    oldInputs: PropertyMap;
    oldOutputs: PropertyMap;
    /** The new inputs, as `check` left them. */
    inputs: PropertyMap;
    ignoreChanges: string[];
    preview: boolean;
}

export type DiffKind = "add" | "add-replace" | "delete" | "delete-replace" | "update" | "update-replace";

export interface DiffAnswer {
    /** Whether anything differs; the engine compares inputs itself when that is unknown or absent. */
    changes?: boolean | "none" | "some" | "unknown";
    /** Properties whose change needs a replacement. */
    replaces?: string[];
    /** Properties that will not change. */
    stables?: string[];
    /** Properties that differ. */
    diffs?: string[];
    /** How each differs, by path. */
    detailedDiff?: { [path: string]: DiffKind | { kind: DiffKind; inputDiff?: boolean } };
    /** Whether a replacement must delete first. */
    deleteBeforeReplace?: boolean;
}

/** A part of a resource that its provider reports, and that is shown and recorded as a resource of its own. */
export interface View {
    type: string;
    name: string;
    /** Type and name of the view that it lies in; in the resource itself when absent. */
    parentType?: string;
    parentName?: string;
    inputs?: PropertyMap;
    outputs?: PropertyMap;
}

/** A step that the provider has executed on a view, or would execute while previewing. The engine only records it. */
export interface ViewStep {
    /** During a refresh: what the refresh of the view came to. */
    op: StepOp;
    /** Those of the states when absent. */
    type?: string;
    name?: string;
    old?: View;
    /** Needed by all that leaves a view behind. */
    new?: View;
    keys?: string[];
    diffs?: string[];
    detailedDiff?: { [path: string]: DiffKind | { kind: DiffKind; inputDiff?: boolean } };
    /** What is known of the view after a failure. */
    status?: "ok" | "partial-failure" | "unknown";
    /** What went wrong; absent when nothing did. */
    error?: string;
}

/** What a call has done to the views of its resource; the steps run after that of the resource, and before a deletion. */
export interface ViewAnswer {
    viewSteps?: ViewStep[];
}

export interface CreateRequest extends ResourceSubject {
    inputs: PropertyMap;
    /**
     * How long it may take, in seconds, from the option `customTimeouts`; 0 leaves it to the provider. The engine only
     * passes it on: it ends no call itself.
     */
    timeout: number;
    /** True while previewing: nothing may be made. */
    preview: boolean;
}

export interface CreateAnswer extends ViewAnswer {
    /** May be left out only while previewing. */
    id?: string;
    /** The inputs when absent. */
    outputs?: PropertyMap;
    /** Whether the resource wants to be read before each update. */
    refreshBeforeUpdate?: boolean;
}

export interface ReadRequest extends ResourceSubject {
    id: string;
    /** The recorded inputs; absent for an import, which has none. */
    inputs?: PropertyMap;
    /** The recorded outputs; absent for an import, which has none. */
    outputs?: PropertyMap;
    /** As of `CreateRequest`. */
    timeout: number;
    preview: boolean;
    /** The recorded views of the resource. */
    oldViews: View[];
}

export interface ReadAnswer extends ViewAnswer {
    /** Absent or empty: a refresh finds that the resource does not exist; a read and an import keep the id of the request. */
    id?: string;
    inputs?: PropertyMap;
    /** Absent: the resource does not exist. */
    outputs?: PropertyMap;
    refreshBeforeUpdate?: boolean;
}

export interface UpdateRequest extends ResourceSubject {
    id: string;
    oldInputs: PropertyMap;
    oldOutputs: PropertyMap;
    inputs: PropertyMap;
    ignoreChanges: string[];
    /** As of `CreateRequest`. */
    timeout: number;
    preview: boolean;
    /** The recorded views of the resource. */
    oldViews: View[];
}

export interface UpdateAnswer extends ViewAnswer {
    /** The new inputs when absent. */
    outputs?: PropertyMap;
    refreshBeforeUpdate?: boolean;
}

export interface DeleteRequest extends ResourceSubject {
    id: string;
    inputs: PropertyMap;
    outputs: PropertyMap;
    /** As of `CreateRequest`. */
    timeout: number;
    /** The recorded views of the resource. */
    oldViews: View[];
}

export interface InvokeRequest {
    /** The function: `package:module:member`. */
    token: string;
    arguments: PropertyMap;
    preview: boolean;
}

export interface InvokeAnswer {
    result?: PropertyMap;
    failures?: CheckFailure[];
}

/** Requests the construction of a component, which is registered already. */
export interface ConstructRequest {
    /** The URN of the component. */
    urn: string;
    type: string;
    name: string;
    /** The URN of its parent. */
    parent?: string;
    inputs: PropertyMap;
    /** The options of the component. What is below it inherits them. */
    options: ComponentOptions;
    /** True while previewing; unknowns may occur. */
    preview: boolean;
}

/** Options of a component, as its provider gets them: only those that are given. Resources are URNs. */
export interface ComponentOptions {
    protect?: boolean;
    deleteBeforeReplace?: boolean;
    retainOnDelete?: boolean;
    ignoreChanges?: string[];
    replaceOnChanges?: string[];
    additionalSecretOutputs?: string[];
    dependsOn?: string[];
    deletedWith?: string;
    replaceWith?: string[];
    replacementTrigger?: PropertyValue;
    /** Limits of the provider's calls in seconds. */
    customTimeouts?: { create?: number; update?: number; delete?: number; read?: number };
    /** Former URNs. */
    aliases?: string[];
    /** References of providers, `<urn>::<id>`, by package. */
    providers?: { [packageName: string]: string };
}

/** Calls a method of a resource, of a component, or of the provider itself. */
export interface MethodRequest {
    /** The method: `package:module:Type/method`. */
    token: string;
    /** The arguments, with the resource as `__self__`, a `ResourceReference`. */
    arguments: PropertyMap;
    /** True while previewing; unknowns may occur. */
    preview: boolean;
}

export interface MethodAnswer {
    /** May contain outputs of what the method has registered. */
    result?: Inputs;
    failures?: CheckFailure[];
}

/** Asks for the schema of the package. */
export interface SchemaRequest {
    /** The package that a parameter made of the provider; empty for the provider's own. */
    subpackageName: string;
    subpackageVersion: string;
}

/** Asks for a mapping from another ecosystem to the package. */
export interface MappingRequest {
    /** The ecosystem, `terraform` for instance. */
    key: string;
    /** The foreign provider, one of those that `getMappings` named; empty when it named none. */
    provider: string;
}

export interface MappingAnswer {
    /** The foreign provider. */
    provider: string;
    /** The mapping, in the format of the ecosystem's converter. */
    data: Uint8Array;
}

export interface ConfigureRequest {
    urn: string;
    name: string;
    id: string;
    /** The provider's configuration, as `checkConfig` left it. */
    inputs: PropertyMap;
}

/** What a provider understands beside plain values. */
export interface ProviderCapabilities {
    /** Secrets arrive wrapped, as `Secret`; else they arrive plain, and are put back on what is answered. Off. */
    secrets?: boolean;
    /** `construct` and `call` get values with dependencies as `OutputValue`; else they get the values alone. Off. */
    outputs?: boolean;
    /** `create` and `update` are called in previews too, and make nothing then. Off. */
    preview?: boolean;
    /**
     * Calls may wait for what a later registration or step causes. More calls are started when all that the option `parallel`
     * allows are blocked, so `parallel` is no strict limit for them. Off.
     */
    waitsForRegistrations?: boolean;
}

type Answer<T> = T | undefined | void | PromiseLike<T | undefined | void>;

/**
 * Manages the resources of one package. Every method is optional, may be asynchronous, and is called CONCURRENTLY. Without
 * `update`, every change fails for which `diff` demands no replacement.
 * The signal of a call is aborted when no caller waits for its answer any more; a method that declares one parameter gets none.
 */
export interface Provider {
    readonly capabilities?: ProviderCapabilities;
    checkConfig?(request: CheckRequest, signal: AbortSignal): Answer<CheckAnswer>;
    diffConfig?(request: DiffRequest, signal: AbortSignal): Answer<DiffAnswer>;
    configure?(request: ConfigureRequest, signal: AbortSignal): Answer<void>;
    check?(request: CheckRequest, signal: AbortSignal): Answer<CheckAnswer>;
    diff?(request: DiffRequest, signal: AbortSignal): Answer<DiffAnswer>;
    create?(request: CreateRequest, signal: AbortSignal): CreateAnswer | PromiseLike<CreateAnswer>;
    /** No answer: the resource does not exist. */
    read?(request: ReadRequest, signal: AbortSignal): Answer<ReadAnswer>;
    update?(request: UpdateRequest, signal: AbortSignal): Answer<UpdateAnswer>;
    delete?(request: DeleteRequest, signal: AbortSignal): Answer<ViewAnswer>;
    invoke?(request: InvokeRequest, signal: AbortSignal): Answer<InvokeAnswer>;
    /**
     * Constructs a component, which is registered already, and returns its outputs: an object of values, which may contain
     * outputs of what it has registered. What `context` registers is below the component. Secrets arrive as `Secret` in any case.
     * It refuses inputs with a `ProviderError` that has `inputErrors`.
     */
    construct?(context: ProgramContext, request: ConstructRequest, signal: AbortSignal): Answer<Inputs>;
    /** Calls a method of a resource or a component; `context` registers what the method makes. */
    call?(context: ProgramContext, request: MethodRequest, signal: AbortSignal): Answer<MethodAnswer>;
    /** Gives the schema of the package, as JSON or as what becomes it, for code generators and other tools. */
    getSchema?(request: SchemaRequest, signal: AbortSignal): string | object | PromiseLike<string | object>;
    /** Gives a mapping from another ecosystem to the package, for converters; no answer: there is none. */
    getMapping?(request: MappingRequest, signal: AbortSignal): Answer<MappingAnswer>;
    /**
     * Names the foreign providers of an ecosystem (`terraform`) that the package has mappings of. Without it, or when it
     * names none, `getMapping` is asked for the one that the package has.
     */
    getMappings?(key: string, signal: AbortSignal): Answer<string[]>;
    /**
     * Asks to abort the running calls. Not called while the provider serves other operations as well, whose calls would be
     * aborted, too.
     */
    cancel?(): Answer<void>;
    /** No call follows. */
    close?(): Answer<void>;
}

/** Statuses of failed calls; names and numbers are those of gRPC. */
export const ProviderStatus = {
    cancelled: 1,
    unknown: 2,
    invalidArgument: 3,
    deadlineExceeded: 4,
    notFound: 5,
    alreadyExists: 6,
    permissionDenied: 7,
    resourceExhausted: 8,
    failedPrecondition: 9,
    aborted: 10,
    outOfRange: 11,
    unimplemented: 12,
    internal: 13,
    unavailable: 14,
    dataLoss: 15,
    unauthenticated: 16,
} as const;

/** A failed call. Unknown, internal and data loss leave the state of the physical resource unknown; the others, unchanged. */
export class ProviderError extends Error {
    constructor(
        message: string,
        readonly status: number = ProviderStatus.invalidArgument,
        /** What is wrong with the inputs that `construct` or `call` refuses; reported with the path and the value of each. */
        readonly inputErrors: readonly CheckFailure[] = [],
    ) {
        super(message);
        this.name = "ProviderError";
    }
}

/** A resource that exists, but whose initialization failed. */
export class InitFailedError extends Error {
    readonly id: string;
    readonly inputs: PropertyMap | undefined;
    readonly outputs: PropertyMap;
    readonly reasons: string[];
    /** Whether the resource is read before each update. */
    readonly refreshBeforeUpdate: boolean;
    readonly viewSteps: ViewStep[];

    constructor(failure: {
        id: string;
        reasons: string[];
        inputs?: PropertyMap;
        outputs?: PropertyMap;
        refreshBeforeUpdate?: boolean;
        viewSteps?: ViewStep[];
    }) {
        super(failure.reasons.join(", "));
        this.name = "InitFailedError";
        this.id = failure.id;
        this.inputs = failure.inputs;
        this.outputs = failure.outputs ?? {};
        this.reasons = failure.reasons;
        this.refreshBeforeUpdate = failure.refreshBeforeUpdate ?? false;
        this.viewSteps = failure.viewSteps ?? [];
    }
}

/** Which plugin is needed. */
export interface ResolutionRequest {
    kind: "resource" | "analyzer" | "language";
    name: string;
    version?: string;
    downloadUrl?: string;
    /** Hex checksums by platform (`linux-amd64`). */
    checksums: { [platform: string]: string };
    /** Policy packs: the folder or file of the pack, as the options of the operation have it. */
    path?: string;
    /** Policy packs: the settings by policy, as the options of the operation have them. */
    config?: { [policy: string]: unknown };
}

/**
 * Decides what serves a package, for every instance: the address of a listening provider, a provider in this process,
 * or nothing, which leaves it to the engine. The text of an exception is reported unchanged.
 */
export type Resolver = (
    request: ResolutionRequest,
) => string | Provider | undefined | void | PromiseLike<string | Provider | undefined | void>;

/** Everything that the engine calls: a provider's methods, a resolver's one, and those of other objects of the host. */
export type Callee = Provider & HostObject & { resolve?(request: ResolutionRequest): unknown };

/** The request of a method that gets a context, as the native side gives it, with the number and the facts of the code's run. */
export type BodyStart = (ConstructRequest | MethodRequest) & { run: number; info: RunInfo };

/** Returns whether a method of a provider gets a context. */
export function isBody(name: unknown): name is "construct" | "call" {
    return name === "construct" || name === "call";
}

/** The names of the methods, at their numbers. */
const METHODS = native.providerMethods() as (keyof Callee)[];

/** The names of the methods of providers; those of other objects follow. */
const PROVIDER_METHODS = METHODS.slice(0, METHODS.indexOf("resolve"));

/**
 * Refuses a provider with a member that has the name of a method, and is none: the engine would not call it.
 * @internal
 */
export function requireProviderMethods(name: string, provider: Provider): void {
    for (const method of PROVIDER_METHODS) {
        const member: unknown = (provider as Callee)[method];
        if (member !== undefined && member !== null && typeof member !== "function") {
            throw new InvalidInputError(`the provider of "${name}" has a ${method} that is not a method: ${described(member)}`);
        }
    }
}

/**
 * Returns the bits of the methods that an object has.
 * @internal
 */
export function methodBits(provider: Callee): number {
    return METHODS.reduce((bits, name, index) => bits | (typeof provider[name] === "function" ? 1 << index : 0), 0);
}

/**
 * Returns a method's name by its number.
 * @internal
 */
export function methodName(number: number): keyof Callee | undefined {
    return METHODS[number];
}

/**
 * Describes what a method threw. Never throws.
 * @internal
 */
export function describeError(error: unknown): object {
    const message = fullTextOf(error);
    const initFailure = attempt(() => {
        if (!(error instanceof InitFailedError)) {
            return undefined;
        }
        const { id, inputs, outputs, reasons, refreshBeforeUpdate, viewSteps } = error;
        return { id, inputs, outputs, reasons, refreshBeforeUpdate, viewSteps };
    }, undefined);
    if (initFailure !== undefined) {
        return { message, initFailure };
    }
    const status = attempt(() => (error as { status?: unknown } | null)?.status, undefined);
    const inputErrors = attempt(() => (error instanceof ProviderError ? error.inputErrors : undefined), undefined);
    return { message, status: typeof status === "number" ? status : ProviderStatus.unknown, inputErrors };
}
