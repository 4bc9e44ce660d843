//! Runs removals in the order of their dependencies, with the maximum concurrency that these allow.

use std::sync::Arc;

use rustc_hash::FxHashMap;
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
    run_cascades(executor, steps, prerequisites, &[]).await;
}

/// Runs `steps` in the order of [`run_in_order`]. A step with an index in `hosts` is recorded with the step there, for which it is
/// a prerequisite.
pub(crate) async fn run_cascades(
    executor: &Arc<Executor>,
    steps: Vec<Step>,
    prerequisites: &[Vec<usize>],
    hosts: &[Option<usize>],
) {
    let mut waiting: Vec<usize> = prerequisites.iter().map(Vec::len).collect();
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    for (index, before) in prerequisites.iter().enumerate() {
        for &prerequisite in before {
            followers[prerequisite].push(index);
        }
    }
    let mut cascaded: FxHashMap<usize, Vec<Step>> = FxHashMap::default();
    let mut steps: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    let (sender, mut ended) = mpsc::unbounded_channel();
    let mut running = 0_usize;
    let mut ready: Vec<usize> = (0..steps.len()).filter(|&index| waiting[index] == 0).collect();
    loop {
        for index in ready.drain(..) {
            let Some(mut step) = steps[index].take() else {
                continue;
            };
            step.cascaded = cascaded.remove(&index).unwrap_or_default().into();
            let is_cascaded = step.detail.is_cascaded;
            let runner = Arc::clone(executor);
            let report = Report {
                index,
                succeeded: None,
                step: None,
                to: sender.clone(),
            };
            drop(executor.runtime().spawner.spawn(async move {
                let succeeded = runner.run_step(&mut step).await.is_ok();
                report.end(succeeded, is_cascaded.then_some(step));
            }));
            running += 1;
        }
        if running == 0 {
            // Their hosts were not deleted, because something else was not.
            for step in cascaded.values().flatten() {
                executor.reporter().report_given_up(step);
            }
            return;
        }
        let Some((index, succeeded, step)) = ended.recv().await else {
            return;
        };
        running -= 1;
        match succeeded {
            Some(true) => {
                if let Some((host, step)) = hosts.get(index).copied().flatten().zip(step) {
                    cascaded.entry(host).or_default().push(step);
                }
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
    /// The step, where it is recorded with another one.
    step: Option<Step>,
    to: mpsc::UnboundedSender<(usize, Option<bool>, Option<Step>)>,
}

impl Report {
    fn end(mut self, succeeded: bool, step: Option<Step>) {
        self.succeeded = Some(succeeded);
        self.step = step;
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        // The receiver is gone when the run itself was dropped.
        let ended = (self.index, self.succeeded, self.step.take());
        self.to.send(ended).ok();
    }
}
