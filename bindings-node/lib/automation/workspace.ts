/** Workspaces whose command is that of this engine. */
import { existsSync } from "node:fs";

import * as upstream from "@pulumi/pulumi/automation";

import { guarded } from "../errors";
import { inspectAs } from "../inspection";
import { native } from "../native";
import { Command, defaultCommand } from "./command";
import { adopted as adoptedStack, type Stack } from "./stack";

/** The SDK's class without the modifier of its constructor. */
const Base = upstream.LocalWorkspace as unknown as (new () => upstream.LocalWorkspace) &
    Omit<typeof upstream.LocalWorkspace, "prototype">;

/** The entries of a settings file whose names the SDK changes. */
const RENAMED = [
    ["secretsprovider", "secretsProvider"],
    ["encryptedkey", "encryptedKey"],
    ["encryptionsalt", "encryptionSalt"],
] as const;

/** `LocalWorkspace` of `@pulumi/pulumi/automation`, with a command of this engine where none is given. */
export class LocalWorkspace extends Base {
    static {
        // Its members have the variables of the environment, and the passphrase among them.
        inspectAs(this, (workspace) => workspace.workDir);
    }

    /** Creates a workspace. */
    static override async create(opts: upstream.LocalWorkspaceOptions): Promise<LocalWorkspace> {
        return adopted(await super.create(withCommand(opts, opts.workDir)));
    }

    /** Creates a stack with a program in this process, which must not exist. */
    static override async createStack(
        args: upstream.InlineProgramArgs,
        opts?: upstream.LocalWorkspaceOptions,
    ): Promise<Stack>;
    /** Creates a stack with the program of a folder, which must not exist. */
    static override async createStack(
        args: upstream.LocalProgramArgs,
        opts?: upstream.LocalWorkspaceOptions,
    ): Promise<Stack>;
    static override async createStack(args: any, opts?: upstream.LocalWorkspaceOptions): Promise<Stack> {
        return stackOf(await super.createStack(args, withCommand(opts, args.workDir)));
    }

    /** Selects a stack with a program in this process, which must exist. */
    static override async selectStack(
        args: upstream.InlineProgramArgs,
        opts?: upstream.LocalWorkspaceOptions,
    ): Promise<Stack>;
    /** Selects a stack with the program of a folder, which must exist. */
    static override async selectStack(
        args: upstream.LocalProgramArgs,
        opts?: upstream.LocalWorkspaceOptions,
    ): Promise<Stack>;
    static override async selectStack(args: any, opts?: upstream.LocalWorkspaceOptions): Promise<Stack> {
        return stackOf(await super.selectStack(args, withCommand(opts, args.workDir)));
    }

    /** Selects a stack with a program in this process, and creates it when it does not exist. */
    static override async createOrSelectStack(
        args: upstream.InlineProgramArgs,
        opts?: upstream.LocalWorkspaceOptions,
    ): Promise<Stack>;
    /** Selects a stack with the program of a folder, and creates it when it does not exist. */
    static override async createOrSelectStack(
        args: upstream.LocalProgramArgs,
        opts?: upstream.LocalWorkspaceOptions,
    ): Promise<Stack>;
    static override async createOrSelectStack(args: any, opts?: upstream.LocalWorkspaceOptions): Promise<Stack> {
        try {
            return stackOf(await super.createOrSelectStack(args, withCommand(opts, args.workDir)));
        } catch (error) {
            if (error instanceof upstream.StackAlreadyExistsError) {
                // Another caller has created it since it was looked for.
                return this.selectStack(args, opts);
            }
            throw error;
        }
    }

    /**
     * Writes the settings of the project, as a whole or not at all. Entries of the file that the type does not have, such as `packages`,
     * stay; so do comments.
     */
    override async saveProjectSettings(settings: upstream.ProjectSettings): Promise<void> {
        guarded(() => native.replaceProject(this.workDir, JSON.stringify(settings)));
    }

    /** Returns the settings of a stack, with every entry of its file. */
    override async stackSettings(stackName: string): Promise<upstream.StackSettings> {
        const document = guarded(() => native.settingsDocument(this.workDir, stackName));
        if (document === null) {
            throw new Error(`failed to find stack settings file in workdir: ${this.workDir}`);
        }
        const entries = JSON.parse(document) as { [name: string]: unknown };
        for (const [written, name] of RENAMED) {
            if (written in entries) {
                entries[name] = entries[written];
                delete entries[written];
            }
        }
        return entries as upstream.StackSettings;
    }

    /**
     * Writes the settings of a stack, as a whole or not at all. Entries of the file that the type does not have, such as `environment`,
     * stay; so do comments.
     */
    override async saveStackSettings(stackName: string, settings: upstream.StackSettings): Promise<void> {
        saveSettings(this.workDir, stackName, settings);
    }

    /** Returns the outputs of a stack. One is secret when anything inside it is. */
    override async stackOutputs(stackName: string): Promise<upstream.OutputMap> {
        const printed = async (...flags: string[]): Promise<{ [name: string]: unknown }> => {
            const run = this as unknown as { runPulumiCmd(args: string[]): Promise<{ stdout: string }> };
            const { stdout } = await run.runPulumiCmd(["stack", "output", "--json", ...flags, "--stack", stackName]);
            return JSON.parse(stdout) as { [name: string]: unknown };
        };
        const [masked, plain] = await Promise.all([printed(), printed("--show-secrets")]);
        const outputs = Object.entries(plain).map(([name, value]) => {
            const secret = JSON.stringify(masked[name]) !== JSON.stringify(value);
            return [name, { value, secret }] as const;
        });
        return Object.fromEntries(outputs);
    }

    /** Replaces the state of a stack. The document, whose secrets are in plaintext, is in no file meanwhile. */
    override async importStack(stackName: string, state: upstream.Deployment): Promise<void> {
        if (!(this.pulumiCommand instanceof Command)) {
            return super.importStack(stackName, state);
        }
        const home = this.pulumiHome === undefined ? {} : { PULUMI_HOME: this.pulumiHome };
        const environment = { ...home, ...this.envVars };
        const input = JSON.stringify(state);
        await this.pulumiCommand.run(
            ["stack", "import", "--stack", stackName],
            this.workDir,
            environment,
            undefined,
            undefined,
            undefined,
            input,
        );
    }
}

function saveSettings(workDir: string, stackName: string, settings: upstream.StackSettings): void {
    const entries: { [name: string]: unknown } = { ...settings };
    for (const [written, name] of RENAMED) {
        if (name in entries) {
            entries[written] = entries[name];
            delete entries[name];
        }
    }
    guarded(() => native.replaceSettings(workDir, stackName, JSON.stringify(entries)));
}

/** Returns the options with a command. Settings for an existing folder are written here, because the SDK replaces their files as a whole. */
function withCommand(
    opts: upstream.LocalWorkspaceOptions | undefined,
    folder: string | undefined,
): upstream.LocalWorkspaceOptions {
    const options = { ...opts, pulumiCommand: opts?.pulumiCommand ?? defaultCommand() };
    const workDir = folder ?? options.workDir;
    if (workDir === undefined || !existsSync(workDir)) {
        return options;
    }
    if (options.projectSettings !== undefined) {
        const settings = JSON.stringify(options.projectSettings);
        guarded(() => native.replaceProject(workDir, settings));
        delete options.projectSettings;
    }
    if (options.stackSettings !== undefined) {
        for (const [stackName, settings] of Object.entries(options.stackSettings)) {
            saveSettings(workDir, stackName, settings);
        }
        delete options.stackSettings;
    }
    return options;
}

/** Makes a workspace, which the SDK has made of its own class, one of this class. */
function adopted(workspace: object): LocalWorkspace {
    return Object.setPrototypeOf(workspace, LocalWorkspace.prototype) as LocalWorkspace;
}

function stackOf(stack: upstream.Stack): Stack {
    adopted(stack.workspace);
    return adoptedStack(stack);
}
