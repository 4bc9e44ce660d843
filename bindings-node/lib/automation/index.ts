/**
 * The Pulumi Automation API over this engine: the same names as `@pulumi/pulumi/automation`, and no command that is started.
 *
 * ```ts
 * import * as auto from "stackwright/automation";
 *
 * const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "shop", program });
 * await stack.setConfig("aws:region", { value: "eu-west-1" });
 * console.log((await stack.up({ onOutput: console.log })).outputs);
 * ```
 *
 * Every class, type and error is that of `@pulumi/pulumi/automation`, apart from `LocalWorkspace`, `Stack`, `PulumiCommand` and
 * `RemoteWorkspace`. Needs the package `@pulumi/pulumi`.
 */
import "./required";

export * from "@pulumi/pulumi/automation";
export { Command, Command as PulumiCommand, type CommandOptions } from "./command";
export { RemoteWorkspace } from "./remote";
export { Stack } from "./stack";
export { LocalWorkspace } from "./workspace";
