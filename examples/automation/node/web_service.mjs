/** A web service that deploys a site for each name that it is asked for. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";

import * as pulumi from "@pulumi/pulumi";
import * as auto from "@pulumi/pulumi/automation";

const argsOf = (name) => ({
    stackName: name,
    projectName: "sites",
    program: async () => {
        new pulumi.ComponentResource("shop:index:Site", name);
        return { url: `https://${name}.example.com/` };
    },
});

async function answer(method, name) {
    try {
        if (method === "POST") {
            const stack = await auto.LocalWorkspace.createStack(argsOf(name));
            const { outputs } = await stack.up();
            return [201, { url: outputs.url.value }];
        }
        const stack = await auto.LocalWorkspace.selectStack(argsOf(name));
        await stack.destroy({ remove: true });
        return [200, { deleted: name }];
    } catch (error) {
        if (error instanceof auto.StackAlreadyExistsError) {
            return [409, { error: `${name} exists` }];
        }
        if (error instanceof auto.StackNotFoundError) {
            return [404, { error: `there is no ${name}` }];
        }
        return [500, { error: String(error) }];
    }
}

const server = createServer(async (request, response) => {
    const [status, body] = await answer(request.method, request.url.slice(1));
    response.writeHead(status).end(JSON.stringify(body));
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const ask = async (method, name) => {
    const response = await fetch(`http://127.0.0.1:${server.address().port}/${name}`, { method });
    return [response.status, await response.json()];
};
const both = await Promise.all([ask("POST", "one"), ask("POST", "two")]);
assert.deepEqual(both, [
    [201, { url: "https://one.example.com/" }],
    [201, { url: "https://two.example.com/" }],
]);
assert.equal((await ask("POST", "one"))[0], 409);
assert.deepEqual(await ask("DELETE", "one"), [200, { deleted: "one" }]);
assert.equal((await ask("DELETE", "one"))[0], 404);
console.log(await ask("DELETE", "two"));
server.closeAllConnections();
server.close();
