//! The report of an edit: the records that differ between two snapshots, and how.

use std::{collections::VecDeque, sync::Arc};

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Edited,
    rewrite::{UrnMap, rewrite_list},
};
use crate::{
    property::PropertyValue,
    resource::{PendingOperationKind, ResourceState},
    state::Snapshot,
    urn::Urn,
};

/// What an edit did to a state, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditReport {
    /// Whether the edit was a dry run, which writes nothing.
    pub dry_run: bool,
    /// The records that it touched: those of the state in its order, then those of pending operations.
    pub records: Vec<EditedRecord>,
    /// What it did to the settings file of the stack; `None` for nothing.
    pub settings: Option<SettingsEdit>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// What an edit does to the settings that the source of the stack's configuration keeps: its settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingsEdit {
    /// They get the new name of the stack.
    Renamed,
    /// Their secrets get the new key.
    Encrypted,
}

/// What an edit does to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditKind {
    /// It has another URN; other fields can differ, too.
    Renamed,
    /// Fields differ.
    Changed,
    /// It stands at another place, and is unchanged.
    Moved,
    /// It is new.
    Added,
    /// It is gone.
    Removed,
}

/// A record that an edit touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedRecord {
    /// What happened to it.
    pub kind: EditKind,
    /// Its URN after the edit; that of a removed record before it.
    pub urn: Urn,
    /// Its URN before the edit, where that is another one.
    pub former_urn: Option<Urn>,
    /// The fields that differ, by their names in the deployment format.
    pub fields: Vec<&'static str>,
    /// The references that are gone.
    pub removed_references: Vec<RemovedReference>,
    /// Whether it is an old copy that is pending deletion.
    pub pending_deletion: bool,
    /// The kind of the pending operation to which it belongs; `None` for a record of the state.
    pub pending_operation: Option<PendingOperationKind>,
}

/// A reference that a record no longer has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedReference {
    /// The field: `parent`, `dependencies`, `propertyDependencies.size`…
    pub field: String,
    /// The URN that it named.
    pub urn: Urn,
}

impl EditReport {
    /// Returns whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.settings.is_none()
    }

    /// Names every record with secrets, and the fields that have them.
    pub(crate) fn of_secrets(snapshot: &Snapshot) -> Self {
        let of_record = |record: &ResourceState, pending| {
            let trigger = record.options.replacement_trigger.as_ref();
            let fields = [
                ("inputs", record.inputs.contains_secrets()),
                ("outputs", record.outputs.contains_secrets()),
                (
                    "replacementTrigger",
                    trigger.is_some_and(PropertyValue::contains_secrets),
                ),
            ];
            let secret = fields.into_iter().filter(|(_, is_secret)| *is_secret);
            let fields: Vec<_> = secret.map(|(name, _)| name).collect();
            (!fields.is_empty()).then(|| EditedRecord {
                fields,
                ..EditedRecord::new(EditKind::Changed, record, pending)
            })
        };
        let live = snapshot
            .resources
            .iter()
            .filter_map(|record| of_record(record, None));
        let pending = snapshot.pending_operations.iter();
        let pending = pending.filter_map(|pending| of_record(&pending.resource, Some(pending.kind)));
        Self {
            records: live.chain(pending).collect(),
            ..Self::default()
        }
    }

    /// Compares the snapshot before an edit with the one after it.
    pub(crate) fn of(before: &Snapshot, edited: &Edited) -> Self {
        let comparison = Comparison {
            renames: &edited.renames,
        };
        let state = |record: &Arc<ResourceState>| (Arc::clone(record), None);
        let pending = |snapshot: &Snapshot| -> Vec<_> {
            let pending = snapshot.pending_operations.iter();
            pending
                .map(|pending| (Arc::clone(&pending.resource), Some(pending.kind)))
                .collect()
        };
        let old: Vec<_> = before.resources.iter().map(state).collect();
        let new: Vec<_> = edited.snapshot.resources.iter().map(state).collect();
        let mut records = comparison.records(&old, &new);
        records.extend(comparison.records(&pending(before), &pending(&edited.snapshot)));
        Self {
            dry_run: false,
            records,
            settings: None,
            warnings: edited.warnings.clone(),
        }
    }
}

/// A record, with the kind of its pending operation.
type Entry = (Arc<ResourceState>, Option<PendingOperationKind>);

/// The identity of a record within a snapshot.
type Identity<'a> = (&'a Urn, bool, Option<PendingOperationKind>);

struct Comparison<'a> {
    renames: &'a FxHashMap<Urn, Urn>,
}

impl Comparison<'_> {
    fn renamed(&self, urn: &Urn) -> Option<Urn> {
        self.renames.get(urn).cloned()
    }

    fn identity<'b>(&'b self, (record, kind): &'b Entry) -> Identity<'b> {
        (
            self.renames.get(&record.urn).unwrap_or(&record.urn),
            record.delete,
            *kind,
        )
    }

    fn records(&self, old: &[Entry], new: &[Entry]) -> Vec<EditedRecord> {
        let partners = self.partners(old, new);
        let moved = moved(&partners, old.len());
        let mut touched = Vec::new();
        let mut kept = vec![false; old.len()];
        for (place, (record, kind)) in new.iter().enumerate() {
            let Some(partner) = partners[place] else {
                touched.push(EditedRecord::new(EditKind::Added, record, *kind));
                continue;
            };
            kept[partner] = true;
            let before = &old[partner].0;
            if let Some(edited) = self.changed(before, record, *kind) {
                touched.push(edited);
            } else if moved[place] {
                touched.push(EditedRecord::new(EditKind::Moved, record, *kind));
            }
        }
        let removed = old.iter().zip(&kept).filter(|(_, kept)| !**kept);
        touched
            .extend(removed.map(|((record, kind), _)| EditedRecord::new(EditKind::Removed, record, *kind)));
        touched
    }

    /// Returns for each new record the position of the old one that it comes from.
    fn partners(&self, old: &[Entry], new: &[Entry]) -> Vec<Option<usize>> {
        // Most edits keep the positions.
        let same = |(old, new): (&Entry, &Entry)| {
            Arc::ptr_eq(&old.0, &new.0) || self.identity(old) == (&new.0.urn, new.0.delete, new.1)
        };
        if old.len() == new.len() && old.iter().zip(new).all(same) {
            return (0..new.len()).map(Some).collect();
        }
        let mut known: FxHashMap<Identity<'_>, VecDeque<usize>> = FxHashMap::default();
        for (place, entry) in old.iter().enumerate() {
            known.entry(self.identity(entry)).or_default().push_back(place);
        }
        let mut partners = Vec::with_capacity(new.len());
        for (record, kind) in new {
            let places = known.get_mut(&(&record.urn, record.delete, *kind));
            partners.push(places.and_then(|places| {
                // Of several copies, the one with the same id.
                let same = places.iter().position(|place| old[*place].0.id == record.id);
                same.and_then(|same| places.remove(same))
                    .or_else(|| places.pop_front())
            }));
        }
        partners
    }

    fn changed(
        &self,
        before: &Arc<ResourceState>,
        after: &Arc<ResourceState>,
        kind: Option<PendingOperationKind>,
    ) -> Option<EditedRecord> {
        if Arc::ptr_eq(before, after) {
            return None;
        }
        let fields = fields(before, after);
        if fields.is_empty() {
            return None;
        }
        let is_renamed = before.urn != after.urn;
        let edit = if is_renamed {
            EditKind::Renamed
        } else {
            EditKind::Changed
        };
        Some(EditedRecord {
            former_urn: is_renamed.then(|| before.urn.clone()),
            removed_references: removed_references(before, after, &|urn| self.renamed(urn)),
            fields,
            ..EditedRecord::new(edit, after, kind)
        })
    }
}

/// Returns the references of a record that are gone. `renamed` has new URNs by former ones.
pub(super) fn removed_references(
    before: &ResourceState,
    after: &ResourceState,
    renamed: UrnMap<'_>,
) -> Vec<RemovedReference> {
    let mut removed = Vec::new();
    let single = [
        ("parent", &before.parent, &after.parent),
        (
            "deletedWith",
            &before.options.deleted_with,
            &after.options.deleted_with,
        ),
        ("viewOf", &before.view_of, &after.view_of),
    ];
    for (field, before, after) in single {
        if let (Some(urn), None) = (before, after) {
            removed.push(RemovedReference {
                field: field.to_owned(),
                urn: urn.clone(),
            });
        }
    }
    let mut compare = |field: &str, before: &[Urn], after: &[Urn]| {
        let renamed = rewrite_list(before, renamed);
        let renamed = renamed.as_deref().unwrap_or(before);
        for (urn, renamed) in before.iter().zip(renamed) {
            if !after.contains(renamed) {
                removed.push(RemovedReference {
                    field: field.to_owned(),
                    urn: urn.clone(),
                });
            }
        }
    };
    if before.dependencies != after.dependencies {
        compare("dependencies", &before.dependencies, &after.dependencies);
    }
    let (with, without) = (&before.options.replace_with, &after.options.replace_with);
    if with != without {
        compare("replaceWith", with, without);
    }
    if before.property_dependencies != after.property_dependencies {
        for (property, urns) in before.property_dependencies.iter() {
            let left = after.property_dependencies.get(property).unwrap_or_default();
            compare(&format!("propertyDependencies.{property}"), urns, left);
        }
    }
    removed
}

impl EditedRecord {
    pub(super) fn new(kind: EditKind, record: &ResourceState, pending: Option<PendingOperationKind>) -> Self {
        Self {
            kind,
            urn: record.urn.clone(),
            former_urn: None,
            fields: Vec::new(),
            removed_references: Vec::new(),
            pending_deletion: record.delete,
            pending_operation: pending,
        }
    }
}

/// Returns for each new record whether it has moved: both its neighbours are others than before, or it stands after a record that
/// it preceded. Records that have not moved keep their order.
fn moved(partners: &[Option<usize>], count: usize) -> Vec<bool> {
    let kept: Vec<(usize, usize)> = partners
        .iter()
        .enumerate()
        .filter_map(|(new, old)| Some((new, (*old)?)))
        .collect();
    let mut moved = vec![false; partners.len()];
    if kept.is_sorted_by_key(|(_, old)| *old) {
        return moved;
    }
    let mut is_kept = vec![false; count];
    kept.iter().for_each(|(_, old)| is_kept[*old] = true);
    // The neighbours of each old record among those that are kept.
    let mut neighbours = vec![(None, None); count];
    let mut last = None;
    for old in (0..count).filter(|old| is_kept[*old]) {
        neighbours[old].0 = last;
        if let Some(last) = last {
            let before: &mut (Option<usize>, Option<usize>) = &mut neighbours[last];
            before.1 = Some(old);
        }
        last = Some(old);
    }
    for (index, (new, old)) in kept.iter().enumerate() {
        let at = |index: Option<usize>| index.and_then(|index| kept.get(index)).map(|(_, old)| *old);
        let now = (at(index.checked_sub(1)), at(Some(index + 1)));
        moved[*new] = neighbours[*old].0 != now.0 && neighbours[*old].1 != now.1;
    }
    // Groups that change places as a whole keep a neighbour of each record.
    let mut latest = 0;
    for (new, old) in kept {
        if !moved[new] {
            moved[new] = old < latest;
            latest = latest.max(old);
        }
    }
    moved
}

/// Returns the names of the fields that differ, in the order of the format.
fn fields(before: &ResourceState, after: &ResourceState) -> Vec<&'static str> {
    let (old, new) = (&before.options, &after.options);
    let same_map = |old: &crate::property::PropertyMap, new: &crate::property::PropertyMap| {
        old.is_shared_with(new) || old == new
    };
    let compared = [
        ("urn", before.urn == after.urn),
        ("custom", before.custom == after.custom),
        ("delete", before.delete == after.delete),
        ("id", before.id == after.id),
        ("type", before.resource_type == after.resource_type),
        ("inputs", same_map(&before.inputs, &after.inputs)),
        ("outputs", same_map(&before.outputs, &after.outputs)),
        ("parent", before.parent == after.parent),
        ("protect", before.protect == after.protect),
        ("taint", before.taint == after.taint),
        ("external", before.external == after.external),
        ("dependencies", before.dependencies == after.dependencies),
        ("initErrors", before.init_errors == after.init_errors),
        ("provider", before.provider == after.provider),
        (
            "propertyDependencies",
            before.property_dependencies == after.property_dependencies,
        ),
        (
            "pendingReplacement",
            before.pending_replacement == after.pending_replacement,
        ),
        (
            "additionalSecretOutputs",
            old.additional_secret_outputs == new.additional_secret_outputs,
        ),
        ("aliases", before.aliases == after.aliases),
        ("customTimeouts", old.custom_timeouts == new.custom_timeouts),
        ("importID", old.import_id == new.import_id),
        (
            "retainOnDelete",
            before.retain_on_delete == after.retain_on_delete,
        ),
        ("deletedWith", old.deleted_with == new.deleted_with),
        ("replaceWith", old.replace_with == new.replace_with),
        ("created", before.created == after.created),
        ("modified", before.modified == after.modified),
        ("sourcePosition", before.source_position == after.source_position),
        ("stackTrace", before.stack_trace == after.stack_trace),
        ("ignoreChanges", old.ignore_changes == new.ignore_changes),
        ("hideDiff", old.hide_diffs == new.hide_diffs),
        (
            "replaceOnChanges",
            old.replace_on_changes == new.replace_on_changes,
        ),
        (
            "replacementTrigger",
            old.replacement_trigger == new.replacement_trigger,
        ),
        (
            "refreshBeforeUpdate",
            before.refresh_before_update == after.refresh_before_update,
        ),
        ("viewOf", before.view_of == after.view_of),
        ("resourceHooks", old.resource_hooks == new.resource_hooks),
        ("extensionRef", before.extension_ref == after.extension_ref),
        ("snippetID", before.snippet_id == after.snippet_id),
        ("unknown members", before.unknown_members == after.unknown_members),
    ];
    compared
        .into_iter()
        .filter(|(_, same)| !same)
        .map(|(name, _)| name)
        .collect()
}
