//! Refreshing the checkpoint while an operation runs, so that other programs read a state that is seconds old at most.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{StackSession, WRITER};
use crate::{
    error::{ErrorKind, Result},
    runtime::Task,
    state::{Changes, Journal, Rebase, deployment::write_beside},
    telemetry::Scope,
};

/// The pause after a refresh, as a multiple of its duration: refreshing takes 5 % of the time at most.
const PAUSE_FACTOR: u32 = 20;

/// The progress of an operation's refreshes.
#[derive(Default)]
pub(super) struct Progress {
    /// Whether the checkpoint may have been replaced.
    tried: AtomicBool,
    /// The number of the first entry that the last refreshed checkpoint does not contain.
    sequence: AtomicU64,
}

/// A checkpoint that has been built, but not written.
pub(super) struct Draft {
    bytes: Bytes,
    rebase: Rebase,
}

/// Refreshes in the background, until they are stopped or dropped.
pub(crate) struct Refreshing {
    stop: DropGuard,
    task: Task<()>,
}

impl Refreshing {
    /// Stops, and waits for a write in progress.
    pub(crate) async fn stop(self) {
        drop(self.stop);
        if let Err(error) = self.task.await {
            tracing::warn!(%error, "the refresh of the checkpoint ended");
        }
    }
}

impl StackSession {
    /// Refreshes the checkpoint from `journal`: for the first time after `interval`, then after the longer one of
    /// `interval` and 20 times the duration of the last refresh. A store may have a least interval of its own.
    ///
    /// A failed refresh is repeated later and is no error of the operation. Nothing is written while nothing has
    /// changed.
    #[must_use]
    pub(crate) fn refresh_in_background(
        self: &Arc<Self>,
        journal: Journal,
        interval: Duration,
    ) -> Refreshing {
        let stop = CancellationToken::new();
        let (session, stopped) = (Arc::clone(self), stop.clone());
        let refreshing = async move {
            session.refresh_repeatedly(&journal, interval, &stopped).await;
        };
        let spawner = &self.storage.runtime().spawner;
        let task = spawner.spawn(Scope::current().within(refreshing));
        let stop = stop.drop_guard();
        Refreshing { stop, task }
    }

    async fn refresh_repeatedly(&self, journal: &Journal, interval: Duration, stop: &CancellationToken) {
        let clock = &self.storage.runtime().clock;
        let interval = interval.max(self.storage.store().rewrite_interval());
        let mut pause = interval;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = clock.wait(pause) => {}
            }
            let began = clock.elapsed();
            let drafted = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                drafted = self.draft(journal) => drafted,
            };
            let refreshed = match drafted {
                Ok(Some(draft)) => self.install(draft).await,
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            pause = interval.max(clock.elapsed().saturating_sub(began) * PAUSE_FACTOR);
            match refreshed {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    // The commit at the end reports it.
                    tracing::warn!(%error, "the checkpoint is not refreshed any more");
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "the checkpoint could not be refreshed");
                    pause *= 2;
                }
            }
        }
    }

    /// Returns whether the checkpoint may contain entries of the operation.
    #[must_use]
    pub(crate) fn has_refreshed(&self) -> bool {
        self.refreshed.tried.load(Ordering::Acquire)
    }

    /// Writes a checkpoint with the entries of `journal` so far. The commit at the end replaces it.
    ///
    /// # Errors
    /// Those of [`Self::commit`]. Checkpoint and journal still define the state.
    #[cfg(test)]
    pub(crate) async fn refresh(&self, journal: &Journal) -> Result<()> {
        match self.draft(journal).await? {
            Some(draft) => self.install(draft).await,
            None => Ok(()),
        }
    }

    /// Builds a checkpoint; `None` when the present one contains all entries.
    async fn draft(&self, journal: &Journal) -> Result<Option<Draft>> {
        let known = self.refreshed.sequence.load(Ordering::Acquire);
        let Some((replay, sequence)) = journal.freeze(known) else {
            return Ok(None);
        };
        if !self.has_refreshed() && replay.changes() != Changes::Some {
            return Ok(None);
        }
        let runtime = self.storage.runtime();
        let now = runtime.clock.now();
        let build = move || {
            let (mut snapshot, rebase) = replay.to_rebase(sequence)?;
            snapshot.manifest.time = Some(now);
            WRITER.clone_into(&mut snapshot.manifest.version);
            Ok((snapshot, rebase))
        };
        let stack = self.storage.name().qualified();
        let (bytes, checkpoint, rebase) = write_beside(stack, build, &runtime.spawner).await?;
        let rebase = Rebase {
            checkpoint,
            written: self.refreshed.sequence.load(Ordering::Acquire),
            ..rebase
        };
        Ok(Some(Draft {
            bytes: bytes.into(),
            rebase,
        }))
    }

    /// Announces a checkpoint in the journal, and replaces the present one.
    async fn install(&self, draft: Draft) -> Result<()> {
        let mut head = self.head.lock().await;
        if !self.journal.rebase(&draft.rebase).await? {
            return Ok(());
        }
        self.refreshed.tried.store(true, Ordering::Release);
        let checkpoint = draft.rebase.checkpoint.clone();
        head.replace(&self.storage, draft.bytes, checkpoint).await?;
        let sequence = draft.rebase.sequence;
        self.refreshed.sequence.store(sequence, Ordering::Release);
        match self.journal.shorten(&draft.rebase).await {
            Err(error) if error.kind() != ErrorKind::Conflict => {
                tracing::warn!(%error, "the journal could not be shortened; the next refresh tries it again");
                Ok(())
            }
            shortened => shortened,
        }
    }
}
