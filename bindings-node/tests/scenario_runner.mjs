/**
 * Plays scenarios through the Node binding: the actor of scenarios/PROTOCOL.md. It forwards JSON lines between the
 * director and the package's public API, without checks.
 */
import { createInterface } from "node:readline";
import { inspect as written } from "node:util";

import {
    Engine,
    ErrorHook,
    fromPlainJson,
    Hook,
    InitFailedError,
    isUnknown,
    OutputValue,
    Policy,
    ProviderError,
    ProviderStatus,
    secret,
    Secret,
    StackwrightError,
    toPlainJson,
    Unknown,
} from "stackwright";

import { act } from "./scenario_project.mjs";

const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";
const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
const METHODS = [
    "checkConfig", "diffConfig", "configure", "check", "diff", "create", "read", "update", "delete", "invoke", "cancel", "close",
];
/** Members of requests and answers that are property maps. */
const VALUES = ["inputs", "newInputs", "oldInputs", "newOutputs", "oldOutputs", "outputs", "arguments", "result"];

const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

/** The pending provider calls, by number. */
const calls = new Map();
let nextCall = 1;

function forwarder(name, waitsForRegistrations, limits = {}) {
    const secrets = !limits.declinesSecrets;
    const provider = { capabilities: { secrets, outputs: true, preview: true, waitsForRegistrations } };
    for (const method of METHODS.filter((each) => each !== "delete" || !limits.withoutDelete)) {
        provider[method] = (request, signal) => forward(name, method, request, signal);
    }
    provider.construct = async (context, { inputs, options, ...request }, signal) => {
        const { dependsOn: dependencies, ...given } = options;
        await forward(name, "construct", { ...request, ...given, dependencies, inputs }, signal);
        const described = { package: name, method: "construct", token: request.type, name: request.name };
        const { result, failures } = await runBody(context, described, inputs);
        if (failures.length > 0) {
            throw new ProviderError("the inputs are invalid", ProviderStatus.invalidArgument, failures);
        }
        return result;
    };
    provider.call = async (context, { token, arguments: given, preview }, signal) => {
        const { __self__: self, ...inputs } = given;
        await forward(name, "call", { token, arguments: inputs, self: self && { of: toPlainJson(self) }, preview }, signal);
        return runBody(context, { package: name, method: "call", token, name: token }, inputs);
    };
    return provider;
}

/** Runs the code of a component or a method as a run of its own. */
async function runBody(context, described, inputs) {
    const run = new Run(context, inputs);
    const { outputs = {}, failures = [] } = await play(run, { ...described, inputs: toPlainJson(inputs) });
    return { result: run.value(outputs), failures };
}

function forward(name, method, request = {}, signal) {
    const call = nextCall++;
    const sent = { ...request, randomSeed: undefined };
    for (const member of VALUES) {
        if (sent[member] !== undefined) {
            sent[member] = toPlainJson(sent[member]);
        }
    }
    const plainView = (view) => ({ ...view, inputs: toPlainJson(view.inputs), outputs: toPlainJson(view.outputs) });
    sent.oldViews &&= sent.oldViews.map(plainView);
    return new Promise((resolve, reject) => {
        calls.set(call, { resolve, reject });
        signal?.addEventListener("abort", () => calls.delete(call) && send({ abandoned: call }));
        send({ call, package: name, method, request: sent });
    });
}

function answerCall({ call, ok, error }) {
    const waiting = calls.get(call);
    calls.delete(call);
    if (error?.initFailure) {
        waiting?.reject(new InitFailedError(withValues(error.initFailure)));
    } else if (error) {
        waiting?.reject(new ProviderError(error.message, error.status));
    } else {
        waiting?.resolve(Array.isArray(ok) ? ok : withValues(ok ?? undefined));
    }
}

/** Returns options of a transform or a hook as the protocol has them. */
function plainOptions({ hooks, replacementTrigger, ...rest }) {
    const moments = Object.entries(hooks ?? {}).map(([name, names]) => [name[0].toUpperCase() + name.slice(1), names]);
    const resourceHooks = hooks && Object.fromEntries(moments);
    const trigger = replacementTrigger === undefined ? undefined : toPlainJson(replacementTrigger);
    return { ...rest, resourceHooks, replacementTrigger: trigger };
}

/** Returns options of the protocol as those of resources. */
function optionsOf({ resourceHooks, ...rest }) {
    const moments = Object.entries(resourceHooks ?? {}).map(([name, names]) => [name[0].toLowerCase() + name.slice(1), names]);
    const hooks = resourceHooks === null ? null : Object.fromEntries(moments);
    return resourceHooks === undefined ? rest : { ...rest, hooks };
}

/** Makes a transform whose calls the director answers. */
function forwardedTransform(method, name) {
    return async ({ options, ...args }, signal) => {
        const request = { ...args, transform: name, options: plainOptions(options) };
        const answer = (await forward(undefined, method, request, signal)) ?? {};
        if (answer.options === undefined) {
            return answer;
        }
        const changed = optionsOf(answer.options);
        const { replacementTrigger: trigger } = changed;
        return { ...answer, options: trigger === undefined ? changed : { ...changed, replacementTrigger: fromPlainJson(trigger) } };
    };
}

/** Makes the function of a hook whose calls the director answers. */
function forwardedHook(name, preview) {
    return async ({ newOptions, oldOptions, ...args }, signal) => {
        const options = (recorded) => {
            const { dependsOn: dependencies, ...rest } = recorded ?? {};
            return recorded === undefined ? null : plainOptions({ ...rest, dependencies });
        };
        const absent = { newInputs: null, oldInputs: null, newOutputs: null, oldOutputs: null };
        const request = { ...absent, ...args, hook: name, preview, newOptions: options(newOptions), oldOptions: options(oldOptions) };
        const answer = await forward("", "hook", request, signal);
        return answer?.retry ?? false;
    };
}

/** Makes a pack of functions whose calls the director answers. */
function forwardedPack({ name: pack, version, policies }) {
    const plainResource = ({ provider, ...resource }) => ({
        ...resource,
        props: toPlainJson(resource.props),
        inputs: toPlainJson(resource.inputs),
        config: toPlainJson(resource.config),
        provider: provider && { ...provider, props: toPlainJson(provider.props) },
    });
    const ask = (policy, name, argument) => forward(pack, `policy.${name}`, { policy, argument });
    const made = policies.map(({ name, level = "advisory", severity, ofStack }) => {
        const options = severity ? { level, severity } : { level };
        if (ofStack) {
            options.checkStack = async ({ resources, config }, report) => {
                const argument = { resources: resources.map(plainResource), config: toPlainJson(config) };
                const found = await ask(name, "checkStack", argument);
                (found ?? []).forEach(({ message, urn }) => report(message, urn ?? undefined));
            };
        } else {
            options.check = async (resource, report) => {
                const found = await ask(name, "check", plainResource(resource));
                (found ?? []).forEach(({ message }) => report(message));
            };
            options.remediate = async (resource) => {
                const inputs = await ask(name, "remediate", plainResource(resource));
                return inputs && fromPlainJson(inputs);
            };
        }
        return new Policy(name, options);
    });
    return version ? { name: pack, version, policies: made } : { name: pack, policies: made };
}

/** Returns options in which the packs that are functions of this actor have these functions. */
function withPacks(options, packs = {}) {
    const { localPolicyPacks = [], requiredPolicies = [] } = options;
    const isOfActor = ({ name }) => packs[name] !== undefined;
    if (![...localPolicyPacks, ...requiredPolicies].some(isOfActor)) {
        return options;
    }
    const made = (option, required) => ({ ...option, ...forwardedPack(packs[option.name]), required });
    const policies = localPolicyPacks.map((option) => (isOfActor(option) ? made(option, false) : option));
    policies.push(...requiredPolicies.filter(isOfActor).map((option) => made(option, true)));
    return { ...options, localPolicyPacks: [], requiredPolicies: requiredPolicies.filter((option) => !isOfActor(option)), policies };
}

function withValues(answer) {
    const read = answer && { ...answer };
    for (const member of VALUES) {
        if (read?.[member]) {
            read[member] = fromPlainJson(read[member]);
        }
    }
    const withViews = (step) => ({ ...step, old: withValues(step.old), new: withValues(step.new) });
    if (read?.viewSteps) {
        read.viewSteps = read.viewSteps.map(withViews);
    }
    return read;
}

/** A run of the program: its registered resources and invoke results, by handle. */
class Run {
    handles = new Map();

    /** `inputs` are those of a component, or the arguments of a method. */
    constructor(context, inputs) {
        this.context = context;
        this.inputs = inputs;
        this.finished = new Promise((resolve, reject) => {
            this.finish = (end) => (end.error === undefined ? resolve(end) : reject(new Error(end.error)));
        });
    }

    resource(reference) {
        // A string is a URN.
        return typeof reference === "string" ? reference : this.handles.get(reference.$resource);
    }

    output([handle, ...path]) {
        if (handle === "inputs" && this.inputs !== undefined) {
            return path.reduce(memberOf, this.inputs);
        }
        const source = this.handles.get(handle);
        const [first, ...rest] = path;
        const start = first === "urn" || first === "id" ? source[first] : source.get(first);
        return rest.reduce((output, step) => output.get(step), start);
    }

    /** Converts plain JSON, which may contain references to outputs and resources, to a value. */
    value(json) {
        if (json === UNKNOWN) {
            return new Unknown();
        }
        if (typeof json !== "object" || json === null) {
            return json;
        }
        if (Array.isArray(json)) {
            return json.map((element) => this.value(element));
        }
        if (json.$output !== undefined) {
            return this.output(json.$output);
        }
        if (json.$resource !== undefined) {
            return this.resource(json);
        }
        if (json[SIGNATURE] === SECRET) {
            return new Secret(this.value(json.value));
        }
        if (json[SIGNATURE] !== undefined) {
            return fromPlainJson(json);
        }
        return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, this.value(value)]));
    }

    options(goal) {
        const { type, name, custom, remote, id, inputs, dependencies, providers, transforms, ...rest } = goal;
        const options = optionsOf(rest);
        if (transforms !== undefined) {
            options.transforms = transforms.map((name) => forwardedTransform("transform", name));
        }
        for (const member of ["parent", "provider", "deletedWith"]) {
            if (rest[member] !== undefined) {
                options[member] = this.resource(rest[member]);
            }
        }
        if (dependencies !== undefined) {
            options.dependsOn = dependencies.map((reference) => this.resource(reference));
        }
        if (rest.replaceWith !== undefined) {
            options.replaceWith = rest.replaceWith.map((reference) => this.resource(reference));
        }
        if (providers !== undefined) {
            const resources = providers.map((reference) => this.resource(reference));
            options.providers = Object.fromEntries(
                resources.map((resource) => [resource.type.split(":").at(-1), resource]),
            );
        }
        if (rest.replacementTrigger !== undefined) {
            options.replacementTrigger = this.value(rest.replacementTrigger);
        }
        return options;
    }

    register({ as, goal }) {
        const make = goal.remote ? "remoteComponent" : goal.custom === false ? "component" : "resource";
        const made = this.context[make](goal.type, goal.name, this.value(goal.inputs ?? {}), this.options(goal));
        return this.keep(as, made);
    }

    read({ as, goal }) {
        const inputs = this.value(goal.inputs ?? {});
        const made = this.context.read(goal.type, goal.name, this.value(goal.id), inputs, this.options(goal));
        return this.keep(as, made);
    }

    async keep(as, resource) {
        this.handles.set(as, resource);
        const { urn, id = "", outputs, unknown, failed } = await resource;
        return { urn, id, outputs: toPlainJson(outputs), unknown, failed };
    }

    async registerOutputs({ of, outputs }) {
        await this.resource(of).registerOutputs(this.value(outputs));
        return {};
    }

    async invoke({ as, goal }) {
        const { token, arguments: given, ...options } = goal;
        for (const member of ["parent", "provider"]) {
            if (options[member] !== undefined) {
                options[member] = this.resource(options[member]);
            }
        }
        if (options.dependsOn !== undefined) {
            options.dependsOn = options.dependsOn.map((reference) => this.resource(reference));
        }
        const result = this.context.invoke(token, this.value(given ?? {}), options);
        this.handles.set(as, result);
        const value = await result;
        return isUnknown(value) ? { unknown: true } : { result: toPlainJson(value) };
    }

    async exists({ as, goal }) {
        const { type, id, inputs, ...options } = goal;
        for (const member of ["parent", "provider"]) {
            if (options[member] !== undefined) {
                options[member] = this.resource(options[member]);
            }
        }
        options.dependsOn = options.dependsOn?.map((reference) => this.resource(reference));
        const exists = this.context.exists(type, this.value(id), this.value(inputs ?? {}), options);
        this.handles.set(as, new Map([["exists", exists]]));
        return { result: { exists: toPlainJson(await exists) } };
    }

    async call({ as, goal }) {
        const { token, of, arguments: given, provider, ...options } = goal;
        if (provider !== undefined) {
            options.provider = this.resource(provider);
        }
        const result = this.context.call(token, of && this.resource(of), this.value(given ?? {}), options);
        this.handles.set(as, result);
        const value = await result;
        return isUnknown(value) ? { unknown: true } : { result: toPlainJson(value) };
    }

    export({ name, value }) {
        this.context.export(name, this.value(value));
        return {};
    }

    log({ severity, message }) {
        this.context.log[severity](message);
        return {};
    }

    transform({ name, of }) {
        if (of === "invokes") {
            this.context.transformInvokes(forwardedTransform("transformInvoke", name));
        } else {
            this.context.transform(forwardedTransform("transform", name));
        }
        return {};
    }

    registerHook({ name, onDryRun = false, ignoreErrors = false, error = false }) {
        const run = forwardedHook(name, this.context.dryRun);
        this.context.registerHook(error ? new ErrorHook(name, run) : new Hook(name, run, { onDryRun, ignoreErrors }));
        return {};
    }
}

/** Returns a member of a value: of a secret, an output or an unknown it is one as well. */
function memberOf(value, name) {
    if (isUnknown(value)) {
        return value;
    }
    if (value instanceof OutputValue) {
        return new OutputValue(memberOf(value.value, name), value.secret, value.dependencies);
    }
    return value instanceof Secret ? secret(memberOf(value.value, name)) : (value[name] ?? null);
}

const runs = new Map();
let nextRun = 1;
/** The results of the open engine, by the number of the operation. */
const results = new Map();
let engine;
/** The open stacks of the engine, and their operations, by name. */
const stacks = new Map();
const operations = new Map();

async function program(context) {
    await play(new Run(context));
}

/** Returns the configuration that a program has received as the protocol has it. */
function received(config) {
    const entries = [...config].map(([key]) => [key, config.secret(key).value]);
    return { config: Object.fromEntries(entries), configSecretKeys: entries.map(([key]) => key).filter((key) => config.isSecret(key)) };
}

/** Announces a run to the director, which sends its statements; returns what finishes it. */
async function play(run, body) {
    const number = nextRun++;
    runs.set(number, run);
    const { signal, dryRun, stack, config } = run.context;
    const ended = new Promise((resolve) => signal.addEventListener("abort", () => resolve("ended")));
    send({ program: number, preview: dryRun, stack, body, ...(body === undefined ? received(config) : {}) });
    const end = await Promise.race([run.finished, ended]);
    if (end !== "ended") {
        return end;
    }
    send({ programEnded: number });
    return {};
}

/** The actor's own encryption: the characters of a text in the opposite order, as in the actors of all bindings. */
function reversal(settings) {
    const reversed = (texts) => texts.map((text) => [...text].reverse().join(""));
    return { ...settings, encrypt: reversed, decrypt: reversed };
}

function newEngine({ store, passphrase, secrets, nestedSecrets, packages, waitsForRegistrations, limits, addresses, commands, callTimeouts }) {
    const waits = (each) => waitsForRegistrations?.[each] ?? false;
    const providers = Object.fromEntries(packages.map((each) => [each, forwarder(each, waits(each), limits?.[each])]));
    const started = Object.entries(commands ?? {}).map(([name, { program, arguments: given }]) => [name, [program, ...given]]);
    return new Engine({
        store,
        passphrase: passphrase ?? undefined,
        secrets: secrets ? reversal(secrets) : undefined,
        nestedSecrets: nestedSecrets ?? undefined,
        providers,
        plugins: { commands: Object.fromEntries(started), callTimeouts },
        resolver: Object.keys(addresses ?? {}).length > 0 ? ({ name }) => addresses[name] : undefined,
    });
}

/** Starts an import. */
function imports(stack, { resources = [], file, ...request }, options) {
    const values = (json) => (json === undefined ? undefined : fromPlainJson(json));
    const rows = resources.map(({ inputs, outputs, ...row }) => ({ ...row, inputs: values(inputs), outputs: values(outputs) }));
    return stack.importResources(file ?? rows, { ...request, ...options });
}

/** Returns the report of an import with its values in plain form. */
function reported({ resources, code, configuration }) {
    const plain = resources.map((resource) => ({
        ...resource,
        inputs: toPlainJson(resource.inputs),
        outputs: toPlainJson(resource.outputs),
        error: resource.error === null ? null : describe(resource.error),
    }));
    const values = Object.entries(configuration).map(([key, { value }]) => [key, value]);
    return { resources: plain, code, configuration: Object.fromEntries(values) };
}

/** Outputs by name, their values in plain form. */
function described(outputs) {
    const entries = Object.entries(outputs);
    return Object.fromEntries(entries.map(([name, { value, secret }]) => [name, { value: toPlainJson(value), secret }]));
}

/** Makes an edit of the state, with the method of its name. */
function edited(stack, { dryRun, ...edit }) {
    const [[kind, members]] = Object.entries(edit);
    const { urn, urns, deployment, name, ...options } = members;
    const given = { ...options, dryRun };
    switch (kind) {
        case "rename":
            return stack.rename(urn, { ...given, name });
        case "delete":
            return stack.deleteResources(urns, given);
        case "changeSecrets":
            return stack.changeSecrets(given.secrets ? { ...given, secrets: reversal(given.secrets) } : given);
        case "renameStack":
            return stack.renameStack(name, given);
        case "importDeployment":
            return stack.importDeployment(deployment, given);
        case "repair":
        case "restore":
            return stack[kind](given);
        default:
            return stack[kind](urns, given);
    }
}

/** What is read without a program. */
async function inspected(stack, { part, limit, page, pending, resourceId, dryRun, edit, destination, options, policyPacks }) {
    switch (part) {
        case "resources":
            return stack.resources();
        case "graph":
            return stack.graph();
        case "pending":
            return stack.pending();
        case "stacks":
            return engine.stacks(undefined, { resourceCounts: true });
        case "history":
            return stack.history({ limit, page });
        case "pendingResource":
            return stack.readPending(pending, { resourceId });
        case "forget":
            return stack.forgetPending(pending, { dryRun });
        case "analysis": {
            const { policies = [], localPolicyPacks } = withPacks(options, policyPacks);
            return stack.analyze([...policies, ...localPolicyPacks]);
        }
        case "edit":
            return edited(stack, edit);
        case "move": {
            const { urns, ...options } = edit.move;
            return stack.moveResources(urns, stacks.get(destination), { ...options, dryRun: edit.dryRun });
        }
        default:
            throw new Error(`this actor cannot read ${part}`);
    }
}

/** Starts an adoption; what JSON has as null is not given. */
function adopted(stack, { pending, resourceId, replace }, options) {
    return stack.adoptPending(pending, { ...options, resourceId: resourceId ?? undefined, replace: replace ?? undefined });
}

const asked = {
    hello: () => ({ binding: "node", references: "native", plans: "kept", hooks: true }),
    async open(message) {
        const { project, stack: name, config, deployment, projectFolder } = message;
        engine ??= newEngine(message);
        const values = Object.entries(config ?? {}).map(([key, entry]) => [
            key,
            entry.secret ? secret(entry.value) : entry.value,
        ]);
        const folder = projectFolder ?? undefined;
        const settings = { program, config: Object.fromEntries(values), deployment: deployment ?? undefined, project: folder };
        stacks.set(name, await engine.stack(`${project}/${name}`, settings));
        return {};
    },
    async importState({ stack, deployment }) {
        await stacks.get(stack).importDeployment(JSON.stringify(deployment));
        return {};
    },
    exportState: async ({ stack }) => await stacks.get(stack).exportDeployment({ showSecrets: true }),
    async inspect(message) {
        const found = await inspected(stacks.get(message.stack), message);
        // As text for display, which has no secret.
        return { found: found ?? null };
    },
    project: (message) => act(engine, stacks.get(message.stack), message),
    async start({ stack, operation: kind, request, options, policyPacks, number, planOf, deployment: wantsDeployment, adoption }) {
        const held = planOf === undefined ? {} : { plan: results.get(planOf) };
        const opened = stacks.get(stack);
        const begin = () => opened[kind === "update" ? "up" : kind]({ ...withPacks(options, policyPacks), ...held });
        const others = { adopt: () => adopted(opened, adoption, options), import: () => imports(opened, request, options) };
        const operation = (others[kind] ?? begin)();
        operations.set(stack, operation);
        const events = [];
        for await (const event of operation.events()) {
            events.push(event);
        }
        const { error, thrown, result } = await operation.then(
            (result) => ({ error: null, result }),
            (error) => ({ error: describe(error), thrown: error, result: error.result }),
        );
        results.set(number, result);
        const { outcome, changes, outputs, plan, droppedPending } = result;
        const deployment = wantsDeployment ? await result.deployment() : undefined;
        const imported = result.imported === undefined ? undefined : reported(result.imported);
        return { imported, deployment, plan, outcome, error, changes, droppedPending, outputs: described(outputs), events, texts: texts(result, thrown) };
    },
    cancel({ stack }) {
        operations.get(stack).cancel();
        return {};
    },
    async close() {
        await engine.close();
        engine = undefined;
        stacks.clear();
        operations.clear();
        runs.clear();
        results.clear();
        return {};
    },
    bye: () => ({}),
    finish(message) {
        runs.get(message.program).finish(message);
        return {};
    },
};
for (const name of ["register", "read", "registerOutputs", "invoke", "exists", "call", "export", "log", "transform", "registerHook"]) {
    asked[name] = (request) => runs.get(request.program)[name](request);
}

/** Returns all further texts of a result that users may see. */
function texts(result, error) {
    const whole = (value) => written(value, { depth: Infinity });
    const found = [String(result), whole(result), JSON.stringify(result.steps), JSON.stringify(result.diagnostics)];
    // The cause of the error is one of the actor.
    return error === undefined ? found : [...found, String(error), String(error.stack), JSON.stringify(error)];
}

function describe(error) {
    if (!(error instanceof StackwrightError)) {
        return { kind: "actor", message: error?.stack ?? String(error) };
    }
    const { kind, message, urn, provider, phase, referenceMessage, hints } = error;
    return { kind, message, urn, provider, phase, referenceMessage, hints };
}

async function take(line) {
    const message = JSON.parse(line);
    if (message.call !== undefined) {
        answerCall(message);
        return;
    }
    const { id } = message;
    try {
        send({ id, ok: await asked[message.do](message) });
    } catch (error) {
        send({ id, error: describe(error) });
    }
    if (message.do === "bye") {
        process.stdin.destroy();
    }
}

createInterface({ input: process.stdin }).on("line", (line) => void take(line));
