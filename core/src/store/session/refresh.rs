//! Refreshing the checkpoint while an operation runs: another program that reads it misses seconds of the work, not all.

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
};

/// A refresh that took this long is followed by a pause of as many times that: refreshing takes 5 % of the time at most.
const PAUSE: u32 = 20;

/// How far the refreshes of an operation have got.
#[derive(Default)]
pub(super) struct Progress {
    /// Whether the checkpoint was or may have been replaced.
    tried: AtomicBool,
    /// The number of the first entry that the last refreshed checkpoint does not hold.
    sequence: AtomicU64,
}

/// A checkpoint that has been composed and not been written.
pub(super) struct Draft {
    bytes: Bytes,
    rebase: Rebase,
}

/// Refreshes that go on in the background until they are stopped or dropped.
pub(crate) struct Refreshing {
    stop: DropGuard,
    task: Task<()>,
}

impl Refreshing {
    /// Stops and waits for a write that is under way.
    pub(crate) async fn stop(self) {
        drop(self.stop);
        if let Err(error) = self.task.await {
            tracing::warn!(%error, "the refresh of the checkpoint ended");
        }
    }
}

impl StackSession {
    /// Refreshes the checkpoint from `journal`, for the first time after `interval`, and then no sooner than that and
    /// 20 times what the last refresh took.
    ///
    /// A refresh that fails is tried again later and is no error of the operation. Nothing is written as long as nothing
    /// has changed.
    #[must_use]
    pub(crate) fn refresh_in_background(
        self: &Arc<Self>,
        journal: Journal,
        interval: Duration,
    ) -> Refreshing {
        let stop = CancellationToken::new();
        let (session, stopped) = (Arc::clone(self), stop.clone());
        let task = self.storage.runtime().spawner.spawn(async move {
            session.refresh_repeatedly(&journal, interval, &stopped).await;
        });
        let stop = stop.drop_guard();
        Refreshing { stop, task }
    }

    async fn refresh_repeatedly(&self, journal: &Journal, interval: Duration, stop: &CancellationToken) {
        let clock = &self.storage.runtime().clock;
        let mut pause = interval;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = clock.wait(pause) => {}
            }
            let began = clock.elapsed();
            let drafted = tokio::select! {
                () = stop.cancelled() => return,
                drafted = self.draft(journal) => drafted,
            };
            let refreshed = match drafted {
                Ok(Some(draft)) => self.install(draft).await,
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            pause = interval.max(clock.elapsed().saturating_sub(began) * PAUSE);
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

    /// Tells whether the checkpoint may hold part of the operation's work.
    #[must_use]
    pub(crate) fn has_refreshed(&self) -> bool {
        self.refreshed.tried.load(Ordering::Acquire)
    }

    /// Makes the checkpoint hold what `journal` has so far. The commit at the end replaces it.
    ///
    /// # Errors
    /// As for [`Self::commit`]. Checkpoint and journal tell the state all the same.
    #[cfg(test)]
    pub(crate) async fn refresh(&self, journal: &Journal) -> Result<()> {
        match self.draft(journal).await? {
            Some(draft) => self.install(draft).await,
            None => Ok(()),
        }
    }

    /// Composes a checkpoint; `None` when it would hold nothing that the present one does not.
    async fn draft(&self, journal: &Journal) -> Result<Option<Draft>> {
        let known = self.refreshed.sequence.load(Ordering::Acquire);
        let Some((ledger, sequence)) = journal.freeze(known) else {
            return Ok(None);
        };
        if !self.has_refreshed() && ledger.changes() != Changes::Some {
            return Ok(None);
        }
        let runtime = self.storage.runtime();
        let now = runtime.clock.now();
        let compose = move || {
            let (mut snapshot, rebase) = ledger.compose_base(sequence)?;
            snapshot.manifest.time = Some(now);
            WRITER.clone_into(&mut snapshot.manifest.version);
            Ok((snapshot, rebase))
        };
        let stack = self.storage.name().qualified();
        let (bytes, checkpoint, rebase) = write_beside(stack, compose, &runtime.spawner).await?;
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

    /// Announces a checkpoint in the journal, and puts it in the place of the present one.
    async fn install(&self, draft: Draft) -> Result<()> {
        let mut head = self.head.lock().await;
        if !self.journal.rebase(&draft.rebase).await? {
            return Ok(());
        }
        self.refreshed.tried.store(true, Ordering::Release);
        let Rebase {
            checkpoint, sequence, ..
        } = draft.rebase;
        self.storage.replace(&mut head, draft.bytes, checkpoint).await?;
        self.refreshed.sequence.store(sequence, Ordering::Release);
        Ok(())
    }
}
