//! Which stack of a set runs when: plain data, which the driver asks for the next turn.
//!
//! At most `limit` stacks are active. A stack that waits for another one is not active, but keeps its place: only stacks that a
//! waiting one needs may run beside it. So the number of stacks that have begun stays near the limit, and no set comes to a
//! standstill because of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The place of a stack in its set.
pub(super) type Place = usize;

/// Why a stack runs after another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// The caller states it.
    Stated,
    /// The state of a stack has a reference to the other one.
    Recorded,
    /// The program of a stack reads the other one.
    Read,
}

/// A stack that needs another one to end before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) stack: Place,
    pub(super) before: Place,
    pub(super) reason: Reason,
}

/// Stacks each of which needs the next one, and the last one the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cycle(pub(super) Vec<(Place, Reason)>);

/// What a stack does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It has not begun.
    Pending,
    Running,
    Succeeded,
    Failed,
    /// It does not run, because that stack has failed or been cancelled.
    Skipped(Place),
    /// It does not run, because the set was cancelled.
    Cancelled,
}

impl Phase {
    fn has_ended(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

struct Node {
    phase: Phase,
    needs: BTreeMap<Place, Reason>,
    /// The stacks that its program reads and that have not ended, with the number of requests.
    waits: BTreeMap<Place, usize>,
    /// Its last wait has ended, and it needs a turn to go on.
    resumes: bool,
}

impl Node {
    fn is_active(&self) -> bool {
        self.phase == Phase::Running && self.waits.is_empty() && !self.resumes
    }
}

/// What the driver does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Begin the operation of a stack.
    Start(Place),
    /// Answer the requests of a stack for others that have ended.
    Resume(Place),
    /// Report that a stack does not run: `because` has failed; `None` when the set was cancelled.
    Skip { stack: Place, because: Option<Place> },
}

/// The answer to a stack that reads another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// The other stack has succeeded.
    Over,
    /// The request is answered later, after [`Turn::Resume`].
    Begun,
    /// The other stack has failed, or does not run because that one has.
    Failed(Place),
    /// The set was cancelled before the other stack began.
    Cancelled,
    /// The other stack can only end after the one that reads it.
    Cycle(Cycle),
}

/// The schedule of a set.
pub(super) struct Schedule {
    nodes: Vec<Node>,
    limit: usize,
    skips: VecDeque<Turn>,
    is_cancelled: bool,
}

impl Schedule {
    /// Orders `count` stacks, of which at most `limit` are active at a time.
    ///
    /// # Errors
    /// A cycle.
    pub(super) fn new(count: usize, needs: &[Need], limit: usize) -> Result<Self, Cycle> {
        let mut nodes: Vec<Node> = (0..count)
            .map(|_| Node {
                phase: Phase::Pending,
                needs: BTreeMap::new(),
                waits: BTreeMap::new(),
                resumes: false,
            })
            .collect();
        for need in needs {
            let known = nodes[need.stack].needs.entry(need.before).or_insert(need.reason);
            *known = need.reason.min(*known);
        }
        let schedule = Self {
            nodes,
            limit: limit.max(1),
            skips: VecDeque::new(),
            is_cancelled: false,
        };
        match schedule.first_cycle() {
            Some(cycle) => Err(cycle),
            None => Ok(schedule),
        }
    }

    /// Returns the next turn; `None` until a stack ends or waits.
    pub(super) fn next(&mut self) -> Option<Turn> {
        if let Some(skip) = self.skips.pop_front() {
            return Some(skip);
        }
        let active = self.count(Node::is_active);
        if active >= self.limit {
            return None;
        }
        if let Some(stack) = self.nodes.iter().position(|node| node.resumes) {
            self.nodes[stack].resumes = false;
            return Some(Turn::Resume(stack));
        }
        let begun = self.count(|node| node.phase == Phase::Running);
        let needed = self.needed();
        let may_start =
            |stack: &Place| self.is_ready(*stack) && (begun < self.limit || needed.contains(stack));
        // What others wait for comes first.
        let first = needed.iter().copied().find(may_start);
        let stack = first.or_else(|| (0..self.nodes.len()).find(may_start))?;
        self.nodes[stack].phase = Phase::Running;
        Some(Turn::Start(stack))
    }

    /// Records that the program of `stack` reads `other`.
    pub(super) fn wait(&mut self, stack: Place, other: Place) -> Wait {
        if stack == other {
            return Wait::Over;
        }
        if let Some(over) = self.ended_wait(other) {
            return over;
        }
        if let Some(mut path) = self.path(other, stack) {
            path.insert(0, (stack, Reason::Read));
            return Wait::Cycle(Cycle(path));
        }
        *self.nodes[stack].waits.entry(other).or_default() += 1;
        Wait::Begun
    }

    /// Returns a stack that has begun to those that have not: it runs again after `others`. The answer is [`Wait::Begun`], unless one of
    /// them does not let it run.
    pub(super) fn run_again(&mut self, stack: Place, others: &[Place]) -> Wait {
        for other in others.iter().filter(|other| **other != stack) {
            match self.ended_wait(*other) {
                Some(Wait::Over) => continue,
                Some(refused) => return refused,
                None => {}
            }
            if let Some(mut path) = self.path(*other, stack) {
                path.insert(0, (stack, Reason::Read));
                return Wait::Cycle(Cycle(path));
            }
            self.nodes[stack].needs.entry(*other).or_insert(Reason::Read);
        }
        let node = &mut self.nodes[stack];
        node.phase = match self.is_cancelled {
            true => return Wait::Cancelled,
            false => Phase::Pending,
        };
        Wait::Begun
    }

    /// Records that a request of `stack` for `other` was given up.
    pub(super) fn give_up(&mut self, stack: Place, other: Place) {
        let waits = &mut self.nodes[stack].waits;
        if let Some(count) = waits.get_mut(&other) {
            *count -= 1;
            if *count == 0 {
                waits.remove(&other);
            }
        }
    }

    /// Returns the answer to a request for a stack; `None` while it has not ended.
    pub(super) fn ended_wait(&self, other: Place) -> Option<Wait> {
        match self.nodes[other].phase {
            Phase::Pending | Phase::Running => None,
            Phase::Succeeded => Some(Wait::Over),
            Phase::Failed => Some(Wait::Failed(other)),
            Phase::Skipped(because) => Some(Wait::Failed(because)),
            Phase::Cancelled => Some(Wait::Cancelled),
        }
    }

    /// Records the end of a stack's operation. What needs a stack that has failed is skipped.
    pub(super) fn ended(&mut self, stack: Place, succeeded: bool) {
        let phase = if succeeded {
            Phase::Succeeded
        } else {
            Phase::Failed
        };
        let node = &mut self.nodes[stack];
        node.waits.clear();
        node.resumes = false;
        self.settle(stack, phase);
        if succeeded {
            return;
        }
        let mut failed = VecDeque::from([stack]);
        while let Some(other) = failed.pop_front() {
            for dependent in 0..self.nodes.len() {
                let node = &self.nodes[dependent];
                if node.phase == Phase::Pending && node.needs.contains_key(&other) {
                    self.settle(dependent, Phase::Skipped(stack));
                    let because = Some(stack);
                    self.skips.push_back(Turn::Skip {
                        stack: dependent,
                        because,
                    });
                    failed.push_back(dependent);
                }
            }
        }
    }

    /// Begins no further stack. Those that have begun go on.
    pub(super) fn cancel(&mut self) {
        self.is_cancelled = true;
        for stack in 0..self.nodes.len() {
            if self.nodes[stack].phase == Phase::Pending {
                self.settle(stack, Phase::Cancelled);
                self.skips.push_back(Turn::Skip { stack, because: None });
            }
        }
    }

    /// Returns whether every stack has ended.
    pub(super) fn is_over(&self) -> bool {
        self.skips.is_empty() && self.nodes.iter().all(|node| node.phase.has_ended())
    }

    fn count(&self, of: impl Fn(&Node) -> bool) -> usize {
        self.nodes.iter().filter(|node| of(node)).count()
    }

    /// Ends a stack, and the requests for it.
    fn settle(&mut self, stack: Place, phase: Phase) {
        self.nodes[stack].phase = phase;
        for node in &mut self.nodes {
            if node.waits.remove(&stack).is_some() {
                node.resumes = true;
            }
        }
    }

    /// Returns whether a stack can begin.
    fn is_ready(&self, stack: Place) -> bool {
        let node = &self.nodes[stack];
        let is_over = |other: &Place| self.nodes[*other].phase == Phase::Succeeded;
        node.phase == Phase::Pending && node.needs.keys().all(is_over)
    }

    /// Returns the stacks that have not begun and that a waiting one needs, directly or not.
    fn needed(&self) -> BTreeSet<Place> {
        let mut found = BTreeSet::new();
        let mut open: Vec<Place> = self
            .nodes
            .iter()
            .flat_map(|node| node.waits.keys().copied())
            .collect();
        while let Some(stack) = open.pop() {
            if self.nodes[stack].phase == Phase::Pending && found.insert(stack) {
                open.extend(self.nodes[stack].needs.keys());
            }
        }
        found
    }

    /// Returns the stacks that one needs to end, and why.
    fn unfinished(&self, stack: Place) -> impl Iterator<Item = (Place, Reason)> + '_ {
        let node = &self.nodes[stack];
        let needs = node.needs.iter().map(|(other, reason)| (*other, *reason));
        let waits = node.waits.keys().map(|other| (*other, Reason::Read));
        let both = needs.chain(waits);
        both.filter(|(other, _)| !self.nodes[*other].phase.has_ended())
    }

    /// Returns how `from` needs `to`: each stack on the way, without `to`, with the reason for which it needs the next one.
    fn path(&self, from: Place, to: Place) -> Option<Vec<(Place, Reason)>> {
        let mut reached: BTreeMap<Place, (Place, Reason)> = BTreeMap::new();
        let mut open = VecDeque::from([from]);
        while let Some(stack) = open.pop_front() {
            for (other, reason) in self.unfinished(stack) {
                if other == to {
                    let mut path = vec![(stack, reason)];
                    let mut last = stack;
                    while last != from {
                        let (before, reason) = reached[&last];
                        path.push((before, reason));
                        last = before;
                    }
                    path.reverse();
                    return Some(path);
                }
                if other != from && !reached.contains_key(&other) {
                    reached.insert(other, (stack, reason));
                    open.push_back(other);
                }
            }
        }
        None
    }

    /// Returns a cycle among the needs.
    fn first_cycle(&self) -> Option<Cycle> {
        // What remains when stacks without needs are taken away is on cycles, or needs one.
        let mut open: Vec<usize> = self.nodes.iter().map(|node| node.needs.len()).collect();
        let mut dependents = vec![Vec::new(); self.nodes.len()];
        for (stack, node) in self.nodes.iter().enumerate() {
            for other in node.needs.keys() {
                dependents[*other].push(stack);
            }
        }
        let mut free: Vec<Place> = (0..open.len()).filter(|stack| open[*stack] == 0).collect();
        while let Some(stack) = free.pop() {
            for dependent in &dependents[stack] {
                open[*dependent] -= 1;
                if open[*dependent] == 0 {
                    free.push(*dependent);
                }
            }
        }
        let mut remaining = (0..open.len()).filter(|stack| open[*stack] > 0);
        remaining.find_map(|stack| self.path(stack, stack)).map(Cycle)
    }
}
