/** Property values: plain JavaScript values, and classes for kinds that JavaScript lacks. */
import { BRAND, brandOf, OUTPUT_BRAND, SECRET_BRAND } from "./brands";
import { learnSecret } from "./secrecy";

/** The kind of an unknown's value. */
export type UnknownKind = "bool" | "number" | "string" | "array" | "asset" | "archive" | "object";

/** A value that a program, a provider or a state can hold. `undefined` properties are left out. */
export type PropertyValue =
    | null
    | undefined
    | boolean
    | number
    | string
    | Uint8Array
    | Secret
    | Unknown
    | Asset
    | Archive
    | ResourceReference
    | OutputValue
    | readonly PropertyValue[]
    | { readonly [name: string]: PropertyValue };

/** Values by name. */
export type PropertyMap = { [name: string]: PropertyValue };

/** A value that must never be shown or stored in the clear. */
export class Secret<T extends PropertyValue = PropertyValue> {
    readonly #value: T;

    constructor(value: T) {
        this.#value = value;
    }

    /** The value in the clear. */
    get value(): T {
        return this.#value;
    }

    toString(): never {
        throw new TypeError("a secret has no text that may be shown: use its value, or apply() of an output");
    }

    toJSON(): string {
        return "[secret]";
    }

    [Symbol.for("nodejs.util.inspect.custom")](): string {
        return "[secret]";
    }
}

/** A value that is not known before the resource that makes it exists: only during previews. */
export class Unknown {
    constructor(readonly kind: UnknownKind = "string") {}

    toString(): string {
        return "[unknown]";
    }

    toJSON(): string {
        return "[unknown]";
    }
}

type AssetSource = { text: string } | { path: string } | { uri: string };

/** A file's worth of data: a text, a file or a URI. */
export class Asset {
    readonly text?: string;
    readonly path?: string;
    readonly uri?: string;
    /** Lower-case hex SHA-256 of the contents; the engine computes it. */
    readonly hash?: string;

    constructor(source: AssetSource, hash?: string) {
        Object.assign(this, source, hash ? { hash } : {});
    }
}

type ArchiveSource = { assets: { [name: string]: Asset | Archive } } | { path: string } | { uri: string };

/** A tree of assets: by name, a directory or archive file, or a URI. */
export class Archive {
    readonly assets?: { readonly [name: string]: Asset | Archive };
    readonly path?: string;
    readonly uri?: string;
    /** Lower-case hex SHA-256 of the contents; the engine computes it. */
    readonly hash?: string;

    constructor(source: ArchiveSource, hash?: string) {
        Object.assign(this, source, hash ? { hash } : {});
    }
}

/** A reference to another resource. */
export class ResourceReference {
    constructor(
        readonly urn: string,
        /** The id; absent for components, unknown before the resource exists. */
        readonly id?: string | Unknown,
        /** The version of the package that defines the resource. */
        readonly packageVersion?: string,
    ) {}
}

/**
 * An output of a stack: its value, and whether that is secret. As an input of a resource it keeps both. Programs
 * send such values with dependencies to remote components.
 *
 * Text for display, that of `JSON.stringify` included, has `[secret]` in place of a secret value; `unwrap` returns the values of
 * all members of an object.
 */
export class OutputValue {
    /** The plain value, without any `Secret` around it or inside it. */
    declare readonly value: PropertyValue;
    #isShown = false;

    constructor(
        value: PropertyValue,
        /** Whether the value is secret, or holds a secret. */
        readonly secret = false,
        /** The URNs of the resources that it depends on; none for outputs of stacks. */
        readonly dependencies: readonly string[] = [],
    ) {
        // Copies of all enumerable members hold no secret.
        Object.defineProperty(this, "value", { value, enumerable: !secret });
    }

    /** Returns the same output with its value in text for display, also where it is secret. */
    shown(): OutputValue {
        const shown = new OutputValue(this.value, this.secret, this.dependencies);
        shown.#isShown = true;
        return shown;
    }

    toJSON(): { value: unknown; secret: boolean } {
        return { value: this.secret && !this.#isShown ? "[secret]" : this.value, secret: this.secret };
    }

    [Symbol.for("nodejs.util.inspect.custom")](
        _depth: number,
        options: object,
        inspect: (value: unknown, options: object) => string,
    ): string {
        const text = this.secret && !this.#isShown ? "[secret]" : inspect(this.value, options);
        return `OutputValue { value: ${text}, secret: ${this.secret} }`;
    }
}

for (const [index, valueClass] of [Secret, Unknown, Asset, Archive, ResourceReference, OutputValue].entries()) {
    Object.defineProperty(valueClass.prototype, BRAND, { value: index + 1 });
}

/**
 * Wraps a value as secret; a secret stays as it is. Inside of a program, the value is kept out of its operation's texts from
 * now on.
 */
export function secret<T extends PropertyValue>(value: T): Secret<T> {
    if (isSecret(value)) {
        return value as unknown as Secret<T>;
    }
    learnSecret(value);
    return new Secret(value);
}

/** Returns whether a value is a secret, regardless of the copy of this package that made it. */
export function isSecret(value: unknown): value is Secret {
    return brandOf(value) === SECRET_BRAND;
}

/** Returns whether a value is an unknown, regardless of the copy of this package that made it. */
export function isUnknown(value: unknown): value is Unknown {
    return brandOf(value) === 2;
}

/** Returns whether a value wraps another one: a secret, or an output. */
function isWrapper(value: unknown): value is Secret | OutputValue {
    const brand = brandOf(value);
    return brand === SECRET_BRAND || brand === OUTPUT_BRAND;
}

/** Returns whether an unknown is anywhere in a value. */
export function containsUnknown(value: PropertyValue): boolean {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) {
        return false;
    }
    const brand = brandOf(value);
    if (brand !== undefined) {
        return brand === 2 || (isWrapper(value) && containsUnknown(value.value));
    }
    return Object.values(value as PropertyMap).some(containsUnknown);
}

/** Returns a value without any `Secret` or `OutputValue` around it or inside it. Never log the result. */
export function unwrap(value: { readonly [name: string]: OutputValue }): PropertyMap;
export function unwrap(value: PropertyValue): PropertyValue;
export function unwrap(value: PropertyValue): PropertyValue {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) {
        return value;
    }
    if (brandOf(value) !== undefined) {
        return isWrapper(value) ? unwrap(value.value) : value;
    }
    if (Array.isArray(value)) {
        return value.map(unwrap);
    }
    return Object.fromEntries(Object.entries(value as PropertyMap).map(([name, member]) => [name, unwrap(member)]));
}

/**
 * Returns a value without outputs around it or inside it, secret ones as a `Secret`; adds what they depend on to `urns`.
 * @internal
 */
export function withoutOutputs(value: PropertyValue, urns: Set<string>): PropertyValue {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) {
        return value;
    }
    const brand = brandOf(value);
    if (isWrapper(value)) {
        const inner = withoutOutputs(value.value, urns);
        if (brand === OUTPUT_BRAND) {
            (value as OutputValue).dependencies.forEach((urn) => urns.add(urn));
        }
        return brand === OUTPUT_BRAND && !(value as OutputValue).secret ? inner : new Secret(inner);
    }
    if (brand !== undefined) {
        return value;
    }
    if (Array.isArray(value)) {
        return value.map((element: PropertyValue) => withoutOutputs(element, urns));
    }
    const members = Object.entries(value as PropertyMap);
    return Object.fromEntries(members.map(([name, member]) => [name, withoutOutputs(member, urns)]));
}

/**
 * Makes an instance for the native module.
 * @internal
 */
export function revive(brand: number, a: unknown, b: unknown, c: unknown): unknown {
    switch (brand) {
        case 1:
            return new Secret(a as PropertyValue);
        case 2:
            return new Unknown(a as UnknownKind);
        case 3:
            return new Asset({ [a as string]: b } as AssetSource, c as string);
        case 4:
            return new Archive({ [a as string]: b } as ArchiveSource, c as string);
        case 5:
            return new ResourceReference(
                a as string,
                (b as string | Unknown | undefined) ?? undefined,
                (c as string) || undefined,
            );
        default:
            return new OutputValue(a as PropertyValue, b as boolean, c as string[]);
    }
}
