/** The package under test: where `make` runs the tests, it is the one that npm has installed from the packed archives. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import * as stackwright from "stackwright";

import { fileOf, packageFolder, root } from "./package.mjs";

const require = createRequire(import.meta.url);

/** The folder of the packed archives. Without it, the tests use the working tree. */
const archives = process.env.STACKWRIGHT_TEST_PACKAGES;

const modules = path.join(root, "node_modules");
/** The files of native modules that this process has loaded. */
const loaded = () => Object.keys(require.cache).filter((file) => file.endsWith(".node") && path.basename(file).startsWith("stackwright."));

test("in CI, the package under test is installed", () => {
    assert.ok(process.env.CI === undefined || archives, "STACKWRIGHT_TEST_PACKAGES is not set");
});

test("each export of the package is a module of the package under test", () => {
    const expected = archives ? path.join(modules, "stackwright") : root;
    assert.equal(packageFolder, expected);
    for (const name of ["stackwright", "stackwright/automation", "stackwright/testing"]) {
        for (const file of [fileURLToPath(import.meta.resolve(name)), require.resolve(name)]) {
            assert.equal(fs.realpathSync(file), file);
            assert.ok(file.startsWith(path.join(expected, "bindings-node") + path.sep), file);
        }
    }
    assert.ok(stackwright.version);
    assert.equal(loaded().length, 1, String(loaded()));
    const native = archives ? path.join(modules, "@stackwright") : path.join(root, "bindings-node");
    assert.ok(loaded()[0].startsWith(native + path.sep), loaded()[0]);
});

test("what is installed is packed in the archives: the package, and that of the platform", { skip: !archives }, () => {
    const names = fs.readdirSync(archives).filter((name) => name.endsWith(".tgz"));
    const packed = names.map((name) => `sha512-${createHash("sha512").update(fs.readFileSync(path.join(archives, name))).digest("base64")}`);
    assert.equal(packed.length, 2, String(names));
    const { packages } = JSON.parse(fs.readFileSync(path.join(modules, ".package-lock.json"), "utf8"));
    const platform = path.relative(root, path.dirname(loaded()[0]));
    const installed = ["node_modules/stackwright", platform].map((place) => packages[place].integrity);
    assert.deepEqual(installed.sort(), packed.sort());
    assert.ok(fs.readdirSync(path.join(packageFolder, "bindings-node")).every((name) => !name.endsWith(".node")));
    assert.equal(fs.realpathSync(path.join(modules, ".bin", "stackwright")), fileOf("bin.js"));
});

test("no test imports a module of the working tree by its path", () => {
    const folder = import.meta.dirname;
    for (const name of fs.readdirSync(folder).filter((name) => /\.(mjs|ts)$/.test(name))) {
        const text = fs.readFileSync(path.join(folder, name), "utf8");
        assert.doesNotMatch(text, /\.\.["'`, /]+(?:index\.|dist\b|native\b)/, name);
    }
});
