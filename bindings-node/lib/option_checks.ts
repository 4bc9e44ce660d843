/** Checks of resource options: what is misspelt or of a wrong kind is named, with the resource, before anything happens. */
import { InvalidInputError } from "./errors";
import { described, refuseUnknown } from "./options";
import { Resource } from "./resource";

type Check = (value: unknown, option: string, what: string) => void;

/** Refuses options with names that are not `known`, and values that they can not have. `what` says whose they are. */
export function checkOptions(what: string, options: object, known: { readonly [name: string]: true }): void {
    refuseUnknown(what, options, known);
    checkMembers(options, CHECKS, (name) => name, what);
}

function checkMembers(
    values: object,
    checks: { readonly [name: string]: Check },
    named: (name: string) => string,
    what: string,
): void {
    for (const [name, value] of Object.entries(values)) {
        if (value !== undefined) {
            checks[name]?.(value, named(name), what);
        }
    }
}

function refuse(option: string, wanted: string, value: unknown, what: string): never {
    throw new InvalidInputError(`${option} takes ${wanted}, not ${described(value)}, in the options of ${what}`);
}

function where(accepts: (value: unknown) => boolean, wanted: string): Check {
    return (value, option, what) => {
        if (!accepts(value)) {
            refuse(option, wanted, value, what);
        }
    };
}

function each(wanted: string, check: Check): Check {
    return (value, option, what) => {
        if (!Array.isArray(value)) {
            refuse(option, wanted, value, what);
        }
        value.forEach((element, index) => check(element, `${option}[${index}]`, what));
    };
}

function members(wanted: string, checks: { readonly [name: string]: Check }): Check {
    return (value, option, what) => {
        if (typeof value !== "object" || value === null || Array.isArray(value)) {
            refuse(option, wanted, value, what);
        }
        refuseUnknown(`${option} in the options of ${what}`, value, checks, "member");
        checkMembers(value, checks, (name) => `${option}.${name}`, what);
    };
}

const isResource = (value: unknown) => value instanceof Resource;
const isText = (value: unknown) => typeof value === "string";

const flag = where((value) => typeof value === "boolean", "true or false");
const text = where(isText, "a string");
const texts = each("an array of strings", text);
const resource = where(isResource, "a resource");
const resources = each("an array of resources", resource);
const resourceOrUrn = where((value) => isResource(value) || isText(value), "a resource or its URN");
const seconds = where((value) => typeof value === "number", "a number of seconds");

const aliasParts = members("a URN or an object", {
    urn: text,
    name: text,
    type: text,
    stack: text,
    project: text,
    parent: text,
    noParent: flag,
});

const CHECKS: { readonly [name: string]: Check } = {
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
        isText(value) ? undefined : aliasParts(value, option, what),
    ),
    hideDiffs: texts,
    importId: text,
    customTimeouts: members("an object of seconds", { create: seconds, update: seconds, delete: seconds, read: seconds }),
    retainOnDelete: flag,
    deletedWith: resource,
    replaceWith: resources,
};
