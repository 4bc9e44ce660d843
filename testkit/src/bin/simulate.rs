//! Runs simulations of consecutive seeds, as many at a time as there are processors: `simulate SEED RUNS`. The last line counts those that
//! passed and failed. One run shows its trace.

use std::{
    io::Write as _,
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use stackwright_testkit::simulation;

fn main() -> std::io::Result<ExitCode> {
    let mut out = std::io::stdout();
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map_while(|text| text.parse().ok())
        .collect();
    let [first, runs] = numbers[..] else {
        writeln!(out, "usage: simulate SEED RUNS")?;
        return Ok(ExitCode::from(2));
    };
    let end = first.saturating_add(runs);
    let (next, failed) = (AtomicU64::new(first), AtomicU64::new(0));
    let work = || -> std::io::Result<()> {
        let mut out = std::io::stdout();
        loop {
            // Each run has a runtime and a clock of its own, and shares nothing with the others.
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return Ok(());
            }
            let outcome = simulation::run(seed);
            if runs == 1 {
                for line in outcome.trace {
                    writeln!(out, "{line}")?;
                }
            }
            if let Some(failure) = outcome.failure {
                failed.fetch_add(1, Ordering::Relaxed);
                writeln!(out, "seed {seed}: {failure}")?;
            }
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            let ended = worker.join();
            ended.unwrap_or_else(|_| Err(std::io::Error::other("a run has panicked")))
        })
    })?;
    let failed = failed.into_inner();
    writeln!(out, "{} passed, {failed} failed", runs - failed)?;
    Ok(ExitCode::from(u8::from(failed > 0)))
}
