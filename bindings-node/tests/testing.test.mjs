/** The test kit: simulated stacks, assertions, refactorings, faults, crashes and recordings. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";

import { isUnknown, secret } from "stackwright";
import { crashEverywhere, delay, fail, interrupt, kill, refactoring, simulate, simulated } from "stackwright/testing";

const MACHINE = "cloud:index:Machine";
const outputs = { [MACHINE]: { address: "10.0.0.1" } };

const shop = ({ size = "small", image = "a", name = "web", protect = false, aliases = [] } = {}) => (context) => {
    const web = context.resource(MACHINE, name, { size, image }, { protect, aliases });
    context.resource("cloud:index:Record", "dns", { address: web.get("address") });
    context.export("address", web.get("address"));
};

function folder(t) {
    const made = mkdtempSync(path.join(tmpdir(), "stackwright-testing-"));
    t.after(() => rmSync(made, { recursive: true }));
    return made;
}

test("outputs repeat inputs, and ids are the same in each run", async (t) => {
    const [first, second] = [await simulated(t, shop(), { outputs }), await simulated(t, shop(), { outputs })];
    const web = first.resources.find(MACHINE, "web");
    assert.deepEqual({ ...web.outputs }, { size: "small", image: "a", address: "10.0.0.1" });
    assert.equal(web.id, second.resources.find("web").id);
    assert.equal(first.resources.find("dns").inputs.address, "10.0.0.1");
    assert.equal(first.outputs.address.value, "10.0.0.1");
    assert.deepEqual(first.resources.names, ["web", "dns"]);
    (await first.preview()).assertNoChanges();
    assert.deepEqual(first.calls.filter(({ call, preview }) => call === "create" && !preview).map(({ name }) => name), ["web", "dns"]);
});

test("outputs of a function get the resource and are unknown in previews", async (t) => {
    const address = ({ name, inputs }) => ({ address: `${name}.${inputs.size}` });
    const stack = await simulated(t, shop(), { outputs: { "cloud:*:Machine": address }, run: false });
    const planned = await stack.preview();
    assert.ok(isUnknown(planned.resources.find("web").outputs.address));
    planned.assertCreates(["web", "dns"], { only: true });
    assert.equal((await stack.up()).resources.find("dns").inputs.address, "web.small");
});

test("a stack outlives its runs", async (t) => {
    const stack = await simulated(t, shop(), { outputs, replaceOn: { [MACHINE]: ["image"] } });
    (await stack.up(shop({ size: "large" }))).assertUpdates("web", { only: true });
    const result = await stack.up(shop({ size: "large", image: "b" }));
    result.assertReplaces(`${MACHINE}::web`, { only: true });
    result.assertUnchanged("dns");
    (await stack.preview(() => {}, { allowEmpty: true })).assertDeletes(["web", "dns"], { only: true });
    (await stack.up()).assertNoChanges();
    await stack.destroy();
    assert.equal(stack.world.size, 0);
});

test("a failed assertion has what happened and the nearest names", async (t) => {
    const stack = await simulated(t, shop({ protect: true }), { outputs });
    const result = await stack.up(shop({ size: "large" }));
    assert.throws(() => result.assertReplaces("web"), {
        name: "AssertionError",
        message:
            "expected `web` to be replaced, but web is to update\nthe steps of the operation:\n  ~  update   cloud:index:Machine  web\n" +
            '       size: "small" -> "large"',
    });
    assert.throws(() => result.assertCreates("wep"), /did you mean `web`\?/);
    assert.throws(() => result.assertProtected("dns"), /dns is not/);
    assert.throws(() => result.resources.find("wep"), /did you mean "web"/);
    assert.throws(() => result.assertCreates([]), /a resource, or a list of them/);
});

test("drift is found by a refresh and undone by the next update", async (t) => {
    const stack = await simulated(t, shop(), { outputs });
    stack.world.find("web").set("size", "huge");
    (await stack.refresh()).assertUpdates("web");
    (await stack.up()).assertUpdates("web", { only: true });
    assert.equal(stack.world.find("web").get("size"), "small");
    stack.world.find("dns").remove();
    (await stack.refresh()).assertDeletes("dns");
});

test("functions are answered by the test, or name the option", async (t) => {
    const program = async (context) => {
        const found = await context.invoke("cloud:index:getImage", { name: "debian" });
        context.resource(MACHINE, "web", { image: found.id });
    };
    const functions = { "cloud:index:getImage": ({ name }) => ({ id: `image-${name}` }) };
    const stack = await simulated(t, program, { functions });
    assert.equal(stack.resources.find("web").inputs.image, "image-debian");
    await assert.rejects(simulate(program), /option `functions`/);
});

test("a program that is never done is no matter of crashes", async () => {
    let number = 0;
    const program = (context) => void context.resource(MACHINE, "web", { size: (number += 1) });
    const text = await crashEverywhere(program).then(() => "", (error) => error.message);
    assert.match(text, /has killed no run, because a second run without a crash is not empty: .*update of .*web/);
});

test("a program that returns another one is refused", async () => {
    await assert.rejects(simulate(() => () => {}), /the program returned a function, which would be ignored/);
});

test("existence can be queried", async (t) => {
    const program = (context) => {
        context.export("there", context.exists("cloud:index:Network", "net-1"));
        context.export("absent", context.exists("cloud:index:Network", "net-2"));
    };
    const stack = await simulated(t, program, { existing: { "cloud:index:Network": { "net-1": { range: "10.0.0.0/8" } } } });
    assert.deepEqual([stack.outputs.there.value, stack.outputs.absent.value], [true, false]);
});

test("a snapshot shows the lines that differ and no secret", async (t) => {
    const file = path.join(folder(t), "plans", "web.txt");
    const program = (size) => (context) => void context.resource(MACHINE, "web", { size, password: secret("hunter2-hunter2") });
    const stack = await simulated(t, program("small"), { run: false });
    const preview = await stack.preview();
    assert.throws(() => preview.assertMatchesSnapshot(file), /does not exist/);
    preview.assertMatchesSnapshot(file, { update: true });
    (await stack.preview()).assertMatchesSnapshot(file);
    assert.ok(!readFileSync(file, "utf8").includes("hunter2"));
    const changed = await stack.preview(program("large"));
    assert.throws(() => changed.assertMatchesSnapshot(file), /- {5}size: "small"\n\+ {5}size: "large"/);
});

test("a refactoring prints the aliases that are missing, also of an exported state", async (t) => {
    await refactoring(shop(), shop({ name: "frontend", aliases: [{ name: "web" }] }), { outputs });
    await assert.rejects(refactoring(shop(), shop({ name: "frontend" }), { outputs }), /aliases: \[\{ name: "web" \}\]/);
    const stack = await simulated(t, shop(), { outputs });
    const state = await (await stack.stack()).exportDeployment();
    await refactoring({ state }, shop(), { outputs });
    await assert.rejects(refactoring({ state }, shop({ size: "large" }), { outputs }), /no alias explains/);
});

test("faults fail what they name, and one that did not happen is an error", async (t) => {
    const stack = await simulated(t, shop(), { outputs, run: false });
    const faults = [fail("create", "cloud:index:*", { name: "dns", message: "the quota is exceeded" })];
    await assert.rejects(stack.up(undefined, { faults }), /the quota is exceeded/);
    (await stack.up()).assertCreates("dns", { only: true });
    await assert.rejects(stack.up(undefined, { faults: [fail("create", "*", { name: "wep" })] }), {
        name: "AssertionError",
        message: /faults did not happen/,
    });
    const failing = () => {
        throw new Error("a mistake of the program");
    };
    await assert.rejects(stack.up(failing, { faults: [fail("create", "*", { name: "web" })] }), {
        name: "AssertionError",
        message: /faults did not happen[^]*the operation has failed: [^]*a mistake of the program[^]*the calls were:/,
    });
    assert.throws(() => fail("crate"), /call takes one of/);
});

test("delays change the order, and interrupts end the operation", async (t) => {
    const program = (context) => {
        context.resource(MACHINE, "slow");
        context.resource(MACHINE, "quick");
    };
    const slow = await simulated(t, program, { faults: [delay("create", "*", { name: "slow", seconds: 0.3 })] });
    const names = slow.result.steps.filter(({ type }) => type === MACHINE).map(({ urn }) => urn.split("::").at(-1));
    assert.deepEqual(names, ["quick", "slow"]);
    const stack = await simulated(t, program, { run: false });
    const result = await stack.up(undefined, { faults: [interrupt("create", "*", { name: "slow" })], check: false, parallel: 1 });
    assert.equal(result.outcome, "canceled");
});

test("a killed run is continued by another engine", async (t) => {
    const stack = await simulated(t, shop(), { outputs, run: false });
    await stack.up(undefined, { faults: [kill("create", "*", { name: "web", after: true })], check: false });
    assert.equal(stack.killedAt, "after the create of web (cloud:index:Machine)");
    await stack.restart();
    const [pending] = await (await stack.stack()).pending();
    await (await stack.stack()).adoptPending(pending, { resourceId: stack.world.find("web").id });
    (await stack.up()).assertCreates("dns", { only: true });
    assert.deepEqual(stack.discrepancies(), []);
});

test("crashes at every moment are completed by the next run", async () => {
    const crashes = await crashEverywhere(shop(), { outputs });
    assert.ok(crashes.some(({ place }) => place === "after the create of web (cloud:index:Machine)"));
    const text = await crashEverywhere(shop(), { outputs, recover: "none" }).then(() => "", (error) => error.message);
    assert.match(text, /killed after the create of web[^]*no record has it/);
});

test("a recording is played without the provider and has no secret", async (t) => {
    const record = path.join(folder(t), "recorded.json");
    const program = (context) => {
        const web = context.resource(MACHINE, "web", { password: secret("hunter2-hunter2") }, { additionalSecretOutputs: ["key"] });
        context.export("address", web.get("address"));
    };
    const cloud = {
        create: ({ name, inputs }) => ({ id: `i-${name}`, outputs: { ...inputs, address: "192.0.2.7", key: "k-31337" } }),
        delete() {},
    };
    await simulated(t, program, { record, providers: { cloud } });
    const text = readFileSync(record, "utf8");
    assert.ok(text.includes("i-web") && !text.includes("hunter2") && !text.includes("31337"));
    const played = await simulated(t, program, { record });
    assert.equal(played.outputs.address.value, "192.0.2.7");
    (await played.preview()).assertNoChanges();
});

test("a hundred runs of fifty resources take seconds", async () => {
    const program = (context) => {
        for (let number = 0; number < 50; number++) {
            context.resource(MACHINE, `machine-${number}`, { size: number });
        }
    };
    const begin = process.cpuUsage();
    for (let run = 0; run < 100; run++) {
        const stack = await simulate(program);
        assert.equal(stack.world.size, 50);
        await stack.close();
    }
    const { user, system } = process.cpuUsage(begin);
    // Of an unoptimized build, in microseconds; the benchmark `testing.node.100`, of a release, fails beyond 5 s. Time of the processors: the
    // machine may be busy with other things.
    assert.ok(user + system < 15_000_000, `${user + system}`);
});
