/** A stack's configuration, as a program reads it. */
import { InvalidInputError, NotFoundError } from "./errors";
import { inspectAs } from "./inspection";
import { described } from "./options";
import { textOf } from "./thrown";
import { type PropertyValue, Secret } from "./values";

/**
 * The stack's configuration by `namespace:name`; the project's namespace may be left out. Values are strings, secret ones a
 * `Secret` around the string.
 */
export class Config implements Iterable<[string, string | Secret<string>]> {
    /** Returns the key that a name stands for. */
    readonly #keyOf: (name: string) => string;
    readonly #values: { readonly [key: string]: string };
    readonly #secretKeys: ReadonlySet<string>;

    /** @internal */
    constructor(keyOf: (name: string) => string, values: { readonly [key: string]: string }, secretKeys: readonly string[]) {
        this.#keyOf = keyOf;
        this.#values = values;
        this.#secretKeys = new Set(secretKeys);
    }

    /** Returns a value; undefined when the configuration does not have it. */
    get(name: string): string | Secret<string> | undefined {
        const key = this.#key(name);
        const value = Object.hasOwn(this.#values, key) ? this.#values[key] : undefined;
        return value !== undefined && this.#secretKeys.has(key) ? new Secret(value) : value;
    }

    /** Returns whether the configuration has a value. */
    has(name: string): boolean {
        return Object.hasOwn(this.#values, this.#key(name));
    }

    /** Returns whether a value is secret. */
    isSecret(name: string): boolean {
        return this.#secretKeys.has(this.#key(name));
    }

    /**
     * Returns a value.
     * @throws {NotFoundError} The configuration does not have it.
     */
    require(name: string): string | Secret<string> {
        const value = this.get(name);
        if (value === undefined) {
            throw new NotFoundError(`the configuration has no '${this.#key(name)}'`);
        }
        return value;
    }

    /** Returns a string as a secret value, to be passed on as an input, whether or not it is secret there. */
    secret(name: string): Secret<string> {
        const value = this.require(name);
        return value instanceof Secret ? value : new Secret(value);
    }

    /**
     * Returns a structured value, a secret one as a `Secret`.
     * @throws {InvalidInputError} The text is no JSON.
     */
    object(name: string): PropertyValue {
        const value = this.require(name);
        return value instanceof Secret ? new Secret(this.#parsed(name, value.value)) : this.#parsed(name, value);
    }

    /** The names, as `namespace:name`. */
    keys(): string[] {
        return Object.keys(this.#values);
    }

    /** The values with their names. */
    *[Symbol.iterator](): Generator<[string, string | Secret<string>], void, undefined> {
        for (const key of this.keys()) {
            yield [key, this.require(key)];
        }
    }

    static {
        inspectAs(this, (config) => config.keys().sort().join(", "));
    }

    #key(name: string): string {
        if (typeof name !== "string") {
            throw new InvalidInputError(`the name of a configuration value is a string, not ${described(name)}`);
        }
        return this.#keyOf(name);
    }

    #parsed(name: string, text: string): PropertyValue {
        try {
            return JSON.parse(text) as PropertyValue;
        } catch (error) {
            // The error's text can show a part of the value.
            const shown = this.isSecret(name) ? "" : `: ${textOf(error)}`;
            throw new InvalidInputError(`the configuration '${this.#key(name)}' is no JSON${shown}`);
        }
    }
}
