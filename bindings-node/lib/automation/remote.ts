/** Remote workspaces, which this engine does not have: they run on a service. */
import { InvalidInputError } from "../errors";

async function refuse(name: string): Promise<never> {
    throw new InvalidInputError(
        `RemoteWorkspace.${name}() is not supported: remote workspaces run on the Pulumi service, and this engine runs in this process`,
    );
}

/** Refuses remote workspaces. */
export class RemoteWorkspace {
    /** Refuses. */
    static createStack(..._: unknown[]): Promise<never> {
        return refuse("createStack");
    }

    /** Refuses. */
    static selectStack(..._: unknown[]): Promise<never> {
        return refuse("selectStack");
    }

    /** Refuses. */
    static createOrSelectStack(..._: unknown[]): Promise<never> {
        return refuse("createOrSelectStack");
    }
}
