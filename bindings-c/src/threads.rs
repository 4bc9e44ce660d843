//! Threads for the host's functions. Their number has no limit, so that a blocking function delays neither another one
//! nor the engine.

use std::{
    collections::{HashMap, VecDeque},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{Builder, JoinHandle, ThreadId},
    time::Duration,
};

/// The time after which an idle thread ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

type Work = Box<dyn FnOnce() + Send>;

/// A pool that starts a thread for each work item without an idle one, and ends threads after [`IDLE_TIMEOUT`].
pub(crate) struct Threads(Arc<Inner>);

struct Inner {
    name: String,
    idle_timeout: Duration,
    state: Mutex<State>,
    /// Notified of new work, and of the end.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    work: VecDeque<Work>,
    /// The number of threads that wait for work, including notified ones that have not woken yet.
    idle: usize,
    threads: HashMap<ThreadId, JoinHandle<()>>,
    /// The last thread that ended idle. The next one that ends joins it, so that [`Threads::end`] joins every thread.
    left: Option<JoinHandle<()>>,
    ended: bool,
}

impl Threads {
    /// Creates a pool whose threads have this name; none is started yet.
    pub(crate) fn new(name: String) -> Self {
        Self::with_idle_timeout(name, IDLE_TIMEOUT)
    }

    fn with_idle_timeout(name: String, idle_timeout: Duration) -> Self {
        Self(Arc::new(Inner {
            name,
            idle_timeout,
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// Runs `work`, which may block without limit, on a thread of its own. After [`Self::end`] it is dropped.
    ///
    /// # Errors
    /// When no thread can be started and none exists that could run it later; then `work` has been dropped.
    pub(crate) fn run(&self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut state = self.0.state();
        if state.ended {
            return Ok(());
        }
        state.work.push_back(Box::new(work));
        if state.idle >= state.work.len() {
            drop(state);
            self.0.changed.notify_one();
            return Ok(());
        }
        let inner = Arc::clone(&self.0);
        match Builder::new()
            .name(self.0.name.clone())
            .spawn(move || inner.work())
        {
            Ok(thread) => {
                state.threads.insert(thread.thread().id(), thread);
                Ok(())
            }
            // An existing thread runs the work later.
            Err(_) if !state.threads.is_empty() => Ok(()),
            Err(error) => {
                let refused = state.work.pop_back();
                drop(state);
                drop(refused);
                Err(error)
            }
        }
    }

    /// Drops queued work, waits for running work, and joins all threads.
    pub(crate) fn end(&self) {
        let (dropped, threads, left) = {
            let mut state = self.0.state();
            state.ended = true;
            let work = std::mem::take(&mut state.work);
            (work, std::mem::take(&mut state.threads), state.left.take())
        };
        self.0.changed.notify_all();
        drop(dropped);
        for thread in threads.into_values().chain(left) {
            // Panics of the work are caught, so the thread cannot have panicked.
            drop(thread.join());
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loop of a thread: runs queued work until there was none for the idle timeout.
    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(work) = state.work.pop_front() {
                drop(state);
                // A panic is observed through the values that the work drops.
                drop(catch_unwind(AssertUnwindSafe(work)));
                state = self.state();
                continue;
            }
            if state.ended {
                return;
            }
            state.idle += 1;
            let (woken, waited) = self
                .changed
                .wait_timeout(state, self.idle_timeout)
                .unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.work.is_empty() && !state.ended {
                break;
            }
        }
        let own = state.threads.remove(&std::thread::current().id());
        let before = std::mem::replace(&mut state.left, own);
        drop(state);
        if let Some(before) = before {
            drop(before.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use stackwright_testkit::wait::blocking;

    use super::*;

    fn count(threads: &Threads) -> usize {
        threads.0.state().threads.len()
    }

    #[test]
    fn blocked_work_does_not_delay_later_work() {
        let threads = Threads::new("test".to_owned());
        let (ready, is_ready) = mpsc::channel();
        let mut releases = Vec::new();
        for _ in 0..600 {
            let (release, released) = mpsc::channel::<()>();
            let ready = ready.clone();
            releases.push(release);
            threads
                .run(move || {
                    ready.send(()).unwrap();
                    let _ = released.recv();
                })
                .unwrap();
        }
        (0..600).for_each(|_| is_ready.recv().unwrap());
        assert_eq!(count(&threads), 600);
        releases.clear();
        threads.end();
        assert_eq!(count(&threads), 0);
    }

    #[test]
    fn a_thread_is_reused_after_a_panic() {
        let threads = Threads::new("test".to_owned());
        threads.run(|| panic!("in the host's function")).unwrap();
        let inner = Arc::clone(&threads.0);
        blocking("the thread's wait for more work", move || {
            while inner.state().idle == 0 {
                std::thread::yield_now();
            }
        });
        let (sender, receiver) = mpsc::channel();
        threads.run(move || sender.send(()).unwrap()).unwrap();
        assert!(receiver.recv().is_ok());
        assert_eq!(count(&threads), 1);
        threads.end();
    }

    #[test]
    fn idle_threads_end_and_release_the_pool() {
        let threads = Threads::with_idle_timeout("test".to_owned(), Duration::ZERO);
        let inner = Arc::downgrade(&threads.0);
        for _ in 0..3 {
            threads.run(|| {}).unwrap();
            let inner = Arc::clone(&threads.0);
            blocking("the end of the idle thread", move || {
                while !inner.state().threads.is_empty() {
                    std::thread::yield_now();
                }
            });
        }
        threads.end();
        drop(threads);
        assert!(inner.upgrade().is_none());
    }

    #[test]
    fn the_end_waits_for_running_work_and_drops_later_work() {
        let threads = Threads::new("test".to_owned());
        let (sender, receiver) = mpsc::channel();
        let (began, has_begun) = mpsc::channel();
        let later = sender.clone();
        threads
            .run(move || {
                began.send(()).unwrap();
                sender.send("ran").unwrap();
            })
            .unwrap();
        has_begun.recv().unwrap();
        threads.end();
        threads.run(move || later.send("late").unwrap()).unwrap();
        assert_eq!(receiver.iter().collect::<Vec<_>>(), ["ran"]);
    }
}
