//! Rewriting of URNs in every place that can hold one: the fields of records and pending operations, resource references
//! in property values at any depth, and the references of snippets.

use std::sync::{Arc, OnceLock};

use smol_str::SmolStr;

use crate::{
    property::{Archive, ArchiveSource, Output, PropertyMap, PropertyValue, ResourceReference, Secret},
    resource::ResourceState,
    state::Snapshot,
    urn::Urn,
};

/// Returns the URN that takes the place of another one; `None` for a URN that stays.
pub(crate) type UrnMap<'a> = &'a dyn Fn(&Urn) -> Option<Urn>;

/// Rewrites all URNs of a snapshot. Records, lists and values without one that changes are shared with the old snapshot;
/// a secret whose content does not change keeps its ciphertext.
pub(crate) fn rewrite_snapshot(snapshot: &mut Snapshot, map: UrnMap<'_>) {
    let pending = snapshot.pending_operations.iter_mut();
    let pending = pending.map(|pending| &mut pending.resource);
    for record in snapshot.resources.iter_mut().chain(pending) {
        if let Some(rewritten) = rewrite_record(record, map) {
            *record = Arc::new(rewritten);
        }
    }
    rewrite_snippets(snapshot, map);
}

/// Rewrites the references of a snapshot's snippets.
pub(crate) fn rewrite_snippets(snapshot: &mut Snapshot, map: UrnMap<'_>) {
    let snippets = snapshot.extra.get_mut("snippets");
    let snippets = snippets.and_then(serde_json::Value::as_array_mut);
    for snippet in snippets.into_iter().flatten() {
        if let Some(references) = snippet.get_mut("references") {
            rewrite_json(references, map);
        }
    }
}

/// Returns a record with all its URNs rewritten; `None` when none of them changes.
pub(crate) fn rewrite_record(record: &ResourceState, map: UrnMap<'_>) -> Option<ResourceState> {
    let mut rewritten = rewrite_references(record, map);
    let aliases = rewrite_list(&record.aliases, map);
    let inputs = rewrite_map(&record.inputs, map);
    let outputs = match record.outputs.is_shared_with(&record.inputs) {
        true => inputs.clone(),
        false => rewrite_map(&record.outputs, map),
    };
    let trigger = record.options.replacement_trigger.as_ref();
    let trigger = trigger.and_then(|trigger| rewrite_value(trigger, map));
    if aliases.is_none() && inputs.is_none() && outputs.is_none() && trigger.is_none() {
        return rewritten;
    }
    let changed = rewritten.get_or_insert_with(|| record.clone());
    set(&mut changed.aliases, aliases);
    set(&mut changed.inputs, inputs);
    set(&mut changed.outputs, outputs);
    if trigger.is_some() {
        changed.options.replacement_trigger = trigger;
    }
    rewritten
}

/// Rewrites the URN of a record and its references, without aliases and property values; `None` when nothing changes.
pub(crate) fn rewrite_references(record: &ResourceState, map: UrnMap<'_>) -> Option<ResourceState> {
    let options = &record.options;
    let urn = map(&record.urn);
    let parent = record.parent.as_ref().and_then(map);
    let view_of = record.view_of.as_ref().and_then(map);
    let deleted_with = options.deleted_with.as_ref().and_then(map);
    let provider = rewrite_provider(&record.provider, map);
    let dependencies = rewrite_list(&record.dependencies, map);
    let replace_with = rewrite_list(&options.replace_with, map);
    let mut of_properties = record.property_dependencies.lists().flatten();
    let of_properties = of_properties.any(|urn| map(urn).is_some());
    let single = [&urn, &parent, &view_of, &deleted_with];
    let lists = [&dependencies, &replace_with];
    let is_touched = single.iter().any(|urn| urn.is_some())
        || lists.iter().any(|list| list.is_some())
        || provider.is_some()
        || of_properties;
    if !is_touched {
        return None;
    }
    let mut rewritten = record.clone();
    set(&mut rewritten.urn, urn);
    set(&mut rewritten.provider, provider);
    set(&mut rewritten.dependencies, dependencies);
    rewritten.parent = parent.or(rewritten.parent);
    rewritten.view_of = view_of.or(rewritten.view_of);
    // A change of shared options copies them.
    if deleted_with.is_some() {
        rewritten.options.deleted_with = deleted_with;
    }
    if let Some(list) = replace_with {
        rewritten.options.replace_with = list;
    }
    if of_properties {
        rewritten.property_dependencies = record
            .property_dependencies
            .map_lists(|list| rewrite_list(list, map));
    }
    Some(rewritten)
}

/// Returns a value with all its resource references rewritten; `None` when none of them changes.
pub(crate) fn rewrite_value(value: &PropertyValue, map: UrnMap<'_>) -> Option<PropertyValue> {
    match value {
        PropertyValue::ResourceReference(reference) => {
            let urn = map(&reference.urn)?;
            let reference = ResourceReference {
                urn,
                ..ResourceReference::clone(reference)
            };
            Some(PropertyValue::ResourceReference(Arc::new(reference)))
        }
        PropertyValue::Array(values) => {
            let mut rewritten: Option<Vec<_>> = None;
            for (index, value) in values.iter().enumerate() {
                if let Some(value) = rewrite_value(value, map) {
                    rewritten.get_or_insert_with(|| values.to_vec())[index] = value;
                }
            }
            rewritten.map(PropertyValue::array)
        }
        PropertyValue::Object(values) => rewrite_map(values, map).map(PropertyValue::Object),
        PropertyValue::Secret(secret) => {
            let element = rewrite_value(&secret.element, map)?;
            let ciphertext = OnceLock::new();
            Some(PropertyValue::Secret(Arc::new(Secret { element, ciphertext })))
        }
        PropertyValue::Output(output) => {
            let element = output
                .element
                .as_ref()
                .and_then(|element| rewrite_value(element, map));
            let dependencies = rewrite_list(&output.dependencies, map);
            if element.is_none() && dependencies.is_none() {
                return None;
            }
            let mut rewritten = Output::clone(output);
            rewritten.element = element.or(rewritten.element);
            set(&mut rewritten.dependencies, dependencies);
            Some(PropertyValue::Output(Arc::new(rewritten)))
        }
        PropertyValue::Archive(archive) => {
            let ArchiveSource::Assets(assets) = &archive.source else {
                return None;
            };
            let changed = assets
                .iter()
                .filter_map(|(name, value)| Some((name, rewrite_value(value, map)?)));
            let changed: Vec<_> = changed.collect();
            if changed.is_empty() {
                return None;
            }
            let mut rewritten = assets.clone();
            rewritten.extend(changed.into_iter().map(|(name, value)| (name.clone(), value)));
            Some(PropertyValue::Archive(Arc::new(Archive {
                hash: archive.hash.clone(),
                source: ArchiveSource::Assets(rewritten),
            })))
        }
        _ => None,
    }
}

fn rewrite_map(values: &PropertyMap, map: UrnMap<'_>) -> Option<PropertyMap> {
    let mut rewritten: Option<PropertyMap> = None;
    for (name, value) in values.iter() {
        if let Some(value) = rewrite_value(value, map) {
            let rewritten = rewritten.get_or_insert_with(|| values.clone());
            rewritten.insert(name.clone(), value);
        }
    }
    rewritten
}

/// Returns a list with its URNs rewritten; `None` when none of them changes.
pub(crate) fn rewrite_list(urns: &[Urn], map: UrnMap<'_>) -> Option<Vec<Urn>> {
    let mut rewritten: Option<Vec<Urn>> = None;
    for (index, urn) in urns.iter().enumerate() {
        if let Some(urn) = map(urn) {
            rewritten.get_or_insert_with(|| urns.to_vec())[index] = urn;
        }
    }
    rewritten
}

/// Returns a provider reference with another URN and the same id; `None` when the URN does not change.
fn rewrite_provider(reference: &SmolStr, map: UrnMap<'_>) -> Option<SmolStr> {
    let (urn, id) = reference.rsplit_once("::")?;
    let urn = map(&Urn::parse(urn).ok()?)?;
    Some(smol_str::format_smolstr!("{urn}::{id}"))
}

/// Rewrites the texts of a JSON value that are URNs.
fn rewrite_json(value: &mut serde_json::Value, map: UrnMap<'_>) {
    match value {
        serde_json::Value::String(text) => {
            if let Some(urn) = Urn::parse(text).ok().as_ref().and_then(map) {
                *text = urn.to_string();
            }
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(|value| rewrite_json(value, map)),
        serde_json::Value::Object(values) => values.values_mut().for_each(|value| rewrite_json(value, map)),
        _ => {}
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{resource::PendingOperation, resource::PendingOperationKind};

    fn urn(name: &str) -> Urn {
        Urn::new("dev", "shop", "", "pkg:index:Type", name)
    }

    fn reference(name: &str) -> PropertyValue {
        PropertyValue::ResourceReference(Arc::new(ResourceReference {
            urn: urn(name),
            id: None,
            package_version: "1".into(),
        }))
    }

    /// A record that names `name` in every place but its own URN.
    fn everywhere(name: &str) -> ResourceState {
        let mut state = ResourceState::new(urn("user"), "pkg:index:Type".into(), true);
        let nested: PropertyMap = [("deep", PropertyValue::array(vec![reference(name), "x".into()]))]
            .into_iter()
            .collect();
        state.parent = Some(urn(name));
        state.view_of = Some(urn(name));
        state.dependencies = vec![urn("other"), urn(name)];
        state.property_dependencies = [
            ("a".into(), vec![urn(name)]),
            ("b".into(), Vec::new()),
            ("c".into(), vec![urn("other")]),
        ]
        .into();
        state.options.deleted_with = Some(urn(name));
        state.options.replace_with = vec![urn("other"), urn(name)];
        state.options.replacement_trigger = Some(PropertyValue::secret(reference(name)));
        state.provider = smol_str::format_smolstr!("{}::id-1", urn(name));
        state.aliases = vec![urn(name)];
        state.inputs = [("secret", PropertyValue::secret(nested.clone().into()))]
            .into_iter()
            .collect();
        state.outputs = [("object", PropertyValue::from(nested))].into_iter().collect();
        state
    }

    #[test]
    fn a_urn_is_rewritten_in_every_place_and_empty_lists_stay() {
        let map = |found: &Urn| (*found == urn("old")).then(|| urn("new"));
        assert_eq!(rewrite_record(&everywhere("old"), &map), Some(everywhere("new")));
        assert_eq!(rewrite_record(&everywhere("another"), &map), None);
        let mut own = ResourceState::new(urn("old"), "pkg:index:Type".into(), true);
        own = rewrite_record(&own, &map).unwrap();
        assert_eq!(own.urn, urn("new"));
    }

    #[test]
    fn pending_operations_and_snippets_follow_and_other_records_are_shared() {
        let untouched = Arc::new(everywhere("another"));
        let snippets =
            |name: &str| serde_json::json!([{"uuid": "1", "references": {"a": urn(name), "b": "old"}}]);
        let snapshot = |name: &str| Snapshot {
            resources: vec![Arc::clone(&untouched), Arc::new(everywhere(name))],
            pending_operations: vec![PendingOperation {
                resource: Arc::new(everywhere(name)),
                kind: PendingOperationKind::Creating,
            }],
            extra: [("snippets".to_owned(), snippets(name))].into(),
            ..Snapshot::default()
        };
        let mut rewritten = snapshot("old");
        rewrite_snapshot(&mut rewritten, &|found| {
            (*found == urn("old")).then(|| urn("new"))
        });
        let expected = snapshot("new");
        assert_eq!(rewritten.resources, expected.resources);
        assert_eq!(rewritten.pending_operations, expected.pending_operations);
        assert_eq!(rewritten.extra, expected.extra);
        assert!(Arc::ptr_eq(&rewritten.resources[0], &untouched));
    }

    #[test]
    fn only_a_secret_whose_content_changes_loses_its_ciphertext() {
        let sealed = |element: PropertyValue| {
            let ciphertext = OnceLock::new();
            let cached = crate::property::CachedCiphertext {
                manager: "m".into(),
                text: "t".into(),
            };
            drop(ciphertext.set(cached));
            PropertyValue::Secret(Arc::new(Secret { element, ciphertext }))
        };
        let values = PropertyValue::array(vec![sealed(reference("old")), sealed("kept".into())]);
        let map = |found: &Urn| (*found == urn("old")).then(|| urn("new"));
        let Some(PropertyValue::Array(values)) = rewrite_value(&values, &map) else {
            panic!("the reference changes")
        };
        let has_ciphertext = |value: &PropertyValue| matches!(value, PropertyValue::Secret(secret) if secret.ciphertext.get().is_some());
        assert_eq!(
            (has_ciphertext(&values[0]), has_ciphertext(&values[1])),
            (false, true)
        );
    }
}
