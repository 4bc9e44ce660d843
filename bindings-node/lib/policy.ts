/** Policies as functions: checks of resources and of whole stacks, and remediations of inputs. */
import type { Bridge } from "./bridge";
import { anything, checkMembers, type Checks, flag, text } from "./checks";
import type { EnforcementLevel, PolicyPack, PolicySeverity } from "./documents";
import { InvalidInputError } from "./errors";
import { answerOf, type HostObject } from "./host";
import { inspectAs } from "./inspection";
import { requirePlainValues, requireWellFormed } from "./option_checks";
import { described, given, refuseUnknown, requireFunction } from "./options";
import type { PropertyMap } from "./values";

type Answer<T> = T | PromiseLike<T>;

/** The options of a resource, for policies. */
export interface PolicyResourceOptions {
    /** Whether deletion is refused. */
    readonly protect: boolean;
    /** Paths of inputs whose changes are ignored. */
    readonly ignoreChanges: readonly string[];
    /** Whether a replacement deletes the old resource first; `null` if the program does not set it. */
    readonly deleteBeforeReplace: boolean | null;
    /** Names of outputs that are treated as secret. */
    readonly additionalSecretOutputs: readonly string[];
    /** The aliases that the program gives as URNs. */
    readonly aliases: readonly string[];
    /** Limits of the provider's calls in seconds. */
    readonly customTimeouts: { readonly create?: number; readonly update?: number; readonly delete?: number; readonly read?: number };
}

/** The provider of a resource, for policies. */
export interface PolicyProvider {
    readonly type: string;
    readonly name: string;
    readonly urn: string;
    /** The configuration. */
    readonly props: PropertyMap;
}

/**
 * A resource that a policy checks or remediates. Secrets are marked, and values are unknown in previews only. That of a remediation is
 * frozen, and so are its properties and options: changed copies of the properties are returned.
 */
export interface PolicyResource {
    readonly type: string;
    readonly name: string;
    readonly urn: string;
    /** The properties: the inputs in checks and remediations of a resource, the outputs in checks of a stack. */
    readonly props: Readonly<PropertyMap>;
    readonly inputs: Readonly<PropertyMap>;
    readonly options: PolicyResourceOptions;
    /** The provider; `null` for components and providers. */
    readonly provider: PolicyProvider | null;
    /** The URN of the parent. */
    readonly parent: string | null;
    /** The URNs that it depends on as a whole. */
    readonly dependencies: readonly string[];
    /** The URNs that each input depends on. */
    readonly propertyDependencies: { readonly [name: string]: readonly string[] };
    /** The settings of the policy. */
    readonly config: PropertyMap;
}

/** All resources of a stack, for policies that check them together. */
export interface PolicyStack {
    /** The resources, providers and components included. */
    readonly resources: readonly PolicyResource[];
    /** The settings of the policy. */
    readonly config: PropertyMap;
}

/** Reports a violation; `urn` is that of the resource in checks of a stack. */
export type Report = (message: string, urn?: string) => void;

/** What a check returns: the violations that it has not reported. */
export type Found = string | readonly string[] | undefined | null | void;

/** The functions and facts of a policy. */
export interface PolicyOptions {
    /** Checks each resource after the provider has checked its inputs; returns or reports the violations. */
    check?(resource: PolicyResource, report: Report): Answer<Found>;
    /**
     * Returns the inputs of a resource that conform to the policy, or nothing to leave them as they are. It is called for
     * the level `remediate` only. An input that was secret remains secret.
     */
    remediate?(resource: PolicyResource): Answer<PropertyMap | undefined | null | void>;
    /** Checks all resources together at the end of an operation. A policy that has it has none of the others. */
    checkStack?(stack: PolicyStack, report: Report): Answer<Found>;
    /** How strictly it is enforced. The default is `remediate` with that function, else `advisory`. */
    level?: EnforcementLevel;
    /** What the policy demands, for users. */
    description?: string;
    /** How grave a violation is. */
    severity?: PolicySeverity;
    /** The pack that events name; `policies` when absent. Policies of one pack stand together. */
    pack?: string;
}

const OPTIONS = {
    check: true,
    remediate: true,
    checkStack: true,
    level: true,
    description: true,
    severity: true,
    pack: true,
} as const;
const LEVELS: readonly string[] = ["advisory", "mandatory", "remediate", "disabled"];
const SEVERITIES: readonly string[] = ["low", "medium", "high", "critical"];

/**
 * A policy of the host, for `policies` of operations and of `Stack.analyze()`. An exception of a function ends the
 * operation, and is the cause of its error: a violation is returned or reported instead.
 */
export class Policy {
    readonly name: string;
    readonly level: EnforcementLevel;
    readonly pack: string;
    /** @internal */
    readonly options: PolicyOptions;

    constructor(name: string, options: PolicyOptions) {
        options = given(options);
        const what = `the policy ${JSON.stringify(name)}`;
        if (typeof name !== "string" || name === "") {
            throw new InvalidInputError(`the name of a policy is a text, not ${described(name)}`);
        }
        refuseUnknown(what, options, OPTIONS);
        const { check, remediate, checkStack, level, severity, pack = "policies", description = "" } = options;
        for (const [option, value] of Object.entries({ check, remediate, checkStack })) {
            requireFunction(option, value);
        }
        if (checkStack !== undefined && (check ?? remediate) !== undefined) {
            throw new InvalidInputError(`${what} has checkStack beside check or remediate; make two policies`);
        }
        if ((check ?? remediate ?? checkStack) === undefined) {
            throw new InvalidInputError(`${what} has no function: check, remediate or checkStack`);
        }
        if (level !== undefined && !LEVELS.includes(level)) {
            throw new InvalidInputError(`level is one of ${LEVELS.join(", ")}, not ${described(level)}`);
        }
        if (severity !== undefined && !SEVERITIES.includes(severity)) {
            throw new InvalidInputError(`severity is one of ${SEVERITIES.join(", ")}, not ${described(severity)}`);
        }
        for (const [option, value] of Object.entries({ pack, description })) {
            if (typeof value !== "string") {
                throw new InvalidInputError(`${option} is a text, not ${described(value)}`);
            }
        }
        this.name = name;
        this.level = level ?? (remediate === undefined ? "advisory" : "remediate");
        this.pack = pack;
        this.options = { ...options, description };
    }

    static {
        inspectAs(this, ({ name, level }) => `${name}, ${level}`);
    }

    toString(): string {
        return `policy ${this.name} (${this.level})`;
    }
}

/** A pack of policies that are functions, with a version and settings: an entry of the option `policies`. */
export interface HostPolicyPack extends Pick<PolicyPack, "config"> {
    /** The name, in events and errors; the `pack` of its policies does not count. */
    name: string;
    /** The version, in events. */
    version?: string;
    /** The policies. Their remediations run in this order. */
    policies: readonly Policy[];
    /** Whether it counts as one of `requiredPolicies`, and not of `localPolicyPacks`: summaries then have its version. The default is `false`. */
    required?: boolean;
}

const PACK_CHECKS: Checks = { name: text, version: text, config: anything, policies: anything, required: flag };

/** A call of a function, as the native side makes it. */
export interface PolicyRequest {
    readonly policy: number;
    readonly function: "check" | "remediate" | "checkStack";
    readonly urn?: string;
    readonly argument: unknown;
}

/** A pack of functions as the native side takes it. */
export interface PackEntry {
    name: string;
    version: string;
    required: boolean;
    /** The place among the packs of the options. */
    index: number;
    number: number;
    policies: {
        name: string;
        level: string;
        description: string;
        severity?: string;
        checks: boolean;
        remediates: boolean;
        ofStack: boolean;
    }[];
}

/** Functions, and the option that names their pack: its place is among the local or the required packs. */
export interface PlacedPack extends Required<Pick<HostPolicyPack, "name" | "version" | "policies" | "required">> {
    readonly index: number;
}

/** The packs of an operation. */
export interface Packs {
    readonly local: PolicyPack[];
    readonly required: PolicyPack[];
    readonly functions: PlacedPack[];
}

/**
 * Puts policies behind packs that the options have already: packs at addresses or in folders, and functions. Without policies
 * there is nothing to place.
 * @internal
 */
export function placed(policies: unknown, local: readonly PolicyPack[] = [], required: readonly PolicyPack[] = []): Packs {
    if (policies === undefined) {
        return { local: [], required: [], functions: [] };
    }
    const packs: Packs = { local: copied(local), required: copied(required), functions: [] };
    if (!Array.isArray(policies)) {
        throw new InvalidInputError(`policies is a list of policies, not ${described(policies)}`);
    }
    let open: { pack: string; policies: Policy[] } | undefined;
    for (const policy of policies as unknown[]) {
        if (policy instanceof Policy) {
            if (open?.pack === policy.pack) {
                open.policies.push(policy);
            } else {
                open = { pack: policy.pack, policies: [policy] };
                place(packs, { name: policy.pack, policies: open.policies });
            }
            continue;
        }
        open = undefined;
        if (typeof policy !== "object" || policy === null || Array.isArray(policy)) {
            throw new InvalidInputError(`policies has objects of the class Policy and policy packs, not ${described(policy)}`);
        }
        if ("policies" in policy) {
            place(packs, checkedPack(policy));
        } else {
            packs.local.push(policy as PolicyPack);
        }
    }
    return packs;
}

/** Returns a copy of packs of the options. */
function copied(packs: readonly PolicyPack[]): PolicyPack[] {
    if (!Array.isArray(packs)) {
        throw new InvalidInputError(`the packs beside policies are a list, not ${described(packs)}`);
    }
    return [...(packs as readonly PolicyPack[])];
}

function place({ local, required, functions }: Packs, { name, version = "", policies, required: isRequired = false, config }: HostPolicyPack): void {
    const index = (isRequired ? required : local).push(config === undefined ? { name } : { name, config }) - 1;
    functions.push({ name, version, policies, required: isRequired, index });
}

function checkedPack(pack: object): HostPolicyPack {
    const what = "a pack of policies";
    const { policies } = pack as HostPolicyPack;
    refuseUnknown(what, pack, PACK_CHECKS);
    checkMembers(pack, PACK_CHECKS, what);
    const wrong = Array.isArray(policies) ? policies.find((policy: unknown) => !(policy instanceof Policy)) : undefined;
    if (!Array.isArray(policies) || wrong !== undefined) {
        throw new InvalidInputError(`${what} has a list of objects of the class Policy, not ${described(wrong ?? policies)}`);
    }
    if (typeof (pack as HostPolicyPack).name !== "string") {
        throw new InvalidInputError(`${what} has a name, not ${described((pack as HostPolicyPack).name)}`);
    }
    return given(pack as HostPolicyPack);
}

/**
 * Makes packs callable in an operation or an analysis of a stack.
 * @internal
 */
export function addPacks(bridge: Bridge, packs: readonly PlacedPack[], stack: string): PackEntry[] {
    const { raised } = bridge;
    const keep = (request: PolicyRequest, error: unknown) =>
        request.function === "checkStack" ? raised.ofCheckedStack(stack, error) : raised.ofProvider(request, error);
    return packs.map(({ name, version, required, index, policies }) => ({
        name,
        version,
        required,
        index,
        number: bridge.addHost(packHost(policies, keep)),
        policies: policies.map(({ name, level, options }) => ({
            name,
            level,
            description: options.description ?? "",
            ...(options.severity === undefined ? {} : { severity: options.severity }),
            checks: options.check !== undefined,
            remediates: options.remediate !== undefined,
            ofStack: options.checkStack !== undefined,
        })),
    }));
}

/** Makes an object that runs the functions of a pack. */
function packHost(policies: readonly Policy[], keep: (request: PolicyRequest, error: unknown) => void): HostObject {
    return {
        checkPolicy: (request) =>
            answerOf(
                async () => {
                    const options = policies[request.policy]?.options ?? {};
                    if (request.function === "remediate") {
                        const inputs = await options.remediate?.(frozen(request.argument as PolicyResource));
                        if (inputs === undefined || inputs === null) {
                            return { texts: [] };
                        }
                        requirePlainValues(inputs, "the inputs that remediate() returns");
                        return { inputs };
                    }
                    const texts: string[] = [];
                    const report: Report = (message, urn) => {
                        texts.push(violation(message), placeOf(urn));
                    };
                    const found =
                        request.function === "check"
                            ? await options.check?.(request.argument as PolicyResource, report)
                            : await options.checkStack?.(request.argument as PolicyStack, report);
                    for (const message of listed(found)) {
                        report(message);
                    }
                    return { texts };
                },
                (error) => keep(request, error),
            ),
    };
}

/** Returns the violations that a check has returned. */
function listed(found: Found): readonly string[] {
    if (found === undefined || found === null) {
        return [];
    }
    if (typeof found === "string") {
        return [found];
    }
    if (!Array.isArray(found)) {
        throw new InvalidInputError(`a check returns a text, a list of texts or nothing, not ${described(found)}`);
    }
    return found as readonly string[];
}

function violation(message: unknown): string {
    if (typeof message !== "string") {
        throw new InvalidInputError(`a violation is a text, not ${described(message)}`);
    }
    requireWellFormed(message, "a violation");
    return message;
}

/** Returns the URN of a reported violation as the native side takes it. */
function placeOf(urn: unknown): string {
    if (urn === undefined || urn === null) {
        return "";
    }
    if (typeof urn !== "string") {
        throw new InvalidInputError(`report() takes the URN of a resource behind the violation, a text or nothing, not ${described(urn)}`);
    }
    return urn;
}

/** Freezes what a remediation gets: a change in place would have no effect. */
function frozen(resource: PolicyResource): PolicyResource {
    for (const part of [resource, resource.props, resource.inputs, resource.options]) {
        Object.freeze(part);
    }
    return resource;
}
