//! Slots: how many calls of providers run at a time.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::sync::oneshot;

use crate::{runtime::Runtime, urn::Urn};

/// How a call counts against the limit of [`Slots`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// The call counts from its beginning to its end.
    Strict,
    /// The call counts until all slots have stalled: it may wait for a registration that needs a slot itself.
    GivesWay,
    /// The call does not count.
    Exempt,
}

impl Counting {
    /// Classifies a call. `waits`: its provider declares that calls wait for later registrations, or the operation does
    /// so for all providers. `below_construct`: its resource is below a Construct in flight of the same plugin, which
    /// may wait for it.
    pub(crate) const fn of(waits: bool, below_construct: bool) -> Self {
        match (waits, below_construct) {
            (_, true) => Self::Exempt,
            (true, false) => Self::GivesWay,
            (false, false) => Self::Strict,
        }
    }
}

/// A call that needs a slot.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) urn: Urn,
    /// The method of the provider, `create` for instance.
    pub(crate) method: &'static str,
    pub(crate) counting: Counting,
}

/// Receives the warning about calls that hold all slots for longer than [`STALL_WARNING_DELAY`].
pub(crate) type StallReport = Arc<dyn Fn(String) + Send + Sync>;

/// Limits the calls that run at the same time.
///
/// The limit is strict for calls that count [`Counting::Strict`]. A call that counts [`Counting::GivesWay`] may wait
/// for a later step, and the engine cannot distinguish such a call from a slow one. Therefore, when all slots are held,
/// calls queue and none has begun or ended for the grace period, the oldest of these calls (at most a quarter of the
/// limit) no longer count. The grace period doubles each time, until a call that counts ends.
#[derive(Clone)]
pub(crate) struct Slots(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    runtime: Runtime,
    limit: usize,
    report: StallReport,
}

struct State {
    /// The calls that count, by slot number: the oldest first.
    counting: BTreeMap<u64, Holder>,
    next: u64,
    queue: VecDeque<Waiter>,
    /// Time of the last beginning or end of a call that needs a slot, by the runtime's clock.
    moved: Duration,
    /// How long all slots must be stalled before calls give way.
    stall_grace: Duration,
    /// Whether the current stall has been reported.
    reported: bool,
    watched: bool,
}

/// A call that counts.
struct Holder {
    call: Call,
    began: Duration,
}

/// A call in the queue.
struct Waiter {
    call: Call,
    turn: oneshot::Sender<u64>,
}

/// Interval between checks of the queue.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// Initial grace period before calls give way.
const MIN_STALL_GRACE: Duration = Duration::from_millis(500);

/// Maximum grace period before calls give way.
const MAX_STALL_GRACE: Duration = Duration::from_secs(64);

/// How long all slots are stalled before the warning.
const STALL_WARNING_DELAY: Duration = Duration::from_secs(30);

/// Maximum number of calls in a warning.
const MAX_LISTED_CALLS: usize = 10;

/// A held slot; dropping it releases it.
pub(crate) struct Slot(Option<(Slots, u64)>);

impl State {
    fn grant(&mut self, call: Call, now: Duration) -> u64 {
        let number = self.next;
        self.next += 1;
        self.touch(now);
        self.counting.insert(number, Holder { call, began: now });
        number
    }

    /// Records that a call has begun or ended.
    fn touch(&mut self, now: Duration) {
        self.moved = now;
        self.reported = false;
    }

    /// Releases the slots of the `most` oldest calls that may wait. Returns false when there was none.
    fn give_way(&mut self, most: usize) -> bool {
        let may_wait = |(_, holder): &(&u64, &Holder)| holder.call.counting == Counting::GivesWay;
        let numbers = self.counting.iter().filter(may_wait).take(most);
        let numbers: Vec<u64> = numbers.map(|(number, _)| *number).collect();
        for number in &numbers {
            self.counting.remove(number);
        }
        !numbers.is_empty()
    }
}

impl Slots {
    /// Creates `limit` slots; 0 and `i32::MAX` mean no limit.
    pub(crate) fn new(limit: usize, runtime: Runtime, report: StallReport) -> Self {
        let limit = if limit == 0 || limit >= i32::MAX as usize {
            usize::MAX
        } else {
            limit
        };
        let state = State {
            counting: BTreeMap::new(),
            next: 0,
            queue: VecDeque::new(),
            moved: Duration::ZERO,
            stall_grace: MIN_STALL_GRACE,
            reported: false,
            watched: false,
        };
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            runtime,
            limit,
            report,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.0.runtime.clock.elapsed()
    }

    /// Waits for a slot; the queue is first in, first out.
    pub(crate) async fn acquire(&self, call: Call) -> Slot {
        if self.0.limit == usize::MAX || call.counting == Counting::Exempt {
            return Slot(None);
        }
        let turn = {
            let now = self.now();
            let mut state = self.state();
            if state.queue.is_empty() && state.counting.len() < self.0.limit {
                let number = state.grant(call, now);
                return Slot(Some((self.clone(), number)));
            }
            let (turn, granted) = oneshot::channel();
            state.queue.push_back(Waiter { call, turn });
            if !state.watched {
                state.watched = true;
                self.watch();
            }
            granted
        };
        // The grant counts before it wakes the waiter; a dropped waiter returns it.
        let granted = GrantedTurn { slots: self, turn };
        granted.wait().await
    }

    /// Grants slots while there are free ones. The caller holds the lock of the state.
    fn admit(&self, state: &mut State, now: Duration) {
        while state.counting.len() < self.0.limit {
            let Some(next) = state.queue.pop_front() else {
                break;
            };
            let number = state.grant(next.call, now);
            if next.turn.send(number).is_err() {
                state.counting.remove(&number);
            }
        }
    }

    fn release(&self, number: u64) {
        let now = self.now();
        let mut state = self.state();
        if state.counting.remove(&number).is_some() {
            // A call that counts has ended: the grace period starts again at its minimum.
            state.stall_grace = MIN_STALL_GRACE;
        }
        state.touch(now);
        self.admit(&mut state, now);
    }

    /// Checks the queue at intervals until it is empty.
    fn watch(&self) {
        let (slots, runtime) = (Arc::downgrade(&self.0), self.0.runtime.clone());
        let spawner = runtime.spawner.clone();
        drop(spawner.spawn(async move {
            loop {
                runtime.clock.wait(WATCH_INTERVAL).await;
                let slots = Weak::upgrade(&slots).map(Slots);
                if slots.is_none_or(|slots| !slots.look()) {
                    return;
                }
            }
        }));
    }

    /// Lets calls give way, or reports those that hold all slots, when the slots have stalled. Returns whether calls
    /// are queued.
    fn look(&self) -> bool {
        let now = self.now();
        let mut state = self.state();
        // The operation may have stopped waiting for its turn.
        state.queue.retain(|waiter| !waiter.turn.is_closed());
        if state.queue.is_empty() {
            state.watched = false;
            return false;
        }
        let still = now.saturating_sub(state.moved);
        if still >= state.stall_grace && state.give_way(self.0.limit.div_ceil(4)) {
            self.admit(&mut state, now);
            state.stall_grace = (state.stall_grace * 2).min(MAX_STALL_GRACE);
        } else if still >= STALL_WARNING_DELAY && !state.reported {
            state.reported = true;
            let text = stall_text(&state, self.0.limit, now);
            drop(state);
            (self.0.report)(text);
        }
        true
    }
}

/// Lists the calls that hold all slots, the oldest first.
fn stall_text(state: &State, limit: usize, now: Duration) -> String {
    let mut text = format!(
        "no provider call has ended for {} s: {limit} at a time may run, {} waiting for a slot, held by",
        now.saturating_sub(state.moved).as_secs(),
        match state.queue.len() {
            1 => "1 is".to_owned(),
            queued => format!("{queued} are"),
        },
    );
    for holder in state.counting.values().take(MAX_LISTED_CALLS) {
        let (call, seconds) = (&holder.call, now.saturating_sub(holder.began).as_secs());
        let _ = write!(text, "\n  {} of {} ({seconds} s)", call.method, call.urn);
    }
    let more = state.counting.len().saturating_sub(MAX_LISTED_CALLS);
    if more > 0 {
        let _ = write!(text, "\n  and {more} more");
    }
    text.push_str(
        "\nwhere a call waits for a later registration, its provider should declare waits_for_registrations (waitsForRegistrations \
         in Node and C), or the operation have the option of that name",
    );
    text
}

/// A position in the queue; a slot that was granted after its future was dropped is returned.
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
#[path = "slots_tests.rs"]
mod tests;
