/** The version of this package. */

/** The version of this package, as semantic versioning has it. */
export const { version } = require("../../package.json") as { readonly version: string };
