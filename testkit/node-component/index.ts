/** A component in TypeScript: a box with a lid, which a provider of the host manages, and a box of another package inside. */
import * as pulumi from "@pulumi/pulumi";

class Thing extends pulumi.CustomResource {
    constructor(name: string, args: BoxArgs, opts: pulumi.CustomResourceOptions) {
        super("things:index:Thing", name, { size: args.size, label: args.label }, opts);
    }
}

/** A box of another package. */
class RemoteBox extends pulumi.ComponentResource {
    public readonly doubled!: pulumi.Output<number>;
    constructor(name: string, args: BoxArgs, inner: string[], opts: pulumi.ComponentResourceOptions) {
        const inputs = { ...args, inner: inner.slice(1), doubled: undefined };
        super(`${inner[0]}:index:Box`, name, inputs, opts, true);
    }
}

export interface BoxArgs {
    size: pulumi.Input<number>;
    label?: pulumi.Input<string>;
    /** The packages of the box inside this one, of the box inside that one, and so on. */
    inner?: string[];
}

export class Box extends pulumi.ComponentResource {
    public readonly doubled: pulumi.Output<number>;
    public readonly label: pulumi.Output<string | undefined>;
    constructor(name: string, args: BoxArgs, opts?: pulumi.ComponentResourceOptions) {
        super("tsbox:index:Box", name, {}, opts);
        const below = { parent: this };
        new Thing(`${name}-lid`, args, below);
        const inner = args.inner ?? [];
        const size = inner.length > 0 ? new RemoteBox(`${name}-in`, args, inner, below).doubled : args.size;
        this.doubled = pulumi.output(size).apply((given) => given * 2);
        this.label = pulumi.output(args.label);
        this.registerOutputs({ doubled: this.doubled, label: this.label });
    }
}
