/** What a test answers in the place of providers: functions, methods and outputs. */
import { InvalidInputError } from "../errors";
import { native } from "../native";
import type { Provider } from "../provider";
import type { PropertyMap } from "../values";
import { membersOf } from "./settings";

/** The resource whose outputs a function of a test computes. */
export interface Subject {
    /** The type. */
    readonly type: string;
    /** The name. */
    readonly name: string;
    /** The id that it has; empty in previews of its creation. */
    readonly id: string;
    /** The inputs by name. */
    readonly inputs: PropertyMap;
    /** The outputs so far: the inputs, and those of the schema. */
    readonly outputs: PropertyMap;
}

/** The result of a function or method, or what computes it from the arguments. */
export type Answer = PropertyMap | ((args: PropertyMap) => PropertyMap | Promise<PropertyMap>);
/** Outputs of resources, or what computes them. */
export type Outputs = PropertyMap | ((subject: Subject) => PropertyMap | Promise<PropertyMap>);

type Computed = (given: never) => PropertyMap | Promise<PropertyMap>;

function chosen(answers: ReadonlyMap<string, Computed>, token: string): Computed {
    const exact = answers.get(token);
    return exact ?? [...answers].find(([pattern]) => native.matchesType(pattern, token))![1];
}

async function called(computed: Computed, given: unknown, what: string): Promise<PropertyMap> {
    const values = await computed(given as never);
    if (typeof values !== "object" || values === null || Array.isArray(values)) {
        throw new InvalidInputError(`${what} returned what is no object of values`);
    }
    return values;
}

/** What answers, and what it answers. @internal */
export interface Answers {
    provider: Provider;
    functions: string[];
    computed: string[];
    data: { [pattern: string]: PropertyMap };
}

/** @internal */
export function readAnswers(
    functions: { readonly [token: string]: Answer } = {},
    outputs: { readonly [pattern: string]: Outputs } = {},
): Answers {
    const answers = new Map<string, Computed>();
    for (const [token] of membersOf("functions", functions, "an object of answers by the tokens of functions")) {
        const answer = functions[token]!;
        if (typeof answer !== "function") {
            membersOf(`functions of ${JSON.stringify(token)}`, answer, "an object of values, or a function of the arguments");
        }
        answers.set(token, typeof answer === "function" ? answer : () => answer);
    }
    const computed = new Map<string, Computed>();
    const data: { [pattern: string]: PropertyMap } = {};
    for (const [pattern] of membersOf("outputs", outputs, "an object of outputs by types")) {
        const values = outputs[pattern]!;
        if (typeof values === "function") {
            computed.set(pattern, values);
        } else {
            membersOf(`outputs of ${JSON.stringify(pattern)}`, values, "an object of values, or a function of the resource");
            data[pattern] = values;
        }
    }
    const provider: Provider = {
        capabilities: { secrets: true },
        invoke: async ({ token, arguments: args }) => ({ result: await called(chosen(answers, token), args, `the answer to ${token}`) }),
        call: async (_context, { token, arguments: args }) => ({ result: await called(chosen(answers, token), args, `the answer to ${token}`) }),
        update: async ({ type, name, id, inputs, oldOutputs }) => {
            const subject: Subject = { type, name, id, inputs, outputs: oldOutputs };
            return { outputs: await called(chosen(computed, type), subject, `the outputs of ${type}`) };
        },
    };
    return { provider, functions: [...answers.keys()], computed: [...computed.keys()], data };
}
