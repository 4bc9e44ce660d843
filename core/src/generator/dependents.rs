//! Dependents: the recorded resources that must be deleted before another one can be replaced.

use rustc_hash::FxHashSet;

use crate::{
    generator::{
        Reservation, RunEnded,
        ask_provider::{diff_request, replace_on_changes},
        context::Context,
        diff::interpret,
        run::CountedCall,
    },
    property::{PropertyMap, PropertyValue},
    resource::ResourceState,
    state::StateRef,
    urn::Urn,
};

/// A recorded resource that is replaced because another one is.
pub(super) struct Dependent {
    pub(super) record: StateRef,
    /// The properties that force it.
    pub(super) keys: Vec<String>,
}

/// Finds the dependents of `root` that cannot stay while it is deleted and created again, in the order of the snapshot.
/// They stay reserved, so that their registrations wait.
pub(super) async fn dependents_to_replace<'a>(
    context: &'a Context,
    urn: &Urn,
    root: &StateRef,
) -> Result<(Reservation<'a>, Vec<Dependent>), RunEnded> {
    let (run, base, claims) = (&context.run, &context.base, &context.claims);
    let records = base.records();
    let position = base.position(&root.state.urn);
    let candidates = position.map(|position| base.graph().transitive_dependents(&[position], false));
    let candidates = candidates
        .into_iter()
        .flatten()
        .map(|position| records[position].clone());
    // A pending replacement has only a record, and its provider may be gone.
    let candidates: Vec<StateRef> = candidates
        .filter(|record| !record.state.pending_replacement)
        .collect();
    let mut reservation = claims.reserve(&candidates).await?;
    let mut replaced = Replaced::new(&root.state);
    let mut dependents: Vec<Dependent> = Vec::new();
    for candidate in reservation.records().to_vec() {
        let Some(keys) = replaced_with(context, &candidate, &replaced).await? else {
            reservation.release(&candidate, None);
            continue;
        };
        if candidate.state.protect && !run.executor.options().ignore_protect {
            let dependent = &candidate.state.urn;
            let text = format!(
                "unable to replace resource \"{dependent}\" as part of replacing \"{urn}\"\nas it is currently marked for \
                 protection"
            );
            return Err(run.bail(dependent, text));
        }
        replaced.insert(&candidate.state);
        dependents.push(Dependent {
            record: candidate,
            keys,
        });
    }
    Ok((reservation, dependents))
}

/// Returns the properties that force a record's replacement when those in `replaced` are replaced; `None` when it
/// stays.
async fn replaced_with(
    context: &Context,
    record: &StateRef,
    replaced: &Replaced,
) -> Result<Option<Vec<String>>, RunEnded> {
    let Context { run, providers, .. } = context;
    let state = &record.state;
    let inputs = match Dependence::of(state, replaced) {
        Dependence::None => return Ok(None),
        Dependence::By(key) => return Ok(Some(vec![key.to_owned()])),
        Dependence::Compare(inputs) => inputs,
    };
    let provider = if state.is_provider() {
        Some(Box::pin(providers.manager_for(&state.urn, &inputs)).await?)
    } else {
        providers.of_record(record).await?
    };
    let Some(provider) = provider else {
        return Ok(None);
    };
    let request = diff_request(state, inputs.clone(), &state.options.ignore_changes, true);
    let question = provider.provider.diff(request);
    let response = run
        .ask(&state.urn, CountedCall::new("diff", &provider), question)
        .await?;
    let response = response.completed(&state.inputs, &inputs);
    let paths = replace_on_changes(context, state, &response, false)?;
    let difference = interpret(response, &paths, false, false);
    Ok(difference.asks_for_replacement().then_some(difference.keys))
}

/// How a record depends on the replaced ones.
#[derive(Debug, PartialEq)]
enum Dependence {
    /// It can stay.
    None,
    /// This property of the resource forces its replacement.
    By(&'static str),
    /// Its provider compares it with these inputs, in which those from replaced resources are unknown.
    Compare(PropertyMap),
}

impl Dependence {
    fn of(state: &ResourceState, replaced: &Replaced) -> Self {
        let is_replaced = |urn: &Urn| replaced.is_meant(state, urn);
        let options = &state.options;
        if (options.replace_with.iter()).any(|urn| replaced.is_replaced_with(state, urn)) {
            return Self::By("replaceWith");
        }
        if options.deleted_with.as_ref().is_some_and(is_replaced) {
            return Self::By("deletedWith");
        }
        if !state.custom || state.external {
            return Self::None;
        }
        if state
            .provider_urn()
            .is_some_and(|provider| is_replaced(&provider))
        {
            return Self::By("provider");
        }
        with_unknowns(state, is_replaced).map_or(Self::None, Self::Compare)
    }
}

/// The URNs of replaced records, and of old copies that are deleted with them.
struct Replaced {
    root: Urn,
    live: FxHashSet<Urn>,
    copies: FxHashSet<Urn>,
}

impl Replaced {
    fn new(root: &ResourceState) -> Self {
        let mut replaced = Self {
            root: root.urn.clone(),
            live: FxHashSet::default(),
            copies: FxHashSet::default(),
        };
        replaced.insert(root);
        replaced
    }

    /// Returns whether `state` is replaced because its `replaceWith` names `urn`. A record in use is replaced now only
    /// with the root: for another dependent, its own registration replaces it. An old copy has no registration.
    fn is_replaced_with(&self, state: &ResourceState, urn: &Urn) -> bool {
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

    /// Returns whether the reference of `state` to `urn` is to one of them. Only an old copy can refer to another old
    /// copy.
    fn is_meant(&self, state: &ResourceState, urn: &Urn) -> bool {
        self.live.contains(urn) || (state.delete && self.copies.contains(urn))
    }
}

/// Replaces the inputs from replaced resources by unknowns; `None` when there are none.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::TypeToken;

    fn urn(name: &str) -> Urn {
        Urn::new("dev", "shop", "", "pkg:index:Type", name)
    }

    fn state(name: &str, edit: impl FnOnce(&mut ResourceState)) -> ResourceState {
        let mut state = ResourceState::new(urn(name), TypeToken::from("pkg:index:Type"), true);
        edit(&mut state);
        state
    }

    #[test]
    fn a_dependent_is_replaced_for_its_options_or_compared_by_its_inputs() {
        let mut replaced = Replaced::new(&state("root", |_| {}));
        replaced.insert(&state("other", |_| {}));
        replaced.insert(&state("copy", |state| state.delete = true));
        let replace_with = |name: &'static str| {
            move |state: &mut ResourceState| state.options.replace_with = vec![urn(name)]
        };
        let deleted_with = |name: &'static str| {
            move |state: &mut ResourceState| state.options.deleted_with = Some(urn(name))
        };
        let table = [
            (state("a", |_| {}), Dependence::None),
            (state("a", replace_with("root")), Dependence::By("replaceWith")),
            (state("a", replace_with("other")), Dependence::None),
            (
                state("a", |state| {
                    replace_with("other")(state);
                    state.delete = true;
                }),
                Dependence::By("replaceWith"),
            ),
            (state("a", deleted_with("other")), Dependence::By("deletedWith")),
            (state("a", deleted_with("copy")), Dependence::None),
            (
                state("a", |state| {
                    state.external = true;
                    state.provider = format!("{}::id", urn("root")).into();
                }),
                Dependence::None,
            ),
            (
                state("a", |state| {
                    state.provider = format!("{}::id", urn("root")).into();
                }),
                Dependence::By("provider"),
            ),
        ];
        for (row, (state, expected)) in table.into_iter().enumerate() {
            assert_eq!(Dependence::of(&state, &replaced), expected, "row {row}");
        }
    }
}
