//! Failures of a command: what is written to standard error, and the exit code.

use stackwright::{Error, ErrorKind, store::HostFacts};

/// The exit code of failures without one of their own.
const GENERAL: i32 = 1;
/// The exit code of a command that needs a confirmation.
const CONFIRMATION: i32 = 2;
/// The exit code when no store of states is known.
const LOGIN: i32 = 3;
/// The exit code for a stack that does not exist.
const NO_STACK: i32 = 6;
/// The exit code of an operation that was to change nothing, and would, or did.
const CHANGES: i32 = 7;
/// The exit code of a cancelled operation.
const CANCELED: i32 = 8;

/// The error of a missing passphrase.
pub(crate) const NO_PASSPHRASE: &str = "passphrase must be set with PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE environment variables";
/// The error of a wrong passphrase.
pub(crate) const WRONG_PASSPHRASE: &str = "incorrect passphrase";
/// The errors in which the reference engine names neither stack nor file.
const UNNAMED: [&str; 2] = [WRONG_PASSPHRASE, NO_PASSPHRASE];

/// A result whose error is a [`Failure`].
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) code: i32,
    /// What follows `error: `; empty when the reasons have been written already.
    pub(crate) message: String,
    /// The subcommand whose help is printed.
    pub(crate) help: Option<&'static str>,
}

impl Failure {
    /// Creates a failure with the exit code 1.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::coded(GENERAL, message)
    }

    /// Creates the failure of a command that needs a confirmation.
    pub(crate) fn unconfirmed(message: impl Into<String>) -> Self {
        Self::coded(CONFIRMATION, message)
    }

    /// Creates the failure of a command that asks a question, where none can be asked.
    pub(crate) fn needs_yes() -> Self {
        Self::new("non-interactive mode requires --yes flag")
    }

    /// Creates the failure of a command that has no store of states.
    pub(crate) fn no_store(message: impl Into<String>) -> Self {
        Self::coded(LOGIN, message)
    }

    /// Creates the failure for a stack that does not exist, named as the user has written it.
    pub(crate) fn no_stack(name: &str) -> Self {
        Self::coded(NO_STACK, format!("no stack named '{name}' found"))
    }

    /// Creates the failure of `stack select` without a name.
    pub(crate) fn unnamed_stack() -> Self {
        Self::coded(NO_STACK, "no stack selected; specify a stack name with --stack")
    }

    /// Creates the failure of an operation that was to change nothing.
    pub(crate) fn changes(noun: &str) -> Self {
        Self::coded(
            CHANGES,
            format!("no changes were expected for {noun} but changes were proposed"),
        )
    }

    /// Creates the failure of a command that works on environments, which only a service has.
    pub(crate) fn no_environments() -> Self {
        let host = HostFacts::system().hostname;
        Self::new(format!(
            "backend {host} does not support environments; Pulumi ESC environments require the Pulumi Cloud backend, use \
             `pulumi login` without arguments to log into the Pulumi Cloud backend"
        ))
    }

    /// Creates the failure of a wrong number of arguments, before which the help of the subcommand is printed.
    pub(crate) fn usage(subcommand: &'static str, message: impl Into<String>) -> Self {
        Self {
            help: Some(subcommand),
            ..Self::new(message)
        }
    }

    /// Creates the failure of a cancelled operation.
    pub(crate) fn canceled() -> Self {
        Self::coded(CANCELED, "")
    }

    /// Creates the failure of a command that the user does not confirm.
    pub(crate) fn declined() -> Self {
        Self::new("confirmation declined")
    }

    /// Creates a failure whose reasons have been written already.
    pub(crate) fn reported() -> Self {
        Self::new("")
    }

    /// Returns whether the named stack does not exist.
    pub(crate) fn is_no_stack(&self) -> bool {
        self.code == NO_STACK
    }

    fn coded(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            help: None,
        }
    }

    /// Puts words before the message.
    #[must_use]
    pub(crate) fn after(self, words: &str) -> Self {
        // What has been written already, or needs no words, gets none.
        let message = match self.message.is_empty() {
            true => String::new(),
            false => format!("{words}{}", self.message),
        };
        Self { message, ..self }
    }
}

impl Failure {
    /// Puts a line after the message.
    #[must_use]
    pub(crate) fn followed_by(self, line: &str) -> Self {
        Self {
            message: format!("{}\n{line}", self.message),
            ..self
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Cancelled => Self::canceled(),
            _ => Self::new(message_of(&error)),
        }
    }
}

/// Returns the reference engine's text of an error. The library names the stack, or the file, first where that engine does not.
fn message_of(error: &Error) -> String {
    let text = error.text().reference();
    let is_reference = text != error.text().library();
    if !is_reference && let Some(unnamed) = UNNAMED.into_iter().find(|unnamed| text.ends_with(unnamed)) {
        return unnamed.to_owned();
    }
    let unnamed = text
        .strip_prefix("stack '")
        .and_then(|rest| rest.split_once("': "))
        .map(|(_, rest)| rest);
    unnamed.unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_stack_before_an_error_is_left_out() {
        for (text, shown) in [
            ("stack 'shop/dev': incorrect passphrase", "incorrect passphrase"),
            (
                "stack 'organization/shop/dev' already exists",
                "stack 'organization/shop/dev' already exists",
            ),
            ("no passphrase", "no passphrase"),
        ] {
            assert_eq!(message_of(&Error::invalid(text)), shown);
        }
    }
}
