//! Threads for the host's functions: as many as run at the same time, so that none waits for another's to end, and
//! none takes a thread from the engine's own work.

use std::{
    collections::{HashMap, VecDeque},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{Builder, JoinHandle, ThreadId},
    time::Duration,
};

/// How long a thread without work stays.
const PATIENCE: Duration = Duration::from_secs(10);

type Work = Box<dyn FnOnce() + Send>;

/// Threads that come with the work and go when there is none.
pub(crate) struct Threads(Arc<Inner>);

struct Inner {
    name: String,
    patience: Duration,
    state: Mutex<State>,
    /// Told of new work, and of the end.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    work: VecDeque<Work>,
    /// How many threads wait for work, or are about to find that there is some.
    idle: usize,
    threads: HashMap<ThreadId, JoinHandle<()>>,
    /// The last thread that left for want of work. The next to leave waits for it, so that the end finds every thread.
    left: Option<JoinHandle<()>>,
    ended: bool,
}

impl Threads {
    /// Makes threads with this name; none is started yet.
    pub(crate) fn new(name: String) -> Self {
        Self::with_patience(name, PATIENCE)
    }

    fn with_patience(name: String, patience: Duration) -> Self {
        Self(Arc::new(Inner {
            name,
            patience,
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// Runs `work`, which may block for as long as it likes, on a thread that has nothing else to do. After
    /// [`Self::end`] it is dropped.
    ///
    /// # Errors
    /// When the system gives no thread and there is none that could come to it later; then `work` has been dropped.
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
            // One of those that there are will come to it.
            Err(_) if !state.threads.is_empty() => Ok(()),
            Err(error) => {
                let refused = state.work.pop_back();
                drop(state);
                drop(refused);
                Err(error)
            }
        }
    }

    /// Drops what has not begun, waits for what has, and leaves no thread behind.
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
            // Its work cannot end it by a panic.
            drop(thread.join());
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a thread does: all the work that it finds, until there was none for a while.
    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(work) = state.work.pop_front() {
                drop(state);
                // Whoever waits for it learns of a panic by what the work let go of.
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
                .wait_timeout(state, self.patience)
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

    use super::*;

    fn count(threads: &Threads) -> usize {
        threads.0.state().threads.len()
    }

    #[test]
    fn work_that_waits_for_later_work_never_keeps_it_from_starting() {
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
    fn a_thread_is_used_again_also_after_a_panic() {
        let threads = Threads::new("test".to_owned());
        threads.run(|| panic!("in the host's function")).unwrap();
        while threads.0.state().idle == 0 {
            std::thread::yield_now();
        }
        let (sender, receiver) = mpsc::channel();
        threads.run(move || sender.send(()).unwrap()).unwrap();
        assert!(receiver.recv().is_ok());
        assert_eq!(count(&threads), 1);
        threads.end();
    }

    #[test]
    fn a_thread_that_finds_nothing_to_do_goes_and_leaves_nothing_behind() {
        let threads = Threads::with_patience("test".to_owned(), Duration::ZERO);
        let inner = Arc::downgrade(&threads.0);
        for _ in 0..3 {
            threads.run(|| {}).unwrap();
            while count(&threads) > 0 {
                std::thread::yield_now();
            }
        }
        threads.end();
        drop(threads);
        assert!(inner.upgrade().is_none());
    }

    #[test]
    fn the_end_waits_for_what_runs_and_drops_what_comes_later() {
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
