/** Pictures of operations and stacks: a page, a flowchart and a digraph. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import { InvalidInputError, Picture, secret } from "stackwright";

import { Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";

/** Returns the resources of a page by name. */
function nodesOf(page) {
    const [, text] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page);
    return Object.fromEntries(JSON.parse(text).nodes.map((node) => [node.name, node]));
}

test("a preview is a page with what would change and no secret", async () => {
    const program = (size) => (context) => {
        const box = context.component("shop:index:Box", "box");
        context.resource(THING, "a", { size, key: secret("hunter2-hunter2") }, { parent: box });
    };
    const stack = await memoryEngine(new Memory()).stack("shop/dev", { program: program(1) });
    const created = await stack.preview();
    assert.equal(created.picture().title, "Preview of shop/dev");
    assert.equal(nodesOf(created.toHtml()).a.op, "create");
    await stack.up();
    const changed = await stack.preview({ program: program(2) });
    assert.deepEqual(nodesOf(changed.toHtml()).a.properties, [{ path: "size", kind: "update", old: "1", new: "2" }]);
    const picture = await stack.picture();
    assert.equal(picture.size, Object.keys(nodesOf(picture.toHtml())).length);
    const graph = await stack.graph();
    assert.deepEqual(nodesOf(graph.toHtml()), nodesOf(picture.toHtml()));
    assert.equal(graph.toMermaid(), picture.toMermaid());
    assert.equal(graph.toDot(), picture.toDot());
    assert.equal(inspect(graph), `<StackGraph of ${graph.nodes.length} resources and ${graph.edges.length} references>`);
    for (const text of [created.toHtml(), graph.toHtml(), changed.toHtml(), picture.toHtml(), picture.toMermaid(), changed.toDot()]) {
        assert.ok(!text.includes("hunter2"));
    }
    assert.match(changed.toMermaid(), /^flowchart LR\n[^]*subgraph/);
    assert.match(changed.toDot(), /^digraph /);
});

test("the document of a plan is a picture without a key", async () => {
    const program = (context) => {
        context.resource(THING, "a", { size: 1, key: secret("hunter2-hunter2") });
    };
    const stack = await memoryEngine(new Memory()).stack("shop/dev", { program });
    const preview = await stack.preview({ generatePlan: true });
    const picture = Picture.ofPlan(preview.plan);
    assert.equal(picture.title, "Plan of shop/dev");
    const { a } = nodesOf(picture.toHtml());
    assert.equal(a.op, "create");
    assert.deepEqual(a.properties, [
        { path: "key", kind: "add", new: "[secret]" },
        { path: "size", kind: "add", new: "1" },
    ]);
    assert.equal(Picture.ofPlan(JSON.stringify(preview.plan)).toHtml(), picture.toHtml());
    for (const [other, named] of [
        [preview, /not a result; the picture of a result is its picture\(\)/],
        [undefined, /not undefined/],
        [null, /not null/],
        ["{}", /manifest: it is missing/],
        [{}, /manifest: it is missing/],
    ]) {
        assert.throws(
            () => Picture.ofPlan(other),
            (error) => error instanceof InvalidInputError && named.test(error.message),
        );
    }
});
