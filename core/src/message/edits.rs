//! Texts of the reference engine about edits of a state.

use super::Text;

/// Returns the reference engine's text for a URN that the state does not have; `near` are similar ones.
pub(crate) fn unknown_record(urn: &str, near: &[&str]) -> String {
    let mut text = format!("No such resource \"{urn}\" exists in the current state");
    if !near.is_empty() {
        text.push_str("\nDid you mean:");
    }
    near.iter().for_each(|near| text.push_str(&format!("\n  {near}")));
    text
}

/// Returns the reference engine's refusal to delete a protected record.
pub(crate) fn protected_record(urn: &str) -> String {
    format!(
        "{urn} can't be safely deleted because it is protected. Re-run this command with --force to force deletion"
    )
}

/// Returns the reference engine's refusal to delete a record; `dependents` has a line for each that depends on it.
pub(crate) fn needed_record(urn: &str, dependents: &str) -> String {
    format!(
        "{urn} can't be safely deleted because the following resources depend on it:{dependents}\n\nDelete those resources \
         first or pass --target-dependents."
    )
}

/// Returns the text for a document whose secrets the key of the stack cannot encrypt, after the reason; `library` is the library's.
pub(crate) fn cannot_encrypt(reason: &str, library: &str) -> Text {
    Text::pair(
        format!("constructing deployment for upload: failed to encrypt: {reason}"),
        library,
    )
}
