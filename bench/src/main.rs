//! Measures the engine without any SDK: `figure NAME VALUE UNIT` lines on the standard output, all else on the other.
//!
//! An argument selects the figures whose names begin with it, or that a whole family of such figures would print.

/// The allocator of the bindings.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod checkpoint;
mod concurrent;
mod construct;
mod edits;
mod empty;
mod engine;
mod figure;
mod journal;
mod latency;
mod listing;
mod memory;
mod moves;
mod observability;
mod observed;
mod plugin;
mod provider;
mod refreshing;
mod stack;
mod stores;
mod up_all;

use std::{io::Write as _, path::Path, process::ExitCode};

use figure::Selection;
use stackwright::Result;

/// A family of figures: the common prefix of the names, and the measurement.
struct Family {
    prefix: &'static str,
    measure: fn(&Selection) -> Result<()>,
}

const FAMILIES: [Family; 15] = [
    Family {
        prefix: "store.",
        measure: stores::measure,
    },
    Family {
        prefix: "checkpoint.",
        measure: checkpoint::measure,
    },
    Family {
        prefix: "empty.",
        measure: empty::measure,
    },
    Family {
        prefix: "engine.bytes_per_step.",
        measure: journal::measure,
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
        prefix: "list.",
        measure: listing::measure,
    },
    Family {
        prefix: "edit.",
        measure: edits::measure,
    },
    Family {
        prefix: "moves.",
        measure: moves::measure,
    },
    Family {
        prefix: "observability.",
        measure: observability::measure,
    },
    Family {
        prefix: "concurrent.",
        measure: concurrent::measure,
    },
    Family {
        prefix: "up_all.",
        measure: up_all::measure,
    },
    Family {
        prefix: "construct.blocked.",
        measure: construct::measure,
    },
];

fn main() -> ExitCode {
    let argument = std::env::args().nth(1).unwrap_or_default();
    let result = match argument.as_str() {
        memory::CHILD => memory::child(),
        checkpoint::CHILD => checkpoint::child(Path::new(&std::env::args_os().nth(2).unwrap_or_default())),
        plugin::ARGUMENT => plugin::serve(),
        _ => run(&Selection::new(argument)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A failed write to standard error cannot be reported.
            writeln!(std::io::stderr(), "{error}").ok();
            ExitCode::FAILURE
        }
    }
}

fn run(selection: &Selection) -> Result<()> {
    for family in &FAMILIES {
        if selection.overlaps(family.prefix) {
            (family.measure)(selection)?;
        }
    }
    Ok(())
}
