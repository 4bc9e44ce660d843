/** The export of spans, within the caller's of `@opentelemetry/api`. */
import assert from "node:assert/strict";
import * as http from "node:http";
import { createRequire } from "node:module";
import { test } from "node:test";

import { InvalidInputError, secret } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const require = createRequire(import.meta.url);
const api = require("@opentelemetry/api");
const { AsyncLocalStorageContextManager } = require("@opentelemetry/context-async-hooks");

const SECRET = "correct horse";

/** Reads the fields of a message of the protocol buffers: number, and bytes or a number. */
function fields(message) {
    const found = [];
    let at = 0;
    const varint = () => {
        let number = 0;
        for (let factor = 1; ; factor *= 128) {
            const byte = message[at++];
            number += (byte & 0x7f) * factor;
            if (byte < 0x80) {
                return number;
            }
        }
    };
    while (at < message.length) {
        const key = varint();
        const [tag, type] = [key >> 3, key & 7];
        if (type === 2) {
            const length = varint();
            found.push([tag, message.subarray(at, at + length)]);
            at += length;
        } else if (type === 1) {
            found.push([tag, message.subarray(at, at + 8)]);
            at += 8;
        } else {
            assert.equal(type, 0);
            found.push([tag, varint()]);
        }
    }
    return found;
}

const of = (message, tag) => fields(message).filter(([own]) => own === tag).map(([, value]) => value);

/** Starts a collector, and returns its URL and what it has got. */
async function startCollector(t) {
    const bodies = [];
    const server = http.createServer(async (request, response) => {
        const parts = await request.toArray();
        bodies.push(Buffer.concat(parts));
        response.end();
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close());
    const spans = () =>
        bodies
            .flatMap((body) => of(body, 1))
            .flatMap((ofResource) => of(ofResource, 2))
            .flatMap((ofLibrary) => of(ofLibrary, 2))
            .map((span) => ({
                trace: of(span, 1)[0].toString("hex"),
                id: of(span, 2)[0].toString("hex"),
                parent: of(span, 4)[0]?.toString("hex"),
                name: of(span, 5)[0].toString(),
            }));
    return { url: `http://127.0.0.1:${server.address().port}`, bodies, spans };
}

const program = (context) => void context.resource("mem:index:Thing", SECRET, { password: secret(SECRET) });

test("an operation is within the active span of its caller", { timeout: 60_000 }, async (t) => {
    const collector = await startCollector(t);
    api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    t.after(() => api.context.disable());
    const engine = memoryEngine(new Memory(), { telemetry: { endpoint: collector.url, serviceName: "deployer" } });
    const stack = await engine.stack("shop/dev", { program });
    const caller = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 };
    const active = api.trace.setSpan(api.context.active(), api.trace.wrapSpanContext(caller));
    await api.context.with(active, () => stack.up());
    await stack.preview();
    await engine.close();
    const spans = collector.spans();
    const [operation, later] = spans.filter((span) => span.name === "operation update");
    assert.deepEqual([operation.trace, operation.parent], [caller.traceId, caller.spanId]);
    assert.equal(later.parent, undefined);
    const call = spans.find((span) => span.name === "provider_call create");
    const step = spans.find((span) => span.id === call.parent);
    assert.deepEqual([step.name, step.parent], ["step create", operation.id]);
    assert.ok(!collector.bodies.some((body) => body.includes(SECRET)));
    assert.ok(collector.bodies.some((body) => body.includes("deployer")));
});

test("settings of telemetry that cannot work are refused", async () => {
    for (const [telemetry, pattern] of [
        [{}, /needs the endpoint/],
        [{ endpoint: "localhost" }, /the endpoint of telemetry takes the URL/],
        [{ endpoint: "http://localhost", header: {} }, /header/],
    ]) {
        assert.throws(() => memoryEngine(new Memory(), { telemetry }), (error) => {
            assert.ok(error instanceof InvalidInputError, error);
            assert.match(error.message, pattern);
            return true;
        });
    }
    const stack = await memoryEngine().stack("shop/dev", { program() {} });
    const error = await failureOf(stack.preview({ traceparent: "no header" }));
    assert.match(error.message, /traceparent takes/);
});
