/** The code of components and methods: what the engine calls, with a context of its own for each call. */
import type { Bridge } from "./bridge";
import { type Place, ProgramContext } from "./context";
import { InvalidInputError } from "./errors";
import { refuseGenerator } from "./generators";
import { requirePlainValues } from "./option_checks";
import { refuseUnknown } from "./options";
import type { Inputs } from "./output";
import type { BodyStart, CheckFailure, ConstructRequest, MethodAnswer, MethodRequest } from "./provider";
import type { Named } from "./references";
import { isAnswer } from "./resource";
import { Run, runBody } from "./run";
import { isUnknown, type PropertyMap, withoutOutputs } from "./values";

/** A method of a provider's object. */
type Method = (context: ProgramContext, request: ConstructRequest | MethodRequest, signal: AbortSignal) => unknown;

/** What code has returned, as the native side takes it. */
interface Returned extends Named {
    readonly failures: readonly CheckFailure[] | undefined;
}

/**
 * Runs the code of a component or a method in a run of its own. `keepsOutputs` leaves values with dependencies as they are;
 * otherwise the method gets plain values and secrets.
 */
export function callBody(bridge: Bridge, start: BodyStart, keepsOutputs: boolean, method: Method): Promise<Returned> {
    const { run: number, info, ...asked } = start;
    const run = new Run(bridge, number, info, "method", placeOf(asked, []).what);
    return runBody(run, async () => {
        const urns = new Set<string>();
        const request = keepsOutputs ? asked : plainRequest(asked, urns);
        const place = placeOf(request, [...urns]);
        const context = new ProgramContext(run, place);
        let returned: { values: Promise<Named>; failures: Returned["failures"] } | undefined;
        try {
            const { values, failures } = answerOf(request, place, await method(context, request, context.signal));
            returned = { values: context.resolveReturned(values), failures };
        } finally {
            await context.settle(returned !== undefined);
        }
        const { values, dependencies } = await returned.values;
        return { values, dependencies, failures: returned.failures };
    });
}

/** Returns a request with plain values, and adds what they depend on to `urns`. */
function plainRequest(request: ConstructRequest | MethodRequest, urns: Set<string>): ConstructRequest | MethodRequest {
    return "token" in request
        ? { ...request, arguments: withoutOutputs(request.arguments, urns) as PropertyMap }
        : { ...request, inputs: withoutOutputs(request.inputs, urns) as PropertyMap };
}

/** A component is deleted before what its inputs come from, and what is below it before the component; a method has no such order. */
function placeOf(request: ConstructRequest | MethodRequest, origins: readonly string[]): Place {
    return "token" in request
        ? { what: `the method ${request.token}`, origins }
        : { what: `the component "${request.name}"`, component: request.urn };
}

/** Reads what a method has returned: the outputs of a component, or the answer of a method; nothing is none. */
function answerOf(
    request: ConstructRequest | MethodRequest,
    { what }: Place,
    returned: unknown,
): { values: Inputs; failures: Returned["failures"] } {
    refuseGenerator(returned, "token" in request ? what : `construct() of ${what}`);
    if (returned === undefined || returned === null) {
        return { values: {}, failures: undefined };
    }
    if (!("token" in request)) {
        return { values: named(request, returned, `the outputs of ${what}`), failures: undefined };
    }
    const answer = named(request, returned, `the members of the answer of ${what}`);
    refuseUnknown(`the answer of ${what}`, answer, { result: true, failures: true }, "member");
    const { result, failures } = answer as MethodAnswer;
    return { values: named(request, result ?? {}, `the values of the result of ${what}`), failures };
}

/**
 * Refuses what is no plain object of values by name. In a preview, what is unknown as a whole has no values: those that are left
 * out are not known.
 */
function named(request: ConstructRequest | MethodRequest, values: unknown, what: string): Inputs {
    if (request.preview && isUnknown(values)) {
        return {};
    }
    const whence = `, which ${"token" in request ? "call()" : "construct()"} returned`;
    if (isAnswer(values)) {
        throw new InvalidInputError(`${what} are an object of values by name, not a resource${whence}; take values of it: { id: resource.id }`);
    }
    requirePlainValues(values, what, whence);
    return values as Inputs;
}
