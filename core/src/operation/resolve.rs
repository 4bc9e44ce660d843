//! Resolving pending operations by reading their resources, before an operation does anything else.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{StreamExt as _, stream};
use rustc_hash::FxHashMap;

use super::{
    Adoption, OperationRun,
    prepare::Prepared,
    reading::memory_journal,
    relation::{Relation, is_managed, is_old_copy, taken},
};
use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    executor::{ExecutorOptions, Failure, Step, StepDetail, run_in_order},
    provider::{ReadRequest, Views},
    resource::{PendingOperation, PendingOperationKind, ProviderReference, ResourceState},
    state::{JournalRecord, JournalReplay, OperationId, PriorState, StateId, StateRef},
    step::StepOp,
    token::ResourceId,
    urn::Urn,
};

/// How many resources of pending operations are read at a time, to determine whether they exist.
const MAX_CONCURRENT_READS: usize = 16;

/// The pending operation that the host has chosen, and what the run has found out about pending operations.
#[derive(Default)]
pub(crate) struct PendingWork {
    /// The chosen one; `None` for other operations than adoptions.
    pub(super) adoption: Option<Adoption>,
    /// Whether its resource is only read: the operation is a preview then, also over a record with the same URN.
    pub(super) reads_only: bool,
    found: Mutex<Findings>,
}

/// What a run has found out about pending operations, which it names by their positions in the loaded state.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Those that are over: the resource is recorded, or does not exist.
    pub(super) resolved: Vec<usize>,
    /// Those that stay pending: the resource exists and could not be recorded, or it could not be read.
    pub(super) kept: Vec<usize>,
    /// The pending operation that the host has chosen, once it is found.
    pub(super) chosen: Option<PendingOperation>,
    /// The record of the adopted resource.
    pub(super) record: Option<Arc<ResourceState>>,
}

impl PendingWork {
    /// Returns the work of an adoption, whose resource is recorded, or only read.
    pub(crate) fn adopting(adoption: Adoption, reads_only: bool) -> Self {
        Self {
            adoption: Some(adoption),
            reads_only,
            ..Self::default()
        }
    }

    /// Returns the findings so far.
    pub(super) fn found(&self) -> MutexGuard<'_, Findings> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A resource that is to be read and recorded.
pub(super) struct Candidate {
    /// The position of its pending operation.
    pub(super) place: usize,
    /// Its id.
    pub(super) id: ResourceId,
}

/// Records the resources of interrupted creations that the options name. An operation that reads every resource also
/// reads those of pending operations that have an id but no record.
pub(super) async fn resolve(run: &OperationRun, prepared: &mut Prepared, refreshes: bool) {
    let mut candidates = requested(run, prepared);
    // With targets, the others are not examined.
    if refreshes && run.options.targets.is_empty() && run.options.excludes.is_empty() {
        let existing = existing(run, prepared, &candidates).await;
        candidates.extend(existing);
    }
    if candidates.is_empty() {
        return;
    }
    if let Err(error) = record(run, prepared, candidates).await {
        run.control.fail(Failure::Fatal(error), true);
    }
}

/// Returns the creations that the options name by URN, and reports those that cannot be recorded.
fn requested(run: &OperationRun, prepared: &Prepared) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let mut unknown = Vec::new();
    for (urn, id) in &run.options.import_pending_creates {
        let is_named = |pending: &PendingOperation| {
            pending.kind == PendingOperationKind::Creating && pending.resource.urn.as_str() == urn
        };
        let Some(place) = prepared.pending.iter().position(is_named) else {
            unknown.push(urn.as_str());
            continue;
        };
        let id = ResourceId::from(id.as_str());
        let resource = &prepared.pending[place].resource;
        let checked = check_readable(resource, &id);
        match checked.map(|()| Relation::of(&prepared.base, resource, &id)) {
            Ok(Relation::Free) => candidates.push(Candidate { place, id }),
            Ok(Relation::Recorded) => run.pending.found().resolved.push(place),
            Ok(Relation::Taken(other)) => fail(run, taken(&resource.urn, &other)),
            Ok(Relation::OldCopy(copy)) => fail(run, is_old_copy(&resource.urn, &id, &copy)),
            Ok(Relation::Managed(owner)) => fail(run, is_managed(&resource.urn, &id, &owner)),
            Err(error) => fail(run, error),
        }
    }
    if !unknown.is_empty() {
        let mut text = "the following urns did not correspond to a pending create".to_owned();
        for urn in unknown {
            text.push_str(&format!("\n- {urn:?}"));
        }
        run.events.diagnostic(Diagnostic::warning(text));
    }
    candidates
}

/// Reads the resources of pending operations that have an id but no record, and returns those that exist.
async fn existing(run: &OperationRun, prepared: &Prepared, chosen: &[Candidate]) -> Vec<Candidate> {
    let is_chosen = |place: usize| chosen.iter().any(|candidate| candidate.place == place);
    let pending = prepared.pending.iter().enumerate();
    let unrecorded =
        pending.filter(|(place, pending)| !is_chosen(*place) && is_unrecorded(&prepared.base, pending));
    let reads: Vec<_> = unrecorded
        .map(|(place, pending)| async move { (place, exists(run, prepared, &pending.resource).await) })
        .collect();
    let answers: Vec<_> = stream::iter(reads).buffered(MAX_CONCURRENT_READS).collect().await;
    let claims = chosen
        .iter()
        .map(|candidate| prepared.pending[candidate.place].resource.urn.clone());
    let mut claimed: FxHashMap<Urn, ResourceId> = claims.map(|urn| (urn, ResourceId::default())).collect();
    let mut candidates = Vec::new();
    for (place, answer) in answers {
        let resource = &*prepared.pending[place].resource;
        let ResourceState { urn, id, .. } = resource;
        let relation = Relation::of(&prepared.base, resource, id);
        let refusal = match &relation {
            Relation::OldCopy(copy) => Some(is_old_copy(urn, id, copy)),
            Relation::Managed(owner) => Some(is_managed(urn, id, owner)),
            _ => None,
        };
        if let Some(refusal) = refusal.filter(|_| matches!(answer, Ok(true))) {
            run.pending.found().kept.push(place);
            let warning = Diagnostic::warning(refusal.text().clone());
            run.events.diagnostic(warning.about(urn.clone()));
            continue;
        }
        let other = match (claimed.get(urn), relation) {
            (Some(other), _) => Some(other.clone()),
            (None, Relation::Taken(other)) => Some(other),
            (None, _) => None,
        };
        match (answer, other) {
            (Ok(false), _) => run.pending.found().resolved.push(place),
            (Ok(true), None) => {
                claimed.insert(urn.clone(), id.clone());
                candidates.push(Candidate {
                    place,
                    id: id.clone(),
                });
            }
            // Another operation on the same resource, which is settled with it.
            (Ok(true), Some(other)) if other == *id => run.pending.found().resolved.push(place),
            (Ok(true), Some(_)) => {
                run.pending.found().kept.push(place);
                let text = format!(
                    "the resource with the id '{id}' of an interrupted operation exists, and '{urn}' has another record; \
                     it stays pending until it is adopted or forgotten"
                );
                run.events
                    .diagnostic(Diagnostic::warning(text).about(urn.clone()));
            }
            (Err(error), _) => {
                run.pending.found().kept.push(place);
                fail(run, error);
            }
        }
    }
    candidates
}

/// Returns whether a pending operation is a change of a real resource whose id is known, and which has no record.
fn is_unrecorded(base: &PriorState, pending: &PendingOperation) -> bool {
    let resource = &pending.resource;
    // A read and an import change nothing: they are repeated by the program.
    let is_change = matches!(
        pending.kind,
        PendingOperationKind::Creating | PendingOperationKind::Updating | PendingOperationKind::Deleting
    );
    let has_provider = || {
        ProviderReference::parse(&resource.provider)
            .is_ok_and(|reference| base.provider(&reference).is_some())
    };
    let is_recorded = || {
        let mut records = base.records().iter();
        records.any(|record| record.state.urn == resource.urn && record.state.id == resource.id)
    };
    is_change && check_readable(resource, &resource.id).is_ok() && has_provider() && !is_recorded()
}

/// Refuses resources that no provider can read by an id.
pub(super) fn check_readable(resource: &ResourceState, id: &ResourceId) -> Result<()> {
    let urn = &resource.urn;
    let refuse = |text: String| Err(Error::invalid(text).with_urn(urn.clone()));
    if !resource.custom || resource.is_provider() {
        return refuse(format!(
            "'{urn}' is a component or a provider, which is nothing real to read: forget its pending operation, and an update \
             registers it again"
        ));
    }
    if let Some(owner) = &resource.view_of {
        return refuse(format!(
            "'{urn}' is a view of '{owner}', and is read with that alone"
        ));
    }
    if id.is_empty() {
        let text = format!("the id of the resource '{urn}' is not known: it is needed to read the resource");
        let hint =
            "the option resource_id (resourceId in Node) of adopt_pending() and read_pending() names it";
        return Err(Error::invalid(text).with_urn(urn.clone()).with_hint(hint));
    }
    Ok(())
}

/// Asks a resource's provider whether the resource exists.
///
/// # Errors
/// When the provider cannot be loaded, or fails.
pub(super) async fn exists(run: &OperationRun, prepared: &Prepared, state: &ResourceState) -> Result<bool> {
    let urn = &state.urn;
    let registry = &prepared.registry;
    let (timeout, outputs) = (
        state.options.custom_timeouts.read.unwrap_or_default(),
        Some(&state.outputs).filter(|outputs| !outputs.is_empty()),
    );
    let request = ReadRequest {
        urn: urn.clone(),
        resource_type: urn.resource_type().into(),
        name: urn.name().to_owned(),
        id: state.id.clone(),
        inputs: Some(state.inputs.clone()),
        properties: outputs.cloned(),
        timeout,
        preview: run.options.dry_run,
        views: Views::default(),
    };
    let reading = async {
        let provider = registry.of_record(&prepared.base, state).await?;
        let provider = provider.ok_or_else(|| {
            Error::new(ErrorKind::State, format!("resource '{urn}' has no provider")).with_urn(urn.clone())
        })?;
        match provider.provider.read(request).await {
            Ok(response) => Ok(response.outputs.is_some() && !response.id.is_empty()),
            Err(error) if error.init_failure.is_some() => Ok(true),
            Err(error) => {
                let package = state.resource_type.package().to_owned();
                let error = Error::of_provider(&package, "read", error.text());
                Err(error.with_urn(urn.clone()))
            }
        }
    };
    tokio::select! {
        biased;
        answer = reading => answer,
        () = run.control.terminated() => Err(Error::new(
            ErrorKind::Cancelled,
            format!("the read of the resource '{urn}' was given up"),
        )),
    }
}

/// Reads resources, and records those that exist in place of the live records with their URNs.
///
/// # Errors
/// When what was read cannot be recorded. Failed reads have been reported to the control.
pub(super) async fn record(
    run: &OperationRun,
    prepared: &mut Prepared,
    candidates: Vec<Candidate>,
) -> Result<()> {
    let (executor, base) = (Arc::clone(&prepared.executor), Arc::clone(&prepared.base));
    let journal = executor.journal().cloned();
    let is_recorded = journal.is_some();
    let journal = journal.unwrap_or_else(|| memory_journal(&executor, &base));
    // A resource that cannot be read does not stop the others.
    let options = ExecutorOptions {
        continue_on_error: true,
        ..*executor.options()
    };
    let reader = Arc::new(executor.with_options(options, Some(journal.clone())));
    let goals: Vec<Arc<ResourceState>> = candidates
        .iter()
        .map(|candidate| goal(&prepared.pending[candidate.place].resource, &candidate.id, &base))
        .collect();
    let providers = tokio::select! {
        biased;
        providers = prepared.registry.of_records(&base, goals.iter().map(|goal| &**goal)) => providers,
        // Nothing has been read, so there is nothing to record.
        () = executor.control().terminated() => return Ok(()),
    };
    let steps = goals.into_iter().zip(providers).filter_map(|(goal, provider)| {
        let old = base.live(&goal.urn).cloned();
        let detail = StepDetail {
            adopts: true,
            in_place: old.is_some(),
            ..StepDetail::default()
        };
        let step = Step::new(StepOp::Import, old, Some(goal))?;
        Some(step.with_provider(provider).with_detail(detail))
    });
    let steps: Vec<Step> = steps.collect();
    let free = vec![Vec::new(); steps.len()];
    run_in_order(&reader, steps, &free).await;
    for candidate in candidates {
        let urn = &prepared.pending[candidate.place].resource.urn;
        let mut found = run.pending.found();
        match reader.published(urn) {
            Some(record) => {
                found.resolved.push(candidate.place);
                found.record = Some(record);
                prepared.adopted.push(urn.clone());
            }
            None => found.kept.push(candidate.place),
        }
    }
    executor.absorb(&reader);
    if prepared.adopted.is_empty() {
        return Ok(());
    }
    let closed = || Error::internal("the journal was closed while pending operations were resolved");
    let mut rebuilt = journal
        .with_replay(JournalReplay::rebuild_base)
        .ok_or_else(closed)?;
    if let JournalRecord::BaseRebuilt { clear_pending, .. } = &mut rebuilt {
        *clear_pending = false;
    }
    journal.append(OperationId(0), rebuilt).await?;
    let mut records: Vec<StateRef> = journal
        .with_replay(|replay| replay.records().cloned().collect())
        .ok_or_else(closed)?;
    if !is_recorded {
        // In memory, the position of a record is its identity.
        for (id, record) in (0..).map(StateId).zip(&mut records) {
            record.id = id;
        }
    }
    let rebuilt = PriorState::new(records)?.with_plugins(base.plugins());
    prepared.base = Arc::new(rebuilt.with_extensions(Arc::clone(base.extensions())));
    Ok(())
}

/// Returns the goal of an import: the resource of a pending operation, with references to records alone.
fn goal(pending: &ResourceState, id: &ResourceId, base: &PriorState) -> Arc<ResourceState> {
    let mut goal = ResourceState {
        id: ResourceId::default(),
        delete: false,
        pending_replacement: false,
        taint: false,
        aliases: Vec::new(),
        init_errors: Vec::new(),
        ..pending.clone()
    };
    goal.options.import_id = id.clone();
    goal.retain_dependencies(|urn| base.live(urn).is_some());
    Arc::new(goal)
}

/// Reports a pending operation that cannot be resolved.
fn fail(run: &OperationRun, error: Error) {
    let diagnostic = Diagnostic::error(error.text().clone());
    run.events.diagnostic(match error.urn() {
        Some(urn) => diagnostic.about(urn.clone()),
        None => diagnostic,
    });
    run.control.fail(Failure::Step(error), false);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::TypeToken;

    fn record(name: &str, id: &str) -> ResourceState {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", name);
        let mut state = ResourceState::new(urn, TypeToken::from("pkg:index:Type"), true);
        state.id = id.into();
        state.provider = "urn:pulumi:dev::shop::pulumi:providers:pkg::default::one".into();
        state
    }

    fn base(records: Vec<ResourceState>) -> PriorState {
        let urn = Urn::new("dev", "shop", "", "pulumi:providers:pkg", "default");
        let mut provider = ResourceState::new(urn, TypeToken::from("pulumi:providers:pkg"), true);
        provider.id = "one".into();
        let states = std::iter::once(provider).chain(records).map(Arc::new);
        let records = (0..).map(StateId).zip(states);
        PriorState::new(records.map(|(id, state)| StateRef { id, state }).collect()).unwrap()
    }

    #[test]
    fn only_changes_of_resources_without_a_record_are_looked_up() {
        use PendingOperationKind::{Creating, Deleting, Importing, Reading, Updating};
        let base = base(vec![record("a", "a-1")]);
        let unknown_provider = ResourceState {
            provider: "urn:pulumi:dev::shop::pulumi:providers:pkg::other::two".into(),
            ..record("b", "b-1")
        };
        for (kind, resource, expected) in [
            (Creating, record("b", "b-1"), true),
            (Updating, record("b", "b-1"), true),
            (Deleting, record("b", "b-1"), true),
            (Reading, record("b", "b-1"), false),
            (Importing, record("b", "b-1"), false),
            (Creating, record("b", ""), false),
            (Creating, unknown_provider, false),
            (Updating, record("a", "a-1"), false),
            (Creating, record("a", "a-2"), true),
        ] {
            let name = format!("{kind:?} {} {:?}", resource.urn.name(), resource.id);
            let pending = PendingOperation {
                resource: Arc::new(resource),
                kind,
            };
            assert_eq!(is_unrecorded(&base, &pending), expected, "{name}");
        }
    }

    #[test]
    fn an_import_refers_to_records_alone() {
        let base = base(vec![record("a", "a-1")]);
        let mut pending = record("b", "");
        pending.dependencies = vec![record("a", "").urn, record("missing", "").urn];
        pending.parent = Some(record("missing", "").urn);
        let goal = goal(&pending, &"b-1".into(), &base);
        assert_eq!(goal.dependencies, [record("a", "").urn]);
        assert_eq!(
            (goal.parent.as_ref(), goal.options.import_id.as_str()),
            (None, "b-1")
        );
    }
}
