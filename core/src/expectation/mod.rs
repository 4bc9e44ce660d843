//! Expectations of tests about the result of an operation: what was to happen to which resource, and the text of what happened
//! instead.
//!
//! ```
//! # use std::sync::Arc;
//! # use stackwright::{Engine, Result, StackSettings, monitor::Registration, operation::OperationOptions, program};
//! # use stackwright::{secrets::Base64Provider, simulation::{Simulation, SimulationSettings}};
//! # use tokio::runtime::Handle;
//! use stackwright::expectation::{Expectation, Expected, unmet};
//! # #[tokio::main]
//! # async fn main() -> Result<()> {
//! # let simulation = Simulation::new(SimulationSettings::default())?;
//! # let builder = Engine::builder(Handle::current()).secrets(Arc::new(Base64Provider));
//! # let engine = builder.simulation(simulation).build()?;
//! # let program = program::from_fn(|context| async move {
//! #     let web = Registration::from_json(
//! #         br#"{"type": "cloud:index:Machine", "name": "web", "inputs": {"size": "large"}}"#,
//! #     )?;
//! #     context.monitor.register(web).await?;
//! #     Ok(())
//! # });
//! # let settings = StackSettings { program: Some(program), ..StackSettings::default() };
//! # let stack = engine.stack("shop/dev", settings).await?;
//! let result = stack.update(OperationOptions::default()).wait().await;
//! let expectation = Expectation::of(Expected::Created, ["web"]);
//! assert_eq!(unmet(&result, &expectation), None);
//! let expectation = Expectation::of(Expected::Created, ["wep"]);
//! assert!(unmet(&result, &expectation).unwrap().contains("did you mean `web`?"));
//! # Ok(())
//! # }
//! ```

mod difference;
mod facts;
mod refactoring;
mod snapshot;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::Deserialize;

use crate::{
    operation::OperationResult,
    resource::ResourceState,
    simulation::pattern::{matches_resource, nearest_resources},
    step::StepOp,
    urn::Urn,
};

pub use difference::difference;
pub use facts::resources;
pub use refactoring::{AllowedChanges, missing_aliases};
pub use snapshot::plan_text;

use facts::{ResourceStep, failure_text, listing, steps_of};

/// What is expected of resources. A step that failed meets no expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Expected {
    /// They are created.
    Created,
    /// They are updated in place.
    Updated,
    /// They are replaced.
    Replaced,
    /// They are deleted.
    Deleted,
    /// They exist, and stay as they are. A preview that failed does not meet it: what it would have changed is not known.
    Unchanged,
    /// They exist, and are protected.
    Protected,
    /// The operation succeeds, and nothing changes, neither resources nor outputs of the stack. Options of records alone, such as
    /// `protect`, count as no change, as in the counts of an operation; [`missing_aliases`] compares them. Names no resources.
    NoChanges,
}

/// What is expected of the resources that patterns name.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// What is expected.
    pub expected: Expected,
    /// Patterns of names, types (with a `:`), `type::name`, or URNs, in which `*` is any text.
    pub resources: Vec<String>,
    /// Whether nothing else may happen: no other resource changes, and the named ones have no other change.
    pub only: bool,
}

impl Expectation {
    /// Creates an expectation of the resources that patterns name.
    pub fn of<P: Into<String>>(expected: Expected, resources: impl IntoIterator<Item = P>) -> Self {
        Self {
            expected,
            resources: resources.into_iter().map(Into::into).collect(),
            only: false,
        }
    }
}

impl Expected {
    const fn describe(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Replaced => "replaced",
            Self::Deleted => "deleted",
            Self::Unchanged => "unchanged",
            Self::Protected => "protected",
            Self::NoChanges => "no changes",
        }
    }

    /// Returns whether a step has that effect.
    const fn is_of(self, op: StepOp) -> bool {
        match self {
            Self::Created => matches!(op, StepOp::Create | StepOp::Import),
            Self::Updated => matches!(op, StepOp::Update),
            Self::Replaced => matches!(
                op,
                StepOp::Replace
                    | StepOp::CreateReplacement
                    | StepOp::DeleteReplaced
                    | StepOp::ImportReplacement
                    | StepOp::ReadReplacement
            ),
            Self::Deleted => matches!(op, StepOp::Delete | StepOp::Discard),
            Self::Unchanged | Self::Protected | Self::NoChanges => false,
        }
    }

    /// Returns whether a step has that effect, and has not failed.
    const fn is_met_by(self, step: &ResourceStep<'_>) -> bool {
        self.is_of(step.op) && !step.is_failed()
    }
}

/// Returns the text of an expectation that a result does not meet; `None` when it does.
///
/// Values of properties occur in it as in displays: secrets are masked.
#[must_use]
pub fn unmet(result: &OperationResult, expectation: &Expectation) -> Option<String> {
    let text = unmet_text(result, expectation)?;
    Some(result.redactor.scrub(&text).into_owned())
}

fn unmet_text(result: &OperationResult, expectation: &Expectation) -> Option<String> {
    let steps = steps_of(result);
    if expectation.expected == Expected::NoChanges {
        return changed(result, &steps);
    }
    let records = resources(result);
    let unmet = expectation
        .resources
        .iter()
        .find_map(|pattern| unmet_pattern(expectation.expected, pattern, &steps, &records));
    let unmet = unmet
        .or_else(|| others(expectation, &steps))
        .or_else(|| unknown(result, expectation))?;
    Some(format!("{unmet}\n{}", listing(result, &steps)))
}

/// Returns why a preview that failed does not show that resources stay as they are.
fn unknown(result: &OperationResult, expectation: &Expectation) -> Option<String> {
    let is_unknown = expectation.expected == Expected::Unchanged && result.is_preview;
    let failure = failure_text(result).filter(|_| is_unknown)?;
    let named = expectation.resources.join("`, `");
    Some(format!("expected `{named}` to be unchanged, but {failure}"))
}

fn changed(result: &OperationResult, steps: &[ResourceStep<'_>]) -> Option<String> {
    if let Some(failure) = failure_text(result) {
        return Some(format!(
            "expected no changes, but {failure}\n{}",
            listing(result, steps)
        ));
    }
    let changes: Vec<_> = steps.iter().filter(|step| step.is_change()).collect();
    if changes.is_empty() {
        return result.outputs_changed.then(|| {
            let names = result.outputs.keys().map(ToString::to_string).collect::<Vec<_>>();
            format!(
                "expected no changes, but the outputs of the stack change; they are {}",
                names.join(", ")
            )
        });
    }
    let count = changes.len();
    let noun = if count == 1 {
        "resource changes"
    } else {
        "resources change"
    };
    Some(format!(
        "expected no changes, but {count} {noun}\n{}",
        listing(result, steps)
    ))
}

/// Returns what is wrong with the resources that one pattern names.
fn unmet_pattern(
    expected: Expected,
    pattern: &str,
    steps: &[ResourceStep<'_>],
    records: &[Arc<ResourceState>],
) -> Option<String> {
    let is_named = |urn: &Urn| matches_resource(pattern, urn);
    let what = expected.describe();
    let step = steps.iter().filter(|step| is_named(step.urn));
    let record = records.iter().filter(|record| is_named(&record.urn));
    if step.clone().next().is_none() && record.clone().next().is_none() {
        let known = steps.iter().map(|step| step.urn);
        let known = known.chain(records.iter().map(|record| &record.urn));
        let near = nearest_resources(pattern, known.clone().filter(|urn| !facts::is_own(urn)));
        let hint = match near.as_slice() {
            [] => String::new(),
            near => format!("; did you mean `{}`?", near.join("` or `")),
        };
        return Some(format!(
            "expected `{pattern}` to be {what}, but no resource has that name, type or URN{hint}"
        ));
    }
    let found = match expected {
        Expected::Protected => {
            let unprotected = record.clone().find(|record| !record.protect);
            let unprotected = unprotected.map(|record| format!("{} is not", record.urn.name()));
            return match (unprotected, record.clone().next()) {
                (None, Some(_)) => None,
                (found, _) => {
                    let found = found.unwrap_or_else(|| "it does not exist any more".to_owned());
                    Some(format!("expected `{pattern}` to be protected, but {found}"))
                }
            };
        }
        Expected::Unchanged => step.clone().find(|step| step.is_change()),
        _ if step.clone().any(|step| expected.is_met_by(step)) => return None,
        _ => step.clone().next(),
    };
    match (found, expected) {
        (None, Expected::Unchanged) => None,
        (None, _) => Some(format!(
            "expected `{pattern}` to be {what}, but it does not change"
        )),
        (Some(step), _) => Some(format!(
            "expected `{pattern}` to be {what}, but {}",
            instead(step)
        )),
    }
}

/// Returns what happens to a resource instead: `web is to delete`.
fn instead(step: &ResourceStep<'_>) -> String {
    let (name, op) = (step.urn.name(), step.op);
    match step.is_failed() {
        true => format!("the {op} of {name} failed"),
        false => format!("{name} is to {op}"),
    }
}

/// Returns the changes beside the expected ones.
fn others(expectation: &Expectation, steps: &[ResourceStep<'_>]) -> Option<String> {
    if !expectation.only {
        return None;
    }
    let Expectation {
        expected, resources, ..
    } = expectation;
    let is_other = |step: &&ResourceStep<'_>| {
        let is_named = resources
            .iter()
            .any(|pattern| matches_resource(pattern, step.urn));
        (step.is_change() || step.is_failed()) && !(is_named && expected.is_met_by(step))
    };
    let others: Vec<String> = steps.iter().filter(is_other).map(instead).collect();
    let what = expected.describe();
    (!others.is_empty()).then(|| {
        let named = resources.join("`, `");
        format!("expected only `{named}` to be {what}, but {}", others.join(", "))
    })
}
