//! `stack export` and `stack import`.

use std::{collections::BTreeMap, fs};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use stackwright::{Error, ErrorKind, binding::edit_report_document};

use crate::{
    arguments::StackExport,
    failure::{Failure, Result, WRONG_PASSPHRASE},
    printer::Printer,
    session::Session,
    text,
};

/// The members of a document that hold the state, and its pending operations.
const DEPLOYMENT: &str = "deployment";
const PENDING_OPERATIONS: &str = "pending_operations";

/// What the reference engine calls a failed reading of a state.
const UNREADABLE: &str = "could not deserialize deployment: ";

/// The advice of the reference engine after a wrong passphrase.
const CORRECT_PASSPHRASE: &str = "please set PULUMI_CONFIG_PASSPHRASE to the correct passphrase or set \
                                  PULUMI_CONFIG_PASSPHRASE_FILE to a file containing the passphrase";

/// The document of `stack export` into a file. Without a file, the state is the document.
#[derive(Serialize)]
struct Written<'a> {
    name: String,
    file: &'a str,
}

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
    let Some(file) = &arguments.file else {
        session.invocation.print(document);
        return Ok(());
    };
    fs::write(session.invocation.path(file), format!("{document}\n")).map_err(|error| {
        Failure::new(format!(
            "could not open file: open {file}: {}",
            text::reason(&error)
        ))
    })?;
    Printer::new(session.invocation, arguments.form.is_json()).document(&Written {
        name: session.shown(&named.name),
        file,
    })
}

/// Replaces the state by a document.
pub(super) async fn import(
    session: &Session<'_>,
    printer: Printer<'_>,
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
    let (document, removed) = without_pending_operations(document);
    let imported = stack.import_deployment_with(&document, force, false).await;
    let mut report = imported.map_err(|error| match error.kind() {
        ErrorKind::Conflict => Failure::from(error).after("could not import deployment: "),
        _ => unreadable(error),
    })?;
    report.warnings.splice(..0, removed);
    for warning in &report.warnings {
        session.invocation.warn(warning);
    }
    printer.end_with_report("Import complete.", || edit_report_document(&report))
}

/// Removes the pending operations of a document, as the reference engine does, and returns a warning for each. A text that is no document
/// stays as it is: the import refuses it.
fn without_pending_operations(document: Vec<u8>) -> (Vec<u8>, Vec<String>) {
    let removed = || -> serde_json::Result<(Vec<u8>, Vec<String>)> {
        let mut members: BTreeMap<String, &RawValue> = serde_json::from_slice(&document)?;
        let Some(deployment) = members.get(DEPLOYMENT) else {
            return Ok((document.clone(), Vec::new()));
        };
        let mut parts: BTreeMap<String, &RawValue> = serde_json::from_str(deployment.get())?;
        let Some(pending) = parts.remove(PENDING_OPERATIONS) else {
            return Ok((document.clone(), Vec::new()));
        };
        let pending: Option<Vec<PendingDocument>> = serde_json::from_str(pending.get())?;
        let warnings = pending.unwrap_or_default().into_iter().map(|pending| {
            let PendingDocument { kind, resource } = pending;
            format!(
                "removing pending operation '{kind}' on '{}' from snapshot",
                resource.urn
            )
        });
        let warnings = warnings.collect();
        let rest = serde_json::value::to_raw_value(&parts)?;
        members.insert(DEPLOYMENT.to_owned(), &rest);
        Ok((serde_json::to_vec(&members)?, warnings))
    };
    removed().unwrap_or_else(|_| (document.clone(), Vec::new()))
}

/// A pending operation of a document.
#[derive(Deserialize)]
struct PendingDocument {
    #[serde(rename = "type")]
    kind: String,
    resource: PendingResource,
}

#[derive(Deserialize)]
struct PendingResource {
    urn: String,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_operations_are_removed_and_all_else_stays_as_it_is_written() {
        let document = br#"{"version":3,"deployment":{"resources":[{"n":1.10}],"pending_operations":[{"type":"creating","resource":{"urn":"U","x":1}}]}}"#;
        let (text, warnings) = without_pending_operations(document.to_vec());
        assert_eq!(
            String::from_utf8(text).unwrap(),
            r#"{"deployment":{"resources":[{"n":1.10}]},"version":3}"#
        );
        assert_eq!(
            warnings,
            ["removing pending operation 'creating' on 'U' from snapshot"]
        );
    }

    #[test]
    fn a_text_without_pending_operations_is_not_changed() {
        for text in [
            "",
            "{}",
            "not JSON",
            r#"{"deployment": null}"#,
            r#"{"deployment": {}, "version": 3}"#,
            r#"{"deployment":{"pending_operations":3}}"#,
        ] {
            let (kept, warnings) = without_pending_operations(text.into());
            assert_eq!((kept.as_slice(), warnings.len()), (text.as_bytes(), 0));
        }
    }
}
