/** Components and methods of the host that answer when their operation has ended: the answer has no effect. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Engine } from "stackwright";

import { failureOf, Memory } from "./support.mjs";

const THING = "things:index:Thing";

function program(context) {
    const made = context.remoteComponent("box:index:Box", "box");
    context.export("opened", context.call("box:index:Box/open", made, {}).get("size"));
}

const things = (context) => void context.resource(THING, "first", { content: "x" });

/** Provides boxes, of which one method answers when the test lets it. */
class LateBoxes {
    refused = [];
    aborted = false;

    constructor(method) {
        this.method = method;
        this.asked = new Promise((resolve) => (this.ask = resolve));
        this.released = new Promise((resolve) => (this.release = resolve));
        this.answered = new Promise((resolve) => (this.answer = resolve));
    }

    construct(context, { name }, signal) {
        const lid = context.resource(THING, `${name}-lid`, { content: "lid" });
        return this.#answer("construct", context, signal, { size: lid.get("size") });
    }

    call(context, _request, signal) {
        return this.#answer("call", context, signal, { result: { size: 2 } });
    }

    async #answer(method, context, signal, answer) {
        if (this.method !== method) {
            return answer;
        }
        this.ask();
        await this.released;
        this.aborted = signal.aborted;
        this.refused.push(await failureOf(Promise.resolve().then(() => context.resource(THING, "late"))));
        this.answer();
        return method === "call" ? { result: { size: "too late" } } : { size: "too late" };
    }
}

for (const method of ["construct", "call"]) {
    test(`a ${method} that answers after the end of the operation changes nothing`, async (t) => {
        const unhandled = [];
        const note = (error) => unhandled.push(error);
        process.on("unhandledRejection", note);
        t.after(() => process.off("unhandledRejection", note));
        const [memory, boxes, events] = [new Memory(), new LateBoxes(method), []];
        const engine = new Engine({ store: "memory://", passphrase: "test", providers: { things: memory, box: boxes } });
        const stack = await engine.stack("shop/dev", { program });
        const operation = stack.up({ onEvent: (event) => void events.push(event) });
        await boxes.asked;
        operation.cancel();
        operation.cancel();
        const error = await failureOf(operation);
        assert.equal(error.kind, "cancelled");
        const seen = async () => [await stack.exportDeployment(), events.length, memory.calls.filter((call) => !call.endsWith(" first"))];
        const before = await seen();
        boxes.release();
        await boxes.answered;
        // What another operation needs is far more than the answer does.
        await (await engine.stack("shop/other", { program: things })).up();
        assert.deepEqual(await seen(), before);
        assert.ok(!JSON.stringify([before, events, error.result]).includes("too late"));
        assert.ok(boxes.aborted, "the signal of the call is aborted");
        assert.deepEqual(boxes.refused.map(({ kind, message }) => [kind, message]), [["cancelled", "the operation has ended"]]);
        // The next operation is answered in time.
        boxes.method = undefined;
        await stack.up();
        const { deployment } = await stack.exportDeployment();
        assert.ok(!deployment.resources.some(({ urn }) => urn.endsWith("::late")));
        await engine.close();
        await new Promise(setImmediate);
        assert.deepEqual(unhandled, []);
    });
}
