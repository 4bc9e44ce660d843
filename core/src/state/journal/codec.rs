//! The file form of a journal: one line for each entry, each with its own checksum.
//!
//! A line is the CRC-32 (IEEE) of its JSON text as 8 lower-case hex digits, a space, the JSON text without line
//! breaks, and a newline. The first line is the header ([`JournalHeader`]); then come the entries
//! ([`super::EntryJson`]) in the order of their sequence, with gaps where elided ones are left out; the last line may
//! be `{"folded": hash}`, written before the checkpoint with that hash takes the place of the one in the header.

use serde::{Deserialize, Serialize};

use super::{
    entry_json::{EntryFields, EntryJson, for_each_state},
    header::{FORMAT, JournalHeader},
};
use crate::{
    error::{Error, ErrorKind, Result},
    property::json::{self, SecretForm},
    secrets::SecretsManager,
    state::{
        JournalEntry,
        deployment::{encrypt, parse},
    },
};

/// The digits and the space before the JSON text.
const PREFIX: usize = 9;

#[derive(Serialize, Deserialize)]
struct Folded {
    folded: String,
}

fn push_line(lines: &mut Vec<u8>, document: &impl Serialize) -> Result<()> {
    let start = lines.len();
    lines.extend_from_slice(b"00000000 ");
    json::to_writer(&mut *lines, document)?;
    let checksum = crc32fast::hash(&lines[start + PREFIX..]);
    lines[start..start + PREFIX - 1].copy_from_slice(format!("{checksum:08x}").as_bytes());
    lines.push(b'\n');
    Ok(())
}

/// Encodes the first line.
///
/// # Errors
/// [`ErrorKind::State`] when it cannot be written as JSON.
pub fn encode_header(header: &JournalHeader) -> Result<Vec<u8>> {
    let mut lines = Vec::with_capacity(512);
    push_line(&mut lines, header)?;
    Ok(lines)
}

/// Encodes a batch of entries; their secrets are encrypted in one batch, too.
///
/// # Errors
/// [`ErrorKind::Secrets`] when a secret cannot be encrypted, or there is no manager for it.
pub async fn encode_entries<E: AsRef<JournalEntry> + Sync>(
    entries: &[E],
    secrets: Option<&dyn SecretsManager>,
) -> Result<Vec<u8>> {
    let mut states = Vec::with_capacity(entries.len());
    entries
        .iter()
        .for_each(|entry| for_each_state(entry.as_ref(), |state| states.push(state)));
    let ciphertexts = encrypt(states.into_iter(), secrets).await?;
    let mut lines = Vec::with_capacity(entries.len() * 768);
    for entry in entries {
        push_line(
            &mut lines,
            &EntryJson::new(entry.as_ref(), SecretForm::Encrypted(&ciphertexts)),
        )?;
    }
    Ok(lines)
}

/// Encodes the last line: the checkpoint that holds everything has this hash.
///
/// # Errors
/// [`ErrorKind::State`] when it cannot be written as JSON.
pub fn encode_folded(checkpoint: &str) -> Result<Vec<u8>> {
    let mut lines = Vec::with_capacity(96);
    push_line(
        &mut lines,
        &Folded {
            folded: checkpoint.to_owned(),
        },
    )?;
    Ok(lines)
}

/// A journal as it was read, its secrets still sealed.
pub(super) struct Decoded {
    pub(super) header: JournalHeader,
    pub(super) entries: Vec<EntryFields>,
    pub(super) folded: Option<String>,
    /// True when the last line was not written to its end.
    pub(super) torn: bool,
}

/// Decodes a journal; `None` when not even its header was written to its end.
///
/// # Errors
/// [`ErrorKind::State`] that names the line when anything but the last line is damaged, or the format is not known.
pub(super) fn decode(journal: &[u8]) -> Result<Option<Decoded>> {
    let mut decoded: Option<Decoded> = None;
    let mut rest = journal;
    let mut number = 0_usize;
    while !rest.is_empty() {
        number += 1;
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, following) = match end {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (rest, &rest[rest.len()..]),
        };
        rest = following;
        let Some(text) = check(line).filter(|_| end.is_some()) else {
            if rest.is_empty() {
                if let Some(decoded) = &mut decoded {
                    decoded.torn = true;
                }
                return Ok(decoded);
            }
            return Err(damaged(number, "its checksum is wrong"));
        };
        match &mut decoded {
            None => {
                let header: JournalHeader =
                    parse(text).map_err(|error| damaged(number, &error.to_string()))?;
                if header.format != FORMAT {
                    let message = format!(
                        "the journal has format {}, this engine knows {FORMAT}",
                        header.format
                    );
                    return Err(Error::new(ErrorKind::State, message));
                }
                decoded = Some(Decoded {
                    header,
                    entries: Vec::new(),
                    folded: None,
                    torn: false,
                });
            }
            Some(decoded) => decoded.add(text).map_err(|error| damaged(number, &error))?,
        }
    }
    Ok(decoded)
}

impl Decoded {
    fn add(&mut self, text: &[u8]) -> Result<(), String> {
        if self.folded.is_some() {
            return Err("it comes after the last".to_owned());
        }
        if text.starts_with(br#"{"folded":"#) {
            let line: Folded = parse(text).map_err(|error| error.to_string())?;
            self.folded = Some(line.folded);
            return Ok(());
        }
        let entry: EntryFields = parse(text).map_err(|error| error.to_string())?;
        if let Some(last) = self.entries.last().filter(|last| last.sequence >= entry.sequence) {
            return Err(format!(
                "entry {} follows entry {}",
                entry.sequence, last.sequence
            ));
        }
        self.entries.push(entry);
        Ok(())
    }
}

/// Returns the JSON text of a line whose checksum is right.
fn check(line: &[u8]) -> Option<&[u8]> {
    let (prefix, text) = line.split_at_checked(PREFIX)?;
    let digits = std::str::from_utf8(prefix.strip_suffix(b" ")?).ok()?;
    let checksum = u32::from_str_radix(digits, 16).ok()?;
    (crc32fast::hash(text) == checksum).then_some(text)
}

fn damaged(number: usize, why: &str) -> Error {
    Error::new(
        ErrorKind::State,
        format!("line {number} of the journal is damaged: {why}"),
    )
}
