/**
 * A component in TypeScript with a transform and hooks of its own, which the engine calls also when Construct has ended.
 *
 * Where the environment variable GUARDED_LOG names a file, each hook adds a line to it: the moment and the resource.
 */
import { appendFileSync } from "fs";

import * as pulumi from "@pulumi/pulumi";

const MOMENTS = ["beforeCreate", "afterCreate", "beforeUpdate", "afterUpdate", "beforeDelete", "afterDelete"];

class Thing extends pulumi.CustomResource {
    constructor(name: string, size: pulumi.Input<number>, opts: pulumi.CustomResourceOptions) {
        super("things:index:Thing", name, { size }, opts);
    }
}

export interface GuardedArgs {
    size: pulumi.Input<number>;
    /** How many things it has. */
    count: number;
    /** The moment in which the hook fails, or where the component does: in `construct`, with its `inputs`, or in the function of an `input` or an `output`. */
    refused?: string;
    /** The moment in which the process of the host ends: that of a hook, `onError`, or `transform`. */
    dies?: string;
    /** How often a failed operation on a thing is repeated. */
    retries?: number;
}

function die() {
    process.kill(process.pid, "SIGKILL");
}

/** A component whose things have hooks. */
export class Guarded extends pulumi.ComponentResource {
    public readonly size: pulumi.Output<number>;
    constructor(name: string, args: GuardedArgs, opts?: pulumi.ComponentResourceOptions) {
        super("tsbox:index:Guarded", name, {}, opts);
        if (args.refused === "construct") {
            throw new Error(`no construct of ${name} today`);
        }
        if (args.refused === "inputs") {
            const errors = [
                { propertyPath: "size", reason: "too small" },
                { propertyPath: "count[0].of", reason: "not a number" },
            ];
            throw new pulumi.InputPropertiesError({ message: `no inputs of ${name} today`, errors });
        }
        const happens = (moment: string, resource: string) => {
            if (process.env.GUARDED_LOG) {
                appendFileSync(process.env.GUARDED_LOG, `${moment} ${resource}\n`);
            }
            if (args.dies === moment) {
                die();
            }
            if (args.refused === moment) {
                throw new Error(`no ${moment} of ${resource} today`);
            }
        };
        const hooks: any = {};
        for (const moment of MOMENTS) {
            hooks[moment] = [new pulumi.ResourceHook(`${name} ${moment}`, async (call: any) => happens(moment, call.name))];
        }
        const larger = ({ props, opts }: any): any => {
            if (args.dies === "transform") {
                die();
            }
            return { props: { ...props, size: pulumi.output(props.size).apply((size: any) => size + 100) }, opts };
        };
        const repeat = async (call: any) => {
            happens("onError", call.name);
            return call.errors.length <= (args.retries ?? 0);
        };
        hooks.onError = [new pulumi.ErrorHook(`${name} onError`, repeat)];
        const sizeAt = (place: string) =>
            pulumi.output(args.size).apply((size) => {
                if (args.refused === place) {
                    throw new Error(`no ${place} of ${name} today`);
                }
                return size;
            });
        for (let number = 0; number < args.count; number++) {
            new Thing(`${name}-${number}`, sizeAt("input"), { parent: this, transforms: [larger], hooks } as any);
        }
        this.size = sizeAt("output");
        this.registerOutputs({ size: this.size });
    }
}
