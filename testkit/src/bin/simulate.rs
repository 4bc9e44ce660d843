//! Runs simulations of consecutive seeds, as many at a time as there are processors: `simulate SEED RUNS`. The last line counts those that
//! passed and failed. One run shows its trace. With a third argument, `unfenced` or `unchanged`, the fence of buckets does not work: what
//! fails then are seeds that show it.

use std::{
    io::Write as _,
    panic::catch_unwind,
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use stackwright_testkit::simulation;

fn usage() -> std::io::Result<ExitCode> {
    writeln!(
        std::io::stdout(),
        "usage: simulate SEED RUNS [unfenced|unchanged]"
    )?;
    Ok(ExitCode::from(2))
}

fn main() -> std::io::Result<ExitCode> {
    let mut out = std::io::stdout();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = arguments.iter().map_while(|text| text.parse().ok()).collect();
    let mode = arguments.get(numbers.len()).map(String::as_str);
    let run = match mode {
        None => simulation::run,
        Some("unfenced") => simulation::run_unfenced,
        Some("unchanged") => simulation::run_unchanged,
        Some(_) => return usage(),
    };
    let [first, runs] = numbers[..] else {
        return usage();
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
            let outcome = catch_unwind(|| run(seed)).unwrap_or_else(|_| simulation::Outcome {
                trace: Vec::new(),
                failure: Some("a panic".to_owned()),
            });
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
