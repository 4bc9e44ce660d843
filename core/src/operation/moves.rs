//! The moves of an update: those that its preview suggests, and those that its options accept.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{OperationKind, OperationOptions, OperationResult, OperationRun, PendingWork, Session};
use crate::{
    error::{Error, Result},
    event::{EventPayload, EventSink, StepResult, SuggestedMove},
    executor::Rerecorded,
    moves::{
        AcceptMoves, AcceptedMove, AppliedMoves, Changes, MIN_ACCEPTED_CONFIDENCE, ProgramLanguage,
        listed as described, same_kind, suggest,
    },
    resource::ResourceState,
    state::Snapshot,
    step::StepOp,
    urn::Urn,
};

/// Returns what a preview would delete and create.
fn changes_of(steps: &[StepResult]) -> Changes<'_> {
    let mut found = Changes::default();
    for result in steps {
        let metadata = &result.step.metadata;
        let is_refused = result.failure.as_ref().is_some_and(|failure| failure.refused);
        match (metadata.op, &metadata.old, &metadata.new) {
            _ if is_refused => {}
            (StepOp::Delete, Some(old), _) if is_movable(&old.0) => found.deleted.push(&old.0),
            (StepOp::Create, None, Some(new)) if is_movable(&new.0) => found.created.push(&new.0),
            _ => {}
        }
    }
    found
}

/// Returns whether an alias can name a record: not views, which follow their owners, and not what is only read.
fn is_movable(state: &ResourceState) -> bool {
    state.view_of.is_none() && !state.external && !state.delete && !state.pending_replacement
}

/// Finds the moves that a preview of an update suggests; those that were applied precede them. An event lists them all.
pub(super) fn suggest_moves(
    run: &OperationRun,
    steps: &[StepResult],
    rerecorded: &[Rerecorded],
) -> Vec<SuggestedMove> {
    let mut moves = run.moves.moves().to_vec();
    if run.kind == OperationKind::Update && run.options.dry_run && !run.control.is_cancelled() {
        let mut changes = changes_of(steps);
        let is_moved = |[old, new]: &&Rerecorded| old.parent != new.parent || old.urn != new.urn;
        let moved = rerecorded.iter().filter(is_moved);
        let movable = moved.filter(|[old, _]| is_movable(old));
        changes.kept.extend(movable.map(|[old, new]| (&**old, &**new)));
        moves.extend(suggest(&changes, program_language(run)).moves);
    } else {
        moves.extend_from_slice(run.moves.declined());
    }
    if !moves.is_empty() {
        let listed = Arc::new(moves.clone());
        run.events.emit(EventPayload::SuggestedMoves(listed), false);
    }
    moves
}

/// Returns the language of the program, as it declares it or as its requests show.
pub(super) fn program_language(run: &OperationRun) -> ProgramLanguage {
    let of_program = run.program.as_ref().map(|program| program.language());
    match of_program.unwrap_or_default() {
        ProgramLanguage::Unknown => run
            .session
            .monitor()
            .map(|monitor| monitor.sdk_language())
            .unwrap_or_default(),
        known => known,
    }
}

/// How many previews look for moves at most: each applies those that the ones before it have found.
const MAX_PREVIEWS: usize = 8;

/// Applies the moves that the options accept: previews the update without them, and finds the accepted ones among its
/// deletions and creations. Returns the result of a failed preview.
///
/// The events of the preview have no listener; its diagnostics are emitted again when it fails.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] for a move that does not fit, and where the last preview still finds further ones.
pub(super) async fn accept_moves(run: &mut OperationRun) -> Result<Option<OperationResult>> {
    let accepted = match run.options.accept_moves.take() {
        None | Some(AcceptMoves::All(false)) => return Ok(None),
        Some(AcceptMoves::Only(moves)) if moves.is_empty() => return Ok(None),
        Some(accepted) => accepted,
    };
    if run.kind != OperationKind::Update {
        let text = "acceptMoves (accept_moves in Python and Rust) is an option of updates and their previews";
        return Err(Error::invalid(text));
    }
    run.options.check()?;
    let mut moves: Vec<SuggestedMove> = Vec::new();
    for _ in 0..MAX_PREVIEWS {
        let preview = preview_of(run, AppliedMoves::new(moves.clone(), Vec::new()));
        let result = Box::pin(preview.run()).await;
        if result.error.is_some() {
            return Ok(Some(failed_preview(run, result).await));
        }
        let mut found = match &accepted {
            AcceptMoves::All(_) => Found::in_preview(&result),
            AcceptMoves::Only(listed) => Found {
                moves: chosen(listed, &result)?,
                ..Found::default()
            },
        };
        found.moves.retain(|suggestion| {
            let mut known = moves.iter();
            !known.any(|it| it.old_urn == suggestion.old_urn || it.new_urn == suggestion.new_urn)
        });
        let is_complete = found.moves.is_empty() || !found.can_have_more;
        moves.extend(found.moves.into_iter().map(|suggestion| SuggestedMove {
            accepted: true,
            ..suggestion
        }));
        if is_complete {
            run.moves = AppliedMoves::new(moves, found.declined);
            return Ok(None);
        }
    }
    let text = format!("{MAX_PREVIEWS} previews have not found all moves: each finds further ones");
    Err(Error::invalid(text)
        .with_hint("accept a list: the moves that a preview suggests, one part after another"))
}

/// The suggestions of a preview that are accepted without a list.
#[derive(Default)]
struct Found {
    moves: Vec<SuggestedMove>,
    /// Those that are not probable enough.
    declined: Vec<SuggestedMove>,
    /// Whether a preview with the moves can find others.
    can_have_more: bool,
}

impl Found {
    fn in_preview(result: &OperationResult) -> Self {
        let suggestions = result.suggested_moves.iter().filter(|it| !it.accepted).cloned();
        let (moves, declined): (Vec<_>, Vec<_>) = suggestions.partition(|suggestion| {
            let confidence = suggestion.confidence.unwrap_or_default();
            confidence >= MIN_ACCEPTED_CONFIDENCE
        });
        let changes = changes_of(&result.steps);
        let following = moves.iter().map(|it| it.following.len()).sum::<usize>();
        let moved = moves.len() + following;
        Self {
            can_have_more: moved > 0 && moved < changes.deleted.len().min(changes.created.len()),
            moves,
            declined,
        }
    }
}

/// Returns the preview of an update with the moves that have been found so far.
fn preview_of(run: &OperationRun, moves: AppliedMoves) -> OperationRun {
    OperationRun {
        stack: Arc::clone(&run.stack),
        kind: run.kind,
        options: OperationOptions {
            dry_run: true,
            strict: false,
            plan: None,
            generate_plan: Some(false),
            hold_session: false,
            // A protected record that would be deleted is what a move can save.
            ignore_protect: true,
            // The timeout of the whole operation covers the preview.
            timeout: None,
            ..run.options.clone()
        },
        program: run.program.clone(),
        set: run.set.clone(),
        import: None,
        events: EventSink::new(Arc::clone(&run.stack.engine.runtime.clock)),
        control: run.control.clone(),
        session: Session::default(),
        pending: PendingWork::default(),
        moves,
        scope: run.scope.clone(),
    }
}

/// Ends an operation whose preview has failed, and returns its result.
async fn failed_preview(run: &mut OperationRun, result: OperationResult) -> OperationResult {
    for diagnostic in &result.diagnostics {
        run.events.diagnostic(diagnostic.clone());
    }
    run.session.finish(false, &run.stack.engine.runtime).await;
    run.events.end();
    OperationResult {
        is_preview: run.options.dry_run,
        ..result
    }
}

/// Returns the listed moves, each as it is suggested, or as one that is possible.
fn chosen(listed: &[AcceptedMove], preview: &OperationResult) -> Result<Vec<SuggestedMove>> {
    let Changes { deleted, created, .. } = changes_of(&preview.steps);
    let by_urn = |states: Vec<&'_ ResourceState>| -> FxHashMap<Urn, ResourceState> {
        let states = states.into_iter().map(|state| (state.urn.clone(), state.clone()));
        states.collect()
    };
    let (deleted, created) = (by_urn(deleted), by_urn(created));
    let (mut olds, mut news) = (FxHashMap::default(), FxHashMap::default());
    let mut moves = Vec::with_capacity(listed.len());
    let parents: FxHashMap<&Urn, &Urn> = listed.iter().map(|it| (&it.new_urn, &it.old_urn)).collect();
    for AcceptedMove { old_urn, new_urn, .. } in listed {
        let refused = |why: &str| Err(refusal(old_urn, new_urn, why));
        let (Some(old), Some(new)) = (deleted.get(old_urn), created.get(new_urn)) else {
            return refused(match deleted.contains_key(old_urn) {
                true => "the update would not create the new one",
                false => "the update would not delete the old one",
            });
        };
        if !same_kind(old, new) {
            return refused("the two are of different packages or kinds");
        }
        if olds.insert(old_urn, ()).is_some() || news.insert(new_urn, ()).is_some() {
            return refused("another move in the list has one of the two");
        }
        let suggested = preview.suggested_moves.iter();
        let mut suggested = suggested.filter(|it| it.old_urn == *old_urn && it.new_urn == *new_urn);
        moves.push(match suggested.next() {
            Some(suggestion) => suggestion.clone(),
            None => {
                let former = new
                    .parent
                    .as_ref()
                    .and_then(|parent| parents.get(parent).copied());
                let follows_parent = former.is_some() && former == old.parent.as_ref();
                described(old, new, follows_parent, preview.language)
            }
        });
    }
    // A listed move takes precedence over one that follows another.
    for accepted in &mut moves {
        accepted
            .following
            .retain(|it| !olds.contains_key(&it.old_urn) && !news.contains_key(&it.new_urn));
    }
    Ok(moves)
}

fn refusal(old: &Urn, new: &Urn, why: &str) -> Error {
    let text = format!("the move of `{old}` to `{new}` does not fit: {why}");
    Error::invalid(text)
        .with_urn(old.clone())
        .with_hint("preview the stack again: its result lists the moves that fit now")
}

/// Refuses moves that the state does not allow any more: it may have changed since the preview.
pub(super) fn check_moves(run: &OperationRun, snapshot: &Snapshot) -> Result<()> {
    if run.moves.moves().is_empty() {
        return Ok(());
    }
    let live = snapshot.resources.iter().filter(|state| !state.delete);
    let live: FxHashMap<&Urn, ()> = live.map(|state| (&state.urn, ())).collect();
    for (new, old) in run.moves.pairs() {
        if !live.contains_key(old) {
            return Err(refusal(old, new, "the state has no such record any more"));
        }
        if live.contains_key(new) {
            return Err(refusal(old, new, "the state has a record of the new one by now"));
        }
    }
    Ok(())
}
