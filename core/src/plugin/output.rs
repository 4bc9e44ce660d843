//! What a plugin writes after its port: lines that become diagnostics, and a short memory of the last ones.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

use crate::diagnostic::{Diagnostic, Severity};

/// Takes what a plugin has to say. It is called from the task that empties the plugin's pipes, so it must not block.
pub type DiagnosticSink = Arc<dyn Fn(Diagnostic) + Send + Sync>;

/// How many bytes of a line are read at once; a longer line arrives in pieces.
const LINE_LIMIT: u64 = 16 * 1024;
/// How many lines are remembered for the message about a plugin that died.
const REMEMBERED_LINES: usize = 50;

/// Which of its two streams a plugin wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Where the lines of a plugin go: to whoever uses the plugin at the time.
#[derive(Default)]
pub struct OutputRoute {
    sink: Mutex<Option<DiagnosticSink>>,
    remembered: Mutex<VecDeque<String>>,
    visible: bool,
}

impl OutputRoute {
    /// Creates a route; the lines of a `visible` plugin are for people, those of others for debugging.
    #[must_use]
    pub fn new(sink: Option<DiagnosticSink>, visible: bool) -> Self {
        Self {
            sink: Mutex::new(sink),
            remembered: Mutex::default(),
            visible,
        }
    }

    /// Sends what comes from now on somewhere else; `None` drops it. The lines of the previous user are forgotten.
    pub fn redirect(&self, sink: Option<DiagnosticSink>) {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        *self.sink.lock().unwrap_or_else(PoisonError::into_inner) = sink;
    }

    /// Passes a diagnostic on.
    pub fn tell(&self, diagnostic: Diagnostic) {
        let sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(sink) = sink {
            sink(diagnostic);
        }
    }

    /// Returns the last lines, each with its end, oldest first.
    #[must_use]
    pub fn last_lines(&self) -> String {
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
        self.tell(Diagnostic::new(severity, text));
    }

    /// Empties a pipe until its end, whatever the lines' fate, so that the plugin never waits for us.
    pub(super) async fn drain(&self, stream: Stream, mut reader: impl AsyncBufRead + Unpin) {
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut reader).take(LINE_LIMIT).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {
                    let text = String::from_utf8_lossy(&line);
                    let text = text.trim_end_matches(['\n', '\r']);
                    if !text.is_empty() {
                        self.line(stream, text.to_owned());
                    }
                }
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
    async fn lines_go_to_the_sink_of_the_moment_and_the_last_are_remembered() {
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
    async fn an_endless_line_arrives_in_pieces() {
        let (sink, seen) = collector();
        let route = OutputRoute::new(Some(sink), false);
        let line = vec![b'x'; 40_000];
        route.drain(Stream::Output, line.as_slice()).await;
        let lengths: Vec<usize> = seen
            .lock()
            .unwrap()
            .iter()
            .map(|line| line.message.reference().len())
            .collect();
        assert_eq!(lengths, [16384, 16384, 7232]);
    }
}
