//! The schedule of a set: order, limit, waits, failures, cycles.

use super::schedule::{Cycle, Need, Place, Reason, Schedule, Turn, Wait};

fn need(stack: Place, before: Place) -> Need {
    let reason = Reason::Stated;
    Need {
        stack,
        before,
        reason,
    }
}

fn schedule(count: usize, needs: &[(Place, Place)], limit: usize) -> Schedule {
    let needs: Vec<Need> = needs
        .iter()
        .map(|(stack, before)| need(*stack, *before))
        .collect();
    Schedule::new(count, &needs, limit).unwrap_or_else(|cycle| unreachable!("{cycle:?}"))
}

fn turns(schedule: &mut Schedule) -> Vec<Turn> {
    std::iter::from_fn(|| schedule.next()).collect()
}

fn skipped(stack: Place, because: Place) -> Turn {
    let because = Some(because);
    Turn::Skip { stack, because }
}

#[test]
fn a_stack_starts_when_all_that_it_needs_have_succeeded() {
    let mut schedule = schedule(4, &[(0, 1), (0, 2), (2, 3)], 9);
    assert_eq!(turns(&mut schedule), [Turn::Start(1), Turn::Start(3)]);
    schedule.ended(1, true);
    assert_eq!(turns(&mut schedule), []);
    schedule.ended(3, true);
    assert_eq!(turns(&mut schedule), [Turn::Start(2)]);
    schedule.ended(2, true);
    assert_eq!(turns(&mut schedule), [Turn::Start(0)]);
    assert!(!schedule.is_over());
    schedule.ended(0, true);
    assert!(schedule.is_over());
}

#[test]
fn no_more_stacks_than_the_limit_are_active() {
    let mut schedule = schedule(3, &[], 2);
    assert_eq!(turns(&mut schedule), [Turn::Start(0), Turn::Start(1)]);
    schedule.ended(1, true);
    assert_eq!(turns(&mut schedule), [Turn::Start(2)]);
}

#[test]
fn a_failure_skips_what_needs_the_stack_and_nothing_else() {
    let mut schedule = schedule(5, &[(1, 0), (2, 1), (3, 2), (3, 4)], 9);
    assert_eq!(turns(&mut schedule), [Turn::Start(0), Turn::Start(4)]);
    schedule.ended(0, false);
    assert_eq!(
        turns(&mut schedule),
        [skipped(1, 0), skipped(2, 0), skipped(3, 0)]
    );
    assert!(!schedule.is_over(), "the independent stack still runs");
    schedule.ended(4, true);
    assert!(schedule.is_over());
}

#[test]
fn a_waiting_stack_keeps_its_place_from_all_but_those_it_needs() {
    let mut schedule = schedule(4, &[(3, 2)], 1);
    assert_eq!(turns(&mut schedule), [Turn::Start(0)]);
    assert_eq!(schedule.wait(0, 3), Wait::Begun);
    assert_eq!(
        turns(&mut schedule),
        [Turn::Start(2)],
        "not the first, which nothing needs"
    );
    schedule.ended(2, true);
    assert_eq!(turns(&mut schedule), [Turn::Start(3)]);
    schedule.ended(3, true);
    assert_eq!(turns(&mut schedule), [Turn::Resume(0)]);
    assert_eq!(schedule.ended_wait(3), Some(Wait::Over));
    schedule.ended(0, true);
    assert_eq!(turns(&mut schedule), [Turn::Start(1)]);
}

#[test]
fn a_stack_goes_on_only_when_one_more_may_be_active() {
    let mut schedule = schedule(3, &[], 2);
    assert_eq!(turns(&mut schedule), [Turn::Start(0), Turn::Start(1)]);
    assert_eq!(schedule.wait(0, 2), Wait::Begun);
    assert_eq!(turns(&mut schedule), [Turn::Start(2)]);
    assert_eq!(schedule.wait(1, 2), Wait::Begun);
    schedule.ended(2, true);
    assert_eq!(turns(&mut schedule), [Turn::Resume(0), Turn::Resume(1)]);
}

#[test]
fn an_answer_is_not_lost_when_the_stack_waits_for_another_one_meanwhile() {
    let mut schedule = schedule(3, &[], 3);
    assert_eq!(turns(&mut schedule).len(), 3);
    assert_eq!(schedule.wait(0, 1), Wait::Begun);
    schedule.ended(1, true);
    assert_eq!(schedule.wait(0, 2), Wait::Begun);
    assert_eq!(turns(&mut schedule), [Turn::Resume(0)]);
    schedule.ended(2, true);
    assert_eq!(turns(&mut schedule), [Turn::Resume(0)]);
}

#[test]
fn a_stack_that_has_ended_is_not_waited_for() {
    let mut schedule = schedule(4, &[(1, 0)], 4);
    assert_eq!(
        turns(&mut schedule),
        [Turn::Start(0), Turn::Start(2), Turn::Start(3)]
    );
    schedule.ended(0, false);
    schedule.ended(2, true);
    assert_eq!(schedule.wait(3, 0), Wait::Failed(0));
    assert_eq!(
        schedule.wait(3, 1),
        Wait::Failed(0),
        "it was skipped because of the failed one"
    );
    assert_eq!(schedule.wait(3, 2), Wait::Over);
    assert_eq!(
        schedule.wait(3, 3),
        Wait::Over,
        "a stack may read its own outputs"
    );
}

#[test]
fn a_wait_that_is_given_up_makes_the_stack_active_again() {
    let mut schedule = schedule(3, &[(1, 2)], 1);
    assert_eq!(turns(&mut schedule), [Turn::Start(0)]);
    assert_eq!(schedule.wait(0, 1), Wait::Begun);
    schedule.give_up(0, 1);
    assert_eq!(turns(&mut schedule), []);
    schedule.ended(0, false);
    assert_eq!(turns(&mut schedule), [Turn::Start(2)]);
}

#[test]
fn a_cycle_of_needs_is_an_error_that_has_its_stacks_in_order() {
    let needs = [need(0, 1), need(1, 2), need(2, 3), need(3, 1), need(4, 0)];
    let cycle = Schedule::new(5, &needs, 9).err();
    let stated = |stack| (stack, Reason::Stated);
    assert_eq!(cycle, Some(Cycle(vec![stated(1), stated(2), stated(3)])));
}

#[test]
fn a_wait_that_closes_a_cycle_is_refused() {
    let mut schedule = schedule(4, &[(2, 1)], 2);
    assert_eq!(turns(&mut schedule), [Turn::Start(0), Turn::Start(1)]);
    assert_eq!(schedule.wait(0, 2), Wait::Begun);
    let cycle = vec![(1, Reason::Read), (0, Reason::Read), (2, Reason::Stated)];
    assert_eq!(schedule.wait(1, 0), Wait::Cycle(Cycle(cycle)));
    // The refused stack fails, and so what waits for those that need it.
    schedule.ended(1, false);
    assert_eq!(
        turns(&mut schedule),
        [skipped(2, 1), Turn::Resume(0), Turn::Start(3)]
    );
    assert_eq!(schedule.ended_wait(2), Some(Wait::Failed(1)));
}

#[test]
fn cancellation_skips_what_has_not_begun() {
    let mut schedule = schedule(3, &[(2, 0)], 1);
    assert_eq!(turns(&mut schedule), [Turn::Start(0)]);
    assert_eq!(schedule.wait(0, 1), Wait::Begun);
    schedule.cancel();
    let because = None;
    let skips = [Turn::Skip { stack: 1, because }, Turn::Skip { stack: 2, because }];
    assert_eq!(turns(&mut schedule), [skips[0], skips[1], Turn::Resume(0)]);
    assert_eq!(schedule.ended_wait(1), Some(Wait::Cancelled));
    schedule.ended(0, false);
    assert!(schedule.is_over());
}

/// Plays a set of `count` stacks, each of which reads others while it runs: stack N those of `reads[N]`.
fn play(count: usize, needs: &[(Place, Place)], reads: &[Vec<Place>], limit: usize) -> Vec<Place> {
    let mut schedule = schedule(count, needs, limit);
    let mut left: Vec<Vec<Place>> = reads.to_vec();
    let (mut going, mut order) = (Vec::new(), Vec::new());
    while !schedule.is_over() {
        for turn in turns(&mut schedule) {
            match turn {
                Turn::Start(stack) | Turn::Resume(stack) => going.push(stack),
                Turn::Skip { .. } => unreachable!("no stack fails"),
            }
        }
        assert!(going.len() <= limit, "{going:?}");
        let stack = going
            .pop()
            .unwrap_or_else(|| unreachable!("standstill: {order:?}"));
        match left[stack].pop() {
            Some(other) => match schedule.wait(stack, other) {
                Wait::Over => going.push(stack),
                Wait::Begun => {}
                refused => unreachable!("{refused:?}"),
            },
            None => {
                schedule.ended(stack, true);
                order.push(stack);
            }
        }
    }
    order
}

#[test]
fn sets_without_cycles_end_with_every_limit() {
    let count = 24;
    for seed in 0..200_usize {
        // Stack N reads or needs only those above it: no cycle.
        let pick = |stack: usize, salt: usize| {
            let mixed = (stack * 7_919 + seed * 104_729 + salt * 1_299_709) % 10_007;
            mixed
                .is_multiple_of(3)
                .then(|| stack + 1 + mixed % (count - stack))
                .filter(|other| *other < count)
        };
        let needs: Vec<(Place, Place)> = (0..count)
            .filter_map(|stack| Some((stack, pick(stack, 1)?)))
            .collect();
        let reads: Vec<Vec<Place>> = (0..count)
            .map(|stack| [pick(stack, 2), pick(stack, 3)].into_iter().flatten().collect())
            .collect();
        for limit in [1, 2, 5, 100] {
            let order = play(count, &needs, &reads, limit);
            assert_eq!(order.len(), count);
            let at = |stack| order.iter().position(|other| *other == stack);
            let read = reads
                .iter()
                .enumerate()
                .flat_map(|(stack, others)| others.iter().map(move |other| (stack, *other)));
            for (stack, other) in needs.iter().copied().chain(read) {
                assert!(at(other) < at(stack), "{stack} needs {other}: {order:?}");
            }
        }
    }
}
