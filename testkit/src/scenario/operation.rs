//! Operations of a scenario: what is run, with which options, and what changes before it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{CallRule, Edit, Expectation, Forgotten, ProjectAction, Statement};

/// One operation and its expectation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScenarioOperation {
    /// Runs a preview with these options.
    pub preview: Option<Map<String, Value>>,
    /// Runs an update with these options.
    pub update: Option<Map<String, Value>>,
    /// Runs a refresh with these options.
    pub refresh: Option<Map<String, Value>>,
    /// Runs a destroy with these options.
    pub destroy: Option<Map<String, Value>>,
    /// Runs an import with these options, and with the members of its request among them.
    pub import: Option<Map<String, Value>>,
    /// Adopts a pending operation (`pending`, `resourceId`, `replace`), with options.
    pub adopt: Option<Map<String, Value>>,

    /// Replaces the program, for this and later operations.
    pub program: Option<Vec<Statement>>,
    /// Changes statements, by handle, from here on: members are merged, null removes one; null for the whole
    /// statement drops it.
    pub change: BTreeMap<String, Value>,
    /// Adds statements at the program's end, from here on.
    pub add: Vec<Statement>,
    /// Rules for this operation only, ahead of those of [`super::PACKAGE`].
    pub calls: Vec<CallRule>,
    /// Changes the configuration from here on; null removes an entry.
    pub config: BTreeMap<String, Value>,
    /// Changes the world before the operation.
    pub world: WorldEdit,
    /// Closes the engine and opens another one before the operation.
    pub reopen: bool,
    /// Closes the engine and opens another one with this setting before the operation.
    pub nested_secrets: Option<bool>,
    /// Pending operations that are forgotten before the operation: `creating a`.
    pub forget: Vec<Forgotten>,
    /// Actions on the project, its files and the stack's tags before the operation, one after the other.
    pub project: Vec<ProjectAction>,
    /// Edits of the state before the operation, one after the other.
    pub edits: Vec<Edit>,
    /// Labels of the trace: at each the operation is cancelled once more.
    pub cancel: Vec<String>,
    /// A label of the trace: then the process that runs the engine is killed.
    pub kill: Option<String>,
    /// The operation on the stack beside that runs at the same time.
    pub beside: Option<OperationBeside>,
    /// The expectation.
    pub expect: Expectation,
}

/// An operation on the stack beside, and its expectation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OperationBeside {
    /// Runs a preview with these options.
    pub preview: Option<Map<String, Value>>,
    /// Runs an update with these options.
    pub update: Option<Map<String, Value>>,
    /// Runs a refresh with these options.
    pub refresh: Option<Map<String, Value>>,
    /// Runs a destroy with these options.
    pub destroy: Option<Map<String, Value>>,

    /// Labels of the trace that must have happened before it starts.
    pub after: Vec<String>,
    /// The expectation.
    pub expect: Expectation,
}

/// Changes of the things of [`super::PACKAGE`] outside of the engine.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WorldEdit {
    /// Properties that changed, by id.
    pub set: BTreeMap<String, Map<String, Value>>,
    /// Ids of things that are gone.
    pub gone: Vec<String>,
}

/// The verbs of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Computes the steps of an update without executing them.
    Preview,
    /// Changes real things to match the program.
    Update,
    /// Changes the state to match the real things.
    Refresh,
    /// Removes everything.
    Destroy,
    /// Records existing things.
    Import,
    /// Records the resource of a pending operation.
    Adopt,
}

impl OperationKind {
    /// Returns the name of the protocol between director and actor.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Preview => "preview",
            Self::Update => "update",
            Self::Refresh => "refresh",
            Self::Destroy => "destroy",
            Self::Import => "import",
            Self::Adopt => "adopt",
        }
    }

    /// Returns whether an operation of this kind with these options is a dry run.
    #[must_use]
    pub fn is_dry(self, options: &Map<String, Value>) -> bool {
        self == Self::Preview || options.get("dryRun") == Some(&Value::Bool(true))
    }
}

impl ScenarioOperation {
    /// Returns the verb and its options.
    ///
    /// # Errors
    /// A text when nothing is run, or more than one thing.
    pub fn verb(&self) -> Result<(OperationKind, &Map<String, Value>), String> {
        only_verb([
            &self.preview,
            &self.update,
            &self.refresh,
            &self.destroy,
            &self.import,
            &self.adopt,
        ])
    }

    /// Returns whether another engine is opened before the operation.
    #[must_use]
    pub fn opens_again(&self) -> bool {
        self.reopen || self.nested_secrets.is_some() || !self.config.is_empty()
    }

    /// Returns whether the operation is a dry run.
    #[must_use]
    pub fn is_dry(&self) -> bool {
        self.verb().is_ok_and(|(kind, options)| kind.is_dry(options))
    }
}

impl OperationBeside {
    /// Returns the verb and its options.
    ///
    /// # Errors
    /// A text when nothing is run, or more than one thing.
    pub fn verb(&self) -> Result<(OperationKind, &Map<String, Value>), String> {
        only_verb([
            &self.preview,
            &self.update,
            &self.refresh,
            &self.destroy,
            &None,
            &None,
        ])
    }
}

/// Returns the only verb that has options.
fn only_verb(
    options: [&Option<Map<String, Value>>; 6],
) -> Result<(OperationKind, &Map<String, Value>), String> {
    let kinds = [
        OperationKind::Preview,
        OperationKind::Update,
        OperationKind::Refresh,
        OperationKind::Destroy,
        OperationKind::Import,
        OperationKind::Adopt,
    ];
    let mut verbs = kinds
        .into_iter()
        .zip(options)
        .filter_map(|(kind, options)| Some((kind, options.as_ref()?)));
    match (verbs.next(), verbs.next()) {
        (Some(verb), None) => Ok(verb),
        _ => Err(
            "an operation needs exactly one of preview, update, refresh, destroy, import and adopt".into(),
        ),
    }
}
