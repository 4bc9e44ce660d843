/** Checks of resources and their options: what is misspelt or of a wrong kind is named, with the resource, before anything happens. */
import { checkMembers, type Checks, each, flag, members, refuse, text, texts, where } from "./checks";
import { InvalidInputError } from "./errors";
import { described, isCollection, refuseUnknown } from "./options";
import { Resource } from "./resource";
import { isWellFormed } from "./thrown";

/** Refuses options with names that are not `known`, and values that they can not have. `what` says whose they are. */
export function checkOptions(what: string, options: object, known: { readonly [name: string]: true }): void {
    refuseUnknown(what, options, known);
    checkMembers(options, CHECKS, what);
}

const isResource = (value: unknown) => value instanceof Resource;
/** The protocol's rule: the prefix, and three separators at least. */
const isUrn = (value: unknown) => typeof value === "string" && /^urn:pulumi:.*(::.*){3}$/s.test(value);

const resource = where(isResource, "a resource");
const resources = each("an array of resources", resource);
const resourceOrUrn = where((value) => isResource(value) || isUrn(value), "a resource or its URN", "string");
const urn = where(isUrn, "a URN", "string");
const seconds = where((value) => Number.isFinite(value) && (value as number) >= 0, "a number of seconds", "number");

const aliasParts = members("a URN or an object", {
    urn,
    name: text,
    type: text,
    stack: text,
    project: text,
    parent: urn,
    noParent: flag,
});

const CHECKS: Checks = {
    parent: resourceOrUrn,
    dependsOn: (value, option, what) => (isResource(value) ? undefined : resources(value, option, what)),
    provider: resource,
    providers: (value, option, what) => {
        if (typeof value !== "object" || value === null) {
            refuse(option, "provider resources by package", value, what);
        }
        for (const [name, provider] of Object.entries(value)) {
            resource(provider, `${option}.${name}`, what);
        }
    },
    version: text,
    pluginDownloadURL: text,
    protect: flag,
    deleteBeforeReplace: flag,
    ignoreChanges: texts,
    replaceOnChanges: texts,
    additionalSecretOutputs: texts,
    aliases: each("an array of URNs and objects", (value, option, what) =>
        typeof value === "string" ? urn(value, option, what) : aliasParts(value, option, what),
    ),
    hideDiffs: texts,
    importId: text,
    customTimeouts: members("an object of seconds", { create: seconds, update: seconds, delete: seconds, read: seconds }),
    retainOnDelete: flag,
    deletedWith: resource,
    replaceWith: resources,
};

/** What the inputs of a resource are called where something is wrong with them. */
export function inputsOf(name: string): string {
    return `the inputs of the resource "${name}"`;
}

/** Refuses what can be no type, no name or no inputs of a resource. */
export function requireNamed(type: unknown, name: unknown, inputs: unknown): void {
    if (typeof name !== "string") {
        throw new InvalidInputError(`the name of a resource is a string, not ${described(name)}`);
    }
    requireWellFormed(name, "the name of a resource");
    if (typeof type !== "string") {
        throw new InvalidInputError(`the type of the resource "${name}" is a string, not ${described(type)}`);
    }
    requireWellFormed(type, `the type of the resource "${name}"`);
    requireValues(inputs, inputsOf(name));
}

/** Refuses a text with a lone surrogate, which the engine could only record as another text. */
export function requireWellFormed(text: string, what: string): void {
    if (!isWellFormed(text)) {
        throw new InvalidInputError(`${what} has a lone surrogate, which UTF-8 cannot represent: ${JSON.stringify(text)}`);
    }
}

/** Refuses what can be no values by name. */
export function requireValues(values: unknown, what: string): void {
    if (typeof values !== "object" || values === null || Array.isArray(values) || isCollection(values)) {
        throw new InvalidInputError(`${what} are an object of values by name, not ${described(values)}`);
    }
}
