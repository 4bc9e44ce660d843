//! The reports of edits, compared with both states: all that they say has changed, and all that has changed is in them.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::Value;

use super::deployment::{Deployment, MARK, is_live, text};
use crate::{
    resource::PendingOperationKind,
    state::edit::{EditKind, EditReport, EditedRecord},
};

/// A URN, whether it is that of an old copy, and the kind of the pending operation.
type Identity = (String, bool, Option<String>);

/// The records of each identity.
type Records = BTreeMap<Identity, Vec<Value>>;

fn records_of(deployment: &Deployment) -> Records {
    let mut records = Records::new();
    let mut add = |record: &Value, kind: Option<String>| {
        let identity = (text(record, "urn").to_owned(), !is_live(record), kind);
        records.entry(identity).or_default().push(record.clone());
    };
    deployment.records.iter().for_each(|record| add(record, None));
    for pending in &deployment.pending {
        add(&pending["resource"], Some(text(pending, "type").to_owned()));
    }
    records
        .values_mut()
        .for_each(|records| records.sort_by_key(Value::to_string));
    records
}

fn identity(record: &EditedRecord, urn: &str) -> Identity {
    let name = |kind: PendingOperationKind| format!("{kind:?}").to_lowercase();
    (
        urn.to_owned(),
        record.pending_deletion,
        record.pending_operation.map(name),
    )
}

/// Checks a report. `is_rekeyed` is true where the records differ in ciphertexts only, which count then.
pub(super) fn check_report(
    before: &Deployment,
    after: &Deployment,
    report: &EditReport,
    is_rekeyed: bool,
) -> Result<(), TestCaseError> {
    let shown = |deployment: &Deployment| match is_rekeyed {
        true => records_of(deployment),
        false => records_of(&deployment.contents()),
    };
    let (old, new) = (shown(before), shown(after));
    let (mut reported, mut balance) = (BTreeSet::new(), 0_i64);
    for record in &report.records {
        let present = identity(record, record.urn.as_str());
        let former_urn = record.former_urn.as_ref().unwrap_or(&record.urn);
        let former = identity(record, former_urn.as_str());
        let differs = old.get(&present) != new.get(&present);
        let is_true = match record.kind {
            EditKind::Renamed => former != present && old.contains_key(&former) && new.contains_key(&present),
            EditKind::Changed => differs && old.contains_key(&present) && new.contains_key(&present),
            EditKind::Moved => new.contains_key(&present) && is_reordered(before, after),
            EditKind::Added => differs && new.contains_key(&present),
            EditKind::Removed => differs && old.contains_key(&present),
        };
        prop_assert!(is_true, "not so: {record:?} of\n{old:#?}\n{new:#?}");
        balance += match record.kind {
            EditKind::Added => 1,
            EditKind::Removed => -1,
            _ => 0,
        };
        if let (EditKind::Renamed | EditKind::Changed, Some([one]), Some([other])) = (
            record.kind,
            old.get(&former).map(Vec::as_slice),
            new.get(&present).map(Vec::as_slice),
        ) {
            let listed: BTreeSet<&str> = record.fields.iter().copied().collect();
            prop_assert_eq!(differing(one, other), listed);
        }
        reported.extend([present, former]);
    }
    for identity in old.keys().chain(new.keys()) {
        let is_complete = old.get(identity) == new.get(identity) || reported.contains(identity);
        prop_assert!(is_complete, "{identity:?} is not in {report:?}");
    }
    let count = |records: &Records| records.values().map(Vec::len).sum::<usize>();
    let (grown, shrunk) = (count(&new), count(&old));
    prop_assert_eq!(
        balance,
        i64::try_from(grown).unwrap() - i64::try_from(shrunk).unwrap()
    );
    Ok(())
}

/// Returns whether the records that both states have, under any URNs, stand in another order.
fn is_reordered(before: &Deployment, after: &Deployment) -> bool {
    let place = |record: &Value| {
        let mark = record.get(MARK)?;
        before
            .records
            .iter()
            .position(|former| former.get(MARK) == Some(mark))
    };
    !after.records.iter().filter_map(place).is_sorted()
}

/// The members that reports name; the others are unknown ones.
const FIELDS: [&str; 32] = [
    "urn",
    "id",
    "type",
    "inputs",
    "outputs",
    "parent",
    "protect",
    "taint",
    "external",
    "dependencies",
    "initErrors",
    "provider",
    "propertyDependencies",
    "pendingReplacement",
    "additionalSecretOutputs",
    "aliases",
    "customTimeouts",
    "importID",
    "retainOnDelete",
    "deletedWith",
    "replaceWith",
    "created",
    "modified",
    "sourcePosition",
    "stackTrace",
    "ignoreChanges",
    "hideDiff",
    "replaceOnChanges",
    "replacementTrigger",
    "refreshBeforeUpdate",
    "viewOf",
    "resourceHooks",
];

/// Returns the members in which two records differ.
fn differing(one: &Value, other: &Value) -> BTreeSet<&'static str> {
    let members = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<BTreeSet<_>>()
    };
    let all = &members(one) | &members(other);
    let differing = all.iter().filter(|name| one.get(name) != other.get(name));
    differing
        .map(|name| {
            FIELDS
                .iter()
                .find(|field| **field == name.as_str())
                .map_or("unknown members", |field| *field)
        })
        .collect()
}
