//! The model of moves between two stacks.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    super::deployment::{
        Deployment, Parts, ROOT_TYPE, is_provider, join, provider_of, references, retain_references,
        substitute, text, with_any_ciphertexts,
    },
    Names, Urns, are_taken, root_urn,
};
use crate::state::edit::Move;

/// Returns both stacks after a move from the first one to the second one, which has the names `to`.
pub(in super::super) fn moved(
    sides: [&Deployment; 2],
    edit: &Move,
    to: Names<'_>,
) -> Option<[Deployment; 2]> {
    let [source, destination] = sides;
    let chosen = chosen(source, edit)?;
    let urns = new_urns(source, &chosen, to);
    let present = |urn: &String| destination.all().any(|record| text(record, "urn") == urn);
    let distinct: BTreeSet<&String> = urns.values().collect();
    if distinct.len() < urns.len() || urns.values().any(present) {
        return None;
    }
    let left = without(source, &chosen)?;
    let mut arrival = Arrival::of(destination, urns, to);
    let is_chosen = |record: &Value| chosen.contains(text(record, "urn"));
    let leaving: Vec<&Value> = source.all().filter(|record| is_chosen(record)).collect();
    let copied = arrival.find_providers(source, &leaving)?;
    for record in copied
        .iter()
        .copied()
        .chain(source.records.iter().filter(|record| is_chosen(record)))
    {
        let record = arrival.arrived(record);
        arrival.after.records.push(record);
    }
    for pending in source
        .pending
        .iter()
        .filter(|pending| is_chosen(&pending["resource"]))
    {
        let mut arrived = pending.clone();
        arrived["resource"] = arrival.arrived(&pending["resource"]);
        arrival.after.pending.push(arrived);
    }
    arrival.after.is_reordered = true;
    Some([left, arrival.after])
}

/// Returns the URNs of the records that leave.
fn chosen(source: &Deployment, edit: &Move) -> Option<BTreeSet<String>> {
    let mut chosen: BTreeSet<String> = edit.urns.iter().map(ToString::to_string).collect();
    let is_provider_urn = |urn: &str| source.find(urn).is_some_and(is_provider);
    let is_root = |urn: &str| Parts::of(urn).types == ROOT_TYPE;
    if chosen.iter().any(|urn| is_provider_urn(urn)) {
        return None;
    }
    if edit.include_parents {
        for urn in &edit.urns {
            let mut above = source.find(urn.as_str()).map(|record| text(record, "parent"));
            while let Some(parent) = above
                && let Some(record) = source.find(parent)
                && !is_root(parent)
                && !is_provider(record)
            {
                chosen.insert(parent.to_owned());
                above = Some(text(record, "parent"));
            }
        }
    }
    for _ in source.all() {
        for record in source.all().filter(|record| !is_provider(record)) {
            if [text(record, "parent"), text(record, "viewOf")]
                .iter()
                .any(|urn| chosen.contains(*urn))
            {
                chosen.insert(text(record, "urn").to_owned());
            }
        }
    }
    chosen.retain(|urn| !is_root(urn));
    let mut leaving = source.all().filter(|record| chosen.contains(text(record, "urn")));
    let is_lone = |record: &Value| record.get("viewOf").is_some() && !chosen.contains(text(record, "viewOf"));
    let is_refused = leaving.any(is_lone) || !chosen.iter().any(|urn| source.find(urn).is_some());
    (!is_refused).then_some(chosen)
}

/// Returns the URNs that the records have in the stack `to`.
fn new_urns(source: &Deployment, chosen: &BTreeSet<String>, (project, to): Names<'_>) -> Urns {
    let stack = format!("urn:pulumi:{to}::{project}");
    let mut urns = Urns::new();
    for _ in chosen {
        for record in source.all().filter(|record| chosen.contains(text(record, "urn"))) {
            let (urn, parent) = (text(record, "urn"), text(record, "parent"));
            let own = Parts::of(urn);
            let new = match (chosen.contains(parent), urns.get(parent)) {
                (false, _) => join(&stack, "", own.own_type, own.name),
                (true, None) => continue,
                (true, Some(new_parent)) => {
                    let in_old = join(&own.stack, Parts::of(parent).above(), own.own_type, own.name);
                    match in_old == urn {
                        true => join(&stack, Parts::of(new_parent).above(), own.own_type, own.name),
                        false => format!("{stack}::{}::{}", own.types, own.name),
                    }
                }
            };
            urns.insert(urn.to_owned(), new);
        }
    }
    urns
}

/// Returns the deployment without records that leave it, and without references to them.
fn without(source: &Deployment, chosen: &BTreeSet<String>) -> Option<Deployment> {
    let root = source.root().map(str::to_owned);
    let mut left = source.clone();
    left.records
        .retain(|record| !chosen.contains(text(record, "urn")));
    left.pending
        .retain(|pending| !chosen.contains(text(&pending["resource"], "urn")));
    let mut lifted = Urns::new();
    // Only providers stay where their parents do not.
    for record in left
        .records
        .iter_mut()
        .filter(|record| chosen.contains(text(record, "parent")))
    {
        let own = Parts::of(text(record, "urn"));
        let alone = join(&own.stack, "", own.own_type, own.name);
        if alone != text(record, "urn") {
            lifted.insert(text(record, "urn").to_owned(), alone);
        }
        match &root {
            Some(root) => record["parent"] = root.clone().into(),
            None => drop(record.as_object_mut()?.remove("parent")),
        }
    }
    if are_taken(left.records.iter(), &lifted) {
        return None;
    }
    left.substitute(&|urn| lifted.get(urn).cloned());
    let keep = |urn: &str| !chosen.contains(urn);
    left.all_mut().for_each(|record| retain_references(record, &keep));
    Some(left)
}

/// A deployment to which records come from another stack.
struct Arrival {
    after: Deployment,
    /// The stack and the project, with all before them.
    stack: String,
    root: String,
    /// The new URNs of moved records.
    urns: Urns,
    /// The new URNs of their providers, and the references to them, by the former ones.
    providers: Urns,
    provider_references: Urns,
}

impl Arrival {
    fn of(destination: &Deployment, urns: Urns, to: Names<'_>) -> Self {
        let mut after = destination.clone();
        let root = match destination.root() {
            Some(root) => root.to_owned(),
            None => {
                let root = root_urn(to);
                let record = json!({ "urn": root, "custom": false, "type": ROOT_TYPE });
                after.records.insert(0, record);
                root
            }
        };
        Self {
            after,
            stack: format!("urn:pulumi:{}::{}", to.1, to.0),
            root,
            urns,
            providers: Urns::new(),
            provider_references: Urns::new(),
        }
    }

    /// Finds the providers of records in the stack to which these come, and returns those that are copied.
    fn find_providers<'a>(&mut self, source: &'a Deployment, leaving: &[&Value]) -> Option<Vec<&'a Value>> {
        let mut copied: Vec<&Value> = Vec::new();
        for reference in leaving.iter().map(|record| text(record, "provider")) {
            let Some((urn, id)) = reference.rsplit_once("::") else {
                continue;
            };
            if self.provider_references.contains_key(reference) {
                continue;
            }
            let at_top = self.at_top(urn);
            let mut present_id = id.to_owned();
            if let Some(provider) = source.find(urn).filter(|provider| text(provider, "id") == id) {
                let there = self.after.find(&at_top);
                let copy = copied
                    .iter()
                    .find(|copy| self.at_top(text(copy, "urn")) == at_top);
                let fits = |other: &&Value| text(other, "id") == id || other["inputs"] == provider["inputs"];
                match there.or(copy.copied()) {
                    None => copied.push(provider),
                    Some(other) if fits(&other) => text(other, "id").clone_into(&mut present_id),
                    Some(_) => return None,
                }
                self.providers.insert(urn.to_owned(), at_top.clone());
            }
            let new = format!("{at_top}::{present_id}");
            self.provider_references.insert(reference.to_owned(), new);
        }
        Some(copied)
    }

    fn at_top(&self, urn: &str) -> String {
        let own = Parts::of(urn);
        join(&self.stack, "", own.own_type, own.name)
    }

    /// Returns a record as it is in this stack.
    fn arrived(&self, record: &Value) -> Value {
        let new_urn = |urn: &str| self.urns.get(urn).or_else(|| self.providers.get(urn)).cloned();
        let mut arrived = record.clone();
        substitute(&mut arrived, &new_urn);
        // Copied providers are below the stack itself.
        let parent = self
            .urns
            .get(text(record, "parent"))
            .filter(|_| !is_provider(record));
        let parent = parent.unwrap_or(&self.root);
        arrived["parent"] = parent.clone().into();
        if let Some(reference) = self.provider_references.get(text(record, "provider")) {
            arrived["provider"] = reference.clone().into();
        }
        let known: BTreeSet<&String> = self.urns.values().chain(self.providers.values()).collect();
        retain_references(&mut arrived, &|urn| {
            *urn == self.root || known.contains(&urn.to_owned())
        });
        with_any_ciphertexts(arrived)
    }
}

/// Returns whether a move loses no reference and no parent, so that the inverse move restores both stacks.
pub(in super::super) fn is_lossless(before: &Deployment, after: &Deployment) -> bool {
    let left: BTreeSet<&str> = after.all().map(|record| text(record, "urn")).collect();
    let leaves = |urn: &str| !left.contains(urn);
    let root = before.root().unwrap_or_default();
    let (leaving, staying): (Vec<&Value>, Vec<&Value>) =
        before.all().partition(|record| leaves(text(record, "urn")));
    let providers: BTreeSet<&str> = leaving.iter().filter_map(|record| provider_of(record)).collect();
    let is_at_top = |urn: &str| Parts::of(urn).types == Parts::of(urn).own_type;
    let known: BTreeSet<&str> = before.records.iter().map(|record| text(record, "urn")).collect();
    let is_present = |urn: &str| leaves(urn) && known.contains(urn);
    let is_kept = |record: &&Value| {
        let parent = text(record, "parent");
        // A pending operation comes back with a record of its resource, or of its parent.
        let is_found = is_present(text(record, "urn")) || is_present(parent);
        let is_placed = leaves(parent) || parent == root && is_at_top(text(record, "urn"));
        // The parent is the first one.
        let mut references = references(record).into_iter().skip(1);
        is_placed
            && is_found
            && !parent.is_empty()
            && references.all(|urn| is_present(&urn) || providers.contains(urn.as_str()))
    };
    let mut provider_urns = providers.iter();
    leaving.iter().all(is_kept)
        && provider_urns.all(|urn| is_at_top(urn) && known.contains(urn))
        && !staying
            .iter()
            .any(|record| references(record).iter().any(|urn| leaves(urn)))
}
