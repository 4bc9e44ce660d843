/**
 * The context of a program of our own API, and of the code of components and methods: it registers and reads resources, calls
 * functions and methods, exports and logs.
 */
import { following } from "./cycles";
import {
    CALL_OPTIONS,
    type CallOptions,
    EXISTS_OPTIONS,
    type ExistsOptions,
    INVOKE_OPTIONS,
    type InvokeOptions,
    READ_OPTIONS,
    type ReadOptions,
} from "./documents";
import { CallbackContext } from "./callbacks";
import { Config } from "./config";
import { CancelledError, guarded, InvalidInputError, StackwrightError } from "./errors";
import { bindHooks } from "./hooks";
import { inspectAs } from "./inspection";
import { native } from "./native";
import { checkOptions, inputsOf, requireInputs, requireNamed, requireValues, requireWellFormed } from "./option_checks";
import { described, given } from "./options";
import { isPlain, KnownOrigin, Output, resolve, type Input, type Inputs, type Origin, type Traced, type Track } from "./output";
import { Pending } from "./pending";
import { addTo, named, type Named, settingsOf, urnsOf } from "./references";
import { type AnyResource, Component, Resource, type Registered } from "./resource";
import { argumentsOf, isEmpty, plainId, sendExists, sendInvoke, sendMethodCall } from "./requests";
import { checkResourceOptions, type ResourceOptions } from "./resource_options";
import { type Run, type Severity, stackOf } from "./run";
import { runSdkCode, type SdkCode } from "./sdk/body";
import { fullTextOf, isA, wellFormed } from "./thrown";
import { learnIn } from "./secrecy";
import { untraced } from "./tracing";
import { addTransform, isInTransform } from "./transforms";
import { type PropertyMap, type PropertyValue, Secret, secret } from "./values";

/** A program of our own API. */
export type Program = (context: ProgramContext) => unknown;

/**
 * The code of a component or a method.
 * @internal
 */
export interface Place {
    /** What it is, for errors. */
    readonly what: string;
    /** The URN of the component. */
    readonly component?: string;
    /** The URNs of the resources that the arguments of a method come from: what the method registers depends on them. */
    readonly origins?: readonly string[];
}

/** What a registration is: a resource of a provider, a component of the program, or one that a provider constructs. */
type Kind = "custom" | "component" | "remote";

/**
 * A program's view of the deployment that it is part of. The context of a component registers and reads resources below the
 * component, unless they name another `parent`.
 */
export class ProgramContext extends CallbackContext {
    /** Emits diagnostics. An `error` fails the operation once the program has ended; nothing is deleted then. */
    readonly log: Readonly<Record<Severity, (message: string, resource?: AnyResource) => void>>;
    /** Aborted when the operation fails or is cancelled. */
    readonly signal: AbortSignal;
    /** The stack's configuration. */
    readonly config: Config;
    readonly #run: Run;
    readonly #place: Place | undefined;
    readonly #pending = new Pending();

    /** @internal */
    constructor(run: Run, place?: Place) {
        super(run);
        this.#run = run;
        this.#place = place;
        this.config = new Config((name) => run.bridge.native.configKey(run.info.project, name), run.info.config, run.info.configSecretKeys);
        const controller = new AbortController();
        this.signal = controller.signal;
        void run.over.then(() => controller.abort());
        const logger = (severity: Severity) => (message: string, resource?: AnyResource) =>
            this.#log(severity, message, resource);
        this.log = {
            debug: logger("debug"),
            info: logger("info"),
            warning: logger("warning"),
            error: logger("error"),
        };
    }

    static {
        inspectAs(this, (context) => {
            const component = context.#place?.component;
            return `of ${context.project}/${context.stack}${component === undefined ? "" : ` below ${component}`}`;
        });
    }

    get project(): string {
        return this.#run.info.project;
    }

    get stack(): string {
        return this.#run.info.stack;
    }

    get organization(): string {
        return this.#run.info.organization;
    }

    /** True for previews. */
    get dryRun(): boolean {
        return this.#run.info.dryRun;
    }

    /** Registers a resource, at once. The types of its outputs can be declared: `resource<{ address: string }>(…)`. */
    resource<Outputs extends object = PropertyMap>(
        type: string,
        name: string,
        inputs: Inputs = {},
        options: ResourceOptions = {},
    ): Resource<Outputs> {
        options = given(options);
        const answer = this.#register(type, name, "custom", inputs, options) as Promise<Registered<Outputs>>;
        return new Resource(type, name, true, answer, componentOf(options.parent), this.dryRun, this.#await);
    }

    /** Registers a provider resource of a package, to be passed on as `provider`. */
    provider(packageName: string, name: string, inputs: Inputs = {}, options: ResourceOptions = {}): Resource {
        return this.resource(`pulumi:providers:${packageName}`, name, inputs, options);
    }

    /** Registers a component: a resource that no provider manages, and that groups others. */
    component(type: string, name: string, inputs: Inputs = {}, options: ResourceOptions = {}): Component {
        options = given(options);
        const answer = this.#register(type, name, "component", inputs, options);
        const register = (component: Component, outputs: object) => {
            const registered = this.#declaringLater(untraced(() => this.#outputs(component, outputs as Inputs)));
            this.#track(registered);
            return registered;
        };
        return new Component(type, name, answer, componentOf(options.parent), this.dryRun, this.#await, register);
    }

    /**
     * Registers a component that its provider constructs, with all that is below it; the provider returns its outputs. Their
     * types can be declared, as those of resources.
     */
    remoteComponent<Outputs extends object = PropertyMap>(
        type: string,
        name: string,
        inputs: Inputs = {},
        options: ResourceOptions = {},
    ): Resource<Outputs> {
        options = given(options);
        const answer = this.#register(type, name, "remote", inputs, options) as Promise<Registered<Outputs>>;
        return new Resource(type, name, false, answer, componentOf(options.parent), this.dryRun, this.#await);
    }

    /**
     * Reads a resource that is not managed here. The outputs of another stack are read by its name, as
     * `read("pulumi:pulumi:StackReference", "net", "net/prod", { name: "net/prod" }).get("outputs")`.
     */
    read<Outputs extends object = PropertyMap>(
        type: string,
        name: string,
        id: Input,
        inputs: Inputs = {},
        options: ReadOptions = {},
    ): Resource<Outputs> {
        options = given(options);
        requireNamed(type, name, inputs);
        checkOptions("read", `the resource ${name}`, options, READ_OPTIONS);
        learnIn(this.#run, inputs);
        const answer = untraced(async () => {
            this.#refuseLate(`the resource "${name}" was read`);
            const needs = async () =>
                [await resolve(id), await resolve(inputs, inputsOf(name)), await settingsOf(this.#below(options))] as const;
            const [settledId, sent, settings] = await this.#needing(type, name, true, options, needs);
            const dependencies = await urnsOf([...settledId.sources, ...sent.sources, ...this.#origins]);
            addTo(settings, "dependencies", dependencies);
            const document = JSON.stringify({ ...settings, type, name, id: plainId(settledId.value, `the resource "${name}"`) });
            return this.#run.request<Registered<Outputs>>((call) =>
                this.#native.read(this.#run.number, call, document, sent.value),
            );
        });
        return new Resource(type, name, true, answer, componentOf(options.parent), this.dryRun, this.#await);
    }

    /** Calls a function of a package. It is not called, and the result is unknown, while what its arguments come from is planned. */
    invoke(token: string, inputs: Inputs = {}, options: InvokeOptions = {}): Output<PropertyMap> {
        options = given(options);
        if (typeof token !== "string") {
            throw new InvalidInputError(`the token of a function is a string, not ${described(token)}`);
        }
        requireInputs(inputs, argumentsOf(token));
        checkOptions("invoke", `the call of ${token}`, options, INVOKE_OPTIONS);
        learnIn(this.#run, inputs);
        const inTransform = isInTransform();
        const traced = untraced(async () => {
            this.#refuseLate(`the function ${token} was called`);
            return sendInvoke(this.#run, token, inputs, this.#below(options), inTransform);
        });
        return this.#result(traced);
    }

    /**
     * Queries whether a resource exists, which its provider reads; it does not become a part of the stack. `inputs` are what the
     * provider needs to find it beside the id. The output is unknown while the id, an input or what it depends on is only planned,
     * and is rejected when the provider cannot read the resource. A resource that a program registers only where it does not exist
     * yet is deleted by the next operation, which finds it.
     */
    exists(type: string, id: Input, inputs: Inputs = {}, options: ExistsOptions = {}): Output<boolean> {
        options = given(options);
        if (typeof type !== "string") {
            throw new InvalidInputError(`the type of a resource is a string, not ${described(type)}`);
        }
        requireInputs(inputs, `the inputs of the query for ${type}`);
        checkOptions("exists", `the query for ${type}`, options, EXISTS_OPTIONS);
        learnIn(this.#run, inputs);
        const traced = untraced(async () => {
            this.#refuseLate(`whether the resource of type ${type} exists was queried`);
            return sendExists(this.#run, type, id, inputs, this.#below(options));
        });
        return this.#result<boolean>(traced);
    }

    /**
     * Calls a method of a resource or a component, or, without one, of a provider. The failure of an argument rejects the
     * result; a failure of the method ends the run.
     */
    call(
        token: string,
        of?: AnyResource | string | null,
        inputs: Inputs = {},
        options: CallOptions = {},
    ): Output<PropertyMap> {
        options = given(options);
        if (typeof token !== "string") {
            throw new InvalidInputError(`the token of a method is a string, not ${described(token)}`);
        }
        const resource = of ?? undefined;
        const isOfUrn = typeof resource === "string" && native.isUrn(resource);
        if (resource !== undefined && !isOfUrn && !(resource instanceof Resource)) {
            const shown = typeof resource === "string" ? JSON.stringify(resource) : described(resource);
            throw new InvalidInputError(`of takes a resource or its URN, not ${shown}, in the call of ${token}`);
        }
        requireInputs(inputs, `the arguments of ${token}`);
        checkOptions("call", `the call of ${token}`, options, CALL_OPTIONS);
        learnIn(this.#run, inputs);
        const traced = untraced(async () => {
            this.#refuseLate(`the method ${token} was called`);
            return sendMethodCall(this.#run, token, resource, inputs, options);
        });
        return this.#result(traced);
    }

    /**
     * Runs code that is written with `@pulumi/pulumi`, without a socket; several may run at a time. The code gets `inputs` as values
     * of the SDK, where secrets and unknowns are outputs, and returns an object of values, which may contain outputs of the SDK.
     * In the code of a component, what has no parent is below the component, and an SDK component of the same type and name is the
     * component itself:
     *
     * ```ts
     * construct: (context, request) =>
     *     context.runSdk(({ index }) => ({ url: new StaticPage(request.name, { index }).url }), request.inputs)
     * ```
     *
     * `options.sdk` selects the copy of the SDK, as in `sdkProgram`. The promise is rejected with what the code throws. Where
     * a resource that the code has made cannot be registered, or the inputs have failed, the operation fails also when the program catches
     * that: the engine would delete what it does not know.
     */
    async runSdk(code: SdkCode, inputs: Inputs = {}, options: { sdk?: string | URL } = {}): Promise<{ [name: string]: Output }> {
        if (typeof code !== "function") {
            throw new InvalidInputError(`runSdk() takes a function, not ${described(code)}`);
        }
        requireInputs(inputs, "the inputs of the SDK's code");
        learnIn(this.#run, inputs);
        const running = untraced(async () => {
            this.#refuseLate("code of the SDK was run");
            const sent = await named(inputs, (name) => `the values of the input ${name} of the SDK's code`).catch((error: unknown) => {
                // The engine does not know what the code would have registered.
                if (!isA(error, CancelledError)) {
                    this.#native.declarationUnreadable(this.#run.number, ...textsOf(error));
                }
                throw error;
            });
            const dependencies = Object.fromEntries(
                Object.entries(sent.dependencies).map(([name, urns]) => [name, [...urns, ...(this.#place?.origins ?? [])]] as [string, string[]]),
            );
            return runSdkCode(this.#run, this.#place?.component, code, { values: sent.values, dependencies }, options.sdk);
        });
        this.#await(running, () => true);
        const { values, dependencies } = await running;
        const outputs = Object.entries(values).map(([name, value]) => {
            const sources = new Set<Origin>([new KnownOrigin(dependencies[name] ?? [])]);
            return [name, new Output(Promise.resolve({ value, sources }), () => undefined, this.#await)] as const;
        });
        return Object.fromEntries(outputs);
    }

    /** Returns the output of a call, whose failure the program's end reports unless the program handles it. */
    #result<T = PropertyMap>(traced: Promise<Traced>): Output<T> {
        let observed = false;
        this.#await(traced, () => observed);
        return new Output<T>(traced, () => (observed = true), this.#await);
    }

    /** Sets an output of the stack. */
    export(name: string, value: Input): void {
        if (this.#place !== undefined) {
            const result = this.#place.component === undefined ? "its result from call()" : "its outputs from construct()";
            throw new InvalidInputError(`${this.#place.what} has no stack outputs; return ${result}`);
        }
        this.#declaring(() => this.#setOutput(name, value));
    }

    #setOutput(name: string, value: Input): void {
        this.#refuseLate(`the output "${name}" was exported`);
        if (typeof name !== "string") {
            throw new InvalidInputError(`the name of an output of the stack is a string, not ${described(name)}`);
        }
        requireWellFormed(name, "the name of an output of the stack");
        const what = `the values of the output "${name}"`;
        if (following(value, what, () => isPlain(value))) {
            this.#export(name, value as PropertyValue);
        } else {
            learnIn(this.#run, value);
            this.#track(this.#declaringLater(resolve(value, what).then((traced) => this.#export(name, traced.value))));
        }
    }

    /** Wraps a value, or what comes of an output, as secret. */
    secret<T>(value: Output<T>): Output<Secret>;
    secret<T extends PropertyValue>(value: T): Secret<T>;
    secret(value: Input): Output<Secret> | Secret {
        if (value instanceof Output) {
            const traced = value.traced.then(({ value, sources }) => ({ value: secret(value), sources }));
            return value.derive<Secret>(traced);
        }
        return secret(value as PropertyValue);
    }

    /**
     * @internal Awaits what the code of a component or a method has returned, which the end of the code waits for, and returns it
     * with the URNs that each value comes from.
     */
    resolveReturned(values: Inputs): Promise<Named> {
        const owner = this.#place?.what ?? "the program";
        const settled = untraced(async () => {
            const returned = await named(values, (name) => `the values of the output ${name} of ${owner}`);
            // What a method makes of plain arguments comes from what these come from.
            const dependencies: { [name: string]: string[] } = { ...returned.dependencies };
            Object.keys(dependencies).forEach((name) => addTo(dependencies, name, [...this.#origins]));
            return { ...returned, dependencies };
        });
        this.#track(settled);
        return settled;
    }

    /**
     * @internal Waits for everything that the program has started; throws the first failure that was not handled. When a
     * program that has returned leaves nothing open, that is its end.
     */
    async settle(returned: boolean): Promise<void> {
        await this.#pending.settle();
        if (returned) {
            this.#run.end();
        }
    }

    get #native() {
        return this.#run.bridge.native;
    }

    #log(severity: Severity, text: unknown, resource: AnyResource | undefined): void {
        // Errors and numbers have a text; the `toString` of outputs and resources throws.
        const message = wellFormed(typeof text === "string" ? text : String(text));
        if (resource === undefined || resource.registered !== undefined) {
            this.#run.log(severity, message, resource?.registered?.urn);
            return;
        }
        // A resource without an answer has no URN: the message is emitted all the same.
        const emit = (urn?: string) => this.#run.log(severity, message, urn);
        this.#track(resource.answer.then(({ urn }) => emit(urn), () => emit()));
    }

    /** Throws when the program has ended. */
    #refuseLate(what: string): void {
        this.#run.refuseLate(what);
    }

    #export(name: string, value: PropertyValue): void {
        guarded(() => this.#native.export(this.#run.number, name, value));
    }

    /** Delays the program's end until a promise has settled; its failure fails the program. */
    #track(promise: Promise<unknown>): void {
        this.#await(promise, () => false);
    }

    get #await(): Track {
        return this.#pending.add;
    }

    #register(
        type: string,
        name: string,
        kind: Kind,
        inputs: Inputs,
        options: ResourceOptions,
    ): Promise<Registered> {
        const late = this.#run.late(`the resource "${name}" was registered`);
        if (late !== undefined) {
            return Promise.reject(late);
        }
        return this.#declaring(() => this.#declare(type, name, kind, inputs, options));
    }

    /** Runs `body`, which declares a resource or an output, and reports a declaration that cannot be read to the engine. */
    #declaring<T>(body: () => T): T {
        try {
            return body();
        } catch (error) {
            this.#reportUnreadable(error);
            throw error;
        }
    }

    /** As `#declaring`, for a promise. Errors that the engine answers are not reported: the program handles them. */
    #declaringLater<T>(declared: Promise<T>): Promise<T> {
        declared.catch((error: unknown) => this.#reportUnreadable(error));
        return declared;
    }

    /**
     * Awaits what a resource needs. Where that fails, the resource is not registered or read: where it is recorded, the run fails, also
     * when the program catches the failure.
     */
    async #needing<T>(type: string, name: string, custom: boolean, options: ResourceOptions, needs: () => Promise<T>): Promise<T> {
        try {
            return await needs();
        } catch (error) {
            if (!isA(error, CancelledError)) {
                await this.#giveUp(type, name, custom, options, error);
            }
            throw error;
        }
    }

    async #giveUp(type: string, name: string, custom: boolean, options: ResourceOptions, error: unknown): Promise<void> {
        const { parent, aliases } = this.#below(options);
        try {
            const place = parent === undefined ? {} : await settingsOf({ parent });
            // The former parent of an alias may fail alone.
            const former = aliases === undefined ? {} : await settingsOf({ aliases }).catch(() => ({}));
            const settings = { ...place, ...former };
            const document = JSON.stringify({ ...settings, type, name, custom });
            this.#native.giveUp(this.#run.number, type, name, custom, document, ...textsOf(error));
        } catch {
            // What is below a parent that has failed is kept with the parent.
        }
    }

    #reportUnreadable(error: unknown): void {
        if (error instanceof InvalidInputError && !this.#run.isAnswer(error)) {
            this.#native.declarationUnreadable(this.#run.number, error.referenceMessage, [...error.hints]);
        }
    }

    #declare(
        type: string,
        name: string,
        kind: Kind,
        inputs: Inputs,
        options: ResourceOptions,
    ): Promise<Registered> {
        const { number } = this.#run;
        const custom = kind === "custom";
        requireNamed(type, name, inputs);
        const isBare = isEmpty(options) && kind !== "remote" && this.#place === undefined;
        // Plain inputs without options are sent in this turn: there is nothing to await.
        if (following(inputs, inputsOf(name), () => isPlain(inputs)) && isBare) {
            return this.#run.request((call) =>
                this.#declaring(() =>
                    guarded(() => this.#native.register(number, call, type, name, custom, inputs, undefined)),
                ),
            );
        }
        const { settings: own, hooks, transforms } = checkResourceOptions(`the resource ${name}`, options);
        learnIn(this.#run, inputs);
        // At once: a later part of the program can name them.
        const resourceHooks = hooks && bindHooks(this.#run, hooks, `${type}_${name}`);
        const inputOf = (property: string) => `the values of the input ${property} of the resource "${name}"`;
        const declared = untraced(async () => {
            const needs = async () => [await settingsOf(this.#below(own)), await named(inputs, inputOf)] as const;
            const [settings, sent] = await this.#needing(type, name, custom, own, needs);
            const all = Object.values(sent.dependencies).flat();
            addTo(settings, "dependencies", [...all, ...(await urnsOf(this.#origins))]);
            if (all.length !== 0) {
                settings["propertyDependencies"] = sent.dependencies;
            }
            const document = JSON.stringify({ ...settings, type, name, custom, remote: kind === "remote", resourceHooks });
            return this.#run.request<Registered>((call) => {
                const functions = transforms.map((transform) => addTransform(this.#run, transform));
                this.#native.register(number, call, type, name, custom, sent.values, document, functions);
            });
        });
        return this.#declaringLater(declared);
    }

    /** What everything depends on that the code of a method registers. */
    get #origins(): readonly string[] {
        return this.#place?.origins ?? [];
    }

    /** Puts what has no parent below the component whose code runs. */
    #below<Options extends { parent?: AnyResource | string }>(options: Options): Options {
        const component = this.#place?.component;
        return component === undefined || options.parent !== undefined ? options : { ...options, parent: component };
    }

    async #outputs(component: Component, outputs: Inputs): Promise<void> {
        this.#refuseLate(`the outputs of the component "${component.name}" were registered`);
        const what = `the outputs of the component "${component.name}"`;
        requireValues(outputs, what);
        const [{ urn }, sent] = [await component, await resolve(outputs, what)];
        await this.#run.request((call) =>
            this.#native.registerOutputs(this.#run.number, call, urn, sent.value),
        );
    }
}

function componentOf(parent: AnyResource | string | undefined): AnyResource | undefined {
    return typeof parent === "string" ? undefined : parent;
}

/** Returns the message and the hints of an error. */
function textsOf(error: unknown): [string, string[]] {
    return isA(error, StackwrightError) ? [error.referenceMessage, [...error.hints]] : [stackOf(error), []];
}

/**
 * Makes the text that is displayed of an error of a program of our own API.
 * @internal
 */
export function describeProgramError(error: unknown): string {
    return isA(error, StackwrightError) ? fullTextOf(error) : stackOf(error);
}
