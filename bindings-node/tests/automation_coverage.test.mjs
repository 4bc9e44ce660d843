/** The document of the coverage of `@pulumi/pulumi/automation`. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const python = process.env.STACKWRIGHT_TEST_PYTHON ?? "python3";
const script = fileURLToPath(new URL("../../api/automation/coverage.py", import.meta.url));

test("every name of the SDK is tested or has a reason", async () => {
    const checked = await promisify(execFile)(python, [script, "--check", "node"], { timeout: 60_000 }).catch((error) => error);
    assert.equal(checked.stderr, "");
});
