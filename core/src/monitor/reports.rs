//! Reports of the program: diagnostics, and declarations that could not be read.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use crate::{
    diagnostic::{Diagnostic, Severity},
    error::{Error, ErrorKind},
    executor::{Executor, Failure},
    message::text_of_program,
    monitor::refused::RefusedRegistrations,
};

/// Records what the program of one run reports.
pub(super) struct Reports {
    executor: Arc<Executor>,
    /// The program has logged an error.
    has_errors: AtomicBool,
    /// The first declaration of the program that a binding could not read.
    pub(super) unreadable: OnceLock<Error>,
    pub(super) refused: RefusedRegistrations,
}

impl Reports {
    /// Creates the reports of a run.
    pub(super) fn new(executor: Arc<Executor>) -> Self {
        Self {
            executor,
            has_errors: AtomicBool::new(false),
            unreadable: OnceLock::new(),
            refused: RefusedRegistrations::default(),
        }
    }

    /// Emits a diagnostic of the program.
    pub(super) fn log(&self, mut diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            diagnostic.message = text_of_program(diagnostic.message.reference());
            self.has_errors.store(true, Ordering::Release);
        }
        self.executor.diagnose(diagnostic);
    }

    /// Returns whether the program has logged an error.
    pub(super) fn has_errors(&self) -> bool {
        self.has_errors.load(Ordering::Acquire)
    }

    /// Fails the operation with an error that the program caused after its end.
    pub(super) fn fail_late(&self, message: String) {
        let error = Error::new(ErrorKind::Program, message);
        self.executor.diagnose(Diagnostic::error(error.message()));
        self.executor.control().fail(Failure::Program(error), true);
    }
}
