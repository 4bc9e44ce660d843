//! Moving resources to another stack: both states change, that of the destination first. A note in both completes an interrupted
//! move.

use futures::future::{join, try_join};

use super::{
    StackContext,
    change_secrets::unfinished,
    edit::{announce, take_back, warn},
};
use crate::{
    error::{Error, ErrorKind, Result},
    state::{
        Snapshot,
        edit::{Move, MoveReport, Moved, transfer},
        integrity,
    },
    store::{
        BothLocks, LoadedStack, Moving, Rekeying, Settled, StackSession, StackStorage, is_in_memory,
        is_one_store, refuse_renaming,
    },
};

/// The name of the operation in locks and journals.
const NAME: &str = "move";

/// Moves resources from `source` to `destination`, which may belong to another engine. A dry run writes nothing.
///
/// # Errors
/// Those of the edit; [`ErrorKind::InvalidInput`] for a stack that is its own destination; [`ErrorKind::Conflict`] while one of
/// both is locked elsewhere; [`ErrorKind::State`] for a state that is invalid, or that the move would make so.
pub(crate) async fn move_resources(
    source: &StackContext,
    destination: &StackContext,
    edit: &Move,
    dry_run: bool,
) -> Result<MoveReport> {
    let (from, to) = (&source.storage, &destination.storage);
    if from.name() == to.name() && is_one_store(from, to) {
        let text = format!("the stack '{}' is not moved to itself", from.name());
        return Err(Error::invalid(text).with_hint("rename() gives a resource another name or parent"));
    }
    if dry_run {
        for side in [from, to] {
            // The real move finishes or forgets an interrupted one between both stacks.
            match Moving::of(side).await? {
                Some(moving) if !moving.is_between(from, to) && !moving.is_between(to, from) => {
                    return Err(moving.unfinished());
                }
                _ => refuse_unfinished(side).await?,
            }
        }
        let loaded = from.load_unlocked(&*source.secrets).await?;
        let arrival = match to.load_unlocked(&*destination.secrets).await {
            Err(error) if destination.is_created_by_writes() && error.kind() == ErrorKind::NotFound => None,
            arrival => Some(arrival?),
        };
        let empty = Snapshot::default();
        let present = arrival.as_ref().map_or(&empty, |arrival| &arrival.snapshot);
        let moved = moved(to, &loaded.snapshot, present, edit)?;
        let mut report = reported(moved.report, &loaded, arrival.as_ref());
        warn_of_memory(&mut report, from, to);
        (report.source.dry_run, report.destination.dry_run) = (true, true);
        return Ok(report);
    }
    let locks = BothLocks::take_unsettled(from, to, NAME).await?;
    let result = async {
        let finished = settle_locked(from, to).await?;
        let moved = move_locked(source, destination, edit).await;
        moved.map_err(|error| match finished {
            Some(finished) => error.with_hint(format!("an interrupted move {finished} was finished first")),
            None => error,
        })
    };
    let result = result.await;
    let released = locks.release().await;
    result.and_then(|report| released.map(|()| report))
}

/// Finishes or forgets an interrupted move between both stacks, and describes one that it finished.
async fn settle_locked(from: &StackStorage, to: &StackStorage) -> Result<Option<String>> {
    let mut finished = None;
    for side in [from, to] {
        let Some(moving) = Moving::of(side).await? else {
            continue;
        };
        let settled = match (moving.is_between(from, to), moving.is_between(to, from)) {
            (true, _) => moving.settle_locked(from, to).await?,
            (_, true) => moving.settle_locked(to, from).await?,
            _ => return Err(moving.unfinished()),
        };
        if settled == Settled::Done {
            finished = Some(moving.described());
        }
    }
    Ok(finished)
}

async fn move_locked(source: &StackContext, destination: &StackContext, edit: &Move) -> Result<MoveReport> {
    let (from, to) = (&source.storage, &destination.storage);
    for side in [from, to] {
        refuse_unfinished(side).await?;
    }
    let (loaded, arrival) = join(from.load(&*source.secrets), to.load(&*destination.secrets)).await;
    let loaded = loaded?;
    let arrival = match arrival {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // A move that is refused creates no stack.
            if destination.is_created_by_writes() {
                moved(to, &loaded.snapshot, &Snapshot::default(), edit)?;
            }
            destination.create_if_new().await?;
            to.load(&*destination.secrets).await?
        }
        arrival => arrival?,
    };
    let mut present = arrival.snapshot.clone();
    if present.secrets.is_none() {
        present.secrets = Some(destination.new_secrets(&*destination.secrets).await?);
    }
    let moved = moved(to, &loaded.snapshot, &present, edit)?;
    let mut report = reported(moved.report, &loaded, Some(&arrival));
    warn_of_memory(&mut report, from, to);
    let (mut left, mut arrived) = (moved.source, moved.destination);
    let mut current = loaded.snapshot.clone();
    // A journal that a crash left becomes the checkpoint first.
    let leaving = StackSession::begin(from, loaded, &mut current, NAME).await?;
    let arriving = StackSession::begin(to, arrival, &mut present, NAME).await?;
    warn(&mut report.source, leaving.notes());
    warn(&mut report.destination, arriving.notes());
    left.manifest.clone_from(&current.manifest);
    arrived.manifest.clone_from(&present.manifest);
    // All secrets are encrypted before the first write.
    let (arrived_checkpoint, left_checkpoint) = try_join(
        arriving.edited_checkpoint(&mut arrived),
        leaving.edited_checkpoint(&mut left),
    )
    .await?;
    let before = leaving.base_hash().await?;
    let moving = Moving::note(from, to, moved.records, before).await?;
    let mut announced = (false, false);
    let committed = async {
        // Nothing else can refuse the move than these and the writes.
        announce(destination, &arrived).await?;
        announced.0 = true;
        announce(source, &left).await?;
        announced.1 = true;
        arriving.commit_checkpoint(arrived_checkpoint).await?;
        leaving.commit_checkpoint(left_checkpoint).await
    };
    let Err(error) = committed.await else {
        let forgotten = moving.forget(from, to).await;
        return forgotten.map(|()| report).map_err(|error| {
            error.with_hint("the resources have moved; opening either stack removes the note of the move")
        });
    };
    match moving.settle_locked(from, to).await {
        Ok(Settled::Done) => Ok(report),
        Ok(Settled::Undone) => {
            let mut error = error;
            for (stack, former, is_announced) in [
                (destination, &present, announced.0),
                (source, &current, announced.1),
            ] {
                if is_announced {
                    error = take_back(stack, Some(former), Ok(true), error).await;
                }
            }
            Err(error)
        }
        Err(_) => Err(error.with_hint(format!(
            "opening '{}' or '{}' finishes the move, or forgets it where nothing has moved",
            from.name(),
            to.name()
        ))),
    }
}

/// Refuses a stack with an unfinished change of its secrets manager or its name.
async fn refuse_unfinished(side: &StackStorage) -> Result<()> {
    match Rekeying::of(side).await? {
        Some(_) => Err(unfinished(side)),
        None => refuse_renaming(side, None).await,
    }
}

/// Returns the states after the move, which are valid.
fn moved(to: &StackStorage, source: &Snapshot, destination: &Snapshot, edit: &Move) -> Result<Moved> {
    let name = to.name();
    let moved = transfer(source, destination, edit, (name.project(), name.stack()))?;
    for snapshot in [&moved.source, &moved.destination] {
        integrity::verify(snapshot).map_err(|error| {
            let text = format!("the move would leave an invalid state: {error}");
            let invalid = Error::new(ErrorKind::State, text);
            error.urn().cloned().into_iter().fold(invalid, Error::with_urn)
        })?;
    }
    Ok(moved)
}

/// Adds the warnings about the loaded states to a report.
fn reported(mut report: MoveReport, source: &LoadedStack, destination: Option<&LoadedStack>) -> MoveReport {
    warn(&mut report.source, &source.warnings);
    if let Some(destination) = destination {
        warn(&mut report.destination, &destination.warnings);
    }
    report
}

/// Warns of a destination whose state ends with the process.
fn warn_of_memory(report: &mut MoveReport, from: &StackStorage, to: &StackStorage) {
    if is_in_memory(to) && !is_one_store(from, to) {
        report.destination.warnings.push(format!(
            "the state of stack '{}' is in memory: the resources are in no other state, until the document of export_deployment() is kept",
            to.name()
        ));
    }
}

#[cfg(test)]
mod tests;
