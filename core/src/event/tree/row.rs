//! One row of the tree: sign, name and changed properties of a resource.

use std::{collections::BTreeMap, fmt, time::Duration};

use super::value::{shown, shown_change};
use crate::{
    event::{DiffKind, PropertyChange, StepMetadata, StepResult},
    secrets::Redactor,
    step::StepOp,
    token::TypeToken,
    urn::Urn,
};

/// Minimum duration that is shown.
const MIN_SHOWN_DURATION: Duration = Duration::from_secs(1);

/// The labels of the totals by the name of the operation, for planned and for completed changes.
pub(super) const TOTALS: &[(&str, &str, &str)] = &[
    ("create", "to create", "created"),
    ("update", "to update", "updated"),
    ("replace", "to replace", "replaced"),
    ("delete", "to delete", "deleted"),
    ("import", "to import", "imported"),
    (
        "import-replacement",
        "to import as replacement",
        "imported as replacement",
    ),
    ("read", "to read", "read"),
    ("refresh", "to refresh", "refreshed"),
    ("discard", "to forget", "forgotten"),
    ("same", "unchanged", "unchanged"),
];

/// One resource. Secrets in its texts are masked.
#[derive(Clone, Debug)]
pub(super) struct Row {
    op: StepOp,
    resource_type: String,
    name: String,
    pub(super) parent: Option<Urn>,
    properties: BTreeMap<String, PropertyChange>,
    duration: Duration,
    /// The failed operation and its error.
    failure: Option<String>,
}

impl Row {
    pub(super) fn new(step: &StepMetadata, redactor: &Redactor) -> Self {
        let mut row = Self {
            op: step.op,
            ..Self::unchanged(&step.urn, &step.resource_type, None, redactor)
        };
        row.merge(step, redactor);
        row
    }

    /// Creates the row of an unchanged resource.
    pub(super) fn unchanged(
        urn: &Urn,
        resource_type: &TypeToken,
        parent: Option<Urn>,
        redactor: &Redactor,
    ) -> Self {
        Self {
            op: StepOp::Same,
            resource_type: redactor.scrub(resource_type.as_str()).into_owned(),
            name: redactor.scrub(urn.name()).into_owned(),
            parent,
            properties: BTreeMap::new(),
            duration: Duration::ZERO,
            failure: None,
        }
    }

    /// Adds the result of a step.
    pub(super) fn end(&mut self, result: &StepResult) {
        self.duration += result.duration;
        if let Some(failure) = &result.failure {
            let op = result.step.metadata.op;
            let text = failure.error.message();
            self.failure = Some(match failure.refused {
                true => text.to_owned(),
                false => format!("{op} failed: {text}"),
            });
        }
    }

    /// Adds a further step of the same resource; the step with the highest weight gives the sign.
    pub(super) fn merge(&mut self, step: &StepMetadata, redactor: &Redactor) {
        if step.op.weight() > self.op.weight() {
            self.op = step.op;
        }
        let state = step.new.as_ref().or(step.old.as_ref());
        if let Some(parent) = state.and_then(|state| state.0.parent.as_ref()) {
            self.parent = Some(parent.clone());
        }
        if matches!(step.op, StepOp::Delete | StepOp::DeleteReplaced) && self.op != StepOp::Delete {
            // The deletion of an old copy contains no differences to the new one.
            return;
        }
        for change in step.changes(redactor) {
            let known = self.properties.get(&change.path);
            // The marker of a replacement has more details than the step that it marks.
            if known.is_none_or(|known| !known.kind.is_replace() || change.kind.is_replace()) {
                self.properties.insert(change.path.clone(), change);
            }
        }
    }

    pub(super) fn is_unchanged(&self) -> bool {
        self.failure.is_none()
            && matches!(
                self.op,
                StepOp::Same | StepOp::Refresh | StepOp::RemovePendingReplace
            )
    }

    /// Returns the lines below the row: each property with known values, and the error of a failed step.
    pub(super) fn details(&self) -> impl Iterator<Item = String> + '_ {
        let failure = self.failure.iter().flat_map(|failure| failure.lines());
        let failure = failure.map(|line| format!("! {line}"));
        let valued = self.properties.values().filter(|change| has_values(change));
        failure.chain(valued.map(|change| {
            let sign = sign(change.kind);
            let values = match (&change.old, &change.new) {
                (Some(old), Some(new)) => {
                    let (old, new) = shown_change(old, new);
                    format!("{old} → {new}")
                }
                (Some(only), None) | (None, Some(only)) => shown(only),
                (None, None) => String::new(),
            };
            let forces = if change.kind.is_replace() {
                " (replaces)"
            } else {
                ""
            };
            format!("{sign} {}: {values}{forces}", change.path)
        }))
    }

    /// Returns whether a step of the row failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Returns the name under which totals count the row.
    pub(super) const fn counted_as(&self) -> &'static str {
        self.op.counted_as()
    }

    /// Returns the sign before the row: three characters.
    pub(super) fn sign(&self) -> &'static str {
        if self.failure.is_some() {
            return "!  ";
        }
        match self.op {
            StepOp::Create => "+  ",
            StepOp::Update => "~  ",
            StepOp::Delete => "-  ",
            StepOp::Replace | StepOp::CreateReplacement | StepOp::DeleteReplaced => "+- ",
            StepOp::Read | StepOp::ReadReplacement => ">  ",
            StepOp::Discard | StepOp::DiscardReplaced => "<  ",
            StepOp::Import | StepOp::ImportReplacement => "=  ",
            StepOp::Same | StepOp::Refresh | StepOp::RemovePendingReplace => "   ",
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.name, self.resource_type)?;
        if self.duration >= MIN_SHOWN_DURATION {
            write!(formatter, "  {}", duration(self.duration))?;
        }
        let bare = self.properties.values().filter(|change| !has_values(change));
        let mut is_first = true;
        for change in bare {
            formatter.write_str(if is_first { "  [" } else { ", " })?;
            is_first = false;
            write!(formatter, "{}{}", sign(change.kind), change.path)?;
            if change.kind.is_replace() {
                formatter.write_str("!")?;
            }
        }
        formatter.write_str(if is_first { "" } else { "]" })
    }
}

const fn has_values(change: &PropertyChange) -> bool {
    change.old.is_some() || change.new.is_some()
}

/// Returns a duration as text: `1.4 s`, `2 min 5 s`.
fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

const fn sign(kind: DiffKind) -> char {
    match kind {
        DiffKind::Add | DiffKind::AddReplace => '+',
        DiffKind::Delete | DiffKind::DeleteReplace => '-',
        DiffKind::Update | DiffKind::UpdateReplace => '~',
    }
}
