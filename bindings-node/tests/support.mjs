/** Shared by the tests: an engine and a provider in memory, and helpers. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

import { Engine } from "stackwright";

/** A provider whose resources are entries of a map. */
export class Memory {
    constructor(hooks = {}) {
        this.hooks = hooks;
        this.things = new Map();
        this.calls = [];
        this.next = 1;
    }

    async check(request) {
        this.calls.push(`check ${request.name}`);
        await this.hooks.check?.(request);
        if (request.inputs.bad !== undefined) {
            return { failures: [{ property: "bad", reason: "must not be set" }] };
        }
        return undefined;
    }

    async create(request, signal) {
        this.calls.push(`create ${request.name}`);
        await this.hooks.create?.(request, signal);
        const id = `${request.name}-${this.next++}`;
        const outputs = { ...request.inputs, size: String(request.inputs.content ?? "").length };
        this.things.set(id, outputs);
        return { id, outputs };
    }

    async read(request) {
        const outputs = this.things.get(request.id);
        return outputs === undefined ? undefined : { id: request.id, inputs: request.inputs, outputs };
    }

    async update(request) {
        this.calls.push(`update ${request.name}`);
        const outputs = { ...request.inputs, size: String(request.inputs.content ?? "").length };
        this.things.set(request.id, outputs);
        return { outputs };
    }

    async delete(request) {
        this.calls.push(`delete ${request.name}`);
        this.things.delete(request.id);
    }

    invoke({ token, arguments: given }) {
        if (token !== "mem:index:double") {
            throw new Error(`unknown function ${token}`);
        }
        return { result: { doubled: given.x * 2 } };
    }
}

/** Makes an engine in memory with a provider of the package `mem`. */
export function memoryEngine(provider = new Memory(), options = {}) {
    return new Engine({ store: "memory://", passphrase: "test", providers: { mem: provider }, ...options });
}

/** Makes a temporary folder, removed at the end of the test. */
export function folder(test) {
    const made = fs.mkdtempSync(path.join(os.tmpdir(), "stackwright-"));
    test.after(() => fs.rmSync(made, { recursive: true, force: true }));
    return made;
}

/** Collects the events of an operation. */
export async function eventsOf(operation) {
    const events = [];
    for await (const event of operation.events()) {
        events.push(event);
    }
    return events;
}

/** Returns the error that a promise is rejected with; throws if it is fulfilled. */
export async function failureOf(promise) {
    let value;
    try {
        value = await promise;
    } catch (error) {
        return error;
    }
    throw new Error(`expected a failure, got ${value}`);
}

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const testkit = path.join(root, "testkit");
/** The interpreter of plugins in Python. */
export const pythonOfPlugins = process.env.STACKWRIGHT_TEST_PYTHON ?? path.join(root, ".venv", "bin", "python");
const gobox = path.join(root, "target", "testkit", "pulumi-resource-gobox");
const goboxNewest = `${gobox}-newest`;

/** Why tests with a plugin in Python are skipped, or false. In CI, where everything is installed, a missing Python fails them. */
export const noPythonPlugin = !process.env.CI && !fs.existsSync(pythonOfPlugins) && `there is no ${pythonOfPlugins}`;

/** The command of the component plugin in TypeScript, whose host checks its types: two seconds of the processor at each start. */
export const checkedTsbox = [
    process.execPath,
    path.join(root, "node_modules/@pulumi/pulumi/cmd/run-plugin/index.js"),
    path.join(testkit, "node-component"),
];

/**
 * Plugins with one process for all tests of a file, to which engines attach (`served`): the host for TypeScript takes two seconds of the processor to
 * start, and serves any number of engines one after the other.
 */
const addresses = new Map();

/** Makes the plugin of a command one with one process for all tests of a file. */
export function shared(command) {
    addresses.set(command, undefined);
    return command;
}

/** Starts the process of a shared plugin; resolves to its address. The address of the engine is given by each engine that attaches. */
async function start([program, ...given]) {
    const host = spawn(program, [...given, "127.0.0.1:1"], { stdio: ["ignore", "pipe", "ignore"] });
    process.on("exit", () => host.kill("SIGKILL"));
    const [line] = await once(host.stdout.setEncoding("utf8"), "data");
    host.stdout.resume().unref();
    host.unref();
    return `127.0.0.1:${line.trim()}`;
}

/** The options of an engine that attaches to shared plugins, and starts the other ones. */
export function served(commands) {
    const started = Object.entries(commands).filter(([, command]) => !addresses.has(command));
    const resolver = async ({ name }) => {
        const command = commands[name];
        if (!addresses.has(command)) return undefined;
        addresses.set(command, addresses.get(command) ?? start(command));
        return await addresses.get(command);
    };
    return { plugins: { commands: Object.fromEntries(started) }, resolver };
}

/** The commands of component plugins in three languages; the types of that in TypeScript are not checked. */
export const componentPlugins = {
    pybox: [pythonOfPlugins, "-u", path.join(testkit, "python-component")],
    tsbox: shared(["env", "TS_NODE_TRANSPILE_ONLY=true", ...checkedTsbox]),
    gobox: [gobox],
};

/** The name of the component plugin in Go with the newest library of providers, among `componentHosts`. */
export const NEWEST_GO = "gobox of the newest library";

/** The packages and commands of component plugins: those of `componentPlugins`, and the one in Go with the newest library; `skip` is that of their tests. */
export const componentHosts = {
    pybox: { plugin: "pybox", commands: { pybox: componentPlugins.pybox }, skip: noPythonPlugin },
    tsbox: { plugin: "tsbox", commands: { tsbox: componentPlugins.tsbox }, skip: false },
    gobox: { plugin: "gobox", commands: { gobox: componentPlugins.gobox }, skip: false },
    [NEWEST_GO]: { plugin: "gobox", commands: { gobox: [goboxNewest] }, skip: false },
};

/** Runs `go build` in a folder of the test kit; does nothing when the executable is up to date. `make go-plugins` has the same flags. */
export function goBuild(module, executable, ...flags) {
    execFileSync("go", ["build", "-buildvcs=false", ...flags, "-o", executable, "."], { cwd: path.join(testkit, module) });
}

/** Builds the component plugin in Go. */
export function goComponent() {
    goBuild("go-component", gobox);
}

/** Builds the component plugin in Go with the newest library of providers. */
export function newestGoComponent() {
    goBuild("go-component", goboxNewest, "-modfile=newest.mod", "-tags=newest");
}
