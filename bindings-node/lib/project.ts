/** A project: a folder with a file `Pulumi.yaml`, and the settings files of its stacks. */
import { checkMembers, type Checks, flag, where } from "./checks";
import type { ConfigEntry, ProjectFacts, StackFile } from "./documents";
import type { ConfigValue } from "./engine";
import { awaited, guarded, InvalidInputError } from "./errors";
import { inspectAs } from "./inspection";
import { jsonOf } from "./json";
import type { Native } from "./native";
import { described, given, refuseUnknown, requireObject } from "./options";

/** Options of calls that read a stack's configuration. */
export interface ConfigReadOptions {
    /** It takes the place of the engine's. */
    passphrase?: string;
}

/** Options of `Project.listConfig()`. */
export interface ConfigListOptions extends ConfigReadOptions {
    /** Whether secrets are decrypted; otherwise their values are left out. */
    showSecrets?: boolean;
}

/** Options of calls that change a stack's configuration. */
export interface ConfigChangeOptions extends ConfigReadOptions {
    /**
     * Whether the values are encrypted. Left out, those are that are a `Secret` or hold one, and those of keys that the project
     * declares as secret.
     */
    secret?: boolean;
}

const READ_CHECKS: Checks = {
    passphrase: where((value) => typeof value === "string" && value !== "", "a string that is not empty"),
};
const LIST_CHECKS: Checks = { ...READ_CHECKS, showSecrets: flag };
const CHANGE_CHECKS: Checks = { ...READ_CHECKS, secret: flag };

/**
 * A project, bound to an engine; `engine.project()` opens it.
 *
 * Its files are read again by each call. A call that writes changes only what it names: the rest of the file keeps its bytes, with
 * comments and order.
 */
export class Project {
    readonly #native: Native.Project;
    /** Throws once the engine has been closed. */
    readonly #requireOpen: () => void;

    /** @internal */
    constructor(project: Native.Project, requireOpen: () => void) {
        this.#native = project;
        this.#requireOpen = requireOpen;
    }

    static {
        inspectAs(this, (project) => project.folder);
    }

    /** The folder, as an absolute path. */
    get folder(): string {
        return this.#native.folder;
    }

    /** Reads the project file. */
    async facts(): Promise<ProjectFacts> {
        this.#requireOpen();
        return JSON.parse(await awaited(() => this.#native.facts())) as ProjectFacts;
    }

    /**
     * Sets the value at a path of the project file: `description`, `template.config.region`, `config.size.default`. The value is
     * what JSON can have. A change after which the file would be no project file is refused.
     */
    async set(path: string, value: unknown): Promise<void> {
        this.#requireOpen();
        requireText("path", path);
        if (value === undefined || typeof value === "function" || typeof value === "symbol") {
            throw new InvalidInputError(`value takes what JSON can have, not ${described(value)}`);
        }
        const encoded = jsonOf(value, "value");
        return awaited(() => this.#native.set(path, encoded));
    }

    /** Removes the value at a path of the project file, and returns whether there was one. */
    async remove(path: string): Promise<boolean> {
        this.#requireOpen();
        requireText("path", path);
        return awaited(() => this.#native.remove(path));
    }

    /** Reads the settings file of a stack, named with or without the project, apart from its configuration. A missing file is empty. */
    async settings(stack: string): Promise<StackFile> {
        this.#requireOpen();
        requireText("stack", stack);
        return JSON.parse(await awaited(() => this.#native.settings(stack))) as StackFile;
    }

    /**
     * Returns the value at a path of a stack's configuration, decrypted; the default of a declared key counts.
     * @param path A key, or a path in its structure: `size`, `aws:tags["a"].b[0]`. Keys without a namespace are the project's own.
     * @throws {NotFoundError} There is no value.
     */
    async getConfig(stack: string, path: string, options: ConfigReadOptions = {}): Promise<ConfigEntry> {
        this.#requireOpen();
        requireText("stack", stack);
        requireText("path", path);
        const { passphrase } = checked("getConfig()", options, READ_CHECKS);
        return JSON.parse(await awaited(() => this.#native.getConfig(stack, path, passphrase))) as ConfigEntry;
    }

    /** Returns a stack's configuration by key, with the defaults of declared keys. */
    async listConfig(stack: string, options: ConfigListOptions = {}): Promise<{ [key: string]: ConfigEntry }> {
        this.#requireOpen();
        requireText("stack", stack);
        const { passphrase, showSecrets } = checked("listConfig()", options, LIST_CHECKS);
        const entries = await awaited(() => this.#native.listConfig(stack, showSecrets ?? false, passphrase));
        return JSON.parse(entries) as { [key: string]: ConfigEntry };
    }

    /** Sets the value at a path of a stack's configuration, as `setAllConfig()` does. */
    async setConfig(stack: string, path: string, value: ConfigValue, options: ConfigChangeOptions = {}): Promise<void> {
        requireText("path", path);
        return this.#change("setConfig()", stack, { [path]: value }, options);
    }

    /**
     * Sets values at paths of a stack's configuration, in one write. Secrets are encrypted with the salt of the file; a first one
     * gets that of the stack's state, or a new one.
     */
    async setAllConfig(
        stack: string,
        values: { readonly [path: string]: ConfigValue },
        options: ConfigChangeOptions = {},
    ): Promise<void> {
        return this.#change("setAllConfig()", stack, values, options);
    }

    /** Removes the values at paths of a stack's configuration, in one write, and returns how many there were. */
    async removeConfig(stack: string, paths: string | readonly string[]): Promise<number> {
        this.#requireOpen();
        requireText("stack", stack);
        const listed: unknown = typeof paths === "string" ? [paths] : paths;
        if (!Array.isArray(listed)) {
            throw new InvalidInputError(`paths takes a path or an array of paths, not ${described(paths)}`);
        }
        listed.forEach((path) => requireText("a path", path));
        return awaited(() => this.#native.removeConfig(stack, listed as string[]));
    }

    async #change(
        called: string,
        stack: string,
        values: { readonly [path: string]: ConfigValue },
        options: ConfigChangeOptions,
    ): Promise<void> {
        this.#requireOpen();
        requireText("stack", stack);
        requireObject("values", values);
        const { secret, passphrase } = checked(called, options, CHANGE_CHECKS);
        const valueless = Object.entries(values).find(([, value]) => value === undefined);
        if (valueless !== undefined) {
            throw new InvalidInputError(`configuration ${valueless[0]}: undefined is no value; removeConfig() removes one`);
        }
        const changes = guarded(() => this.#native.changes(values));
        return awaited(() => this.#native.setConfig(stack, changes, secret, passphrase));
    }

    toString(): string {
        return `the project in ${this.folder}`;
    }
}

/** Returns the options of a call without those that are null, and refuses unknown and wrong ones. */
function checked<T extends object>(called: string, options: T, checks: Checks): T {
    options = given(options);
    refuseUnknown(called, options, checks);
    checkMembers(options, checks, called);
    const entries = Object.entries(options) as [string, unknown][];
    return Object.fromEntries(entries.filter(([, value]) => value !== null)) as T;
}

/** Refuses what is no text. */
function requireText(what: string, value: unknown): void {
    if (typeof value !== "string") {
        throw new InvalidInputError(`${what} takes a string, not ${described(value)}`);
    }
}
