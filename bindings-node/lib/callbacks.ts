/** The part of a context that takes functions which the engine calls: transforms and hooks. */
import { guarded, InvalidInputError } from "./errors";
import { ErrorHook, Hook, registerHook } from "./hooks";
import { described } from "./options";
import type { Run } from "./run";
import { addInvokeTransform, addTransform, type InvokeTransform, requireTransform, type ResourceTransform } from "./transforms";

/** A context that takes transforms and hooks. */
export abstract class CallbackContext {
    readonly #run: Run;

    /** @internal */
    constructor(run: Run) {
        this.#run = run;
    }

    /**
     * Adds a transform of the stack: it changes every resource that is registered from now on, after the transforms of the
     * resource itself and of those above it. A resource counts as registered once the outputs in its inputs are known; one
     * with options not before the end of the turn in which the program declares it.
     * @throws {InvalidInputError} It is no function.
     *
     * @example
     * context.transform(({ type, inputs, options }) => {
     *     if (type.startsWith("aws:")) {
     *         return { inputs: { ...inputs, tags: { owner: "shop" } }, options: { ...options, protect: true } };
     *     }
     * });
     */
    transform(transform: ResourceTransform): void {
        this.#add(transform, addTransform, false);
    }

    /**
     * Adds a transform of the stack's calls of functions: it changes the arguments and options of every call from now on.
     * @throws {InvalidInputError} It is no function.
     *
     * @example
     * context.transformInvokes(({ arguments: given }) => ({ arguments: { ...given, region: "north" } }));
     */
    transformInvokes(transform: InvokeTransform): void {
        this.#add(transform, addInvokeTransform, true);
    }

    /**
     * Registers a hook that no resource of the program needs to have: recorded resources that name it are deleted with it. The
     * hooks of resources are registered with these; one that is registered already is left as it is.
     * @throws {InvalidInputError} It is no hook, its name is empty, or another hook of the operation has its name.
     *
     * @example
     * const drain = new Hook("drain", ({ id }) => console.log(`drains ${id}`));
     * context.registerHook(drain); // for destroy({ destroyProgram: true })
     */
    registerHook(hook: Hook | ErrorHook): void {
        this.#run.refuseLate("a hook was registered");
        if (!(hook instanceof Hook) && !(hook instanceof ErrorHook)) {
            throw new InvalidInputError(`a hook is a Hook or an ErrorHook, not ${described(hook)}`);
        }
        registerHook(this.#run, hook);
    }

    #add<T>(transform: T, add: (run: Run, transform: T) => number, ofInvokes: boolean): void {
        this.#run.refuseLate("a transform was added");
        requireTransform(transform, "a transform");
        const number = add(this.#run, transform);
        guarded(() => this.#run.bridge.native.addTransform(this.#run.number, number, ofInvokes));
    }
}
