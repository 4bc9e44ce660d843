//! A model of the edits: from JSON to JSON, by text, without anything of the edits themselves. `None` is a refusal.

mod moves;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::deployment::{
    Deployment, Parts, ROOT_TYPE, is_live, is_provider, join, references, retain_references, text,
};
use crate::{
    state::edit::{Delete, Rename, Selection, StateEdit},
    urn::Urn,
};

pub(super) use moves::{is_lossless, moved};

type Urns = BTreeMap<String, String>;

/// The names of a project and of a stack in it.
pub(super) type Names<'a> = (&'a str, &'a str);

pub(super) fn edited(before: &Deployment, edit: &StateEdit) -> Option<Deployment> {
    let mark = |selection: &Selection, member: &str, value: bool| {
        let urns: BTreeSet<&str> = selection.urns.iter().map(Urn::as_str).collect();
        let mut after = before.clone();
        if !urns.iter().all(|urn| before.find(urn).is_some_and(is_live)) {
            return None;
        }
        let is_named = |record: &Value| selection.all || urns.contains(text(record, "urn"));
        let chosen = |record: &&mut Value| is_named(record) && is_live(record);
        for record in after.records.iter_mut().filter(chosen) {
            let members = record.as_object_mut()?;
            members.remove(member);
            if value {
                members.insert(member.to_owned(), true.into());
            }
        }
        Some(after)
    };
    match edit {
        StateEdit::Rename(rename) => renamed(before, rename),
        StateEdit::Delete(delete) => deleted(before, delete),
        StateEdit::Protect(of) => mark(of, "protect", true),
        StateEdit::Unprotect(of) => mark(of, "protect", false),
        StateEdit::Taint(of) => mark(of, "taint", true),
        StateEdit::Untaint(of) => mark(of, "taint", false),
        StateEdit::Repair => repaired(before),
    }
}

fn renamed(before: &Deployment, edit: &Rename) -> Option<Deployment> {
    let urn = edit.urn.as_str();
    let (target, own) = (only(before, urn)?, Parts::of(urn));
    let new_type = edit.resource_type.as_deref().unwrap_or(own.own_type);
    let is_fixed = own.types == ROOT_TYPE || is_provider(target);
    let new_parent = edit.parent.as_ref().map(Urn::as_str);
    let is_placed = new_parent.is_some() || edit.no_parent;
    if new_type != own.own_type && is_fixed || is_placed && own.types == ROOT_TYPE || new_parent == Some(urn)
    {
        return None;
    }
    let above = match new_parent {
        Some(parent) => Parts::of(parent).above(),
        None if edit.no_parent => "",
        None => own.types.rsplit_once('$').map_or("", |(above, _)| above),
    };
    let name = edit.name.as_deref().unwrap_or(own.name);
    let new = join(&own.stack, above, new_type, name);
    let mut urns = Urns::new();
    if new != urn {
        urns.insert(urn.to_owned(), new.clone());
    }
    if Parts::of(&new).types != own.types {
        add_descendants(before, &mut urns);
    }
    if are_taken(before.all(), &urns) || new_parent.is_some_and(|parent| urns.contains_key(parent)) {
        return None;
    }
    let mut after = before.clone();
    after.substitute(&|urn| urns.get(urn).cloned());
    for record in after.all_mut().filter(|record| text(record, "urn") == new) {
        record["type"] = new_type.into();
        if let Some(parent) = new_parent {
            record["parent"] = parent.into();
        } else if is_placed {
            record.as_object_mut()?.remove("parent");
        }
    }
    after.is_reordered = is_placed;
    after.is_sortable().then_some(after)
}

/// Returns the only record of a URN.
fn only<'a>(deployment: &'a Deployment, urn: &str) -> Option<&'a Value> {
    let mut copies = deployment
        .records
        .iter()
        .filter(|record| text(record, "urn") == urn);
    copies.next().filter(|_| copies.next().is_none())
}

/// Adds the new URNs of the records below those that have one, which contain the types of their parents.
fn add_descendants(deployment: &Deployment, urns: &mut Urns) {
    let mut parents: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for record in deployment.all() {
        let known = parents.entry(text(record, "urn")).or_default();
        known.insert(text(record, "parent"));
    }
    loop {
        let child = parents.iter().find_map(|(urn, above)| {
            let [parent] = above.iter().copied().collect::<Vec<_>>()[..] else {
                return None;
            };
            let new_parent = urns.get(parent).filter(|_| !urns.contains_key(*urn))?;
            let own = Parts::of(urn);
            let below = |parent: &str| join(&own.stack, Parts::of(parent).above(), own.own_type, own.name);
            let new = below(new_parent);
            (below(parent) == **urn && new != **urn).then(|| ((*urn).to_owned(), new))
        });
        match child {
            Some((urn, new)) => urns.insert(urn, new),
            None => return,
        };
    }
}

/// Returns whether a new URN exists already, or is that of two resources.
fn are_taken<'a>(records: impl Iterator<Item = &'a Value>, urns: &Urns) -> bool {
    let new: BTreeSet<&str> = urns.values().map(String::as_str).collect();
    let mut present = records.map(|record| text(record, "urn"));
    new.len() < urns.len() || present.any(|urn| new.contains(urn) && !urns.contains_key(urn))
}

fn deleted(before: &Deployment, edit: &Delete) -> Option<Deployment> {
    let records = &before.records;
    let named = |urn: &Urn| {
        let record = only(before, urn.as_str())?;
        records.iter().position(|other| other == record)
    };
    let mut removed: BTreeSet<usize> = match edit.all {
        true => (0..records.len()).collect(),
        false => edit.urns.iter().map(named).collect::<Option<_>>()?,
    };
    let count = removed.len();
    for _ in records {
        for (place, record) in records.iter().enumerate() {
            let owner = text(record, "viewOf").to_owned();
            let above = references(record).into_iter().chain([owner]);
            let mut above = above.filter_map(|urn| meant(records, place, &urn));
            let provider = records.iter().position(|other| is_provider_of(other, record));
            if above.any(|above| removed.contains(&above)) || provider.is_some_and(|it| removed.contains(&it))
            {
                removed.insert(place);
            }
        }
    }
    let mut after = before.clone();
    let places = 0..records.len();
    let gone: Vec<&Value> = removed.iter().map(|place| &records[*place]).collect();
    after.records = places
        .filter(|place| !removed.contains(place))
        .map(|place| records[place].clone())
        .collect();
    let is_refused = !edit.dependents && removed.len() > count
        || !edit.force && gone.iter().any(|it| it["protect"] == true);
    (!is_refused).then_some(after)
}

fn is_provider_of(provider: &Value, record: &Value) -> bool {
    is_provider(provider)
        && text(record, "provider") == format!("{}::{}", text(provider, "urn"), text(provider, "id"))
}

/// Returns the place of the record that a reference means. An old copy means an old one, and others mean a live one, if there is
/// one: the nearest before it, or the first after it.
fn meant(records: &[Value], from: usize, urn: &str) -> Option<usize> {
    let is_alike = |place: &usize| is_live(&records[*place]) == is_live(&records[from]);
    let places = || (0..records.len()).filter(|place| *place != from && text(&records[*place], "urn") == urn);
    let before = places().filter(is_alike).rfind(|place| *place < from);
    before
        .or_else(|| places().find(is_alike))
        .or_else(|| places().next())
}

/// Returns the repaired deployment: in a valid order, without references to missing records. `None` also where the new URN of an
/// orphan exists already.
pub(super) fn repaired(before: &Deployment) -> Option<Deployment> {
    let known: BTreeSet<&str> = before.records.iter().map(|record| text(record, "urn")).collect();
    let mut urns = Urns::new();
    for record in &before.records {
        let parent = text(record, "parent");
        let mut copies = before.all().filter(|it| it["urn"] == record["urn"]);
        let has_one_parent = copies.all(|it| it["parent"] == record["parent"]);
        if !parent.is_empty() && !known.contains(parent) && has_one_parent {
            let own = Parts::of(text(record, "urn"));
            let alone = join(&own.stack, "", own.own_type, own.name);
            if alone != text(record, "urn") {
                urns.insert(text(record, "urn").to_owned(), alone);
            }
        }
    }
    add_descendants(before, &mut urns);
    if are_taken(before.all(), &urns) {
        return None;
    }
    let mut after = before.clone();
    after.substitute(&|urn| urns.get(urn).cloned());
    let known: BTreeSet<String> = after
        .records
        .iter()
        .map(|it| text(it, "urn").to_owned())
        .collect();
    for record in &mut after.records {
        retain_references(record, &|urn| known.contains(urn));
        if record
            .get("viewOf")
            .is_some_and(|_| !known.contains(text(record, "viewOf")))
        {
            record.as_object_mut()?.remove("viewOf");
        }
    }
    for pending in &mut after.pending {
        let record = after
            .records
            .iter()
            .find(|record| record["urn"] == pending["resource"]["urn"]);
        let is_at_top = record.is_some_and(|record| record.get("parent").is_none());
        if is_at_top && !known.contains(text(&pending["resource"], "parent")) {
            pending["resource"].as_object_mut()?.remove("parent");
        }
    }
    after.is_reordered = true;
    after.is_sortable().then_some(after)
}

/// Returns the deployment of a stack that has another name, or is in another project.
pub(super) fn with_stack_name(before: &Deployment, [from, to]: [Names<'_>; 2]) -> Deployment {
    let (old, (project, stack)) = (format!("urn:pulumi:{}::{}::", from.1, from.0), to);
    let mut after = before.clone();
    after.substitute(&|urn| {
        let rest = urn.strip_prefix(&old)?;
        Some(match rest.strip_prefix(ROOT_TYPE) {
            Some(_) => root_urn(to),
            None => format!("urn:pulumi:{stack}::{project}::{rest}"),
        })
    });
    after
}

fn root_urn((project, stack): Names<'_>) -> String {
    format!("urn:pulumi:{stack}::{project}::{ROOT_TYPE}::{project}-{stack}")
}
