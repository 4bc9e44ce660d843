/** Detects that a file was changed by hand, and repairs it. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "@pulumi/pulumi/automation";

const provider = {
    async create(inputs) {
        require("fs").writeFileSync(inputs.path, inputs.content);
        return { id: inputs.path, outs: inputs };
    },
    async read(id, props) {
        const fs = require("fs");
        return fs.existsSync(id) ? { id, props: { ...props, content: fs.readFileSync(id, "utf8") } } : { id: "", props: {} };
    },
    async diff(_, before, after) {
        return { changes: before.content !== after.content };
    },
    async update(id, before, after) {
        require("fs").writeFileSync(id, after.content);
        return { outs: after };
    },
    async delete(id) {
        require("fs").rmSync(id, { force: true });
    },
};

class File extends pulumi.dynamic.Resource {
    constructor(name, path, content) {
        super(provider, name, { path, content });
    }
}

const folder = mkdtempSync(join(tmpdir(), "drift-"));
const page = join(folder, "page.html");
const program = async () => {
    new File("page", page, "<h1>Hello</h1>");
};
const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "shop", program });
await stack.up();
await stack.refresh({ expectNoChanges: true });
writeFileSync(page, "defaced");
const drift = await stack.previewRefresh();
console.log("drift:", drift.changeSummary);
assert.equal(drift.changeSummary.update, 1);
await stack.refresh();
await stack.up();
assert.equal(readFileSync(page, "utf8"), "<h1>Hello</h1>");
rmSync(page);
assert.equal((await stack.refresh()).summary.resourceChanges?.delete, 1);
assert.equal((await stack.up()).summary.resourceChanges?.create, 1);
await stack.destroy();
rmSync(folder, { recursive: true });
