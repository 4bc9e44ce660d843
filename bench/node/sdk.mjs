/**
 * `sdk.node.{preview,update,noop,destroy}.N`: an SDK program, as a multiple of its floor: `node sdk.mjs [PREFIX]`;
 * `sdk.node.chain{,_update,_plugin,_plugin_update}.300`: the same for resources each of which is below the one before.
 *
 * The floor is the time of the same program against objects that answer every call in the next turn of the event loop and
 * do nothing else. Floor and operations are measured in turn in this process.
 */
import { createRequire } from "node:module";

import * as pulumi from "@pulumi/pulumi";

import { Engine, sdkProgram } from "../../bindings-node/index.mjs";
import { inFolder, isSelected, print, report, seconds, Things, UNBOUNDED } from "./things.mjs";

const SIZES = [100, 1000, 3000];
const LINKS = 300;
const CHAIN = { preview: "", update: "_update" };
const VERBS = ["preview", "update", "noop", "destroy"];

const require = createRequire(import.meta.url);
const part = (name) => require(`@pulumi/pulumi/${name}`);
const [settings, state, config, stacks] = ["settings", "state", "config", "stack"].map((name) => part(`runtime/${name}.js`));
const messages = part("proto/resource_pb.js");
const { Empty } = require("google-protobuf/google/protobuf/empty_pb.js");

class Thing extends pulumi.CustomResource {
    constructor(name, inputs, options) {
        super("things:index:Thing", name, inputs, options);
    }
}

const programOf = (size) => async () => {
    for (let number = 0; number < size; number++) {
        new Thing(`thing-${number}`, { number, tags: { a: "b", c: [1, 2, 3] } });
    }
    return {};
};

/** Registers resources below one another: the SDK registers each when its parent has its URN. */
const chain = async () => {
    let parent;
    for (let number = 0; number < LINKS; number++) {
        parent = new Thing(`thing-${number}`, { number }, { parent });
    }
    return {};
};

const answer = (callback, response) => setImmediate(() => callback(null, response));

/** A monitor and an engine that do nothing. */
const idle = {
    getDeploymentInfo(_, callback) {
        const response = new messages.DeploymentInfo();
        response.setSupportedfeaturesList(Object.values(messages.ResourceMonitorFeature));
        answer(callback, response);
    },
    supportsFeature(_, callback) {
        const response = new messages.SupportsFeatureResponse();
        response.setHassupport(true);
        answer(callback, response);
    },
    registerResource(request, callback) {
        const response = new messages.RegisterResourceResponse();
        response.setUrn(`urn:pulumi:dev::bench::${request.getType()}::${request.getName()}`);
        response.setId(request.getName());
        response.setObject(request.getObject());
        answer(callback, response);
    },
    registerResourceOutputs: (_, callback) => answer(callback, new Empty()),
    signalAndWaitForShutdown: (_, callback) => answer(callback, new Empty()),
    setRootResource: (_, callback) => answer(callback, new Empty()),
    log: (_, callback) => answer(callback, new Empty()),
    close() {},
};

const floor = (program, dryRun) =>
    seconds(() =>
        state.withLocalStorage(async () => {
            settings.resetOptions("bench", "dev", 16, "idle", "idle", dryRun, "organization");
            Object.assign(state.getStore().settings, { monitor: idle, engine: idle });
            config.setAllConfig({}, []);
            await stacks.runInPulumiStack(program);
            await settings.disconnect(true);
        }),
    );

async function operations(program, folder, providers) {
    const engine = new Engine({ store: `file://${folder}`, passphrase: "bench", ...providers });
    const stack = await engine.stack("bench/dev", { program: sdkProgram(program) });
    const options = { parallel: UNBOUNDED };
    const times = {};
    for (const verb of VERBS) {
        const operate = { preview: "preview", destroy: "destroy" }[verb] ?? "up";
        times[verb] = await seconds(() => stack[operate](options));
    }
    await engine.close();
    return times;
}

function median(values) {
    return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];
}

/** Measures floor and operations in turn, and prints the medians' ratio under the name of each verb. */
async function measure(program, rounds, providers, names) {
    if (!Object.values(names).some(isSelected)) {
        return;
    }
    const floors = { preview: [], update: [] };
    const measured = [];
    for (let round = 0; round < rounds; round++) {
        floors.preview.push(await floor(program, true));
        floors.update.push(await floor(program, false));
        measured.push(await inFolder((folder) => operations(program, folder, providers)));
    }
    for (const [verb, name] of Object.entries(names)) {
        const lowest = median(floors[verb === "preview" ? "preview" : "update"]);
        const took = median(measured.map((times) => times[verb]));
        report(`${name}: ${took.toFixed(3)} s, floor ${lowest.toFixed(3)} s`);
        print(name, took / lowest, "x");
    }
}

const inProcess = { providers: { things: new Things() } };
const plugin = { plugins: { commands: { things: [process.env.BENCH_PLUGIN, "--plugin"] } } };
const named = (verbs, name) => Object.fromEntries(verbs.map((verb) => [verb, `sdk.node.${name(verb)}`]));

await floor(programOf(10), false);
for (const size of SIZES) {
    await measure(programOf(size), size > 1000 ? 1 : 3, inProcess, named(VERBS, (verb) => `${verb}.${size}`));
}
const links = (suffix) => named(Object.keys(CHAIN), (verb) => `chain${suffix}${CHAIN[verb]}.${LINKS}`);
await measure(chain, 5, inProcess, links(""));
await measure(chain, 5, plugin, links("_plugin"));
