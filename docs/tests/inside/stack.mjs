import assert from "node:assert/strict";

import { Engine, secret } from "stackwright";

const notes = {
    create: ({ name, inputs }) => ({ id: `note-${name}`, outputs: inputs }),
    read: ({ id }) => ({ id, outputs: { text: "hello" }, inputs: { text: "hello" } }),
    update: ({ inputs }) => ({ outputs: inputs }),
    delete() {},
};

function program(context) {
    const note = context.resource("notes:index:Note", "first", { text: "hello" });
    context.export("text", note.get("text"));
}

const engine = new Engine({ store: "memory://", passphrase: "correct horse", providers: { notes } });
const stack = await engine.stack("shop/dev", { program });
{
    // BLOCK
}
await engine.close();
