//! Simulated time: a clock that advances to its next timer when the runtime has nothing to do.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use stackwright::runtime::{Clock, Runtime, SeededRandom, Timestamp};
use tokio::sync::{Notify, oneshot};

/// The number of rounds without work, after each of which blocking work had ended, before the clock advances.
const QUIET_ROUNDS: usize = 3;

#[derive(Default)]
struct Timers {
    now: Duration,
    count: u64,
    waiting: BTreeMap<(Duration, u64), oneshot::Sender<()>>,
}

/// A clock whose waits take no time.
#[derive(Default)]
pub(crate) struct SimulatedClock(Mutex<Timers>);

impl SimulatedClock {
    /// Advances to the next timer that something waits for.
    fn advance(&self) {
        let mut timers = self.0.lock().unwrap();
        while let Some(((at, _), waiting)) = timers.waiting.pop_first() {
            if waiting.is_closed() {
                continue;
            }
            timers.now = at.max(timers.now);
            let _sent = waiting.send(());
            return;
        }
    }
}

#[async_trait]
impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_700_000_000).unwrap() + self.elapsed()
    }

    fn elapsed(&self) -> Duration {
        self.0.lock().unwrap().now
    }

    async fn wait(&self, duration: Duration) {
        let (ends, end) = oneshot::channel();
        {
            let mut timers = self.0.lock().unwrap();
            timers.count += 1;
            let at = (timers.now + duration, timers.count);
            timers.waiting.insert(at, ends);
        }
        let _ended = end.await;
    }
}

/// Finds out when a runtime waits for nothing but the clock. Its blocking work has one thread, so that a task on that
/// ends after all earlier ones.
#[derive(Default)]
struct Idleness {
    /// Set while the runtime is used: it holds this.
    handle: Mutex<Option<tokio::runtime::Handle>>,
    clock: Arc<SimulatedClock>,
    wakes: Arc<Notify>,
    rounds: Mutex<Rounds>,
    /// How often the runtime has continued.
    continued: AtomicUsize,
}

#[derive(Default)]
struct Rounds {
    /// Set while a round is under way: how often the runtime had continued at its begin.
    under_way: Option<usize>,
    ended: bool,
    quiet: usize,
}

impl Idleness {
    /// Called when the runtime has nothing to do.
    fn parks(self: &Arc<Self>) {
        let handle = self.handle.lock().unwrap().clone();
        let Some(handle) = handle else { return };
        let continued = self.continued.load(Ordering::SeqCst);
        let mut rounds = self.rounds.lock().unwrap();
        match rounds.under_way {
            Some(_) if !rounds.ended => return,
            Some(begun) => {
                // The end of the round itself lets the runtime continue once.
                rounds.quiet = if continued <= begun + 1 {
                    rounds.quiet + 1
                } else {
                    0
                };
            }
            None => {}
        }
        if rounds.quiet >= QUIET_ROUNDS {
            *rounds = Rounds::default();
            self.clock.advance();
            return;
        }
        rounds.under_way = Some(continued);
        rounds.ended = false;
        let idleness = Arc::clone(self);
        drop(handle.spawn_blocking(move || {
            idleness.rounds.lock().unwrap().ended = true;
            idleness.wakes.notify_one();
        }));
    }
}

/// Releases the runtime at its end, also after a panic.
struct Ends<'a>(&'a Idleness);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.handle.lock().unwrap().take();
    }
}

/// Runs a future on one thread in simulated time.
pub(crate) fn simulated<F: Future>(work: impl FnOnce(Runtime, Arc<SimulatedClock>) -> F) -> F::Output {
    let idleness = Arc::new(Idleness::default());
    let (parking, continuing) = (Arc::clone(&idleness), Arc::clone(&idleness));
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(1)
        .on_thread_park(move || parking.parks())
        .on_thread_unpark(move || {
            continuing.continued.fetch_add(1, Ordering::SeqCst);
        })
        .build()
        .unwrap();
    let clock = Arc::clone(&idleness.clock);
    let runtime = Runtime {
        clock: Arc::clone(&clock) as _,
        random: Arc::new(SeededRandom::new(1)),
        ..Runtime::system(executor.handle().clone())
    };
    let wakes = Arc::clone(&idleness.wakes);
    executor.spawn(async move {
        loop {
            wakes.notified().await;
        }
    });
    *idleness.handle.lock().unwrap() = Some(executor.handle().clone());
    let _ends = Ends(&idleness);
    executor.block_on(work(runtime, clock))
}
