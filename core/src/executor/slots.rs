//! Slots: how many steps work in providers at a time, without ever letting steps that merely wait starve the others.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::oneshot;

use crate::runtime::Runtime;

/// Limits the steps that work at the same time.
///
/// A provider's call may wait for something that only a later step brings about (a component's state resource waits
/// for its siblings). The engine cannot see the difference between such a call and a slow one, so the limit gives
/// way, slowly: when every slot is held, somebody queues and nothing has moved for a while, the oldest quarter of the
/// calls is taken to wait, and no longer counts. The next such while is twice as long, until a call that counts ends.
#[derive(Clone)]
pub(crate) struct Slots(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    runtime: Runtime,
    limit: usize,
}

#[derive(Default)]
struct State {
    /// Numbers of the slots that count, the oldest first; a slot whose holder is taken to wait is none of them.
    working: BTreeSet<u64>,
    next: u64,
    queue: VecDeque<oneshot::Sender<u64>>,
    /// Counts every grant and every release, so that the watcher sees whether anything moved.
    movements: u64,
    /// Counts the releases of slots that counted: proof that calls end by themselves.
    ended: u64,
    watching: bool,
}

/// How long all slots may stand still before the oldest calls are taken to wait for others.
const PATIENCE: Duration = Duration::from_millis(500);

/// The longest such while.
const LONGEST_PATIENCE: Duration = Duration::from_secs(64);

/// A held slot; dropping it lets the next in.
pub(crate) struct Slot(Option<(Slots, u64)>);

impl State {
    fn grant(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        self.movements += 1;
        self.working.insert(number);
        number
    }
}

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
            if state.queue.is_empty() && state.working.len() < self.0.limit {
                let number = state.grant();
                return Slot(Some((self.clone(), number)));
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
        // The grant counts before it wakes us; a waiter that went away gives it back.
        let granted = GrantedTurn { slots: self, turn };
        granted.wait().await
    }

    /// Lets in as many as fit. Called with the state locked.
    fn admit(&self, state: &mut State) {
        while state.working.len() < self.0.limit {
            let Some(next) = state.queue.pop_front() else {
                break;
            };
            let number = state.grant();
            if next.send(number).is_err() {
                state.working.remove(&number);
            }
        }
    }

    fn release(&self, number: u64) {
        let mut state = self.state();
        if state.working.remove(&number) {
            state.ended += 1;
        }
        state.movements += 1;
        self.admit(&mut state);
    }

    /// Runs while somebody queues; takes the oldest calls for waiting ones whenever nothing moved for a while.
    async fn watch(&self) {
        let mut patience = PATIENCE;
        let (mut moved, mut ended) = {
            let state = self.state();
            (state.movements, state.ended)
        };
        loop {
            self.0.runtime.clock.wait(patience).await;
            let mut state = self.state();
            if state.queue.is_empty() {
                state.watching = false;
                return;
            }
            if state.ended != ended {
                patience = PATIENCE;
            }
            if state.movements == moved && !state.working.is_empty() {
                for _ in 0..self.0.limit.div_ceil(4) {
                    state.working.pop_first();
                }
                self.admit(&mut state);
                patience = (patience * 2).min(LONGEST_PATIENCE);
            }
            (moved, ended) = (state.movements, state.ended);
        }
    }
}

/// A place in the queue; gives a slot back that was granted after its owner went away.
struct GrantedTurn<'a> {
    slots: &'a Slots,
    turn: oneshot::Receiver<u64>,
}

impl GrantedTurn<'_> {
    async fn wait(mut self) -> Slot {
        let granted = (&mut self.turn).await.ok();
        Slot(granted.map(|number| (self.slots.clone(), number)))
    }
}

impl Drop for GrantedTurn<'_> {
    fn drop(&mut self) {
        self.turn.close();
        if let Ok(number) = self.turn.try_recv() {
            self.slots.release(number);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some((slots, number)) = self.0.take() {
            slots.release(number);
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
        assert!(slots.state().working.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_for_many_later_ones_costs_one_while() {
        let slots = slots(1);
        let began = tokio::time::Instant::now();
        let waiting = slots.acquire().await;
        for _ in 0..100 {
            drop(slots.acquire().await);
        }
        drop(waiting);
        assert_eq!(began.elapsed(), PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn more_waiting_calls_than_slots_cost_a_few_whiles() {
        let slots = slots(16);
        let began = tokio::time::Instant::now();
        let waiting = futures::future::join_all((0..24).map(|_| slots.acquire())).await;
        assert_eq!(began.elapsed(), PATIENCE * 3);
        drop(waiting);
    }

    #[tokio::test(start_paused = true)]
    async fn one_of_the_later_ones_at_a_time_works_beside_a_call_that_waits() {
        let slots = slots(1);
        let _waiting = slots.acquire().await;
        let working = slots.acquire().await;
        let next = tokio::spawn({
            let slots = slots.clone();
            async move { drop(slots.acquire().await) }
        });
        tokio::task::yield_now().await;
        assert!(!next.is_finished());
        drop(working);
        next.await.unwrap();
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
        assert!(slots.state().working.is_empty());
    }
}
