//! The order of a set whose stacks run elsewhere: on the hosts of a cluster, for instance.

use std::collections::BTreeMap;

use super::{
    DEFAULT_MAX_STACKS,
    schedule::{Need, Place, Reason, Schedule, Turn, Wait},
    wording::{Ended, cycle_error, error_of, outside, skip_error, twice},
};
use crate::{
    error::{Error, ErrorKind, Result},
    operation::OperationKind,
    store::StackName,
};

/// A stack of a set that runs elsewhere.
#[derive(Clone, Debug)]
pub struct OrderedStack {
    /// The stack.
    pub name: StackName,
    /// The stacks of the set that it needs.
    pub depends_on: Vec<StackName>,
    /// The stacks that its recorded stack references name. Those that are not in the set do not count.
    pub references: Vec<StackName>,
}

/// What is next in a set.
#[derive(Clone, Debug)]
pub enum FleetTurn {
    /// Run the stack of this place.
    Start(usize),
    /// Report that the stack of this place does not run, with the reason.
    Skip(usize, Error),
}

/// How a stack of a set ended.
#[derive(Clone, Debug)]
struct End {
    error: Option<Error>,
    is_skipped: bool,
    is_unknown: bool,
}

/// The order of a set whose stacks run elsewhere. The caller takes the turns, and reports how each stack ended.
///
/// # Examples
/// ```
/// use stackwright::{StackName, fleet::{FleetOrder, FleetTurn, OrderedStack}, operation::OperationKind};
/// # fn main() -> stackwright::Result<()> {
/// let network = StackName::parse("network/prod")?;
/// let stack = |name: &StackName, depends_on| OrderedStack { name: name.clone(), depends_on, references: Vec::new() };
/// let shop = stack(&StackName::parse("shop/prod")?, vec![network.clone()]);
/// let mut order = FleetOrder::new(OperationKind::Update, false, vec![shop, stack(&network, vec![])], 0)?;
/// assert!(matches!(order.next_turn(), Some(FleetTurn::Start(1))));
/// assert!(order.next_turn().is_none(), "the shop needs the network");
/// order.ended(1, None, false);
/// assert!(matches!(order.next_turn(), Some(FleetTurn::Start(0))));
/// order.ended(0, None, false);
/// assert!(order.is_over() && order.error().is_none());
/// # Ok(())
/// # }
/// ```
pub struct FleetOrder {
    kind: OperationKind,
    is_preview: bool,
    names: Vec<StackName>,
    schedule: Schedule,
    ends: Vec<Option<End>>,
    was_cancelled: bool,
}

impl FleetOrder {
    /// Orders stacks as [`crate::Engine::up_all`] does, or in the reverse order for a destroy; `max_stacks` are active at a time, 0 is
    /// 16.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a stack that is in the set twice, for a dependency on one outside, and for a cycle.
    pub fn new(
        kind: OperationKind,
        is_preview: bool,
        stacks: Vec<OrderedStack>,
        max_stacks: u32,
    ) -> Result<Self> {
        let mut places = BTreeMap::new();
        for (place, stack) in stacks.iter().enumerate() {
            if places.insert(&stack.name, place).is_some() {
                return Err(twice(&stack.name));
            }
        }
        let mut needs = Vec::new();
        for (place, stack) in stacks.iter().enumerate() {
            for other in &stack.depends_on {
                let before = *places.get(other).ok_or_else(|| outside(&stack.name, other))?;
                needs.push(need(kind, place, before, Reason::Stated));
            }
            let others = stack.references.iter().filter_map(|other| places.get(other));
            let others = others.filter(|other| **other != place);
            needs.extend(others.map(|before| need(kind, place, *before, Reason::Recorded)));
        }
        let limit = match max_stacks {
            0 => DEFAULT_MAX_STACKS,
            limit => limit,
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let schedule = Schedule::new(stacks.len(), &needs, limit)
            .map_err(|cycle| cycle_error(kind, &cycle, |place| &stacks[place].name))?;
        Ok(Self {
            kind,
            is_preview,
            ends: vec![None; stacks.len()],
            names: stacks.into_iter().map(|stack| stack.name).collect(),
            schedule,
            was_cancelled: false,
        })
    }

    /// Returns what is next; `None` until a stack ends.
    pub fn next_turn(&mut self) -> Option<FleetTurn> {
        match self.schedule.next()? {
            Turn::Start(place) | Turn::Resume(place) => Some(FleetTurn::Start(place)),
            Turn::Skip { stack, because } => {
                let reason = match because {
                    None => "the set was cancelled".to_owned(),
                    Some(failed) => self.failure(failed),
                };
                let error = skip_error(self.kind, self.is_preview, &self.names[stack], &reason);
                self.ends[stack] = Some(End {
                    error: Some(error.clone()),
                    is_skipped: true,
                    is_unknown: false,
                });
                Some(FleetTurn::Skip(stack, error))
            }
        }
    }

    /// Records the end of a stack that was started. With `is_unknown`, the error states why its end is not known. What needs a stack
    /// that has not succeeded is skipped.
    pub fn ended(&mut self, place: usize, error: Option<Error>, is_unknown: bool) {
        let succeeded = error.is_none();
        self.ends[place] = Some(End {
            error,
            is_skipped: false,
            is_unknown,
        });
        self.schedule.ended(place, succeeded);
    }

    /// Returns a stack that was started, and whose program has read others before these had ended, to those that have not begun: it runs
    /// again after them. Those outside of the set do not count.
    ///
    /// # Errors
    /// When one of them has not succeeded, or needs the stack itself: the stack has failed then, which [`Self::ended`] is to record.
    pub fn run_again(&mut self, place: usize, after: &[StackName]) -> Result<()> {
        let others: Vec<Place> = after
            .iter()
            .filter_map(|name| self.names.iter().position(|other| other == name))
            .collect();
        match self.schedule.run_again(place, &others) {
            Wait::Over | Wait::Begun => Ok(()),
            Wait::Failed(failed) => Err(Error::new(ErrorKind::Failed, self.failure(failed))),
            Wait::Cancelled => Err(Error::new(ErrorKind::Cancelled, "the set was cancelled")),
            Wait::Cycle(cycle) => Err(cycle_error(self.kind, &cycle, |place| &self.names[place])),
        }
    }

    /// Starts no further stack. Those that were started go on.
    pub fn cancel(&mut self) {
        self.was_cancelled = true;
        self.schedule.cancel();
    }

    /// Returns the places of the stacks that have not ended, and are not skipped.
    pub fn unfinished(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.names.len()).filter(|place| self.schedule.ended_wait(*place).is_none())
    }

    /// Returns whether every stack has ended, or is skipped and reported.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.schedule.is_over()
    }

    /// Returns the error of the set, as [`super::FleetResult::error`] has it.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        let ends: Vec<Ended<'_>> = self
            .names
            .iter()
            .zip(&self.ends)
            .filter_map(|(name, end)| {
                let end = end.as_ref()?;
                Some(Ended {
                    name,
                    error: end.error.as_ref(),
                    is_skipped: end.is_skipped,
                    is_unknown: end.is_unknown,
                })
            })
            .collect();
        error_of(&ends, self.was_cancelled)
    }

    /// States that a stack has not succeeded.
    fn failure(&self, place: Place) -> String {
        let name = &self.names[place];
        match &self.ends[place] {
            Some(end) if end.is_unknown => format!("the end of the stack '{name}' is not known"),
            Some(End {
                error: Some(error), ..
            }) if error.kind() == ErrorKind::Cancelled => {
                format!("the stack '{name}' was cancelled")
            }
            _ => format!("the stack '{name}' has failed"),
        }
    }
}

/// Returns the need of a stack, in the order of the operation.
fn need(kind: OperationKind, stack: Place, before: Place, reason: Reason) -> Need {
    let (stack, before) = match kind {
        OperationKind::Destroy => (before, stack),
        _ => (stack, before),
    };
    Need {
        stack,
        before,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> StackName {
        StackName::parse(text).unwrap()
    }

    fn stack(text: &str, depends_on: &[&str]) -> OrderedStack {
        OrderedStack {
            name: name(text),
            depends_on: depends_on.iter().map(|other| name(other)).collect(),
            references: Vec::new(),
        }
    }

    fn order(kind: OperationKind, stacks: Vec<OrderedStack>) -> FleetOrder {
        FleetOrder::new(kind, false, stacks, 0).unwrap()
    }

    fn started(order: &mut FleetOrder) -> Vec<usize> {
        std::iter::from_fn(|| order.next_turn())
            .map(|turn| match turn {
                FleetTurn::Start(place) => place,
                FleetTurn::Skip(..) => unreachable!("{turn:?}"),
            })
            .collect()
    }

    fn failed(text: &str) -> Option<Error> {
        Some(Error::new(ErrorKind::Failed, text))
    }

    #[test]
    fn a_destroy_begins_with_the_stacks_that_no_other_one_needs() {
        let mut recorded = stack("c/d", &[]);
        recorded.references = vec![name("b/d"), name("other/d"), name("c/d")];
        let mut order = order(
            OperationKind::Destroy,
            vec![stack("a/d", &[]), stack("b/d", &["a/d"]), recorded],
        );
        for place in [2, 1, 0] {
            assert_eq!(started(&mut order), [place]);
            order.ended(place, None, false);
        }
        assert!(order.is_over());
    }

    #[test]
    fn a_program_that_reads_an_unfinished_stack_runs_again_after_it() {
        let stacks = vec![stack("a/d", &[]), stack("b/d", &[]), stack("c/d", &["a/d"])];
        let mut order = order(OperationKind::Update, stacks);
        assert_eq!(started(&mut order), [0, 1]);
        order.run_again(0, &[name("b/d"), name("outside/d")]).unwrap();
        assert_eq!(started(&mut order), [] as [usize; 0]);
        assert_eq!(order.unfinished().collect::<Vec<_>>(), [0, 1, 2]);
        order.ended(1, None, false);
        assert_eq!(started(&mut order), [0]);
        // It has ended between the read and its report.
        order.run_again(0, &[name("b/d")]).unwrap();
        assert_eq!(started(&mut order), [0]);
        order.ended(0, None, false);
        assert_eq!(started(&mut order), [2]);
    }

    #[test]
    fn a_read_that_closes_a_cycle_names_it() {
        let stacks = vec![stack("a/d", &[]), stack("b/d", &["a/d"])];
        let mut order = order(OperationKind::Update, stacks);
        assert_eq!(started(&mut order), [0]);
        let error = order.run_again(0, &[name("b/d")]).unwrap_err();
        assert_eq!(
            error.message(),
            "the stacks of the set need each other: 'a/d' reads 'b/d', 'b/d' depends on 'a/d'"
        );
        order.ended(0, Some(error), false);
        assert!(matches!(order.next_turn(), Some(FleetTurn::Skip(1, _))));
        assert!(order.is_over());
    }

    #[test]
    fn a_program_that_reads_a_failed_stack_does_not_run_again() {
        let mut order = order(OperationKind::Update, vec![stack("a/d", &[]), stack("b/d", &[])]);
        assert_eq!(started(&mut order), [0, 1]);
        order.ended(1, failed("no"), false);
        let error = order.run_again(0, &[name("b/d")]).unwrap_err();
        assert_eq!(error.message(), "the stack 'b/d' has failed");
    }

    #[test]
    fn the_error_of_a_set_counts_the_stacks_whose_end_is_unknown() {
        let stacks = vec![stack("a/d", &[]), stack("b/d", &["a/d"]), stack("c/d", &[])];
        let mut order = order(OperationKind::Update, stacks);
        assert_eq!(started(&mut order), [0, 2]);
        order.ended(0, failed("its worker was lost"), true);
        let Some(FleetTurn::Skip(1, error)) = order.next_turn() else {
            unreachable!("what needs it is skipped")
        };
        assert_eq!(
            error.message(),
            "the stack 'b/d' was not updated: the end of the stack 'a/d' is not known"
        );
        order.ended(2, None, false);
        assert_eq!(
            order.error().unwrap().message(),
            "0 of 3 stacks failed, the end of 1 is unknown, 1 did not begin; a/d: its worker was lost"
        );
    }
}
