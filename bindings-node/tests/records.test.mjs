/** Reading without a program: resources, their graph, pending operations, listed stacks, pages of the history. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import { InvalidInputError, NotFoundError, OutputValue, secret } from "stackwright";

import { failureOf, Memory, memoryEngine } from "./support.mjs";

const THING = "mem:index:Thing";
const A = "urn:pulumi:dev::shop::mem:index:Thing::a";

const program = (context) => {
    const a = context.resource(THING, "a", { n: 1, key: secret("hunter2") });
    context.resource(THING, "b", { of: a.get("n") });
};

test("resources are typed and hide their secrets in text", async () => {
    const engine = memoryEngine(new Memory());
    const stack = await engine.stack("shop/dev", { program });
    await stack.up({ message: "first" });
    const records = Object.fromEntries((await stack.resources()).map((record) => [record.name, record]));
    const { a, b } = records;
    assert.deepEqual(inspect(await stack.resource(A)), inspect(a));
    assert.deepEqual([a.urn, a.type, a.custom, a.protect, a.delete], [A, THING, true, false, false]);
    assert.ok(a.inputs.key instanceof OutputValue && a.inputs.key.secret && a.inputs.key.value === "hunter2");
    assert.ok(!JSON.stringify(a).includes("hunter2") && !inspect(a, { depth: 9 }).includes("hunter2"));
    assert.ok(JSON.stringify(await stack.resource(A, { showSecrets: true })).includes("hunter2"));
    assert.deepEqual([b.dependencies, b.propertyDependencies], [[A], { of: [A] }]);
    const graph = await stack.graph();
    const edges = graph.edges.map(({ source, target, kind }) => `${graph.nodes[source].name} ${kind} ${graph.nodes[target].name}`);
    assert.ok(edges.includes("b dependency a") && edges.includes("b property a"), edges.join(", "));
    const refused = await failureOf(stack.resource(`${A.slice(0, -1)}c`));
    assert.ok(refused instanceof NotFoundError && refused.hints.includes(`did you mean '${A}'?`), refused.hints.join());
    const [listed] = await engine.stacks("shop", { resourceCounts: true });
    assert.deepEqual([listed.name, listed.resourceCount, listed.lock, listed.lastUpdate.message], ["shop/dev", 4, null, "first"]);
    assert.equal(String(listed), `shop/dev: update succeeded at ${listed.lastUpdate.ended}, 4 records`);
    assert.ok(!Object.keys(listed).includes("toString"));
    await stack.refresh();
    assert.deepEqual((await stack.history({ limit: 1, page: 2 })).map(({ kind }) => kind), ["update"]);
    assert.match((await failureOf(stack.history({ limit: 0 }))).message, /limit takes a number above 0, not 0/);
});

test("a pending operation is read, adopted over nothing, forgotten, and listed when it is dropped", async () => {
    const provider = new Memory();
    const engine = memoryEngine(provider);
    const stack = await engine.stack("shop/dev", { program });
    await stack.up();
    const { id } = await stack.resource(A);
    const state = await stack.exportDeployment();
    const { resources } = state.deployment;
    const { id: _, outputs: __, ...interrupted } = resources.find(({ urn }) => urn === A);
    state.deployment.resources = resources.filter(({ urn, dependencies = [] }) => urn !== A && !dependencies.includes(A));
    state.deployment.pending_operations = [{ type: "creating", resource: interrupted }];
    await stack.importDeployment(state);
    const [pending] = await stack.pending();
    assert.deepEqual([pending.kind, pending.urn, pending.resourceId, pending.inProgress], ["creating", A, "", false]);
    assert.ok(!JSON.stringify(pending).includes("hunter2"));
    assert.equal(await stack.readPending(pending, { resourceId: "nothing" }), undefined);
    assert.equal((await stack.readPending(pending, { resourceId: id })).id, id);
    assert.ok((await failureOf(stack.adoptPending(pending))) instanceof InvalidInputError);
    assert.ok((await failureOf(stack.forgetPending("unknown"))) instanceof NotFoundError);
    assert.equal((await stack.forgetPending(pending, { dryRun: true })).id, pending.id);
    const preview = await stack.adoptPending(pending, { resourceId: id, dryRun: true });
    assert.ok(preview.isPreview && preview.changes.import === 1);
    await stack.adoptPending(pending.id, { resourceId: id });
    assert.deepEqual([await stack.pending(), (await stack.resource(A)).id], [[], id]);
    await stack.importDeployment(state);
    const [dropped] = (await stack.refresh({ clearPendingCreates: true })).droppedPending;
    assert.deepEqual([dropped.kind, dropped.name], ["creating", "a"]);
});
