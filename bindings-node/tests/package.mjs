/** The package that the tests use: that of the working tree, or the one that is installed for them (`make test-node`). */
import { createRequire } from "node:module";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);

/** The folder that has the tests in `bindings-node/tests`: the working tree, or one with its layout and the installed packages. */
export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** The folder of the package. */
export const packageFolder = path.dirname(require.resolve("stackwright/package.json"));

/** Returns the file of a module of the package that has no export, such as `bin.js`. */
export const fileOf = (module) => path.join(packageFolder, "bindings-node", "dist", module);

/** Loads a module of the package that has no export. */
export const internal = (module) => require(fileOf(module));
