/** The step journal: the entries that a host's receiver gets. */
import type { StepOp } from "./documents";
import type { DiffKind } from "./provider";

/** A record of a state, as deployments have it. A secret is an object with a signature; its `ciphertext` is base64. */
export interface StateRecord {
    urn: string;
    type: string;
    custom: boolean;
    id?: string;
    inputs?: { [name: string]: unknown };
    outputs?: { [name: string]: unknown };
    parent?: string;
    provider?: string;
    dependencies?: string[];
    propertyDependencies?: { [name: string]: string[] };
    protect?: boolean;
    delete?: boolean;
    external?: boolean;
    initErrors?: string[];
    [member: string]: unknown;
}

/** A record with its identity: those of the state before the operation count from 0, new ones go on from there. */
export interface IdentifiedRecord {
    id: number;
    state: StateRecord;
}

/** The members of all entries. */
interface Entry<Kind extends string> {
    kind: Kind;
    /** Counts from 0 without gaps in each operation. */
    sequence: number;
    /** The step that it belongs to; 0 for entries that belong to none. */
    operation: number;
}

/** A step begins; its provider has not been called yet. */
export interface JournalBegin extends Entry<"begin"> {
    op: StepOp;
    /** The pending operation that a crash from here on leaves. */
    pending?: "creating" | "updating" | "deleting" | "reading" | "importing";
    /** The record as it was, by its identity. */
    old?: { id: number };
    /** The record as it is to become, as far as that is known. */
    state?: StateRecord;
    /** Properties that force a replacement. */
    keys?: string[];
    /** Properties that differ. */
    diffs?: string[];
    /** How each differs, by path. */
    detailedDiff?: { [path: string]: { kind: DiffKind; inputDiff: boolean } };
}

/** A step has succeeded, or failed after the physical resource was created. */
export interface JournalSuccess extends Entry<"success"> {
    op: StepOp;
    /** The outcome: for a refresh same, update or delete. */
    resultOp: StepOp;
    /** Records that were removed. */
    removed?: number[];
    /** Records that got a mark. */
    marked?: { id: number; mark: "delete" | "pendingReplacement" }[];
    /** The new record. */
    new?: IdentifiedRecord;
    /** True when it replaces the removed record in its position instead of following the new ones. */
    inPlace?: boolean;
    /** True when nothing changed that a state would show. */
    elided?: boolean;
    /** True for a refresh that the program's registration asked for: the record moves to the end. */
    persistedRefresh?: boolean;
    /** True for a refresh that found no resource: the record was removed. */
    deletedByRefresh?: boolean;
    /** True when targets or excludes skipped the record, which was kept unchanged. */
    untargeted?: boolean;
    /** True when the creation was skipped; no record is written then. */
    skippedCreate?: boolean;
    /** The goal of a skipped creation. */
    state?: StateRecord;
    /** True for a step on a view, which only the provider of its owner has executed. */
    view?: boolean;
}

/** A step has failed; the state is as it was before it. */
export interface JournalFailure extends Entry<"failure"> {
    op: StepOp;
}

/** Outputs of a component were registered. */
export interface JournalOutputs extends Entry<"outputs"> {
    new: IdentifiedRecord;
    elided?: boolean;
}

/** The state was completed before any step, or replaced by an edit, which is this entry alone: the complete new list. */
export interface JournalBaseWritten extends Entry<"base-written"> {
    records: IdentifiedRecord[];
    /** The complete new list of pending operations, of an edit; absent when they are unchanged. */
    pendingOperations?: { kind: string; state: StateRecord }[];
}

/** Everything was rebuilt after a refresh: what was deleted is gone, dangling dependencies are cut. */
export interface JournalBaseRebuilt extends Entry<"base-rebuilt"> {
    /** All records that remain, new ones included, in order. */
    order: number[];
    /** The repaired records. */
    records?: IdentifiedRecord[];
    /** True when pending operations other than creations are forgotten. */
    clearPending?: boolean;
}

/** A provider has been given an extension, to which later records refer. It is to be kept with the state while they do. */
export interface JournalExtension extends Entry<"extension"> {
    /** The name of the extension in later records. */
    extensionRef: string;
    /** The extension; its value is base64. */
    extension: { name: string; version: string; value: string };
}

/** One entry of the journal. Every prefix of a journal, over the state before the operation, yields a valid state. */
export type JournalEntry =
    | JournalBegin
    | JournalSuccess
    | JournalFailure
    | JournalOutputs
    | JournalBaseWritten
    | JournalBaseRebuilt
    | JournalExtension;
