/** The engine: its store, its encryption and its providers. */
import { callBody } from "./bodies";
import { Bridge } from "./bridge";
import { checkMembers, type Checks, flag, where } from "./checks";
import {
    ENGINE_SETTINGS_MEMBERS,
    type InstalledPlugin,
    type Metrics,
    type PluginSelection,
    type Plugins,
    PLUGINS_MEMBERS,
    STACK_SETTINGS_MEMBERS,
    type StackSettings,
    type StoreCredentials,
    type Telemetry,
    type StackSummary,
} from "./documents";
import { awaited, guarded, InvalidInputError, NotFoundError } from "./errors";
import {
    type Autonamer,
    autonamerHost,
    type Fetch,
    fetchHost,
    journalHost,
    isKeyService,
    type KeyService,
    requireSecrets,
    type Secrets,
    secretsHost,
    type StackReader,
    stackReaderHost,
} from "./host";
import { type FleetCallOptions, type FleetOperation, startAll, type StackRun } from "./fleet";
import { inspectAs } from "./inspection";
import { installerHost, type PluginInstaller, requireInstaller } from "./installer";
import { jsonOf, jsonOfMembers } from "./json";
import { native, type Native } from "./native";
import { described, given, refuseUnknown, requireFunction, requireMethods, requireObject, requireOptions } from "./options";
import { installPlugin, type PluginInstallation, selectPlugins } from "./plugins";
import { Project } from "./project";
import { type Provider, requireProviderMethods, type Resolver } from "./provider";
import { addProgram } from "./program";
import { findDirectory } from "./sdk/find";
import { documentOf, Stack } from "./stack";
import { credentialsHost, type CredentialSource, isHostStore, nameOfStore, plainCredentials, type Store, storeHost } from "./store";
import type { Secret } from "./values";

/** Returns a stack of the list that one line represents as a string. */
function shownAsLine(stack: StackSummary): StackSummary {
    return Object.defineProperty(stack, "toString", { value: () => lineOf(stack) });
}

function lineOf({ name, lastUpdate, lock, problems, resourceCount }: StackSummary): string {
    const parts = [lastUpdate === null ? "no operation yet" : `${lastUpdate.kind} ${lastUpdate.result} at ${lastUpdate.ended}`];
    if (resourceCount !== null) {
        parts.push(`${resourceCount} ${resourceCount === 1 ? "record" : "records"}`);
    }
    if (lock !== null) {
        parts.push(`locked by ${lock.user ?? "an unknown user"} on ${lock.host ?? "an unknown host"}`);
    }
    return `${name}: ${[...parts, ...problems].join(", ")}`;
}

export interface EngineOptions {
    /**
     * Where states live: `file:///absolute/folder`, `file://./relative/folder` (`file://relative/folder` is the same: there is
     * no host in it), `memory://`, a bucket (`s3://`, `gs://`, `azblob://`) or a database (`postgres://`); or a store of the host.
     */
    store: string | Store;
    /** The credentials of a bucket or a database, or a function that returns them and is called again before they end. */
    credentials?: StoreCredentials | CredentialSource;
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
     * Installs plugins that are not found: when they are needed, and before an operation begins, unless there is a `resolver`
     * or the option `skipPluginPreInstall` is true.
     */
    installer?: PluginInstaller;
    /** Answers stack references; the engine's own store when absent. */
    stackReader?: StackReader;
    /**
     * Encrypts secrets in place of the passphrase, which opens what was encrypted with one before: the host's own encryption, or a key
     * service (`awsKms()`), which wraps the data keys of stacks.
     */
    secrets?: Secrets | KeyService;
    /** Gets what URIs of remote assets name; without it, the engine does, over HTTP. */
    fetch?: Fetch;
    /** Names physical resources; without it, the configuration's `pulumi:autonaming` does. */
    autonamer?: Autonamer;
    /**
     * Where the spans of operations, of their steps and of calls are exported to. An operation is within the active span of
     * `@opentelemetry/api`, where that package is installed.
     */
    telemetry?: Telemetry;
    /**
     * Numbers of the users whose processes may be at the other end of connections on loopback, beside those of the own user
     * and of root: for providers and policy packs that the host runs as another user.
     */
    trustedPeers?: readonly number[];
    /**
     * Allows a bucket whose server ignores the conditions of writes, which is refused otherwise: nothing keeps two hosts from changing
     * a stack at once then.
     */
    allowUnfenced?: boolean;
    /**
     * How long the lease of a stack lasts that its holder does not renew, in seconds (2 to 3600); 30 when left out. Another host takes the
     * stack over after this time. Folders have locks that end with their process instead.
     */
    lease?: number;
    /**
     * Encrypts the whole store with `passphrase` or `secrets`: states with all their values, histories, journals and backups. Names, sizes
     * and times stay visible, and so do lock files. The store must be new, or have been encrypted from its beginning; it is opened with
     * the same manager only, and the reference engine's command refuses it.
     */
    encryptStore?: boolean;
    /**
     * Keeps secrets at any depth, unless it is false: an input or output is secret when it is at or below the path of a secret
     * input, also where its provider returns it without the mark. With false, outputs are marked by the names of secret
     * inputs at the top level only, as in the reference engine.
     */
    nestedSecrets?: boolean;
    /**
     * How many steps, checks and diffs of each package's providers run at a time, in all operations of the engine together; 0 has no
     * limit beside that of each operation.
     */
    maxCallsPerPlugin?: number;
    /** The copy of `@pulumi/pulumi` whose dynamic providers are started: a path in it or beside it. */
    sdk?: string | URL;
}

function checkedRun(runId: string): string {
    if (typeof runId !== "string") {
        throw new InvalidInputError(`the id of a run is a string, not ${described(runId)}`);
    }
    return runId;
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

/** The settings with which a stack is opened. */
export type StackOptions = StackSettings;

/** Reads members by name, so that inherited ones and those with getters count. */
function membersOf<T extends object, K extends string & keyof T>(options: T, names: readonly K[]): Partial<Pick<T, K>> {
    return Object.fromEntries(names.map((name) => [name, options[name]])) as Partial<Pick<T, K>>;
}

const SDK_CHECK: Checks = {
    sdk: where((value) => typeof value === "string" || value instanceof URL, "a path or a URL"),
};

const isDocument = (value: unknown): boolean =>
    typeof value === "string" || (typeof value === "object" && value !== null && !Array.isArray(value));

const DEPLOYMENT_CHECK: Checks = {
    deployment: where(isDocument, "a deployment document: an object, or JSON as a string"),
};

/** The member of the options with what `stackwright/testing` adds. */
const SIMULATION = Symbol("simulation");

interface Simulated {
    [SIMULATION]?: { simulation: Native.Simulation; answers: Provider };
}

/** An engine. Several with different settings live in one process; an idle one does not keep Node alive. */
export class Engine {
    readonly #bridge: Bridge;
    readonly #native: Native.Engine;
    #closed = false;

    /**
     * Creates an engine whose providers are simulated.
     *
     * @internal
     */
    static simulated(options: Omit<EngineOptions, "store">, simulation: Native.Simulation, answers: Provider): [Engine, Bridge] {
        const engine = new Engine({ ...options, store: "memory://", [SIMULATION]: { simulation, answers } } as EngineOptions);
        return [engine, engine.#bridge];
    }

    constructor(options: EngineOptions) {
        const simulated = (options as Simulated | undefined)?.[SIMULATION];
        options = given(options ?? ({} as EngineOptions));
        requireOptions("an engine", options);
        requireObject("providers", options.providers);
        requireFunction("resolver", options.resolver);
        requireFunction("fetch", options.fetch);
        requireFunction("autonamer", options.autonamer);
        requireInstaller(options.installer);
        requireMethods("stackReader", options.stackReader, ["stackOutputs", "stackResourceOutputs"]);
        requireSecrets(options.secrets);
        requireObject("plugins", options.plugins);
        requireObject("telemetry", options.telemetry);
        checkMembers(options, SDK_CHECK, "an engine");
        if (options.passphrase === "") {
            const hint = "leave it out to have secrets only encoded";
            throw new InvalidInputError(`passphrase takes a string that is not empty; ${hint}`);
        }
        for (const [name, provider] of Object.entries(options.providers ?? {})) {
            requireProvider(name, provider);
        }
        const bridge = new Bridge(callBody);
        const { providers, resolver, installer, stackReader, secrets, fetch, autonamer, sdk, store, credentials, ...unread } = options;
        const hostStore = isHostStore(store) ? store : undefined;
        const isGiven = typeof credentials === "object" && !Array.isArray(credentials);
        const plugins = pluginSettings(options.plugins, sdk);
        const document = {
            // Unknown names are refused by the engine.
            ...unread,
            ...membersOf(options, ENGINE_SETTINGS_MEMBERS),
            store: hostStore === undefined ? store : nameOfStore(hostStore),
            credentials: isGiven ? plainCredentials(credentials) : typeof credentials === "function" ? undefined : credentials,
            secrets: undefined,
            plugins,
            baseDirectory: options.baseDirectory ?? process.cwd(),
        };
        this.#bridge = bridge;
        bridge.exportsSpans = (options.telemetry ?? undefined) !== undefined;
        const build = (settings: Native.EngineSettings): Native.Engine => {
            if (simulated === undefined) {
                return new native.Engine(bridge.native, settings);
            }
            const answers = bridge.addProvider("answers", simulated.answers);
            return native.Engine.simulated(bridge.native, settings, simulated.simulation, answers);
        };
        this.#native = guarded(
            () =>
                build({
                    document: jsonOfMembers(document, "options."),
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
                    ...(hostStore === undefined
                        ? {}
                        : { store: { number: bridge.addHost(storeHost(hostStore)), hasCopy: typeof hostStore.copy === "function" } }),
                    ...(typeof credentials === "function"
                        ? { credentials: bridge.addHost(credentialsHost(credentials)) }
                        : {}),
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

    static {
        inspectAs(this, (engine) => `on ${engine.#native.storeUrl()}${engine.#closed ? ", closed" : ""}`);
    }

    /**
     * Opens a stack, named `project/stack`. The option `create` determines whether it has to exist. Reading a misspelt name
     * creates no stack.
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
        // A document that the host failed to load must not select the engine's store.
        if (typeof options === "object" && options !== null && (options as { deployment?: unknown }).deployment === null) {
            throw new InvalidInputError(
                "deployment is null, not a deployment document; a stack of the engine's store is opened without the option",
            );
        }
        options = given(options);
        requireOptions("a stack", options);
        const known = membersOf(options, STACK_SETTINGS_MEMBERS);
        const { program, config, deployment, journal, secrets, ...document } = { ...options, ...known };
        checkMembers({ deployment }, DEPLOYMENT_CHECK, "a stack");
        requireObject("config", config);
        requireFunction("journal", journal);
        requireSecrets(secrets);
        const { project: files } = document;
        const encoded = jsonOfMembers({ ...document, project: files instanceof Project ? files.folder : files });
        const project = name.split("/").at(-2) ?? "";
        const values = guarded(() => this.#native.config(project, config ?? {}));
        const added = program === undefined ? undefined : addProgram(this.#bridge, program);
        const stack = await awaited(() =>
            this.#native.stack(name, encoded, opening, values, {
                ...(deployment === undefined ? {} : { deployment: documentOf(deployment, "deployment") }),
                ...(secrets === undefined ? {} : { secrets: secretsEntry(this.#bridge, secrets) }),
                ...(added === undefined ? {} : { program: added }),
                ...(journal === undefined ? {} : { journal: this.#bridge.addHost(journalHost(journal)) }),
            }),
        );
        return new Stack(stack, this.#bridge, () => this.#requireOpen());
    }

    /**
     * Opens the project of a folder, whose files it reads and changes. A relative path begins at the working directory.
     * @throws {NotFoundError} The folder has no `Pulumi.yaml`.
     */
    async project(folder: string): Promise<Project> {
        this.#requireOpen();
        if (typeof folder !== "string") {
            throw new InvalidInputError(`the folder of a project is a string, not ${described(folder)}`);
        }
        return new Project(await awaited(() => this.#native.project(folder)), () => this.#requireOpen());
    }

    /**
     * Updates a set of stacks as one operation.
     *
     * A stack begins when those have succeeded that it needs: those of `dependsOn`, and those that the stack references in its
     * recorded state name. A program that reads another stack of the set waits for its end. When a stack fails, those that need it
     * are skipped, and all others run. Stacks that need each other are an error, before anything runs where that is known.
     *
     * ```js
     * const network = await engine.stack("network/prod", { program: makeNetwork });
     * const shop = await engine.stack("shop/prod", { program: makeShop });
     * console.log(`${await engine.upAll([{ stack: shop, dependsOn: [network] }, network], { onOutput: console.log })}`);
     * ```
     * @param runs The stacks, or each with its program and options.
     */
    upAll(runs: readonly (Stack | StackRun)[], options: FleetCallOptions = {}): FleetOperation {
        this.#requireOpen();
        return startAll(this.#native, "up", runs, options);
    }

    /**
     * Previews the update of a set of stacks, in the order of `upAll()`. A program that reads another stack of the set gets the
     * outputs that its preview has computed, which can be unknown.
     */
    previewAll(runs: readonly (Stack | StackRun)[], options: FleetCallOptions = {}): FleetOperation {
        this.#requireOpen();
        return startAll(this.#native, "preview", runs, options);
    }

    /** Reads every resource of a set of stacks and records what is there, in the order of `upAll()`. */
    refreshAll(runs: readonly (Stack | StackRun)[], options: FleetCallOptions = {}): FleetOperation {
        this.#requireOpen();
        return startAll(this.#native, "refresh", runs, options);
    }

    /**
     * Deletes every resource of a set of stacks, in the reverse order of `upAll()`: a stack begins when all have succeeded that need
     * it. A stack whose program reads another one with a function, and so has no recorded reference, needs `dependsOn`. No stack is
     * destroyed when the recorded references of one cannot be read.
     */
    destroyAll(runs: readonly (Stack | StackRun)[], options: FleetCallOptions = {}): FleetOperation {
        this.#requireOpen();
        return startAll(this.#native, "destroy", runs, options);
    }

    /**
     * Lists the stacks of a project, or of all, in the order of their names: each with its last operation and the holder of its
     * lock. With `resourceCounts`, the resources of each stack are counted, for which its checkpoint is read.
     */
    async stacks(project?: string, options: { resourceCounts?: boolean } = {}): Promise<StackSummary[]> {
        project ??= undefined;
        if (project !== undefined && typeof project !== "string") {
            const hint = typeof project === "object" ? "; options are the second argument: stacks(undefined, { resourceCounts: true })" : "";
            throw new InvalidInputError(`the project whose stacks are listed is a string, not ${described(project)}${hint}`);
        }
        options = given(options);
        refuseUnknown("stacks()", options, { resourceCounts: true });
        checkMembers(options, { resourceCounts: flag }, "stacks()");
        const stacks = await awaited(() => this.#native.stacks(project, options.resourceCounts ?? false));
        return (JSON.parse(stacks) as StackSummary[]).map(shownAsLine);
    }

    /**
     * Returns what the engine has counted since it was made, and what runs now: operations, calls of providers and of the store, plugin
     * processes with their memory, journals, waits for locks. It is a snapshot, which does not change; counting has no cost beside an
     * addition for each call.
     *
     * ```ts
     * const { providerCalls, plugins } = engine.metrics();
     * console.log(providerCalls.files?.inFlight, plugins.map((plugin) => plugin.residentMemory));
     * ```
     */
    metrics(): Metrics {
        return JSON.parse(this.#native.metrics()) as Metrics;
    }

    /**
     * Requests the end of every operation of a run, on all hosts that use the store: of those whose option `runId` is this text, or begins
     * with it and a `/`. Each ends as after {@link Operation.cancel} as soon as it reads the mark in the store, which it does as often as
     * it renews its lease, or each second where locks are no leases; one that has not begun is refused. A second request abandons
     * running calls of providers. The mark stays until {@link forgetRun}.
     *
     * `requests` is how often the end of the run is requested at most, by this call and those before. A call that may be repeated needs
     * this, because each call without it is one request more.
     */
    async cancelRun(runId: string, options: { requests?: 1 | 2 } = {}): Promise<void> {
        this.#requireOpen();
        options = given(options);
        refuseUnknown("cancelRun()", options, { requests: true });
        const { requests } = options;
        if (requests !== undefined && requests !== 1 && requests !== 2) {
            throw new InvalidInputError(`requests is 1 or 2, not ${described(requests)}`);
        }
        await awaited(() => this.#native.cancelRun(checkedRun(runId), false, requests));
    }

    /** Removes the mark of a run that was cancelled and has ended everywhere. Does nothing when there is none. */
    async forgetRun(runId: string): Promise<void> {
        this.#requireOpen();
        await awaited(() => this.#native.cancelRun(checkedRun(runId), true));
    }

    /**
     * Lists the plugins in the engine's folder of installed plugins (`cache` of its plugins), sorted by name, kind and version: those to
     * which all members of the selection apply.
     */
    async plugins(selection: PluginSelection = {}): Promise<InstalledPlugin[]> {
        this.#requireOpen();
        return selectPlugins(this.#native, "plugins", "list", selection);
    }

    /**
     * Installs a plugin into the engine's folder of installed plugins from the archive of one of `file`, `url` and `server`; without
     * them, from the server of the engine's plugins. Of several processes that install a plugin, one does, and the others wait for it. A
     * failed download is tried five times.
     * @throws {NotFoundError} The file does not exist.
     * @throws {UnavailableError} The download fails.
     * @throws {PluginError} The archive is damaged, too large, of another checksum or without the plugin. Nothing is installed then,
     * and what was installed stays.
     */
    async installPlugin(plugin: PluginInstallation): Promise<InstalledPlugin> {
        this.#requireOpen();
        return installPlugin(this.#native, plugin);
    }

    /**
     * Removes plugins from the engine's folder of installed plugins, and returns what was removed. At least one member selects them.
     * Processes that run are not ended.
     */
    async removePlugin(selection: PluginSelection): Promise<InstalledPlugin[]> {
        this.#requireOpen();
        return selectPlugins(this.#native, "removePlugin", "remove", selection);
    }

    /**
     * Returns a command on this engine.
     *
     * @internal
     */
    command(): [Native.Command, Bridge] {
        this.#requireOpen();
        return [native.Command.onEngine(this.#native), this.#bridge];
    }

    /**
     * Cancels operations that run, whose steps have 30 seconds to complete, and then ends the plugin processes that are kept warm and the calls of a store
     * of the host. No stack is opened and no operation started after that.
     */
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

/** Refuses what cannot be a provider: a class in place of an instance above all, and members in the place of methods. */
function requireProvider(name: string, provider: unknown): void {
    if (typeof provider === "function") {
        const hint = provider.name === "" ? "" : `, new ${provider.name}()`;
        throw new InvalidInputError(`the provider of "${name}" is a class or a function; pass an instance${hint}`);
    }
    if (typeof provider !== "object" || provider === null) {
        throw new InvalidInputError(`the provider of "${name}" is no object`);
    }
    requireProviderMethods(name, provider);
}

/** Describes a host's encryption. */
function secretsEntry(bridge: Bridge, secrets: Secrets | KeyService): Native.SecretsEntry {
    const number = bridge.addHost(secretsHost(secrets, (error) => bridge.raised.ofSecrets(error)));
    if (isKeyService(secrets)) {
        return { number, kind: "cloud", url: secrets.url };
    }
    return {
        number,
        kind: secrets.kind ?? "host",
        ...(secrets.state === undefined ? {} : { state: jsonOf(secrets.state, "secrets.state") }),
    };
}

/**
 * Returns settings of plugins, with the command of dynamic providers among the commands.
 *
 * @internal
 */
export function pluginSettings(given: Plugins | undefined, sdk?: string | URL): object {
    const plugins = { ...given, ...membersOf(given ?? {}, PLUGINS_MEMBERS) };
    requireObject("plugins.commands", plugins.commands ?? undefined);
    return { ...plugins, commands: { ...dynamicProviders(sdk), ...plugins.commands } };
}

/** Returns how dynamic providers are started, when a copy of the SDK is found. */
function dynamicProviders(sdk: string | URL | undefined): { [name: string]: readonly string[] } {
    try {
        const directory = findDirectory(sdk);
        return { "pulumi-nodejs": [process.execPath, `${directory}/cmd/dynamic-provider/index.js`] };
    } catch (error) {
        // Without an SDK there are no dynamic providers. A copy that the options name must exist.
        if (sdk === undefined && error instanceof NotFoundError) {
            return {};
        }
        throw error;
    }
}
