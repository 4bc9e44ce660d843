// Runs the program of a folder: the facts of the run come from the standard input, as JSON. Text after them states that the program is
// complete.
const { existsSync, openSync, readFileSync, writeSync } = require("node:fs");
const { createRequire, register } = require("node:module");
const { dirname, join } = require("node:path");
const { pathToFileURL } = require("node:url");

const REPORTED = 32;

const facts = JSON.parse(readFileSync(0, "utf8"));
const completion = openSync("/proc/self/fd/0", "a");
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
const { leakedPromises } = load("@pulumi/pulumi/runtime/debuggable");
const settings = load("@pulumi/pulumi/runtime/settings");
const { runInPulumiStack } = load("@pulumi/pulumi/runtime/stack");

/** The packages' manifest that applies to the program. */
function manifest() {
    for (let folder = dirname(facts.program); ; folder = dirname(folder)) {
        const file = join(folder, "package.json");
        if (existsSync(file)) {
            return JSON.parse(readFileSync(file, "utf8"));
        }
        if (folder === dirname(folder)) {
            return {};
        }
    }
}

const TYPESCRIPT = /\.[cm]?ts$/;
const isTypeScript = TYPESCRIPT.test(facts.program);
/** Whether the program is a module of ECMAScript. */
const isModule = /\.m[jt]s$/.test(facts.program) || (/\.[jt]s$/.test(facts.program) && manifest().type === "module");
/** Whether the project has loaders of its own. */
const hasLoaders = process.execArgv.some((argument) => /^(--(experimental-)?loader|--import|--require|-r)(=|$)/.test(argument));

/** Compiles modules of ECMAScript in a thread of Node's own: with `ts-node`, where the program has one with such hooks, else with the compiler. */
const HOOKS = `
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

let hooks;

export async function initialize({ program, options, hasHooks }) {
    const load = createRequire(program);
    if (hasHooks) {
        const node = load("ts-node");
        hooks = node.createEsmHooks(node.register(options));
        return;
    }
    const compiler = load(options.compiler);
    hooks = {
        resolve(specifier, context, next) {
            const typescript = specifier.replace(/\\.([cm]?)js$/, ".$1ts");
            if (typescript !== specifier && /^\\.{1,2}\\//.test(specifier) && context.parentURL?.startsWith("file:")) {
                const [given, other] = [specifier, typescript].map((name) => new URL(name, context.parentURL));
                if (!existsSync(given) && existsSync(other)) {
                    return next(typescript, context);
                }
            }
            return next(specifier, context);
        },
        load(url, context, next) {
            if (!url.startsWith("file:") || !/\\.m?ts$/.test(url)) {
                return next(url, context);
            }
            const fileName = fileURLToPath(url);
            const compiled = compiler.transpileModule(readFileSync(fileName, "utf8"), {
                fileName,
                compilerOptions: { ...options.compilerOptions, module: "esnext", inlineSourceMap: true, sourceMap: false },
            });
            return { format: "module", source: compiled.outputText, shortCircuit: true };
        },
    };
}

export const resolve = (...given) => hooks.resolve(...given);
export const load = (...given) => hooks.load(...given);
`;

/** Checks the types of a program whose compiler does not when it compiles a file. */
function checkTypes(compiler, compilerOptions) {
    const { options, errors } = compiler.convertCompilerOptionsFromJson(compilerOptions, process.cwd());
    const found = compiler.createProgram([facts.program], { ...options, noEmit: true });
    const diagnostics = [...errors, ...compiler.getPreEmitDiagnostics(found)];
    if (diagnostics.length > 0) {
        const host = { getCurrentDirectory: () => process.cwd(), getCanonicalFileName: (name) => name, getNewLine: () => "\n" };
        const error = new Error(`⨯ Unable to compile TypeScript:\n${compiler.formatDiagnostics(diagnostics, host)}`);
        error.stack = error.message;
        throw error;
    }
}

/** Has files in TypeScript compiled when they are loaded, by the compiler of the program or of the SDK. */
function registerTypeScript() {
    const tools = load("@pulumi/pulumi/tsutils");
    const project = process.env.PULUMI_NODEJS_TSCONFIG_PATH ?? "tsconfig.json";
    const given = tools.loadTypeScriptCompilerOptions(project);
    const { tsnodeRequire, typescriptRequire } = tools.typeScriptRequireStrings();
    const compiler = load(typescriptRequire);
    const [major, minor] = compiler.version.split(".").map(Number);
    const isRecent = major > 4 || (major === 4 && minor >= 7);
    const isTranspiled = process.env.PULUMI_NODEJS_TRANSPILE_ONLY;
    const transpileOnly = isTranspiled === undefined ? given.noCheck : isTranspiled === "true";
    const isEsm = isModule && isRecent && !hasLoaders;
    const options = {
        compiler: typescriptRequire,
        transpileOnly,
        project,
        skipProject: !existsSync(project),
        compilerOptions: {
            target: isEsm ? "ES2022" : "ES2020",
            module: isRecent ? "nodenext" : "commonjs",
            moduleResolution: isRecent ? "nodenext" : "node",
            sourceMap: "true",
            ...given,
        },
    };
    if (!isEsm) {
        load(tsnodeRequire).register(options);
        return;
    }
    let hasHooks = true;
    try {
        load.resolve("ts-node/esm");
    } catch {
        hasHooks = false;
        if (transpileOnly !== true) {
            checkTypes(compiler, { ...options.compilerOptions, sourceMap: undefined });
        }
    }
    register(`data:text/javascript,${encodeURIComponent(HOOKS)}`, {
        parentURL: pathToFileURL(facts.program),
        data: { program: facts.program, options, hasHooks },
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
    if (isTypeScript) {
        registerTypeScript();
    }
    const exported = isModule ? await import(pathToFileURL(facts.program).href) : load(facts.program);
    // The default export of a module of ECMAScript takes the place of the others.
    const outputs = isModule ? (exported.default ?? { ...exported }) : exported;
    return typeof outputs === "function" ? await outputs() : outputs;
}

let isOver = false;
/** Whether all outputs of the program are known. */
let isComplete = false;

async function end() {
    if (isOver) {
        return;
    }
    isOver = true;
    if (!isComplete && failures.size === 0 && !pulumi.log.hasErrors()) {
        // Nothing is left that could resolve them.
        const [, leaked] = leakedPromises();
        fail(new pulumi.RunError(leaked || "The program ended with outputs whose promises never resolve"));
    }
    await settings.disconnect(failures.size === 0);
    writeSync(completion, "complete");
    process.exit(failures.size > 0 || pulumi.log.hasErrors() ? REPORTED : (process.exitCode ?? 0));
}

// What timers and callbacks of the program still register belongs to it.
process.on("beforeExit", () => void end());
runInPulumiStack(program).then(
    () => {
        isComplete = true;
    },
    (error) => {
        fail(error);
        return end();
    },
);
