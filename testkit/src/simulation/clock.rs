//! Virtual time: a clock that advances to its next timer when the runtime's only thread has nothing to do.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::SignedDuration;
use stackwright::runtime::{Clock, Runtime, SeededRandom, Spawner, Timestamp};
use tokio::sync::oneshot;

/// The wall-clock time at the begin of each simulation, in seconds.
const BEGIN: i64 = 1_700_000_000;

#[derive(Default)]
struct Timers {
    now: Duration,
    /// How far the wall clock is off, in seconds.
    offset: i64,
    count: u64,
    waiting: BTreeMap<(Duration, u64), oneshot::Sender<()>>,
}

/// A clock whose waits take no time.
#[derive(Default)]
pub(super) struct VirtualClock(Mutex<Timers>);

impl VirtualClock {
    fn timers(&self) -> MutexGuard<'_, Timers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Advances to the next timer that something waits for.
    fn advance(&self) {
        let mut timers = self.timers();
        while let Some(((at, _), waiting)) = timers.waiting.pop_first() {
            if waiting.is_closed() {
                continue;
            }
            timers.now = at.max(timers.now);
            if waiting.send(()).is_ok() {
                return;
            }
        }
    }

    /// Sets the wall clock forwards or back.
    pub(super) fn jump(&self, seconds: i64) {
        self.timers().offset += seconds;
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let timers = self.timers();
        let begin = Timestamp::from_second(BEGIN + timers.offset).unwrap_or_default();
        SignedDuration::try_from(timers.now)
            .ok()
            .and_then(|elapsed| begin.checked_add(elapsed).ok())
            .unwrap_or(begin)
    }

    fn elapsed(&self) -> Duration {
        self.timers().now
    }

    async fn wait(&self, duration: Duration) {
        let (ends, end) = oneshot::channel();
        {
            let mut timers = self.timers();
            timers.count += 1;
            let at = (timers.now + duration, timers.count);
            timers.waiting.insert(at, ends);
        }
        drop(end.await);
    }
}

/// Runs a future on one thread in virtual time. All randomness is that of the seed.
///
/// # Errors
/// Those of the operating system, when it cannot start the runtime.
pub(super) fn simulated<F: Future>(
    seed: u64,
    work: impl FnOnce(Runtime, Arc<VirtualClock>) -> F,
) -> std::io::Result<F::Output> {
    let clock = Arc::new(VirtualClock::default());
    let parking = Arc::clone(&clock);
    let executor = tokio::runtime::Builder::new_current_thread()
        .on_thread_park(move || parking.advance())
        .build()?;
    let handle = executor.handle().clone();
    let runtime = Runtime {
        clock: Arc::clone(&clock) as _,
        random: Arc::new(SeededRandom::new(seed)),
        spawner: Spawner::single_threaded(handle.clone()),
        ..Runtime::system(handle)
    };
    Ok(executor.block_on(work(runtime, clock)))
}
