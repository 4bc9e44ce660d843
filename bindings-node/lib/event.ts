/** Engine events, in the form of the reference engine's event log. */
import type { StepOp } from "./documents";

/** A state as an event shows it; secrets are blinded unless the operation was started with `showSecrets`. */
export interface StateMetadata {
    type: string;
    urn: string;
    custom?: boolean;
    delete?: boolean;
    id: string;
    parent: string;
    provider: string;
    protect?: boolean;
    inputs: { [name: string]: unknown };
    outputs: { [name: string]: unknown };
    [member: string]: unknown;
}

/** A step as an event shows it. */
export interface StepMetadata {
    op: StepOp;
    urn: string;
    type: string;
    old: StateMetadata | null;
    new: StateMetadata | null;
    keys?: string[] | null;
    diffs?: string[] | null;
    detailedDiff?: { [path: string]: { diffKind: string; inputDiff: boolean } } | null;
    logical?: boolean;
    provider: string;
    [member: string]: unknown;
}

/** A message. */
export interface DiagnosticEvent {
    urn?: string;
    prefix?: string;
    message: string;
    color: string;
    severity: "debug" | "info" | "info#err" | "warning" | "error";
    streamID?: number;
    ephemeral?: boolean;
}

/** What an operation did. */
export interface SummaryEvent {
    maybeCorrupt: boolean;
    durationSeconds: number;
    resourceChanges: { [op in StepOp]?: number };
    result?: "succeeded" | "failed" | "canceled";
    /** The policy packs that were asked: by name, the version, or `(local)` for a pack of the user's. */
    PolicyPacks?: { [name: string]: string };
    [member: string]: unknown;
}

/** What events say of a policy. */
interface PolicyFacts {
    /** The resource; that of the stack where a policy is about all of them. */
    resourceUrn: string;
    color: string;
    policyName: string;
    policyPackName: string;
    policyPackVersion: string;
    policyPackVersionTag: string;
}

/** A policy is violated. */
export interface PolicyEvent extends PolicyFacts {
    /** The policy's own words, with a newline at their end. */
    message: string;
    /** A violation of an advisory policy is only told, one of a mandatory policy fails the operation. */
    enforcementLevel: "advisory" | "mandatory";
    severity?: "low" | "medium" | "high" | "critical";
}

/** A policy has rewritten inputs. */
export interface PolicyRemediationEvent extends PolicyFacts {
    before?: { [name: string]: unknown };
    after?: { [name: string]: unknown };
}

/** A policy pack has answered. */
export interface PolicySummaryEvent {
    /** The resource; none for the whole stack. */
    resourceUrn?: string;
    policyPackName: string;
    policyPackVersion: string;
    policyPackVersionTag: string;
    /** Policies that found nothing. */
    passed?: string[];
    /** Policies that found something. */
    failed?: string[];
}

/** One event: exactly one of the payloads is there. */
export interface EngineEvent {
    /** Counts from 0 without gaps. */
    sequence: number;
    /** Seconds since 1970. */
    timestamp: number;
    preludeEvent?: { config: { [name: string]: string } };
    resourcePreEvent?: { metadata: StepMetadata; planning?: boolean };
    resOutputsEvent?: { metadata: StepMetadata; planning?: boolean };
    resOpFailedEvent?: { metadata: StepMetadata; status: number; steps: number };
    diagnosticEvent?: DiagnosticEvent;
    stdoutEvent?: { message: string; color: string };
    /** Policy packs are being loaded. */
    policyLoadEvent?: Record<string, never>;
    policyEvent?: PolicyEvent;
    policyRemediationEvent?: PolicyRemediationEvent;
    policyRemediateSummaryEvent?: PolicySummaryEvent;
    policyAnalyzeSummaryEvent?: PolicySummaryEvent;
    policyAnalyzeStackSummaryEvent?: PolicySummaryEvent;
    summaryEvent?: SummaryEvent;
    /** Always the last one. */
    cancelEvent?: Record<string, never>;
}
