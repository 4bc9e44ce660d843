//! The providers of moved resources in the other stack: copies, or those that it has already.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};

use super::{Names, selection::at_top};
use crate::{
    error::{Error, ErrorKind, Result},
    message::Text,
    resource::{ResourceState, UNKNOWN_ID},
    state::Snapshot,
    urn::Urn,
};

/// The providers of moved resources in the other stack.
#[derive(Default)]
pub(super) struct Providers {
    /// New references by present ones.
    pub(super) references: FxHashMap<SmolStr, SmolStr>,
    /// New URNs by present ones.
    pub(super) urns: FxHashMap<Urn, Urn>,
    /// The records that are copied, in the order in which they are needed, with their new URNs.
    pub(super) copied: Vec<(Urn, Arc<ResourceState>)>,
}

impl Providers {
    /// Finds the providers of `moved`.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the other stack has one of them with other inputs.
    pub(super) fn of<'a>(
        moved: impl Iterator<Item = &'a Arc<ResourceState>>,
        source: &Snapshot,
        destination: &Snapshot,
        to: Names<'_>,
    ) -> Result<Self> {
        let mut known: FxHashMap<(&str, &str), &Arc<ResourceState>> = FxHashMap::default();
        for provider in source.resources.iter().filter(|record| record.is_provider()) {
            known
                .entry((provider.urn.as_str(), id_of(provider)))
                .or_insert(provider);
        }
        let mut there: FxHashMap<&Urn, Vec<&Arc<ResourceState>>> = FxHashMap::default();
        for provider in destination.resources.iter().filter(|record| record.is_provider()) {
            there.entry(&provider.urn).or_default().push(provider);
        }
        let mut providers = Self::default();
        for record in moved.filter(|record| !record.provider.is_empty()) {
            if providers.references.contains_key(&record.provider) {
                continue;
            }
            let Some((urn, id)) = record.provider.rsplit_once("::") else {
                continue;
            };
            let Some(provider) = known.get(&(urn, id)) else {
                // Only a record that is to be created again can refer to a provider that is gone.
                if let Ok(urn) = Urn::parse(urn) {
                    let reference = format_smolstr!("{}::{id}", at_top(&urn, to));
                    providers.references.insert(record.provider.clone(), reference);
                }
                continue;
            };
            let renamed = at_top(&provider.urn, to);
            let id = providers.place(provider, &renamed, &there)?;
            providers
                .references
                .insert(record.provider.clone(), format_smolstr!("{renamed}::{id}"));
            providers.urns.insert(provider.urn.clone(), renamed);
        }
        Ok(providers)
    }

    /// Returns the id that the provider has in the other stack: its own, or that of an equal one.
    fn place(
        &mut self,
        provider: &Arc<ResourceState>,
        renamed: &Urn,
        there: &FxHashMap<&Urn, Vec<&Arc<ResourceState>>>,
    ) -> Result<SmolStr> {
        let present = there.get(renamed).into_iter().flatten().copied();
        let copied = self.copied.iter().filter(|(urn, _)| urn == renamed);
        let mut same = present
            .chain(copied.map(|(_, copy)| copy))
            .filter(|other| other.delete == provider.delete);
        let own = || SmolStr::new(id_of(provider));
        let fits = |other: &&Arc<ResourceState>| {
            id_of(other) == id_of(provider) || (!other.delete && other.inputs == provider.inputs)
        };
        if let Some(fitting) = same.clone().find(fits) {
            return Ok(SmolStr::new(id_of(fitting)));
        }
        if !provider.delete && same.next().is_some() {
            let reference = format!("provider {renamed} already exists in destination stack");
            let library = format!("the destination has the provider '{renamed}' with other inputs");
            let error = Error::new(ErrorKind::Conflict, Text::pair(reference, library));
            return Err(error
                .with_urn(renamed.clone())
                .with_hint("rename() gives one of the two providers another name"));
        }
        self.copied.push((renamed.clone(), Arc::clone(provider)));
        Ok(own())
    }
}

/// Returns the id with which references name a provider.
fn id_of(provider: &ResourceState) -> &str {
    match provider.id.is_empty() {
        true => UNKNOWN_ID,
        false => provider.id.as_str(),
    }
}
