/** What `util.inspect` shows of objects, and of the requests to a provider: of properties, the names alone. */

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/**
 * Has `util.inspect`, and with it `console.log`, show the objects of a class as the name of the class and a text, in angle brackets. Called in
 * the class, whose private members the text can use; it has no secret.
 */
export function inspectAs<T extends object>(shownClass: { name: string; prototype: T }, text: (shown: T) => string): void {
    function inspected(this: T): string {
        return `<${`${shownClass.name} ${text(this)}`.trimEnd()}>`;
    }
    Object.defineProperty(shownClass.prototype, INSPECT, { value: inspected, configurable: true, writable: true });
}

/** The members of requests and views that are properties by name. */
const MAPS: ReadonlySet<string> = new Set(["arguments", "inputs", "oldInputs", "oldOutputs", "outputs"]);

/** The methods whose requests have properties. */
const METHODS: ReadonlySet<unknown> = new Set([
    "checkConfig",
    "diffConfig",
    "configure",
    "check",
    "diff",
    "create",
    "read",
    "update",
    "delete",
    "invoke",
    "call",
    "construct",
]);

/** Stands for a value. */
const HIDDEN = { [INSPECT]: () => "..." };

/**
 * Hides the values of properties when a request is inspected. A provider without the capability `secrets` gets secrets as plain values, which
 * cannot be distinguished from others.
 */
export function hideValues(method: unknown, request: unknown): void {
    if (METHODS.has(method) && typeof request === "object" && request !== null) {
        Object.defineProperty(request, INSPECT, { value: shown, configurable: true });
    }
}

function shown(this: object, _depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
    return inspect(withoutValues(this), options);
}

function withoutValues(request: object): object {
    const members = Object.entries(request).map(([name, member]: [string, unknown]) => {
        if (name === "oldViews" && Array.isArray(member)) {
            return [name, member.map(withoutValues)];
        }
        const isMap = MAPS.has(name) && typeof member === "object" && member !== null;
        return [name, isMap ? Object.fromEntries(Object.keys(member).map((key) => [key, HIDDEN])) : member];
    });
    return Object.fromEntries(members) as object;
}
