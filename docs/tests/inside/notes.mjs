import { Engine } from "stackwright";

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

// BLOCK
