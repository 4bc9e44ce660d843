/** Finds the copy of `@pulumi/pulumi` that a program uses, and its modules that a run needs. */
import { createRequire } from "node:module";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

import { InvalidInputError, NotFoundError } from "../errors";
import { attempt } from "../thrown";

/** The SDK's per-run settings, as far as they are touched. */
export interface SdkStore {
    settings: {
        options: { monitorAddr: string | undefined; rootDirectory?: string | undefined };
        monitor?: unknown;
        engine?: unknown;
        rpcDone: Promise<unknown>;
    };
    /** The functions of the program that the engine calls; the SDK makes it when it is needed first. */
    callbacks?: SdkCallbacks | undefined;
    leakCandidates: Set<unknown>;
    /** What has no parent is below it. */
    stackResource?: unknown;
    logErrorCount: number;
    terminated?: boolean;
}

/** A resource of the SDK, as far as it is touched. */
export interface SdkResource {
    urn: { promise(): Promise<string> };
}

type LogFunction = (
    message: string,
    resource?: SdkResource,
    streamId?: number,
    ephemeral?: boolean,
) => Promise<unknown>;

/** The SDK's log module: its functions are properties that all of the SDK looks up at each call. */
export interface SdkLog {
    debug: LogFunction;
    info: LogFunction;
    warn: LogFunction;
    error: LogFunction;
}

/** One method of a service, as generated code describes it. */
export interface SdkMethod {
    path: string;
    requestStream: boolean;
    responseStream: boolean;
    responseDeserialize(bytes: Uint8Array): unknown;
}

export type SdkService = { [name: string]: SdkMethod };

/** The SDK's object of the functions that the engine calls. */
export interface SdkCallbacks {
    shutdown(): void;
}

/** A copy of the SDK. */
export interface Sdk {
    readonly directory: string;
    readonly version: string;
    readonly state: {
        withLocalStorage<T>(body: () => T): T;
        getStore(): SdkStore;
        getLocalStore(): SdkStore | undefined;
        getGlobalStore(): SdkStore;
    };
    readonly settings: {
        resetOptions(
            project: string,
            stack: string,
            parallel: number,
            engineAddress: string,
            monitorAddress: string,
            preview: boolean,
            organization: string,
        ): void;
        disconnect(signalShutdown: boolean): Promise<void>;
    };
    readonly stack: { runInPulumiStack(program: () => unknown): Promise<unknown> };
    readonly config: {
        setAllConfig(config: { readonly [name: string]: string }, secretKeys: readonly string[]): void;
    };
    readonly log: SdkLog;
    /** The module of outputs; `secret` of an SDK that has it elsewhere is absent. */
    readonly outputs: { secret?: (value: unknown) => unknown; Output?: new (...made: never[]) => object };
    /** The module that programs import: its `secret` is a copy. */
    readonly index: { secret?: (value: unknown) => unknown };
    /** The module of the functions that the engine calls; the class of an SDK that has it elsewhere is absent. */
    readonly callbacks: { CallbackServer?: { prototype: SdkCallbacks } };
    readonly monitorService: SdkService;
    readonly engineService: SdkService;
}

const NAME = "@pulumi/pulumi";
const loaded = new Map<string, Sdk>();

/**
 * Returns the copy that `from` names: a directory or file of the package itself, or one from which it is resolved.
 * Without `from` it is the copy that the process's main module resolves, else the only one that is loaded already.
 */
export function findSdk(from?: string | URL): Sdk {
    const directory = findDirectory(from);
    let sdk = loaded.get(directory);
    if (sdk === undefined) {
        sdk = load(directory);
        loaded.set(directory, sdk);
    }
    return sdk;
}

/** Returns the directory of the copy, or throws a `NotFoundError`. */
export function findDirectory(from?: string | URL): string {
    const start = from === undefined ? mainModule() : from instanceof URL ? fileURLToPath(from) : from;
    if (start !== undefined) {
        const absolute = start.startsWith("file:") ? fileURLToPath(start) : start;
        if (!path.isAbsolute(absolute)) {
            throw new InvalidInputError(`sdk: expected an absolute path, got ${absolute}`);
        }
        const own = containing(absolute);
        if (own !== undefined) {
            return own;
        }
        // A name that need not exist: resolution starts in its directory, so this works for files and directories.
        for (const base of [absolute, path.join(absolute, "package.json")]) {
            try {
                return path.dirname(createRequire(base).resolve(`${NAME}/package.json`));
            } catch {
                // The next base, or the loaded copies.
            }
        }
    }
    if (from === undefined) {
        const copies = loadedCopies();
        if (copies.length === 1) {
            return copies[0] as string;
        }
    }
    throw new NotFoundError(`${NAME} cannot be found${start === undefined ? "" : ` from ${start}`}`, {
        hints: [`install ${NAME} beside the program, or say where it is with the option "sdk"`],
    });
}

function mainModule(): string | undefined {
    const main = process.argv[1];
    return require.main?.filename ?? (main !== undefined && path.isAbsolute(main) ? main : undefined);
}

/** Returns the package's directory when a path is in it. */
function containing(file: string): string | undefined {
    const part = path.join(path.sep, ...NAME.split("/"));
    const at = `${file}${path.sep}`.lastIndexOf(`${part}${path.sep}`);
    return at < 0 ? undefined : file.slice(0, at + part.length);
}

function loadedCopies(): string[] {
    const ending = path.join(path.sep, ...NAME.split("/"), "index.js");
    return Object.keys(require.cache)
        .filter((file) => file.endsWith(ending))
        .map((file) => path.dirname(file));
}

function load(directory: string): Sdk {
    const part = (name: string): unknown => require(path.join(directory, name));
    const { version } = part("package.json") as { version: string };
    const state = part("runtime/state.js") as Sdk["state"];
    const settings = part("runtime/settings.js") as Sdk["settings"];
    const stack = part("runtime/stack.js") as Sdk["stack"];
    const config = part("runtime/config.js") as Sdk["config"];
    const log = part("log/index.js") as SdkLog;
    const outputs = part("output.js") as Sdk["outputs"];
    const index = part("index.js") as Sdk["index"];
    const callbacks = attempt(() => part("runtime/callbacks.js"), {}) as Sdk["callbacks"];
    const { ResourceMonitorService } = part("proto/resource_grpc_pb.js") as { ResourceMonitorService?: SdkService };
    const { EngineService } = part("proto/engine_grpc_pb.js") as { EngineService?: SdkService };
    // These modules are not the SDK's public interface, so a new version may have changed them.
    const needed: [string, unknown][] = [
        ["runtime/state withLocalStorage", state.withLocalStorage],
        ["runtime/state getStore", state.getStore],
        ["runtime/state getLocalStore", state.getLocalStore],
        ["runtime/state getGlobalStore", state.getGlobalStore],
        ["runtime/settings resetOptions", settings.resetOptions],
        ["runtime/settings disconnect", settings.disconnect],
        ["runtime/stack runInPulumiStack", stack.runInPulumiStack],
        ["runtime/config setAllConfig", config.setAllConfig],
        ["log error", log.error],
        ["proto/resource_grpc_pb registerResource", ResourceMonitorService?.["registerResource"]?.responseDeserialize],
        ["proto/engine_grpc_pb log", EngineService?.["log"]?.responseDeserialize],
    ];
    const missing = needed.filter(([, found]) => typeof found !== "function").map(([name]) => name);
    if (missing.length !== 0 || ResourceMonitorService === undefined || EngineService === undefined) {
        throw new InvalidInputError(`${NAME} ${version} cannot be used: it has no ${missing.join(", ")}`);
    }
    return {
        directory,
        version,
        state,
        settings,
        stack,
        config,
        log,
        outputs,
        index,
        callbacks,
        monitorService: ResourceMonitorService,
        engineService: EngineService,
    };
}
