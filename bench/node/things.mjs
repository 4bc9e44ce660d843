/** Shared by the measurements of the Node binding: a provider that does nothing, folders, and the printing of figures. */
import * as fs from "node:fs";
import * as path from "node:path";

export const UNBOUNDED = 2 ** 31 - 1;

/** Gives inputs back as outputs, at once. Check and Diff are the engine's own. */
export class Things {
    create(request) {
        return { id: request.name, outputs: request.inputs };
    }

    delete() {}
}

/** Creates a folder below the working directory, calls `work` with its path, and removes it. */
export async function inFolder(work) {
    const folder = fs.mkdtempSync(path.join(process.cwd(), "node-"));
    try {
        return await work(folder);
    } finally {
        fs.rmSync(folder, { recursive: true, force: true });
    }
}

const prefix = process.argv[2] ?? "";

export const isSelected = (name) => name.startsWith(prefix);

/** Prints a figure if it is selected. */
export function print(name, value, unit) {
    if (isSelected(name)) {
        process.stdout.write(`figure ${name} ${value.toFixed(value >= 100 ? 0 : 3)} ${unit}\n`);
    }
}

/** Writes a line to the standard error. */
export const report = (text) => process.stderr.write(`${text}\n`);

/** Calls `work` and returns the seconds that it took. */
export async function seconds(work) {
    const began = performance.now();
    await work();
    return (performance.now() - began) / 1000;
}
