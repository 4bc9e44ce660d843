/** Registrations after the end of a program: always reported. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";

import { ProgramError } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";
const LATE = /the resource "late" was registered after the program had ended/;

test("a resource that a program registers right after its end fails the operation", async () => {
    const provider = new Memory();
    const stack = await memoryEngine(provider).stack("shop/dev");
    let answer;
    const program = async (context) => {
        await context.resource(THING, "a");
        setImmediate(() => (answer = failureOf(context.resource(THING, "late"))));
    };
    for (let round = 0; round < 3; round++) {
        const failure = await failureOf(stack.up({ program }));
        assert.ok(failure instanceof ProgramError, failure.stack);
        assert.match(failure.message, LATE);
        assert.match((await answer).message, LATE);
    }
    assert.ok(!provider.calls.includes("create late"));
});

test("a resource that is registered during the final deletions fails the operation and stops them", async () => {
    let context;
    let answer;
    let failed;
    const refused = new Promise((resolve) => (failed = resolve));
    const provider = new Memory();
    provider.delete = async (request) => {
        provider.calls.push(`delete ${request.name}`);
        answer ??= failureOf(context.resource(THING, "late")).then((error) => (failed(), error));
        await refused;
    };
    const stack = await memoryEngine(provider).stack("shop/dev");
    await stack.up({
        program: (own) => {
            const base = own.resource(THING, "base");
            own.resource(THING, "above", {}, { dependsOn: base });
        },
    });
    const failure = await failureOf(stack.up({ program: (own) => void (context = own), allowEmpty: true }));
    assert.equal(failure.kind, "program", failure.stack);
    assert.match(failure.message, LATE);
    assert.match((await answer).message, LATE);
    const deleted = provider.calls.filter((call) => call.startsWith("delete"));
    assert.deepEqual(deleted, ["delete above"], "the dependent resource was deleted, its dependency was not");
});

test("calls after the end of the operation are refused with a process warning", async () => {
    let context;
    const stack = await memoryEngine(new Memory()).stack("shop/dev", { program: (own) => void (context = own) });
    await stack.up();
    const warned = once(process, "warning");
    const late = [
        [() => context.resource(THING, "late"), LATE],
        [() => context.read(THING, "late", "id"), /the resource "late" was read after/],
        [() => context.invoke("mem:index:double", { x: 1 }), /the function mem:index:double was called after/],
        [async () => context.export("late", 1), /the output "late" was exported after/],
    ];
    for (const [call, message] of late) {
        assert.match((await failureOf(call())).message, message);
    }
    const [warning] = await warned;
    assert.equal(warning.name, "StackwrightWarning");
    assert.match(warning.message, LATE);
});
