//! Edits of a state: pure functions from a snapshot to the edited one. Each is in a file of its own; `rewrite.rs` has the
//! rule by which references follow a URN.

mod delete;
mod find;
mod flags;
mod rename;
mod repair;
mod report;
mod rewrite;
mod stack_name;
mod text;
mod transfer;

#[cfg(test)]
pub(crate) mod random;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    error::{Error, Result},
    state::Snapshot,
    urn::Urn,
};

pub use report::{EditKind, EditReport, EditedRecord, RemovedReference, SettingsEdit};
pub(crate) use rewrite::{rewrite_references, rewrite_snapshot, rewrite_snippets};
pub(crate) use stack_name::rename_stack;
pub use transfer::{Move, MoveReport};
pub(crate) use transfer::{Moved, MovedRecord, transfer, withdraw};

/// The schema of a URN.
#[derive(JsonSchema)]
#[schemars(inline, extend("format" = "urn", "x-takes" = "a URN"))]
struct UrnText(#[expect(dead_code, reason = "only its schema is used")] String);

/// Gives a resource another name, parent or type. Members that are left out stay. Descendants, whose URNs contain the types of
/// their parents, and all references follow.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RenameEdit")]
pub struct Rename {
    /// The URN of the resource.
    #[schemars(with = "UrnText")]
    pub urn: Urn,
    /// The new name; neither empty nor with `::`.
    #[serde(default)]
    pub name: Option<String>,
    /// The URN of the new parent; that of the stack itself for a resource at the top level.
    #[serde(default)]
    #[schemars(with = "Option<UrnText>")]
    pub parent: Option<Urn>,
    /// The resource has no parent afterwards, not even the stack itself.
    #[serde(default)]
    pub no_parent: bool,
    /// The new type: `package:module:Member` for resources of providers.
    #[serde(default, rename = "type")]
    pub resource_type: Option<String>,
}

impl Rename {
    /// Creates the edit that gives a resource another name.
    #[must_use]
    pub fn to_name(urn: Urn, name: impl Into<String>) -> Self {
        Self {
            urn,
            name: Some(name.into()),
            parent: None,
            no_parent: false,
            resource_type: None,
        }
    }
}

/// Removes records from the state. The resources themselves stay as they are, no provider is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "DeleteEdit")]
pub struct Delete {
    /// The URNs of the resources.
    #[schemars(with = "Vec<UrnText>", extend("x-takes" = "a list of URNs"))]
    pub urns: Vec<Urn>,
    /// All records, in place of URNs.
    pub all: bool,
    /// The id of the record, where several have the URN: old copies that are pending deletion.
    pub id: Option<String>,
    /// The records of everything that depends on them are removed, too: children, dependents, resources of a provider, and
    /// views. Without it, dependents refuse the removal.
    pub dependents: bool,
    /// Protected records are removed, too.
    pub force: bool,
}

/// The records that an edit changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "RecordSelection")]
pub struct Selection {
    /// The URNs of the resources.
    #[schemars(with = "Vec<UrnText>", extend("x-takes" = "a list of URNs"))]
    pub urns: Vec<Urn>,
    /// All records, in place of URNs: the stack itself, components, providers and views included.
    pub all: bool,
}

impl Selection {
    /// Selects the records of these URNs.
    #[must_use]
    pub fn of(urns: impl IntoIterator<Item = Urn>) -> Self {
        Self {
            urns: urns.into_iter().collect(),
            all: false,
        }
    }

    fn check(&self, called: &str) -> Result<()> {
        check_selection(&self.urns, self.all, called)
    }
}

impl Delete {
    fn check(&self, called: &str) -> Result<()> {
        check_selection(&self.urns, self.all, called)
    }
}

fn check_selection(urns: &[Urn], all: bool, called: &str) -> Result<()> {
    match (urns.is_empty(), all) {
        (true, false) => Err(Error::invalid(format!("{called} is given no resource"))
            .with_hint("'all' selects every resource of the stack")),
        (false, true) => Err(Error::invalid(format!("{called} is given URNs and 'all'"))),
        _ => Ok(()),
    }
}

/// A change of the records of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateEdit {
    /// Renames a resource.
    Rename(Rename),
    /// Removes records.
    Delete(Delete),
    /// Protects resources from deletion, until the program registers them without protection.
    Protect(Selection),
    /// Removes the protection.
    Unprotect(Selection),
    /// Marks resources for replacement by the next update.
    Taint(Selection),
    /// Removes these marks.
    Untaint(Selection),
    /// Sorts the records, and removes references to records that do not exist.
    Repair,
}

impl StateEdit {
    /// Returns the name of the edit, which conflicts of other lockers show.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Rename(_) => "rename",
            Self::Delete(_) => "deletion of records",
            Self::Protect(_) => "protect",
            Self::Unprotect(_) => "unprotect",
            Self::Taint(_) => "taint",
            Self::Untaint(_) => "untaint",
            Self::Repair => "repair",
        }
    }

    /// Returns whether it takes a state that violates the integrity rules.
    #[must_use]
    pub const fn accepts_invalid(&self) -> bool {
        matches!(self, Self::Repair)
    }

    /// Returns the edited snapshot, which is not verified, and what has changed. Unchanged records are shared.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NotFound`] for an unknown URN, with the nearest ones as hints;
    /// [`crate::ErrorKind::InvalidInput`] for an edit that the resource cannot have; [`crate::ErrorKind::Conflict`] for one that
    /// other records refuse; [`crate::ErrorKind::State`] for a state that cannot be repaired.
    pub fn apply(&self, snapshot: &Snapshot) -> Result<(Snapshot, EditReport)> {
        let edited = match self {
            Self::Rename(edit) => rename::rename(snapshot, edit),
            Self::Delete(edit) => delete::delete(snapshot, edit),
            Self::Protect(selection) => {
                flags::set(snapshot, selection, flags::Flag::Protect, true, "protect()")
            }
            Self::Unprotect(selection) => {
                flags::set(snapshot, selection, flags::Flag::Protect, false, "unprotect()")
            }
            Self::Taint(selection) => flags::set(snapshot, selection, flags::Flag::Taint, true, "taint()"),
            Self::Untaint(selection) => {
                flags::set(snapshot, selection, flags::Flag::Taint, false, "untaint()")
            }
            Self::Repair => repair::repair(snapshot),
        }?;
        let report = EditReport::of(snapshot, &edited);
        Ok((edited.snapshot, report))
    }
}

/// An edited snapshot.
pub(crate) struct Edited {
    /// The snapshot.
    pub(crate) snapshot: Snapshot,
    /// New URNs by former ones.
    pub(crate) renames: FxHashMap<Urn, Urn>,
    /// What the user should know.
    pub(crate) warnings: Vec<String>,
}

impl Edited {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            renames: FxHashMap::default(),
            warnings: Vec::new(),
        }
    }
}
