/** Property-based tests: configurations drawn by fast-check. */
import { type ConfigValue, Engine } from "../engine";
import { InvalidInputError } from "../errors";
import { refuseUnknown } from "../options";
import { secret } from "../values";
import { membersOf } from "./settings";

/** An arbitrary of fast-check, as far as it is used here. */
export interface ArbitraryLike<T = unknown> {
    map<U>(mapper: (value: T) => U): ArbitraryLike<U>;
    filter(predicate: (value: T) => boolean): ArbitraryLike<T>;
}

/** A configuration that is drawn. */
export type DrawnConfiguration = { readonly [key: string]: ConfigValue };

/**
 * An arbitrary of `fast-check` as its properties take it: the types have the form of `fast-check`'s own, which is needed only where
 * configurations are drawn.
 */
export interface ConfigurationArbitrary<T> {
    generate(random: any, biasFactor: number | undefined): any;
    canShrinkWithoutContext(value: unknown): value is T;
    shrink(value: T, context: unknown): any;
    filter(predicate: (value: T) => boolean): any;
    map<U>(mapper: (value: T) => U, unmapper?: (value: unknown) => T): any;
    chain(chainer: (value: T) => any): any;
}

/** What is used of the package `fast-check`. */
export interface FastCheck {
    string(constraints?: object): ArbitraryLike<string>;
    integer(constraints?: object): ArbitraryLike<number>;
    float(constraints?: object): ArbitraryLike<number>;
    boolean(): ArbitraryLike<boolean>;
    oneof(...arbitraries: never[]): ArbitraryLike;
    array(arbitrary: never, constraints?: object): ArbitraryLike<unknown[]>;
    dictionary(key: never, value: never, constraints?: object): ArbitraryLike<object>;
    record(model: never, constraints?: object): ArbitraryLike<object>;
}

/** The types of a configuration by key: `string`, `integer`, `number`, `boolean`, `object`, `array`, `array<string>`…, or arbitraries. */
export type Declared = { readonly [key: string]: string | ArbitraryLike };

const MAX_LENGTH = 4;

function ofType(fc: FastCheck, key: string, type: string): ArbitraryLike {
    // Controls and lone surrogates are no text of a configuration.
    const texts = fc.string({ maxLength: 40 });
    const integers = fc.integer();
    const scalars = fc.oneof(texts as never, integers as never, fc.boolean() as never);
    const scalar = scalars as never;
    const constraints = { maxLength: MAX_LENGTH };
    switch (type) {
        case "string":
            return texts as ArbitraryLike;
        case "integer":
            return integers as ArbitraryLike;
        case "number":
            return fc.float({ noNaN: true, noDefaultInfinity: true }) as ArbitraryLike;
        case "boolean":
            return fc.boolean() as ArbitraryLike;
        case "object":
            return fc.dictionary(texts.filter((text) => text !== "" && text !== "__proto__") as never, scalar, { maxKeys: MAX_LENGTH }) as ArbitraryLike;
        case "array":
            return fc.array(scalar, constraints) as ArbitraryLike;
        default: {
            const items = /^array<(.*)>$/.exec(type)?.[1];
            if (items !== undefined) {
                return fc.array(ofType(fc, key, items) as never, constraints) as ArbitraryLike;
            }
            const wanted = "string, integer, number, boolean, object, array, array<TYPE>";
            throw new InvalidInputError(`the type of ${key} takes one of ${wanted}, or an arbitrary, not ${JSON.stringify(type)}`);
        }
    }
}

/**
 * Returns an arbitrary of configurations for `simulate()`.
 *
 * ```js
 * import fc from "fast-check";
 * const configs = await configurations(fc, "../shop");
 * await fc.assert(fc.asyncProperty(configs, async (config) => {
 *     (await (await simulate(program, { config })).preview()).assertNoChanges();
 * }));
 * ```
 * @param fc The package `fast-check`.
 * @param declared The folder of a project, whose `Pulumi.yaml` declares the keys, or the types by key. A key with a default is left out in some
 * configurations.
 * @param replaced Arbitraries in the place of those of the declaration, by key.
 * @throws {InvalidInputError} A key is not declared, or a type does not exist.
 */
export async function configurations<T extends object = DrawnConfiguration>(
    fc: FastCheck,
    declared: string | Declared,
    replaced: { readonly [key: string]: ArbitraryLike } = {},
): Promise<ConfigurationArbitrary<T>> {
    if (typeof (fc as Partial<FastCheck> | undefined | null)?.record !== "function") {
        throw new InvalidInputError("configurations() takes the package fast-check first: configurations(fc, declared)");
    }
    if (typeof declared !== "string") {
        membersOf("declared", declared, "the folder of a project, or an object of types by keys");
    }
    const model: { [key: string]: ArbitraryLike } = {};
    const required: string[] = [];
    const known: { [key: string]: true } = {};
    const add = (key: string, type: string | ArbitraryLike, isSecret: boolean, hasDefault: boolean): void => {
        const short = key.slice(key.indexOf(":") + 1);
        known[key] = known[short] = true;
        const own = replaced[key] ?? replaced[short];
        const arbitrary = own ?? (typeof type === "string" ? ofType(fc, key, type) : type);
        model[key] = isSecret ? arbitrary.map((value) => secret(value as string)) : arbitrary;
        if (!hasDefault) {
            required.push(key);
        }
    };
    if (typeof declared === "string") {
        const engine = new Engine({ store: "memory://" });
        try {
            const { config } = await (await engine.project(declared)).facts();
            for (const each of config) {
                if (each.type !== null && each.type !== undefined) {
                    add(each.key, each.type, each.secret, each.default !== null && each.default !== undefined);
                }
            }
        } finally {
            await engine.close();
        }
    } else {
        Object.entries(declared).forEach(([key, type]) => add(key, type, false, false));
    }
    refuseUnknown("the declared configuration", replaced, known, "key");
    return fc.record(model as never, { requiredKeys: required }) as unknown as ConfigurationArbitrary<T>;
}
