/** A provider in TypeScript with methods: `open` of a component, and `turn` of a resource. */
import * as pulumi from "@pulumi/pulumi";
import * as provider from "@pulumi/pulumi/provider";

const PACKAGE = "tsmodule";

class Thing extends pulumi.CustomResource {
    constructor(name: string, size: pulumi.Input<number>, opts?: pulumi.CustomResourceOptions) {
        super("things:index:Thing", name, { size }, opts);
    }
}

/** A component with a thing. */
class Module extends pulumi.ComponentResource {
    constructor(name: string, size: pulumi.Input<number>, opts?: pulumi.ComponentResourceOptions) {
        super(`${PACKAGE}:index:Module`, name, {}, opts);
        new Thing(`${name}-thing`, size, { parent: this });
        this.registerOutputs({});
    }
}

/** A resource as what a method gets as `__self__`. */
class Self extends pulumi.CustomResource {
    constructor(name: string, type: string, urn: string) {
        super(type, name, {}, { urn } as any);
    }
}
pulumi.runtime.registerResourceModule(PACKAGE, "index", {
    version: undefined,
    construct: (name: string, type: string, urn: string) => new Self(name, type, urn),
} as any);

class Modules implements provider.Provider {
    readonly version = "0.1.0";

    async construct(
        name: string,
        type: string,
        inputs: pulumi.Inputs,
        options: pulumi.ComponentResourceOptions,
    ): Promise<provider.ConstructResult> {
        if (type !== `${PACKAGE}:index:Module`) {
            throw new Error(`there is no component ${type}`);
        }
        const { urn } = new Module(name, inputs.size, options);
        return { urn, state: { size: inputs.size } };
    }

    /** Runs a method. It fails without the argument `by`, for several properties, and with an argument `raise`. */
    async call(token: string, args: pulumi.Inputs): Promise<provider.InvokeResult> {
        const self: pulumi.Resource = args.__self__;
        if (token === `${PACKAGE}:index:Lock/turn`) {
            return { outputs: { lock: self.urn, turned: args.by } };
        }
        if (token !== `${PACKAGE}:index:Module/open`) {
            throw new Error(`there is no method ${token}`);
        }
        if (args.by === undefined) {
            const failures = [{ property: "by", reason: "is missing" }, { property: "lock[0]", reason: "is stuck" }];
            return { outputs: undefined, failures };
        }
        if (args.raise !== undefined) {
            throw new Error("no such key");
        }
        const opened = new Thing("opened", args.by, { parent: self });
        return { outputs: { by: args.by, box: self.urn, opened: opened.id } };
    }

    async check(_urn: pulumi.URN, _olds: any, news: any): Promise<provider.CheckResult> {
        return { inputs: news };
    }

    async create(_urn: pulumi.URN, inputs: any): Promise<provider.CreateResult> {
        return { id: "lock", outs: inputs };
    }

    async delete(_id: pulumi.ID, _urn: pulumi.URN, _props: any): Promise<void> {}
}

export function main(argv: string[]): Promise<void> {
    return provider.main(new Modules(), argv);
}

main(process.argv.slice(2));
