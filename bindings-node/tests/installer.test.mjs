/** Installers: the host installs plugins on demand. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { Engine, InvalidInputError } from "stackwright";

import { failureOf, folder, goBuild } from "./support.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const executable = path.join(root, "build", "plugins", "pulumi-resource-gofiles");

before(() => goBuild("go-provider", executable));

/** Links the plugin into a cache, as `resource-gofiles-v1.2.3` or without a version. */
function put(cache, { name, version }) {
    const place = path.join(cache, `resource-${name}${version === undefined ? "" : `-v${version}`}`);
    fs.mkdirSync(place, { recursive: true });
    fs.symlinkSync(executable, path.join(place, path.basename(executable)));
}

const file = (place) => (context) => void context.resource("gofiles:index:File", "file", { path: place, content: "hello\n" });

test("a plugin is installed on demand, once for all its resources", async (context) => {
    const directory = folder(context);
    const cache = path.join(directory, "plugins");
    const asked = [];
    const installer = {
        isInstalled: ({ kind, name, version }) => {
            asked.push(`installed? ${kind} ${name} ${version}`);
            return false;
        },
        latestVersion: async ({ name }) => {
            asked.push(`latest ${name}`);
            return "v1.2.3";
        },
        install: async (plugin, signal) => {
            asked.push(`install ${plugin.name} ${plugin.version}`);
            await new Promise((resolve) => setImmediate(resolve));
            assert.equal(signal.aborted, false);
            put(cache, plugin);
        },
    };
    const engine = new Engine({ store: "memory://", plugins: { cache }, installer });
    const stack = await engine.stack("shop/dev", {
        program: (run) => {
            for (let number = 0; number < 10; number++) {
                const inputs = { path: path.join(directory, `${number}.txt`), content: "hello\n" };
                const options = number % 2 ? { provider: run.provider("gofiles", `explicit-${number}`, {}) } : {};
                run.resource("gofiles:index:File", `file-${number}`, inputs, options);
            }
        },
    });
    await stack.up();
    assert.equal(fs.readFileSync(path.join(directory, "9.txt"), "utf8"), "hello\n");
    assert.deepEqual(asked, ["installed? resource gofiles undefined", "latest gofiles", "install gofiles 1.2.3"]);
    await stack.destroy();
    assert.ok(!fs.existsSync(path.join(directory, "9.txt")));
    await engine.close();
});

test("plugins of recorded providers are installed beforehand, unless that is skipped", async (context) => {
    const directory = folder(context);
    const store = `file://${directory}/state`;
    const first = new Engine({ store, plugins: { directories: [path.dirname(executable)] } });
    await (await first.stack("shop/dev", { program: file(path.join(directory, "a.txt")) })).up();
    await first.close();
    const asked = [];
    const engine = new Engine({ store, installer: { install: ({ name }) => (asked.push(name), false) } });
    const stack = await engine.stack("shop/dev");
    for (const [skipPluginPreInstall, times] of [[false, 2], [true, 1]]) {
        const error = await failureOf(stack.refresh({ skipPluginPreInstall }));
        assert.match(error.message, /the resource plugin `gofiles` was not found/);
        assert.deepEqual(asked, Array(times).fill("gofiles"));
        asked.length = 0;
    }
    await engine.close();
});

test("errors keep the message of an installer's error and name what an installer omits", async () => {
    const cases = [
        [{ isInstalled: () => Promise.reject(new Error("The Mirror is down! {} %s")) }, "The Mirror is down! {} %s"],
        [
            { latestVersion: () => "2.0.0", install: () => {} },
            "the resource plugin 'gofiles' at version v2.0.0 was installed by the host, but is not where the engine looks for plugins:",
        ],
        [{ latestVersion: () => "newest" }, "the latest version of the resource plugin 'gofiles' is \"newest\", which is no version"],
        [{ isInstalled: () => "yes" }, "isInstalled of the installer returns a boolean"],
    ];
    for (const [installer, expected] of cases) {
        const engine = new Engine({ store: "memory://", installer });
        const stack = await engine.stack("shop/dev", { program: file("/nowhere") });
        const error = await failureOf(stack.up());
        assert.ok(error.message.includes(expected), error.message);
        await engine.close();
    }
});

test("a second cancellation aborts a running installation and does not wait for it", async () => {
    let begin;
    const begun = new Promise((resolve) => (begin = resolve));
    const installer = {
        install: (plugin, signal) => {
            // In an object: `resolve` would wait for a promise.
            begin({ aborted: new Promise((resolve) => signal.addEventListener("abort", resolve)) });
            return new Promise(() => {});
        },
    };
    const engine = new Engine({ store: "memory://", installer });
    const stack = await engine.stack("shop/dev", { program: file("/nowhere") });
    const operation = stack.up();
    const { aborted } = await begun;
    operation.cancel();
    operation.cancel();
    assert.equal((await failureOf(operation)).kind, "cancelled");
    await aborted;
    await engine.close();
});

test("invalid installers are refused", () => {
    for (const [installer, pattern] of [
        [{}, /none of the methods isInstalled, latestVersion, install/],
        [{ instal: () => {} }, /did you mean "install"/],
        [() => {}, /installer is an object/],
        [{ install: "yes" }, /install of the installer is a function/],
    ]) {
        assert.throws(() => new Engine({ store: "memory://", installer }), (error) => {
            return error instanceof InvalidInputError && pattern.test(error.message);
        });
    }
});
