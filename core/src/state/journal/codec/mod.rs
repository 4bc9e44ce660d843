//! The file form of a journal: one line for each entry, with a checksum that also covers the lines before it.
//!
//! A line is a CRC-32 (IEEE) as 8 lower-case hex digits, a space, a JSON text without line breaks, and a newline. The
//! first line is the header ([`JournalHeader`]); the entries ([`super::EntryJson`]) follow in the order of their
//! sequence, with gaps where elided ones are left out. `{"folded": hash}` is written before the checkpoint with that
//! hash, which contains all entries, replaces the one in the header. When that checkpoint was never written, the line
//! has no effect. Likewise `{"rebase": {…}}` ([`Rebase`]) is written before a checkpoint that contains the entries so
//! far. `{"secrets": {…}}` ([`JournalSecrets`]) precedes the first entry with a secret when the header names no manager,
//! because its key was still being derived.
//!
//! From format 2 on, the checksum of a line continues that of the line before, so that a removed, doubled, moved or
//! changed line is detected. Format 3, which has no lines of secrets, format 2, which has no entries of extensions either,
//! and format 1, in which each checksum covers its own line, are only read.

use serde::{Deserialize, Serialize};

use super::{
    entry_json::{EntryFields, EntryJson, for_each_state},
    header::{FORMAT, JournalHeader, JournalSecrets},
};
use crate::{
    error::{Error, ErrorKind, Result},
    property::json::{self, Ciphertexts, SecretForm},
    secrets::SecretsManager,
    state::{
        JournalEntry, Rebase,
        deployment::{encrypt, parse},
    },
};

/// The length of the checksum and the space before the JSON text.
const PREFIX_LEN: usize = 9;

/// The format in which each line has a checksum of its own.
const UNCHAINED_FORMAT: u32 = 1;

/// The first format with lines of secrets.
const SECRETS_FORMAT: u32 = 4;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Folded {
    folded: String,
}

const FOLDED: &[u8] = br#"{"folded":"#;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RebaseLine<T> {
    rebase: T,
}

const REBASE: &[u8] = br#"{"rebase":"#;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretsLine<T> {
    secrets: T,
}

const SECRETS: &[u8] = br#"{"secrets":"#;

/// The checksum state that the next line of a journal continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    format: u32,
    last: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            format: FORMAT,
            last: 0,
        }
    }
}

impl Chain {
    fn checksum(self, text: &[u8]) -> u32 {
        let seed = if self.format == UNCHAINED_FORMAT {
            0
        } else {
            self.last
        };
        let mut hasher = crc32fast::Hasher::new_with_initial(seed);
        hasher.update(text);
        hasher.finalize()
    }

    /// Returns the JSON text of a line, without its newline, when its checksum is correct. The next line continues it.
    fn check<'a>(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        let (prefix, text) = line.split_at_checked(PREFIX_LEN)?;
        let checksum = parse_checksum(prefix)?;
        if self.checksum(text) != checksum {
            return None;
        }
        self.last = checksum;
        Some(text)
    }

    fn push_line(&mut self, lines: &mut Vec<u8>, document: &impl Serialize) -> Result<()> {
        let start = lines.len();
        lines.extend_from_slice(b"00000000 ");
        json::to_writer(&mut *lines, document)?;
        self.end_line(lines, start);
        Ok(())
    }

    /// Ends a line that begins at `start` with a place for its checksum.
    fn end_line(&mut self, lines: &mut Vec<u8>, start: usize) {
        self.last = self.checksum(&lines[start + PREFIX_LEN..]);
        lines[start..start + PREFIX_LEN - 1].copy_from_slice(format!("{:08x}", self.last).as_bytes());
        lines.push(b'\n');
    }

    /// Returns whether `lines` ends with the line that this chain continues.
    pub(crate) fn continues(self, lines: &[u8]) -> bool {
        let Some(body) = lines.strip_suffix(b"\n") else {
            return false;
        };
        let start = body
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let prefix = body.get(start..start + PREFIX_LEN);
        prefix.and_then(parse_checksum) == Some(self.last)
    }

    /// Continues with the complete lines of `written`, and returns their length.
    pub(crate) fn follow(&mut self, written: &[u8]) -> usize {
        let length = written
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        for line in written[..length].split_inclusive(|byte| *byte == b'\n') {
            if let Some(checksum) = line.get(..PREFIX_LEN).and_then(parse_checksum) {
                self.last = checksum;
            }
        }
        length
    }
}

/// Parses a checksum of lower-case digits. Any other form is damage.
fn parse_checksum(prefix: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(prefix.strip_suffix(b" ")?).ok()?;
    let checksum = u32::from_str_radix(digits, 16).ok()?;
    (format!("{checksum:08x}") == digits).then_some(checksum)
}

/// Encodes the first line.
///
/// # Errors
/// [`ErrorKind::State`] when it cannot be written as JSON.
pub(crate) fn encode_header(header: &JournalHeader, chain: &mut Chain) -> Result<Vec<u8>> {
    let mut lines = Vec::with_capacity(512);
    chain.push_line(&mut lines, header)?;
    Ok(lines)
}

/// Encodes the line that names the manager of the entries' secrets.
///
/// # Errors
/// [`ErrorKind::State`] when it cannot be written as JSON.
pub(crate) fn encode_secrets(secrets: &JournalSecrets, chain: &mut Chain) -> Result<Vec<u8>> {
    let mut lines = Vec::with_capacity(256);
    chain.push_line(&mut lines, &SecretsLine { secrets })?;
    Ok(lines)
}

/// Encrypts the secrets of a batch of entries together.
///
/// # Errors
/// [`ErrorKind::Secrets`] when a secret cannot be encrypted, or there is no manager for it.
pub(crate) async fn encrypt_entries<E: AsRef<JournalEntry> + Sync>(
    entries: &[E],
    secrets: Option<&dyn SecretsManager>,
) -> Result<Ciphertexts> {
    let mut states = Vec::with_capacity(entries.len());
    entries
        .iter()
        .for_each(|entry| for_each_state(entry.as_ref(), |state| states.push(state)));
    encrypt(states.into_iter(), secrets).await
}

/// Encodes a batch of entries.
///
/// # Errors
/// [`ErrorKind::State`] when one cannot be written as JSON.
pub(crate) fn encode_entries<E: AsRef<JournalEntry>>(
    entries: &[E],
    ciphertexts: &Ciphertexts,
    chain: &mut Chain,
) -> Result<Vec<u8>> {
    let mut lines = Vec::with_capacity(entries.len() * 768);
    for entry in entries {
        chain.push_line(
            &mut lines,
            &EntryJson::new(entry.as_ref(), SecretForm::Encrypted(ciphertexts)).identifying(),
        )?;
    }
    Ok(lines)
}

/// Returns the JSON texts of encoded lines.
pub(crate) fn texts(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = lines.split(|byte| *byte == b'\n');
    lines.filter_map(|line| line.get(PREFIX_LEN..))
}

/// Encodes lines again whose JSON texts are known.
pub(crate) fn encode_texts<'text>(texts: impl Iterator<Item = &'text [u8]>, chain: &mut Chain) -> Vec<u8> {
    let mut lines = Vec::new();
    for text in texts {
        let start = lines.len();
        lines.extend_from_slice(b"00000000 ");
        lines.extend_from_slice(text);
        chain.end_line(&mut lines, start);
    }
    lines
}

/// Encodes the line that announces the checkpoint with all entries, by its hash.
///
/// # Errors
/// [`ErrorKind::State`] when it cannot be written as JSON.
pub(crate) fn encode_final_checkpoint(checkpoint: &str, chain: &mut Chain) -> Result<Vec<u8>> {
    let mut lines = Vec::with_capacity(96);
    chain.push_line(
        &mut lines,
        &Folded {
            folded: checkpoint.to_owned(),
        },
    )?;
    Ok(lines)
}

/// Encodes the line that announces a checkpoint with part of the entries.
///
/// # Errors
/// [`ErrorKind::State`] when it cannot be written as JSON.
pub(crate) fn encode_rebase(rebase: &Rebase, chain: &mut Chain) -> Result<Vec<u8>> {
    let mut lines = Vec::with_capacity(256 + rebase.records.len() * 8);
    chain.push_line(&mut lines, &RebaseLine { rebase })?;
    Ok(lines)
}

/// The bytes after the last intact line of a journal: the beginning of a line that did not become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Torn {
    /// The number of the line, counted from 1.
    pub line: usize,
    /// The number of its bytes.
    pub bytes: usize,
}

/// The position at which a journal is continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JournalEnd {
    /// The length of the intact lines. Bytes after them are truncated before an append.
    pub length: usize,
    /// The checksum state that the next line continues.
    pub chain: Chain,
}

/// A journal as it was read, its secrets still sealed.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) header: JournalHeader,
    pub(super) entries: Vec<EntryFields>,
    /// The announced checkpoints with all entries, by hash.
    pub(super) final_checkpoints: Vec<String>,
    /// The announced checkpoints with part of the entries.
    pub(super) rebases: Vec<Rebase>,
    pub(super) torn: Option<Torn>,
    pub(super) end: JournalEnd,
}

/// Decodes a journal; `None` when its header is incomplete.
///
/// # Errors
/// [`ErrorKind::State`] that names the line when one is damaged, or the writer when the format is unknown. Only the
/// bytes after the last newline may be an incomplete line.
pub(super) fn decode(journal: &[u8]) -> Result<Option<Decoded>> {
    let mut lines = journal.split_inclusive(|byte| *byte == b'\n');
    let Some(header) = lines.next().and_then(|line| line.strip_suffix(b"\n")) else {
        return Ok(None);
    };
    let mut decoded = Decoded::begin(header).map_err(|why| damaged(1, &why))??;
    let mut rest = &journal[header.len() + 1..];
    for (line, number) in lines.zip(2..) {
        rest = &rest[line.len()..];
        let Some(body) = line.strip_suffix(b"\n") else {
            decoded.torn = Some(Torn {
                line: number,
                bytes: line.len(),
            });
            break;
        };
        let added = decoded.add(body, number, rest.is_empty());
        added.map_err(|why| damaged(number, &why))?;
    }
    Ok(Some(decoded))
}

/// The header members that every format has.
#[derive(Deserialize)]
struct AnyHeader {
    format: u32,
    #[serde(default)]
    engine: String,
}

impl Decoded {
    /// Reads the first line. The outer error is the reason for which it is damaged.
    fn begin(line: &[u8]) -> Result<Result<Self>, String> {
        let mut chain = Chain::default();
        let text = chain.check(line).ok_or(WRONG_CHECKSUM)?;
        let any: AnyHeader = parse(text).map_err(|error| error.to_string())?;
        if !(UNCHAINED_FORMAT..=FORMAT).contains(&any.format) {
            let message = format!(
                "the journal has format {}, written by engine {}; this engine reads formats {UNCHAINED_FORMAT} to {FORMAT}",
                any.format, any.engine
            );
            return Ok(Err(Error::new(ErrorKind::State, message)));
        }
        chain.format = any.format;
        Ok(Ok(Self {
            header: parse(text).map_err(|error| error.to_string())?,
            entries: Vec::new(),
            final_checkpoints: Vec::new(),
            rebases: Vec::new(),
            torn: None,
            end: JournalEnd {
                length: line.len() + 1,
                chain,
            },
        }))
    }

    /// Adds a line that ends with a newline.
    fn add(&mut self, line: &[u8], number: usize, is_last: bool) -> Result<(), String> {
        let is_unchained = self.end.chain.format == UNCHAINED_FORMAT;
        let Some(text) = self.end.chain.check(line) else {
            return if is_unchained {
                self.add_torn(line, number, is_last)
            } else {
                Err(WRONG_CHECKSUM.to_owned())
            };
        };
        if text.starts_with(FOLDED) {
            let folded: Folded = parse(text).map_err(|error| error.to_string())?;
            self.final_checkpoints.push(folded.folded);
        } else if self.torn.is_some() {
            return Err("it comes after one that was not written to its end".to_owned());
        } else if text.starts_with(REBASE) && !is_unchained {
            let line: RebaseLine<Rebase> = parse(text).map_err(|error| error.to_string())?;
            self.rebases.push(line.rebase);
        } else if text.starts_with(SECRETS) && self.end.chain.format >= SECRETS_FORMAT {
            let line: SecretsLine<JournalSecrets> = parse(text).map_err(|error| error.to_string())?;
            self.header.secrets = Some(line.secrets);
        } else {
            let entry = EntryFields::read(text).map_err(|error| error.to_string())?;
            if let Some(last) = self.entries.last().filter(|last| last.sequence >= entry.sequence) {
                return Err(format!(
                    "entry {} follows entry {}",
                    entry.sequence, last.sequence
                ));
            }
            self.entries.push(entry);
        }
        if self.torn.is_none() {
            self.end.length += line.len() + 1;
        }
        Ok(())
    }

    /// Adds a line of format 1 whose checksum is wrong: the last one, or an incomplete one to which a later process
    /// appended the announcement of a checkpoint.
    fn add_torn(&mut self, line: &[u8], number: usize, is_last: bool) -> Result<(), String> {
        let place = line
            .windows(FOLDED.len())
            .rposition(|window| window == FOLDED)
            .and_then(|place| place.checked_sub(PREFIX_LEN));
        let announcement = place.and_then(|place| {
            let text = self.end.chain.check(&line[place..])?;
            parse::<Folded>(text).ok().map(|folded| (place, folded.folded))
        });
        let bytes = match announcement {
            Some((place, folded)) => {
                self.final_checkpoints.push(folded);
                place
            }
            None if is_last => line.len() + 1,
            None => return Err(WRONG_CHECKSUM.to_owned()),
        };
        self.torn.get_or_insert(Torn { line: number, bytes });
        Ok(())
    }
}

const WRONG_CHECKSUM: &str = "its checksum is wrong";

fn damaged(number: usize, why: &str) -> Error {
    Error::new(
        ErrorKind::State,
        format!("line {number} of the journal is damaged: {why}"),
    )
}

#[cfg(test)]
mod tests;
