/** The TCP sockets of this process. */
import * as fs from "node:fs";

const ESTABLISHED = "01";
const LISTEN = "0A";

/** Returns the inodes of this process's listening TCP sockets. */
export const listeners = () => sockets(LISTEN);

/** Returns the inodes of this process's connected TCP sockets. */
export const connections = () => sockets(ESTABLISHED);

function sockets(state) {
    const own = new Set();
    for (const descriptor of fs.readdirSync("/proc/self/fd")) {
        try {
            const socket = /^socket:\[(\d+)\]$/.exec(fs.readlinkSync(`/proc/self/fd/${descriptor}`));
            if (socket !== null) {
                own.add(socket[1]);
            }
        } catch {
            // The descriptor of the listing itself, or closed meanwhile.
        }
    }
    const rows = ["tcp", "tcp6"].flatMap((table) => {
        const path = `/proc/self/net/${table}`;
        return fs.existsSync(path) ? fs.readFileSync(path, "utf8").trim().split("\n").slice(1) : [];
    });
    const fields = rows.map((row) => row.trim().split(/\s+/));
    return fields.filter((row) => row[3] === state && own.has(row[9])).map((row) => row[9]);
}
