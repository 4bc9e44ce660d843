/** Values whose inspection throws, is inconsistent or does not end. */

/** Factories of values by name. Some values change when they are read, so each use makes a new one. */
export const oddValues = {
    nullPrototype: () => Object.create(null),
    revokedProxy: () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
    },
    revokedFunction: () => {
        const { proxy, revoke } = Proxy.revocable(() => undefined, {});
        revoke();
        return proxy;
    },
    throwingProxy: () =>
        new Proxy({}, new Proxy({}, { get: () => () => { throw Object.create(null); } })),
    throwingGetter: () => ({ get value() { throw new Error("getter"); }, id: "x" }),
    throwingId: () => ({ get id() { throw Object.create(null); } }),
    throwingThen: () => ({ then() { throw new Error("then"); } }),
    throwingThenGetter: () => ({ get then() { throw Symbol("then"); } }),
    thenTwice: () => ({ then(done, fail) { done({ id: "twice" }); fail(new Error("twice")); throw new Error("thrice"); } }),
    thenOddly: () => ({ then(_done, fail) { fail(Object.create(null)); } }),
    changingThen: () => {
        let reads = 0;
        return { get then() { return reads++ === 0 ? () => undefined.x : 7; } };
    },
    promiseWithoutConstructor: () =>
        Object.defineProperty(Promise.resolve({}), "constructor", { get() { throw new Error("constructor"); } }),
    symbol: () => Symbol("odd"),
    bigint: () => 12345678901234567890n,
    cycle: () => {
        const value = { id: "cycle", outputs: {} };
        value.outputs.self = value;
        return value;
    },
    deep: () => {
        let value = {};
        for (let depth = 0; depth < 5000; depth++) {
            value = { value };
        }
        return { id: "deep", outputs: value };
    },
    loneSurrogate: () => ({ id: "a\uD800b", outputs: { text: "\uDC00" } }),
    hugeLength: () => new Proxy([], { get: (_, name) => (name === "length" ? 2 ** 40 : undefined) }),
    errorWithoutMessage: () => Object.defineProperty(new Error("x"), "message", { get() { throw new Error("message"); } }),
    errorWithOddMessage: () => Object.assign(new Error(), { message: Object.create(null), stack: Symbol("stack") }),
    errorWithOddCode: () => Object.defineProperty(new Error("coded"), "code", { get() { throw new Error("code"); } }),
    errorWithOddStatus: () => Object.assign(new Error("status"), { status: 12345n }),
    errorProxy: () => new Proxy(new Error("proxied"), { getPrototypeOf() { throw new Error("prototype"); } }),
    throwingText: () => ({ toString() { throw new Error("text"); }, valueOf() { throw new Error("value"); } }),
    throwingPrimitive: () => ({ [Symbol.toPrimitive]() { throw new Error("primitive"); } }),
    throwingIterator: () => ({ [Symbol.iterator]() { throw new Error("iterator"); }, length: 3 }),
    throwingJson: () => ({ toJSON() { throw new Error("json"); }, id: "json" }),
    generator: () => (function* () { yield 1; })(),
    map: () => new Map([["id", "x"]]),
    date: () => new Date(Number.NaN),
    notANumber: () => Number.NaN,
    undefined: () => undefined,
    null: () => null,
    number: () => 7,
    emptyText: () => "",
    function: () => () => undefined,
    class: () => class {},
};

/** A deterministic random number generator. */
export function random(seed) {
    let state = seed >>> 0;
    const next = () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state / 2 ** 32;
    };
    return { next, pick: (list) => list[Math.floor(next() * list.length)] };
}

/** The ways in which a callback can return or throw a value. */
export const ways = {
    throws: (value) => { throw value; },
    rejects: (value) => Promise.reject(value),
    returns: (value) => value,
    resolves: async (value) => {
        await undefined;
        return value;
    },
    throwsLater: (value) => {
        // Within the operation: a failure after its end is attributed to the host.
        process.nextTick(() => { throw value; });
        return undefined;
    },
    rejectsAside: (value) => {
        void Promise.reject(value);
        return undefined;
    },
};
