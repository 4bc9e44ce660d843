//! A model of the edits: from JSON to JSON, by text, without anything of the edits themselves. `None` is a refusal.

mod moves;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::deployment::{Deployment, Parts, ROOT_TYPE, is_provider, join, needs, retain_references, text};
use crate::{
    state::edit::{Delete, Rename, Selection, StateEdit, random::PROJECT},
    urn::Urn,
};

pub(super) use moves::{is_lossless, moved};

type Urns = BTreeMap<String, String>;

pub(super) fn edited(before: &Deployment, edit: &StateEdit) -> Option<Deployment> {
    let mark = |selection: &Selection, member: &str, value: bool| {
        let urns: BTreeSet<&str> = selection.urns.iter().map(Urn::as_str).collect();
        let mut after = before.clone();
        let chosen = |record: &&mut Value| urns.contains(text(record, "urn"));
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
    let (target, own) = (before.find(urn)?, Parts::of(urn));
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
    let mut removed: BTreeSet<String> = edit.urns.iter().map(ToString::to_string).collect();
    let named = removed.len();
    for _ in &before.records {
        for record in &before.records {
            let owner = text(record, "viewOf").to_owned();
            let mut above = needs(record).into_iter().chain([owner]);
            if above.any(|urn| removed.contains(&urn)) {
                removed.insert(text(record, "urn").to_owned());
            }
        }
    }
    let mut after = before.clone();
    let (gone, kept) = after
        .records
        .into_iter()
        .partition(|record| removed.contains(text(record, "urn")));
    let gone: Vec<Value> = gone;
    after.records = kept;
    let is_refused = !edit.dependents && removed.len() > named
        || !edit.force && gone.iter().any(|it| it["protect"] == true);
    (!is_refused).then_some(after)
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

/// Returns the deployment of a stack that has another name.
pub(super) fn with_stack_name(before: &Deployment, from: &str, to: &str) -> Deployment {
    let old = format!("urn:pulumi:{from}::{PROJECT}::");
    let mut after = before.clone();
    after.substitute(&|urn| {
        let rest = urn.strip_prefix(&old)?;
        Some(match rest.strip_prefix(ROOT_TYPE) {
            Some(_) => root_urn(to),
            None => format!("urn:pulumi:{to}::{PROJECT}::{rest}"),
        })
    });
    after
}

fn root_urn(stack: &str) -> String {
    format!("urn:pulumi:{stack}::{PROJECT}::{ROOT_TYPE}::{PROJECT}-{stack}")
}
