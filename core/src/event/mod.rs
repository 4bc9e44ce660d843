//! Engine events: typed values, in the order of their occurrence.

mod changes;
mod counts;
mod event_log;
mod json;
mod moves;
mod policy;
mod progress;
mod resource;
mod step_result;
mod stream;
pub(crate) mod tree;

use std::{collections::BTreeMap, sync::Arc};

use crate::{diagnostic::Diagnostic, runtime::Timestamp};

pub use changes::PropertyChange;
pub(crate) use changes::changes_between;
pub use counts::ChangeCounts;
pub use event_log::EventLog;
pub use json::EventJson;
pub use moves::{MovedResource, SuggestedMove};
pub use policy::EnforcementLevel;
pub use policy::LocalPack;
pub use policy::PolicyFindings;
pub use policy::PolicyName;
pub use policy::PolicyQuestion;
pub use policy::PolicyRemediation;
pub use policy::PolicySeverity;
pub use policy::PolicyViolation;
pub use progress::{Progress, ProgressKind};
pub use resource::StateMetadata;
pub use resource::StepEvent;
pub use resource::StepMetadata;
pub use resource::{DetailedDiff, DiffKind, OperationStatus, PropertyDiff};
pub use step_result::StepError;
pub use step_result::{StepResult, StepStatus};
pub(crate) use stream::EventSink;
pub use stream::EventStream;
pub use tree::StepTree;
pub(crate) use tree::{render, render_moves, value_text};

/// An event, with its position in the operation's sequence.
#[derive(Clone, Debug)]
pub struct EngineEvent {
    /// Starts at 0; without gaps.
    pub sequence: u64,
    /// The time of the event.
    pub timestamp: Timestamp,
    /// True for steps that the program did not request: default providers, hidden refreshes.
    pub internal: bool,
    /// The kind and the details of the event.
    pub payload: EventPayload,
}

/// The kind and the details of an event.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EventPayload {
    /// The operation begins with this configuration; secret values are `[secret]`.
    Prelude {
        /// Configuration by `namespace:name`.
        config: BTreeMap<String, String>,
    },
    /// A step is about to run.
    ResourcePre(Arc<StepEvent>),
    /// A step has run; its outputs are known.
    ResourceOutputs(Arc<StepEvent>),
    /// A step has failed.
    ResourceOperationFailed {
        /// The step.
        step: Arc<StepEvent>,
        /// The state of the real resource.
        status: OperationStatus,
        /// The number of steps so far, as the reference engine counts them.
        steps: u64,
    },
    /// A message of the engine, a provider or the program.
    Diagnostic(Diagnostic),
    /// The program wrote to its standard output.
    Stdout {
        /// The text.
        message: String,
    },
    /// A plugin is downloaded or installed. Only the operation that has begun that has these events, not others that wait for it.
    Progress(Progress),
    /// Policy packs are being loaded.
    PolicyLoad,
    /// A policy is violated.
    PolicyViolation(Arc<PolicyViolation>),
    /// A policy has rewritten inputs.
    PolicyRemediation(Arc<PolicyRemediation>),
    /// A policy pack has reported its findings.
    PolicyFindings(Arc<PolicyFindings>),
    /// Moves that a preview suggests, and those that the operation has applied, which precede them; before the summary,
    /// and only where there are any.
    SuggestedMoves(Arc<Vec<SuggestedMove>>),
    /// All steps have ended; the counts are final.
    Summary(Summary),
    /// The stream ends; always the last event.
    Cancel,
}

/// The summary of an operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// True when the state of a real resource is unknown after a failed step.
    pub maybe_corrupt: bool,
    /// The duration in whole seconds, rounded up.
    pub duration_seconds: u64,
    /// The number of resources that each operation was applied to, by the operation's name.
    pub resource_changes: BTreeMap<&'static str, u64>,
    /// The policy packs that ran: by name, the version, or `(local)` for a pack of the user's.
    pub policy_packs: BTreeMap<String, String>,
    /// The packs of the user's among them; the event log has only their names.
    pub local_packs: Vec<LocalPack>,
    /// True for a preview.
    pub is_preview: bool,
    /// The result.
    pub result: OperationOutcome,
}

/// The result of an operation; the names are those of the event log.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    schemars::JsonSchema,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Outcome")]
#[expect(missing_docs, reason = "named after their values")]
pub enum OperationOutcome {
    #[default]
    Succeeded,
    Failed,
    Canceled,
}

impl OperationOutcome {
    /// Returns the name in the event log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }
}
