/**
 * `sdk.node.{preview,update,noop,destroy}.N`: an SDK program, as a multiple of its floor: `node sdk.mjs [PREFIX]`.
 *
 * The floor is the time of the same program against objects that answer every call in the next turn of the event loop and
 * do nothing else. Floor and operations are measured in turn in this process.
 */
import { createRequire } from "node:module";

import * as pulumi from "@pulumi/pulumi";

import { Engine, sdkProgram } from "../../bindings-node/index.mjs";
import { inFolder, isSelected, print, report, seconds, Things, UNBOUNDED } from "./things.mjs";

const SIZES = [100, 1000, 3000];
const VERBS = ["preview", "update", "noop", "destroy"];

const require = createRequire(import.meta.url);
const part = (name) => require(`@pulumi/pulumi/${name}`);
const [settings, state, config, stacks] = ["settings", "state", "config", "stack"].map((name) => part(`runtime/${name}.js`));
const messages = part("proto/resource_pb.js");
const { Empty } = require("google-protobuf/google/protobuf/empty_pb.js");

class Thing extends pulumi.CustomResource {
    constructor(name, inputs) {
        super("things:index:Thing", name, inputs);
    }
}

const programOf = (size) => async () => {
    for (let number = 0; number < size; number++) {
        new Thing(`thing-${number}`, { number, tags: { a: "b", c: [1, 2, 3] } });
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

const floor = (size, dryRun) =>
    seconds(() =>
        state.withLocalStorage(async () => {
            settings.resetOptions("bench", "dev", 16, "idle", "idle", dryRun, "organization");
            Object.assign(state.getStore().settings, { monitor: idle, engine: idle });
            config.setAllConfig({}, []);
            await stacks.runInPulumiStack(programOf(size));
            await settings.disconnect(true);
        }),
    );

async function operations(size, folder) {
    const engine = new Engine({ store: `file://${folder}`, passphrase: "bench", providers: { things: new Things() } });
    const stack = await engine.stack("bench/dev", { program: sdkProgram(programOf(size)) });
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

await floor(10, false);
for (const size of SIZES.filter((size) => VERBS.some((verb) => isSelected(`sdk.node.${verb}.${size}`)))) {
    const floors = { preview: [], update: [] };
    const measured = [];
    for (let round = 0; round < (size > 1000 ? 1 : 3); round++) {
        floors.preview.push(await floor(size, true));
        floors.update.push(await floor(size, false));
        measured.push(await inFolder((folder) => operations(size, folder)));
    }
    for (const verb of VERBS) {
        const lowest = median(floors[verb === "preview" ? "preview" : "update"]);
        const took = median(measured.map((times) => times[verb]));
        report(`sdk.node.${verb}.${size}: ${took.toFixed(3)} s, floor ${lowest.toFixed(3)} s`);
        print(`sdk.node.${verb}.${size}`, took / lowest, "x");
    }
}
