/** The engine: where states live, what encrypts them, and who provides what. */
import { Bridge } from "./bridge";
import { checkMembers, type Checks, flag, text, where } from "./checks";
import { ENGINE_SETTINGS_MEMBERS, type Plugins, PLUGINS_MEMBERS } from "./documents";
import { awaited, guarded, InvalidInputError, NotFoundError } from "./errors";
import {
    type Autonamer,
    autonamerHost,
    type Fetch,
    fetchHost,
    journalHost,
    type JournalReceiver,
    type Secrets,
    secretsHost,
    type StackReader,
    stackReaderHost,
} from "./host";
import { installerHost, type PluginInstaller, requireInstaller } from "./installer";
import { jsonOf, jsonOfOptions } from "./json";
import { native, type Native } from "./native";
import { described, given, type Names, refuseUnknown, requireFunction, requireMethods, requireObject } from "./options";
import type { Provider, Resolver } from "./provider";
import { addProgram, type AnyProgram } from "./program";
import { findDirectory } from "./sdk/find";
import { documentOf, Stack } from "./stack";
import type { Secret } from "./values";

export interface EngineOptions {
    /**
     * Where states live: `file:///absolute/folder`, `file://./relative/folder` (`file://relative/folder` is the same: there is
     * no host in it) or `memory://`.
     */
    store: string;
    /**
     * What secrets are encrypted with; without it, secrets are only encoded, and the reference engine's command opens a stack
     * only while it has no secret.
     */
    passphrase?: string;
    /** Where relative folders of the store stand; the working directory when the engine is made. */
    baseDirectory?: string;
    /** Providers in this process, by package. */
    providers?: { readonly [name: string]: Provider };
    /** Where plugins are searched, and which processes are kept. */
    plugins?: Plugins;
    /** Decides what serves a package; asked before the engine looks itself. */
    resolver?: Resolver;
    /**
     * Installs plugins that are not found: when they are needed, and, unless there is a `resolver` or the option
     * `skipPluginPreInstall` says otherwise, before an operation begins.
     */
    installer?: PluginInstaller;
    /** Answers stack references; the engine's own store when absent. */
    stackReader?: StackReader;
    /** Encrypts secrets in place of the passphrase, which opens what was encrypted with one before. */
    secrets?: Secrets;
    /** Gets what URIs of remote assets name; without it, the engine does, over HTTP. */
    fetch?: Fetch;
    /** Says how real things are named; without it, the configuration's `pulumi:autonaming` does. */
    autonamer?: Autonamer;
    /**
     * Numbers of the users whose processes may be at the other end of connections on loopback, beside those of the own user
     * and of root: for providers and policy packs that the host runs as another user.
     */
    trustedPeers?: readonly number[];
    /** The copy of `@pulumi/pulumi` whose dynamic providers are started: a path in it or beside it. */
    sdk?: string | URL;
}

/**
 * A configuration value: `Secret` for secret ones, lists and objects for structured ones. `{ secure: "v1:…" }` is a secret
 * that is encrypted already, as configuration files have it.
 */
export type ConfigValue =
    | string
    | number
    | boolean
    | Secret
    | readonly ConfigValue[]
    | { readonly [name: string]: ConfigValue };

export interface StackOptions {
    /** Says what the stack is to be: a function of our own API, or `sdkProgram(…)`. Needed for previews and updates. */
    program?: AnyProgram;
    /**
     * Configuration; a name without namespace is the project's. A setting of the `Stack` that is returned: it is not kept
     * with the stack, so say it again whenever that is opened.
     */
    config?: { readonly [name: string]: ConfigValue };
    /**
     * What `{ secure }` values in the configuration were encrypted with, as `encryptionsalt` of the stack's configuration file
     * has it; the engine needs the passphrase. A stack without a state encrypts its own secrets with it, too. Without it,
     * configuration is decrypted as the state is.
     */
    encryptionSalt?: string;
    /** What programs are told to be their organization; `organization` when absent. It is no part of the stack's name. */
    organization?: string;
    /**
     * What the host notes about the stack, by name: at most 40 characters, and 256 for a value. A setting like `config`:
     * not kept with the stack.
     */
    tags?: { readonly [name: string]: string };
    /** The folder of the project, from which assets and source positions are told. */
    rootDirectory?: string;
    /**
     * The options of the project's runtime by name (`virtualenv`, `typescript`…): plugins find them in their environment, as
     * `PULUMI_RUNTIME_NAME`: texts as they are, other values as JSON. Language runtimes receive the values. A setting like
     * `config`.
     */
    runtimeOptions?: { readonly [name: string]: unknown };
    /**
     * For `stack()` alone: whether the stack is created when it does not exist. When absent, it is with a program; without
     * one its first update or import creates it, and what only reads it is refused with `NotFoundError` until then.
     */
    create?: boolean;
    /**
     * The state, as a deployment document, parsed or as text. The stack then lives in memory and apart from the engine's store,
     * which may have another stack of its name: `create` does not count, there is no history, and `Result.deployment` is all
     * that is left of an operation, also of a failed or cancelled one. Later operations of the same `Stack` go on from there.
     * `{}` is a new stack. A malformed document is a `StateError`, a wrong passphrase for its secrets a `DecryptError`.
     */
    deployment?: string | object;
    /** Receives every entry of the journal before the engine goes on; may refuse it. */
    journal?: JournalReceiver;
    /** Encrypts the stack's secrets, in place of the engine's passphrase. A wrong one is an error when the stack has secrets. */
    passphrase?: string;
    /** Encrypts them in place of the engine's `secrets`. */
    secrets?: Secrets;
    /**
     * The passphrases of other stacks by their names (`project/stack`), for references to them; other stacks are opened as
     * this one is.
     */
    referencePassphrases?: { readonly [stack: string]: string };
}

/** Reads members by name, so that inherited ones and those with getters count. */
function membersOf<T extends object, K extends string & keyof T>(options: T, names: readonly K[]): Partial<Pick<T, K>> {
    return Object.fromEntries(names.map((name) => [name, options[name]])) as Partial<Pick<T, K>>;
}

const SDK_CHECK: Checks = {
    sdk: where((value) => typeof value === "string" || value instanceof URL, "a path or a URL"),
};

const isDocument = (value: unknown): boolean =>
    typeof value === "string" || (typeof value === "object" && value !== null && !Array.isArray(value));

/** The same for the options of stacks. */
const STACK_CHECKS: Checks = {
    organization: text,
    rootDirectory: text,
    create: flag,
    deployment: where(isDocument, "a deployment document: an object, or JSON as a string"),
    passphrase: text,
};

const STACK_OPTIONS: Names<StackOptions> = {
    program: true,
    config: true,
    encryptionSalt: true,
    organization: true,
    tags: true,
    rootDirectory: true,
    runtimeOptions: true,
    create: true,
    deployment: true,
    journal: true,
    passphrase: true,
    secrets: true,
    referencePassphrases: true,
};

/** An engine. Several with different settings live in one process; an idle one does not keep Node alive. */
export class Engine {
    readonly #bridge: Bridge;
    readonly #native: Native.Engine;
    #closed = false;

    constructor(options: EngineOptions) {
        options = given(options ?? ({} as EngineOptions));
        requireObject("providers", options.providers);
        requireFunction("resolver", options.resolver);
        requireFunction("fetch", options.fetch);
        requireFunction("autonamer", options.autonamer);
        requireInstaller(options.installer);
        requireMethods("stackReader", options.stackReader, ["stackOutputs", "stackResourceOutputs"]);
        requireMethods("secrets", options.secrets, ["encrypt", "decrypt"]);
        requireObject("plugins", options.plugins);
        checkMembers(options, SDK_CHECK, "an engine");
        if (options.passphrase === "") {
            const hint = "leave it out to have secrets only encoded";
            throw new InvalidInputError(`passphrase takes a string that is not empty; ${hint}`);
        }
        for (const [name, provider] of Object.entries(options.providers ?? {})) {
            refuseClass(name, provider);
        }
        const bridge = new Bridge();
        const { providers, resolver, installer, stackReader, secrets, fetch, autonamer, sdk, ...unread } = options;
        const plugins = { ...options.plugins, ...membersOf(options.plugins ?? {}, PLUGINS_MEMBERS) };
        requireObject("plugins.commands", plugins.commands ?? undefined);
        const document = {
            // Unknown names are refused by the engine.
            ...unread,
            ...membersOf(options, ENGINE_SETTINGS_MEMBERS),
            secrets: undefined,
            plugins: { ...plugins, commands: { ...dynamicProviders(sdk), ...plugins.commands } },
            baseDirectory: options.baseDirectory ?? process.cwd(),
        };
        this.#bridge = bridge;
        this.#native = guarded(
            () =>
                new native.Engine(bridge.native, {
                    document: jsonOf(document, "options"),
                    providers: Object.entries(providers ?? {}).map(([name, provider]) =>
                        bridge.addProvider(name, provider),
                    ),
                    ...(resolver === undefined ? {} : { resolver: bridge.addResolver(resolver) }),
                    ...(installer === undefined
                        ? {}
                        : { installer: bridge.addHost(installerHost(installer)) }),
                    ...(stackReader === undefined
                        ? {}
                        : { stackReader: bridge.addHost(stackReaderHost(stackReader)) }),
                    ...(secrets === undefined ? {} : { secrets: secretsEntry(bridge, secrets) }),
                    ...(fetch === undefined ? {} : { fetch: bridge.addHost(fetchHost(fetch)) }),
                    ...(autonamer === undefined
                        ? {}
                        : {
                              autonamer: bridge.addHost(
                                  autonamerHost(autonamer, (urn, error) => bridge.raised.ofProvider({ urn }, error)),
                              ),
                          }),
                }),
        );
    }

    /**
     * Opens a stack, named `project/stack`. The option `create` says whether it has to exist; a name that is misspelt
     * creates no stack by being read.
     */
    async stack(name: string, options: StackOptions = {}): Promise<Stack> {
        return this.#open(name, options, undefined);
    }

    /**
     * Creates a stack.
     * @throws {ConflictError} It exists.
     */
    async createStack(name: string, options: Omit<StackOptions, "create"> = {}): Promise<Stack> {
        return this.#open(name, options, "create");
    }

    /**
     * Selects a stack that exists.
     * @throws {NotFoundError} It does not exist; the hints name stacks that are called like it.
     */
    async selectStack(name: string, options: Omit<StackOptions, "create"> = {}): Promise<Stack> {
        return this.#open(name, options, "select");
    }

    /** Selects a stack, and creates it when it does not exist. */
    async createOrSelectStack(name: string, options: Omit<StackOptions, "create"> = {}): Promise<Stack> {
        return this.#open(name, options, "create_or_select");
    }

    async #open(name: string, options: StackOptions, opening: string | undefined): Promise<Stack> {
        this.#requireOpen();
        if (typeof name !== "string") {
            throw new InvalidInputError(`the name of a stack is a string, project/stack, not ${described(name)}`);
        }
        // It may come from a column without a document, and must not lead to the engine's store.
        if (typeof options === "object" && options !== null && (options as { deployment?: unknown }).deployment === null) {
            throw new InvalidInputError(
                "deployment is null, not a deployment document; a stack of the engine's store is opened without the option",
            );
        }
        options = given(options);
        const known: { readonly [option: string]: unknown } = { ...STACK_OPTIONS };
        if (opening !== undefined) {
            delete (known as { create?: unknown }).create;
        }
        refuseUnknown("a stack", options, known);
        checkMembers(options, STACK_CHECKS, "a stack");
        requireObject("config", options.config);
        requireObject("tags", options.tags);
        requireFunction("journal", options.journal);
        if (options.encryptionSalt !== undefined && typeof options.encryptionSalt !== "string") {
            throw new InvalidInputError(`encryptionSalt takes a text, not ${typeof options.encryptionSalt}`);
        }
        for (const [tag, value] of Object.entries(options.tags ?? {})) {
            if (typeof value !== "string") {
                throw new InvalidInputError(`the value of the tag "${tag}" must be a text, not ${described(value)}`);
            }
        }
        requireMethods("secrets", options.secrets, ["encrypt", "decrypt"]);
        requireObject("referencePassphrases", options.referencePassphrases);
        for (const [stack, passphrase] of Object.entries(options.referencePassphrases ?? {})) {
            if (typeof passphrase !== "string") {
                throw new InvalidInputError(`the reference passphrase of "${stack}" must be a text`);
            }
        }
        requireObject("runtimeOptions", options.runtimeOptions);
        const runtimeOptions = jsonOfOptions(options.runtimeOptions ?? {});
        const project = name.split("/").at(-2) ?? "";
        const config = guarded(() => this.#native.config(project, options.config ?? {}));
        const program = options.program === undefined ? undefined : addProgram(this.#bridge, options.program);
        const stack = await awaited(() =>
            this.#native.stack(name, config, {
                opening: opening ?? native.openingOf(options.create, program !== undefined),
                tags: { ...options.tags },
                runtimeOptions,
                referencePassphrases: { ...options.referencePassphrases },
                ...(options.deployment === undefined ? {} : { deployment: documentOf(options.deployment, "deployment") }),
                ...(options.passphrase === undefined ? {} : { passphrase: options.passphrase }),
                ...(options.secrets === undefined ? {} : { secrets: secretsEntry(this.#bridge, options.secrets) }),
                ...(options.encryptionSalt === undefined ? {} : { encryptionSalt: options.encryptionSalt }),
                ...(options.organization === undefined ? {} : { organization: options.organization }),
                ...(program === undefined ? {} : { program }),
                ...(options.journal === undefined
                    ? {}
                    : { journal: this.#bridge.addHost(journalHost(options.journal)) }),
                ...(options.rootDirectory === undefined ? {} : { rootDirectory: options.rootDirectory }),
            }),
        );
        return new Stack(stack, this.#bridge, () => this.#requireOpen());
    }

    /** Lists the stacks of a project, or of all, as `project/stack`. */
    async stacks(project?: string): Promise<string[]> {
        project ??= undefined;
        if (project !== undefined && typeof project !== "string") {
            throw new InvalidInputError(`the project whose stacks are listed is a string, not ${described(project)}`);
        }
        return awaited(() => this.#native.stacks(project));
    }

    /** Ends the plugin processes that are kept warm. No stack is opened and no operation started after that. */
    close(): Promise<void> {
        this.#closed = true;
        return awaited(() => this.#native.close());
    }

    [Symbol.asyncDispose](): Promise<void> {
        return this.close();
    }

    toString(): string {
        return "an engine of Stackwright";
    }

    #requireOpen(): void {
        if (this.#closed) {
            throw new InvalidInputError("the engine is closed");
        }
    }
}

/** Refuses what can not be a provider, a class in place of an instance above all. */
function refuseClass(name: string, provider: unknown): void {
    if (typeof provider === "function") {
        const hint = provider.name === "" ? "" : `, new ${provider.name}()`;
        throw new InvalidInputError(`the provider of "${name}" is a class or a function; pass an instance${hint}`);
    }
    if (typeof provider !== "object" || provider === null) {
        throw new InvalidInputError(`the provider of "${name}" is no object`);
    }
}

/** Describes a host's encryption. */
function secretsEntry(bridge: Bridge, secrets: Secrets): Native.SecretsEntry {
    return {
        number: bridge.addHost(secretsHost(secrets, (error) => bridge.raised.ofSecrets(error))),
        kind: secrets.kind ?? "host",
        ...(secrets.state === undefined ? {} : { state: jsonOf(secrets.state, "secrets.state") }),
    };
}

/** Returns how dynamic providers are started, when a copy of the SDK is found. */
function dynamicProviders(sdk: string | URL | undefined): { [name: string]: readonly string[] } {
    try {
        const directory = findDirectory(sdk);
        return { "pulumi-nodejs": [process.execPath, `${directory}/cmd/dynamic-provider/index.js`] };
    } catch (error) {
        // Without an SDK there are no dynamic providers, unless somebody asked for a certain one.
        if (sdk === undefined && error instanceof NotFoundError) {
            return {};
        }
        throw error;
    }
}
