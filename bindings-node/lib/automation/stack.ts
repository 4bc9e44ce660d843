/** Stacks whose inline programs run without the language server that the SDK starts for them. */
import * as upstream from "@pulumi/pulumi/automation";

import { inspectAs } from "../inspection";
import { Command } from "./command";
import { listening, withProgram } from "./inline";

type SetupEventLog = (command: string, onEvent: (event: upstream.EngineEvent) => void, version: string) => Promise<object>;

/** The SDK's class without the modifiers of its members. */
const Base = upstream.Stack as unknown as (new () => upstream.Stack) & Omit<typeof upstream.Stack, "prototype">;

const { setupEventLog } = upstream.Stack.prototype as unknown as { setupEventLog: SetupEventLog };

/** `Stack` of `@pulumi/pulumi/automation`, whose inline program a command of this engine runs directly. */
export class Stack extends Base {
    static {
        inspectAs(this, (stack) => stack.name);
    }

    /** Creates a stack, which must not exist. */
    static override async create(name: string, workspace: upstream.Workspace): Promise<Stack> {
        return adopted(await super.create(name, workspace));
    }

    /** Selects a stack, which must exist. */
    static override async select(name: string, workspace: upstream.Workspace): Promise<Stack> {
        return adopted(await super.select(name, workspace));
    }

    /** Selects a stack, and creates it when it does not exist. */
    static override async createOrSelect(name: string, workspace: upstream.Workspace): Promise<Stack> {
        try {
            return adopted(await super.createOrSelect(name, workspace));
        } catch (error) {
            if (error instanceof upstream.StackAlreadyExistsError) {
                // Another caller has created it since it was looked for.
                return this.select(name, workspace);
            }
            throw error;
        }
    }

    /** Creates or updates the resources. */
    override up(opts?: upstream.UpOptions): Promise<upstream.UpResult> {
        return started(this, opts, (own) => super.up(own));
    }

    /** Computes what an update would do. */
    override preview(opts?: upstream.PreviewOptions): Promise<upstream.PreviewResult> {
        return started(this, opts, (own) => super.preview(own));
    }

    /** Reads the resources. */
    override refresh(opts?: upstream.RefreshOptions): Promise<upstream.RefreshResult> {
        return started(this, opts, (own) => super.refresh(own));
    }

    /** Computes what a refresh would do. */
    override previewRefresh(opts?: upstream.RefreshOptions): Promise<upstream.PreviewResult> {
        return started(this, opts, (own) => super.previewRefresh(own));
    }

    /** Deletes the resources. */
    override destroy(opts?: upstream.DestroyOptions): Promise<upstream.DestroyResult> {
        return started(this, opts, (own) => super.destroy(own));
    }

    /** Computes what a destroy would do. */
    override previewDestroy(opts?: upstream.DestroyOptions): Promise<upstream.PreviewResult> {
        return started(this, opts, (own) => super.previewDestroy(own));
    }
}

/**
 * Starts an operation of the SDK's class. That starts a language server for the program that it sees, so it sees none: it looks for one
 * before it waits for anything. Where it waits before, as for events of a refresh, its server is not used.
 */
function started<O extends object, R>(stack: Stack, opts: O | undefined, start: (opts: O | undefined) => R): R {
    const { workspace } = stack;
    const program = (opts as upstream.UpOptions | undefined)?.program ?? workspace.program;
    const isOwn = workspace.pulumiCommand instanceof Command && workspace instanceof upstream.LocalWorkspace;
    return withProgram(program, () => {
        if (program === undefined || !isOwn) {
            return start(opts);
        }
        const own = opts && { ...opts, program: undefined };
        const seen: { program?: upstream.PulumiFn | undefined } = workspace;
        const ofWorkspace = seen.program;
        seen.program = undefined;
        try {
            return start(own);
        } finally {
            seen.program = ofWorkspace;
        }
    });
}

/** Takes the place of the SDK's method of that name, which is private: events need no server. */
const listen: SetupEventLog = async function (this: Stack, command, onEvent, version) {
    const own = this.workspace.pulumiCommand instanceof Command ? listening(onEvent) : undefined;
    return own ?? setupEventLog.call(this, command, onEvent, version);
};
Object.defineProperty(Stack.prototype, "setupEventLog", { value: listen });

/**
 * Makes a stack, which the SDK has made of its own class, one of this class.
 *
 * @internal
 */
export function adopted(stack: upstream.Stack): Stack {
    return Object.setPrototypeOf(stack, Stack.prototype) as Stack;
}
