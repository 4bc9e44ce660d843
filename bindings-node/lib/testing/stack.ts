/** Simulated stacks: operations of the real engine against a world in memory. */
import assert from "node:assert";
import { existsSync } from "node:fs";

import type { Bridge } from "../bridge";
import { Engine, type EngineOptions, type StackOptions } from "../engine";
import { guarded, InvalidInputError, StackwrightError } from "../errors";
import { inspectAs } from "../inspection";
import { type Native, native } from "../native";
import { type Deployment, type Operation, type OperationOptions, Result } from "../operation";
import type { AnyProgram } from "../program";
import type { Provider } from "../provider";
import { given, refuseUnknown } from "../options";
import type { Stack } from "../stack";
import type { PropertyMap } from "../values";
import { type Answer, type Outputs, readAnswers } from "./answers";
import { Fault } from "./faults";
import { readJson, readText, writeText } from "./files";
import type { Resources } from "./resources";
import { SimulatedResult } from "./result";
import {
    listed,
    membersOf,
    PROGRAM_OPTIONS,
    refuseUnknownSettings,
    requireConfig,
    requireProgram,
    requireText,
    SIMULATED_OPTIONS,
    texts,
} from "./settings";
import { unmatchedText, type UnmatchedPattern } from "./unmatched";
import { World } from "./world";

/** A call of a provider. */
export interface SimulatedCall {
    /** The name: `create` for instance. */
    call: string;
    /** The type of the resource, or the token of the function. */
    type: string;
    /** The name of the resource; empty for functions and methods. */
    name: string;
    /** The URN of the resource; likewise. */
    urn: string;
    /** Whether a preview made it. */
    preview: boolean;
}

/** The options of one simulated operation, beside those of every operation. */
export interface SimulatedOptions extends Omit<OperationOptions, "signal"> {
    /** What happens to the calls of this operation. A fault that did not happen is an `AssertionError`: its pattern may be misspelt. */
    faults?: readonly Fault[];
    /** Whether a failed operation throws its error, as when left out; with false, its result is returned. */
    check?: boolean;
}

/** The options of an operation that runs the program. */
export interface SimulatedProgramOptions extends SimulatedOptions {
    /** The configuration from now on, or that of this preview alone: all of it, not only what differs. */
    config?: StackOptions["config"];
}

/** The settings of a simulation. Types in patterns are tokens (`aws:s3/bucket:Bucket`, or `aws:s3:Bucket`), in which `*` is any text. */
export interface SimulationOptions extends SimulatedProgramOptions {
    /** The name of the stack, as `project/stack`: `project/test` when left out, or the stack `test` of `project`. */
    stack?: string;
    /** The folder of a project, for its configuration, and for its program where there is no other. */
    project?: StackOptions["project"];
    /** The results of functions and methods by their tokens: objects, or functions of the arguments. */
    functions?: { readonly [token: string]: Answer };
    /** Outputs of resources beside their inputs, by patterns of types: objects, or functions of the resource. */
    outputs?: { readonly [pattern: string]: Outputs };
    /**
     * The schemas of packages, or the paths of their files: inputs are checked and completed, outputs have their types, secret ones are
     * secret, and properties that replace do.
     */
    schemas?: readonly (object | string)[];
    /** By patterns of types, the paths of properties whose changes replace the resource. */
    replaceOn?: { readonly [pattern: string]: readonly string[] };
    /** Patterns of types whose replacements delete first. */
    deleteBeforeReplace?: readonly string[];
    /** What exists before, for reads and imports: properties by type and id. */
    existing?: { readonly [type: string]: { readonly [id: string]: PropertyMap } };
    /**
     * The outputs of other stacks, for stack references: by `project/stack`, with an organization before, or by the name of a stack of the
     * same project. A `Secret` is one in the reference, too.
     */
    stacks?: { readonly [name: string]: PropertyMap };
    /** Real providers in this process by package. Faults and crashes work on them, too. */
    providers?: { readonly [name: string]: Provider };
    /**
     * Packages whose plugins are started. With `record`, their providers construct their remote components, which no recording has, and
     * everything else is played.
     */
    real?: readonly string[];
    /**
     * The file of a recording. Where it does not exist, all providers are real, and their calls are recorded; where it does, they are
     * played and no provider is needed. It has types, names, ids, inputs and outputs; secrets are masked.
     */
    record?: string;
    /** Where plugins of `real` packages and of recordings are looked for. */
    plugins?: EngineOptions["plugins"];
    /** The state to begin with, as a deployment document. */
    state?: Deployment | string;
    /** The passphrase of the secrets in `state`. */
    passphrase?: string;
    /** Further settings of the stack. */
    settings?: Omit<StackOptions, "program" | "config">;
    /** Whether the program is run at once, as when left out. With false, call `up()`. */
    run?: boolean;
    /**
     * Whether patterns of `outputs`, `replaceOn`, `deleteBeforeReplace` and `functions` may match nothing, as where a program reaches a type
     * with some configurations only. Otherwise that is an `AssertionError` after the first operation which runs a program: the pattern may be
     * misspelt. Operations with `targets` or `excludes` do not count.
     */
    allowUnmatched?: boolean;
}

/** What a simulated stack is made of. @internal */
export interface Parts {
    simulation: Native.Simulation;
    answers: Provider;
    name: string;
    program: AnyProgram | undefined;
    config: StackOptions["config"];
    settings: StackOptions;
    engine: Omit<EngineOptions, "store">;
    record: string | undefined;
    allowUnmatched: boolean;
}

/** A stack with a world of its own; `simulate()` makes it. */
export class SimulatedStack {
    readonly #parts: Parts;
    #engine: [Engine, Bridge] | undefined;
    /** That of the last engine, which also reads values when it has ended. */
    #bridge: Bridge | undefined;
    #isClosed = false;
    #last: SimulatedResult | undefined;
    /** Whether the patterns of the settings have to match something of the next operation that runs the program. */
    #checksPatterns: boolean;
    /** The name, as `project/stack`. */
    readonly name: string;
    /** The program of the next operations. */
    program: AnyProgram | undefined;
    /** The configuration of the next operations. */
    config: StackOptions["config"];
    /** What exists: a test changes it by hand. */
    readonly world: World;

    /** @internal */
    constructor(parts: Parts) {
        this.#parts = parts;
        this.#checksPatterns = !parts.allowUnmatched;
        this.name = parts.name;
        this.program = parts.program;
        this.config = parts.config;
        this.world = new World({ simulation: parts.simulation, bridge: () => (this.#bridge ?? this.#opened()[1]).native });
    }

    static {
        inspectAs(this, (stack) => `${stack.name}: ${stack.world.size} things`);
    }

    /**
     * Brings the stack to the state that the program describes; a given program is that of the next operations, too.
     * @throws {InvalidInputError} For what is no program, no configuration or no fault, and for options that are refused. The program and the
     * configuration are those from before then.
     */
    async up(program?: AnyProgram, options: SimulatedProgramOptions = {}): Promise<SimulatedResult> {
        refuseUnknown("up()", options, PROGRAM_OPTIONS);
        return this.#operate("up", options, program);
    }

    /** Computes what `up()` would do; the program and configuration that are given hold for this preview alone. */
    async preview(program?: AnyProgram, options: SimulatedProgramOptions = {}): Promise<SimulatedResult> {
        refuseUnknown("preview()", options, PROGRAM_OPTIONS);
        const before = [this.program, this.config] as const;
        try {
            return await this.#operate("preview", options, program);
        } finally {
            [this.program, this.config] = before;
        }
    }

    /** Reads every thing and records what is there. */
    async refresh(options: SimulatedOptions = {}): Promise<SimulatedResult> {
        refuseUnknown("refresh()", options, SIMULATED_OPTIONS);
        return this.#operate("refresh", options);
    }

    /** Deletes every resource. */
    async destroy(options: SimulatedOptions = {}): Promise<SimulatedResult> {
        refuseUnknown("destroy()", options, SIMULATED_OPTIONS);
        return this.#operate("destroy", options);
    }

    async #operate(
        verb: "up" | "preview" | "refresh" | "destroy",
        options: SimulatedProgramOptions,
        program?: AnyProgram,
    ): Promise<SimulatedResult> {
        const { faults = [], check = true, config, ...others } = options;
        const { simulation } = this.#parts;
        refuseNoProgram(program, "up(undefined, { config })");
        requireConfig(config);
        const document = Fault.document(faults);
        guarded(() => simulation.setFaults(document));
        const before = [this.program, this.config] as const;
        this.program = program ?? this.program;
        this.config = config ?? this.config;
        let result: SimulatedResult;
        try {
            const stack = await this.stack();
            result = await this.#resultOf(stack[verb](others));
        } catch (error) {
            if (error instanceof InvalidInputError) {
                // Nothing has run: what was refused is not that of the next operations.
                [this.program, this.config] = before;
            }
            throw error;
        }
        this.#last = result;
        this.#saveRecording(result);
        const unused = faults.length === 0 ? [] : simulation.unusedFaults();
        if (unused.length > 0) {
            throw new assert.AssertionError({ message: this.#unused(unused, result.error), operator: "faults" });
        }
        simulation.setFaults("[]");
        if (check && result.error !== undefined) {
            throw result.error;
        }
        if (this.#checksPatterns && (verb === "up" || verb === "preview") && result.error === undefined) {
            this.#checksPatterns = false;
            SimulatedStack.refuseUnmatched(this, options);
        }
        return result;
    }

    /**
     * @internal Refuses patterns of the settings that have matched nothing: they may be misspelt. After an operation with options that limit
     * it, that is not known.
     */
    static refuseUnmatched(stack: SimulatedStack, { targets, excludes }: OperationOptions): void {
        if (targets !== undefined || excludes !== undefined) {
            return;
        }
        const unmatched = JSON.parse(stack.#parts.simulation.unmatchedPatterns()) as UnmatchedPattern[];
        if (unmatched.length > 0) {
            throw new assert.AssertionError({ message: unmatchedText(unmatched, stack.calls), operator: "patterns" });
        }
    }

    async #resultOf(operation: Operation): Promise<SimulatedResult> {
        const bridge = this.#opened()[1].native;
        try {
            return new SimulatedResult(await operation, undefined, bridge);
        } catch (error) {
            const result = error instanceof StackwrightError ? error.result : undefined;
            if (!(result instanceof Result)) {
                throw error;
            }
            return new SimulatedResult(result, error as Error, bridge);
        }
    }

    #unused(unused: readonly string[], failure: Error | undefined): string {
        const calls = new Set(this.calls.map(({ call, type, name }) => `${call} of "${type}" named "${name}"`));
        const failed = failure === undefined ? "" : `\nthe operation has failed: ${failure.message}`;
        return `faults did not happen: ${unused.join("; ")}${failed}\nthe calls were:\n  ${[...calls].sort().join("\n  ") || "none"}`;
    }

    #saveRecording({ result }: SimulatedResult): void {
        const { record, simulation } = this.#parts;
        if (record === undefined) {
            return;
        }
        const recorded = guarded(() => simulation.recorded(Result.native(result)));
        if (typeof recorded === "string") {
            writeText("record", record, recorded);
        }
    }

    #opened(): [Engine, Bridge] {
        this.#refuseClosed();
        const { engine, simulation, answers } = this.#parts;
        this.#engine ??= Engine.simulated(engine, simulation, answers);
        this.#bridge = this.#engine[1];
        return this.#engine;
    }

    /** Returns the stack itself, for edits of its state, its history and the rest of its methods. */
    async stack(): Promise<Stack> {
        const program = this.program === undefined ? {} : { program: this.program };
        const config = this.config === undefined ? {} : { config: this.config };
        return this.#opened()[0].stack(this.name, { ...this.#parts.settings, ...program, ...config, create: true });
    }

    /** The result of the last operation. */
    get result(): SimulatedResult {
        if (this.#last === undefined) {
            throw new InvalidInputError("the stack has had no operation yet; call up()");
        }
        return this.#last;
    }

    /** The resources of the last result. */
    get resources(): Resources {
        return this.result.resources;
    }

    /** The outputs of the stack in the last result. */
    get outputs(): SimulatedResult["outputs"] {
        return this.result.outputs;
    }

    /** The calls of providers so far, in the order in which they began. */
    get calls(): SimulatedCall[] {
        return JSON.parse(this.#parts.simulation.calls()) as SimulatedCall[];
    }

    /** Forgets the calls so far. */
    clearCalls(): void {
        this.#parts.simulation.clearCalls();
    }

    /** What the last run was killed at by `kill()`; undefined while it lives. */
    get killedAt(): string | undefined {
        return this.#parts.simulation.killedAt() ?? undefined;
    }

    /** Begins anew with another engine on the same store, as another process does after a run that was killed. */
    async restart(): Promise<void> {
        this.#refuseClosed();
        await this.#endEngine();
        this.#parts.simulation.beginRun();
    }

    /**
     * Compares the world with the state of the last result: what exists and is not recorded, and what is recorded and does not exist. What is
     * retained, or deleted with another resource, is neither. Records of real providers are not compared; what these have created in calls
     * that no record has is listed.
     */
    discrepancies(): string[] {
        return guarded(() => this.#parts.simulation.discrepancies(Result.native(this.result.result)));
    }

    /** @internal Begins a run that is killed at a moment. */
    static beginRun(stack: SimulatedStack, moment: number): void {
        stack.#parts.simulation.beginRun(moment);
    }

    /** @internal Returns the types and ids of what exists for a resource. */
    static existingOf(stack: SimulatedStack, urn: string): [string, string][] {
        return guarded(() => stack.#parts.simulation.existingOf(urn)) as [string, string][];
    }

    /** @internal Removes a thing by hand. */
    static removeThing(stack: SimulatedStack, [type, id]: [string, string]): void {
        stack.#parts.simulation.remove(type, id);
    }

    /** @internal Puts the resources of the recorded state into the world. */
    static async adopt(stack: SimulatedStack): Promise<void> {
        const opened = await stack.stack();
        const result = await opened.destroy({ dryRun: true, ignoreProtect: true });
        guarded(() => stack.#parts.simulation.adopt(Result.native(result)));
    }

    /** Ends the engine. Later operations are refused; results and the world can still be read. */
    async close(): Promise<void> {
        this.#isClosed = true;
        await this.#endEngine();
    }

    #refuseClosed(): void {
        if (this.#isClosed) {
            throw new InvalidInputError(`the simulated stack ${this.name} is closed`);
        }
    }

    async #endEngine(): Promise<void> {
        const engine = this.#engine;
        this.#engine = undefined;
        await engine?.[0].close();
    }

    [Symbol.asyncDispose](): Promise<void> {
        return this.close();
    }
}

/** Refuses what is no program; what is left out is accepted. */
function refuseNoProgram(program: unknown, call: string): void {
    if (typeof program === "object" && program !== null && Object.getPrototypeOf(program) === Object.prototype) {
        throw new InvalidInputError(`program takes a function, not an object; options are the last argument: ${call}`);
    }
    if (program !== undefined && program !== null) {
        requireProgram("program", program);
    }
}

const SCHEMAS = "a list of schemas of packages: objects, or paths of JSON files";

function schemaOf(schema: unknown): unknown {
    if (typeof schema !== "string") {
        membersOf("schemas", schema, SCHEMAS);
    }
    return typeof schema === "string" ? readJson("schemas", schema) : schema;
}

/**
 * Runs a program with the real engine, in memory, against simulated providers. Any package is served: outputs repeat the inputs, and ids are
 * generated, the same ones for equal programs.
 *
 * ```js
 * const stack = await simulate(program, { outputs: { "cloud:index:Machine": { address: "10.0.0.1" } } });
 * assert.equal(stack.resources.find("cloud:index:Record", "dns").inputs.address, "10.0.0.1");
 * (await stack.preview()).assertNoChanges();
 * ```
 */
export async function simulate(program?: AnyProgram, options: SimulationOptions = {}): Promise<SimulatedStack> {
    options = given(options);
    refuseUnknownSettings("simulate()", options);
    const {
        project,
        stack = project === undefined ? "project/test" : "test",
        functions,
        outputs,
        schemas = [],
        replaceOn = {},
        deleteBeforeReplace = [],
        existing = {},
        stacks = {},
        providers,
        real = [],
        record,
        plugins,
        state,
        passphrase,
        settings = {},
        run = true,
        allowUnmatched = false,
        config,
        ...first
    } = options;
    refuseNoProgram(program, "simulate(undefined, { project })");
    requireConfig(config);
    Fault.document(first.faults ?? []);
    if (record !== undefined) {
        requireText("record", record);
    }
    membersOf("replaceOn", replaceOn, "an object of lists of paths by types").forEach(([pattern, paths]) => {
        texts(`replaceOn of ${JSON.stringify(pattern)}`, paths, "a list of paths");
    });
    membersOf("existing", existing, "an object of things by types and ids").forEach(([type, things]) => {
        const what = `existing of ${JSON.stringify(type)}`;
        membersOf(what, things, "an object of things by ids").forEach(([id, properties]) => {
            membersOf(`${what} with the id ${JSON.stringify(id)}`, properties, "an object of properties");
        });
    });
    membersOf("stacks", stacks, "an object of outputs by the names of stacks").forEach(([name, known]) => {
        membersOf(`stacks of ${JSON.stringify(name)}`, known, "an object of outputs");
    });
    const answers = readAnswers(functions, outputs);
    const played = record !== undefined && existsSync(record) ? readText("record", record) : undefined;
    const document = {
        schemas: listed("schemas", schemas, SCHEMAS).map(schemaOf),
        replace_on: replaceOn,
        delete_before_replace: texts("deleteBeforeReplace", deleteBeforeReplace, "a list of types"),
        answered_functions: answers.functions,
        answered_outputs: answers.computed,
        real: texts("real", real, "a list of packages"),
        records: record !== undefined && played === undefined,
        ...(played === undefined ? {} : { played: record }),
    };
    const values = { outputs: answers.data, existing, stacks };
    const simulation = guarded(() => new native.Simulation(JSON.stringify(document), values, played));
    const engine: Omit<EngineOptions, "store"> = {
        ...(providers === undefined ? {} : { providers }),
        ...(plugins === undefined ? {} : { plugins }),
        ...(passphrase === undefined ? {} : { passphrase }),
    };
    const simulated = new SimulatedStack({
        simulation,
        answers: answers.provider,
        name: stack,
        program,
        config,
        settings: { ...settings, ...(project === undefined ? {} : { project }) },
        engine,
        record: played === undefined ? record : undefined,
        allowUnmatched,
    });
    if (state !== undefined) {
        await (await simulated.stack()).importDeployment(state, { force: true });
        await SimulatedStack.adopt(simulated);
    }
    if (run) {
        await simulated.up(undefined, first);
    }
    return simulated;
}
