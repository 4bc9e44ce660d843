/** Physical names that the host's autonamer proposes, and the `autonaming` of the provider's check. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { failureOf, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";

/** Records the proposals that check receives, by resource name. */
class Named {
    seen = {};

    check({ name, autonaming }) {
        this.seen[name] = autonaming;
        return undefined;
    }

    create({ name }) {
        return { id: this.seen[name]?.proposedName || name };
    }
}

const program = (...names) => (context) => {
    for (const name of names) {
        context.resource(THING, name);
    }
};

for (const isAsync of [false, true]) {
    test(`the host proposes physical names ${isAsync ? "asynchronously" : "synchronously"}`, async () => {
        const asked = [];
        const answers = {
            text: "text-1",
            whole: { name: "whole-1", mode: "enforce", deleteBeforeReplace: true },
            none: { mode: "disable" },
        };
        const name = (request) => {
            asked.push(request);
            return answers[request.name];
        };
        const provider = new Named();
        const engine = memoryEngine(provider, { autonamer: isAsync ? async (request) => name(request) : name });
        const stack = await engine.stack("shop/dev", { program: program("text", "whole", "none", "own") });
        await stack.up();
        assert.deepEqual(provider.seen, {
            text: { proposedName: "text-1", mode: "propose" },
            whole: { proposedName: "whole-1", mode: "enforce" },
            none: { proposedName: "", mode: "disable" },
            own: undefined,
        });
        assert.deepEqual(asked.map((request) => request.name).sort(), ["none", "own", "text", "whole"]);
        for (const { urn, type, randomSeed, preview } of asked) {
            assert.ok(urn.startsWith("urn:pulumi:dev::shop::"));
            assert.equal(type, THING);
            assert.equal(randomSeed.length, 32);
            assert.equal(preview, false);
        }
    });
}

const gone = new RangeError("no name is left");
const wrongs = [
    [gone, /no name is left/],
    [{ name: "x", mode: "shout" }, /not "shout"/],
    [{ mode: "enforce" }, /"enforce" without a name/],
    ["", /"propose" without a name/],
    [3, /an object, a text or nothing, not a number/],
    [{ nmae: "x" }, /unknown option "nmae" of a proposed name/],
    [{ name: "x", deleteBeforeReplace: "yes" }, /deleteBeforeReplace/],
];
for (const [answer, expected] of wrongs) {
    test(`an autonamer that returns ${JSON.stringify(answer)} ends the operation: ${expected.source}`, async () => {
        const provider = new Named();
        const engine = memoryEngine(provider, {
            autonamer: async () => {
                if (answer instanceof Error) {
                    throw answer;
                }
                return answer;
            },
        });
        const stack = await engine.stack("shop/dev", { program: program("a") });
        const error = await failureOf(stack.up());
        assert.match(error.message, expected);
        assert.match(error.message, /::a cannot be proposed/);
        if (answer === gone) {
            assert.equal(error.cause, gone);
        }
        assert.deepEqual(provider.seen, {});
    });
}
