//! What a command prints of what it has done: prose for readers, or one document for programs in its place.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use stackwright::property::json::from_slice;

use crate::{
    failure::{Failure, Result},
    invocation::{Ask, Invocation},
    text,
};

/// What a command prints of what it has done. Prose is left out where a document is requested, and a document where none is.
#[derive(Clone, Copy)]
pub(crate) struct Printer<'a> {
    invocation: &'a Invocation,
    is_document: bool,
}

impl<'a> Printer<'a> {
    /// Creates a printer of prose, or of a document.
    pub(crate) fn new(invocation: &'a Invocation, is_document: bool) -> Self {
        Self {
            invocation,
            is_document,
        }
    }

    /// Returns whether a document is printed.
    pub(crate) fn is_document(&self) -> bool {
        self.is_document
    }

    /// Prints a line of prose.
    pub(crate) fn prose(&self, line: impl AsRef<str>) {
        if !self.is_document {
            self.invocation.print(line);
        }
    }

    /// Prints whole lines of prose, or nothing.
    pub(crate) fn lines(&self, text: &str) {
        if !self.is_document {
            self.invocation.write(text);
        }
    }

    /// Prints a warning among the prose, or to standard error where a document is printed.
    pub(crate) fn warning(&self, text: impl AsRef<str>) {
        match self.is_document {
            true => self.invocation.warn(text),
            false => self.invocation.print(format!("warning: {}", text.as_ref())),
        }
    }

    /// Prints the document.
    pub(crate) fn document(&self, value: &impl Serialize) -> Result {
        if self.is_document {
            self.invocation.print(text::document(value)?);
        }
        Ok(())
    }

    /// Prints a line of prose, or the document in its place.
    pub(crate) fn end(&self, line: impl AsRef<str>, value: &impl Serialize) -> Result {
        self.prose(line);
        self.document(value)
    }

    /// Prints a report of the library as the document; its members are sorted. It is made where a document is requested.
    pub(crate) fn report(&self, report: impl FnOnce() -> stackwright::Result<Vec<u8>>) -> Result {
        match self.is_document {
            true => self.document(&from_slice::<Value>(&report()?)?),
            false => Ok(()),
        }
    }

    /// Prints a line of prose, or a report of the library in its place.
    pub(crate) fn end_with_report(
        &self,
        line: impl AsRef<str>,
        report: impl FnOnce() -> stackwright::Result<Vec<u8>>,
    ) -> Result {
        self.prose(line);
        self.report(report)
    }

    /// Returns an invocation for the output of other programs: where a document is printed, that is written to standard error.
    pub(crate) fn aside(&self) -> Invocation {
        let mut invocation = self.invocation.clone();
        if self.is_document {
            invocation.stdout = Arc::clone(&invocation.stderr);
        }
        invocation
    }

    /// Returns what asks the user, unless nothing is to be asked: nothing is where a document is printed.
    pub(crate) fn ask(&self) -> Option<&'a Ask> {
        self.invocation
            .terminal
            .ask
            .as_ref()
            .filter(|_| !self.is_document)
    }

    /// Refuses a document of what is not confirmed: there is no question.
    pub(crate) fn require_confirmation(&self, yes: bool) -> Result {
        match self.is_document && !self.invocation.is_confirmed(yes) {
            true => Err(Failure::needs_yes()),
            false => Ok(()),
        }
    }

    /// Asks the user of a terminal, unless that is confirmed already, and returns the answer.
    ///
    /// # Errors
    /// A document is requested, and there is a terminal.
    pub(crate) async fn confirm(&self, yes: bool, question: &str) -> Result<bool> {
        if self.invocation.terminal.ask.is_some() {
            self.require_confirmation(yes)?;
        }
        self.invocation.confirm(yes, question).await
    }

    /// The same for a user who types the name of a stack. The consequence is a sentence.
    pub(crate) async fn confirm_by_name(&self, yes: bool, consequence: &str, name: &str) -> Result {
        if self.invocation.terminal.ask.is_some() {
            self.require_confirmation(yes)?;
        }
        self.invocation.confirm_by_name(yes, consequence, name).await
    }
}
