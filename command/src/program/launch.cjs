// Runs the program of a folder: the facts of the run come from the standard input, as JSON.
const { existsSync, readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const { dirname } = require("node:path");
const { pathToFileURL } = require("node:url");

const REPORTED = 32;

const facts = JSON.parse(readFileSync(0, "utf8"));
process.chdir(dirname(facts.program));
process.argv = [process.argv[0], facts.program];
// The SDK reads these when it is loaded, also another copy of it.
Object.assign(process.env, {
    PULUMI_NODEJS_ORGANIZATION: facts.organization,
    PULUMI_NODEJS_PROJECT: facts.project,
    PULUMI_NODEJS_ROOT_DIRECTORY: facts.root,
    PULUMI_NODEJS_STACK: facts.stack,
    PULUMI_NODEJS_DRY_RUN: String(facts.dryRun),
    PULUMI_NODEJS_PARALLEL: String(facts.parallel),
    PULUMI_NODEJS_MONITOR: facts.address,
    PULUMI_NODEJS_ENGINE: facts.address,
    PULUMI_CONFIG: JSON.stringify(facts.config),
    PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(facts.secretKeys),
});

const load = createRequire(facts.program);
const pulumi = load("@pulumi/pulumi");
const { isGrpcError } = load("@pulumi/pulumi/errors");
const settings = load("@pulumi/pulumi/runtime/settings");
const { runInPulumiStack } = load("@pulumi/pulumi/runtime/stack");

/** Has files in TypeScript compiled when they are loaded, by the compiler of the program or of the SDK. */
function registerTypeScript() {
    const tools = load("@pulumi/pulumi/tsutils");
    const project = process.env.PULUMI_NODEJS_TSCONFIG_PATH ?? "tsconfig.json";
    const given = tools.loadTypeScriptCompilerOptions(project);
    const { tsnodeRequire, typescriptRequire } = tools.typeScriptRequireStrings();
    const [major, minor] = load(typescriptRequire).version.split(".").map(Number);
    const isRecent = major > 4 || (major === 4 && minor >= 7);
    const transpileOnly = process.env.PULUMI_NODEJS_TRANSPILE_ONLY;
    load(tsnodeRequire).register({
        compiler: typescriptRequire,
        transpileOnly: transpileOnly === undefined ? given.noCheck : transpileOnly === "true",
        skipProject: !existsSync(project),
        compilerOptions: {
            target: "ES2020",
            module: isRecent ? "nodenext" : "commonjs",
            moduleResolution: isRecent ? "nodenext" : "node",
            sourceMap: "true",
            ...given,
        },
    });
}

const failures = new Set();

/** Reports what the program has thrown, once. */
function fail(error) {
    if (failures.has(error)) {
        return;
    }
    failures.add(error);
    const text = String(error?.stack || error?.message || error);
    if (pulumi.RunError.isInstance(error)) {
        pulumi.log.error(error.message);
    } else if (pulumi.ResourceError.isInstance(error)) {
        pulumi.log.error(error.hideStack ? error.message : text, error.resource);
    } else if (!isGrpcError(error)) {
        pulumi.log.error(`Running program '${facts.program}' failed with an unhandled exception:\n${text}`);
    }
}

process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);

async function program() {
    if (facts.program.endsWith(".ts")) {
        registerTypeScript();
    }
    let exported;
    try {
        exported = load(facts.program);
    } catch (error) {
        if (error.code !== "ERR_REQUIRE_ESM") {
            throw error;
        }
        exported = await import(pathToFileURL(facts.program).href);
    }
    // The default export of a module of ECMAScript takes the place of the others.
    const isNamespace = Object.prototype.toString.call(exported) === "[object Module]";
    const outputs = isNamespace ? (exported.default ?? { ...exported }) : exported;
    return typeof outputs === "function" ? await outputs() : outputs;
}

let isOver = false;

async function end() {
    if (isOver) {
        return;
    }
    isOver = true;
    await settings.disconnect(failures.size === 0);
    process.exit(failures.size > 0 || pulumi.log.hasErrors() ? REPORTED : 0);
}

// What timers and callbacks of the program still register belongs to it.
process.on("beforeExit", () => void end());
runInPulumiStack(program).catch((error) => {
    fail(error);
    return end();
});
