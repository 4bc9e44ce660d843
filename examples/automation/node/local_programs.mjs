/** Deploys the program of a folder, in TypeScript. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import * as auto from "@pulumi/pulumi/automation";

const workDir = mkdtempSync(join(tmpdir(), "program-"));
// The packages of this script are those of the program.
const sdk = dirname(createRequire(import.meta.url).resolve("@pulumi/pulumi/package.json"));
symlinkSync(dirname(dirname(sdk)), join(workDir, "node_modules"));
writeFileSync(join(workDir, "Pulumi.yaml"), "name: shop\nruntime: nodejs\n");
writeFileSync(join(workDir, "package.json"), "{}");
writeFileSync(
    join(workDir, "index.ts"),
    `import * as pulumi from "@pulumi/pulumi";
    interface Settings { size: number }
    const settings: Settings = { size: new pulumi.Config().requireNumber("size") };
    console.log("greetings from the program");
    export const size: number = settings.size;
    export const process_: number = process.pid;`,
);
const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", workDir });
await stack.setConfig("size", { value: "3" });
let output = "";
const { outputs } = await stack.up({ onOutput: (text) => (output += text) });
assert.ok(outputs.size.value === 3 && outputs.process_.value !== process.pid);
assert.ok(output.includes("greetings from the program") && existsSync(join(workDir, "Pulumi.dev.yaml")));
writeFileSync(join(workDir, "index.ts"), 'throw new TypeError("it is wrong");');
await assert.rejects(stack.up(), (error) => error instanceof auto.CommandError && error.message.includes("it is wrong"));
await stack.destroy();
rmSync(workDir, { recursive: true });
