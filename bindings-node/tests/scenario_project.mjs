/** What the Node binding's actor does with a project: its files, its settings, and the tags of a stack. */
import { fromPlainJson } from "stackwright";

/** Answers the request `project`. */
export async function act(engine, stack, message) {
    const found = await (["tag", "untag", "tags"].includes(message.part) ? tagged(stack, message) : changed(engine, message));
    return { found: found ?? null };
}

function tagged(stack, { part, path, value }) {
    switch (part) {
        case "tag":
            return stack.setTag(path, value);
        case "untag":
            return stack.removeTag(path);
        default:
            return stack.listTags();
    }
}

async function changed(engine, { part, folder, stack, path, value, values, paths, secret, showSecrets, passphrase: given }) {
    const project = await engine.project(folder);
    const passphrase = given ?? undefined;
    switch (part) {
        case "facts":
            return project.facts();
        case "settings":
            return project.settings(stack);
        case "write":
            return project.set(path, value);
        case "erase":
            return project.remove(path);
        case "get":
            return project.getConfig(stack, path, { passphrase });
        case "list":
            return project.listConfig(stack, { showSecrets, passphrase });
        case "set":
            return project.setAllConfig(stack, fromPlainJson(values), { secret: secret ?? undefined, passphrase });
        case "remove":
            return project.removeConfig(stack, paths);
        default:
            throw new Error(`this actor cannot ${part} a project`);
    }
}
