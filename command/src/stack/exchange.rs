//! `stack export` and `stack import`.

use std::fs;

use stackwright::{Error, ErrorKind};

use crate::{
    arguments::StackExport,
    failure::{Failure, Result, WRONG_PASSPHRASE},
    session::Session,
    text,
};

/// What the reference engine calls a failed reading of a state.
const UNREADABLE: &str = "could not deserialize deployment: ";

/// The advice of the reference engine after a wrong passphrase.
const CORRECT_PASSPHRASE: &str = "please set PULUMI_CONFIG_PASSPHRASE to the correct passphrase or set \
                                  PULUMI_CONFIG_PASSPHRASE_FILE to a file containing the passphrase";

/// Prints the state, or writes it into a file.
pub(super) async fn export(session: &Session<'_>, arguments: &StackExport) -> Result {
    let named = session.stack_or_selected(arguments.stack.stack.as_deref())?;
    if arguments.version.is_some() {
        let host = stackwright::store::HostFacts::system().hostname;
        return Err(Failure::new(format!(
            "the current backend ({host}) does not provide the ability to export previous deployments"
        )));
    }
    let stack = session.stack(&named).await?;
    if arguments.show_secrets {
        session
            .require_key(&named.name)
            .await
            .map_err(|failure| failure.after(UNREADABLE))?;
    }
    let exported = stack.export_deployment(arguments.show_secrets).await;
    let exported = exported.map_err(unreadable)?;
    let document = text::utf8(exported)?;
    let document = document.trim_end();
    match &arguments.file {
        None => session.invocation.print(document),
        Some(file) => fs::write(session.invocation.path(file), format!("{document}\n")).map_err(|error| {
            Failure::new(format!(
                "could not open file: open {file}: {}",
                text::reason(&error)
            ))
        })?,
    }
    Ok(())
}

/// Replaces the state by a document.
pub(super) async fn import(
    session: &Session<'_>,
    stack: Option<&str>,
    file: Option<&str>,
    force: bool,
) -> Result {
    let named = session.stack_or_selected(stack)?;
    let stack = session.stack(&named).await?;
    let document = match file {
        Some(file) => fs::read(session.invocation.path(file)).map_err(|error| {
            Failure::new(format!(
                "could not open file: open {file}: {}",
                text::reason(&error)
            ))
        })?,
        None => (session.invocation.stdin)()
            .map_err(|error| Failure::new(format!("reading the standard input: {error}")))?,
    };
    let imported = stack.import_deployment_with(&document, force, false).await;
    let report = imported.map_err(|error| match error.kind() {
        ErrorKind::Conflict => Failure::from(error).after("could not import deployment: "),
        _ => unreadable(error),
    })?;
    for warning in &report.warnings {
        session.invocation.warn(warning);
    }
    session.invocation.print("Import complete.");
    Ok(())
}

/// Returns the failure of reading a state whose secrets cannot be decrypted.
fn unreadable(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::Decrypt if error.phase() == Some("encrypt") => error.into(),
        ErrorKind::Decrypt if error.message().ends_with(WRONG_PASSPHRASE) => Failure::new(format!(
            "{UNREADABLE}failed to decrypt: {WRONG_PASSPHRASE}, {CORRECT_PASSPHRASE}"
        )),
        ErrorKind::Decrypt => Failure::from(error).after(UNREADABLE),
        _ => error.into(),
    }
}
