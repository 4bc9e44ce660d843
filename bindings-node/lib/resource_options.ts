/** The options of resources: those that are data, and functions. */
import { RESOURCE_OPTIONS, type ResourceOptions as Documented } from "./documents";
import { checkHooks, type Hooks } from "./hooks";
import { checkOptions } from "./option_checks";
import { refuseUnknown } from "./options";
import { checkTransforms, type ResourceTransform } from "./transforms";

/** The options of a resource or a component, with what only functions can express. */
export interface ResourceOptions extends Documented {
    /** Functions that run before and after its steps, and after failures. */
    hooks?: Hooks;
    /**
     * Functions that change its inputs and options, and those of everything below it, in order. They run before those of the
     * resources above it and before those of the stack.
     */
    transforms?: readonly ResourceTransform[];
}

/** Options as the registration takes them. */
export interface CheckedOptions {
    readonly settings: Documented;
    readonly hooks: Hooks | undefined;
    readonly transforms: readonly ResourceTransform[];
}

const NAMES = { ...RESOURCE_OPTIONS, hooks: true, transforms: true };

/**
 * Refuses options with unknown names or invalid values; `what` is their owner.
 * @internal
 */
export function checkResourceOptions(what: string, options: ResourceOptions): CheckedOptions {
    refuseUnknown(what, options, NAMES);
    const { hooks, transforms, ...settings } = options;
    checkOptions("resource", what, settings, RESOURCE_OPTIONS);
    return {
        settings,
        hooks: hooks === undefined ? undefined : checkHooks(hooks, what),
        transforms: transforms === undefined ? [] : checkTransforms(transforms, what),
    };
}
