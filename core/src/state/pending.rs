//! Pending operations with ids by which callers name them.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sha2::{Digest as _, Sha256};

use crate::{
    error::{Error, ErrorKind, Result},
    resource::{PendingOperation, PendingOperationKind, ResourceState},
};

/// The number of bytes of an id, each of which is two hexadecimal digits.
const ID_LENGTH: usize = 8;

/// A pending operation of a state, with its id.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingEntry {
    /// The id, which follows from the kind, the URN and the id of the resource, and from the operations that are equal in
    /// these. It stays the same while others come and go. Once one of several equal ones is gone, the others have new ids:
    /// an id never names another operation than before.
    pub id: String,
    /// The operation. The resource of an interrupted update has the id of the record in use.
    pub operation: PendingOperation,
    /// Whether the process that holds the stack's lock may be executing it.
    pub in_progress: bool,
}

impl PendingEntry {
    /// Returns the entries of the pending operations of a state with these records, in its order.
    #[must_use]
    pub(crate) fn all(
        pending: &[PendingOperation],
        records: &[Arc<ResourceState>],
        in_progress: bool,
    ) -> Vec<Self> {
        let mut counts: FxHashMap<_, usize> = FxHashMap::default();
        for operation in pending {
            *counts.entry(key(operation)).or_default() += 1;
        }
        let mut seen: FxHashMap<_, usize> = FxHashMap::default();
        let entries = pending.iter().map(|operation| {
            let key = key(operation);
            let place = seen.entry(key).or_default();
            *place += 1;
            let count = counts.get(&key).copied().unwrap_or_default();
            Self {
                id: id(key, *place, count),
                operation: with_recorded_id(operation, records),
                in_progress,
            }
        });
        entries.collect()
    }

    /// Returns the position and the entry of an id.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is none, with the ids that there are.
    pub(crate) fn find(
        pending: &[PendingOperation],
        records: &[Arc<ResourceState>],
        id: &str,
    ) -> Result<(usize, Self)> {
        const MAX_LISTED: usize = 8;
        let entries = Self::all(pending, records, false);
        let known: Vec<String> = entries
            .iter()
            .take(MAX_LISTED)
            .map(|entry| format!("{} ({} {})", entry.id, entry.kind(), entry.operation.resource.urn))
            .collect();
        let found = entries.into_iter().enumerate().find(|(_, entry)| entry.id == id);
        found.ok_or_else(|| {
            let error = Error::new(
                ErrorKind::NotFound,
                format!("the stack has no pending operation with the id {id:?}"),
            );
            error.with_hint(match (known.len(), pending.len()) {
                (_, 0) => "the stack has no pending operations".to_owned(),
                (listed, all) if listed < all => {
                    format!(
                        "the stack has {all} pending operations, among them {}",
                        known.join(", ")
                    )
                }
                _ => format!("the pending operations are {}", known.join(", ")),
            })
        })
    }

    /// Returns the name of the operation's kind: `creating` for instance.
    #[must_use]
    pub fn kind(&self) -> String {
        format!("{:?}", self.operation.kind).to_lowercase()
    }
}

/// Returns a pending operation whose resource has the id of the record in use, where it is an update, which is recorded without
/// one.
#[must_use]
pub(crate) fn with_recorded_id(
    operation: &PendingOperation,
    records: &[Arc<ResourceState>],
) -> PendingOperation {
    let mut operation = operation.clone();
    let resource = &operation.resource;
    if operation.kind == PendingOperationKind::Updating && resource.id.is_empty() {
        let mut records = records.iter();
        let live = records.find(|record| record.urn == resource.urn && !record.delete);
        if let Some(record) = live {
            Arc::make_mut(&mut operation.resource).id = record.id.clone();
        }
    }
    operation
}

/// Returns the parts of an operation that its id follows from.
fn key(operation: &PendingOperation) -> (PendingOperationKind, &str, &str) {
    let resource = &operation.resource;
    (operation.kind, resource.urn.as_str(), resource.id.as_str())
}

/// Returns the id of the operation at `place` among `count` equal ones.
fn id(key: (PendingOperationKind, &str, &str), place: usize, count: usize) -> String {
    let (kind, urn, id) = key;
    let text = format!("{kind:?}\0{urn}\0{id}\0{place}\0{count}");
    let digest = Sha256::digest(text.as_bytes());
    let bytes = digest.iter().take(ID_LENGTH);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{token::TypeToken, urn::Urn};

    fn pending(kind: PendingOperationKind, name: &str) -> PendingOperation {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", name);
        PendingOperation {
            resource: Arc::new(ResourceState::new(urn, TypeToken::from("pkg:index:Type"), true)),
            kind,
        }
    }

    fn ids(pending: &[PendingOperation]) -> Vec<String> {
        let entries = PendingEntry::all(pending, &[], false).into_iter();
        entries.map(|entry| entry.id).collect()
    }

    #[test]
    fn an_id_stays_while_others_go_and_never_names_another_operation() {
        use PendingOperationKind::{Creating, Updating};
        let all = [
            pending(Creating, "a"),
            pending(Updating, "a"),
            pending(Creating, "b"),
            pending(Creating, "b"),
        ];
        let before = ids(&all);
        assert_eq!(ids(&all[1..])[..], before[1..], "the first one is gone");
        let after = ids(&all[..3]);
        assert_eq!(after[..2], before[..2]);
        assert!(!before.contains(&after[2]), "one of two equal ones is gone");
        let mut unique = before.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), 4);
        assert!(before.iter().all(|id| id.len() == 2 * ID_LENGTH));
    }

    #[test]
    fn an_unknown_id_is_refused_with_those_that_there_are() {
        let all = [pending(PendingOperationKind::Creating, "a")];
        let error = PendingEntry::find(&all, &[], "nothing").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let hint = &error.hints()[0];
        assert!(
            hint.contains(&ids(&all)[0]) && hint.contains("creating urn:pulumi:dev::shop::pkg:index:Type::a"),
            "{hint}"
        );
        assert!(
            PendingEntry::find(&[], &[], "nothing").unwrap_err().hints()[0].contains("no pending operations")
        );
        let (place, found) = PendingEntry::find(&all, &[], &ids(&all)[0]).unwrap();
        assert_eq!((place, found.kind().as_str()), (0, "creating"));
    }

    #[test]
    fn an_update_has_the_id_of_the_record_in_use() {
        let update = pending(PendingOperationKind::Updating, "a");
        let mut record = ResourceState::clone(&update.resource);
        record.id = "a-1".into();
        let copy = ResourceState {
            id: "a-0".into(),
            delete: true,
            ..record.clone()
        };
        let records = [Arc::new(copy), Arc::new(record)];
        let known = |operation: &PendingOperation| with_recorded_id(operation, &records).resource.id.clone();
        assert_eq!(known(&update).as_str(), "a-1");
        assert!(known(&pending(PendingOperationKind::Creating, "a")).is_empty());
        assert!(known(&pending(PendingOperationKind::Updating, "b")).is_empty());
    }
}
