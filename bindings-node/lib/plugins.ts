/** The installed plugins of an engine, and the usual settings of plugins. */
import type {
    InstalledPlugin,
    PluginInstallation as Installation,
    PluginProgress,
    PluginSelection,
    Plugins as Settings,
} from "./documents";
import { anything, checkMembers, type Checks, where } from "./checks";
import { awaited } from "./errors";
import { jsonOfMembers } from "./json";
import type { Native } from "./native";
import { given, refuseUnknown, requireOptions } from "./options";

/** Where plugins are searched, and which processes are kept. */
export type Plugins = Settings;

export const Plugins = {
    /**
     * Returns settings that find what the reference engine's command finds: plugins on `PATH`, and those that it has installed. Others
     * can be added: `{ ...Plugins.default(), download: true }`.
     */
    default: (): Plugins => ({ fromEnvironment: true }),
};

/** A plugin to install. */
export type PluginInstallation = Installation & {
    /** Is called with the progress. */
    onProgress?: (progress: PluginProgress) => void;
};

const SELECTION: Checks = { kind: anything, name: anything, versions: anything };
const LISTENER = where((value) => typeof value === "function", "a function");
const INSTALLATION: Checks = {
    kind: anything,
    name: anything,
    version: anything,
    file: anything,
    url: anything,
    server: anything,
    checksum: anything,
    reinstall: anything,
    onProgress: LISTENER,
};

/**
 * Lists or removes plugins; `called` names the method in errors.
 *
 * @internal
 */
export async function selectPlugins(
    native: Native.Engine,
    called: string,
    request: "list" | "remove",
    selection: PluginSelection,
): Promise<InstalledPlugin[]> {
    selection = given(selection);
    requireOptions(`${called}()`, selection);
    refuseUnknown(`${called}()`, selection, SELECTION);
    const { kind, name, versions } = selection;
    const document = jsonOfMembers({ [request]: { kind, name, versions } });
    return JSON.parse(await answered(native, document, `${called}()`)) as InstalledPlugin[];
}

/**
 * Installs a plugin. What `onProgress` throws first is thrown at the end of the installation.
 *
 * @internal
 */
export async function installPlugin(native: Native.Engine, plugin: PluginInstallation): Promise<InstalledPlugin> {
    plugin = given(plugin);
    requireOptions("installPlugin()", plugin);
    refuseUnknown("installPlugin()", plugin, INSTALLATION);
    checkMembers(plugin, { onProgress: LISTENER }, "installPlugin()");
    const { onProgress, kind, name, version, file, url, server, checksum, reinstall } = plugin;
    const install = { kind, name, version, file, url, server, checksum, reinstall };
    const thrown: unknown[] = [];
    const answer = await answered(native, jsonOfMembers({ install }), "installPlugin()", (text) => {
        if (onProgress !== undefined && thrown.length === 0) {
            try {
                onProgress(JSON.parse(text) as PluginProgress);
            } catch (error) {
                thrown.push(error);
            }
        }
    });
    if (thrown.length > 0) {
        throw thrown[0];
    }
    return JSON.parse(answer) as InstalledPlugin;
}

async function answered(
    native: Native.Engine,
    document: string,
    subject: string,
    progress: (text: string) => void = () => {},
): Promise<string> {
    const messages = native.plugins(document, subject);
    for (;;) {
        const message = await awaited(() => messages.next());
        if (message.answer !== undefined) {
            return message.answer;
        }
        progress(message.progress ?? "{}");
    }
}
