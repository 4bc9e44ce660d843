/** Loads the native module of this platform: it lies beside this folder, or in a package of its own. */
import type * as Native from "../native";

/** The triple in the file's name. */
function triple(): string {
    const { platform, arch } = process;
    if (platform === "linux") {
        const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
        return `linux-${arch}-${report?.header?.glibcVersionRuntime === undefined ? "musl" : "gnu"}`;
    }
    return platform === "win32" ? `win32-${arch}-msvc` : `${platform}-${arch}`;
}

function load(): typeof Native {
    const name = triple();
    try {
        return require(`../stackwright.${name}.node`) as typeof Native;
    } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") {
            throw error;
        }
    }
    const platform = `@stackwright/${name}`;
    try {
        return require(platform) as typeof Native;
    } catch (error) {
        // npm leaves optional packages out where it is asked to, and where a lock file of another platform lacks them.
        const reason =
            (error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND"
                ? `the package ${platform} is not installed: install it in the version of stackwright, or build from source`
                : `${platform} cannot be loaded`;
        throw new Error(`stackwright has no native module for ${name}: ${reason}`, { cause: error });
    }
}

/** @internal */
export const native: typeof Native = load();
export type { Native };
