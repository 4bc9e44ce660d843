/** `testing.node.100`: 100 runs of a program with 50 resources in the test kit, in seconds: `node testing.mjs [PREFIX]`. */
import { simulate } from "../../bindings-node/dist/testing/index.js";
import { print, seconds } from "./things.mjs";

const RUNS = 100;
const RESOURCES = 50;
const MAX_SECONDS = 5;

const program = (context) => {
    for (let number = 0; number < RESOURCES; number++) {
        context.resource("things:index:Thing", `thing-${number}`, { number, tags: { a: "b", c: [1, 2, 3] } });
    }
};

const took = await seconds(async () => {
    for (let run = 0; run < RUNS; run++) {
        const stack = await simulate(program);
        if (stack.world.size !== RESOURCES) {
            throw new Error(`the world has ${stack.world.size} things`);
        }
        await stack.close();
    }
});
print(`testing.node.${RUNS}`, took, "s");
if (took > MAX_SECONDS) {
    throw new Error(`${RUNS} runs took ${took.toFixed(2)} s`);
}
