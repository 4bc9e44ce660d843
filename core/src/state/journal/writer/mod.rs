//! The writer: entries are numbered and applied to the replay at once, and become durable in groups.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};

use tokio::sync::Notify;

use crate::{
    error::{Error, Result},
    runtime::{Runtime, Task},
    state::{JournalEntry, JournalRecord, JournalReplay, OperationId, StateId, journal::JournalSink},
    telemetry::Scope,
};

/// The journal of one operation. Clones share it; dropping the last one ends its writer.
#[derive(Clone)]
pub struct Journal(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
    writer: Mutex<Option<Task<()>>>,
    next_state: AtomicU64,
    next_operation: AtomicU64,
    wants_elided_writes: bool,
}

struct Shared {
    state: Mutex<State>,
    /// Notifies the writer that the queue is no longer empty, or that the journal is closed.
    wake: Notify,
}

struct State {
    replay: Option<JournalReplay>,
    next_sequence: u64,
    /// The groups to be written, in order; an append adds to the last one.
    queue: VecDeque<Group>,
    failure: Option<Error>,
    closed: bool,
}

impl State {
    /// Removes the begins among entries that did not become durable.
    fn forget_begun(&mut self, entries: &[Arc<JournalEntry>]) {
        let Some(replay) = &mut self.replay else {
            return;
        };
        for entry in entries {
            if matches!(entry.record, JournalRecord::Begin { .. }) {
                replay.forget(entry.operation);
            }
        }
    }
}

/// Entries that are written together, and their common result.
#[derive(Default)]
struct Group {
    entries: Vec<Arc<JournalEntry>>,
    batch: Arc<Batch>,
}

/// The largest group, in entries. It bounds the encoded text to a few megabytes, and lets the steps of one group
/// continue while the next becomes durable.
const MAX_GROUP_LEN: usize = 2048;

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal {
    /// Starts the journal of an operation on the state of `replay`.
    #[must_use]
    pub(crate) fn start(replay: JournalReplay, sink: Arc<dyn JournalSink>, runtime: &Runtime) -> Self {
        let wants_elided_writes = sink.wants_elided_writes();
        let next_state = AtomicU64::new(replay.next_state_id().0);
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                replay: Some(replay),
                next_sequence: 0,
                queue: VecDeque::new(),
                failure: None,
                closed: false,
            }),
            wake: Notify::new(),
        });
        let writer = runtime
            .spawner
            .spawn(Scope::current().within(write(Arc::clone(&shared), sink)));
        Self(Arc::new(Handle {
            shared,
            writer: Mutex::new(Some(writer)),
            next_state,
            next_operation: AtomicU64::new(1),
            wants_elided_writes,
        }))
    }

    /// Returns a new record identity.
    #[must_use]
    pub fn next_state_id(&self) -> StateId {
        StateId(self.0.next_state.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns a new step identity.
    #[must_use]
    pub fn next_operation_id(&self) -> OperationId {
        OperationId(self.0.next_operation.fetch_add(1, Ordering::Relaxed))
    }

    /// Numbers an entry and applies it to the replay, in the order of calls. The returned future resolves when it is
    /// durable.
    ///
    /// The entry is written even if the future is dropped. After a failed write every append fails with that write's
    /// error, but the replay still applies the entries, for a last attempt to save the state. Begins are not applied
    /// then: after a failed begin the provider is not called.
    pub(crate) fn append(&self, operation: OperationId, record: JournalRecord) -> Appended {
        let mut guard = self.0.shared.lock();
        let state = &mut *guard;
        let Some(replay) = &mut state.replay else {
            return Appended::resolved(Err(Error::internal("the journal is closed")));
        };
        let entry = JournalEntry {
            sequence: state.next_sequence,
            operation,
            record,
        };
        let begins = matches!(entry.record, JournalRecord::Begin { .. });
        if let Some(failure) = state.failure.as_ref().filter(|_| begins) {
            return Appended::resolved(Err(failure.clone()));
        }
        if let Err(error) = replay.apply(&entry) {
            return Appended::resolved(Err(error));
        }
        state.next_sequence += 1;
        if let Some(failure) = &state.failure {
            return Appended::resolved(Err(failure.clone()));
        }
        if entry.record.elides_write() && !self.0.wants_elided_writes {
            return Appended::resolved(Ok(()));
        }
        let is_first = state.queue.is_empty();
        if state
            .queue
            .back()
            .is_none_or(|last| last.entries.len() >= MAX_GROUP_LEN)
        {
            state.queue.push_back(Group::default());
        }
        let Some(group) = state.queue.back_mut() else {
            return Appended::resolved(Err(Error::internal("the journal has no queue")));
        };
        group.entries.push(Arc::new(entry));
        let batch = Arc::clone(&group.batch);
        drop(guard);
        if is_first {
            self.0.shared.wake.notify_one();
        }
        Appended(Progress::Waiting { batch, slot: None })
    }

    /// Calls `look` with the replay. `look` must be short, as appends wait for it. `None` when the journal is finished.
    pub fn with_replay<T>(&self, look: impl FnOnce(&JournalReplay) -> T) -> Option<T> {
        self.0.shared.lock().replay.as_ref().map(look)
    }

    /// Returns a copy of the replay with the number of the next entry; `None` when that is `known`, when the journal is
    /// finished, and when a write has failed. Appends wait for the copy only.
    #[must_use]
    pub fn freeze(&self, known: u64) -> Option<(JournalReplay, u64)> {
        let state = self.0.shared.lock();
        let replay = state
            .replay
            .as_ref()
            .filter(|_| state.failure.is_none() && state.next_sequence != known)?;
        Some((replay.clone(), state.next_sequence))
    }

    /// Waits until everything is durable and returns the replay.
    ///
    /// # Errors
    /// The error of the first failed write.
    ///
    /// # Cancel safety
    /// That of [`Self::close`].
    pub async fn finish(&self) -> Result<JournalReplay> {
        let (replay, result) = self.close().await?;
        result.map(|()| replay)
    }

    /// Waits until everything is durable and returns the replay together with the result of the writes.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Internal`] when the journal was finished before.
    ///
    /// # Cancel safety
    /// Entries that were appended are written also when the future is dropped; the replay is lost then.
    pub async fn close(&self) -> Result<(JournalReplay, Result<()>)> {
        let writer = {
            self.0.shared.lock().closed = true;
            self.0
                .writer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take()
        };
        self.0.shared.wake.notify_one();
        let died = match writer {
            Some(writer) => writer.await,
            None => Ok(()),
        };
        let mut state = self.0.shared.lock();
        let Some(replay) = state.replay.take() else {
            return Err(Error::internal("the journal is closed"));
        };
        let result = died.and(state.failure.clone().map_or(Ok(()), Err));
        Ok((replay, result))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.wake.notify_one();
    }
}

/// Writes the queued groups one after another, until the journal is closed.
async fn write(shared: Arc<Shared>, sink: Arc<dyn JournalSink>) {
    loop {
        let next = {
            let mut state = shared.lock();
            let next = state.queue.pop_front();
            if next.is_none() && state.closed {
                return;
            }
            next.map(|group| (group, state.failure.clone()))
        };
        let Some((group, failure)) = next else {
            shared.wake.notified().await;
            continue;
        };
        let guard = Abandoned {
            batch: &group.batch,
            shared: &shared,
        };
        let result = match failure {
            Some(failure) => Err(failure),
            None => sink.append(&group.entries).await,
        };
        if let Err(error) = &result {
            let mut state = shared.lock();
            state.failure.get_or_insert_with(|| error.clone());
            state.forget_begun(&group.entries);
        }
        group.batch.resolve(result);
        drop(guard);
    }
}

/// Fails a batch on drop when its writer died (a panic in the sink, the end of the runtime), so that no task waits
/// forever.
struct Abandoned<'a> {
    batch: &'a Batch,
    shared: &'a Shared,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if self.batch.result.get().is_some() {
            return;
        }
        let error = Error::internal("the journal's writer died");
        let mut state = self.shared.lock();
        let failure = state.failure.get_or_insert(error).clone();
        let queued = std::mem::take(&mut state.queue);
        for group in &queued {
            state.forget_begun(&group.entries);
        }
        drop(state);
        self.batch.resolve(Err(failure.clone()));
        for group in queued {
            group.batch.resolve(Err(failure.clone()));
        }
    }
}

/// Entries that become durable together.
#[derive(Default)]
struct Batch {
    result: OnceLock<Result<()>>,
    wakers: Mutex<Vec<Waker>>,
}

impl Batch {
    fn resolve(&self, result: Result<()>) {
        // The first result counts.
        drop(self.result.set(result));
        let wakers = std::mem::take(&mut *self.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// Resolves when an entry is durable, or when its write has failed.
#[must_use = "the program may only see a result after it is durable"]
pub(crate) struct Appended(Progress);

enum Progress {
    Resolved(Result<()>),
    /// `slot` is the index of the waker.
    Waiting {
        batch: Arc<Batch>,
        slot: Option<usize>,
    },
}

impl Appended {
    const fn resolved(result: Result<()>) -> Self {
        Self(Progress::Resolved(result))
    }
}

impl Future for Appended {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (batch, slot) = match &mut self.0 {
            Progress::Resolved(result) => return Poll::Ready(result.clone()),
            Progress::Waiting { batch, slot } => (batch, slot),
        };
        if let Some(result) = batch.result.get() {
            return Poll::Ready(result.clone());
        }
        let mut wakers = batch.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        // The result is set before the wakers are taken: read under their lock it is final.
        if let Some(result) = batch.result.get() {
            return Poll::Ready(result.clone());
        }
        match *slot {
            Some(place) => wakers[place].clone_from(context.waker()),
            None => {
                *slot = Some(wakers.len());
                wakers.push(context.waker().clone());
            }
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
