/** Checks of the options of operations: a value of a wrong kind is refused by its name, before anything happens. */
import { anything, byName, type Check, checkMembers, each, flag, members, text, texts, where } from "./checks";
import type { OperationOptions, PolicyPack } from "./operation";
import { isCollection } from "./options";

/** The largest number that says how many steps may work at a time: there is no limit then. */
const UNLIMITED = 2147483647;

const count = where(
    (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= UNLIMITED,
    `a whole number from 0 to ${UNLIMITED}`,
    "number",
);
const object = where(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !isCollection(value),
    "an object",
);

const PACK: { readonly [name in keyof Required<PolicyPack>]: Check } = {
    name: text,
    path: text,
    version: text,
    address: text,
    downloadUrl: text,
    checksums: byName("an object of strings", text),
    config: object,
};
const packs = each("an array of policy packs", members("a policy pack", PACK));

const CHECKS: { readonly [name in keyof Required<OperationOptions>]: Check } = {
    dryRun: flag,
    parallel: count,
    refresh: flag,
    refreshProgram: flag,
    destroyProgram: flag,
    requiredPolicies: packs,
    localPolicyPacks: packs,
    continueOnError: flag,
    ignoreProtect: flag,
    allowEmpty: flag,
    replaceTargets: texts,
    targets: texts,
    targetDependents: flag,
    excludes: texts,
    excludeDependents: flag,
    clearPendingCreates: flag,
    useLegacyDiff: flag,
    useLegacyRefreshDiff: flag,
    waitsForRegistrations: flag,
    disableResourceReferences: flag,
    disableOutputValues: flag,
    disableProviderPreview: flag,
    parallelDiff: flag,
    skipPluginPreInstall: flag,
    experimental: flag,
    snippets: each("an array of snippets", anything),
    targetSnippets: each("an array of snippets", anything),
    showSecrets: flag,
    noEvents: flag,
    debug: flag,
    message: text,
    plan: where(
        (value) => (typeof value === "object" && !Array.isArray(value)) || typeof value === "string",
        "the result of a preview or a plan's document",
    ),
    generatePlan: flag,
    strict: flag,
    holdSession: flag,
    // Whoever uses these two says what is wrong with them.
    signal: anything,
    onEvent: anything,
};

/** Refuses values that the options of an operation can not have; `what` says which operation. */
export function checkValues(what: string, options: OperationOptions): void {
    checkMembers(options, CHECKS, what);
}
