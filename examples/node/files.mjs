/** A provider of real files, in this process, for both example programs. */
import * as fs from "node:fs/promises";
import * as path from "node:path";

import { isUnknown, ProviderError, ProviderStatus } from "stackwright";

/** Manages `files:index:File`: a text at a path. Its methods run concurrently, as those of any provider do. */
export class Files {
    /** The folder of all files. */
    constructor(root) {
        this.root = path.resolve(root);
    }

    check({ inputs }) {
        // In a preview, outputs of resources that do not exist yet are unknown.
        const failures = ["path", "content"]
            .filter((name) => typeof inputs[name] !== "string" && !isUnknown(inputs[name]))
            .map((property) => ({ property, reason: "must be a text" }));
        return { failures };
    }

    diff({ oldInputs, inputs }) {
        const diffs = ["path", "content"].filter((name) => oldInputs[name] !== inputs[name]);
        // Another path replaces the file.
        return { changes: diffs.length > 0, diffs, replaces: diffs.filter((name) => name === "path") };
    }

    async create({ inputs }) {
        const file = this.locate(inputs.path);
        await fs.mkdir(path.dirname(file), { recursive: true });
        try {
            await fs.writeFile(file, inputs.content, { flag: "wx" });
        } catch (error) {
            throw error.code === "EEXIST"
                ? new ProviderError(`${inputs.path} exists already`, ProviderStatus.alreadyExists)
                : error;
        }
        return { id: inputs.path, outputs: await this.outputs(inputs) };
    }

    async update({ inputs }) {
        await fs.writeFile(this.locate(inputs.path), inputs.content);
        return { outputs: await this.outputs(inputs) };
    }

    async read({ id }) {
        try {
            const inputs = { path: id, content: await fs.readFile(this.locate(id), "utf8") };
            return { id, inputs, outputs: await this.outputs(inputs) };
        } catch (error) {
            if (error.code === "ENOENT") {
                return undefined;
            }
            throw error;
        }
    }

    async delete({ id }) {
        await fs.rm(this.locate(id), { force: true });
    }

    async outputs(inputs) {
        const { size } = await fs.stat(this.locate(inputs.path));
        return { ...inputs, size };
    }

    locate(relative) {
        const file = path.resolve(this.root, relative);
        if (!file.startsWith(this.root + path.sep)) {
            throw new ProviderError(`${relative} is not below ${this.root}`);
        }
        return file;
    }
}
