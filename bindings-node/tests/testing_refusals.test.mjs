/** The test kit refuses what is misspelt, its assertions fail on what has failed, and inspection shows no secret. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";

import * as stackwright from "stackwright";
import { CancelledError, Engine, InvalidInputError, ProgramError, ProviderError, secret } from "stackwright";
import { configurations, crashEverywhere, delay, fail, interrupt, kill, refactoring, simulate, simulated } from "stackwright/testing";

const MACHINE = "cloud:index:Machine";
const RECORD = "cloud:index:Record";
const SECRET = "hunter2-hunter2";

const shop = (context) => {
    context.resource(MACHINE, "web", { size: context.config.get("size") ?? "small" });
    context.resource(RECORD, "dns", { ttl: 60 });
};
const failing = (context) => {
    context.resource(MACHINE, "web", { password: secret(SECRET) });
    throw new Error(`no ${SECRET}`);
};
const refused = (message) => ({ name: "InvalidInputError", message });

test("only refuses every other change, and a step that failed is not what it was to be", async (t) => {
    const stack = await simulated(t, shop);
    const result = await stack.up((context) => void context.resource(MACHINE, "web", { size: "large" }));
    result.assertUpdates("web");
    assert.throws(() => result.assertUpdates("web", { only: true }), /expected only `web` to be updated, but dns is to delete\n/);
    const other = await simulated(t, shop, { run: false });
    const failed = await other.up(undefined, { faults: [fail("create", "*", { name: "web" })], check: false });
    assert.throws(() => failed.assertCreates("web"), /expected `web` to be created, but the create of web failed\n/);
    const preview = await (await simulated(t, shop)).preview(failing, { check: false });
    for (const check of [() => preview.assertNoChanges(), () => preview.assertUnchanged("dns")]) {
        assert.throws(check, /but the preview failed: .*no \[secret\]/);
    }
    assert.match(preview.planText(), /^the preview failed: .*no \[secret\]/);
});

test("options of a fault stand in the place of a pattern that is left out", async (t) => {
    const stack = await simulated(t, shop, { run: false });
    const failed = await stack.up(undefined, { faults: [fail("create", { name: "web" })], check: false });
    assert.equal(failed.result.outcome, "failed");
    const others = [delay("create", { name: "dns", seconds: 0 }), interrupt("create", { name: "dns" }), kill("create", { name: "dns", after: true })];
    for (const fault of others) {
        assert.match(inspect(fault), /create of "\*" named "dns"/);
    }
    assert.throws(() => fail("create", 7), refused(/type takes a pattern of types, a text, not 7/));
    assert.throws(() => fail("create", { nmae: "web" }), refused(/nmae/));
});

test("the program of a folder is simulated", async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), "simulated-"));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(path.join(folder, "Pulumi.yaml"), "name: shop\nruntime: nodejs\nconfig:\n  size: {type: string, default: large}\n");
    writeFileSync(path.join(folder, "Pulumi.test.yaml"), "config:\n  shop:size: huge\n");
    const stack = await simulated(t, shop, { project: folder });
    const { urn, inputs } = stack.resources.find("web");
    assert.deepEqual([urn.split(MACHINE)[0], inputs.size], ["urn:pulumi:test::shop::", "huge"]);
});

test("a run that failed writes no recording", async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), "stackwright-testing-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const record = path.join(folder, "recorded.json");
    let fails = true;
    const cloud = {
        create({ name, inputs }) {
            if (fails) {
                throw new ProviderError("no credentials");
            }
            return { id: `real-${name}`, outputs: inputs };
        },
        delete() {},
    };
    const stack = await simulated(t, shop, { providers: { cloud }, record, run: false });
    await assert.rejects(stack.up(), /no credentials/);
    assert.equal(existsSync(record), false);
    fails = false;
    await stack.up();
    const recorded = readFileSync(record, "utf8");
    assert.ok(!recorded.includes("no credentials"));
    fails = true;
    await stack.up((context) => void context.resource(MACHINE, "other", {}), { check: false });
    assert.equal(readFileSync(record, "utf8"), recorded);
    assert.equal((await simulated(t, shop, { record })).resources.find("web").id, "real-web");
});

test("options of operations hold for simulated(), crashes and refactorings", async (t) => {
    const targets = ["**web"];
    const stack = await simulated(t, shop, { targets });
    assert.deepEqual([...stack.world].map(({ name }) => name), ["web"]);
    const crashes = await crashEverywhere(shop, { targets });
    assert.ok(crashes.length > 5 && !crashes.some(({ place }) => place.includes("dns")));
    const preview = await refactoring(shop, (context) => void context.resource(MACHINE, "web", { size: "small" }), { targets });
    preview.assertNoChanges();
    await assert.rejects(crashEverywhere(shop, { dryRun: true }), /cannot have the option dryRun/);
});

test("misspelt options name the function and the nearest option", async (t) => {
    const cases = [
        [() => simulate(shop, { outpts: {} }), "simulate()", "outpts", "outputs"],
        [() => simulate(shop, { run: false, outpts: {} }), "simulate()", "outpts", "outputs"],
        [() => simulated(t, shop, { outpts: {} }), "simulated()", "outpts", "outputs"],
        [() => crashEverywhere(shop, { evry: 2 }), "crashEverywhere()", "evry", "every"],
        [() => refactoring(shop, shop, { stak: "a/b" }), "refactoring()", "stak", "stack"],
    ];
    for (const [run, what, name, near] of cases) {
        await assert.rejects(run, refused(`unknown option "${name}" of ${what}; did you mean "${near}"?`));
    }
    for (const maker of [fail, delay, interrupt, kill]) {
        const message = `unknown option "nam" of ${maker.name}(); did you mean "name"?`;
        assert.throws(() => maker("create", "*", { nam: "web" }), refused(message));
    }
    const stack = await simulated(t, shop);
    await assert.rejects(stack.up(undefined, { fault: [] }), refused('unknown option "fault" of up(); did you mean "faults"?'));
    const { result } = stack;
    assert.throws(() => result.assertCreates("web", { onyl: true }), refused('unknown option "onyl" of assertCreates(); did you mean "only"?'));
    assert.throws(() => result.assertMatchesSnapshot("x", { updte: true }), /unknown option "updte" of assertMatchesSnapshot\(\)/);
    await assert.rejects(crashEverywhere(shop, { verb: "upp" }), refused('verb takes one of "up", "destroy", "refresh", not "upp"'));
    await assert.rejects(crashEverywhere(shop, { recover: "adpt" }), refused('recover takes one of "adopt", "none", not "adpt"'));
});

test("patterns that match nothing are refused after the first run", async (t) => {
    const cases = [
        [{ outputs: { "cloud:index:Machin": { address: "a" } } }, 'outputs: "cloud:index:Machin"; did you mean "cloud:index:Machine"?'],
        [{ outputs: { "cloud:index:Machin": () => ({}) } }, 'outputs: "cloud:index:Machin"; did you mean'],
        [{ replaceOn: { "aws:*": ["ttl"] } }, 'replaceOn: "aws:*"'],
        [{ deleteBeforeReplace: ["aws:*"] }, 'deleteBeforeReplace: "aws:*"'],
        [{ functions: { "cloud:index:getZone": {} } }, 'functions: "cloud:index:getZone"'],
    ];
    for (const [settings, text] of cases) {
        const isNamed = (error) => {
            assert.ok(error instanceof assert.AssertionError);
            return error.message.includes(text) && error.message.includes(`\n  ${MACHINE}\n  ${RECORD}`);
        };
        await assert.rejects(simulate(shop, settings), isNamed);
        await assert.rejects(simulated(t, shop, settings), isNamed);
        await assert.rejects(crashEverywhere(shop, settings), isNamed);
        await assert.rejects(refactoring(shop, shop, settings), isNamed);
        (await (await simulated(t, shop, { ...settings, allowUnmatched: true })).preview()).assertNoChanges();
        await simulated(t, shop, { ...settings, targets: ["**web"] });
    }
});

test("a program that fails anyway is not killed, and a killed run was cancelled", async () => {
    const expected = /has killed no run, because the program fails without a crash: .*no \[secret\]/;
    await assert.rejects(crashEverywhere(failing), (error) => error instanceof ProgramError && expected.test(error.message));
    await assert.rejects(crashEverywhere(shop, { before: failing }), /because the program whose state it begins with fails/);
    const faults = [kill("create", "*", { name: "web" })];
    await assert.rejects(simulate(shop, { faults }), (error) => {
        assert.match(error.message, /a fault of the test has killed this run/);
        return error instanceof CancelledError && !(error instanceof InvalidInputError);
    });
});

test("inspection shows what things are, without values of requests", async (t) => {
    const stack = await simulated(t, shop);
    assert.equal(inspect(stack), "<SimulatedStack project/test: 2 things>");
    assert.equal(inspect(stack.world), "<World web, dns>");
    const web = stack.world.find("**web");
    assert.equal(inspect(web), `<Thing ${web.type} web ${web.id}>`);
    // Neither depends on the other.
    assert.match(inspect(stack.resources), /^<Resources (web, dns|dns, web)>$/);
    assert.match(inspect(stack.result.result.picture()), /^<Picture "Update of project\/test" of \d+ resources>$/);
    assert.equal(inspect(kill("create", "*", { name: "web" })), '<Fault kill_before create of "*" named "web">');
});

for (const secrets of [false, true]) {
    test(`an inspected request has no secret, ${secrets ? "which is masked" : "and no value where secrets are plain"}`, async (t) => {
        const shown = {};
        const keep = (name, answer) => (request) => {
            shown[name] = inspect(request, { depth: 8 });
            return answer(request);
        };
        const notes = {
            capabilities: { secrets },
            check: keep("check", ({ inputs }) => ({ inputs })),
            create: keep("create", ({ name, inputs }) => ({ id: name, outputs: inputs })),
            diff: keep("diff", () => ({ changes: true })),
            update: keep("update", ({ inputs }) => ({ outputs: inputs })),
            read: keep("read", ({ id, inputs, outputs }) => ({ id, inputs, outputs })),
            delete: keep("delete", () => undefined),
            invoke: keep("invoke", () => ({ result: {} })),
            call: (_context, request) => keep("call", () => ({ result: {} }))(request),
        };
        const engine = new Engine({ store: "memory://", passphrase: "correct horse", providers: { notes } });
        t.after(() => engine.close());
        const program = (size) => async (context) => {
            context.resource("notes:index:Note", "a", { password: secret(SECRET), size });
            await context.invoke("notes:index:find", { password: secret(SECRET) });
            await context.call("notes:index:Note/open", undefined, { password: secret(SECRET) });
        };
        await (await engine.stack("shop/dev", { program: program(1) })).up();
        const stack = await engine.stack("shop/dev", { program: program(2) });
        await stack.up();
        await stack.refresh();
        await stack.destroy();
        assert.deepEqual(Object.keys(shown).sort(), ["call", "check", "create", "delete", "diff", "invoke", "read", "update"]);
        assert.ok(!Object.values(shown).some((text) => text.includes(SECRET)), inspect(shown));
        assert.match(shown.update, secrets ? /password: \[secret\]/ : /oldInputs: \{ password: \.\.\., size: \.\.\. \}/);
    });
}

test("what is no program is refused before anything runs", async (t) => {
    let runs = 0;
    const counted = () => void runs++;
    const program = "takes a program (a function, or what sdkProgram() or languageRuntime() returns)";
    await assert.rejects(refactoring(counted, undefined), refused(`after ${program}, not undefined`));
    await assert.rejects(refactoring(counted, { size: "l" }), refused(`after ${program}, not an object`));
    for (const [before, shown] of [[undefined, "undefined"], [null, "null"], [7, "7"]]) {
        await assert.rejects(refactoring(before, counted), refused(`before ${program}, or an exported state as { state }, not ${shown}`));
    }
    await assert.rejects(crashEverywhere(undefined), refused(`program ${program}, not undefined`));
    await assert.rejects(crashEverywhere(counted, { before: "x" }), refused(`before ${program}, not the text "x"`));
    const config = "program takes a function, not an object; options are the last argument: simulate(undefined, { project })";
    await assert.rejects(simulate({ size: "l" }, { run: false }), refused(config));
    await assert.rejects(simulated(counted), refused(/^simulated\(\) takes the context of a test first: simulated\(t, program\)/));
    await assert.rejects(configurations({ a: "string" }), refused(/^configurations\(\) takes the package fast-check first/));
    assert.equal(runs, 0);
});

test("a refused run keeps the program and the configuration", async (t) => {
    const stack = await simulated(t, shop, { config: { size: "large" } });
    const list = "faults takes a list of fail(), delay(), interrupt() and kill()";
    const cases = [
        [{ size: "l" }, {}, /^program takes a function, not an object; .*: up\(undefined, \{ config \}\)$/],
        [7, {}, /^program takes a program/],
        [failing, { config: "size" }, 'config takes an object of values by keys, not the text "size"'],
        [failing, { config: { size: () => 1 } }, /size/],
        [failing, { faults: fail("create") }, `${list}, not one alone`],
        [failing, { faults: ["create"] }, `${list}, not the text "create"`],
        [failing, { targets: "**web" }, /targets/],
    ];
    for (const [program, options, message] of cases) {
        await assert.rejects(stack.up(program, options), refused(message));
        (await stack.preview()).assertNoChanges();
    }
    assert.equal(stack.resources.find("web").inputs.size, "large");
});

test("a setting of another kind is refused by its name", async () => {
    const schemas = "schemas takes a list of schemas of packages: objects, or paths of JSON files";
    const cases = [
        [{ replaceOn: { T: "size" } }, 'replaceOn of "T" takes a list of paths, not the text "size"'],
        [{ replaceOn: ["T"] }, "replaceOn takes an object of lists of paths by types, not a list"],
        [{ deleteBeforeReplace: MACHINE }, `deleteBeforeReplace takes a list of types, not the text "${MACHINE}"`],
        [{ deleteBeforeReplace: [7] }, "deleteBeforeReplace takes a list of types, not 7"],
        [{ real: "cloud" }, 'real takes a list of packages, not the text "cloud"'],
        [{ schemas: { name: "cloud" } }, `${schemas}, not an object`],
        [{ schemas: [7] }, `${schemas}, not 7`],
        [{ faults: fail("create"), run: false }, "faults takes a list of fail(), delay(), interrupt() and kill(), not one alone"],
        [{ existing: { T: { size: "x" } } }, 'existing of "T" with the id "size" takes an object of properties, not the text "x"'],
        [{ existing: { T: "x" } }, 'existing of "T" takes an object of things by ids, not the text "x"'],
        [{ stacks: { "a/b": 3 } }, 'stacks of "a/b" takes an object of outputs, not 3'],
        [{ outputs: { T: "x" } }, 'outputs of "T" takes an object of values, or a function of the resource, not the text "x"'],
        [{ functions: { f: 3 } }, 'functions of "f" takes an object of values, or a function of the arguments, not 3'],
        [{ providers: { box: { create() {}, check: "x" } } }, 'the provider of "box" has a check that is not a method: a string'],
        [{ config: "x" }, 'config takes an object of values by keys, not the text "x"'],
    ];
    for (const [settings, message] of cases) {
        await assert.rejects(simulate(shop, settings), refused(message));
    }
});

test("members of faults name what they take", () => {
    const status = "status takes one of ProviderStatus, such as ProviderStatus.unavailable, not";
    const cases = [
        [() => delay("create", { seconds: "1" }), 'seconds takes a number from 0 to 86400, not the text "1"'],
        [() => delay("create", { seconds: Infinity }), "seconds takes a number from 0 to 86400, not Infinity"],
        [() => fail("create", { status: "nope" }), `${status} the text "nope"`],
        [() => fail("create", { status: 99 }), `${status} 99`],
        [() => fail("create", { message: 7 }), "message takes a text, not 7"],
        [() => fail("create", { name: 7 }), "name takes a text, not 7"],
        [() => fail("create", { inPreviews: "yes" }), 'inPreviews takes true or false, not the text "yes"'],
        [() => fail("create", { answerLost: true, initialization: true }), /takes one of answerLost and initialization/],
    ];
    for (const [make, message] of cases) {
        assert.throws(make, refused(message));
    }
});

test("an assertion about all changes is asked for with a truth value", async (t) => {
    const { result } = await simulated(t, shop);
    for (const [only, shown] of [[1, "1"], ["yes", 'the text "yes"']]) {
        assert.throws(() => result.assertCreates("web", { only }), refused(`only takes true or false, not ${shown}`));
    }
});

test("a thing is not added in the place of another one", async (t) => {
    const { world } = await simulated(t, shop, { existing: { [MACHINE]: { "i-1": { size: "small" } } } });
    assert.throws(() => world.add(MACHINE, "i-1", {}), refused(/^the world has a cloud:index:Machine with the id "i-1" already/));
    assert.equal(world.find("i-1").get("size"), "small");
    world.add(RECORD, "i-1", {});
    assert.throws(() => world.add(MACHINE, "i-2", "x"), refused('properties takes an object of values by names, not the text "x"'));
});

test("a recorded preview is played, and an update on it is refused", async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), "stackwright-testing-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const record = path.join(folder, "recorded.json");
    const cloud = { create: ({ name, inputs }) => ({ id: `real-${name}`, outputs: inputs }), delete() {} };
    const real = await (await simulated(t, shop, { providers: { cloud }, record, run: false })).preview();
    for (let count = 0; count < 2; count++) {
        const played = await simulated(t, shop, { record, run: false });
        const preview = await played.preview();
        preview.assertCreates(["web", "dns"], { only: true });
        assert.equal(preview.planText(), real.planText());
        await assert.rejects(played.up(), /the recording has no create of .* with these inputs/);
    }
});

test("a function that is misspelt is refused with the nearest answer", async () => {
    const program = async (context) => void (await context.invoke("cloud:index:getZoen", {}));
    await assert.rejects(simulate(program, { functions: { "cloud:index:getZone": {} } }), (error) => {
        assert.match(error.message, /did you mean "cloud:index:getZone", which the option `functions` has/);
        return !error.message.includes("->");
    });
});

test("a closed stack refuses operations and keeps its results", async () => {
    const stack = await simulate(shop);
    await stack.close();
    await stack.close();
    for (const operation of ["up", "preview", "refresh", "destroy", "stack", "restart"]) {
        await assert.rejects(async () => await stack[operation](), refused("the simulated stack project/test is closed"), operation);
    }
    assert.equal(stack.result.outcome, "succeeded");
    assert.equal([...stack.world].length > 0, true);
});

test("files that cannot be read are named with their option", async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), "stackwright-testing-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const [missing, broken] = [path.join(folder, "missing.json"), path.join(folder, "broken.json")];
    writeFileSync(broken, "{");
    const refusal = (text, code) => (error) => {
        assert.ok(error instanceof InvalidInputError, String(error));
        assert.ok(error.message.startsWith(text), error.message);
        assert.equal(error.cause?.code, code);
        return true;
    };
    await assert.rejects(simulate(shop, { schemas: [missing] }), refusal(`schemas: ${missing} cannot be read: `, "ENOENT"));
    await assert.rejects(simulate(shop, { schemas: [broken] }), refusal(`schemas: ${broken} is no JSON: `));
    await assert.rejects(simulate(shop, { record: broken }), refusal(`${broken}: the recording cannot be read: `));
    await assert.rejects(simulate(shop, { record: folder }), refusal(`record: ${folder} cannot be read: `, "EISDIR"));
    const { result } = await simulated(t, shop);
    assert.throws(() => result.assertMatchesSnapshot(folder), refusal(`file: ${folder} cannot be read: `, "EISDIR"));
    assert.throws(() => result.assertMatchesSnapshot(), refused("file takes the path of a file, not undefined"));
    assert.throws(() => result.assertMatchesSnapshot(""), refused('file takes the path of a file, not an empty string'));
    // A file where the folder would be.
    const below = path.join(broken, "below");
    const cloud = { create: ({ name, inputs }) => ({ id: name, outputs: inputs }), delete() {} };
    await assert.rejects(simulate(shop, { providers: { cloud }, record: below }), refusal(`record: ${below} cannot be written: `, "EEXIST"));
    assert.throws(() => result.assertMatchesSnapshot(below, { update: true }), refusal(`file: ${below} cannot be written: `, "EEXIST"));
});

test("the options of an engine are an object", () => {
    assert.throws(() => new Engine("memory://"), { name: "InvalidInputError", message: /^the options of an engine are an object, not / });
});

test("each error has its page in the documentation", () => {
    const classes = Object.values(stackwright).filter((value) => value.prototype instanceof stackwright.StackwrightError);
    const pages = classes.map((made) => new made("no").page);
    assert.ok(pages.includes("errors/invalid_input") && pages.length > 8, String(pages));
    for (const page of pages) {
        assert.ok(existsSync(new URL(`../../docs/${page}.md`, import.meta.url)), page);
    }
});

test("a schema gives defaults, outputs, secrets and replacements", async (t) => {
    const schema = {
        name: "cloud",
        resources: {
            [MACHINE]: {
                inputProperties: {
                    image: { type: "string", willReplaceOnChanges: true },
                    size: { type: "string", default: "small" },
                },
                requiredInputs: ["image"],
                properties: { address: { type: "string" }, token: { type: "string", secret: true }, size: { type: "string" } },
                required: ["address", "token", "size"],
            },
        },
    };
    const folder = mkdtempSync(path.join(tmpdir(), "stackwright-testing-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, "schema.json");
    writeFileSync(file, JSON.stringify(schema));
    const program = (inputs) => (context) => void context.resource(MACHINE, "web", inputs);
    const stack = await simulated(t, program({ image: "a" }), { schemas: [file] });
    const web = stack.resources.find("web");
    assert.equal(web.inputs.size, "small");
    assert.match(web.outputs.address, /^address-/);
    assert.match(inspect(web.outputs.token), /\[secret\]/);
    (await stack.up(program({ image: "b" }))).assertReplaces("web", { only: true });
    await assert.rejects(simulate(program({}), { schemas: [schema] }), /requires this property/);
    await assert.rejects(simulate(program({ image: "a", sice: 1 }), { schemas: [schema] }), /did you mean `size`/);
});
