//! References: `HEAD`, and those with a file of their own or a line of `packed-refs`.

use std::io::{BufRead as _, BufReader, Read as _};

use super::{
    discover::Place,
    id::{self, is_hexadecimal},
};
use crate::bounded;

/// The reference to what is checked out.
const HEAD: &str = "HEAD";
/// What a reference to another one begins with.
const SYMBOLIC: &str = "ref:";
/// How many references lead to one another.
const MAX_SYMBOLIC_DEPTH: usize = 5;
/// The size of the largest file of a reference that is read, in bytes.
const MAX_REFERENCE_SIZE: u64 = 8 << 10;
/// How much is read of `packed-refs`, in bytes.
const MAX_PACKED_SIZE: u64 = 32 << 20;
/// The length of an id with SHA-1 and with SHA-256, in digits.
const DIGITS: [usize; 2] = [2 * id::LENGTH, 64];

/// What is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The id of the commit, in hexadecimal digits.
    pub(crate) id: String,
    /// The full name of the branch (`refs/heads/main`); `None` where a commit is checked out without one.
    pub(crate) name: Option<String>,
}

/// Returns what is checked out.
pub(super) fn head(place: &Place) -> Option<Head> {
    let mut name = HEAD.to_owned();
    for _ in 0..=MAX_SYMBOLIC_DEPTH {
        let text = loose(place, &name).or_else(|| packed(place, &name))?;
        match text.strip_prefix(SYMBOLIC) {
            Some(target) => name = valid(target.trim())?,
            None => {
                return Some(Head {
                    id: commit_id(&text)?,
                    name: (name != HEAD).then_some(name),
                });
            }
        }
    }
    None
}

/// Returns the id that a text begins with.
fn commit_id(text: &str) -> Option<String> {
    let id = text.split_ascii_whitespace().next()?;
    (DIGITS.contains(&id.len()) && is_hexadecimal(id)).then(|| id.to_ascii_lowercase())
}

/// Returns a name that is within the folder of references.
fn valid(name: &str) -> Option<String> {
    let is_valid = name.starts_with("refs/")
        && name.split('/').all(|part| !["", ".", ".."].contains(&part))
        && !name.contains(|character: char| character.is_control() || character == '\\');
    is_valid.then(|| name.to_owned())
}

/// Reads the file of a reference.
fn loose(place: &Place, name: &str) -> Option<String> {
    let read = |folder: &std::path::Path| {
        let bytes = bounded::read(&folder.join(name), MAX_REFERENCE_SIZE)?;
        String::from_utf8(bytes).ok()
    };
    let shared = || match place.own == place.common || name == HEAD {
        true => None,
        false => read(&place.common),
    };
    read(&place.own).or_else(shared)
}

/// Looks for a reference among those in one file.
fn packed(place: &Place, name: &str) -> Option<String> {
    let file = bounded::open(&place.common.join("packed-refs"))?;
    let mut lines = BufReader::new(file.take(MAX_PACKED_SIZE));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).ok()? > 0 {
        // A line without an end is one that the limit has cut.
        let found = line
            .strip_suffix(b"\n")
            .and_then(|line| line.trim_ascii_end().strip_suffix(name.as_bytes()))
            .and_then(|id| id.strip_suffix(b" "));
        if let Some(id) = found {
            return str::from_utf8(id).ok().map(str::to_owned);
        }
        line.clear();
    }
    None
}
