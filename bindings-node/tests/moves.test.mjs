/** Moves: what a preview suggests, and what an update accepts. */
import assert from "node:assert/strict";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";
import { InvalidInputError, sdkProgram } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const programOf = (name) => (context) => void context.resource("mem:index:Thing", name, { size: 3, owner: "team" });

class Thing extends pulumi.CustomResource {
    constructor(name) {
        super("mem:index:Thing", name, { size: 3, owner: "team" });
    }
}

test("a suggestion has its URNs, a reason and the alias, and events have it too", async () => {
    const stack = await memoryEngine(new Memory()).stack("shop/dev", { program: programOf("old") });
    await stack.up();
    const events = [];
    const preview = await stack.preview({ program: programOf("new"), onEvent: (event) => void events.push(event) });
    const [move, ...others] = preview.suggestedMoves;
    assert.equal(others.length, 0);
    assert.match(move.oldUrn, /::mem:index:Thing::old$/);
    assert.match(move.newUrn, /::mem:index:Thing::new$/);
    assert.equal(move.alias, 'aliases: [{ name: "old" }]');
    assert.equal(move.reason, "the name changes from `old` to `new`; inputs are equal");
    assert.deepEqual(move.following, []);
    assert.equal(move.accepted, false);
    assert.match(String(preview), /1 resource looks renamed/);
    const [event] = events.filter(({ suggestedMovesEvent }) => suggestedMovesEvent !== undefined);
    assert.deepEqual(event.suggestedMovesEvent.moves, [move]);
});

for (const kind of ["all", "listed"]) {
    test(`an update accepts moves: ${kind}`, async () => {
        const provider = new Memory();
        const stack = await memoryEngine(provider).stack("shop/dev", { program: programOf("old") });
        await stack.up();
        const program = programOf("new");
        const preview = await stack.preview({ program });
        const acceptMoves = kind === "all" ? true : preview.suggestedMoves;
        assert.deepEqual((await stack.preview({ program, acceptMoves })).changes, { same: 2 });
        const result = await stack.up({ program, acceptMoves });
        assert.deepEqual(result.changes, { same: 2 });
        assert.deepEqual(result.suggestedMoves.map(({ accepted }) => accepted), [true]);
        assert.equal(provider.things.size, 1);
        const error = await failureOf(stack.up({ program, acceptMoves: preview.suggestedMoves }));
        assert.ok(error instanceof InvalidInputError, String(error));
        assert.match(error.message, /would not delete the old one/);
    });
}

test("a program of the SDK keeps its resource by an accepted move", async () => {
    const program = (name) => sdkProgram(() => void new Thing(name));
    const stack = await memoryEngine(new Memory()).stack("shop/dev", { program: program("old") });
    await stack.up();
    const preview = await stack.preview({ program: program("new") });
    assert.deepEqual(preview.suggestedMoves.map(({ alias }) => alias), ['aliases: [{ name: "old" }]']);
    assert.deepEqual((await stack.up({ program: program("new"), acceptMoves: true })).changes, { same: 2 });
});
