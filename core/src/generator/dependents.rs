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

/// A recorded resource that is deleted because another one is, which is created again.
pub(super) struct Dependent {
    pub(super) record: StateRef,
    pub(super) kind: DependentKind,
    /// The properties that force it.
    pub(super) keys: Vec<String>,
}

/// How the record of a dependent is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DependentKind {
    /// It is in use: it is replaced.
    InUse,
    /// This run has replaced it. Nothing waits for its deletion but what it depends on.
    ReplacedNow,
    /// It is an old copy of an earlier run.
    OldCopy,
}

impl DependentKind {
    fn of(context: &Context, record: &StateRef) -> Self {
        if !record.state.delete {
            Self::InUse
        } else if context.replacements.contains(record.id) {
            Self::ReplacedNow
        } else {
            Self::OldCopy
        }
    }
}

/// Finds the dependents of `root` that cannot stay while it is deleted and created again, in the order of the snapshot.
/// They stay reserved, so that their registrations wait.
pub(super) async fn dependents_to_replace<'a>(
    context: &'a Context,
    urn: &Urn,
    root: &StateRef,
) -> Result<(Reservation<'a>, Vec<Dependent>), RunEnded> {
    let Context {
        claims, replacements, ..
    } = context;
    let candidates = recorded_dependents(context, root);
    let current = || {
        let copies = replacements.copies();
        let current = candidates
            .iter()
            .map(|record| copies.get(&record.id).unwrap_or(record));
        current.cloned().collect()
    };
    let mut reservation = claims
        .reserve(urn, current, |id| replacements.contains(id))
        .await?;
    let mut replaced = Replaced::new(&root.state);
    let mut dependents: Vec<Dependent> = Vec::new();
    for candidate in reservation.records().to_vec() {
        let kind = DependentKind::of(context, &candidate);
        let keys = match kind {
            DependentKind::InUse => replaced_with(context, &candidate, &replaced).await?,
            _ => copy_keys(&candidate.state, kind, &replaced),
        };
        let Some(keys) = keys else {
            reservation.release(&candidate, None);
            continue;
        };
        if let Some(text) = refusal(context, urn, &candidate, kind) {
            return Err(context.run.bail(&candidate.state.urn, text));
        }
        replaced.insert(&candidate.state, kind);
        dependents.push(Dependent {
            record: candidate,
            kind,
            keys,
        });
    }
    Ok((reservation, dependents))
}

/// Returns the records that depend on `root`, at any depth, in the order of the snapshot.
fn recorded_dependents(context: &Context, root: &StateRef) -> Vec<StateRef> {
    let base = &context.base;
    let position = base.position(&root.state.urn);
    let found = position.map(|position| base.graph().transitive_dependents(&[position], false));
    let records = found.into_iter().flatten().map(|found| &base.records()[found]);
    // A pending replacement has only a record, and its provider may be gone.
    let things = records.filter(|record| !record.state.pending_replacement);
    things.cloned().collect()
}

/// Returns why a dependent must not be deleted.
fn refusal(context: &Context, urn: &Urn, record: &StateRef, kind: DependentKind) -> Option<String> {
    let dependent = &record.state.urn;
    // The replacement of a protected record has been allowed.
    let is_protected = record.state.protect && kind != DependentKind::ReplacedNow;
    if is_protected && !context.run.executor.options().ignore_protect {
        return Some(format!(
            "unable to replace resource \"{dependent}\" as part of replacing \"{urn}\"\nas it is currently marked for \
             protection"
        ));
    }
    // Nothing would create it again.
    context.claims.has_failed(record).then(|| {
        format!(
            "the resource '{urn}' cannot be replaced: '{dependent}' depends on it and would be deleted before it, and has \
             failed in this operation, so that it would not be created again; correct that one first"
        )
    })
}

/// Returns the properties for which an old copy is deleted before those in `replaced`; `None` when it depends on none of
/// them. Its provider is not asked, as an old copy is never updated.
fn copy_keys(state: &ResourceState, kind: DependentKind, replaced: &Replaced) -> Option<Vec<String>> {
    if !state.custom || state.external {
        return None;
    }
    let is_meant = |urn: &Urn| replaced.is_meant(kind, urn);
    let properties = state.property_dependencies.iter();
    let properties = properties.filter(|(_, dependencies)| dependencies.iter().any(&is_meant));
    let mut keys: Vec<String> = properties.map(|(key, _)| key.to_string()).collect();
    let options = &state.options;
    for (key, found) in [
        (
            "provider",
            state.provider_urn().is_some_and(|provider| is_meant(&provider)),
        ),
        ("deletedWith", options.deleted_with.as_ref().is_some_and(is_meant)),
        ("replaceWith", options.replace_with.iter().any(is_meant)),
    ] {
        keys.extend(found.then(|| key.to_owned()));
    }
    (!keys.is_empty() || state.dependencies.iter().any(is_meant)).then_some(keys)
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
        let is_replaced = |urn: &Urn| replaced.is_meant(DependentKind::InUse, urn);
        let options = &state.options;
        // For another dependent, its own registration replaces it.
        if options.replace_with.contains(&replaced.root) {
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

/// The URNs of the records to delete that were in use before the run, and of old copies of earlier runs among them.
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
        replaced.insert(root, DependentKind::InUse);
        replaced
    }

    fn insert(&mut self, state: &ResourceState, kind: DependentKind) {
        let urns = match kind {
            DependentKind::OldCopy => &mut self.copies,
            // What is not processed yet refers to what this run has replaced.
            DependentKind::InUse | DependentKind::ReplacedNow => &mut self.live,
        };
        urns.insert(state.urn.clone());
    }

    /// Returns whether the reference of a record to `urn` is to one of them. Only an old copy can refer to an old copy of an
    /// earlier run.
    fn is_meant(&self, kind: DependentKind, urn: &Urn) -> bool {
        self.live.contains(urn) || (kind == DependentKind::OldCopy && self.copies.contains(urn))
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
        replaced.insert(&state("other", |_| {}), DependentKind::InUse);
        replaced.insert(
            &state("copy", |state| state.delete = true),
            DependentKind::OldCopy,
        );
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

    #[test]
    fn an_old_copy_is_deleted_before_everything_that_it_depends_on() {
        use DependentKind::{InUse, OldCopy, ReplacedNow};
        let mut replaced = Replaced::new(&state("root", |_| {}));
        replaced.insert(&state("other", |_| {}), InUse);
        replaced.insert(&state("now", |_| {}), ReplacedNow);
        replaced.insert(&state("copy", |_| {}), OldCopy);
        let on = |name: &'static str| move |state: &mut ResourceState| state.dependencies = vec![urn(name)];
        let table: [(ResourceState, DependentKind, Option<&[&str]>); 10] = [
            (state("a", |_| {}), ReplacedNow, None),
            (state("a", on("root")), ReplacedNow, Some(&[])),
            (state("a", on("root")), OldCopy, Some(&[])),
            (state("a", on("now")), ReplacedNow, Some(&[])),
            (state("a", on("copy")), ReplacedNow, None),
            (state("a", on("copy")), OldCopy, Some(&[])),
            (
                state("a", |state| state.options.replace_with = vec![urn("other")]),
                OldCopy,
                Some(&["replaceWith"]),
            ),
            (
                state("a", |state| {
                    state.options.deleted_with = Some(urn("other"));
                    state.property_dependencies = [("of".into(), vec![urn("root")])].into();
                }),
                ReplacedNow,
                Some(&["of", "deletedWith"]),
            ),
            (
                state("a", |state| {
                    state.provider = format!("{}::id", urn("root")).into();
                }),
                ReplacedNow,
                Some(&["provider"]),
            ),
            (
                state("a", |state| {
                    on("root")(state);
                    state.external = true;
                }),
                ReplacedNow,
                None,
            ),
        ];
        for (row, (state, kind, expected)) in table.into_iter().enumerate() {
            let expected = expected.map(|keys| keys.iter().map(|key| (*key).to_owned()).collect());
            assert_eq!(copy_keys(&state, kind, &replaced), expected, "row {row}");
        }
    }
}
