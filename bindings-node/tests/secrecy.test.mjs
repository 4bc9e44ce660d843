/** Errors and events never contain a secret that a program has received. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import test from "node:test";

import * as imported from "@pulumi/pulumi";
import { Engine, Secret, sdkProgram, secret } from "stackwright";

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

/** Outputs of several parts, one of which is a secret or comes from one. */
const composites = {
    all: ({ all, secret }) => all([secret("tulip-mania"), "daffodil"]),
    output: ({ output, secret }) => output({ token: secret("tulip-mania"), flower: output("daffodil") }),
    nested: ({ all, output, secret }) => output({ inner: all([secret("tulip-mania"), "daffodil"]), flower: "daffodil" }),
    member: ({ all, secret }) => all([all({ both: [secret("tulip-mania"), "daffodil"] }).both, "daffodil"]),
    promised: ({ all, secret }) => all([Promise.resolve(secret("tulip-mania")), Promise.resolve("daffodil")]),
    derived: ({ all, secret }) => all([secret("tulip").apply((text) => `${text}-mania`), "daffodil"]),
    derivedPart: ({ all, secret }) => all([all([secret("tulip"), "mania"]).apply((parts) => ({ token: parts.join("-") })), "daffodil"]),
    added: ({ all, secret }) =>
        all([all([secret("tulip")]).apply((parts) => [...parts, parts.push("tulip-mania")] && parts), "daffodil"]),
    wrapped: ({ all, secret }) => all([secret(all([secret("tulip"), "tulip-mania"])), "daffodil"]),
    deferred: ({ all, deferredOutput, secret }) => {
        const [later, resolve] = deferredOutput();
        resolve(secret("tulip").apply((text) => ({ token: `${text}-mania` })));
        return all([later, "daffodil"]);
    },
};

for (const [copy, sdk] of Object.entries({ required: pulumi, imported })) {
    for (const [name, make] of Object.entries(composites)) {
        test(`of a composite of the ${copy} SDK only the secret is masked: ${name}`, async () => {
            const program = sdkProgram(
                async () => {
                    await new Promise((resolve) => make(sdk).apply(resolve));
                    await sdk.log.info("the token is tulip-mania, beside a daffodil");
                },
                { sdk: import.meta.url },
            );
            const text = await visibleText(program, 0);
            assert.ok(!text.includes("tulip-mania"), text);
            assert.ok(text.includes("the token is [secret], beside a daffodil"), text);
        });
    }
}
