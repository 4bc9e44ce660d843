/** Components in TypeScript: a box with a lid, which a provider of the host manages, and a box of another package inside; a crate; a mirror. */
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

/** Passes on what it is given, to a thing below it and as its outputs: files, an archive, a resource. It also has the id of the thing. */
export class Crate extends pulumi.ComponentResource {
    public readonly file: pulumi.Output<pulumi.asset.Asset>;
    public readonly files: pulumi.Output<pulumi.asset.Archive>;
    public readonly owner: pulumi.Output<any>;
    public readonly later: pulumi.Output<pulumi.asset.Asset>;
    /** The id of the content. */
    public readonly content: pulumi.Output<string>;
    constructor(name: string, args: CrateArgs, opts?: pulumi.ComponentResourceOptions) {
        super("tsbox:index:Crate", name, {}, opts);
        const content = new Content(`${name}-content`, args, { parent: this });
        this.file = pulumi.output(args.file);
        this.files = pulumi.output(args.files);
        this.owner = pulumi.output(args.owner);
        this.later = pulumi.output(args.later);
        this.content = content.id;
        const outputs = { file: this.file, files: this.files, owner: this.owner, later: this.later };
        this.registerOutputs({ ...outputs, content: this.content });
    }
}

export interface MirrorArgs {
    size: pulumi.Input<any>;
    key?: pulumi.Input<string>;
}

/** Returns the names of resources. */
async function named(resources: any): Promise<string[]> {
    const names: string[] = [];
    for (const resource of resources ? [].concat(resources) : []) {
        names.push(String(await (resource as any).urn.promise()).split("::").pop()!);
    }
    return names.sort();
}

async function marks(given: any) {
    const output: any = pulumi.output(given);
    const sources: Set<pulumi.Resource> = await output.allResources();
    return { known: await output.isKnown, secret: await output.isSecret, from: await named([...sources]) };
}

/** Returns what has arrived at the host: the options, and the marks of each input. */
async function seen(args: any, opts: any): Promise<string> {
    const providers: any = {};
    for (const name of Object.keys(opts.providers || {})) {
        providers[name] = (await named(opts.providers[name]))[0];
    }
    const { create, update } = opts.customTimeouts || ({} as any);
    const hooks = (opts.hooks && opts.hooks.afterCreate) || [];
    const all: any = {
        aliases: opts.aliases.map((alias: any) => (typeof alias === "string" ? alias : `name ${alias.name}`)),
        customTimeouts: create || update ? { create, update } : undefined,
        deletedWith: await named(opts.deletedWith),
        dependsOn: await named(opts.dependsOn),
        hooks: hooks.map((hook: any) => (typeof hook === "string" ? hook : hook.name)),
        ignoreChanges: opts.ignoreChanges,
        parent: await named(opts.parent),
        protect: opts.protect,
        providers,
        replaceOnChanges: opts.replaceOnChanges,
        replacementTrigger: opts.replacementTrigger,
        retainOnDelete: opts.retainOnDelete,
    };
    const options: any = {};
    for (const name of Object.keys(all)) {
        if (all[name] && JSON.stringify(all[name]) !== "[]" && JSON.stringify(all[name]) !== "{}") {
            options[name] = all[name];
        }
    }
    const inputs: any = {};
    for (const name of Object.keys(args)) {
        inputs[name] = await marks(args[name]);
    }
    return JSON.stringify({ inputs, options });
}

/** A component with a thing, whose output is what has arrived at its host. */
export class Mirror extends pulumi.ComponentResource {
    public readonly seen: pulumi.Output<string>;
    constructor(name: string, args: MirrorArgs, opts?: pulumi.ComponentResourceOptions) {
        super("tsbox:index:Mirror", name, {}, opts);
        new Thing(`${name}-thing`, { size: args.size }, { parent: this });
        this.seen = pulumi.output(seen(args, opts || {}));
        this.registerOutputs({ seen: this.seen });
    }
}
