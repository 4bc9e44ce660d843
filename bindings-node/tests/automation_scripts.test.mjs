/** The scripts of `examples/automation/node`: each runs with one changed import, and without the executable of the reference. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { packageFolder, root } from "./package.mjs";
import { folder } from "./support.mjs";

const scripts = join(root, "examples", "automation", "node");
const names = readdirSync(scripts).filter((name) => name.endsWith(".mjs"));

const BEFORE = 'import * as auto from "@pulumi/pulumi/automation";';
const AFTER = 'import * as auto from "stackwright/automation";';

/** The packages of scripts, whose plugins are scripted. */
const PACKAGES = ["command", "random"];
const WITH_PACKAGES = ["import_resources.mjs", "sdk_packages.mjs"];
const PLUGIN = join(root, "bindings-python", "tests", "scripted_plugin.py");

/** Installs plugins in the version that each package asks for. */
function installPlugins(home, python) {
    for (const name of PACKAGES) {
        const { version } = JSON.parse(readFileSync(join(root, "node_modules", "@pulumi", name, "package.json"), "utf8"));
        const plugin = join(home, "plugins", `resource-${name}-v${version}`);
        mkdirSync(plugin, { recursive: true });
        writeFileSync(join(plugin, `pulumi-resource-${name}`), `#!/bin/sh\nexec '${python}' '${PLUGIN}' "$@"\n`, { mode: 0o755 });
    }
}

/** The modules that scripts import: the package under test, and those that a user installs beside it. */
const modules = {
    stackwright: packageFolder,
    "@pulumi": join(root, "node_modules", "@pulumi"),
    typescript: join(root, "node_modules", "typescript"),
};

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
        for (const [module, place] of Object.entries(modules)) {
            symlinkSync(place, join(own, module));
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
