//! The journal: every change of a stack's state, durable before the engine acts on it.

pub(crate) mod codec;
mod entry_json;
mod header;
mod host;
mod orphan;
mod recover;
mod sink;
mod writer;

pub(crate) use codec::{Chain, JournalEnd, Torn};
pub use entry_json::EntryJson;
pub(crate) use header::{JournalHeader, JournalSecrets};
pub(crate) use host::HostJournal;
pub use host::JournalReceiver;
pub(crate) use recover::{Recovery, recover};
pub(crate) use sink::JournalSink;
#[cfg(test)]
pub(crate) use sink::MemoryJournal;
pub use sink::NoJournal;
pub use writer::Journal;

use crate::{error::Result, property::json, state::JournalEntry};

/// Returns an entry as JSON text without line breaks, with secrets in `form`, as hosts in other languages receive it.
///
/// # Errors
/// [`crate::ErrorKind::State`] when the form requires a ciphertext that a secret does not have.
pub fn entry_to_json(entry: &JournalEntry, form: json::SecretForm<'_>) -> Result<String> {
    let text = json::to_vec(&EntryJson::new(entry, form))?;
    String::from_utf8(text).map_err(|_| crate::Error::internal("a JSON text is not UTF-8"))
}

/// Returns the type and the state of the secrets manager that a journal names; `None` where it names none, or cannot be
/// read.
#[must_use]
pub(crate) fn secrets_of_journal(journal: &[u8]) -> Option<(String, Option<serde_json::Value>)> {
    let header = codec::decode(journal).ok()??.header;
    header.secrets.map(|secrets| (secrets.kind, secrets.state))
}

#[cfg(test)]
mod late_key_tests;
#[cfg(test)]
mod tests;
