//! `stack change-secrets-provider`.

use std::sync::Arc;

use stackwright::{binding::edit_report_document, secrets::kind::PASSPHRASE};

use super::select::check_provider;
use crate::{
    failure::{Failure, Result},
    printer::Printer,
    session::Session,
};

/// The questions for a new passphrase.
const NEW: &str = "Enter your new passphrase to protect config/secrets: ";
const AGAIN: &str = "Re-enter your passphrase to confirm: ";

/// Encrypts the secrets of the state and of the settings file with another key.
pub(super) async fn change(
    session: &Session<'_>,
    printer: Printer<'_>,
    stack: Option<&str>,
    provider: &str,
) -> Result {
    let named = session.stack_or_selected(stack)?;
    let key_service = check_provider(session, provider)?;
    let stack = session.named_stack(&named).await?;
    session.require_key(&named.name).await?;
    // `default` keeps the passphrase of the environment.
    let passphrase = match provider {
        _ if key_service.is_some() => None,
        PASSPHRASE if session.has_engine_of_host() => {
            return Err(Failure::new(
                "the secrets are encrypted as the engine of the host does: change them through the library, with change_secrets()",
            ));
        }
        PASSPHRASE => Some(new_passphrase(session).await?),
        _ => None,
    };
    printer.prose("Migrating old configuration and state to new secrets provider");
    let report = match passphrase {
        Some(passphrase) => stack.change_passphrase(&passphrase, false).await?,
        None => {
            let secrets = key_service.unwrap_or_else(|| session.secrets());
            stack.change_secrets(secrets, false).await?
        }
    };
    for warning in &report.warnings {
        session.invocation.warn(warning);
    }
    printer.report(|| edit_report_document(&report))
}

/// Asks twice for a passphrase, or reads the first line of the standard input.
async fn new_passphrase(session: &Session<'_>) -> Result<String> {
    let invocation = session.invocation;
    let passphrase = match &invocation.terminal.ask_hidden {
        Some(ask) => {
            let typed = async |question| -> Result<String> {
                let answer = invocation.answer(ask, question).await?.unwrap_or_default();
                Ok(answer.trim_end_matches(['\r', '\n']).to_owned())
            };
            let (first, second) = (typed(NEW).await?, typed(AGAIN).await?);
            if first != second {
                return Err(Failure::new("passphrases do not match"));
            }
            first
        }
        None => {
            let read = (Arc::clone(&invocation.stdin))()
                .map_err(|error| Failure::new(format!("reading the standard input: {error}")))?;
            let text = String::from_utf8(read)
                .map_err(|_| Failure::new("the standard input is no text in UTF-8"))?;
            text.lines().next().unwrap_or_default().to_owned()
        }
    };
    match passphrase.is_empty() {
        true => Err(Failure::new(
            "the new passphrase is empty: it is the first line of the standard input, or typed at a terminal",
        )),
        false => Ok(passphrase),
    }
}
