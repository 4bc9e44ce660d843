//! The writer: entries get their number and reach the ledger at once, and become durable in groups.

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
    state::{JournalEntry, JournalRecord, Ledger, OperationId, StateId, journal::JournalSink},
};

/// The journal of one operation. Clones share it; the last one that is dropped ends its writer.
#[derive(Clone)]
pub struct Journal(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
    writer: Mutex<Option<Task<()>>>,
    next_state: AtomicU64,
    next_operation: AtomicU64,
    wants_elided: bool,
}

struct Shared {
    state: Mutex<State>,
    /// Tells the writer that the queue is no longer empty, or that no more will come.
    wake: Notify,
}

struct State {
    ledger: Option<Ledger>,
    next_sequence: u64,
    /// What waits to be written, in order; an append adds to the last group.
    queue: VecDeque<Group>,
    failure: Option<Error>,
    closed: bool,
}

impl State {
    /// Takes back the begins among entries that did not become durable.
    fn forget_begun(&mut self, entries: &[Arc<JournalEntry>]) {
        let Some(ledger) = &mut self.ledger else {
            return;
        };
        for entry in entries {
            if matches!(entry.record, JournalRecord::Begin { .. }) {
                ledger.forget(entry.operation);
            }
        }
    }
}

/// Entries that are written together, and what resolves when they are durable.
#[derive(Default)]
struct Group {
    entries: Vec<Arc<JournalEntry>>,
    batch: Arc<Batch>,
}

/// As many entries are written together at most: while one group becomes durable, those of the group before go on, and
/// no text of more than some megabytes comes to be.
const LARGEST_GROUP: usize = 2048;

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal {
    /// Starts the journal of an operation over `ledger`.
    #[must_use]
    pub(crate) fn start(ledger: Ledger, sink: Arc<dyn JournalSink>, runtime: &Runtime) -> Self {
        let wants_elided = sink.wants_elided();
        let next_state = AtomicU64::new(ledger.next_state_id().0);
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                ledger: Some(ledger),
                next_sequence: 0,
                queue: VecDeque::new(),
                failure: None,
                closed: false,
            }),
            wake: Notify::new(),
        });
        let writer = runtime.spawner.spawn(write(Arc::clone(&shared), sink));
        Self(Arc::new(Handle {
            shared,
            writer: Mutex::new(Some(writer)),
            next_state,
            next_operation: AtomicU64::new(1),
            wants_elided,
        }))
    }

    /// Returns an identity that no record has had.
    #[must_use]
    pub fn next_state_id(&self) -> StateId {
        StateId(self.0.next_state.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the identity of another step.
    #[must_use]
    pub fn next_operation_id(&self) -> OperationId {
        OperationId(self.0.next_operation.fetch_add(1, Ordering::Relaxed))
    }

    /// Numbers an entry and applies it to the ledger, in the order of calls; the returned future tells when it is durable.
    ///
    /// The entry is on its way even if the future is dropped. After a failed write the ledger still follows what
    /// happens, so that nothing is lost for a last attempt to save it, but every append fails with that write's error.
    /// Only begins do not count then: who hears that a begin failed does not go on to the provider.
    pub(crate) fn append(&self, operation: OperationId, record: JournalRecord) -> Appended {
        let mut guard = self.0.shared.lock();
        let state = &mut *guard;
        let Some(ledger) = &mut state.ledger else {
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
        if let Err(error) = ledger.apply(&entry) {
            return Appended::resolved(Err(error));
        }
        state.next_sequence += 1;
        if let Some(failure) = &state.failure {
            return Appended::resolved(Err(failure.clone()));
        }
        if entry.record.is_elided() && !self.0.wants_elided {
            return Appended::resolved(Ok(()));
        }
        let is_first = state.queue.is_empty();
        if state
            .queue
            .back()
            .is_none_or(|last| last.entries.len() >= LARGEST_GROUP)
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

    /// Looks at the ledger; `look` must be short, as appends wait for it. `None` when the journal is finished.
    pub fn with_ledger<T>(&self, look: impl FnOnce(&Ledger) -> T) -> Option<T> {
        self.0.shared.lock().ledger.as_ref().map(look)
    }

    /// Returns a copy of the ledger with the number of the next entry; `None` when that is `known`, when the journal is
    /// finished, and when a write has failed. Appends wait for the copy only.
    #[must_use]
    pub fn freeze(&self, known: u64) -> Option<(Ledger, u64)> {
        let state = self.0.shared.lock();
        let ledger = state
            .ledger
            .as_ref()
            .filter(|_| state.failure.is_none() && state.next_sequence != known)?;
        Some((ledger.clone(), state.next_sequence))
    }

    /// Waits until everything is durable and returns the ledger.
    ///
    /// # Errors
    /// That of the first failed write.
    pub async fn finish(&self) -> Result<Ledger> {
        let (ledger, result) = self.close().await?;
        result.map(|()| ledger)
    }

    /// Waits until everything is durable and returns the ledger together with how that went.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Internal`] when the journal was finished before.
    pub async fn close(&self) -> Result<(Ledger, Result<()>)> {
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
        let Some(ledger) = state.ledger.take() else {
            return Err(Error::internal("the journal is closed"));
        };
        let result = died.and(state.failure.clone().map_or(Ok(()), Err));
        Ok((ledger, result))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.wake.notify_one();
    }
}

/// Writes group after group of what has queued up, until nothing more will come.
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

/// Resolves a batch whose writer dies in the middle (a panic in the sink, the end of the runtime), so that nobody waits forever.
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
        // The first result stands.
        drop(self.result.set(result));
        let wakers = std::mem::take(&mut *self.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// Resolves when an entry is durable, or has failed to become so.
#[must_use = "the program may only see a result after it is durable"]
pub(crate) struct Appended(Progress);

enum Progress {
    Resolved(Result<()>),
    /// `slot` is the place of the waker.
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
        // The result is set before the wakers are taken: under their lock this look is the last word.
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
