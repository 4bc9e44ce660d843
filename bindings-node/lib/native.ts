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
    try {
        return require(`stackwright-${name}`) as typeof Native;
    } catch (error) {
        throw new Error(
            `stackwright has no native module for ${name}: build it from source, or install stackwright-${name}`,
            { cause: error },
        );
    }
}

/** @internal */
export const native: typeof Native = load();
export type { Native };
