//! Runs with an id: one that has ended before is not repeated, and one whose set is cancelled ends.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{OperationRun, outcome::noun, run_state::RunState};
use crate::{
    diagnostic::{Diagnostic, Severity},
    error::{Error, ErrorKind, Result},
    event::{OperationOutcome, Summary},
    runtime::Task,
    step::StepOp,
    store::{HistoryEntry, HistoryPage, StackName, requested_cancellation},
};

/// The member of a history record's environment that has the id of the run. The reference engine keeps it, without a meaning.
const RUN_ID: &str = "stackwright.runId";

/// The member that names the unfinished stacks that the program has tried to read, with spaces between them.
const UNFINISHED_READS: &str = "stackwright.unfinishedReads";

/// How many runs may have ended after one that is still recognised.
const MAX_LATER_RUNS: usize = 7;

/// Ends a task when it is dropped.
pub(super) struct Watch(Option<Task<()>>);

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// Cancels the operation as soon as the mark of its run is in the store, and a second time when that is requested twice.
pub(super) fn watch_mark(run: &OperationRun) -> Watch {
    let Some(id) = run.options.run_id.clone() else {
        return Watch(None);
    };
    let store = Arc::clone(run.stack.storage.store());
    let (control, clock) = (run.control.clone(), Arc::clone(&run.stack.engine.runtime.clock));
    let interval = store.cancellation_interval();
    let watching = async move {
        loop {
            clock.wait(interval).await;
            let requests = match requested_cancellation(&store, &id).await {
                Ok(requests) => requests,
                Err(error) => {
                    tracing::debug!(%error, "the mark of a run could not be read");
                    continue;
                }
            };
            if requests > 0 && !control.is_cancelled() || requests > 1 && !control.is_terminated() {
                control.cancel();
            }
        }
    };
    Watch(Some(
        run.stack.engine.runtime.spawner.spawn(run.scope.within(watching)),
    ))
}

/// Refuses an operation whose run was cancelled before it began.
///
/// # Errors
/// [`ErrorKind::Cancelled`], and those of the store.
pub(super) async fn refuse_cancelled(run: &OperationRun) -> Result<()> {
    let Some(id) = &run.options.run_id else {
        return Ok(());
    };
    match requested_cancellation(run.stack.storage.store(), id).await? {
        0 => Ok(()),
        _ => {
            let text = format!("the {} did not begin: its run was cancelled", noun(run));
            Err(Error::new(ErrorKind::Cancelled, text))
        }
    }
}

/// Returns the environment of the history record, with the id of the run.
pub(super) fn environment_of(run: &OperationRun) -> BTreeMap<String, String> {
    let mut environment = run.stack.environment.clone();
    if let Some(id) = &run.options.run_id {
        environment.insert(RUN_ID.to_owned(), id.clone());
        let reads = run.set.unfinished_reads();
        if !reads.is_empty() {
            let names: Vec<String> = reads.iter().map(ToString::to_string).collect();
            environment.insert(UNFINISHED_READS.to_owned(), names.join(" "));
        }
    }
    environment
}

/// Returns the record of the same run, where it is among the newest of the history: a call that an executor has kept may begin after
/// later runs have ended.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] when the run with this id was another kind of operation; those of the store; [`ErrorKind::State`] for a
/// record that cannot be read.
pub(super) async fn recorded_end(run: &OperationRun) -> Result<Option<HistoryEntry>> {
    let Some(id) = run.options.run_id.as_ref().filter(|_| !run.stack.is_supplied) else {
        return Ok(None);
    };
    // Most often the newest one is enough, and each costs a request.
    for page in [(0, 1), (1, MAX_LATER_RUNS)] {
        let (skip, limit) = page;
        let limit = Some(limit);
        let records = run
            .stack
            .storage
            .history_page(HistoryPage { skip, limit })
            .await?;
        let is_last = records.len() < page.1;
        let own = records
            .into_iter()
            .find(|entry| entry.environment.get(RUN_ID) == Some(id));
        match own {
            Some(entry) if entry.kind == run.kind.history_name() => return Ok(Some(entry)),
            Some(entry) => {
                let text = format!(
                    "the run '{id}' was another operation: its history record states '{}'",
                    entry.kind
                );
                return Err(Error::invalid(text).with_hint("each operation has a run id of its own"));
            }
            None if is_last => break,
            None => {}
        }
    }
    Ok(None)
}

/// Returns the recorded end of the same run as the result of the operation.
///
/// # Errors
/// [`ErrorKind::Failed`] when it had failed, and those of the store.
pub(super) async fn return_recorded(
    run: &OperationRun,
    state: &mut RunState,
    end: HistoryEntry,
) -> Result<()> {
    state.is_recorded = true;
    state.snapshot = Arc::new(run.load().await?.snapshot);
    state.knows_state = true;
    let reads = end.environment.get(UNFINISHED_READS).map(String::as_str);
    let reads = reads.unwrap_or_default().split(' ');
    state.recorded_reads = reads.filter_map(|name| StackName::parse(name).ok()).collect();
    // This operation changes nothing.
    state.outputs_before = Some(state.snapshot.stack_outputs());
    let id = run.options.run_id.as_deref().unwrap_or_default();
    let text = format!("the run '{id}' has ended before: its recorded result is returned");
    run.events.diagnostic(Diagnostic::new(Severity::Info, text));
    let seconds = end.end_time.saturating_sub(end.start_time);
    state.summary = Some(Summary {
        maybe_corrupt: false,
        duration_seconds: Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).as_secs(),
        resource_changes: counts_of(&end.resource_changes.unwrap_or_default()),
        policy_packs: BTreeMap::new(),
        local_packs: Vec::new(),
        is_preview: false,
        result: OperationOutcome::Succeeded,
    });
    if end.result == "succeeded" {
        return Ok(());
    }
    let text = format!(
        "the run '{id}' has failed before: its history record states '{}'",
        end.result
    );
    Err(Error::new(ErrorKind::Failed, text)
        .with_hint("the error itself is not recorded; another run id runs the operation again"))
}

/// Returns recorded counts by the names of operations. Those of others are left out.
fn counts_of(recorded: &BTreeMap<String, u64>) -> BTreeMap<&'static str, u64> {
    let known = StepOp::ALL.iter().map(|op| op.name());
    known
        .filter_map(|name| Some((name, *recorded.get(name)?)))
        .collect()
}
