/** A store in a folder, and a host on it that hangs in a creation until it is killed: `node folder_store.mjs FOLDER`. */
import * as fs from "node:fs";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

import { ConflictError } from "stackwright";

import { Memory, memoryEngine } from "./support.mjs";

/** Keeps objects in a folder, for one process after another: conditions are tested without a lock. */
export class FolderStore {
    constructor(place) {
        this.place = place;
    }
    #path(key) {
        return path.join(this.place, encodeURIComponent(key));
    }
    get(key) {
        if (!fs.existsSync(this.#path(key))) {
            return undefined;
        }
        const { version, content } = JSON.parse(fs.readFileSync(this.#path(key), "utf8"));
        return { version, content: Buffer.from(content, "base64") };
    }
    put(key, content, condition) {
        const version = this.get(key)?.version;
        if (condition.kind !== "any" && version !== condition.version) {
            throw new ConflictError("it was changed");
        }
        const next = crypto.randomUUID();
        fs.writeFileSync(`${this.#path(key)}~`, JSON.stringify({ version: next, content: Buffer.from(content).toString("base64") }));
        fs.renameSync(`${this.#path(key)}~`, this.#path(key));
        return next;
    }
    list(prefix) {
        const keys = fs.readdirSync(this.place).filter((name) => !name.endsWith("~")).map(decodeURIComponent);
        return keys
            .filter((key) => key.startsWith(prefix))
            .map((key) => ({ key, size: this.get(key).content.length, modified: fs.statSync(this.#path(key)).mtime }));
    }
    delete(key) {
        fs.rmSync(this.#path(key), { force: true });
    }
}

/** Makes two resources, the second after the first. */
export const chained = (context) => {
    const first = context.resource("mem:index:Thing", "a", {});
    context.resource("mem:index:Thing", "b", { after: first.id });
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const provider = new Memory({
        create: ({ name }) => {
            if (name === "b") {
                console.log("held");
                return new Promise((resolve) => setTimeout(resolve, 2 ** 30));
            }
        },
    });
    const engine = memoryEngine(provider, { store: new FolderStore(process.argv[2]) });
    await (await engine.stack("shop/dev", { program: chained })).up();
}
