/** Events: the resource and the step that each is about, and their JSON. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { eventsOf, memoryEngine } from "./support.mjs";

test("an event has the resource and the step that it is about, and its JSON is a line of the event log", async () => {
    const stack = await memoryEngine().stack("shop/dev", {
        program: (context) => void context.resource("mem:index:Thing", "a", { content: "x" }),
    });
    const operation = stack.up();
    const events = await eventsOf(operation);
    const ofStep = events.filter((event) => event.resourcePreEvent !== undefined);
    assert.ok(ofStep.some(({ op, urn }) => op === "create" && urn.endsWith("::a")));
    for (const { op, urn, resourcePreEvent } of ofStep) {
        assert.deepEqual([op, urn], [resourcePreEvent.metadata.op, resourcePreEvent.metadata.urn]);
    }
    const last = events.at(-1);
    assert.deepEqual([last.op, last.urn], [null, null]);
    assert.deepEqual(Object.keys(JSON.parse(JSON.stringify(last))), ["sequence", "timestamp", "cancelEvent"]);
});
