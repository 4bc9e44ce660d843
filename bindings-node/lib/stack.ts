/** A stack and the operations on it. */
import type { Bridge } from "./bridge";
import { caller } from "./caller";
import { anything, checkMembers, type Checks, flag, seconds, where } from "./checks";
import type { AnalysisOptions, DeleteEdit, EditReport, ImportResource, MoveEdit, MoveReport, PendingOperation, PolicyAnalysis, PolicyPack, RecordSelection, RenameEdit, ResourceRecord } from "./documents";
import { awaited, guarded, InvalidInputError, StackwrightError } from "./errors";
import { isKeyService, type KeyService, requireSecrets, type Secrets, secretsHost } from "./host";
import { inspectAs } from "./inspection";
import { jsonOf, jsonOfMembers, toPlainJson } from "./json";
import type { Native } from "./native";
import { type Deployment, Operation, type OperationOptions, type Outputs, type Plan, Result } from "./operation";
import { Picture, StackGraph } from "./picture";
import { described, given, refuseUnknown, requireFunction, requireOptions } from "./options";
import { addPacks, type HostPolicyPack, type Policy, placed } from "./policy";
import { addProgram, type AnyProgram } from "./program";
import type { PropertyValue } from "./values";

/** Options of operations that run a program. */
export interface ProgramOptions extends OperationOptions {
    /** Another program than the stack's own. */
    program?: AnyProgram;
    /** What every resource is checked by: policies that are functions, packs of these, and packs as in `localPolicyPacks`. */
    policies?: readonly (Policy | HostPolicyPack | PolicyPack)[];
}

/** Options of an import. */
export interface ImportOptions extends OperationOptions {
    /** URNs of recorded resources by names, which `parent` and `provider` of resources can have. */
    nameTable?: { readonly [name: string]: string };
    /** Whether imported resources are protected, so that no update or destroy deletes them; `true` when left out. */
    protect?: boolean;
    /**
     * Whether the result has programs; `true` when left out. For those of the Pulumi SDKs the provider of each package is asked
     * for its schema.
     */
    generateCode?: boolean;
}

/** Options of every edit of a state. */
export interface EditOptions {
    /** Whether nothing is written, and the report has what the edit would do. */
    dryRun?: boolean;
    /** How long the edit waits for the stack while another one has locked it, in seconds. Left out, it fails at once. */
    waitForLock?: number;
}

/** What a resource is renamed to. */
export interface RenameOptions extends Omit<RenameEdit, "urn">, EditOptions {}

/** Which records are deleted, besides the named ones. */
export interface DeleteOptions extends Omit<DeleteEdit, "urns">, EditOptions {}

/** What moves besides the named resources. */
export interface MoveOptions extends Omit<MoveEdit, "urns">, EditOptions {}

/** Which records are marked, in place of named ones. */
export interface SelectionOptions extends Omit<RecordSelection, "urns">, EditOptions {}

/** Returns a report that its text represents as a string. */
function shownAsText<T extends { readonly text: string }>(report: T): T {
    return Object.defineProperty(report, "toString", { value: () => report.text });
}

/** Returns a resource to import with its values in the form of JSON. */
function row(resource: ImportResource): object {
    if (typeof resource !== "object" || resource === null) {
        return resource;
    }
    const { inputs, outputs, ...rest } = resource;
    const values = (of: unknown) => (of === undefined || of === null ? undefined : toPlainJson(of as PropertyValue));
    return { ...rest, inputs: values(inputs), outputs: values(outputs) };
}

/** Distinguishes a plan from options: it is a result, a text, or an object with the plans of resources. */
function isPlan(value: Result | Plan | string | ProgramOptions): value is Result | Plan | string {
    return typeof value === "string" || value instanceof Result || (typeof value === "object" && value !== null && "resourcePlans" in value);
}

/** The error of a plan that is `undefined` or `null`, as `Result.plan` is without a plan's document. */
function undefinedPlan(): InvalidInputError {
    return new InvalidInputError(
        "the plan is undefined; a result has a plan's document when it was asked for with generatePlan: true",
    );
}

/** Returns the options that are given, and refuses invalid ones, before the operation starts. */
function checked(what: string, options: ProgramOptions): ProgramOptions {
    if (options instanceof Result) {
        throw new InvalidInputError(`${what} takes options; to be constrained by a result's plan: { plan: result }`);
    }
    // It may come from a result without a document. The update must not run unconstrained then.
    if (typeof options === "object" && options !== null && "plan" in options && (options.plan ?? undefined) === undefined) {
        throw undefinedPlan();
    }
    options = given(options);
    requireOptions(what, options);
    requireFunction("onEvent", options.onEvent);
    requireFunction("onOutput", options.onOutput);
    if (options.signal !== undefined && typeof options.signal?.addEventListener !== "function") {
        throw new InvalidInputError(`signal is an AbortSignal, not ${described(options.signal)}`);
    }
    if (options.plan instanceof Operation) {
        throw new InvalidInputError("the plan is an operation: await the preview first");
    }
    return options;
}

/** One entry of a stack's history. */
export interface HistoryEntry {
    kind: string;
    startTime: number;
    endTime: number;
    message: string;
    result: string;
    resourceChanges?: { [op: string]: number };
    /** The number by which `restore` takes it, counted from 1, the oldest. */
    version: number;
    [member: string]: unknown;
}

/** Returns the JSON of a deployment document, which may be a text already; `what` names it in errors. */
export function documentOf(document: string | object, what = "the deployment document"): string {
    return typeof document === "string" ? document : jsonOf(document, what);
}

/** Returns the option `showSecrets` of a call, and refuses others. */
function showsSecrets(what: string, options: { showSecrets?: boolean }): boolean {
    options = given(options);
    refuseUnknown(what, options, { showSecrets: true });
    checkMembers(options, { showSecrets: flag }, what);
    return options.showSecrets ?? false;
}

/** Options of the adoption of a pending operation's resource. */
export interface AdoptionOptions extends OperationOptions {
    /** The id of the resource; needed where the pending operation has none. */
    resourceId?: string;
    /** Replaces a record of another resource with the same URN. That resource is not managed any more then. */
    replace?: boolean;
}

/** Takes a number of entries or of a page. */
const count = where((value) => Number.isInteger(value) && (value as number) > 0 && (value as number) < 2 ** 31, "a number above 0", "number");

/** Refuses what is no text. */
function requireText(what: string, value: unknown): void {
    if (typeof value !== "string") {
        throw new InvalidInputError(`${what} takes a string, not ${described(value)}`);
    }
}

/** Returns the id of a pending operation. */
function pendingId(pending: PendingOperation | string): string {
    const id = typeof pending === "object" && pending !== null ? pending.id : pending;
    if (typeof id !== "string") {
        throw new InvalidInputError(`pending takes a pending operation or its id, not ${described(pending)}`);
    }
    return id;
}

/** Refuses the id of a resource in the place of the options. */
function requireResourceOptions(called: string, options: unknown): void {
    if (typeof options === "string") {
        throw new InvalidInputError(`the options of ${called} are an object: the id of the resource is its member resourceId`);
    }
}

/** Returns the id of a resource, where it is given. */
function resourceIdOf(id: string | undefined): string | undefined {
    id ??= undefined;
    if (id !== undefined) {
        requireText("resourceId", id);
    }
    return id;
}

/** Returns values with those of secrets in text for display, where they are to be shown. */
function shown(values: Outputs, showSecrets: boolean): Outputs {
    return showSecrets ? Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value.shown()])) : values;
}

function shownRecord(record: ResourceRecord, showSecrets: boolean): ResourceRecord {
    return { ...record, inputs: shown(record.inputs, showSecrets), outputs: shown(record.outputs, showSecrets) };
}

function shownPending(pending: PendingOperation, showSecrets: boolean): PendingOperation {
    return { ...pending, inputs: shown(pending.inputs, showSecrets) };
}

/** A stack: a named state, and its program. */
export class Stack {
    readonly #native: Native.Stack;
    readonly #bridge: Bridge;
    /** Throws once the engine has been closed. */
    readonly #requireOpen: () => void;

    /** @internal */
    constructor(stack: Native.Stack, bridge: Bridge, requireOpen: () => void) {
        this.#native = stack;
        this.#bridge = bridge;
        this.#requireOpen = requireOpen;
    }

    static {
        inspectAs(this, (stack) => stack.name);
    }

    /** The name, as `project/stack`. */
    get name(): string {
        return this.#native.name;
    }

    /** The organization, as programs see it. */
    get organization(): string {
        return this.#native.organization;
    }

    /** The host's tags of the stack, by name. */
    get tags(): { readonly [name: string]: string } {
        return this.#native.tags;
    }

    /** Computes what an update would do. */
    preview(options: ProgramOptions = {}): Operation {
        if (options?.dryRun === false) {
            throw new InvalidInputError("a preview is a dry run; up() is not");
        }
        return this.#start("update", options, "preview");
    }

    /**
     * Brings the stack to the state that its program describes.
     * @param plan Constrains the update: the result of a preview, or a plan's document, parsed or as text. It is the option `plan`.
     * @throws {InvalidInputError} The first argument is `undefined` or `null`, like the `plan` of a result without a document.
     */
    up(): Operation;
    up(options: ProgramOptions): Operation;
    up(plan: Result | Plan | string, options?: ProgramOptions): Operation;
    up(...passed: [first?: Result | Plan | string | ProgramOptions, second?: ProgramOptions]): Operation {
        const first = passed[0];
        const second: ProgramOptions = passed[1] ?? {};
        if (passed.length === 0) {
            return this.#start("update", {}, "up");
        }
        if (first === undefined || first === null) {
            throw undefinedPlan();
        }
        if (!isPlan(first)) {
            return this.#start("update", first, "up");
        }
        const options = given(second);
        requireOptions("up()", options);
        if (options.plan !== undefined) {
            throw new InvalidInputError("up() was given two plans");
        }
        return this.#start("update", { ...options, plan: first }, "up");
    }

    /**
     * Reads every resource and records what is there. With `refreshProgram` the program, or `program` in its place,
     * runs, which determines how providers are configured.
     */
    refresh(options: ProgramOptions = {}): Operation {
        return this.#start("refresh", options, "refresh");
    }

    /**
     * Deletes every resource. With `destroyProgram` the program, or `program` in its place, runs, which determines how
     * providers are configured.
     */
    destroy(options: ProgramOptions = {}): Operation {
        return this.#start("destroy", options, "destroy");
    }

    /**
     * Records existing resources, which the stack manages from then on; with `dryRun` it only reports what it found. What cannot
     * be imported fails the operation, and the rest is kept. The result has the inputs of the resources, and programs that
     * declare them, in `imported`.
     * @param resources What to import; an object or a string is an import file of the Pulumi command.
     */
    importResources(resources: readonly ImportResource[] | object | string, options: ImportOptions = {}): Operation {
        this.#requireOpen();
        const { signal, onEvent, onOutput, nameTable, protect, generateCode, ...own } = checked("importResources()", options as ProgramOptions) as ImportOptions;
        const given = Array.isArray(resources)
            ? { resources: resources.map(row) }
            : { file: documentOf(resources, "the import file") };
        const request = jsonOfMembers({ ...given, nameTable, protect, generateCode });
        const traced = this.#bridge.exportsSpans ? { ...caller(), ...own } : own;
        const started = guarded(() => this.#native.importResources(request, jsonOfMembers(traced, "options.")));
        const explain = (error: StackwrightError | undefined) => this.#bridge.raised.explain(this.name, error);
        return new Operation(started, { stack: this.name, isPreview: own.dryRun === true }, explain, signal, { onEvent, onOutput });
    }

    /** Returns the state as a deployment document; secrets stay encrypted unless they are to be shown. */
    async exportDeployment(options: { showSecrets?: boolean } = {}): Promise<Deployment> {
        const showSecrets = showsSecrets("exportDeployment()", options);
        return JSON.parse(await awaited(() => this.#native.export(showSecrets))) as Deployment;
    }

    async #edit(called: string, edit: object, options: object, members: Checks = {}, secrets?: Secrets | KeyService): Promise<EditReport> {
        options = given(options);
        requireOptions(`${called}()`, options);
        refuseUnknown(`${called}()`, options, { ...members, dryRun: flag, waitForLock: anything });
        const { dryRun, waitForLock } = options as EditOptions;
        const document = jsonOfMembers({ ...edit, dryRun, waitForLock });
        const edited = awaited(() => {
            const raised = this.#bridge.raised;
            const host = secrets && this.#bridge.addHost(secretsHost(secrets, (error) => raised.ofSecrets(error)));
            return this.#native.edit(document, `${called}()`, host);
        });
        return shownAsText(JSON.parse(await edited) as EditReport);
    }

    #select(called: "protect" | "unprotect" | "taint" | "untaint", selected: readonly string[] | SelectionOptions, others: SelectionOptions): Promise<EditReport> {
        // The options can be the first argument where they select the records.
        const isList = Array.isArray(selected) || typeof selected !== "object" || selected === null;
        const urns = isList ? selected : [];
        const options: SelectionOptions = isList ? others : { ...selected, ...others };
        const { all } = given(options);
        return this.#edit(called, { [called]: { urns, all } }, options, { all: flag });
    }

    /**
     * Replaces the state by a deployment document, parsed or as text. URNs that name another project are a warning in the report.
     * With `force`, a state that is invalid, or whose URNs name another stack, is accepted.
     */
    async importDeployment(document: string | object, options: EditOptions & { force?: boolean } = {}): Promise<EditReport> {
        const { force } = given(options);
        const edit = { importDeployment: { deployment: documentOf(document), force } };
        return this.#edit("importDeployment", edit, options, { force: flag });
    }

    /**
     * Gives a resource another name, parent or type in the state; what is left out stays. Descendants, whose URNs contain the types
     * of their parents, and all references follow. The program registers the resource by its new name afterwards: otherwise, the
     * next update deletes the resource and creates another.
     */
    async rename(urn: string, options: RenameOptions): Promise<EditReport> {
        const { name, parent, noParent, type } = given(options);
        const edit = { rename: { urn, name, parent, noParent, type } };
        return this.#edit("rename", edit, options, { name: anything, parent: anything, noParent: anything, type: anything });
    }

    /** Removes the records of resources from the state. The resources themselves stay; no provider is called. */
    async deleteResources(urns: readonly string[], options: DeleteOptions = {}): Promise<EditReport> {
        const { all, id, dependents, force } = given(options);
        const edit = { delete: { urns, all, id, dependents, force } };
        return this.#edit("deleteResources", edit, options, { all: anything, id: anything, dependents: anything, force: anything });
    }

    /** Protects resources from deletion, until the program registers them without protection. */
    async protect(urns: readonly string[] | SelectionOptions, options: SelectionOptions = {}): Promise<EditReport> {
        return this.#select("protect", urns, options);
    }

    /** Removes the protection of resources. */
    async unprotect(urns: readonly string[] | SelectionOptions, options: SelectionOptions = {}): Promise<EditReport> {
        return this.#select("unprotect", urns, options);
    }

    /** Marks resources for replacement by the next update. */
    async taint(urns: readonly string[] | SelectionOptions, options: SelectionOptions = {}): Promise<EditReport> {
        return this.#select("taint", urns, options);
    }

    /** Removes the marks of `taint()`. */
    async untaint(urns: readonly string[] | SelectionOptions, options: SelectionOptions = {}): Promise<EditReport> {
        return this.#select("untaint", urns, options);
    }

    /**
     * Sorts the records, and removes references to records that do not exist. A valid state stays as it is; what cannot be repaired
     * fails with the kind `state`.
     */
    async repair(options: EditOptions = {}): Promise<EditReport> {
        return this.#edit("repair", { repair: {} }, options);
    }

    /**
     * Replaces the state by one of the history: `version` is the number of the operation, counted from 1, the oldest; `time` selects
     * the last operation that had ended then. Its secrets get the stack's present key; `passphrase` is the former one, where the
     * stack's was changed since.
     */
    async restore(options: EditOptions & { version?: number; time?: Date | string; passphrase?: string }): Promise<EditReport> {
        const { version, time, passphrase } = given(options);
        const edit = { restore: { version, time: time instanceof Date ? time.toISOString() : time, passphrase } };
        return this.#edit("restore", edit, options, { version: anything, time: anything, passphrase: anything });
    }

    /**
     * Moves resources, and all below them, to another stack of this or another engine. No provider is called. The providers of the
     * resources are copied, unless the destination has them already. A resource whose parent stays is below the destination
     * itself. References between resources that move and others are removed, which the report names. Secrets are encrypted with the
     * key of the destination, and pending operations of the resources move, too. One URN that the state does not have, or one resource
     * that cannot move, refuses the whole move. When the process ends during the move, the next opening of either stack finishes or
     * forgets it.
     * @param urns The resources; the URN of the stack itself selects all below it. Providers cannot be named: they are copied where they are needed.
     */
    async moveResources(urns: readonly string[], destination: Stack, options: MoveOptions = {}): Promise<MoveReport> {
        options = given(options);
        requireOptions("moveResources()", options);
        refuseUnknown("moveResources()", options, { includeParents: anything, dryRun: flag, waitForLock: anything });
        if (!(destination instanceof Stack)) {
            throw new InvalidInputError("moveResources() takes a Stack as its destination");
        }
        const { includeParents, dryRun, waitForLock } = options;
        const document = jsonOfMembers({ move: { urns, includeParents }, dryRun, waitForLock });
        const other = destination.#native;
        const moved = awaited(() => this.#native.moveResources(other, document, "moveResources()"));
        const report = JSON.parse(await moved) as MoveReport;
        [report.source, report.destination].forEach(shownAsText);
        return shownAsText(report);
    }

    /**
     * Gives the stack another name, `stack` or `project/stack`. History and tags move with it, and the settings file of a stack that
     * was opened with its `project`; one of the new name that exists already is an error. This object keeps the former name: the
     * engine opens the stack by the new one.
     */
    async renameStack(name: string, options: EditOptions = {}): Promise<EditReport> {
        return this.#edit("renameStack", { renameStack: { name } }, options);
    }

    /**
     * Encrypts the secrets of the state, and those of the settings file of `project`, with another passphrase, with a data key
     * that a key service wraps, or the host's own way. The report has the records that have secrets. This object keeps the former key: the engine opens the stack with the new
     * one. So does the history: `restore` takes the former `passphrase` of a state from before the change. A key with which the stack was
     * opened, and that is not its own, is refused with a `DecryptError`; nothing is changed then.
     */
    async changeSecrets(options: EditOptions & { passphrase?: string; secrets?: Secrets | KeyService }): Promise<EditReport> {
        const { passphrase, secrets } = given(options);
        requireSecrets(secrets);
        const described = secrets && (isKeyService(secrets) ? { url: secrets.url } : { kind: secrets.kind, state: secrets.state });
        const edit = { changeSecrets: { passphrase, secrets: described } };
        return this.#edit("changeSecrets", edit, options, { passphrase: anything, secrets: anything }, secrets);
    }

    /** Returns the stack's outputs by name. `showSecrets: true` has the values of secret ones in text for display, too. */
    async outputs(options: { showSecrets?: boolean } = {}): Promise<Outputs> {
        const showSecrets = showsSecrets("outputs()", options);
        const outputs = (await awaited(() => this.#native.outputs())) as Outputs;
        const entries = Object.entries(outputs);
        return showSecrets ? Object.fromEntries(entries.map(([name, output]) => [name, output.shown()])) : outputs;
    }

    /**
     * Analyzes the recorded state, without a program: each resource by its inputs, then all resources by their outputs.
     * Remediations rewrite nothing. The state and its locks stay as they are, also while an operation runs.
     * @param policies Policies that are functions, packs of these, and packs as in `localPolicyPacks`.
     * @param options `callbackTimeout` is how long one call of a policy may take, in seconds; 300 by default. One that takes longer
     * fails the analysis, whose error names the policy.
     */
    async analyze(policies: readonly (Policy | HostPolicyPack | PolicyPack)[], options: Pick<AnalysisOptions, "callbackTimeout"> = {}): Promise<PolicyAnalysis> {
        this.#requireOpen();
        refuseUnknown("analyze()", options ?? {}, { callbackTimeout: true });
        const packs = placed(policies ?? null);
        const members = jsonOfMembers({ ...given(options), localPolicyPacks: packs.local, requiredPolicies: packs.required }, "options.");
        try {
            const entries = addPacks(this.#bridge, packs.functions, this.name);
            return JSON.parse(await awaited(() => this.#native.analyze(members, entries))) as PolicyAnalysis;
        } catch (error) {
            this.#bridge.raised.explain(this.name, error instanceof StackwrightError ? error : undefined);
            throw error;
        }
    }

    /**
     * Returns the recorded resources, each after those that it refers to. While an operation runs, that is the state as it was
     * recorded when it was read: a step counts once it has ended. `showSecrets: true` has the values of secret inputs and
     * outputs in text for display, too.
     */
    async resources(options: { showSecrets?: boolean } = {}): Promise<ResourceRecord[]> {
        const showSecrets = showsSecrets("resources()", options);
        const { found } = (await awaited(() => this.#native.resources())) as { found: ResourceRecord[] };
        return found.map((record) => shownRecord(record, showSecrets));
    }

    /**
     * Returns the record of a URN: the one in use, or an old copy that waits for its deletion when there is no other.
     * @throws {NotFoundError} There is none; the hints name the most similar URNs.
     */
    async resource(urn: string, options: { showSecrets?: boolean } = {}): Promise<ResourceRecord> {
        requireText("urn", urn);
        const showSecrets = showsSecrets("resource()", options);
        const { found } = (await awaited(() => this.#native.resource(urn))) as { found: ResourceRecord };
        return shownRecord(found, showSecrets);
    }

    /** Returns the recorded resources in the order of their dependencies, with the references between them. */
    async graph(): Promise<StackGraph> {
        return new StackGraph(await awaited(() => this.#native.graph()));
    }

    /** Returns the recorded resources, to be drawn. */
    async picture(): Promise<Picture> {
        return new Picture(await awaited(() => this.#native.picture()));
    }

    /**
     * Returns the pending operations: what an interrupted run has begun, and whose outcome is not known. While an operation runs,
     * its steps in flight are among them, as `inProgress`.
     */
    async pending(options: { showSecrets?: boolean } = {}): Promise<PendingOperation[]> {
        const showSecrets = showsSecrets("pending()", options);
        const { found } = (await awaited(() => this.#native.pending())) as { found: PendingOperation[] };
        return found.map((entry) => shownPending(entry, showSecrets));
    }

    /**
     * Records the resource of a pending operation: its provider reads it, and the operation is no longer pending.
     * @param pending The pending operation, or its id.
     * @param options Those of operations; `resourceId` is the id of the resource, needed where the pending operation has none. With
     * `replace`, a record of another resource with the same URN is replaced: that resource stays as it is, and is not managed any
     * more. Without it, such a record fails the operation with a `ConflictError`.
     */
    adoptPending(pending: PendingOperation | string, options: AdoptionOptions = {}): Operation {
        this.#requireOpen();
        requireResourceOptions("adoptPending()", options);
        const { resourceId, replace, signal, onEvent, onOutput, ...own } = checked("adoptPending()", options) as AdoptionOptions;
        checkMembers({ replace }, { replace: flag }, "adoptPending()");
        const [id, ofResource] = [pendingId(pending), resourceIdOf(resourceId)];
        const started = guarded(() => this.#native.adopt(id, ofResource, replace ?? false, jsonOfMembers(own, "options.")));
        const explain = (error: StackwrightError | undefined) => this.#bridge.raised.explain(this.name, error);
        return new Operation(started, { stack: this.name, isPreview: own.dryRun === true }, explain, signal, { onEvent, onOutput });
    }

    /**
     * Reads the resource of a pending operation without recording it; undefined when it does not exist. `resourceId` is the id of
     * the resource, needed where the pending operation has none.
     */
    async readPending(
        pending: PendingOperation | string,
        options: { resourceId?: string; showSecrets?: boolean } = {},
    ): Promise<ResourceRecord | undefined> {
        this.#requireOpen();
        requireResourceOptions("readPending()", options);
        const { resourceId, ...own } = given(options);
        const showSecrets = showsSecrets("readPending()", own);
        const [id, ofResource] = [pendingId(pending), resourceIdOf(resourceId)];
        try {
            const { found } = (await awaited(() => this.#native.readPending(id, ofResource))) as { found: ResourceRecord | null };
            return found === null ? undefined : shownRecord(found, showSecrets);
        } catch (error) {
            this.#bridge.raised.explain(this.name, error instanceof StackwrightError ? error : undefined);
            throw error;
        }
    }

    /** Removes a pending operation from the state, and returns it. With `dryRun`, it stays. */
    async forgetPending(pending: PendingOperation | string, options: EditOptions = {}): Promise<PendingOperation> {
        options = given(options);
        refuseUnknown("forgetPending()", options, { dryRun: true, waitForLock: true });
        checkMembers(options, { dryRun: flag, waitForLock: seconds }, "forgetPending()");
        const id = pendingId(pending);
        const { dryRun, waitForLock } = options;
        const { found } = (await awaited(() => this.#native.forgetPending(id, dryRun ?? false, waitForLock))) as { found: PendingOperation };
        return found;
    }

    /**
     * Returns the history, newest first: all of it, or the page of this number, counted from 1, with `limit` entries. Entries of
     * other pages are not read.
     */
    async history(options: { limit?: number; page?: number } = {}): Promise<HistoryEntry[]> {
        options = given(options);
        refuseUnknown("history()", options, { limit: true, page: true });
        checkMembers(options, { limit: count, page: count }, "history()");
        return JSON.parse(await awaited(() => this.#native.history(options.limit ?? undefined, options.page ?? 1))) as HistoryEntry[];
    }

    /**
     * Returns the tags that are kept with the stack, by name, where the reference engine keeps them. Those of the setting `tags` are
     * not among them.
     */
    listTags(): Promise<{ [name: string]: string }> {
        return awaited(() => this.#native.listTags());
    }

    /** Sets a tag that is kept with the stack. Any name and any value are taken. */
    async setTag(name: string, value: string): Promise<void> {
        requireText("name", name);
        requireText("value", value);
        return awaited(() => this.#native.setTag(name, value));
    }

    /** Removes a tag that is kept with the stack, and returns whether there was one. */
    async removeTag(name: string): Promise<boolean> {
        requireText("name", name);
        return awaited(() => this.#native.removeTag(name));
    }

    /**
     * Removes every lock of the stack, regardless of its holder, and returns how many there were: for locks that dead
     * machines left behind. An operation that runs after all goes on.
     */
    unlock(): Promise<number> {
        return awaited(() => this.#native.unlock());
    }

    /**
     * Removes the locks of one owner, `user@host` or `user@host:process` as the error of a locked stack names it, and returns how
     * many there were. In a bucket or a database the owner loses its lease, too: an operation that still runs writes no more.
     */
    async breakLock(owner: string): Promise<number> {
        requireText("owner", owner);
        return awaited(() => this.#native.breakLock(owner));
    }

    /** Removes the stack and its history. One that still has resources is only removed by force. */
    remove(options: { force?: boolean; waitForLock?: number } = {}): Promise<void> {
        options = given(options);
        refuseUnknown("remove()", options, { force: true, waitForLock: true });
        checkMembers(options, { force: flag, waitForLock: seconds }, "remove()");
        return awaited(() => this.#native.remove(options.force ?? false, options.waitForLock));
    }

    toString(): string {
        return `stack ${this.name}`;
    }

    #start(kind: "update" | "refresh" | "destroy", options: ProgramOptions, called: "preview" | "up" | "refresh" | "destroy"): Operation {
        this.#requireOpen();
        const { signal, onEvent, onOutput, ...own } = checked(`${called}()`, options);
        const { document, program, planned, packs, subject, explain } = this.#work(kind, own, called, `${called}()`);
        const started = guarded(() => this.#native.start(kind, document(), `${called}()`, program(), planned, packs()));
        return new Operation(started, subject, explain, signal, { onEvent, onOutput });
    }

    /** Reads what an operation is about. */
    #work(kind: "update" | "refresh" | "destroy", options: ProgramOptions, called: string, subject: string) {
        const { program, plan, policies, ...own } = options;
        const packs = placed(policies, own.localPolicyPacks, own.requiredPolicies);
        const given = policies === undefined ? own : { ...own, localPolicyPacks: packs.local, requiredPolicies: packs.required };
        const traced = this.#bridge.exportsSpans ? { ...caller(), ...given } : given;
        const rest = called === "preview" ? { ...traced, dryRun: given.dryRun ?? true } : traced;
        const asked = kind === "update" ? undefined : (`${kind}Program` as const);
        if (program !== undefined && asked !== undefined && options[asked] !== true) {
            throw new InvalidInputError(`${subject} runs a program only with ${asked}: true`);
        }
        const planned = plan instanceof Result ? Result.planned(plan) : undefined;
        const held = planned === undefined && plan !== undefined ? { ...rest, plan } : rest;
        return {
            document: () => jsonOfMembers(held, "options."),
            program: () => (program === undefined ? undefined : addProgram(this.#bridge, program)),
            planned,
            packs: () => addPacks(this.#bridge, packs.functions, this.name),
            subject: { stack: this.name, isPreview: rest.dryRun === true },
            explain: (error: StackwrightError | undefined) => this.#bridge.raised.explain(this.name, error),
        };
    }

    /**
     * Adds a stack to a set, and returns what makes the handle of its operation.
     * @internal
     */
    static addTo(
        set: Native.StackSet,
        stack: Stack,
        dependsOn: string[],
        options: ProgramOptions,
        verb: "preview" | "up" | "refresh" | "destroy",
    ): (native: Native.Operation) => Operation {
        const called = `${verb}All()`;
        const { signal, onEvent, onOutput, ...own } = checked(called, options);
        if ((signal ?? onEvent ?? onOutput) !== undefined) {
            throw new InvalidInputError(`signal, onEvent and onOutput are options of ${called}, not of one of its stacks`);
        }
        if (verb === "preview" && own.dryRun === false) {
            throw new InvalidInputError("a preview is a dry run; upAll() is not");
        }
        const kind = verb === "up" || verb === "preview" ? "update" : verb;
        const { document, program, planned, packs, subject, explain } = stack.#work(kind, own, verb, called);
        guarded(() => stack.#native.addTo(set, dependsOn, kind, document(), called, program(), planned, packs()));
        return (native) => new Operation(native, subject, explain);
    }
}
