/**
 * Builds the native module: `node bindings-node/build.mjs [--release]`. It is compiled in the workspace's own target directory, so that
 * it shares what the other crates have compiled; the typed exports come from the types that `napi-derive` notes while it compiles.
 */
import { generateTypeDef } from "@napi-rs/cli";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const release = process.argv.includes("--release");
const cargo = process.env.CARGO ?? "cargo";

const metadata = execFileSync(cargo, ["metadata", "--no-deps", "--format-version", "1"], {
    cwd: here,
    encoding: "utf8",
    maxBuffer: 1 << 26,
});
const built = path.join(JSON.parse(metadata).target_directory, release ? "release" : "debug");
// Lies beside the compiled module: both are removed together.
const typeDefDir = path.join(built, "napi-types");
mkdirSync(typeDefDir, { recursive: true });

const compiled = spawnSync(cargo, ["build", "--package", "stackwright-node", ...(release ? ["--release"] : [])], {
    cwd: here,
    env: { ...process.env, NAPI_TYPE_DEF_TMP_FOLDER: typeDefDir },
    stdio: "inherit",
});
if (compiled.status !== 0) {
    process.exit(compiled.status ?? 1);
}

/** Replaces a file at once: a process that has loaded the former one keeps it. */
function replace(target, write) {
    const temporary = `${target}.${process.pid}`;
    write(temporary);
    renameSync(temporary, target);
}

const glibc = process.platform === "linux" && process.report.getReport().header.glibcVersionRuntime !== undefined;
const abi = process.platform === "linux" ? (glibc ? "-gnu" : "-musl") : "";
replace(path.join(here, `stackwright.${process.platform}-${process.arch}${abi}.node`), (file) => copyFileSync(path.join(built, "libstackwright_node.so"), file));
const { dts } = await generateTypeDef({ typeDefDir, cwd: here });
replace(path.join(here, "native.d.ts"), (file) => writeFileSync(file, dts));
