/** Answers of providers: unknown keys are refused by name. Results: stack, preview and changes. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";
const thing = (inputs) => (context) => void context.resource(THING, "a", inputs);

/** Returns a provider whose `method` gives `answer`. The other methods are correct. */
function misspelt(method, answer) {
    const provider = new Memory();
    provider[method] = () => answer;
    return provider;
}

const wrongs = [
    ["check", { input: {} }, "input", "inputs, failures"],
    ["check", { failures: [{ path: "x", reason: "is bad" }] }, "path", "property, reason", "failures[0]: "],
    ["create", { id: "1", output: {} }, "output", "id, outputs, refreshBeforeUpdate, viewSteps"],
    ["diff", { change: true }, "change", "changes, replaces, stables, diffs, detailedDiff, deleteBeforeReplace"],
    ["update", { output: {} }, "output", "outputs, refreshBeforeUpdate, viewSteps"],
    ["read", { id: "1", properties: {} }, "properties", "id, inputs, outputs, refreshBeforeUpdate, viewSteps"],
];
for (const [method, answer, key, known, place = ""] of wrongs) {
    test(`${method} with the answer ${JSON.stringify(answer)} fails and names the unknown key`, async () => {
        const good = new Memory();
        let provider = good;
        const resolving = memoryEngine(good, { providers: {}, resolver: () => provider });
        const stack = await resolving.stack("shop/dev", { program: thing({ content: "1" }) });
        if (method !== "check" && method !== "create") {
            await stack.up();
        }
        provider = misspelt(method, answer);
        const operation = method === "read" ? stack.refresh() : stack.up({ program: thing({ content: "2" }) });
        const error = await failureOf(operation);
        const messages = [error.message, ...error.result.diagnostics.map(({ message }) => message)].join("\n");
        const expected = `the provider's answer to ${method} cannot be read: ${place}it has the unknown key "${key}"; there are: ${known}`;
        assert.ok(messages.includes(expected), messages);
    });
}

test("a result contains its stack, whether it is a preview, and whether anything changed", async () => {
    const stack = await memoryEngine().stack("shop/dev", { program: thing({ content: "1" }) });
    const facts = ({ stack: name, isPreview, hasChanges }) => [name, isPreview, hasChanges];
    assert.deepEqual(facts(await stack.preview()), ["shop/dev", true, true]);
    assert.deepEqual(facts(await stack.up()), ["shop/dev", false, true]);
    assert.deepEqual(facts(await stack.up()), ["shop/dev", false, false]);
});
