/** Installers: the host's installation of missing plugins. */
import { InvalidInputError } from "./errors";
import { answerOf, type HostObject } from "./host";
import { described, type Names, refuseUnknown, requireFunction } from "./options";
import type { ResolutionRequest } from "./provider";

type Answer<T> = T | PromiseLike<T>;

/**
 * Installs plugins. Each method is optional and may return a promise.
 *
 * It is called for plugins that neither `providers`, `resolver` nor the folders of `plugins` provide: `isInstalled`, then
 * `latestVersion` when no version is wanted, then `install`. Then the engine searches again. There is one call at a time for each
 * plugin, also when several resources and operations need it; calls for different plugins are concurrent. An exception fails
 * the operations that need the plugin, with its text unchanged. `signal` is aborted when no caller waits for the plugin.
 */
export interface PluginInstaller {
    /** Returns whether a plugin is installed, in any version when none is wanted. */
    isInstalled?(plugin: ResolutionRequest, signal: AbortSignal): Answer<boolean>;
    /** Returns the latest version of a plugin; `undefined` and `null` leave the choice to `install`. */
    latestVersion?(plugin: ResolutionRequest, signal: AbortSignal): Answer<string | null | undefined | void>;
    /**
     * Puts a plugin where the engine looks for it: its executable `pulumi-resource-NAME` into one of the folders of
     * `plugins`, or into `resource-NAME-vVERSION` in its `cache`. Returns `false` for what is not to be installed, which then
     * is missing.
     */
    install?(plugin: ResolutionRequest, signal: AbortSignal): Answer<boolean | null | undefined | void>;
}

const METHODS: Names<PluginInstaller> = { isInstalled: true, latestVersion: true, install: true };

/** Refuses values that are no installer; `undefined` is accepted. */
export function requireInstaller(installer: PluginInstaller | undefined): void {
    if (installer === undefined) {
        return;
    }
    if (typeof installer !== "object" || installer === null) {
        throw new InvalidInputError(`installer is an object, not ${described(installer)}`);
    }
    refuseUnknown("an installer", Object.getPrototypeOf(installer) === Object.prototype ? installer : {}, METHODS, "method");
    const names = Object.keys(METHODS) as (keyof PluginInstaller)[];
    names.forEach((name) => requireFunction(`${name} of the installer`, installer[name]));
    if (names.every((name) => installer[name] === undefined)) {
        throw new InvalidInputError(`installer has none of the methods ${names.join(", ")}`);
    }
}

/**
 * Makes an object that installs plugins.
 * @internal
 */
export function installerHost(installer: PluginInstaller): HostObject {
    return {
        isInstalled: (plugin, signal) =>
            answerOf(async () => {
                const answer = (await installer.isInstalled?.(plugin, signal)) ?? false;
                return { yes: truth("isInstalled", answer) };
            }),
        latestVersion: (plugin, signal) =>
            answerOf(async () => {
                const version = (await installer.latestVersion?.(plugin, signal)) ?? undefined;
                if (version !== undefined && typeof version !== "string") {
                    throw new InvalidInputError(`latestVersion of the installer returns a text, not ${described(version)}`);
                }
                return { version };
            }),
        install: (plugin, signal) =>
            answerOf(async () => {
                if (installer.install === undefined) {
                    return { yes: false };
                }
                return { yes: truth("install", (await installer.install(plugin, signal)) ?? true) };
            }),
    };
}

function truth(method: string, answer: unknown): boolean {
    if (typeof answer !== "boolean") {
        throw new InvalidInputError(`${method} of the installer returns a boolean, not ${described(answer)}`);
    }
    return answer;
}
