//! Errors of claims, in the messages of the reference engine.

use std::fmt;

use crate::urn::Urn;

/// Why a claim is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClaimError {
    /// The parent is not a resource of this run.
    MissingParent { parent: Urn, urn: Urn },
    /// Another registration of this run has the URN.
    Duplicate(Urn),
    /// An alias names a record that another registration of this run has claimed.
    DuplicateAlias { alias: Urn, urn: Urn, other: Urn },
    /// Another registration has claimed the URN as its alias.
    TakenAsAlias { urn: Urn, other: Urn },
}

impl ClaimError {
    /// Returns the resource whose claim is refused.
    pub(crate) fn urn(&self) -> &Urn {
        match self {
            Self::Duplicate(urn)
            | Self::MissingParent { urn, .. }
            | Self::DuplicateAlias { urn, .. }
            | Self::TakenAsAlias { urn, .. } => urn,
        }
    }
}

impl fmt::Display for ClaimError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingParent { parent, .. } => write!(out, "could not find parent resource {parent}"),
            Self::Duplicate(urn) => {
                write!(out, "Duplicate resource URN '{urn}'; try giving it a unique name")
            }
            Self::DuplicateAlias { alias, urn, other } => write!(
                out,
                "Duplicate resource alias '{alias}' applied to resource with URN '{urn}' conflicting with resource with \
                 URN '{other}'"
            ),
            Self::TakenAsAlias { urn, other } => write!(
                out,
                "Duplicate resource URN '{urn}' conflicting with alias on resource with URN '{other}'"
            ),
        }
    }
}
