//! The documents of events: the lines of the event log, which [`crate::event::EventJson`] writes.
//!
//! The types are for the schema alone: a test compares them with what is written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    diagnostic::Severity,
    event::{DiffKind, EnforcementLevel, OperationOutcome, PolicySeverity, SuggestedMove},
    step::StepOp,
};

/// Defines documents of events. In tests they are read, too, and have no members beside those of the definition.
macro_rules! documents {
    ($($(#[$attribute:meta])* struct $name:ident $members:tt)*) => {
        $(
            #[derive(Serialize, JsonSchema)]
            #[cfg_attr(test, derive(serde::Deserialize, Debug))]
            #[cfg_attr(test, serde(deny_unknown_fields))]
            #[serde(rename_all = "camelCase")]
            $(#[$attribute])*
            pub(super) struct $name $members
        )*
    };
}

/// Defines the documents of what policy packs found, which have the same members.
macro_rules! findings {
    ($($(#[$attribute:meta])* struct $name:ident;)*) => {
        documents! {
            $($(#[$attribute])* struct $name {
                /// The URN of the resource; none where all resources were analyzed together.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                resource_urn: Option<String>,
                /// The pack.
                policy_pack_name: String,
                /// The version of the pack; empty when it has none.
                policy_pack_version: String,
                /// The same.
                policy_pack_version_tag: String,
                /// Policies that found nothing.
                #[serde(default, skip_serializing_if = "Vec::is_empty")]
                passed: Vec<String>,
                /// Policies that found something.
                #[serde(default, skip_serializing_if = "Vec::is_empty")]
                failed: Vec<String>,
            })*
        }
    };
}

findings! {
    /// A policy pack has answered what it would rewrite in the inputs of a resource.
    #[schemars(rename = "PolicyRemediateSummaryEvent")]
    struct RemediateSummaryDocument;

    /// A policy pack has analyzed a resource.
    #[schemars(rename = "PolicyAnalyzeSummaryEvent")]
    struct AnalyzeSummaryDocument;

    /// A policy pack has analyzed all resources together.
    #[schemars(rename = "PolicyAnalyzeStackSummaryEvent")]
    struct AnalyzeStackSummaryDocument;
}

documents! {
    /// A state of a resource as events show it. Secrets are `[secret]`, unless the operation shows them.
    #[schemars(rename = "StateMetadata")]
    struct StateDocument {
        /// The type.
        #[serde(rename = "type")]
        resource_type: String,
        /// The URN.
        urn: String,
        /// True for resources of a provider, false for components.
        #[serde(default, skip_serializing_if = "is_false")]
        custom: bool,
        /// True for an old copy that is to be deleted.
        #[serde(default, skip_serializing_if = "is_false")]
        delete: bool,
        /// The id that the provider gave; empty for components.
        id: String,
        /// The URN of the parent; empty when there is none.
        parent: String,
        /// Whether the resource must not be deleted.
        #[serde(default, skip_serializing_if = "is_false")]
        protect: bool,
        /// Whether the resource is replaced by the next update.
        #[serde(default, skip_serializing_if = "is_false")]
        taint: bool,
        /// Whether the resource was only read.
        #[serde(default, skip_serializing_if = "is_false")]
        external: bool,
        /// Whether the provider keeps the resource when it is deleted from the state.
        #[serde(default, skip_serializing_if = "is_false")]
        retain_on_delete: bool,
        /// The inputs.
        inputs: Map<String, Value>,
        /// The outputs.
        outputs: Map<String, Value>,
        /// The reference to the provider; empty for components and providers.
        provider: String,
        /// Why the initialization failed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        init_errors: Vec<String>,
        /// Paths of properties whose differences are not shown.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hide_diffs: Vec<String>,
    }

    /// How one property differs, and on which side.
    #[schemars(rename = "PropertyDifference")]
    struct DifferenceDocument {
        /// How it differs.
        diff_kind: DiffKind,
        /// True when the difference is between old and new inputs, false when between the old state and new inputs.
        input_diff: bool,
    }

    /// A step with the states before and after.
    #[schemars(rename = "StepMetadata")]
    struct StepDocument {
        /// What the step does.
        op: StepOp,
        /// The URN of the resource.
        urn: String,
        /// The type of the resource.
        #[serde(rename = "type")]
        resource_type: String,
        /// The state before; `null` when there is none.
        old: Option<StateDocument>,
        /// The state after; `null` when there is none.
        new: Option<StateDocument>,
        /// The properties that force a replacement.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keys: Vec<String>,
        /// The properties that differ.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        diffs: Vec<String>,
        /// How each differs, by path; `null` when the provider gave no details, which is not the same as none.
        detailed_diff: Option<BTreeMap<String, DifferenceDocument>>,
        /// True for steps that count as one change of one resource.
        #[serde(default, skip_serializing_if = "is_false")]
        logical: bool,
        /// The reference to the provider; empty for components and providers.
        provider: String,
    }

    /// The operation begins.
    #[schemars(rename = "PreludeEvent")]
    struct PreludeDocument {
        /// The configuration by `namespace:name`; secret values are `[secret]`.
        config: BTreeMap<String, String>,
    }

    /// A step is about to run.
    #[schemars(rename = "ResourcePreEvent")]
    struct ResourcePreDocument {
        /// The step.
        metadata: StepDocument,
        /// True during a preview.
        #[serde(default, skip_serializing_if = "is_false")]
        planning: bool,
    }

    /// A step has run; its outputs are known.
    #[schemars(rename = "ResourceOutputsEvent")]
    struct ResourceOutputsDocument {
        /// The step.
        metadata: StepDocument,
        /// True during a preview.
        #[serde(default, skip_serializing_if = "is_false")]
        planning: bool,
    }

    /// A step has failed.
    #[schemars(rename = "ResourceFailedEvent")]
    struct ResourceFailedDocument {
        /// The step.
        metadata: StepDocument,
        /// What is known of the real resource: 0 it is as before, 1 it was changed in part, 2 nothing.
        status: u64,
        /// How many steps have been run, as the reference engine counts them.
        steps: u64,
    }

    /// A message.
    #[schemars(rename = "DiagnosticEvent")]
    struct DiagnosticDocument {
        /// The URN of the resource that the message is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        urn: Option<String>,
        /// What precedes the message where it is displayed: `warning: ` for instance.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
        /// The text that the reference engine gives the message, with a newline at its end.
        message: String,
        /// Whether the message has colour codes: `never`.
        color: String,
        /// The severity.
        severity: Severity,
        /// True for messages about progress, which are not kept.
        #[serde(default, skip_serializing_if = "is_false")]
        ephemeral: bool,
    }

    /// The program wrote to its standard output.
    #[schemars(rename = "StdoutEvent")]
    struct StdoutDocument {
        /// The text.
        message: String,
        /// Whether the text has colour codes: `never`.
        color: String,
    }

    /// A plugin is downloaded or installed. Only the operation that has begun that has these events, not others that wait for
    /// it.
    #[schemars(rename = "ProgressEvent")]
    struct ProgressEventDocument {
        /// What happens: `plugin-download` or `plugin-install`.
        #[serde(rename = "type")]
        kind: String,
        /// The name of the plugin, the same in all of its events.
        id: String,
        /// A text for users.
        message: String,
        /// The bytes so far.
        received: u64,
        /// All bytes; 0 where that is not known.
        total: u64,
        /// Whether it has ended.
        done: bool,
    }

    /// Policy packs are being loaded.
    #[schemars(rename = "PolicyLoadEvent")]
    struct PolicyLoadDocument {}

    /// A policy is violated.
    #[schemars(rename = "PolicyEvent")]
    struct PolicyDocument {
        /// The URN of the resource; that of the stack where the policy is about all resources.
        resource_urn: String,
        /// The text of the violation, with a newline at its end.
        message: String,
        /// Whether the text has colour codes: `never`.
        color: String,
        /// The policy.
        policy_name: String,
        /// Its pack.
        policy_pack_name: String,
        /// The version of the pack; empty when it has none.
        policy_pack_version: String,
        /// The same.
        policy_pack_version_tag: String,
        /// How strictly the policy is enforced: a violation of an advisory one does not fail the operation.
        enforcement_level: EnforcementLevel,
        /// How grave the violation is, where the policy has that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        severity: Option<PolicySeverity>,
    }

    /// A policy has rewritten the inputs of a resource.
    #[schemars(rename = "PolicyRemediationEvent")]
    struct PolicyRemediationDocument {
        /// The URN of the resource.
        resource_urn: String,
        /// Whether texts have colour codes: `never`.
        color: String,
        /// The policy.
        policy_name: String,
        /// Its pack.
        policy_pack_name: String,
        /// The version of the pack; empty when it has none.
        policy_pack_version: String,
        /// The same.
        policy_pack_version_tag: String,
        /// The inputs before.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        before: Map<String, Value>,
        /// The inputs after.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        after: Map<String, Value>,
    }

    /// Moves that a preview suggests, and those that the operation has applied, which precede them. The reference engine has
    /// no such event.
    #[schemars(rename = "SuggestedMovesEvent")]
    struct SuggestedMovesDocument {
        /// The moves, the most probable ones first.
        moves: Vec<SuggestedMove>,
    }

    /// The work is over.
    #[schemars(rename = "SummaryEvent")]
    struct SummaryDocument {
        /// True when a provider left the state of a real resource unknown.
        maybe_corrupt: bool,
        /// How long the operation took, in whole seconds, rounded up.
        duration_seconds: u64,
        /// How many resources each kind of step was applied to.
        #[schemars(extend("x-python" = "Mapping[StepOp, int]", "x-typescript" = "{ readonly [op in StepOp]?: number }"))]
        resource_changes: BTreeMap<String, u64>,
        /// The policy packs that were asked: by name, the version, or `(local)` for a pack of the user.
        #[serde(rename = "PolicyPacks")]
        policy_packs: BTreeMap<String, String>,
        /// True for a preview.
        is_preview: bool,
        /// How the operation ended, as the reference engine counts it: one that was cancelled while its running calls were left to
        /// finish has `failed`.
        result: OperationOutcome,
    }

    /// The stream ends; always the last event.
    #[schemars(rename = "CancelEvent")]
    struct CancelDocument {}

    /// One event. Beside its place in the operation it has exactly one of the other members.
    #[schemars(rename = "EngineEvent")]
    struct EventDocument {
        /// Counts from 0 without gaps.
        sequence: u64,
        /// When it happened, in seconds since 1970.
        timestamp: i64,
        /// The operation begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prelude_event: Option<PreludeDocument>,
        /// A step is about to run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource_pre_event: Option<ResourcePreDocument>,
        /// A step has run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        res_outputs_event: Option<ResourceOutputsDocument>,
        /// A step has failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        res_op_failed_event: Option<ResourceFailedDocument>,
        /// A message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diagnostic_event: Option<DiagnosticDocument>,
        /// The program wrote to its standard output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stdout_event: Option<StdoutDocument>,
        /// A plugin is downloaded or installed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        progress_event: Option<ProgressEventDocument>,
        /// Policy packs are being loaded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy_load_event: Option<PolicyLoadDocument>,
        /// A policy is violated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy_event: Option<PolicyDocument>,
        /// A policy has rewritten inputs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy_remediation_event: Option<PolicyRemediationDocument>,
        /// A policy pack has answered what it would rewrite.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy_remediate_summary_event: Option<RemediateSummaryDocument>,
        /// A policy pack has analyzed a resource.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy_analyze_summary_event: Option<AnalyzeSummaryDocument>,
        /// A policy pack has analyzed all resources.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy_analyze_stack_summary_event: Option<AnalyzeStackSummaryDocument>,
        /// There are moves that are suggested, or were applied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        suggested_moves_event: Option<SuggestedMovesDocument>,
        /// The work is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary_event: Option<SummaryDocument>,
        /// The stream ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cancel_event: Option<CancelDocument>,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests;
