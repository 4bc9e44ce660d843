/** The events of operations over the Automation API. */

import assert from "node:assert/strict";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "stackwright/automation";

import { opener, Thing } from "./automation_support.mjs";
import { Memory } from "./support.mjs";

/** Replaces resources when `kind` changes, reports each change in detail, and fails for inputs with `full`. */
class Strict extends Memory {
    async diff({ oldInputs, inputs }) {
        const names = [...new Set([...Object.keys(oldInputs), ...Object.keys(inputs)])].sort();
        const diffs = names.filter((name) => oldInputs[name] !== inputs[name]);
        const kindOf = (name) => (!(name in oldInputs) ? "add" : !(name in inputs) ? "delete" : "update");
        const detailed = diffs.map((name) => [name, { kind: `${kindOf(name)}${name === "kind" ? "-replace" : ""}`, inputDiff: true }]);
        return {
            changes: diffs.length > 0,
            diffs,
            replaces: diffs.filter((name) => name === "kind"),
            detailedDiff: Object.fromEntries(detailed),
            deleteBeforeReplace: true,
        };
    }

    async create(request, signal) {
        if (request.inputs.full !== undefined) {
            throw new Error("the disk is full");
        }
        return super.create(request, signal);
    }
}

const only = (name, inputs, opts) => async () => {
    new Thing(name, inputs, opts);
};

/** @returns {Promise<auto.EngineEvent[]>} */
async function collected(/** @type {auto.Stack} */ stack, /** @type {auto.PulumiFn} */ program) {
    const events = [];
    await stack.up({ program, onEvent: (event) => events.push(event) });
    return events;
}

function steps(/** @type {auto.EngineEvent[]} */ events) {
    const found = events.flatMap(({ resourcePreEvent }) => (resourcePreEvent === undefined ? [] : [resourcePreEvent]));
    return found.map((event) => event.metadata).filter(({ type }) => type === "mem:index:Thing");
}

test("the events of steps have the states before and after", async (t) => {
    const program = async () => {
        const parent = new pulumi.ComponentResource("shop:index:Site", "site");
        new Thing("thing", { content: "some" }, { parent, protect: true, retainOnDelete: true });
    };
    const stack = await opener(t, new Strict())(program);
    const previewed = [];
    await stack.preview({ onEvent: (/** @type {auto.EngineEvent} */ event) => previewed.push(event.resourcePreEvent) });
    /** @type {auto.ResourcePreEvent[]} */
    const planned = previewed.filter((event) => event !== undefined);
    assert.ok(planned.length > 0 && planned.every(({ planning }) => planning) && planned[0].metadata.op === "create");
    const events = await collected(stack, program);
    const [metadata] = steps(events);
    /** @type {auto.OpType} */
    const operation = metadata.op;
    assert.deepEqual([operation, metadata.old ?? undefined, metadata.logical], ["create", undefined, true]);
    assert.deepEqual([metadata.keys ?? [], metadata.diffs ?? [], metadata.detailedDiff ?? {}], [[], [], {}]);
    assert.match(metadata.provider, /::pulumi:providers:mem::default/);
    const outputs = events.flatMap(({ resOutputsEvent }) => (resOutputsEvent === undefined ? [] : [resOutputsEvent]));
    const done = outputs.find((event) => event.metadata.type === "mem:index:Thing");
    const state = done?.metadata.new;
    assert.ok(done !== undefined && state !== undefined && !done.planning);
    assert.deepEqual([state.type, state.urn, state.custom], ["mem:index:Thing", metadata.urn, true]);
    assert.deepEqual([state.id, state.provider], ["thing-1", metadata.provider]);
    assert.match(state.parent, /::site$/);
    assert.deepEqual([state.inputs, state.outputs], [{ content: "some" }, { content: "some", size: 4 }]);
    assert.deepEqual([state.protect, state.retainOnDelete], [true, true]);
    assert.ok(!state.delete && !state.taint && !state.initErrors?.length);
});

const DIFFERENCES = /** @type {[object, object, string, auto.DiffKind][]} */ ([
    [{ content: "a" }, { content: "b" }, "content", auto.DiffKind.update],
    [{}, { content: "b" }, "content", auto.DiffKind.add],
    [{ content: "a" }, {}, "content", auto.DiffKind.delete],
    [{ kind: "a" }, { kind: "b" }, "kind", auto.DiffKind.updateReplace],
    [{}, { kind: "b" }, "kind", auto.DiffKind.addReplace],
    [{ kind: "a" }, {}, "kind", auto.DiffKind.deleteReplace],
]);

test("the differences of properties have their kinds", async (t) => {
    const kinds = [
        auto.DiffKind.add,
        auto.DiffKind.addReplace,
        auto.DiffKind.delete,
        auto.DiffKind.deleteReplace,
        auto.DiffKind.update,
        auto.DiffKind.updateReplace,
    ];
    assert.deepEqual(DIFFERENCES.map(([, , , kind]) => kind).sort(), kinds.sort());
    for (const [before, after, path, kind] of DIFFERENCES) {
        const stack = await opener(t, new Strict())(only("thing", before));
        await stack.up();
        const metadata = steps(await collected(stack, only("thing", after))).find(({ detailedDiff }) => Object.keys(detailedDiff ?? {}).length > 0);
        /** @type {auto.PropertyDiff | undefined} */
        const difference = metadata?.detailedDiff?.[path];
        assert.deepEqual([difference?.diffKind, difference?.inputDiff], [kind, true]);
        assert.deepEqual([metadata?.diffs, metadata?.keys ?? []], [[path], path === "kind" ? ["kind"] : []]);
        if (path === "content") {
            assert.deepEqual([metadata?.old?.inputs, metadata?.new?.inputs], [before, after]);
        }
    }
});

test("messages, the beginning and the end of an operation are events", async (t) => {
    const stack = await opener(t, new Strict())(async () => {
        const thing = new Thing("thing", {});
        await pulumi.log.warn("take care", thing);
        await pulumi.log.info("a line", undefined, 7, true);
    });
    await stack.setConfig("size", { value: "3" });
    await stack.setConfig("password", { value: "hush", secret: true });
    /** @type {auto.EngineEvent[]} */
    const events = [];
    await stack.up({ onEvent: (event) => events.push(event) });
    const messages = events.flatMap(({ diagnosticEvent }) => (diagnosticEvent === undefined ? [] : [diagnosticEvent]));
    const warning = messages.find(({ severity }) => severity === "warning");
    assert.ok(warning?.message.includes("take care") && warning.urn?.endsWith("::thing"));
    assert.ok(warning.color !== "" && warning.prefix?.includes("warning"));
    const line = messages.find(({ message }) => message.includes("a line"));
    // The stream of a message is not kept.
    assert.deepEqual([line?.severity, line?.ephemeral, line?.streamID], ["info", true, undefined]);
    /** @type {auto.PreludeEvent | undefined} */
    const prelude = events[0].preludeEvent;
    assert.deepEqual(prelude?.config, { "shop:size": "3", "shop:password": "[secret]" });
    const summary = events.find(({ summaryEvent }) => summaryEvent !== undefined)?.summaryEvent;
    assert.ok(summary !== undefined && !summary.maybeCorrupt && summary.durationSeconds >= 0);
    // The SDK declares `policyPacks`, and documents have `PolicyPacks`.
    assert.deepEqual([summary.resourceChanges, summary.policyPacks], [{ create: 2 }, undefined]);
    /** @type {auto.CancelEvent | undefined} */
    const end = events.at(-1)?.cancelEvent;
    assert.ok(end !== undefined);
    assert.ok(events.every(({ sequence, timestamp }, index) => sequence === index && timestamp > 0));
});

test("a step that fails is an event", async (t) => {
    const stack = await opener(t, new Strict())(only("bad", { full: true }));
    /** @type {auto.EngineEvent[]} */
    const events = [];
    await assert.rejects(stack.up({ onEvent: (event) => events.push(event) }), /the disk is full/);
    const failed = events.find(({ resOpFailedEvent }) => resOpFailedEvent !== undefined)?.resOpFailedEvent;
    assert.ok(failed?.metadata.urn.endsWith("::bad"));
    assert.deepEqual([failed.metadata.op, failed.status, failed.steps], ["create", 0, 3]);
});

test("no operation prints text as an event, or waits for a debugger", async (t) => {
    /** @type {auto.EngineEvent[]} */
    const events = [];
    const stack = await opener(t, new Strict())(only("thing", {}));
    await stack.preview({ onEvent: (event) => events.push(event) });
    /** @type {(auto.StdoutEngineEvent | undefined)[]} */
    const texts = events.map(({ stdoutEvent }) => stdoutEvent);
    assert.deepEqual(texts.filter((text) => text !== undefined).map(({ message, color }) => [message, color]), []);
    assert.ok(events.every(({ startDebuggingEvent }) => startDebuggingEvent === undefined));
});

test("an error of onEvent neither ends the operation nor keeps later events back", async (t) => {
    const stack = await opener(t, new Strict())(only("thing", {}));
    /** @type {auto.EngineEvent[]} */
    const events = [];
    const { summary } = await stack.up({
        onEvent: (event) => {
            events.push(event);
            throw new Error("the listener is out of paper");
        },
    });
    assert.equal(summary.result, "succeeded");
    assert.deepEqual(summary.resourceChanges, { create: 2 });
    assert.ok(events.length > 0 && events.every(({ sequence }, index) => sequence === index));
    assert.ok(events.at(-1)?.cancelEvent !== undefined);
});
