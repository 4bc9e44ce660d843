/** Policies as functions, and the analysis of a recorded state. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { isSecret, Policy, secret, unwrap } from "stackwright";

import { failureOf, folder, memoryEngine, noPythonPlugin, pythonOfPlugins } from "./support.mjs";

const THING = "mem:index:Thing";
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** Creates things whose outputs are their inputs. */
class Things {
    created = {};

    create({ name, inputs }) {
        this.created[name] = inputs;
        return { id: name, outputs: { ...inputs, made: true } };
    }

    delete() {}
}

function program(context) {
    context.resource(THING, "a", { size: 1, key: secret("hyacinth") });
    context.resource(THING, "b", { size: 9 }, { protect: true });
}

const isBig = ({ name, props }) => (props.size === 9 ? `${name} is too big` : undefined);

const CHECKS = {
    "returned": isBig,
    "returned by a promise": async (resource) => [isBig(resource)].filter(Boolean),
    "reported": (resource, report) => {
        const found = isBig(resource);
        if (found !== undefined) {
            report(found);
        }
    },
};

for (const [how, check] of Object.entries(CHECKS)) {
    test(`a mandatory policy whose violation is ${how} refuses a resource`, async () => {
        const things = new Things();
        const stack = await memoryEngine(things).stack("shop/dev", { program });
        const policy = new Policy("not-big", { level: "mandatory", severity: "high", check });
        for (const call of ["preview", "up"]) {
            const error = await failureOf(stack[call]({ policies: [policy] }));
            assert.match(error.message, /policy not-big of policies is violated: b is too big/);
            assert.ok(error.urn.endsWith("::b"));
        }
        assert.equal(things.created.b, undefined);
        await stack.up({ policies: [new Policy("not-big", { check })] });
        assert.equal(things.created.b.size, 9);
    });
}

test("a policy receives inputs, options and marked secrets", async () => {
    const seen = {};
    const look = new Policy("look", {
        check: (resource) => {
            seen[resource.name] = resource;
        },
    });
    const stack = await memoryEngine(new Things()).stack("shop/dev", { program });
    await stack.up({ policies: [look] });
    assert.equal(seen.b.type, THING);
    assert.deepEqual({ ...seen.b.props }, { size: 9 });
    assert.deepEqual([seen.a.options.protect, seen.b.options.protect], [false, true]);
    assert.ok(seen.b.parent.endsWith("::shop-dev") && seen.b.provider.name.startsWith("default"));
    assert.ok(isSecret(seen.a.props.key));
});

test("a remediation rewrites inputs, and a secret input remains secret", async () => {
    const things = new Things();
    const small = new Policy("small", {
        remediate: ({ type, inputs }) => (type === THING ? { ...unwrap(inputs), size: 2 } : undefined),
    });
    assert.equal(small.level, "remediate");
    const stack = await memoryEngine(things).stack("shop/dev", { program });
    await stack.up({ policies: [small, new Policy("not-big", { level: "mandatory", check: isBig })] });
    assert.equal(things.created.b.size, 2);
    const deployment = await stack.exportDeployment();
    const recorded = deployment.deployment.resources.find(({ urn }) => urn.endsWith("::a"));
    assert.ok("ciphertext" in recorded.inputs.key);
});

test("a recorded state is analyzed without a program, and stays as it is", async () => {
    const stack = await memoryEngine(new Things()).stack("shop/dev", { program });
    await stack.up();
    const before = await stack.exportDeployment();
    const few = new Policy("few", {
        pack: "guard",
        checkStack: ({ resources }, report) => {
            const own = resources.filter(({ type, props }) => type === THING && props.made === true);
            report("the last", own.at(-1).urn);
            return own.length > 1 ? ["too many"] : undefined;
        },
    });
    const analysis = await stack.analyze([few, new Policy("not-big", { level: "mandatory", check: isBig })]);
    const found = analysis.violations.map(({ policy, pack, message }) => [policy, pack, message]);
    assert.deepEqual(found, [
        ["not-big", "policies", "b is too big"],
        ["few", "guard", "the last"],
        ["few", "guard", "too many"],
    ]);
    assert.equal(analysis.passed, false);
    assert.deepEqual(await stack.exportDeployment(), before);
});

test("what a policy throws is the cause of the error", async () => {
    const broken = new Policy("broken", {
        check: ({ type }) => {
            if (type === THING) {
                throw new RangeError("no table of sizes");
            }
        },
    });
    const stack = await memoryEngine(new Things()).stack("shop/dev", { program });
    const error = await failureOf(stack.up({ policies: [broken] }));
    assert.match(error.message, /policy broken failed during Analyze: .*no table of sizes/);
    assert.ok(error.cause instanceof RangeError);
});

test("what a check of a stack throws is the cause of the error, also where several checks throw", { timeout: 60_000 }, async () => {
    const stack = await memoryEngine(new Things()).stack("shop/dev", { program });
    const fails = (name, error) => new Policy(name, { checkStack: async () => Promise.reject(error) });
    const policies = [fails("broken", new RangeError("no table of sizes")), fails("other", new TypeError("no list of owners"))];
    const calls = { preview: () => stack.preview({ policies }), up: () => stack.up({ policies }), analyze: () => stack.analyze(policies) };
    await stack.up();
    for (const [call, run] of Object.entries(calls)) {
        const error = await failureOf(run());
        const [, name] = /policy (\w+) failed during AnalyzeStack: /.exec(error.message);
        assert.ok(error.cause instanceof (name === "broken" ? RangeError : TypeError), call);
    }
    await stack.up();
});

/** What functions of policies may not return or report, and the text of the error. */
const WRONG_ANSWERS = {
    "a place that is a number": [{ checkStack: (_, report) => report("bad", 3) }, /report\(\) takes the URN of a resource behind the violation, a text or nothing, not a number/],
    "a violation that is a number": [{ check: (_, report) => report(3) }, /a violation is a text, not a number/],
    "a violation with a lone surrogate": [{ check: () => "\ud800" }, /a violation has a lone surrogate/],
    "inputs that are a list": [{ remediate: () => [1] }, /the inputs that remediate\(\) returns are an object of values by name, not a list/],
    "inputs that are a secret": [{ remediate: ({ inputs }) => secret(inputs) }, /by name, not an object of the class Secret/],
    "inputs that are a text": [{ remediate: () => "x" }, /by name, not a string/],
};

for (const [what, [options, text]] of Object.entries(WRONG_ANSWERS)) {
    test(`a policy that answers ${what} is named by the error, whose cause names what it takes`, { timeout: 60_000 }, async () => {
        const stack = await memoryEngine(new Things()).stack("shop/dev", { program });
        const error = await failureOf(stack.up({ policies: [new Policy("careless", { pack: "guard", ...options })] }));
        assert.match(error.message, /policy pack guard: policy careless failed during /);
        assert.match(error.message, text);
        assert.doesNotMatch(error.message, /checkPolicy/);
        assert.match(error.cause.message, text);
    });
}

test("a remediation with a value that is none is named by the error, with the input", { timeout: 60_000 }, async () => {
    const stack = await memoryEngine(new Things()).stack("shop/dev", { program });
    const error = await failureOf(stack.up({ policies: [new Policy("careless", { remediate: () => ({ size: () => 1 }) })] }));
    assert.match(error.message, /policy careless failed during Remediate: its result cannot be read: inputs\.size: a function is not a value/);
});

test("a remediation cannot change what it gets in place", { timeout: 60_000 }, async () => {
    const things = new Things();
    const stack = await memoryEngine(things).stack("shop/dev", { program });
    const changes = {
        "a property": ({ props }) => void (props.size = 2),
        "an input": ({ inputs }) => void (inputs.size = 2),
        "an option": ({ options }) => void (options.protect = false),
        "a member": (resource) => void (resource.props = {}),
    };
    for (const [what, change] of Object.entries(changes)) {
        const remediate = (resource) => (resource.type === THING ? change(resource) : undefined);
        const error = await failureOf(stack.up({ policies: [new Policy("hasty", { remediate })] }));
        assert.match(error.message, /policy hasty failed during Remediate: Cannot /, what);
        assert.ok(error.cause instanceof TypeError, what);
    }
    assert.deepEqual(things.created, {});
});

test("policies that are wrong in themselves are refused by name", async () => {
    for (const [options, text] of [
        [{}, /has no function/],
        [{ check: isBig, level: "harsh" }, /level is one of advisory, mandatory/],
        [{ check: isBig, severity: "grave" }, /severity is one of low/],
        [{ check: 3 }, /check is a function/],
        [{ check: isBig, checkStack: isBig }, /has checkStack beside/],
        [{ chek: isBig }, /did you mean "check"/],
    ]) {
        assert.throws(() => new Policy("wrong", options), text);
    }
    const stack = await memoryEngine(new Things()).stack("shop/dev", { program });
    assert.throws(() => stack.preview({ policies: [isBig] }), /policies has objects of the class Policy/);
    const error = await failureOf(stack.preview({ policies: [new Policy("numbers", { check: () => 3 })] }));
    assert.match(error.message, /a check returns a text, a list of texts or nothing/);
});

test("a pack of policies has a version and settings, and can count as required", async () => {
    const configured = [];
    const limit = new Policy("limit", {
        level: "mandatory",
        check: ({ name, props, config }) => {
            configured.push(config);
            return props.size > config.most ? `${name} is too big` : undefined;
        },
    });
    const pack = { name: "guard", version: "1.2.0", policies: [limit], config: { limit: { enforcementLevel: "advisory", most: 3 } } };
    const stack = await memoryEngine(new Things()).stack("shop/dev", { program });
    for (const [required, tag] of [
        [false, "(local)"],
        [true, "1.2.0"],
    ]) {
        const events = [];
        const policies = [{ ...pack, required }, new Policy("other", { check: () => undefined })];
        await stack.up({ policies, onEvent: (event) => void events.push(event) });
        const violated = events.map(({ policyEvent }) => policyEvent).filter(Boolean);
        if (!required) {
            assert.deepEqual(violated.map(({ policyPackVersion, enforcementLevel }) => [policyPackVersion, enforcementLevel]), [["1.2.0", "advisory"]]);
        }
        const packs = events.map(({ summaryEvent }) => summaryEvent?.PolicyPacks ?? summaryEvent?.policyPacks).find(Boolean);
        assert.deepEqual({ ...packs }, { guard: tag, policies: "(local)" });
    }
    assert.deepEqual({ ...configured[0] }, { most: 3 });
    for (const [required, tag] of [
        [false, "(local)"],
        [true, "1.2.0"],
    ]) {
        const analysis = await stack.analyze([{ ...pack, required }]);
        assert.deepEqual(analysis.violations.map(({ packVersion, message }) => [packVersion, message]), [["1.2.0", "b is too big"]]);
        assert.deepEqual(analysis.policyPacks, { guard: tag });
    }
});

test("an analysis has a deadline for each call of a policy", async () => {
    const stack = await memoryEngine(new Things()).stack("shop/dev", { program });
    await stack.up();
    const slow = new Policy("slow", { check: () => new Promise(() => {}) });
    await assert.rejects(stack.analyze([slow], { callbackTimeout: 0.05 }), /policy slow did not complete Analyze within 0.05 s, which is the callback timeout/);
    await assert.rejects(stack.analyze([slow], { callbackTimeout: 0 }), /callbackTimeout .*takes a number of seconds above 0, not 0/);
    await assert.rejects(stack.analyze([slow], { callBackTimeout: 1 }), /callbackTimeout/);
    assert.equal((await stack.analyze([], null)).violations.length, 0);
});

test("a pack of policies that is wrong in itself is refused by name", async () => {
    const stack = await memoryEngine(new Things()).stack("shop/dev", { program });
    for (const [pack, text] of [
        [{ name: "guard", policies: [isBig] }, /has a list of objects of the class Policy, not a function/],
        [{ name: "guard", policies: {} }, /has a list of objects of the class Policy, not an object/],
        [{ policies: [] }, /has a name, not undefined/],
        [{ name: "guard", policies: [], address: "127.0.0.1:1" }, /address/],
        [{ name: "guard", policies: [], required: "yes" }, /required takes true or false/],
    ]) {
        assert.throws(() => stack.preview({ policies: [pack] }), text);
    }
});

const PACK = `
const { PolicyPack } = require("@pulumi/policy");
new PolicyPack("guard", {
    policies: [
        {
            name: "not-big",
            description: "Things are small.",
            enforcementLevel: "mandatory",
            validateResource: (args, report) => {
                if (args.type === "mem:index:Thing" && args.props.size > 8) {
                    report(args.name + " is too big on " + require("@pulumi/pulumi").getStack());
                }
            },
        },
        {
            name: "few",
            description: "There are few things.",
            enforcementLevel: "advisory",
            validateStack: (args, report) => {
                const things = args.resources.filter(({ type }) => type === "mem:index:Thing");
                if (things.length > 1) {
                    report("there are " + things.length + " things");
                }
            },
        },
    ],
});
`;

test("a pack in a folder is started by the engine, and ends with the operation", async (t) => {
    const pack = folder(t);
    fs.writeFileSync(path.join(pack, "PulumiPolicy.yaml"), "runtime: nodejs\n");
    fs.writeFileSync(path.join(pack, "package.json"), JSON.stringify({ name: "guard", version: "1.0.0", main: "index.js" }));
    fs.writeFileSync(path.join(pack, "index.js"), PACK);
    fs.symlinkSync(path.join(root, "node_modules"), path.join(pack, "node_modules"));
    const engine = memoryEngine(new Things());
    const stack = await engine.stack("shop/dev", { program });
    const guarded = { localPolicyPacks: [{ name: "guard", path: pack }] };
    const error = await failureOf(stack.up(guarded));
    assert.match(error.message, /policy not-big of guard is violated: Things are small\.\nb is too big on dev/);
    assert.ok(error.urn.endsWith("::b"));
    await stack.up();
    const analysis = await stack.analyze([{ name: "guard", path: pack }]);
    const found = analysis.violations.map(({ policy, level, message }) => [policy, level, message.split("\n").at(-1)]);
    assert.deepEqual(found, [
        ["not-big", "mandatory", "b is too big on dev"],
        ["few", "advisory", "there are 2 things"],
    ]);
    assert.equal(analysis.passed, false);
    await engine.close();
    if (process.platform === "linux") {
        const lines = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(commandLine);
        assert.deepEqual(lines.filter((line) => line.includes(pack)), []);
    }
});

const PYTHON_PACK = `
from pulumi_policy import EnforcementLevel, PolicyConfigSchema, PolicyPack, ResourceValidationPolicy

def owned(args):
    if args.resource_type == "mem:index:Thing" and "owner" not in args.props:
        return {**args.props, "owner": args.get_config()["owner"]}

PolicyPack("owners", [
    ResourceValidationPolicy(
        "owned", "Things have an owner.", remediate=owned, enforcement_level=EnforcementLevel.REMEDIATE,
        config_schema=PolicyConfigSchema({"owner": {"type": "string", "default": "shop"}}),
    ),
])
`;

test("a pack in Python rewrites inputs with the defaults of its settings", { skip: noPythonPlugin }, async (t) => {
    const pack = folder(t);
    const virtualenv = path.dirname(path.dirname(pythonOfPlugins));
    fs.writeFileSync(path.join(pack, "PulumiPolicy.yaml"), `runtime:\n  name: python\n  options:\n    virtualenv: ${virtualenv}\n`);
    fs.writeFileSync(path.join(pack, "__main__.py"), PYTHON_PACK);
    const things = new Things();
    const engine = memoryEngine(things);
    const stack = await engine.stack("shop/dev", { program });
    await stack.up({ localPolicyPacks: [{ name: "owners", path: pack }] });
    assert.deepEqual([things.created.a.owner, things.created.b.owner], ["shop", "shop"]);
    const plan = await stack.preview({ localPolicyPacks: [{ name: "owners", path: pack, config: { owned: { owner: "team" } } }] });
    assert.deepEqual(plan.changes, { same: 1, update: 2 });
    const wrong = stack.preview({ localPolicyPacks: [{ name: "owners", path: pack, config: { owned: { owner: 3 } } }] });
    assert.match((await failureOf(wrong)).message, /the policy "owned" of the pack "owners" has the setting "owner", which is no string/);
    await engine.close();
});

/** Returns the command line of a process; nothing for one that has ended. */
function commandLine(id) {
    try {
        return fs.readFileSync(`/proc/${id}/cmdline`, "utf8");
    } catch {
        return "";
    }
}

test("a policy that answers after the end of the operation changes nothing", async () => {
    let asked;
    let answer;
    const wasAsked = new Promise((resolve) => (asked = resolve));
    const late = new Policy("late", {
        level: "mandatory",
        check: ({ type }) => {
            if (type !== THING) {
                return undefined;
            }
            asked();
            return new Promise((resolve) => (answer = () => resolve("too late")));
        },
    });
    const things = new Things();
    const stack = await memoryEngine(things).stack("shop/dev", { program });
    const operation = stack.up({ policies: [late] });
    await wasAsked;
    operation.cancel();
    operation.cancel();
    const error = await failureOf(operation);
    assert.equal(error.kind, "cancelled");
    const before = JSON.stringify(await stack.exportDeployment());
    answer();
    await new Promise(setImmediate);
    assert.equal(JSON.stringify(await stack.exportDeployment()), before);
    assert.ok(!JSON.stringify(error.result.diagnostics).includes("too late"));
    assert.deepEqual(things.created, {});
    await stack.up();
    assert.equal(things.created.b.size, 9);
});
