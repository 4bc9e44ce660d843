/** The lifecycle of a stack over real files: in-process, dynamic and plugin providers, with SDK and native programs. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";

import * as pulumi from "@pulumi/pulumi";
import { Engine, sdkProgram, unwrap } from "stackwright";

import { folder, goBuild } from "./support.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const plugins = path.join(root, "build", "plugins");

before(() => goBuild("go-provider", path.join(plugins, "pulumi-resource-gofiles")));

/** In-process provider of files: a new path replaces the file, a new text updates it. */
class Notes {
    constructor(directory) {
        this.directory = directory;
    }

    diff({ oldInputs, inputs }) {
        const diffs = ["path", "text"].filter((name) => oldInputs[name] !== inputs[name]);
        return { changes: diffs.length !== 0, diffs, replaces: diffs.filter((name) => name === "path") };
    }

    create({ inputs }) {
        fs.writeFileSync(this.#file(inputs.path), inputs.text);
        return { id: inputs.path, outputs: { ...inputs, length: inputs.text.length } };
    }

    update({ inputs }) {
        fs.writeFileSync(this.#file(inputs.path), inputs.text);
        return { outputs: { ...inputs, length: inputs.text.length } };
    }

    read({ id }) {
        if (!fs.existsSync(this.#file(id))) {
            return undefined;
        }
        const inputs = { path: id, text: fs.readFileSync(this.#file(id), "utf8") };
        return { id, inputs, outputs: { ...inputs, length: inputs.text.length } };
    }

    delete({ id }) {
        fs.rmSync(this.#file(id), { force: true });
    }

    #file(name) {
        return path.join(this.directory, name);
    }
}

class Note extends pulumi.CustomResource {
    constructor(name, inputs, options) {
        super("notes:index:Note", name, { length: undefined, ...inputs }, options);
    }
}

class GoFile extends pulumi.CustomResource {
    constructor(name, inputs, options) {
        super("gofiles:index:File", name, { size: undefined, sha256: undefined, ...inputs }, options);
    }
}

/** A dynamic provider: the SDK serializes its code and runs it in the SDK's plugin process. */
const dynamicNotes = {
    async diff(id, olds, news) {
        return { changes: olds.path !== news.path || olds.text !== news.text, replaces: id === news.path ? [] : ["path"] };
    },
    async create(inputs) {
        require("node:fs").writeFileSync(inputs.path, inputs.text);
        return { id: inputs.path, outs: { ...inputs, length: inputs.text.length } };
    },
    async read(id, props) {
        const files = require("node:fs");
        if (!files.existsSync(id)) {
            return {};
        }
        const text = files.readFileSync(id, "utf8");
        return { id, props: { ...props, path: id, text, length: text.length } };
    },
    async update(_id, _olds, news) {
        require("node:fs").writeFileSync(news.path, news.text);
        return { outs: { ...news, length: news.text.length } };
    },
    async delete(id) {
        require("node:fs").rmSync(id, { force: true });
    },
};

class DynamicNote extends pulumi.dynamic.Resource {
    constructor(name, inputs) {
        super(dynamicNotes, name, { length: undefined, ...inputs });
    }
}

/** A folder of files, and a store beside it. */
function workspace(t) {
    const directory = folder(t);
    const files = path.join(directory, "files");
    fs.mkdirSync(files);
    const at = (name) => path.join(files, name);
    return {
        files,
        at,
        store: `file://${path.join(directory, "state")}`,
        checkpoint: path.join(directory, "state", ".pulumi", "stacks", "shop", "dev.json"),
        write: (name, text) => fs.writeFileSync(at(name), text),
        content: () => Object.fromEntries(fs.readdirSync(files).sort().map((name) => [name, fs.readFileSync(at(name), "utf8")])),
    };
}

function engineOf(t, { files, store }) {
    const engine = new Engine({
        store,
        passphrase: "test",
        providers: { notes: new Notes(files) },
        plugins: { directories: [plugins] },
    });
    t.after(() => engine.close());
    return engine;
}

/** Returns the steps of a result by the resource's name, without stacks and providers. */
function steps(result) {
    const found = {};
    for (const { op, urn, type } of result.steps) {
        if (!type.startsWith("pulumi:providers:") && type !== "pulumi:pulumi:Stack") {
            (found[urn.split("::").at(-1)] ??= []).push(op);
        }
    }
    return Object.fromEntries(Object.entries(found).sort());
}

/** Returns the records of the checkpoint file by name, without stacks and providers. */
function records({ checkpoint }) {
    const { version, checkpoint: { latest } } = JSON.parse(fs.readFileSync(checkpoint, "utf8"));
    assert.equal(version, 3);
    const own = (latest.resources ?? []).filter(({ type }) => !type.startsWith("pulumi:p"));
    assert.equal(latest.pending_operations, undefined);
    return Object.fromEntries(own.map((record) => [record.urn.split("::").at(-1), record]));
}

const REPLACED = ["create-replacement", "replace", "delete-replaced"];

test("an SDK program with in-process, dynamic and plugin resources runs through its lifecycle", async (t) => {
    const place = workspace(t);
    const engine = engineOf(t, place);
    let desired = {
        notes: { kept: ["kept.txt", "one"], moved: ["here.txt", "two"], gone: ["gone.txt", "three"] },
        dynamic: { kept: ["dyn-kept.txt", "one"], moved: ["dyn-here.txt", "two"], gone: ["dyn-gone.txt", "three"] },
        go: { kept: ["go-kept.txt", "one"], moved: ["go-here.txt", "two"], gone: ["go-gone.txt", "three"] },
    };
    const program = sdkProgram(async () => {
        const made = {};
        for (const [name, [file, text]] of Object.entries(desired.notes)) {
            made[name] = new Note(`note-${name}`, { path: file, text });
        }
        for (const [name, [file, text]] of Object.entries(desired.dynamic)) {
            new DynamicNote(`dynamic-${name}`, { path: place.at(file), text });
        }
        for (const [name, [file, text]] of Object.entries(desired.go)) {
            // An output of an in-process resource is an input of a plugin's resource.
            const content = pulumi.interpolate`${text} ${made.kept.length}`;
            new GoFile(`go-${name}`, { path: place.at(file), content });
        }
        return { length: made.kept.length };
    });
    const stack = await engine.stack("shop/dev", { program });
    const everything = ["note", "dynamic", "go"].flatMap((kind) => ["kept", "moved", "gone"].map((name) => `${kind}-${name}`)).sort();
    const all = (op) => Object.fromEntries(everything.map((name) => [name, [op]]));

    const preview = await stack.preview();
    assert.deepEqual(steps(preview), all("create"));
    assert.deepEqual(place.content(), {}, "a preview creates nothing");

    const created = await stack.up();
    assert.deepEqual(steps(created), all("create"));
    assert.deepEqual(unwrap(created.outputs), { length: 3 });
    const first = {
        "kept.txt": "one", "here.txt": "two", "gone.txt": "three",
        "dyn-kept.txt": "one", "dyn-here.txt": "two", "dyn-gone.txt": "three",
        "go-kept.txt": "one 3", "go-here.txt": "two 3", "go-gone.txt": "three 3",
    };
    assert.deepEqual(place.content(), first);
    assert.deepEqual(Object.keys(records(place)).sort(), everything);
    assert.equal(records(place)["go-kept"].outputs.size, 5);
    assert.deepEqual(records(place)["go-kept"].dependencies, [records(place)["note-kept"].urn]);

    const nothing = await stack.up();
    assert.deepEqual(steps(nothing), {});
    assert.deepEqual(nothing.changes, { same: everything.length + 1 });

    desired = {
        notes: { kept: ["kept.txt", "one more"], moved: ["there.txt", "two"] },
        dynamic: { kept: ["dyn-kept.txt", "one more"], moved: ["dyn-there.txt", "two"] },
        go: { kept: ["go-kept.txt", "one more"], moved: ["go-there.txt", "two"] },
    };
    const changed = await stack.up();
    const found = steps(changed);
    for (const kind of ["note", "dynamic", "go"]) {
        assert.deepEqual(found[`${kind}-kept`], ["update"], `${kind}: updated in place`);
        assert.deepEqual([...found[`${kind}-moved`]].sort(), [...REPLACED].sort(), `${kind}: replaced`);
        assert.deepEqual(found[`${kind}-gone`], ["delete"], `${kind}: deleted`);
    }
    assert.equal(Object.keys(found).length, 9);
    assert.deepEqual(changed.changes, { same: 1, update: 3, replace: 3, delete: 3 });
    assert.deepEqual(place.content(), {
        "kept.txt": "one more", "there.txt": "two",
        "dyn-kept.txt": "one more", "dyn-there.txt": "two",
        "go-kept.txt": "one more 8", "go-there.txt": "two 8",
    });

    // Files are edited and removed outside of the engine.
    for (const name of ["kept.txt", "dyn-kept.txt", "go-kept.txt"]) {
        place.write(name, "by hand");
    }
    for (const name of ["there.txt", "dyn-there.txt", "go-there.txt"]) {
        fs.rmSync(place.at(name));
    }
    const refreshed = await stack.refresh();
    const after = records(place);
    assert.deepEqual(Object.keys(after).sort(), ["dynamic-kept", "go-kept", "note-kept"]);
    assert.equal(after["note-kept"].outputs.text, "by hand");
    assert.equal(after["dynamic-kept"].outputs.text, "by hand");
    assert.equal(after["go-kept"].outputs.content, "by hand");
    assert.deepEqual(refreshed.changes, { same: 1, update: 3, delete: 3 });

    const repaired = await stack.up();
    assert.deepEqual(repaired.changes, { same: 1, update: 3, create: 3 });
    assert.equal(place.content()["kept.txt"], "one more");
    assert.equal(place.content()["dyn-kept.txt"], "one more");
    assert.equal(place.content()["go-there.txt"], "two 8");

    const destroyed = await stack.destroy();
    assert.equal(destroyed.changes.delete, 7);
    assert.deepEqual(place.content(), {});
    assert.deepEqual(records(place), {});
    assert.deepEqual((await stack.history()).map(({ kind, result }) => `${kind} ${result}`), [
        "destroy succeeded", "update succeeded", "refresh succeeded",
        "update succeeded", "update succeeded", "update succeeded",
    ]);
    await stack.remove();
    assert.deepEqual(await engine.stacks(), []);
});

const nativeProgram = (place, desired) => async (context) => {
    const kept = context.resource("notes:index:Note", "note-kept", { path: "kept.txt", text: desired.text });
    context.resource("notes:index:Note", "note-moved", { path: desired.note, text: "two" });
    context.resource("gofiles:index:File", "go-kept", {
        path: place.at("go-kept.txt"),
        content: kept.get("length").apply((length) => `${desired.text} ${length}`),
    });
    context.resource("gofiles:index:File", "go-moved", { path: place.at(desired.go), content: "two" });
    if (desired.gone) {
        context.resource("notes:index:Note", "note-gone", { path: "gone.txt", text: "three" });
        context.resource("gofiles:index:File", "go-gone", { path: place.at("go-gone.txt"), content: "three" });
    }
    context.export("length", kept.get("length"));
};

test("a native program with in-process and plugin resources runs through its lifecycle", async (t) => {
    const place = workspace(t);
    const engine = engineOf(t, place);
    const stack = await engine.stack("shop/dev", {
        program: nativeProgram(place, { text: "one", note: "here.txt", go: "go-here.txt", gone: true }),
    });
    assert.equal((await stack.preview()).changes.create, 7);
    assert.deepEqual(place.content(), {});
    const created = await stack.up();
    assert.equal(created.changes.create, 7);
    assert.deepEqual(unwrap(created.outputs), { length: 3 });
    assert.deepEqual(place.content(), {
        "kept.txt": "one", "here.txt": "two", "gone.txt": "three",
        "go-kept.txt": "one 3", "go-here.txt": "two", "go-gone.txt": "three",
    });
    assert.deepEqual((await stack.up()).changes, { same: 7 });
    const program = nativeProgram(place, { text: "one more", note: "there.txt", go: "go-there.txt", gone: false });
    const changed = await stack.up({ program });
    assert.deepEqual(changed.changes, { same: 1, update: 2, replace: 2, delete: 2 });
    assert.deepEqual(steps(changed)["go-kept"], ["update"]);
    assert.deepEqual([...steps(changed)["go-moved"]].sort(), [...REPLACED].sort());
    assert.deepEqual(steps(changed)["go-gone"], ["delete"]);
    assert.deepEqual(place.content(), {
        "kept.txt": "one more", "there.txt": "two", "go-kept.txt": "one more 8", "go-there.txt": "two",
    });
    place.write("kept.txt", "by hand");
    place.write("go-kept.txt", "by hand");
    fs.rmSync(place.at("there.txt"));
    fs.rmSync(place.at("go-there.txt"));
    assert.deepEqual((await stack.refresh()).changes, { same: 1, update: 2, delete: 2 });
    assert.deepEqual(Object.keys(records(place)).sort(), ["go-kept", "note-kept"]);
    assert.equal(records(place)["go-kept"].outputs.content, "by hand");
    assert.equal((await stack.destroy()).changes.delete, 3);
    assert.deepEqual(place.content(), {});
});

test("a native program updates a stack of an SDK program, in another engine", async (t) => {
    const place = workspace(t);
    const made = await engineOf(t, place).stack("shop/dev", {
        program: sdkProgram(async () => {
            const kept = new Note("note-kept", { path: "kept.txt", text: "one" });
            new Note("note-moved", { path: "here.txt", text: "two" });
            new GoFile("go-kept", { path: place.at("go-kept.txt"), content: pulumi.interpolate`one ${kept.length}` });
            new GoFile("go-moved", { path: place.at("go-here.txt"), content: "two" });
            return { length: kept.length };
        }),
    });
    await made.up();
    const same = await engineOf(t, place).stack("shop/dev", {
        create: false,
        program: nativeProgram(place, { text: "one", note: "here.txt", go: "go-here.txt", gone: false }),
    });
    assert.deepEqual((await same.up()).changes, { same: 5 });
    const changed = await same.up({
        program: nativeProgram(place, { text: "one more", note: "there.txt", go: "go-here.txt", gone: true }),
    });
    assert.deepEqual(changed.changes, { same: 2, update: 2, replace: 1, create: 2 });
    assert.deepEqual(place.content(), {
        "kept.txt": "one more", "there.txt": "two", "gone.txt": "three",
        "go-kept.txt": "one more 8", "go-here.txt": "two", "go-gone.txt": "three",
    });
    assert.equal((await made.destroy()).changes.delete, 7);
    assert.deepEqual(place.content(), {});
});
