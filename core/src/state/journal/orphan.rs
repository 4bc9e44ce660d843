//! Journals without their checkpoint: steps that another program's checkpoint does not contain become pending
//! operations.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{codec::Decoded, entry_json::EntryFields, header::JournalHeader};
use crate::{
    property::PropertyMap,
    resource::{PendingOperation, PendingOperationKind, ResourceState},
    secrets::{SecretsProvider, open_or_lock},
    state::{Extensions, JournalEntry, JournalRecord, OperationId, Snapshot, StateId, deployment::decrypt},
    step::StepOp,
};

/// The identity of a real resource: its type and its id.
type Identity = (String, String);

fn identity(state: &ResourceState) -> Identity {
    (state.resource_type.to_string(), state.id.to_string())
}

/// A journal that extends neither the checkpoint nor one that was written before it.
#[derive(Debug)]
pub(crate) struct Orphan {
    /// The journal's header.
    pub header: JournalHeader,
    /// The steps in flight at the journal's end.
    begun: BTreeMap<OperationId, (u64, PendingOperation)>,
    /// All completed steps.
    done: CompletedSteps,
    /// The completed steps from `unseen_from` on.
    done_since: CompletedSteps,
    /// The resources that were created before `unseen_from`.
    shown: FxHashSet<Identity>,
    /// The number of the first entry that no refreshed checkpoint of the operation is known to contain.
    unseen_from: u64,
    /// The extensions that the operation added.
    extensions: Extensions,
}

/// The effects of completed steps on real resources.
#[derive(Debug, Default)]
struct CompletedSteps {
    last: FxHashMap<Identity, PendingOperation>,
    /// The identities in `last`, in the order of their completion.
    order: Vec<Identity>,
}

impl Orphan {
    /// Reads the effects of the entries. When a secret cannot be decrypted, records lose their properties, not their
    /// ids.
    pub(super) async fn read(decoded: Decoded, provider: &dyn SecretsProvider) -> Self {
        let mut entries = decoded.entries;
        let mut states = Vec::with_capacity(entries.len());
        entries
            .iter_mut()
            .for_each(|entry| entry.take_states(&mut states));
        let secrets = match &decoded.header.secrets {
            Some(named) => Some(open_or_lock(provider, &named.kind, named.state.as_ref()).await),
            None => None,
        };
        if let Err(error) = decrypt(&mut states, secrets.as_deref()).await {
            tracing::warn!(%error, "the properties in a journal without its checkpoint cannot be read");
            for state in &mut states {
                let state = Arc::make_mut(state);
                state.inputs = PropertyMap::default();
                state.outputs = PropertyMap::default();
                state.options.replacement_trigger = None;
            }
        }
        let mut orphan = Self {
            header: decoded.header,
            begun: BTreeMap::new(),
            done: CompletedSteps::default(),
            done_since: CompletedSteps::default(),
            shown: FxHashSet::default(),
            unseen_from: decoded.rebases.last().map_or(0, |rebase| rebase.written),
            extensions: Extensions::default(),
        };
        orphan.apply_all(entries, states);
        orphan
    }

    fn apply_all(&mut self, entries: Vec<EntryFields>, states: Vec<Arc<ResourceState>>) {
        let mut states = states.into_iter();
        let mut known: FxHashMap<StateId, Arc<ResourceState>> = FxHashMap::default();
        for entry in entries {
            // A step on an old record whose URN and id were not written is unknown without its base.
            let entry = entry.into_entry(&mut states, |old| {
                known.get(&old.id).cloned().or_else(|| old.identity())
            });
            let Ok(entry) = entry else {
                continue;
            };
            if let JournalRecord::Success { new: Some(new), .. } = &entry.record {
                known.insert(new.id, Arc::clone(&new.state));
            }
            self.apply(entry);
        }
    }

    fn apply(&mut self, entry: JournalEntry) {
        match entry.record {
            JournalRecord::Begin {
                pending: Some(kind),
                old,
                new,
                ..
            } => {
                let old = old.map(|old| old.state);
                let resource = match kind {
                    PendingOperationKind::Deleting => old.or(new),
                    _ => new.or(old),
                };
                if let Some(resource) = resource {
                    let pending = PendingOperation { resource, kind };
                    self.begun.insert(entry.operation, (entry.sequence, pending));
                }
            }
            JournalRecord::Failure { .. } => drop(self.begun.remove(&entry.operation)),
            JournalRecord::ExtensionAdded { extension } => self.extensions.insert(&extension),
            JournalRecord::Success { op, new, view, .. } => {
                let begun = self.begun.remove(&entry.operation).map(|(_, pending)| pending);
                if view {
                    return;
                }
                let new = new.map(|new| new.state);
                if entry.sequence >= self.unseen_from {
                    self.done_since.add(op, new.clone(), begun.clone());
                } else if let (StepOp::Create | StepOp::CreateReplacement, Some(new)) = (op, &new) {
                    self.shown.insert(identity(new));
                }
                self.done.add(op, new, begun);
            }
            _ => {}
        }
    }

    /// Adds the extensions of the operation that its unseen steps may refer to.
    pub(crate) fn add_extensions(&self, snapshot: &mut Snapshot) {
        self.extensions.add_to(snapshot);
        snapshot.drop_unused_extensions();
    }

    /// Returns the operation's completed and interrupted steps that `snapshot` does not contain.
    ///
    /// A snapshot with a resource that the operation created before its last refreshed checkpoint derives from such a
    /// checkpoint: its other resources were removed on purpose. Any other may be an older state, and all steps count.
    #[must_use]
    pub(crate) fn unseen(&self, snapshot: &Snapshot) -> Vec<PendingOperation> {
        let records: FxHashMap<_, _> = snapshot
            .resources
            .iter()
            .filter(|record| has_real_thing(record))
            .map(|record| (identity(record), record))
            .collect();
        let is_descendant = self.shown.iter().any(|identity| records.contains_key(identity));
        let (done, from) = match is_descendant {
            true => (&self.done_since, self.unseen_from),
            false => (&self.done, 0),
        };
        let done = done.order.iter().filter_map(|identity| done.last.get(identity));
        let begun = self.begun.values();
        let begun = begun
            .filter(|(sequence, _)| *sequence >= from)
            .map(|(_, pending)| pending);
        let mut known: FxHashSet<_> = snapshot.pending_operations.iter().map(key).collect();
        let unseen = done
            .filter_map(|pending| unseen_done(pending, &records))
            .chain(begun.filter_map(|pending| unseen_begun(pending, &records)));
        unseen.filter(|pending| known.insert(key(pending))).collect()
    }
}

impl CompletedSteps {
    fn add(&mut self, op: StepOp, new: Option<Arc<ResourceState>>, begun: Option<PendingOperation>) {
        let done = match op {
            StepOp::Create | StepOp::CreateReplacement => {
                new.map(|new| (PendingOperationKind::Creating, new))
            }
            StepOp::Update => new.map(|new| (PendingOperationKind::Updating, new)),
            StepOp::Delete | StepOp::DeleteReplaced => begun
                .filter(|begun| begun.kind == PendingOperationKind::Deleting)
                .map(|begun| (PendingOperationKind::Deleting, begun.resource)),
            // They change only the state, but may have newer properties of a created resource.
            _ => new
                .filter(|new| self.last.contains_key(&identity(new)))
                .map(|new| (PendingOperationKind::Updating, new)),
        };
        let Some((kind, resource)) = done.filter(|(_, resource)| has_real_thing(resource)) else {
            return;
        };
        let identity = identity(&resource);
        match (self.last.get_mut(&identity), kind) {
            // A resource that was created and deleted again leaves nothing pending.
            (Some(done), PendingOperationKind::Deleting) if done.kind == PendingOperationKind::Creating => {
                self.last.remove(&identity);
            }
            (Some(done), PendingOperationKind::Updating) => done.resource = resource,
            (Some(done), _) => *done = PendingOperation { resource, kind },
            (None, _) => {
                self.order.push(identity.clone());
                self.last.insert(identity, PendingOperation { resource, kind });
            }
        }
    }
}

fn key(pending: &PendingOperation) -> (String, String, PendingOperationKind) {
    let resource = &pending.resource;
    (resource.urn.to_string(), resource.id.to_string(), pending.kind)
}

/// Returns whether a record represents a resource outside of the state that is managed, not only read.
fn has_real_thing(state: &ResourceState) -> bool {
    state.custom && !state.external && !state.is_provider() && !state.id.is_empty()
}

type Records<'a> = FxHashMap<Identity, &'a Arc<ResourceState>>;

fn unseen_done(pending: &PendingOperation, records: &Records<'_>) -> Option<PendingOperation> {
    let record = records.get(&identity(&pending.resource)).copied();
    let is_seen = match (pending.kind, record) {
        (PendingOperationKind::Creating, record) => record.is_some(),
        (PendingOperationKind::Updating, Some(record)) => {
            record.inputs == pending.resource.inputs && record.outputs == pending.resource.outputs
        }
        (_, record) => record.is_none(),
    };
    if is_seen {
        return None;
    }
    let resource = match (pending.kind, record) {
        (PendingOperationKind::Deleting, Some(record)) => record,
        _ => &pending.resource,
    };
    Some(PendingOperation {
        resource: Arc::clone(resource),
        kind: pending.kind,
    })
}

fn unseen_begun(pending: &PendingOperation, records: &Records<'_>) -> Option<PendingOperation> {
    let record = records.get(&identity(&pending.resource)).copied();
    let resource = match pending.kind {
        PendingOperationKind::Creating => Some(&pending.resource),
        PendingOperationKind::Updating => record.map(|_| &pending.resource),
        PendingOperationKind::Deleting => record,
        _ => None,
    };
    resource.map(|resource| PendingOperation {
        resource: Arc::clone(resource),
        kind: pending.kind,
    })
}
