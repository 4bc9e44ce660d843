/** Compiled with default settings and no further types: the published declarations need none. */
import { Engine, type Provider } from "stackwright";

const notes: Provider = {
    create: ({ name, inputs }) => ({ id: name, outputs: inputs }),
    update: ({ inputs }) => ({ outputs: inputs }),
    delete() {},
};
const engine = new Engine({ store: "memory://", providers: { notes } });

export async function text(signal: AbortSignal): Promise<string> {
    const stack = await engine.stack("shop/dev", {
        program: (context) => context.export("text", context.resource("notes:index:Note", "first").get("text")),
    });
    return String(await stack.up({ signal }));
}
