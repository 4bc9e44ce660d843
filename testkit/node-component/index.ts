/** Components in TypeScript: a box with a lid, which a provider of the host manages, and a box of another package inside; a crate. */
import * as pulumi from "@pulumi/pulumi";

export { Guarded } from "./guarded";

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

/** Makes things of references to them, as the SDK of their package does. */
class KnownThing extends pulumi.CustomResource {
    constructor(name: string, urn: string) {
        super("things:index:Thing", name, {}, { urn });
    }
}
pulumi.runtime.registerResourceModule("things", "index", {
    version: undefined,
    construct: (name: string, _type: string, urn: string) => new KnownThing(name, urn),
} as any);

export interface CrateArgs {
    file: pulumi.Input<pulumi.asset.Asset>;
    files: pulumi.Input<pulumi.asset.Archive>;
    /** A thing. */
    owner: pulumi.Input<any>;
    later: pulumi.Input<pulumi.asset.Asset>;
}

class Content extends pulumi.CustomResource {
    constructor(name: string, args: CrateArgs, opts: pulumi.CustomResourceOptions) {
        super("things:index:Thing", name, { ...args }, opts);
    }
}

/** Passes on what it is given, to a thing below it and as its outputs: files, an archive, a resource. */
export class Crate extends pulumi.ComponentResource {
    public readonly file: pulumi.Output<pulumi.asset.Asset>;
    public readonly files: pulumi.Output<pulumi.asset.Archive>;
    public readonly owner: pulumi.Output<any>;
    public readonly later: pulumi.Output<pulumi.asset.Asset>;
    constructor(name: string, args: CrateArgs, opts?: pulumi.ComponentResourceOptions) {
        super("tsbox:index:Crate", name, {}, opts);
        new Content(`${name}-content`, args, { parent: this });
        this.file = pulumi.output(args.file);
        this.files = pulumi.output(args.files);
        this.owner = pulumi.output(args.owner);
        this.later = pulumi.output(args.later);
        this.registerOutputs({ file: this.file, files: this.files, owner: this.owner, later: this.later });
    }
}
