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
/// a prerequisite. Unless another step waits for it as well, it starts when its host waits for such steps only: it is not
/// announced when its host cannot start.
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
    let mut held = Held::new(hosts, &followers);
    let mut cascaded: FxHashMap<usize, Vec<Step>> = FxHashMap::default();
    let mut steps: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    let (sender, mut ended) = mpsc::unbounded_channel();
    let mut running = 0_usize;
    let mut ready: Vec<usize> = (0..steps.len()).filter(|&index| waiting[index] == 0).collect();
    loop {
        for index in held.admit(std::mem::take(&mut ready), &waiting) {
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
                    ready.extend(held.release(follower, &waiting));
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

/// The cascaded steps that could start, but whose hosts wait for other steps.
struct Held {
    /// The host of each step for which nothing but its host waits.
    hosts: Vec<Option<usize>>,
    steps: FxHashMap<usize, Vec<usize>>,
}

impl Held {
    fn new(hosts: &[Option<usize>], followers: &[Vec<usize>]) -> Self {
        let only_for_host = |(index, host): (usize, &Option<usize>)| {
            let host = (*host)?;
            followers[index]
                .iter()
                .all(|&follower| follower == host)
                .then_some(host)
        };
        Self {
            hosts: hosts.iter().enumerate().map(only_for_host).collect(),
            steps: FxHashMap::default(),
        }
    }

    /// Returns the steps of `ready` that may start, and those that they release.
    fn admit(&mut self, ready: Vec<usize>, waiting: &[usize]) -> Vec<usize> {
        let mut admitted = Vec::with_capacity(ready.len());
        for index in ready {
            let Some(host) = self.hosts.get_mut(index).and_then(Option::take) else {
                admitted.push(index);
                continue;
            };
            self.steps.entry(host).or_default().push(index);
            admitted.extend(self.release(host, waiting));
        }
        admitted
    }

    /// Returns the steps of `host` when it waits for nothing else.
    fn release(&mut self, host: usize, waiting: &[usize]) -> Vec<usize> {
        match self.steps.get(&host) {
            Some(steps) if steps.len() == waiting[host] => self.steps.remove(&host).unwrap_or_default(),
            _ => Vec::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cascaded_step_starts_when_its_host_waits_for_cascaded_steps_only() {
        // 0 and 1 are cascaded in 3, which waits for 2 as well.
        let hosts = [Some(3), Some(3), None, None];
        let followers = [vec![3], vec![3], vec![3], vec![]];
        let mut held = Held::new(&hosts, &followers);
        assert_eq!(held.admit(vec![0, 1, 2], &[0, 0, 0, 3]), [2]);
        assert_eq!(held.release(3, &[0, 0, 0, 2]), [0, 1]);
        // What was released is not held again.
        assert_eq!(held.admit(vec![0, 1], &[0, 0, 0, 2]), [0, 1]);
        assert_eq!(held.release(3, &[0, 0, 0, 1]), [0_usize; 0]);
    }

    #[test]
    fn a_cascaded_step_for_which_another_step_waits_starts_at_once() {
        // 0 is cascaded in 2; 1 waits for it, and 2 for both.
        let hosts = [Some(2), None, None];
        let followers = [vec![1, 2], vec![2], vec![]];
        let mut held = Held::new(&hosts, &followers);
        assert_eq!(held.admit(vec![0], &[0, 1, 2]), [0]);
    }

    #[test]
    fn a_cascaded_step_that_becomes_ready_last_starts_at_once() {
        let hosts = [Some(2), None, None];
        let followers = [vec![2], vec![0, 2], vec![]];
        let mut held = Held::new(&hosts, &followers);
        assert_eq!(held.admit(vec![1], &[1, 0, 2]), [1]);
        assert_eq!(held.admit(vec![0], &[0, 0, 1]), [0]);
    }
}
