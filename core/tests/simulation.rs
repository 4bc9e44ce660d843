//! Operations of several hosts on one stack, with crashes and faults: `make simulate` runs more seeds.

use stackwright_testkit::simulation::{run, run_unchanged, run_unfenced};

/// The number of seeds.
const SEEDS: u64 = 60;

/// Seeds among which some show a broken fence: two hosts must be at work, and one of them frozen in the middle.
const UNFENCED_SEEDS: std::ops::RangeInclusive<u64> = 500..=620;

/// Seeds among which some show a write of a former holder that arrives after its successor has begun.
const UNCHANGED_SEEDS: std::ops::RangeInclusive<u64> = 3_690..=3_730;

#[test]
fn equal_seeds_give_equal_traces() {
    for seed in 1..=SEEDS / 4 {
        let (first, second) = (run(seed).trace, run(seed).trace);
        assert!(first.len() > 20, "seed {seed} does little: {first:#?}");
        assert_eq!(first, second, "seed {seed}");
    }
    assert_ne!(run(1).trace, run(3).trace);
}

/// Returns whether a host froze, and a later write of it was refused because of another one's.
fn is_taken_over(trace: &[String]) -> bool {
    let frozen = trace.iter().enumerate().filter_map(|(at, line)| {
        let (_, host) = line.split_once("host ")?;
        let (pid, _) = host.split_once(" freezes for ")?;
        Some((at, format!("host {pid} write ")))
    });
    let mut frozen = frozen;
    frozen.any(|(at, writes)| {
        let mut later = trace[at..].iter();
        later.any(|line| line.contains(&writes) && line.ends_with("was changed by another writer"))
    })
}

#[test]
fn frozen_hosts_find_in_buckets_that_another_one_has_gone_on() {
    let buckets = (1..=SEEDS).filter(|seed| matches!(seed % 4, 0 | 3));
    let found = buckets.filter(|seed| is_taken_over(&run(*seed).trace)).count();
    assert!(found >= 2, "{found} seeds");
}

#[test]
fn a_fence_that_does_not_work_is_found_and_the_same_seeds_pass_with_one_that_does() {
    let found: Vec<u64> = UNFENCED_SEEDS
        .filter(|seed| run_unfenced(*seed).failure.is_some())
        .collect();
    assert!(!found.is_empty(), "no seed shows that two hosts write at once");
    for seed in found {
        assert_eq!(run(seed).failure, None, "seed {seed}");
    }
}

#[test]
fn a_takeover_that_leaves_the_checkpoint_as_it_is_is_found_and_the_same_seeds_pass_with_one_that_does_not() {
    let found: Vec<u64> = UNCHANGED_SEEDS
        .filter(|seed| {
            let failure = run_unchanged(*seed).failure;
            failure.is_some_and(|text| text.contains("has replaced the checkpoint"))
        })
        .collect();
    assert!(!found.is_empty(), "no seed shows that a late write succeeds");
    for seed in found {
        assert_eq!(run(seed).failure, None, "seed {seed}");
    }
}

#[test]
fn states_survive_every_simulated_fault() {
    for seed in 1..=SEEDS {
        let outcome = run(seed);
        assert_eq!(outcome.failure, None, "seed {seed}: {:#?}", outcome.trace);
    }
}
