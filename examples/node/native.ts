/** The same as native.mjs with types: everything here is checked, and nothing is `any`. */
import {
    type CheckAnswer,
    type CheckRequest,
    type CreateAnswer,
    type CreateRequest,
    Engine,
    FailedError,
    type Outputs,
    type ProgramContext,
    type Provider,
    type Result,
} from "stackwright";

/** Counts what it is asked to make: a provider may be any object with the methods that it needs. */
export class Counters implements Provider {
    readonly values = new Map<string, number>();

    check({ inputs }: CheckRequest): CheckAnswer {
        const start = inputs["start"] ?? 0;
        return typeof start === "number"
            ? { inputs: { ...inputs, start } }
            : { failures: [{ property: "start", reason: "must be a number" }] };
    }

    async create({ name, inputs }: CreateRequest): Promise<CreateAnswer> {
        const value = inputs["start"] as number;
        this.values.set(name, value);
        return { id: name, outputs: { ...inputs, value } };
    }

    delete({ id }: { id: string }): void {
        this.values.delete(id);
    }
}

export function program(context: ProgramContext): void {
    const first = context.resource("counters:index:Counter", "first", { start: 20 });
    const value = first.get("value").apply((value) => (value as number) + 1);
    const second = context.resource("counters:index:Counter", "second", { start: value }, { dependsOn: first });
    context.export("sum", second.get("value"));
}

export async function deploy(): Promise<Outputs> {
    await using engine = new Engine({ store: "memory://", providers: { counters: new Counters() } });
    const stack = await engine.stack("numbers/dev", { program });
    try {
        const result: Result = await stack.up({
            parallel: 4,
            onEvent: (event) => {
                const step = event.resourcePreEvent?.metadata;
                if (step !== undefined) {
                    console.log(step.op, step.urn);
                }
            },
        });
        console.log(`${result}`, result.changes.create ?? 0);
        return result.outputs;
    } catch (error) {
        if (error instanceof FailedError) {
            for (const { severity, message } of error.result?.diagnostics ?? []) {
                console.error(severity, message);
            }
        }
        throw error;
    } finally {
        await stack.destroy();
    }
}
