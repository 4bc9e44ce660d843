//! The payloads of step events: a step with the states before and after it.

use std::{collections::BTreeMap, sync::Arc};

use smol_str::SmolStr;

use crate::{resource::ResourceState, step::StepOp};

/// How one property differs; the names are those of the protocol and of the event log.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, schemars::JsonSchema, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "named after their values")]
pub enum DiffKind {
    Add,
    AddReplace,
    Delete,
    DeleteReplace,
    Update,
    UpdateReplace,
}

impl DiffKind {
    /// Returns the name of the protocol and of the event log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::AddReplace => "add-replace",
            Self::Delete => "delete",
            Self::DeleteReplace => "delete-replace",
            Self::Update => "update",
            Self::UpdateReplace => "update-replace",
        }
    }

    /// Returns whether the difference forces a replacement.
    #[must_use]
    pub const fn is_replace(self) -> bool {
        matches!(self, Self::AddReplace | Self::DeleteReplace | Self::UpdateReplace)
    }
}

/// How one property differs, and on which side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PropertyDiff {
    /// How it differs.
    pub kind: DiffKind,
    /// True when the difference is between old and new inputs, false when between old state and new inputs.
    pub input_diff: bool,
}

/// Differences by property path.
pub type DetailedDiff = BTreeMap<String, PropertyDiff>;

/// The state of a real resource after a failed step; the numbers are those of the event log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after their values")]
pub enum OperationStatus {
    Ok = 0,
    PartialFailure = 1,
    Unknown = 2,
}

/// A step in an event.
#[derive(Clone, Debug)]
pub struct StepEvent {
    /// The step.
    pub metadata: StepMetadata,
    /// True during a preview.
    pub planning: bool,
}

/// A step with the states before and after.
#[derive(Clone, Debug)]
pub struct StepMetadata {
    /// What the step does.
    pub op: StepOp,
    /// The resource that it is applied to.
    pub urn: crate::urn::Urn,
    /// The type.
    pub resource_type: crate::token::TypeToken,
    /// The state before, when there is one.
    pub old: Option<StateMetadata>,
    /// The state after, when there is one.
    pub new: Option<StateMetadata>,
    /// The properties that force a replacement.
    pub keys: Vec<String>,
    /// The properties that differ.
    pub diffs: Vec<String>,
    /// How each differs; `None` when the provider did not report it, unlike an empty map.
    pub detailed_diff: Option<DetailedDiff>,
    /// True for steps that count: a change of one resource as the user sees it.
    pub logical: bool,
    /// The provider reference; empty for components and providers.
    pub provider: SmolStr,
}

/// A state in an event: a shared pointer to the record. Secrets are masked when it is serialized.
#[derive(Clone, Debug)]
pub struct StateMetadata(pub Arc<ResourceState>);
