/** The scripts of `examples/automation/node`: each runs with one changed import, and without the executable of the reference. */

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { folder } from "./support.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const scripts = join(root, "examples", "automation", "node");
const names = readdirSync(scripts).filter((name) => name.endsWith(".mjs"));

const BEFORE = 'import * as auto from "@pulumi/pulumi/automation";';
const AFTER = 'import * as auto from "stackwright/automation";';

/** The packages of scripts, whose plugins are scripted. */
const PACKAGES = ["command", "random"];
const WITH_PACKAGES = ["import_resources.mjs", "sdk_packages.mjs"];
const PLUGIN = join(root, "bindings-python", "tests", "scripted_plugin.py");

/** The folder of the archives that are published: the package, and that of the platform. Without it, the scripts run from this folder. */
const archives = process.env.STACKWRIGHT_TEST_PACKAGES && resolve(root, process.env.STACKWRIGHT_TEST_PACKAGES);

/** Unpacks the packages into a folder of modules, as npm does: each has the place that its name stands for. */
function installPackages(modules) {
    const names = readdirSync(archives).filter((name) => name.endsWith(".tgz"));
    assert.equal(names.length, 2, "there is a package, and one of the platform");
    for (const name of names) {
        const unpacked = join(modules, ".unpacked");
        mkdirSync(unpacked);
        execFileSync("tar", ["-xzf", join(archives, name), "-C", unpacked, "--strip-components", "1"]);
        const place = join(modules, JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8")).name);
        mkdirSync(dirname(place), { recursive: true });
        renameSync(unpacked, place);
    }
}

/** Makes the modules that a script imports. */
function linkModules(modules) {
    for (const module of ["@pulumi", "typescript"]) {
        symlinkSync(join(root, "node_modules", module), join(modules, module));
    }
}

/** Installs plugins in the version that each package asks for. */
function installPlugins(home, python) {
    for (const name of PACKAGES) {
        const { version } = JSON.parse(readFileSync(join(root, "node_modules", "@pulumi", name, "package.json"), "utf8"));
        const plugin = join(home, "plugins", `resource-${name}-v${version}`);
        mkdirSync(plugin, { recursive: true });
        writeFileSync(join(plugin, `pulumi-resource-${name}`), `#!/bin/sh\nexec '${python}' '${PLUGIN}' "$@"\n`, { mode: 0o755 });
    }
}

/** The modules of all scripts. */
const modules = join(mkdtempSync(join(tmpdir(), "stackwright-scripts-")), "node_modules");
mkdirSync(modules);
after(() => rmSync(dirname(modules), { recursive: true }));
if (archives === undefined) {
    assert.ok(process.env.CI === undefined, "STACKWRIGHT_TEST_PACKAGES is not set");
    symlinkSync(root, join(modules, "stackwright"));
} else {
    installPackages(modules);
}
linkModules(modules);

test("there are at least twelve scripts", () => {
    assert.ok(names.length >= 12, names.join());
});

for (const name of names) {
    test(`the script ${name} runs with its import changed`, async (t) => {
        const python = process.env.STACKWRIGHT_TEST_PYTHON;
        if (WITH_PACKAGES.includes(name) && python === undefined) {
            assert.ok(process.env.CI === undefined, "STACKWRIGHT_TEST_PYTHON is not set");
            t.skip("STACKWRIGHT_TEST_PYTHON is not set: the plugins of the packages cannot run");
            return;
        }
        const text = readFileSync(join(scripts, name), "utf8");
        assert.equal(text.split(BEFORE).length, 2);
        const path = folder(t);
        const own = join(path, "node_modules");
        mkdirSync(own);
        for (const module of readdirSync(modules)) {
            symlinkSync(join(modules, module), join(own, module));
        }
        writeFileSync(join(path, name), text.replace(BEFORE, AFTER));
        mkdirSync(join(path, "state"));
        if (WITH_PACKAGES.includes(name)) {
            installPlugins(join(path, "home"), python);
        }
        const kept = Object.entries(process.env).filter(([variable]) => !variable.startsWith("PULUMI_"));
        const env = {
            ...Object.fromEntries(kept),
            // Programs and dynamic providers are run by `node` of the search path.
            PATH: dirname(process.execPath),
            PULUMI_BACKEND_URL: `file://${path}/state`,
            PULUMI_CONFIG_PASSPHRASE: "correct horse",
            PULUMI_HOME: join(path, "home"),
            TMPDIR: path,
        };
        const ended = await promisify(execFile)(process.execPath, [join(path, name)], { cwd: path, env, timeout: 120_000 }).catch(
            (error) => error,
        );
        assert.equal(ended.code, undefined, `${ended.stdout}${ended.stderr}`);
    });
}
