//! Settling: which operations that an earlier run did not bring to their end are still on record.

use crate::resource::PendingOperationKind;

/// How much has been settled of what stood pending in the base; it only ever grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Settled {
    /// All of it still stands.
    #[default]
    Nothing,
    /// All but creations: nothing tells whether an interrupted one made something, so it stays until somebody says so.
    ButCreations,
    /// Somebody has said so.
    Everything,
}

impl Settled {
    /// Tells whether a pending operation of the base is off the record.
    pub(super) fn covers(self, kind: PendingOperationKind) -> bool {
        match self {
            Self::Nothing => false,
            Self::ButCreations => kind != PendingOperationKind::Creating,
            Self::Everything => true,
        }
    }
}
