//! Slots: how many steps work in providers at a time, without ever letting steps that merely wait starve the others.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::oneshot;

use crate::runtime::Runtime;

/// Limits the steps that work at the same time.
///
/// A provider's call may wait for something that only a later step brings about (a component's state resource waits
/// for its siblings). The engine cannot see the difference between such a call and a slow one, so the limit gives
/// way, slowly: when every slot is held, somebody queues and nothing has finished for a while, one call more is let
/// in, and the next such wait is twice as long. A finished call takes the extra slot back.
#[derive(Clone)]
pub(crate) struct Slots(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    runtime: Runtime,
    limit: usize,
}

#[derive(Default)]
struct State {
    held: usize,
    extra: usize,
    queue: VecDeque<oneshot::Sender<()>>,
    /// Counts every grant and every release, so that the watcher sees whether anything moved.
    movements: u64,
    watching: bool,
}

/// How long all slots may stand still before one more call is let in.
const PATIENCE: Duration = Duration::from_millis(500);

/// The longest wait between two extra calls.
const LONGEST_PATIENCE: Duration = Duration::from_secs(64);

/// A held slot; dropping it lets the next in.
pub(crate) struct Slot(Option<Slots>);

impl Slots {
    /// Creates `limit` slots; 0 and `i32::MAX` mean no limit.
    pub(crate) fn new(limit: usize, runtime: Runtime) -> Self {
        let limit = if limit == 0 || limit >= i32::MAX as usize {
            usize::MAX
        } else {
            limit
        };
        Self(Arc::new(Shared {
            state: Mutex::default(),
            runtime,
            limit,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a slot, in the order of asking.
    pub(crate) async fn acquire(&self) -> Slot {
        if self.0.limit == usize::MAX {
            return Slot(None);
        }
        let turn = {
            let mut state = self.state();
            if state.queue.is_empty() && state.held < self.0.limit + state.extra {
                state.held += 1;
                state.movements += 1;
                return Slot(Some(self.clone()));
            }
            let (sender, turn) = oneshot::channel();
            state.queue.push_back(sender);
            if !state.watching {
                state.watching = true;
                let slots = self.clone();
                drop(self.0.runtime.spawner.spawn(async move { slots.watch().await }));
            }
            turn
        };
        // The grant counts the slot as held before it wakes us; a waiter that went away gives it back in `admit`.
        let granted = GrantedTurn { slots: self, turn };
        granted.wait().await
    }

    /// Lets in as many as fit. Called with the state locked.
    fn admit(&self, state: &mut State) {
        while state.held < self.0.limit + state.extra {
            let Some(next) = state.queue.pop_front() else {
                break;
            };
            if next.send(()).is_ok() {
                state.held += 1;
                state.movements += 1;
            }
        }
    }

    fn release(&self) {
        let mut state = self.state();
        state.held = state.held.saturating_sub(1);
        state.extra = state.extra.saturating_sub(1);
        state.movements += 1;
        self.admit(&mut state);
    }

    /// Runs while somebody queues; lets one more in whenever nothing moved for the current patience.
    async fn watch(&self) {
        let mut patience = PATIENCE;
        let mut seen = self.state().movements;
        loop {
            self.0.runtime.clock.wait(patience).await;
            let mut state = self.state();
            if state.queue.is_empty() {
                state.watching = false;
                return;
            }
            if state.movements == seen {
                state.extra += 1;
                self.admit(&mut state);
                patience = (patience * 2).min(LONGEST_PATIENCE);
            } else {
                patience = PATIENCE;
            }
            seen = state.movements;
        }
    }
}

/// A place in the queue; gives a slot back that was granted after its owner went away.
struct GrantedTurn<'a> {
    slots: &'a Slots,
    turn: oneshot::Receiver<()>,
}

impl GrantedTurn<'_> {
    async fn wait(mut self) -> Slot {
        match (&mut self.turn).await {
            Ok(()) => Slot(Some(self.slots.clone())),
            Err(_) => Slot(None),
        }
    }
}

impl Drop for GrantedTurn<'_> {
    fn drop(&mut self) {
        self.turn.close();
        if self.turn.try_recv().is_ok() {
            self.slots.release();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(slots) = self.0.take() {
            slots.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(limit: usize) -> Slots {
        Slots::new(limit, Runtime::system(tokio::runtime::Handle::current()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_passes_to_the_first_in_the_queue() {
        let slots = slots(1);
        let first = slots.acquire().await;
        let second = tokio::spawn({
            let slots = slots.clone();
            async move { slots.acquire().await }
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        drop(first);
        drop(second.await.unwrap());
        drop(slots.acquire().await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_for_a_later_one_does_not_starve_it() {
        let slots = slots(1);
        let waiting = slots.acquire().await;
        let later = slots.acquire().await;
        drop(later);
        drop(waiting);
        assert_eq!(slots.state().held, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_that_gives_up_leaves_no_slot_behind() {
        let slots = slots(1);
        let first = slots.acquire().await;
        let second = tokio::spawn({
            let slots = slots.clone();
            async move { slots.acquire().await }
        });
        tokio::task::yield_now().await;
        second.abort();
        assert!(second.await.is_err());
        drop(first);
        drop(slots.acquire().await);
        assert_eq!(slots.state().held, 0);
    }
}
