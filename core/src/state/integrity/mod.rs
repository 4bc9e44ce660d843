//! Integrity: the rules for snapshots, checked on load and before each save in one linear pass.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    error::{Error, ErrorKind, Result},
    resource::{ProviderReference, ResourceState},
    state::Snapshot,
    urn::Urn,
};

/// Checks that a snapshot is valid: references point backwards, URNs and snippets are unique.
///
/// # Errors
/// [`ErrorKind::State`] that names the first offending resource, with the reference engine's text.
pub fn verify(snapshot: &Snapshot) -> Result<()> {
    verify_resources(&snapshot.resources)?;
    verify_snippets(snapshot)
}

/// Checks the records alone.
///
/// # Errors
/// Those of [`verify`].
pub fn verify_resources<R: AsRef<ResourceState>>(records: &[R]) -> Result<()> {
    let mut seen = Seen::default();
    for (index, record) in records.iter().enumerate() {
        let record = record.as_ref();
        seen.verify(record)
            .map_err(|broken| broken.into_error(record, &records[index + 1..]))?;
    }
    Ok(())
}

/// The records before the one that is being checked.
#[derive(Default)]
struct Seen<'a> {
    /// Each URN, and whether a record of it is not marked for deletion.
    urns: FxHashMap<&'a Urn, bool>,
    /// Provider resources, by URN and id.
    providers: FxHashSet<(&'a str, &'a str)>,
}

/// A violated rule. Its message depends on whether the missing resource comes later.
enum Broken<'a> {
    Plain(String),
    Parent(&'a Urn),
    Dependency(&'a Urn),
    PropertyDependency(&'a Urn, &'a str),
    DeletedWith(&'a Urn),
    ReplaceWith(&'a Urn),
}

impl<'a> Seen<'a> {
    fn verify(&mut self, record: &'a ResourceState) -> Result<(), Broken<'a>> {
        let urn = &record.urn;
        if record.resource_type.is_empty() {
            return Err(Broken::Plain(format!(
                "resource '{urn}' missing required 'type' field"
            )));
        }
        if record.is_provider() {
            self.add_provider(record)?;
        }
        self.verify_provider(record)?;
        self.verify_references(record)?;
        let live = self.urns.entry(urn).or_default();
        if *live && !record.delete {
            return Err(Broken::Plain(format!(
                "duplicate resource {urn} (not marked for deletion)"
            )));
        }
        *live |= !record.delete;
        Ok(())
    }

    fn add_provider(&mut self, record: &'a ResourceState) -> Result<(), Broken<'a>> {
        if !record.urn.resource_type().starts_with("pulumi:providers:") {
            return Err(Broken::Plain(format!(
                "provider {0} is not referenceable: the URN {0} does not name a provider",
                record.urn
            )));
        }
        // A provider that was never created has no id; references to it contain the sentinel of unknown ids.
        let id = if record.id.is_empty() {
            crate::resource::UNKNOWN_ID
        } else {
            record.id.as_str()
        };
        self.providers.insert((record.urn.as_str(), id));
        Ok(())
    }

    fn verify_provider(&self, record: &'a ResourceState) -> Result<(), Broken<'a>> {
        if record.provider.is_empty() {
            return Ok(());
        }
        let known = record
            .provider
            .rsplit_once("::")
            .is_some_and(|reference| self.providers.contains(&reference));
        if known {
            return Ok(());
        }
        let urn = &record.urn;
        match ProviderReference::parse(&record.provider) {
            Err(error) => Err(Broken::Plain(format!(
                "failed to parse provider reference for resource {urn}: {error}"
            ))),
            // Its provider may have been replaced already: the record only marks that the resource is to be created
            // again.
            Ok(_) if record.pending_replacement => Ok(()),
            Ok(provider) => Err(Broken::Plain(format!(
                "resource {urn} refers to unknown provider {provider}"
            ))),
        }
    }

    fn verify_references(&self, record: &'a ResourceState) -> Result<(), Broken<'a>> {
        let missing = |urn: &&Urn| !self.urns.contains_key(*urn);
        if let Some(parent) = record.parent.as_ref().filter(missing) {
            return Err(Broken::Parent(parent));
        }
        if let Some(dependency) = record.dependencies.iter().find(missing) {
            return Err(Broken::Dependency(dependency));
        }
        for (property, dependencies) in record.property_dependencies.iter() {
            // Usually each property has the dependencies of the resource, which have been checked already.
            if dependencies == record.dependencies {
                continue;
            }
            if let Some(dependency) = dependencies.iter().find(missing) {
                return Err(Broken::PropertyDependency(dependency, property));
            }
        }
        if let Some(other) = record.options.deleted_with.as_ref().filter(missing) {
            return Err(Broken::DeletedWith(other));
        }
        if let Some(other) = record.options.replace_with.iter().find(missing) {
            return Err(Broken::ReplaceWith(other));
        }
        Ok(())
    }
}

impl Broken<'_> {
    fn into_error<R: AsRef<ResourceState>>(self, record: &ResourceState, later: &[R]) -> Error {
        let urn = &record.urn;
        let comes_after = |other: &Urn| later.iter().any(|record| record.as_ref().urn == *other);
        let message = match self {
            Self::Plain(message) => message,
            Self::Parent(parent) if comes_after(parent) => {
                format!("child resource {urn}'s parent {parent} comes after it")
            }
            Self::Parent(parent) => format!("child resource {urn} refers to missing parent {parent}"),
            Self::Dependency(other) if comes_after(other) => {
                format!("resource {urn}'s dependency {other} comes after it")
            }
            Self::Dependency(other) => {
                format!("resource {urn}'s dependency {other} refers to missing resource")
            }
            Self::PropertyDependency(other, property) => {
                let how = if comes_after(other) {
                    "comes after it"
                } else {
                    "refers to missing resource"
                };
                format!("resource {urn}'s property dependency {other} (from property {property}) {how}")
            }
            Self::DeletedWith(other) => {
                let how = if comes_after(other) {
                    "comes after it"
                } else {
                    "is missing"
                };
                format!("resource {urn} is specified as being deleted with {other}, which {how}")
            }
            Self::ReplaceWith(other) => {
                let how = if comes_after(other) {
                    "comes after it"
                } else {
                    "is missing"
                };
                format!("resource {urn} is specified as being replaced with {other}, which {how}")
            }
        };
        Error::new(ErrorKind::State, message).with_urn(urn.clone())
    }
}

/// Checks the snippets alone.
pub(in crate::state) fn verify_snippets(snapshot: &Snapshot) -> Result<()> {
    let mut seen = FxHashSet::default();
    let snippets = snapshot
        .extra
        .get("snippets")
        .and_then(serde_json::Value::as_array);
    for snippet in snippets.into_iter().flatten() {
        let uuid = snippet
            .get("uuid")
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default();
        if !seen.insert(uuid) {
            return Err(Error::new(ErrorKind::State, format!("duplicate snippet {uuid}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
