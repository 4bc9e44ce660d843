//! Runs simulations of consecutive seeds: `simulate SEED RUNS`. The last line counts those that passed and failed. One
//! run shows its trace.

use std::{io::Write as _, process::ExitCode};

use stackwright_testkit::simulation;

fn main() -> std::io::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map_while(|text| text.parse().ok())
        .collect();
    let [seed, runs] = numbers[..] else {
        writeln!(out, "usage: simulate SEED RUNS")?;
        return Ok(ExitCode::from(2));
    };
    let mut failed = 0;
    for seed in seed..seed.saturating_add(runs) {
        let outcome = simulation::run(seed);
        if runs == 1 {
            for line in outcome.trace {
                writeln!(out, "{line}")?;
            }
        }
        if let Some(failure) = outcome.failure {
            failed += 1;
            writeln!(out, "seed {seed}: {failure}")?;
        }
    }
    writeln!(out, "{} passed, {failed} failed", runs - failed)?;
    Ok(ExitCode::from(u8::from(failed > 0)))
}
