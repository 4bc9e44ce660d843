//! Dependents: which recorded resources must be deleted before another one can be.

use rustc_hash::FxHashSet;

use crate::{
    generator::{
        Generator, Unanswered,
        difference::interpret,
        questions::{Phase, diff_request},
    },
    property::{PropertyMap, PropertyValue},
    provider::ProviderHandle,
    resource::ResourceState,
    state::StateRef,
    urn::Urn,
};

/// A recorded resource that is replaced because another one is.
pub(super) struct Dependent {
    pub(super) record: StateRef,
    /// The properties that make it so.
    pub(super) keys: Vec<String>,
}

impl Generator {
    /// Finds the dependents of `root` that cannot stay while it is deleted and created again, in the order of the
    /// snapshot. Their registrations wait until [`super::Claims::release`].
    pub(super) async fn dependents_to_replace(
        &self,
        urn: &Urn,
        root: &StateRef,
    ) -> Result<Vec<Dependent>, Unanswered> {
        let Some(position) = self.base.position(&root.state.urn) else {
            return Ok(Vec::new());
        };
        let records = self.base.records();
        let dependents = self.base.graph().transitive_dependents(&[position], false);
        let candidates = dependents.into_iter().map(|index| records[index].clone());
        // What was deleted already for a replacement is only a reminder, and its provider may be gone as well.
        let candidates: Vec<StateRef> = candidates
            .filter(|record| !record.state.pending_replacement)
            .collect();
        let candidates = self.claims.reserve(&candidates).await;
        let mut replaced = Replaced::of(&root.state);
        let mut dependents = Vec::new();
        let mut failure = None;
        for candidate in candidates {
            let verdict = if failure.is_some() {
                Ok(None)
            } else {
                self.replaced_along(&candidate, &replaced).await
            };
            match verdict {
                Ok(Some(keys)) => {
                    if candidate.state.protect && !self.executor.options().ignore_protect {
                        let dependent = &candidate.state.urn;
                        let text = format!(
                            "unable to replace resource \"{dependent}\" as part of replacing \"{urn}\"\nas it is \
                             currently marked for protection"
                        );
                        failure = Some(self.bail(Some(dependent), text));
                    }
                    replaced.insert(&candidate.state);
                    dependents.push(Dependent {
                        record: candidate,
                        keys,
                    });
                }
                Ok(None) => self.claims.release(&candidate, None),
                Err(error) => {
                    failure = Some(error);
                    self.claims.release(&candidate, None);
                }
            }
        }
        let Some(failure) = failure else {
            return Ok(dependents);
        };
        for dependent in dependents {
            self.claims.release(&dependent.record, None);
        }
        Err(failure)
    }

    /// Tells whether a record must be replaced when those in `replaced` are; then with the properties that say so.
    async fn replaced_along(
        &self,
        record: &StateRef,
        replaced: &Replaced,
    ) -> Result<Option<Vec<String>>, Unanswered> {
        let state = &record.state;
        let is_replaced = |urn: &Urn| replaced.is_meant(state, urn);
        if state
            .options
            .replace_with
            .iter()
            .any(|urn| replaced.takes_along(state, urn))
        {
            return Ok(Some(vec!["replaceWith".to_owned()]));
        }
        if state.options.deleted_with.as_ref().is_some_and(is_replaced) {
            return Ok(Some(vec!["deletedWith".to_owned()]));
        }
        if !state.custom || state.external {
            return Ok(None);
        }
        if state
            .provider_urn()
            .is_some_and(|provider| is_replaced(&provider))
        {
            return Ok(Some(vec!["provider".to_owned()]));
        }
        let Some(inputs) = with_unknowns(state, is_replaced) else {
            return Ok(None);
        };
        let provider = if state.is_provider() {
            Some(Box::pin(self.manager_of(&state.urn, &inputs)).await?)
        } else {
            self.provider_of_record(record).await?
        };
        let Some(provider) = provider else {
            return Ok(None);
        };
        let request = diff_request(state, inputs.clone(), &state.options.ignore_changes, true);
        let response = self
            .consult(
                &state.urn,
                Phase::of("diff", &provider),
                provider.provider.diff(request),
            )
            .await?;
        let response = response.completed(&state.inputs, &inputs);
        let paths = &state.options.replace_on_changes;
        let paths = self.paths_that_count(&state.urn, paths, &response, false)?;
        let difference = interpret(response, &paths, false, false);
        Ok(difference.asks_for_replacement().then_some(difference.keys))
    }

    /// Finds who manages each of the recorded resources; `None` at a termination.
    pub(super) async fn providers_of(
        &self,
        states: impl Iterator<Item = &ResourceState>,
    ) -> Option<Vec<Option<ProviderHandle>>> {
        tokio::select! {
            biased;
            providers = self.registry.of_records(&self.base, states) => Some(providers),
            () = self.executor.terminated() => None,
        }
    }

    /// Finds who manages a recorded resource.
    pub(super) async fn provider_of_record(
        &self,
        record: &StateRef,
    ) -> Result<Option<ProviderHandle>, Unanswered> {
        let loading = self.registry.of_record(&self.base, &record.state);
        self.loaded(&record.state.urn, loading).await
    }
}

/// The URNs of what is replaced, and of old copies that go along.
struct Replaced {
    root: Urn,
    live: FxHashSet<Urn>,
    copies: FxHashSet<Urn>,
}

impl Replaced {
    fn of(root: &ResourceState) -> Self {
        let mut replaced = Self {
            root: root.urn.clone(),
            live: FxHashSet::default(),
            copies: FxHashSet::default(),
        };
        replaced.insert(root);
        replaced
    }

    /// Tells whether `state` goes because it is to be replaced with `urn`. What is in use goes so with the root only: for
    /// another dependent it is replaced in its turn. An old copy has no turn.
    fn takes_along(&self, state: &ResourceState, urn: &Urn) -> bool {
        *urn == self.root || (state.delete && self.is_meant(state, urn))
    }

    fn insert(&mut self, state: &ResourceState) {
        let urns = if state.delete {
            &mut self.copies
        } else {
            &mut self.live
        };
        urns.insert(state.urn.clone());
    }

    /// Tells whether what `state` calls `urn` is among them. Only an old copy can mean another one.
    fn is_meant(&self, state: &ResourceState, urn: &Urn) -> bool {
        self.live.contains(urn) || (state.delete && self.copies.contains(urn))
    }
}

/// Replaces the inputs that came from something that is replaced by unknowns; `None` when there are none.
fn with_unknowns(state: &ResourceState, is_replaced: impl Fn(&Urn) -> bool) -> Option<PropertyMap> {
    let mut inputs = state.inputs.clone();
    let mut found = false;
    for (key, dependencies) in state.property_dependencies.iter() {
        if dependencies.iter().any(&is_replaced) && inputs.contains_key(key) {
            inputs.insert(key.clone(), PropertyValue::unknown());
            found = true;
        }
    }
    found.then_some(inputs)
}
