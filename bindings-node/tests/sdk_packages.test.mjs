/** Programs of `@pulumi/pulumi` that register packages with a parameter, and map variables of the environment for plugins. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import * as path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import * as pulumi from "@pulumi/pulumi";
import { Engine, sdkProgram, unwrap } from "stackwright";

import { failureOf, noPythonPlugin as skip, pythonOfPlugins } from "./support.mjs";

const messages = createRequire(import.meta.url)("@pulumi/pulumi/proto/resource_pb.js");
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const PLUGIN = [pythonOfPlugins, "-u", path.join(root, "bindings-python", "tests", "parameterized_plugin.py")];
const MAPPINGS = { MAPPED_FROM: "MAPPED_TO", MAPPED_NOT_THERE: "MAPPED_OTHER" };

class Thing extends pulumi.CustomResource {
    constructor(plugin, name, size, options, reference) {
        const outputs = { parameter: undefined, known: undefined, variable: undefined };
        super(`${plugin}:index:Thing`, name, { size, ...outputs }, options, false, reference);
    }

    get given() {
        return pulumi.all([this.parameter, this.known]);
    }
}

/** Registers a package of the plugin `base`, as a generated SDK does; `kind` is the field of the request. */
function reference(kind, name, version, text) {
    const parameter = new messages.Parameterization();
    parameter.setName(name);
    parameter.setVersion(version);
    parameter.setValue(Buffer.from(text));
    const request = new messages.RegisterPackageRequest();
    request.setName("base");
    request[kind](parameter);
    return new Promise((resolve, reject) => {
        const answered = (error, response) => (error ? reject(error) : resolve(response.getRef()));
        pulumi.runtime.getMonitor().registerPackage(request, answered);
    });
}

function stackOf(t, program) {
    const plugins = { commands: { base: PLUGIN }, poolCapacity: 0 };
    const engine = new Engine({ store: "memory://", passphrase: "test", plugins });
    t.after(() => engine.close());
    return engine.stack("shop/dev", { program: sdkProgram(program) });
}

const records = ({ resources }) => Object.fromEntries(resources.map((record) => [record.urn.split("::").at(-1), record]));
const providersOf = ({ resources }) => resources.filter(({ type }) => type.startsWith("pulumi:providers:"));

test("a resource of a package that replaces its plugin has a provider with the parameter", { skip }, async (t) => {
    const stack = await stackOf(t, async () => {
        const made = () => reference("setParameterization", "made", "2.1.0", "into made");
        const plain = new Thing("base", "plain", 1);
        const a = new Thing("made", "a", 1, {}, made());
        const b = new Thing("made", "b", a.parameter, {}, made());
        return { plain: plain.given, made: [a.given, b.given] };
    });
    assert.deepEqual((await stack.preview()).changes, { create: 4 });
    const given = ["into made 2.1.0", "made"];
    assert.deepEqual(unwrap((await stack.up()).outputs), { plain: ["", ""], made: [given, given] });
    const { deployment } = await stack.exportDeployment();
    const { plain, a, b } = records(deployment);
    const providers = Object.fromEntries(providersOf(deployment).map((record) => [record.type.split(":").at(-1), record]));
    assert.equal(providers.made.inputs.version, "2.1.0");
    assert.deepEqual(providers.made.inputs.__internal, { name: "base", parameterization: "aW50byBtYWRl" });
    const served = [plain, a, b].map(({ provider }) => provider.replace(/::[^:]*$/, ""));
    assert.deepEqual(served, [providers.base.urn, providers.made.urn, providers.made.urn]);
    assert.equal(deployment.extensions, undefined);
    assert.equal(a.extensionRef, undefined);
    assert.deepEqual((await stack.up()).changes, { same: 4 });
    // Another process of the plugin gets the parameter from the record of the provider.
    assert.deepEqual((await stack.destroy()).changes, { delete: 4 });
});

test("a resource of a package that extends its plugin shares the provider of the plugin", { skip }, async (t) => {
    const stack = await stackOf(t, async () => {
        const more = () => reference("setExtension$", "more", "1.0.0", "into more");
        const plain = new Thing("base", "plain", 1);
        const a = new Thing("more", "a", 1, {}, more());
        const b = new Thing("more", "b", a.parameter, {}, more());
        return { plain: plain.parameter, more: [a.given, b.given] };
    });
    assert.deepEqual((await stack.preview()).changes, { create: 4 });
    const given = ["into more 1.0.0", "more"];
    assert.deepEqual(unwrap((await stack.up()).outputs), { plain: "", more: [given, given] });
    const { deployment } = await stack.exportDeployment();
    const { plain, a, b } = records(deployment);
    const [provider, ...others] = providersOf(deployment);
    assert.deepEqual([provider.type, provider.inputs?.__internal, others], ["pulumi:providers:base", undefined, []]);
    assert.deepEqual(new Set([plain, a, b].map((record) => record.provider)), new Set([`${provider.urn}::${provider.id}`]));
    assert.ok(a.extensionRef !== undefined && a.extensionRef === b.extensionRef && plain.extensionRef === undefined);
    assert.equal(Object.keys(deployment.extensions).length, 1);
    assert.match(JSON.stringify(deployment.extensions), /aW50byBtb3Jl/);
    assert.deepEqual((await stack.up()).changes, { same: 4 });
    // Another process of the plugin gets the extension from the state.
    assert.deepEqual((await stack.destroy()).changes, { delete: 4 });
});

test("a provider resource maps variables of the environment for its plugin", { skip }, async (t) => {
    process.env.MAPPED_FROM = "of the host";
    delete process.env.MAPPED_TO;
    t.after(() => delete process.env.MAPPED_FROM);
    let envVarMappings = MAPPINGS;
    let onThing;
    const stack = await stackOf(t, async () => {
        const own = new pulumi.ProviderResource("base", "own", {}, { envVarMappings });
        const mapped = new Thing("base", `mapped-${envVarMappings ? 1 : 0}`, 1, { provider: own });
        const plain = new Thing("base", "plain", 1, onThing);
        return { variables: [mapped.variable, plain.variable] };
    });
    assert.deepEqual(unwrap((await stack.up()).outputs), { variables: ["of the host", ""] });
    const own = async () => records((await stack.exportDeployment()).deployment).own;
    assert.deepEqual((await own()).inputs, { __internal: { envVarMappings: MAPPINGS } });
    assert.deepEqual((await stack.up()).changes, { same: 4 });
    envVarMappings = undefined;
    assert.deepEqual(unwrap((await stack.up()).outputs), { variables: ["", ""] });
    assert.equal((await own()).inputs, undefined);
    // The SDK sends the option of another resource; the engine refuses it.
    onThing = { envVarMappings: MAPPINGS };
    assert.match((await failureOf(stack.up())).message, /envVarMappings can only be used with provider resources/);
});
