//! The extensions of a state: those that its records refer to, by their references.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::Deserialize as _;
use serde_json::Value;
use smol_str::SmolStr;

use crate::{
    error::{Error, ErrorKind, Result},
    resource::{Extension, ExtensionJson, ResourceState},
    state::Snapshot,
};

/// The member of a deployment that holds them.
const EXTENSIONS: &str = "extensions";

/// Extensions by their references.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Extensions(BTreeMap<SmolStr, Arc<Extension>>);

impl Extensions {
    /// Reads the extensions that the records of a snapshot refer to.
    ///
    /// # Errors
    /// [`ErrorKind::State`] with the resource and the reference when one is missing or cannot be read.
    pub(crate) fn of_records(snapshot: &Snapshot) -> Result<Self> {
        let mut extensions = Self::default();
        for state in snapshot
            .resources
            .iter()
            .filter(|state| !state.extension_ref.is_empty())
        {
            let reference = &state.extension_ref;
            if !extensions.0.contains_key(reference) {
                let extension = snapshot
                    .extension(reference)
                    .map_err(|why| unusable(state, &why))?;
                let extension = extension.ok_or_else(|| unusable(state, "the state does not have it"))?;
                extensions.0.insert(reference.clone(), Arc::new(extension));
            }
        }
        Ok(extensions)
    }

    /// Returns the extension of a record; `None` for a record without one.
    ///
    /// # Errors
    /// [`ErrorKind::State`] with the resource and the reference when it is missing.
    pub(crate) fn of_record(&self, state: &ResourceState) -> Result<Option<&Arc<Extension>>> {
        if state.extension_ref.is_empty() {
            return Ok(None);
        }
        let extension = self.0.get(&state.extension_ref);
        extension
            .map(Some)
            .ok_or_else(|| unusable(state, "the state does not have it"))
    }

    /// Returns whether it is among them.
    pub(crate) fn contains(&self, extension: &Extension) -> bool {
        let known = self.0.get(extension.reference());
        known.is_some_and(|known| **known == *extension)
    }

    /// Adds an extension.
    pub(crate) fn insert(&mut self, extension: &Arc<Extension>) {
        self.0
            .insert(extension.reference().clone(), Arc::clone(extension));
    }

    /// Writes all of them into a snapshot.
    pub(crate) fn add_to(&self, snapshot: &mut Snapshot) {
        if self.0.is_empty() {
            return;
        }
        let mut members = match snapshot.extra.remove(EXTENSIONS) {
            Some(Value::Object(members)) => members,
            _ => serde_json::Map::new(),
        };
        for (reference, extension) in &self.0 {
            members.insert(reference.to_string(), extension.to_json().into());
        }
        snapshot.extra.insert(EXTENSIONS.to_owned(), members.into());
    }
}

impl Snapshot {
    /// Returns the extension of a reference as it is recorded; the error is the reason for which it cannot be read.
    fn extension(&self, reference: &str) -> Result<Option<Extension>, String> {
        let recorded = self.extra.get(EXTENSIONS).and_then(|all| all.get(reference));
        let Some(recorded) = recorded else { return Ok(None) };
        let json = ExtensionJson::deserialize(recorded).map_err(|error| error.to_string())?;
        let extension = Extension::of_json(reference, json);
        extension.map(Some).map_err(|error| error.message().to_owned())
    }

    /// Returns whether the state has the extension.
    pub(crate) fn has_extension(&self, extension: &Extension) -> bool {
        let recorded = self.extension(extension.reference());
        recorded.is_ok_and(|recorded| recorded.as_ref() == Some(extension))
    }

    /// Copies the extensions of the records that `is_added` selects from another snapshot.
    ///
    /// # Errors
    /// [`ErrorKind::State`] with the resource and the reference when neither has it, or it is another one there.
    pub(super) fn adopt_extensions(
        &mut self,
        source: &Self,
        is_added: impl Fn(&ResourceState) -> bool,
    ) -> Result<()> {
        let needed = self.resources.iter();
        let needed = needed.filter(|state| !state.extension_ref.is_empty() && is_added(state));
        let mut copied = serde_json::Map::new();
        for state in needed {
            let reference = state.extension_ref.as_str();
            let recorded = |snapshot: &Self| snapshot.extra.get(EXTENSIONS)?.get(reference).cloned();
            match (recorded(self), recorded(source)) {
                (Some(own), Some(other)) if own != other => {
                    return Err(unusable(
                        state,
                        "the destination has another one of this reference",
                    ));
                }
                (Some(_), _) => {}
                (None, Some(value)) => drop(copied.insert(reference.to_owned(), value)),
                (None, None) => return Err(unusable(state, "the state does not have it")),
            }
        }
        if !copied.is_empty() {
            let members = self
                .extra
                .entry(EXTENSIONS.to_owned())
                .or_insert_with(|| Value::Object(serde_json::Map::new()));
            if let Value::Object(members) = members {
                members.extend(copied);
            }
        }
        Ok(())
    }

    /// Drops the extensions to which neither a record nor a pending operation refers.
    pub(super) fn drop_unused_extensions(&mut self) {
        let Some(Value::Object(extensions)) = self.extra.get_mut(EXTENSIONS) else {
            return;
        };
        let pending = self.pending_operations.iter().map(|pending| &pending.resource);
        let used: BTreeSet<_> = self
            .resources
            .iter()
            .chain(pending)
            .map(|state| state.extension_ref.as_str())
            .collect();
        extensions.retain(|reference, _| used.contains(reference.as_str()));
        if extensions.is_empty() {
            self.extra.remove(EXTENSIONS);
        }
    }
}

/// Returns the error about the extension of a record.
fn unusable(state: &ResourceState, why: &str) -> Error {
    let reference = &state.extension_ref;
    let text = format!(
        "resource '{}' needs the extension {reference} of its provider, which cannot be used: {why}",
        state.urn
    );
    Error::new(ErrorKind::State, text).with_urn(state.urn.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        resource::{PendingOperation, PendingOperationKind},
        urn::Urn,
    };

    fn user(name: &str, reference: &str) -> Arc<ResourceState> {
        let urn = Urn::new("dev", "shop", "", "more:index:Thing", name);
        let mut state = ResourceState::new(urn, "more:index:Thing".into(), true);
        state.extension_ref = reference.into();
        Arc::new(state)
    }

    fn snapshot(resources: Vec<Arc<ResourceState>>, extensions: Value) -> Snapshot {
        Snapshot {
            resources,
            extra: [(EXTENSIONS.to_owned(), extensions)].into(),
            ..Snapshot::default()
        }
    }

    #[test]
    fn a_missing_or_damaged_extension_is_named_with_its_resource() {
        let good = json!({"name": "more", "version": "1.0.0", "value": "AP8="});
        for (extensions, expected) in [
            (json!({"other": good}), "the state does not have it"),
            (json!([]), "the state does not have it"),
            (json!({"r": 1}), "invalid type"),
            (json!({"r": {"name": "more", "value": "?"}}), "is not base64"),
        ] {
            let error = Extensions::of_records(&snapshot(vec![user("a", "r")], extensions)).unwrap_err();
            let text = error.message();
            assert!(
                text.contains("more:index:Thing::a' needs the extension r of its provider"),
                "{text}"
            );
            assert!(text.contains(expected), "{text}");
            assert_eq!(error.kind(), ErrorKind::State);
        }
        let read = Extensions::of_records(&snapshot(
            vec![user("a", "r"), user("b", "")],
            json!({"r": good, "s": 1}),
        ));
        let read = read.unwrap();
        let extension = read.of_record(&user("a", "r")).unwrap().unwrap();
        assert_eq!(
            (extension.to_string(), extension.value.as_slice()),
            ("more 1.0.0".to_owned(), &[0, 255][..])
        );
        assert!(read.of_record(&user("b", "")).unwrap().is_none());
        assert!(read.of_record(&user("c", "s")).is_err());
    }

    #[test]
    fn only_extensions_in_use_are_kept_those_of_pending_operations_included() {
        let all = json!({"a": {"name": "a"}, "b": {"name": "b"}, "c": {"name": "c"}});
        let mut kept = snapshot(vec![user("a", "a")], all.clone());
        kept.pending_operations = vec![PendingOperation {
            resource: user("b", "b"),
            kind: PendingOperationKind::Creating,
        }];
        kept.drop_unused_extensions();
        assert_eq!(
            kept.extra[EXTENSIONS],
            json!({"a": {"name": "a"}, "b": {"name": "b"}})
        );
        let mut none = snapshot(vec![user("a", "")], all);
        none.drop_unused_extensions();
        assert!(none.extra.is_empty());
    }

    #[test]
    fn what_is_added_to_a_state_is_found_in_it() {
        let extension = Arc::new(Extension::new("more", "1.0.0", vec![1]));
        let mut extensions = Extensions::default();
        extensions.insert(&extension);
        let mut empty = Snapshot::default();
        assert!(!empty.has_extension(&extension));
        extensions.add_to(&mut empty);
        assert!(empty.has_extension(&extension));
        let other = Extension::new("more", "1.0.0", vec![2]);
        assert!(!empty.has_extension(&other) && !extensions.contains(&other));
    }
}
