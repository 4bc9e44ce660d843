//! One resource of the tree: its sign, its name, and the properties that change.

use std::{collections::BTreeMap, fmt};

use crate::{
    event::{DiffKind, StepMetadata},
    executor::StepOp,
    token::TypeToken,
    urn::Urn,
};

/// The words of the totals by the name of the operation, for what would happen and for what has happened.
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

/// What is shown of one resource.
#[derive(Clone, Debug)]
pub(super) struct Row {
    op: StepOp,
    resource_type: TypeToken,
    name: String,
    pub(super) parent: Option<Urn>,
    properties: BTreeMap<String, Change>,
}

/// How a property changes.
#[derive(Clone, Copy, Debug)]
struct Change {
    sign: char,
    forces_replacement: bool,
}

impl Row {
    pub(super) fn new(step: &StepMetadata) -> Self {
        let mut row = Self {
            op: step.op,
            resource_type: step.resource_type.clone(),
            name: step.urn.name().to_owned(),
            parent: None,
            properties: BTreeMap::new(),
        };
        row.merge(step);
        row
    }

    /// Takes in a further step of the same resource; the weightiest of all gives the sign.
    pub(super) fn merge(&mut self, step: &StepMetadata) {
        if weight(step.op) > weight(self.op) {
            self.op = step.op;
        }
        let state = step.new.as_ref().or(step.old.as_ref());
        if let Some(parent) = state.and_then(|state| state.0.parent.as_ref()) {
            self.parent = Some(parent.clone());
        }
        if matches!(step.op, StepOp::Delete | StepOp::DeleteReplaced) && self.op != StepOp::Delete {
            // The deletion of an old copy says nothing of how the new one differs.
            return;
        }
        match &step.detailed_diff {
            Some(diff) => {
                for (path, property) in diff {
                    self.property(path, sign(property.kind), property.kind.is_replace());
                }
            }
            None => step.diffs.iter().for_each(|name| self.property(name, '~', false)),
        }
        step.keys.iter().for_each(|name| self.property(name, '~', true));
    }

    fn property(&mut self, path: &str, sign: char, forces_replacement: bool) {
        let entry = self.properties.entry(path.to_owned()).or_insert(Change {
            sign,
            forces_replacement,
        });
        entry.forces_replacement |= forces_replacement;
    }

    pub(super) fn is_unchanged(&self) -> bool {
        matches!(
            self.op,
            StepOp::Same | StepOp::Refresh | StepOp::RemovePendingReplace
        )
    }

    /// Returns the name under which totals count the row.
    pub(super) fn counted_as(&self) -> &'static str {
        match self.op {
            StepOp::CreateReplacement | StepOp::DeleteReplaced => StepOp::Replace.name(),
            StepOp::ReadReplacement => StepOp::Read.name(),
            StepOp::DiscardReplaced => StepOp::Discard.name(),
            StepOp::RemovePendingReplace => StepOp::Same.name(),
            other => other.name(),
        }
    }

    /// Returns what stands before the row; always three characters wide.
    pub(super) fn sign(&self) -> &'static str {
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
        for (index, (path, change)) in self.properties.iter().enumerate() {
            formatter.write_str(if index == 0 { "  [" } else { ", " })?;
            write!(formatter, "{}{path}", change.sign)?;
            if change.forces_replacement {
                formatter.write_str("!")?;
            }
        }
        formatter.write_str(if self.properties.is_empty() { "" } else { "]" })
    }
}

const fn sign(kind: DiffKind) -> char {
    match kind {
        DiffKind::Add | DiffKind::AddReplace => '+',
        DiffKind::Delete | DiffKind::DeleteReplace => '-',
        DiffKind::Update | DiffKind::UpdateReplace => '~',
    }
}

/// Orders the steps of one resource: the weightiest tells people what happens to it.
const fn weight(op: StepOp) -> u8 {
    match op {
        StepOp::RemovePendingReplace => 0,
        StepOp::Refresh => 1,
        StepOp::Same => 2,
        StepOp::Read => 3,
        StepOp::Discard | StepOp::DiscardReplaced => 4,
        StepOp::Delete => 5,
        StepOp::DeleteReplaced => 6,
        StepOp::Create | StepOp::Import => 7,
        StepOp::Update => 8,
        StepOp::CreateReplacement | StepOp::ImportReplacement | StepOp::ReadReplacement => 9,
        StepOp::Replace => 10,
    }
}
