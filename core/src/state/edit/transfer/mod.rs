//! Moving resources to another stack: their records get its names, and the providers that they need are copied. References between
//! both stacks are removed.

mod providers;
mod selection;
#[cfg(test)]
mod tests;
mod withdraw;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    EditKind, EditReport, EditedRecord, RemovedReference, UrnText, report::removed_references,
    rewrite::rewrite_record, stack_name::Names,
};
use crate::{
    error::{Error, ErrorKind, Result},
    message::Text,
    resource::{PendingOperation, PendingOperationKind, ResourceState},
    state::{Snapshot, integrity, valid_order},
    urn::{ROOT_STACK_TYPE, Urn},
};

use providers::Providers;
pub(crate) use withdraw::withdraw;

/// Moves resources, and all below them, to another stack. The resources themselves stay as they are, no provider is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "MoveEdit")]
pub struct Move {
    /// The URNs of the resources; that of the stack itself selects all below it. Providers cannot be named: they are copied where they are needed.
    #[schemars(with = "Vec<UrnText>", extend("x-takes" = "a list of URNs"))]
    pub urns: Vec<Urn>,
    /// The parents of the resources move, too, up to the stack itself, and everything below them.
    pub include_parents: bool,
}

impl Move {
    /// Moves the resources of these URNs.
    #[must_use]
    pub fn of(urns: impl IntoIterator<Item = Urn>) -> Self {
        Self {
            urns: urns.into_iter().collect(),
            include_parents: false,
        }
    }
}

/// What a move did to both stacks, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MoveReport {
    /// The stack that had the resources: they are removed, and other records lose their references to them.
    pub source: EditReport,
    /// The stack that has them now. Records that came from the source have their URNs there as former ones.
    pub destination: EditReport,
}

/// A record that moves, as notes name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MovedRecord {
    /// Its URN in the source.
    pub(crate) from: Urn,
    /// Its URN in the destination.
    pub(crate) to: Urn,
    /// Its id.
    pub(crate) id: String,
    /// Whether it is an old copy that is pending deletion.
    pub(crate) delete: bool,
    /// Whether it is that of a pending operation.
    pub(crate) pending: bool,
}

impl MovedRecord {
    fn of(record: &ResourceState, to: Urn, pending: bool) -> Self {
        Self {
            from: record.urn.clone(),
            to,
            id: record.id.to_string(),
            delete: record.delete,
            pending,
        }
    }
}

/// The states of both stacks after a move. They are not verified.
pub(crate) struct Moved {
    pub(crate) source: Snapshot,
    pub(crate) destination: Snapshot,
    pub(crate) report: MoveReport,
    /// The records that moved, in the order of the source.
    pub(crate) records: Vec<MovedRecord>,
}

/// Moves resources from the state `source` to the state `destination`, which is that of the stack `to`.
///
/// # Errors
/// [`ErrorKind::NotFound`] for an unknown URN, with the nearest ones as hints; [`ErrorKind::InvalidInput`] for a provider;
/// [`ErrorKind::Conflict`] for a resource or provider that the destination has already, and for a view without its owner;
/// [`ErrorKind::State`] when an extension is missing.
pub(crate) fn transfer(
    source: &Snapshot,
    destination: &Snapshot,
    edit: &Move,
    to: Names<'_>,
) -> Result<Moved> {
    let chosen = selection::select(source, edit)?;
    let urns = selection::new_urns(source, &chosen, to);
    refuse_taken(source, destination, &urns)?;
    let withdrawn = withdraw(source, &chosen)?;
    let is_moved = |record: &Arc<ResourceState>| chosen.contains(&record.urn);
    let records: Vec<_> = source
        .resources
        .iter()
        .filter(|record| is_moved(record))
        .collect();
    let pending: Vec<_> = source
        .pending_operations
        .iter()
        .filter(|pending| is_moved(&pending.resource))
        .collect();
    let all = || {
        records
            .iter()
            .copied()
            .chain(pending.iter().map(|pending| &pending.resource))
    };
    let providers = Providers::of(all(), source, destination, to)?;
    let mut arrival = Arrival::begin(destination, urns, providers, to);
    arrival.copy_providers();
    let mut moved = Vec::with_capacity(records.len() + pending.len());
    for record in &records {
        moved.push(MovedRecord::of(record, arrival.add(record), false));
    }
    for pending in pending {
        let to = arrival.add_pending(pending);
        moved.push(MovedRecord::of(&pending.resource, to, true));
    }
    let arrived = |record: &ResourceState| arrival.arrived.contains(&record.urn);
    arrival.snapshot.adopt_extensions(source, arrived)?;
    let (destination, arrived) = arrival.finish()?;
    let mut left = EditReport::of(source, &withdrawn);
    warn_of_lost_references(&mut left, "that are in another stack now");
    Ok(Moved {
        source: withdrawn.snapshot,
        destination,
        report: MoveReport {
            source: left,
            destination: arrived,
        },
        records: moved,
    })
}

/// Refuses URNs that the destination has, and those that two resources would have.
fn refuse_taken(source: &Snapshot, destination: &Snapshot, urns: &FxHashMap<Urn, Urn>) -> Result<()> {
    let mut targets: FxHashSet<&Urn> = FxHashSet::default();
    let twice = urns.values().find(|urn| !targets.insert(urn));
    let pending = destination
        .pending_operations
        .iter()
        .map(|pending| &pending.resource);
    let mut there = destination.resources.iter().chain(pending);
    let taken = there.find(|record| targets.contains(&record.urn));
    let (urn, library) = match (taken, twice) {
        (Some(record), _) => (
            &record.urn,
            format!("the destination has the resource '{}' already", record.urn),
        ),
        (None, Some(urn)) => (urn, format!("the URN '{urn}' would be that of two resources")),
        (None, None) => return Ok(()),
    };
    let former = source
        .resources
        .iter()
        .find(|record| urns.get(&record.urn) == Some(urn));
    let reference = format!("resource {urn} already exists in destination stack");
    let error = Error::new(ErrorKind::Conflict, Text::pair(reference, library)).with_urn(urn.clone());
    Err(former.into_iter().fold(error, |error, record| {
        error.with_hint(format!(
            "rename() gives '{}' another name before it moves",
            record.urn
        ))
    }))
}

/// The state of the destination, while records are added to it.
struct Arrival {
    snapshot: Snapshot,
    report: EditReport,
    /// The stack itself.
    root: Urn,
    /// The new URNs of moved resources.
    urns: FxHashMap<Urn, Urn>,
    /// All URNs to which a moved record can refer.
    arrived: FxHashSet<Urn>,
    providers: Providers,
}

impl Arrival {
    fn begin(
        destination: &Snapshot,
        urns: FxHashMap<Urn, Urn>,
        providers: Providers,
        (project, stack): Names<'_>,
    ) -> Self {
        let mut snapshot = destination.clone();
        let mut report = EditReport::default();
        let root = match snapshot.root_stack() {
            Some(root) => root.urn.clone(),
            None => {
                let urn = Urn::root_stack(stack, project);
                let root = ResourceState::new(urn.clone(), ROOT_STACK_TYPE.into(), false);
                report
                    .records
                    .push(EditedRecord::new(EditKind::Added, &root, None));
                snapshot.resources.insert(0, Arc::new(root));
                urn
            }
        };
        let arrived = urns.values().chain(providers.urns.values()).cloned();
        Self {
            arrived: arrived.chain([root.clone()]).collect(),
            snapshot,
            report,
            root,
            urns,
            providers,
        }
    }

    fn copy_providers(&mut self) {
        for (_, provider) in std::mem::take(&mut self.providers.copied) {
            self.add(&provider);
        }
    }

    /// Adds a record, and returns its URN.
    fn add(&mut self, record: &ResourceState) -> Urn {
        let moved = self.moved(record);
        self.describe(record, &moved, None);
        let urn = moved.urn.clone();
        self.snapshot.resources.push(Arc::new(moved));
        urn
    }

    /// Adds a pending operation, and returns the URN of its record.
    fn add_pending(&mut self, pending: &PendingOperation) -> Urn {
        let moved = self.moved(&pending.resource);
        self.describe(&pending.resource, &moved, Some(pending.kind));
        let urn = moved.urn.clone();
        self.snapshot.pending_operations.push(PendingOperation {
            resource: Arc::new(moved),
            kind: pending.kind,
        });
        urn
    }

    fn new_urn(&self, urn: &Urn) -> Option<Urn> {
        self.urns
            .get(urn)
            .or_else(|| self.providers.urns.get(urn))
            .cloned()
    }

    /// Returns a record as it stands in the destination.
    fn moved(&self, record: &ResourceState) -> ResourceState {
        let rewritten = rewrite_record(record, &|urn| self.new_urn(urn));
        let mut moved = rewritten.unwrap_or_else(|| record.clone());
        // A copied provider is below the stack itself, also where its parent moves.
        let parent = record.parent.as_ref().filter(|_| !record.is_provider());
        let parent = parent.and_then(|parent| self.urns.get(parent));
        moved.parent = Some(parent.unwrap_or(&self.root).clone());
        if let Some(reference) = self.providers.references.get(&record.provider) {
            moved.provider = reference.clone();
        }
        let is_crossing = |urn: &Urn| !self.arrived.contains(urn);
        let mut crosses = false;
        moved.for_each_dependency(|urn| crosses |= is_crossing(urn));
        if crosses {
            moved.retain_dependencies(|urn| !is_crossing(urn));
        }
        moved
    }

    fn describe(
        &mut self,
        before: &ResourceState,
        after: &ResourceState,
        kind: Option<PendingOperationKind>,
    ) {
        let mut removed = Vec::new();
        let stays = |parent: &&Urn| !parent.is_root_stack() && !self.urns.contains_key(*parent);
        if let Some(parent) = before.parent.as_ref().filter(stays) {
            removed.push(RemovedReference {
                field: "parent".to_owned(),
                urn: parent.clone(),
            });
        }
        removed.extend(removed_references(before, after, &|urn| self.new_urn(urn)));
        self.report.records.push(EditedRecord {
            former_urn: Some(before.urn.clone()),
            removed_references: removed,
            ..EditedRecord::new(EditKind::Added, after, kind)
        });
    }

    /// Returns the state, sorted where a copied provider refers to a moved resource, and the report.
    fn finish(mut self) -> Result<(Snapshot, EditReport)> {
        if integrity::verify_resources(&self.snapshot.resources).is_err() {
            let order = valid_order(&self.snapshot.resources)?;
            let sorted = order
                .into_iter()
                .map(|index| Arc::clone(&self.snapshot.resources[index]));
            self.snapshot.resources = sorted.collect();
        }
        warn_of_lost_references(&mut self.report, "that stay in the other stack");
        Ok((self.snapshot, self.report))
    }
}

/// Adds the advice for records that lose references between both stacks.
fn warn_of_lost_references(report: &mut EditReport, place: &str) {
    let count = report
        .records
        .iter()
        .filter(|record| !record.removed_references.is_empty())
        .count();
    if count > 0 {
        let records = match count {
            1 => "1 record loses".to_owned(),
            _ => format!("{count} records lose"),
        };
        report.warnings.push(format!(
            "{records} references to resources {place}: the program gets what it needs of these as configuration, or from the other \
             stack's outputs"
        ));
    }
}
