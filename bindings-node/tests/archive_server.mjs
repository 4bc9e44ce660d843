/** A server of plugins' archives on loopback, and the archives. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

/** Packs a plugin, and returns the path of its archive. */
export function archive(directory, name = "shop") {
    const place = join(directory, "unpacked");
    const executable = `pulumi-resource-${name}`;
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, executable), "shelf");
    chmodSync(join(place, executable), 0o755);
    const path = join(directory, `${name}.tar.gz`);
    execFileSync("tar", ["-czf", path, "-C", place, executable]);
    return path;
}

/** Serves one archive at the paths that begin with a text. */
export async function serve(t, begin, path) {
    const asked = [];
    const server = createServer((request, response) => {
        asked.push(request.url);
        const found = request.url?.startsWith(begin);
        response.writeHead(found ? 200 : 404).end(found ? readFileSync(path) : "");
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
    t.after(() => server.close());
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    return { url: `http://127.0.0.1:${port}`, asked };
}
