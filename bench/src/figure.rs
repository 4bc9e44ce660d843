//! Figures: their selection, the measured time, and the printed line.

use std::{io::Write as _, time::Duration};

use stackwright::{
    Error, Result,
    runtime::{Clock as _, SystemClock},
};

/// The selected figures.
pub(crate) struct Selection(String);

impl Selection {
    /// Selects the names that begin with `prefix`; a number at its end matches whole numbers only.
    pub(crate) const fn new(prefix: String) -> Self {
        Self(prefix)
    }

    /// Returns whether a figure is selected.
    pub(crate) fn selects(&self, name: &str) -> bool {
        name.strip_prefix(self.0.as_str()).is_some_and(|rest| {
            let is_within_number = self.0.ends_with(|last: char| last.is_ascii_digit());
            !(is_within_number && rest.starts_with(|next: char| next.is_ascii_digit()))
        })
    }

    /// Returns whether a figure whose name begins with `prefix` can be selected.
    pub(crate) fn overlaps(&self, prefix: &str) -> bool {
        prefix.starts_with(&self.0) || self.0.starts_with(prefix)
    }

    /// Prints a figure if it is selected.
    pub(crate) fn print(&self, name: &str, value: f64, unit: &str) -> Result<()> {
        if !self.selects(name) {
            return Ok(());
        }
        let value = if value >= 100.0 {
            format!("{value:.0}")
        } else {
            format!("{value:.3}")
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "figure {name} {value} {unit}")
            .and_then(|()| out.flush())
            .map_err(|error| Error::invalid(format!("cannot write to the standard output: {error}")))
    }
}

/// Measures time from its creation on.
pub(crate) struct Stopwatch(Duration);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(SystemClock.elapsed())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        SystemClock.elapsed().saturating_sub(self.0)
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.elapsed().as_secs_f64()
    }
}
