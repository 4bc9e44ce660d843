//! Operations of several hosts on one stack, with crashes and faults: `make simulate` runs more seeds.

use stackwright_testkit::simulation::run;

/// The number of seeds.
const SEEDS: u64 = 40;

#[test]
fn equal_seeds_give_equal_traces() {
    for seed in 1..=SEEDS / 4 {
        let (first, second) = (run(seed).trace, run(seed).trace);
        assert!(first.len() > 20, "seed {seed} does little: {first:#?}");
        assert_eq!(first, second, "seed {seed}");
    }
    assert_ne!(run(1).trace, run(3).trace);
}

#[test]
fn states_survive_every_simulated_fault() {
    for seed in 1..=SEEDS {
        let outcome = run(seed);
        assert_eq!(outcome.failure, None, "seed {seed}: {:#?}", outcome.trace);
    }
}
