//! Deployments as JSON with opened secrets: what the model of edits changes, and what it is compared with.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// The type of a stack's own record.
pub(super) const ROOT_TYPE: &str = "pulumi:pulumi:Stack";

/// A member of records that no version of the engine knows, which names a record, and its copies, under any URN.
pub(super) const MARK: &str = "markOfTest";

const SIGNATURE: &str = "4dabf18193072939515e22adb298388d";
const SECRET: &str = "1b47061264138c4ac30d75fd1eb44270";

/// The members that hold one reference to another record, or a list of them.
const SINGLE_REFERENCES: [&str; 2] = ["parent", "deletedWith"];
const LISTS_OF_REFERENCES: [&str; 2] = ["dependencies", "replaceWith"];

/// A map of URNs to those that take their places.
pub(super) type UrnMap<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The records and pending operations of a stack. A secret is an object of its content and its ciphertext; the ciphertext of an
/// expected one is null where any is right.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deployment {
    pub(super) records: Vec<Value>,
    pub(super) pending: Vec<Value>,
    /// The other members, without the manifest and the secrets manager.
    pub(super) rest: Value,
    /// An edit may have put the records, or the pending operations, in another order.
    pub(super) is_reordered: bool,
}

impl Deployment {
    pub(super) fn parse(document: &[u8]) -> Self {
        let mut document: Value = serde_json::from_slice(document).unwrap();
        let mut members = match document["deployment"].take() {
            Value::Object(members) => members,
            other => panic!("{other} is no deployment"),
        };
        members.remove("manifest");
        members.remove("secrets_providers");
        let mut list = |name: &str| match members.remove(name) {
            Some(Value::Array(values)) => values.into_iter().map(opened).collect(),
            _ => Vec::new(),
        };
        Self {
            records: list("resources"),
            pending: list("pending_operations"),
            rest: Value::Object(members),
            is_reordered: false,
        }
    }

    /// Returns all records, those of pending operations included.
    pub(super) fn all(&self) -> impl Iterator<Item = &Value> {
        let pending = self.pending.iter().map(|pending| &pending["resource"]);
        self.records.iter().chain(pending)
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let pending = self.pending.iter_mut().map(|pending| &mut pending["resource"]);
        self.records.iter_mut().chain(pending)
    }

    pub(super) fn find(&self, urn: &str) -> Option<&Value> {
        let mut copies = self.records.iter().filter(|record| text(record, "urn") == urn);
        let first = copies.next()?;
        // Of several copies, the one that is not pending deletion.
        Some(
            std::iter::once(first)
                .chain(copies)
                .find(|record| is_live(record))
                .unwrap_or(first),
        )
    }

    pub(super) fn root(&self) -> Option<&str> {
        let mut urns = self.records.iter().map(|record| text(record, "urn"));
        urns.find(|urn| Parts::of(urn).types == ROOT_TYPE)
    }

    /// Rewrites URNs wherever they stand as a whole or in a reference to a provider.
    pub(super) fn substitute(&mut self, map: UrnMap<'_>) {
        self.all_mut().for_each(|record| substitute(record, map));
        substitute(&mut self.rest, map);
    }

    /// Returns whether `found` is this expected deployment.
    pub(super) fn is_made(&self, found: &Self) -> bool {
        let order = |values: &[Value], member: &str| {
            let mut values = values.to_vec();
            if self.is_reordered {
                values.sort_by_cached_key(|value| sort_key(&value[member], value));
            }
            Value::Array(values)
        };
        let is_made = |expected: &[Value], found: &[Value], member: &str| {
            matches(&order(expected, member), &order(found, member))
        };
        is_made(&self.records, &found.records, "urn")
            && is_made(&self.pending, &found.pending, "resource")
            && self.rest == found.rest
            && !(self.is_reordered && found.invalid().is_some())
    }

    /// Returns the same deployment with any ciphertexts.
    pub(super) fn contents(&self) -> Self {
        let mut contents = self.clone();
        for record in contents.all_mut() {
            for_each_secret(record, &mut |secret| secret["ciphertext"] = Value::Null);
        }
        contents
    }

    pub(super) fn ciphertexts(&self) -> Vec<String> {
        let mut found = Vec::new();
        for record in self.clone().all_mut() {
            let add = &mut |secret: &mut Value| found.push(text(secret, "ciphertext").to_owned());
            for_each_secret(record, add);
        }
        found
    }

    /// Returns the first record that violates a rule of integrity.
    pub(super) fn invalid(&self) -> Option<&Value> {
        let (mut urns, mut live, mut providers) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        self.records.iter().find(|record| {
            let urn = text(record, "urn");
            if is_provider(record) {
                providers.insert(format!("{urn}::{}", text(record, "id")));
            }
            let provider = text(record, "provider");
            let is_known = references(record).iter().all(|other| urns.contains(other))
                && (provider.is_empty() || providers.contains(provider));
            let is_first = !live.contains(urn);
            if is_live(record) {
                live.insert(urn.to_owned());
            }
            urns.insert(urn.to_owned());
            !(is_known && (is_first || !is_live(record)))
        })
    }

    /// Returns whether the records have a valid order.
    pub(super) fn is_sortable(&self) -> bool {
        let mut left: Vec<&Value> = self.records.iter().collect();
        let mut placed = BTreeSet::new();
        loop {
            let before = left.len();
            left.retain(|record| {
                let is_ready = needs(record).iter().all(|other| placed.contains(other));
                if is_ready {
                    placed.insert(text(record, "urn").to_owned());
                }
                !is_ready
            });
            if left.is_empty() || left.len() == before {
                return left.is_empty();
            }
        }
    }
}

/// The parts of a URN.
pub(super) struct Parts<'a> {
    /// The stack and the project, with all before them.
    pub(super) stack: String,
    /// The types of the parents and its own.
    pub(super) types: &'a str,
    pub(super) own_type: &'a str,
    pub(super) name: &'a str,
}

impl<'a> Parts<'a> {
    pub(super) fn of(urn: &'a str) -> Self {
        let parts: Vec<&str> = urn.splitn(4, "::").collect();
        let types = parts[2];
        Self {
            stack: format!("{}::{}", parts[0], parts[1]),
            types,
            own_type: types.rsplit_once('$').map_or(types, |(_, own)| own),
            name: parts[3],
        }
    }

    /// Returns the types of a parent, which its children have before their own.
    pub(super) fn above(&self) -> &'a str {
        match self.types {
            ROOT_TYPE => "",
            types => types,
        }
    }
}

pub(super) fn join(stack: &str, above: &str, own_type: &str, name: &str) -> String {
    match above {
        "" => format!("{stack}::{own_type}::{name}"),
        _ => format!("{stack}::{above}${own_type}::{name}"),
    }
}

pub(super) fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

/// Returns whether a record is no old copy that is pending deletion.
pub(super) fn is_live(record: &Value) -> bool {
    record["delete"] != true
}

pub(super) fn is_provider(record: &Value) -> bool {
    text(record, "type").starts_with("pulumi:providers:")
}

/// Returns the URN of a record's provider.
pub(super) fn provider_of(record: &Value) -> Option<&str> {
    text(record, "provider").rsplit_once("::").map(|(urn, _)| urn)
}

/// Returns the URNs that a record refers to, without its provider and its owner.
pub(super) fn references(record: &Value) -> Vec<String> {
    let single = SINGLE_REFERENCES.iter().map(|name| &record[*name]);
    let lists = LISTS_OF_REFERENCES.iter().map(|name| &record[*name]);
    let of_properties = record["propertyDependencies"].as_object();
    let of_properties = of_properties.into_iter().flat_map(Map::values);
    let listed = lists.chain(of_properties).filter_map(Value::as_array).flatten();
    let all = single.chain(listed).filter_map(Value::as_str);
    all.map(str::to_owned).collect()
}

/// Returns the URNs without which a record is invalid.
pub(super) fn needs(record: &Value) -> Vec<String> {
    let mut needs = references(record);
    needs.extend(provider_of(record).map(str::to_owned));
    needs
}

/// Removes the references that `keep` rejects. Lists of properties stay, lists of records are left out when they are empty.
pub(super) fn retain_references(record: &mut Value, keep: &dyn Fn(&str) -> bool) {
    let stays = |value: &Value| value.as_str().is_none_or(keep);
    let Value::Object(members) = record else {
        panic!("{record} is no record")
    };
    for name in SINGLE_REFERENCES {
        if members.get(name).is_some_and(|value| !stays(value)) {
            members.remove(name);
        }
    }
    for name in LISTS_OF_REFERENCES {
        if let Some(Value::Array(list)) = members.get_mut(name) {
            list.retain(&stays);
            if list.is_empty() {
                members.remove(name);
            }
        }
    }
    if let Some(Value::Object(lists)) = members.get_mut("propertyDependencies") {
        for list in lists.values_mut().filter_map(Value::as_array_mut) {
            list.retain(&stays);
        }
    }
}

/// Rewrites URNs in a value. A secret whose content changes gets any ciphertext.
pub(super) fn substitute(value: &mut Value, map: UrnMap<'_>) {
    match value {
        Value::String(text) => {
            let of_provider = || {
                let (urn, id) = text.rsplit_once("::")?;
                Some(format!("{}::{id}", map(urn)?))
            };
            if let Some(urn) = map(text).or_else(of_provider) {
                *text = urn;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| substitute(value, map)),
        Value::Object(members) if members.contains_key("ciphertext") => {
            let mut content = members["secret"].clone();
            substitute(&mut content, map);
            if content != members["secret"] {
                *value = any_secret(content);
            }
        }
        Value::Object(members) => members.values_mut().for_each(|value| substitute(value, map)),
        _ => {}
    }
}

/// Returns a secret with any ciphertext.
pub(super) fn any_secret(content: Value) -> Value {
    json!({ "secret": content, "ciphertext": null })
}

/// Returns a secret as a document shows it.
pub(super) fn shown_secret(content: &Value) -> Value {
    json!({ SIGNATURE: SECRET, "plaintext": content.to_string() })
}

/// Returns the content of a ciphertext of the key for tests, and the name of the key.
pub(super) fn decrypted(ciphertext: &str) -> (String, String) {
    let (_, sealed) = ciphertext.split_once('#').unwrap();
    let (key, reversed) = sealed.split_once(':').unwrap();
    (key.to_owned(), reversed.chars().rev().collect())
}

/// Returns a value of a document with its secrets opened.
fn opened(value: Value) -> Value {
    match value {
        Value::Object(members) if members.get(SIGNATURE).is_some_and(|kind| kind == SECRET) => {
            let ciphertext = members.get("ciphertext").and_then(Value::as_str);
            let content = match ciphertext {
                Some(ciphertext) => decrypted(ciphertext).1,
                None => members["plaintext"].as_str().unwrap().to_owned(),
            };
            let content: Value = serde_json::from_str(&content).unwrap();
            json!({ "secret": content, "ciphertext": ciphertext })
        }
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name, opened(value)));
            Value::Object(members.collect())
        }
        Value::Array(values) => values.into_iter().map(opened).collect(),
        other => other,
    }
}

fn for_each_secret(value: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::Object(members) if members.contains_key("ciphertext") => visit(value),
        Value::Object(members) => members
            .values_mut()
            .for_each(|value| for_each_secret(value, visit)),
        Value::Array(values) => values.iter_mut().for_each(|value| for_each_secret(value, visit)),
        _ => {}
    }
}

/// Returns whether a value is the expected one, in which a ciphertext that is null stands for any.
fn matches(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            let fits = |(name, value): (&String, &Value)| match found.get(name) {
                Some(_) if name == "ciphertext" && value.is_null() => true,
                Some(found) => matches(value, found),
                None => false,
            };
            expected.len() == found.len() && expected.iter().all(fits)
        }
        (Value::Array(expected), Value::Array(found)) => {
            let mut pairs = expected.iter().zip(found);
            expected.len() == found.len() && pairs.all(|(expected, found)| matches(expected, found))
        }
        _ => expected == found,
    }
}

/// Returns a key by which equal values with other ciphertexts are in the same place.
fn sort_key(first: &Value, value: &Value) -> (String, String) {
    let mut whole = value.clone();
    for_each_secret(&mut whole, &mut |secret| secret["ciphertext"] = Value::Null);
    let urn = first.as_str().unwrap_or_else(|| text(first, "urn"));
    (urn.to_owned(), whole.to_string())
}

/// Returns a record in which every secret can have any ciphertext.
pub(super) fn with_any_ciphertexts(mut record: Value) -> Value {
    for_each_secret(&mut record, &mut |secret| secret["ciphertext"] = Value::Null);
    record
}
