/** `native.node.{create,noop}.10000`: resources a second through the package's own API: `node native.mjs [PREFIX]`. */
import { Engine } from "../../bindings-node/index.mjs";
import { inFolder, print, report, seconds, Things, UNBOUNDED } from "./things.mjs";

const RESOURCES = 10_000;

function program(context) {
    for (let number = 0; number < RESOURCES; number++) {
        context.resource("things:index:Thing", `thing-${number}`, { number, tags: { a: "b", c: [1, 2, 3] } });
    }
}

await inFolder(async (folder) => {
    const engine = new Engine({ store: `file://${folder}`, passphrase: "bench", providers: { things: new Things() } });
    const stack = await engine.stack("bench/dev", { program });
    for (const verb of ["create", "noop"]) {
        let result;
        const took = await seconds(async () => {
            result = await stack.up({ parallel: UNBOUNDED, noEvents: true });
        });
        report(`native.node.${verb}: ${JSON.stringify(result.changes)} in ${took.toFixed(2)} s`);
        print(`native.node.${verb}.${RESOURCES}`, RESOURCES / took, "resources/s");
    }
    await engine.close();
});
