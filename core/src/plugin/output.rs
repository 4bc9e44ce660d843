//! The output of a plugin after its port: lines that become diagnostics, and a buffer of the last lines.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::io::AsyncBufRead;

use super::output_lines::OutputLines;
use crate::diagnostic::{Diagnostic, Severity};

/// Receives a plugin's diagnostics. Called from the task that reads the plugin's pipes, so it must not block.
pub(crate) type DiagnosticSink = Arc<dyn Fn(Diagnostic) + Send + Sync>;

/// Number of lines that are kept for the message about a plugin that ended unexpectedly.
const REMEMBERED_LINES: usize = 50;

/// The stream that a plugin wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Passes the lines of a plugin to its current user.
#[derive(Default)]
pub(crate) struct OutputRoute {
    sink: Mutex<Option<DiagnosticSink>>,
    remembered: Mutex<VecDeque<String>>,
    visible: bool,
}

impl OutputRoute {
    /// Creates a route; the lines of a `visible` plugin are informational, those of others are debug messages.
    #[must_use]
    pub(crate) fn new(sink: Option<DiagnosticSink>, visible: bool) -> Self {
        Self {
            sink: Mutex::new(sink),
            remembered: Mutex::default(),
            visible,
        }
    }

    /// Changes the destination of later lines; `None` drops them. The buffered lines of the previous user are removed.
    pub(crate) fn redirect(&self, sink: Option<DiagnosticSink>) {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        *self.sink.lock().unwrap_or_else(PoisonError::into_inner) = sink;
    }

    /// Passes a diagnostic on.
    pub(crate) fn emit(&self, diagnostic: Diagnostic) {
        let sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(sink) = sink {
            sink(diagnostic);
        }
    }

    /// Returns the last lines, each with a line break, oldest first.
    #[must_use]
    pub(crate) fn last_lines(&self) -> String {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.iter().fold(String::new(), |mut text, line| {
            text.push_str(line);
            text.push('\n');
            text
        })
    }

    fn line(&self, stream: Stream, text: String) {
        let severity = match (self.visible, stream) {
            (false, _) => Severity::Debug,
            (true, Stream::Output) => Severity::Info,
            (true, Stream::Error) => Severity::InfoError,
        };
        {
            let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
            if remembered.len() == REMEMBERED_LINES {
                remembered.pop_front();
            }
            remembered.push_back(text.clone());
        }
        self.emit(Diagnostic::new(severity, text));
    }

    /// Reads a pipe until its end, also when lines are dropped, so that the plugin never blocks on writing.
    pub(super) async fn drain(&self, stream: Stream, reader: impl AsyncBufRead + Unpin) {
        let mut lines = OutputLines::new(reader);
        while let Some(line) = lines.next_line().await {
            if !line.is_empty() {
                self.line(stream, line);
            }
        }
    }
}

impl fmt::Debug for OutputRoute {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OutputRoute")
            .field("visible", &self.visible)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collector() -> (DiagnosticSink, Arc<Mutex<Vec<Diagnostic>>>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        (
            Arc::new(move |diagnostic| kept.lock().unwrap().push(diagnostic)),
            seen,
        )
    }

    #[tokio::test]
    async fn lines_go_to_the_current_sink_and_the_last_are_buffered() {
        let (sink, seen) = collector();
        let route = OutputRoute::new(Some(sink), true);
        route.drain(Stream::Output, &b"one\n\ntwo\r\n"[..]).await;
        route.drain(Stream::Error, &b"three"[..]).await;
        route.redirect(None);
        let many: String = (0..60).map(|number| format!("{number}\n")).collect();
        route.drain(Stream::Output, many.as_bytes()).await;
        assert_eq!(
            *seen.lock().unwrap(),
            [
                Diagnostic::new(Severity::Info, "one"),
                Diagnostic::new(Severity::Info, "two"),
                Diagnostic::new(Severity::InfoError, "three"),
            ]
        );
        assert!(!route.last_lines().contains("three"), "{}", route.last_lines());
        assert!(route.last_lines().starts_with("10\n11\n"));
        assert!(route.last_lines().ends_with("\n59\n"));
    }

    #[tokio::test]
    async fn a_word_of_an_endless_line_is_shown_whole_or_not_at_all() {
        let (sink, seen) = collector();
        let route = OutputRoute::new(Some(sink), false);
        let limit = usize::try_from(super::super::output_lines::LINE_LIMIT).unwrap();
        let exact = "x".repeat(limit);
        let secret = "hunter2-and-more";
        let before = "y".repeat(limit - 8);
        let lines = format!("{exact}\n{before} {secret}{exact}\n{secret}{exact}\nend\n");
        route.drain(Stream::Output, lines.as_bytes()).await;
        let seen = seen.lock().unwrap();
        let lines: Vec<&str> = seen.iter().map(|line| line.message.reference()).collect();
        let left_out = limit + secret.len();
        assert_eq!(
            lines,
            [
                exact.as_str(),
                &format!("{before}… ({} bytes of this line are left out)", left_out + 1),
                &format!("… ({left_out} bytes of this line are left out)"),
                "end",
            ]
        );
    }
}
