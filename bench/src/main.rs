//! Measures the engine without any SDK: `figure NAME VALUE UNIT` lines on the standard output, all else on the other.
//!
//! An argument selects the figures whose names begin with it, or that a whole family of such figures would print.

/// What the bindings allocate with.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod concurrent;
mod counting;
mod empty;
mod engine;
mod figure;
mod latency;
mod memory;
mod plugin;
mod provider;
mod refreshing;
mod stack;
mod thrifty;

use std::{io::Write as _, process::ExitCode};

use figure::Selection;
use stackwright::Result;

/// A family of figures: what all its names begin with, and what measures them.
struct Family {
    prefix: &'static str,
    measure: fn(&Selection) -> Result<()>,
}

const FAMILIES: [Family; 7] = [
    Family {
        prefix: "empty.",
        measure: empty::measure,
    },
    Family {
        prefix: "engine.bytes_per_step.",
        measure: thrifty::measure,
    },
    Family {
        prefix: "engine.",
        measure: engine::measure,
    },
    Family {
        prefix: "engine.memory.",
        measure: memory::measure,
    },
    Family {
        prefix: "engine.refreshing",
        measure: refreshing::measure,
    },
    Family {
        prefix: "latency.",
        measure: latency::measure,
    },
    Family {
        prefix: "concurrent.",
        measure: concurrent::measure,
    },
];

fn main() -> ExitCode {
    let argument = std::env::args().nth(1).unwrap_or_default();
    let result = match argument.as_str() {
        memory::CHILD => memory::child(),
        plugin::ARGUMENT => plugin::serve(),
        _ => run(&Selection::new(argument)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing can be done when even this cannot be said.
            writeln!(std::io::stderr(), "{error}").ok();
            ExitCode::FAILURE
        }
    }
}

fn run(selection: &Selection) -> Result<()> {
    for family in &FAMILIES {
        if selection.touches(family.prefix) {
            (family.measure)(selection)?;
        }
    }
    Ok(())
}
