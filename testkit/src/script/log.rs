//! The log of calls: request, begin and end of each.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::trace::Trace;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// Still running.
    Running,
    /// Answered.
    Answered,
    /// Failed.
    Failed,
    /// Cancelled by the engine.
    GivenUp,
}

/// One call.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// The method.
    pub method: String,
    /// The resource's name, or the function.
    pub subject: String,
    /// The request, in the form of scenarios.
    pub request: Value,
    /// The place in the trace where it began.
    pub begin: usize,
    /// The place in the trace where it ended.
    pub end: Option<usize>,
    /// How it ended.
    pub outcome: CallOutcome,
}

impl CallRecord {
    /// Returns the name of the call: `create a`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{} {}", self.method, self.subject)
    }
}

/// All calls of one operation.
#[derive(Debug)]
pub struct CallLog {
    records: Arc<Mutex<Vec<CallRecord>>>,
    trace: Arc<Trace>,
}

impl CallLog {
    pub(super) fn new(trace: Arc<Trace>) -> Self {
        Self {
            records: Arc::default(),
            trace,
        }
    }

    /// Records the begin of a call. A ticket that is dropped before its end records a cancelled call.
    pub(super) fn begin(&self, method: &str, subject: &str, request: Value) -> Ticket {
        let label = format!("{method} {subject}");
        let begin = self.trace.note(label.clone());
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.push(CallRecord {
            method: method.to_owned(),
            subject: subject.to_owned(),
            request,
            begin,
            end: None,
            outcome: CallOutcome::Running,
        });
        Ticket {
            records: Arc::clone(&self.records),
            trace: Arc::clone(&self.trace),
            index: records.len() - 1,
            label,
            ended: false,
        }
    }

    /// Returns all calls in the order in which they began.
    #[must_use]
    pub fn records(&self) -> Vec<CallRecord> {
        let mut records = self
            .records
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        records.sort_by_key(|record| record.begin);
        records
    }
}

/// A running call.
#[derive(Debug)]
pub(super) struct Ticket {
    records: Arc<Mutex<Vec<CallRecord>>>,
    trace: Arc<Trace>,
    index: usize,
    label: String,
    ended: bool,
}

impl Ticket {
    pub(super) fn end(&mut self, answered: bool) {
        let (word, outcome) = match answered {
            true => ("done", CallOutcome::Answered),
            false => ("failed", CallOutcome::Failed),
        };
        self.close(word, outcome);
    }

    fn close(&mut self, word: &str, outcome: CallOutcome) {
        self.ended = true;
        let end = self.trace.note(format!("{} {word}", self.label));
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(record) = records.get_mut(self.index) {
            record.end = Some(end);
            record.outcome = outcome;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.ended {
            self.close("given up", CallOutcome::GivenUp);
        }
    }
}
