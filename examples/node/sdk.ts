/** A typed program written with `@pulumi/pulumi`, ready to be given to an engine. */
import * as pulumi from "@pulumi/pulumi";
import { Engine, sdkProgram, type Stack } from "stackwright";

export class Counter extends pulumi.CustomResource {
    declare readonly value: pulumi.Output<number>;

    constructor(name: string, inputs: { start: pulumi.Input<number> }, options?: pulumi.CustomResourceOptions) {
        super("counters:index:Counter", name, { value: undefined, ...inputs }, options);
    }
}

export const program = sdkProgram(
    async () => {
        const first = new Counter("first", { start: new pulumi.Config().getNumber("start") ?? 20 });
        const second = new Counter("second", { start: first.value.apply((value) => value + 1) });
        return { sum: second.value };
    },
    { sdk: __filename },
);

export function open(engine: Engine): Promise<Stack> {
    return engine.stack("numbers/typed", { program, config: { start: 30 } });
}
