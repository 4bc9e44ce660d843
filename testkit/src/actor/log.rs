//! The log of the actor: all that the engine traces, as lines on standard error.

use std::{
    fmt::{self, Write as _},
    io::{self, Write as _},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// Writes the engine's events, of every level.
struct Log;

/// The fields of an event as text.
#[derive(Default)]
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // A text accepts everything.
        write!(self.0, " {field}={value:?}").unwrap_or_default();
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("stackwright")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(span.metadata().name().to_owned());
        span.record(&mut line);
        write_line(&line);
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, values: &Record<'_>) {
        let mut line = Line::default();
        values.record(&mut line);
        write_line(&line);
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        write_line(&line);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

fn write_line(line: &Line) {
    // The director may be gone.
    drop(writeln!(io::stderr(), "{}", line.0));
}

/// Writes all that the engine traces to standard error, from here on.
///
/// # Errors
/// When this process has a log already.
pub fn log_to_stderr() -> Result<(), String> {
    tracing::subscriber::set_global_default(Log).map_err(|error| error.to_string())
}
