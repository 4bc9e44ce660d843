/** Errors and events never contain a secret that a program has received. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import test from "node:test";

import * as imported from "@pulumi/pulumi";

import { Engine, Secret, sdkProgram, secret } from "../index.mjs";

/** Number of runs of each program, each on a new stack, because a leak would depend on the order of messages. */
const RUNS = 10;

const echo = {
    create: ({ name, inputs }) => ({ id: `id-${name}`, outputs: inputs }),
    delete() {},
    invoke: ({ arguments: { token } }) => ({ result: { text: `it is ${token}` } }),
};

/** Runs a program on a new stack; returns the texts of its events and errors. */
async function visibleText(program, number) {
    const engine = new Engine({ store: "memory://", providers: { echo } });
    try {
        const stack = await engine.stack(`shop/s${number}`, { program });
        const operation = stack.up();
        const seen = [];
        for await (const event of operation.events()) {
            seen.push(JSON.stringify(event));
        }
        try {
            const { diagnostics } = await operation;
            seen.push(JSON.stringify(diagnostics));
        } catch (error) {
            seen.push(error.message, String(error.stack), JSON.stringify(error));
        }
        return seen.join("\n");
    } finally {
        await engine.close();
    }
}

const fail = () => {
    throw new Error("the token is tulip-mania");
};
const pulumi = createRequire(import.meta.url)("@pulumi/pulumi");

const programs = {
    resource(context) {
        context.resource("echo:index:Thing", "a", { token: new Secret("tulip-mania") });
        fail();
    },
    options(context) {
        const first = context.resource("echo:index:Thing", "a");
        context.resource("echo:index:Thing", "b", { token: { in: [new Secret("tulip-mania")] } }, { dependsOn: first });
        fail();
    },
    export(context) {
        context.export("token", new Secret("tulip-mania"));
        fail();
    },
    invoke(context) {
        context.invoke("echo:index:echo", { token: new Secret("tulip-mania") });
        fail();
    },
    made() {
        secret({ token: ["tulip-mania"] });
        fail();
    },
    async later(context) {
        await new Promise((resolve) => setImmediate(resolve));
        secret("tulip-mania");
        context.log.info("the token is tulip-mania");
    },
    sdk: sdkProgram(
        () => {
            pulumi.secret("tulip-mania");
            pulumi.log.info("the token is tulip-mania");
        },
        { sdk: import.meta.url },
    ),
    imported: sdkProgram(
        () => {
            imported.secret("tulip-mania");
            imported.log.info("the token is tulip-mania");
        },
        { sdk: import.meta.url },
    ),
    importedFails: sdkProgram(
        () => {
            imported.secret({ in: ["tulip-mania"] });
            fail();
        },
        { sdk: import.meta.url },
    ),
    sdkLater: sdkProgram(
        () => {
            const token = imported.secret(Promise.resolve("tulip-mania"));
            token.apply((value) => pulumi.log.info(`the token is ${value}`));
        },
        { sdk: import.meta.url },
    ),
    sdkFails: sdkProgram(
        () => {
            pulumi.secret(["tulip-mania"]);
            fail();
        },
        { sdk: import.meta.url },
    ),
};

for (const [name, program] of Object.entries(programs)) {
    test(`no text contains a secret of the program: ${name}`, async () => {
        for (let number = 0; number < RUNS; number++) {
            const text = await visibleText(program, number);
            // The stack trace of the program's own error is not checked.
            assert.ok(!text.includes("tulip-mania"), text);
            assert.ok(text.includes("the token is [secret]"), text);
        }
    });
}
