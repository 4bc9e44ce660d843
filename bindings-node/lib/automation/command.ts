/** The command of the Automation API, which runs in this process. */
import { createRequire } from "node:module";
import { resolve } from "node:path";

import * as upstream from "@pulumi/pulumi/automation";

import { Bridge } from "../bridge";
import type { Plugins } from "../documents";
import { Engine, pluginSettings } from "../engine";
import { guarded, InvalidInputError } from "../errors";
import { keyServiceHost } from "../host";
import { inspectAs } from "../inspection";
import { jsonOfMembers } from "../json";
import { EnvironmentKeys } from "../key_services";
import { native, type Native } from "../native";
import { eventListener, prepared } from "./inline";
import { cancelledBySignals } from "./signals";

/** What the SDK has beside its public interface. */
interface Internals {
    CommandResult: new (stdout: string, stderr: string, code: number, error?: Error) => object;
    createCommandError(result: object): Error;
}

const { CommandResult, createCommandError } = upstream as unknown as Internals;

type SemVer = NonNullable<upstream.PulumiCommand["version"]>;

/** The SDK's own copy of the package, whose objects it compares with. */
const { SemVer } = createRequire(require.resolve("@pulumi/pulumi/automation"))("semver") as {
    SemVer: new (version: string) => SemVer;
};

/** The SDK's class without the modifier of its constructor. */
const Base = upstream.PulumiCommand as unknown as new (command: string, version: SemVer | null) => upstream.PulumiCommand;

/** What a command is made of. */
export interface CommandOptions {
    /** Runs the commands: its store, its secrets and its providers. */
    engine?: Engine;
    /** Where plugins are looked for beside the folder of the environment; only without an engine. */
    plugins?: Plugins;
}

/**
 * Takes the place of the `pulumi` executable: it answers the same command lines in this process.
 *
 * Store, passphrase and folder of plugins come from `envVars` of the workspace, the project's `backend.url`, and the environment
 * of the process, as for the executable. With an engine they are those of the engine, and so are its providers.
 */
export class Command extends Base {
    readonly #native: Native.Command;
    /** Lives as long as the command. */
    readonly #owner: object;
    readonly #bridge: Bridge;
    /** Whether an engine encrypts, so that no command makes a client of key services. */
    readonly #hasEngine: boolean;

    constructor(options: CommandOptions = {}) {
        super("pulumi", new SemVer(native.Command.version()));
        if (options.engine !== undefined && !(options.engine instanceof Engine)) {
            throw new InvalidInputError("options.engine takes an Engine of stackwright");
        }
        this.#hasEngine = options.engine !== undefined;
        if (options.engine !== undefined) {
            this.#owner = options.engine;
            [this.#native, this.#bridge] = options.engine.command();
            return;
        }
        const bridge = new Bridge();
        this.#owner = bridge;
        this.#bridge = bridge;
        const settings = jsonOfMembers(pluginSettings(options.plugins), "options.plugins.");
        this.#native = guarded(() => new native.Command(bridge.native, settings));
    }

    static {
        inspectAs(this, (command) => `${command.version}`);
    }

    /** Returns a command: there is no executable to find. */
    static async get(): Promise<Command> {
        return new Command();
    }

    /** Returns a command: there is nothing to install. */
    static async install(): Promise<Command> {
        return new Command();
    }

    /**
     * Runs a command line, which reads `input` from standard input. The functions get whole lines as they are written; what they
     * throw cancels the operation, and is thrown when that has ended.
     */
    async run(
        args: string[],
        cwd: string,
        additionalEnv: { readonly [name: string]: string },
        onOutput?: (text: string) => void,
        onError?: (text: string) => void,
        signal?: AbortSignal,
        input?: string,
    ): Promise<object> {
        const environment = environmentOf(additionalEnv);
        const onEvent = eventListener();
        const written = { stdout: "", stderr: "" };
        let thrown: { error: unknown } | undefined;
        let run: Native.CommandRun | undefined;
        const cancel = (): void => run?.cancel();
        this.#bridge.hold();
        const leave = ENDS_AT_ONCE.has(args[0]!) ? () => {} : cancelledBySignals(cancel);
        const failures: unknown[] = [];
        try {
            signal?.addEventListener("abort", cancel);
            const program = prepared(this.#bridge, args.map(String), failures);
            const place: Native.CommandPlace = {
                directory: resolve(cwd),
                environment: JSON.stringify(environment),
                events: onEvent !== undefined,
                // Without a function that takes them, texts are awaited once and not line by line.
                live: onOutput !== undefined || onError !== undefined,
            };
            if (input !== undefined) {
                place.input = input;
            }
            if (!this.#hasEngine) {
                place.keyService = this.#bridge.addHost(keyServiceHost(new EnvironmentKeys(environment)));
            }
            const started = guarded(() => this.#native.start(program.args, place, program.entry));
            run = started;
            if (signal?.aborted === true) {
                cancel();
            }
            for (;;) {
                const outputs = await this.#bridge.request<(string | number)[]>((call) => started.next(call));
                for (let at = 0; at < outputs.length; at += 2) {
                    const [stream, text] = [outputs[at], outputs[at + 1]];
                    if (typeof text === "number") {
                        return this.#ended(written, text, thrown, failures);
                    }
                    if (stream === "event") {
                        onEvent?.(text!);
                        continue;
                    }
                    written[stream as keyof typeof written] += text;
                    try {
                        if (thrown === undefined) {
                            (stream === "stderr" ? onError : onOutput)?.(text!);
                        }
                    } catch (error) {
                        thrown = { error };
                        cancel();
                    }
                }
            }
        } finally {
            this.#bridge.release();
            signal?.removeEventListener?.("abort", cancel);
            leave();
        }
    }

    #ended(
        written: { stdout: string; stderr: string },
        code: number,
        thrown: { error: unknown } | undefined,
        failures: readonly unknown[],
    ): object {
        if (thrown !== undefined) {
            throw thrown.error;
        }
        const result = new CommandResult(written.stdout.trimEnd(), written.stderr.trimEnd(), code);
        if (code !== 0) {
            const error = createCommandError(result);
            if (failures.length > 0) {
                // What the program has raised.
                Object.defineProperty(error, "cause", { value: failures[0], configurable: true, writable: true });
            }
            throw error;
        }
        return result;
    }

    /** @internal */
    get owner(): object {
        return this.#owner;
    }
}

let shared: Command | undefined;

/** Commands that neither run a program nor call a provider, so that a signal finds nothing to complete: each writes one file at once. */
const ENDS_AT_ONCE: ReadonlySet<string> = new Set(["config"]);

/**
 * Returns the command of workspaces without one.
 *
 * @internal
 */
export function defaultCommand(): Command {
    shared ??= new Command();
    return shared;
}

/**
 * Returns the variables of the process and these ones, as a child process would get them: other values as texts, without halves of
 * characters. Names and values of the process are read apart, which takes a fraction of the time that entries take.
 */
function environmentOf(additional: { readonly [name: string]: unknown }): { [name: string]: string } {
    const variables: { [name: string]: string } = {};
    for (const name of Reflect.ownKeys(process.env)) {
        const value = typeof name === "string" ? process.env[name] : undefined;
        if (value !== undefined) {
            variables[name as string] = String(value);
        }
    }
    for (const [name, value] of Object.entries(additional)) {
        if (value !== undefined) {
            variables[name] = Buffer.from(String(value)).toString();
        }
    }
    variables["PULUMI_AUTOMATION_API"] = "true";
    return variables;
}
