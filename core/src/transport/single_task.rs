//! One task for all the work of a connection.
//!
//! A connection consists of several futures: the queue of requests, the requests, the socket. As tasks of their own, they
//! run on different threads, and the socket's task writes the headers of a request while its message is still being
//! encoded: three writes, with a change of threads between each. Here they run in turns of one task. A socket that is
//! [`super::corked`] writes at the end of a turn, when all requests of the turn are complete.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker},
};

use futures::{StreamExt as _, stream::FuturesUnordered};
use hyper::rt::Executor;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::runtime::Spawner;

/// The number of times that the futures run in one turn, if they wake each other.
const ROUND_LIMIT: usize = 32;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs futures in one task, which ends when all handles are dropped and all futures have ended.
#[derive(Clone)]
pub(super) struct SingleTask(UnboundedSender<Work>);

impl SingleTask {
    /// Starts the task, whose turns `turns` follows.
    pub(super) fn start(spawner: &Spawner, turns: Turns) -> Self {
        let (sender, receiver) = unbounded_channel();
        drop(spawner.spawn(drive(receiver, turns)));
        Self(sender)
    }
}

impl Executor<Work> for SingleTask {
    fn execute(&self, work: Work) {
        // The task ends before its senders only when the runtime shuts down, which drops all work.
        drop(self.0.send(work));
    }
}

/// The turns of a task: each runs its futures until all of them wait. What they wake in between needs no other turn of the
/// task, and what waits for the end of the turn comes last.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Shared>);

#[derive(Default)]
struct Shared(Mutex<Turn>);

#[derive(Default)]
struct Turn {
    phase: Phase,
    /// Whether something was woken since the futures have begun to run.
    has_news: bool,
    /// What waits for the end of the turn.
    waiting: Vec<Waker>,
    /// Begins the next turn.
    task: Option<Waker>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// No turn is running.
    #[default]
    Between,
    /// Futures are running that may have more to do.
    Running,
    /// All futures wait, and what waits for the end of the turn is running.
    Ending,
}

impl Turns {
    /// Waits for the end of the turn; ready between turns, also outside of the task.
    pub(super) fn poll_end(&self, context: &Context<'_>) -> Poll<()> {
        let mut turn = self.0.turn();
        if turn.phase != Phase::Running {
            return Poll::Ready(());
        }
        if !turn.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            turn.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// Runs one turn of a task. `advance` runs the futures once, and is ready when there are none left.
    fn run(&self, context: &Context<'_>, mut advance: impl FnMut(&mut Context<'_>) -> Poll<()>) -> Poll<()> {
        let waker = Waker::from(Arc::clone(&self.0));
        self.begin(context.waker());
        for _ in 0..ROUND_LIMIT {
            let ended = advance(&mut Context::from_waker(&waker));
            if !self.go_on() {
                return ended;
            }
        }
        // Other tasks have their turn, and resources that count polls let this one go on.
        self.0.turn().phase = Phase::Between;
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn begin(&self, task: &Waker) {
        let mut turn = self.0.turn();
        turn.phase = Phase::Running;
        turn.has_news = false;
        if !turn.task.as_ref().is_some_and(|known| known.will_wake(task)) {
            turn.task = Some(task.clone());
        }
    }

    /// Returns whether the futures are to run again in this turn; ends it otherwise.
    fn go_on(&self) -> bool {
        let mut turn = self.0.turn();
        if std::mem::take(&mut turn.has_news) {
            turn.phase = Phase::Running;
            return true;
        }
        if turn.waiting.is_empty() {
            turn.phase = Phase::Between;
            return false;
        }
        turn.phase = Phase::Ending;
        let waiting = std::mem::take(&mut turn.waiting);
        drop(turn);
        waiting.into_iter().for_each(Waker::wake);
        self.0.turn().has_news = false;
        true
    }
}

impl Shared {
    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut turn = self.turn();
        let had_news = std::mem::replace(&mut turn.has_news, true);
        let task = match turn.phase {
            Phase::Between if !had_news => turn.task.clone(),
            _ => None,
        };
        drop(turn);
        if let Some(task) = task {
            task.wake();
        }
    }
}

async fn drive(receiver: UnboundedReceiver<Work>, turns: Turns) {
    let mut task = Running {
        receiver,
        is_open: true,
        futures: FuturesUnordered::new(),
    };
    poll_fn(|context| turns.run(context, |context| task.advance(context))).await;
}

struct Running {
    receiver: UnboundedReceiver<Work>,
    is_open: bool,
    futures: FuturesUnordered<Work>,
}

impl Running {
    /// Runs the futures until all of them wait, those that they start included. Ready when nothing is left to run.
    fn advance(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let polled = self.futures.poll_next_unpin(context);
            // What has been polled can have started more.
            let has_new = self.take_new(context);
            match polled {
                Poll::Ready(Some(())) => {}
                _ if has_new => {}
                Poll::Ready(None) if !self.is_open => return Poll::Ready(()),
                Poll::Pending | Poll::Ready(None) => return Poll::Pending,
            }
        }
    }

    /// Takes what has been started since the last call. Returns whether there was something.
    fn take_new(&mut self, context: &mut Context<'_>) -> bool {
        let before = self.futures.len();
        while self.is_open
            && let Poll::Ready(work) = self.receiver.poll_recv(context)
        {
            match work {
                Some(work) => self.futures.push(work),
                None => self.is_open = false,
            }
        }
        self.futures.len() > before
    }
}

#[cfg(test)]
mod tests {
    use stackwright_testkit::wait::Within as _;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn all_futures_run_in_the_same_task_and_those_that_wait_do_not_hold_others() {
        let spawner = Spawner::new(tokio::runtime::Handle::current());
        let task = SingleTask::start(&spawner, Turns::default());
        let (release, released) = oneshot::channel::<()>();
        let (first, second) = (oneshot::channel(), oneshot::channel());
        task.execute(Box::pin(async move {
            released.await.unwrap();
            first.0.send(tokio::task::id()).unwrap();
        }));
        let again = task.clone();
        task.execute(Box::pin(async move {
            let id = tokio::task::id();
            // Work can start work.
            again.execute(Box::pin(async move {
                release.send(()).unwrap();
                second.0.send(id).unwrap();
            }));
        }));
        let one = second.1.within("the end of the second future").await.unwrap();
        let other = first.1.within("the end of the first future").await.unwrap();
        assert_eq!(one, other);
    }

    #[tokio::test]
    async fn the_end_of_a_turn_comes_when_all_futures_wait() {
        let spawner = Spawner::new(tokio::runtime::Handle::current());
        let turns = Turns::default();
        let task = SingleTask::start(&spawner, turns.clone());
        let log = Arc::new(Mutex::new(Vec::new()));
        let note = |text: &'static str| {
            let log = Arc::clone(&log);
            move || log.lock().unwrap().push(text)
        };
        let (ended, end) = oneshot::channel();
        let at_end = note("end");
        task.execute(Box::pin(async move {
            poll_fn(|context| turns.poll_end(context)).await;
            at_end();
            ended.send(()).unwrap();
        }));
        let (begun, more, again) = (note("begun"), note("more"), task.clone());
        task.execute(Box::pin(async move {
            begun();
            again.execute(Box::pin(async move { more() }));
        }));
        end.within("the end of the turn").await.unwrap();
        assert_eq!(*log.lock().unwrap(), ["begun", "more", "end"]);
    }

    #[tokio::test]
    async fn nothing_waits_for_a_turn_that_is_not_running() {
        let turns = Turns::default();
        poll_fn(|context| turns.poll_end(context))
            .within("the end of no turn")
            .await;
    }

    #[tokio::test]
    async fn the_task_ends_with_its_last_handle_and_future() {
        let (sender, receiver) = unbounded_channel();
        let driver = tokio::spawn(drive(receiver, Turns::default()));
        let task = SingleTask(sender);
        let (release, released) = oneshot::channel::<()>();
        task.execute(Box::pin(async { released.await.unwrap() }));
        drop(task);
        tokio::task::yield_now().await;
        assert!(!driver.is_finished());
        release.send(()).unwrap();
        driver.within("the end of the task").await.unwrap();
    }
}
