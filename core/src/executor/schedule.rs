//! Runs removals in the order of their dependencies, with the maximum concurrency that these allow.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::{
    error::Error,
    executor::{Executor, Failure, Step},
};

/// Runs `steps` such that each starts only after its `prerequisites` have ended.
///
/// `prerequisites[i]` contains the indices that must end before step `i` starts. A step with a failed prerequisite does
/// not start, and no step starts once the run is stopped; with `continue_on_error` all others do. Failures have been
/// reported.
pub(crate) async fn run_in_order(executor: &Arc<Executor>, steps: Vec<Step>, prerequisites: &[Vec<usize>]) {
    let mut waiting: Vec<usize> = prerequisites.iter().map(Vec::len).collect();
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    for (index, before) in prerequisites.iter().enumerate() {
        for &prerequisite in before {
            followers[prerequisite].push(index);
        }
    }
    let mut steps: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    let (sender, mut ended) = mpsc::unbounded_channel();
    let mut running = 0_usize;
    let mut ready: Vec<usize> = (0..steps.len()).filter(|&index| waiting[index] == 0).collect();
    loop {
        for index in ready.drain(..) {
            let Some(mut step) = steps[index].take() else {
                continue;
            };
            let runner = Arc::clone(executor);
            let report = Report {
                index,
                succeeded: None,
                to: sender.clone(),
            };
            drop(executor.runtime().spawner.spawn(async move {
                let succeeded = runner.run_step(&mut step).await.is_ok();
                report.end(succeeded);
            }));
            running += 1;
        }
        if running == 0 {
            return;
        }
        let Some((index, succeeded)) = ended.recv().await else {
            return;
        };
        running -= 1;
        match succeeded {
            Some(true) => {
                for &follower in &followers[index] {
                    waiting[follower] -= 1;
                    if waiting[follower] == 0 {
                        ready.push(follower);
                    }
                }
            }
            // The dependencies of the failed record must stay: they are still in use.
            Some(false) => {}
            None => {
                let error = Error::internal("a task of the engine died");
                executor.control().fail(Failure::Fatal(error), true);
            }
        }
    }
}

/// Sends the result of a step when its task is over; `None` when the task panicked.
struct Report {
    index: usize,
    succeeded: Option<bool>,
    to: mpsc::UnboundedSender<(usize, Option<bool>)>,
}

impl Report {
    fn end(mut self, succeeded: bool) {
        self.succeeded = Some(succeeded);
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        // The receiver is gone when the run itself was dropped.
        self.to.send((self.index, self.succeeded)).ok();
    }
}
