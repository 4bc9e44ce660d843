//! The parts of a journal: its first object, and the numbered ones.

use bytes::Bytes;

use super::{HEAD, PARTS};
use crate::{
    error::{Error, ErrorKind},
    store::{
        Version,
        layout::{JOURNAL_ENDING, JOURNALS},
    },
};

/// The first object of a journal.
pub(super) enum First {
    Missing,
    Ended,
    Begun(Extent, Bytes),
}

/// The state of a journal that a version describes.
pub(super) struct Extent {
    pub head: Version,
    pub folder: String,
    /// The number of objects after the first.
    pub last: u64,
}

impl Extent {
    /// A version contains no blanks: neither do those of the inner stores.
    pub(super) fn version(&self) -> Version {
        format!("{} {} {}", self.folder, self.last, self.head).into()
    }

    pub(super) fn parse(version: &Version) -> Option<Self> {
        let mut parts = version.splitn(3, ' ');
        let (folder, last, head) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self {
            head: head.into(),
            folder: folder.to_owned(),
            last: last.parse().ok()?,
        })
    }
}

/// Returns whether a key is that of a journal, which is that of its first object.
pub(in crate::store) fn is_journal(key: &str) -> bool {
    key.starts_with(JOURNALS) && key.ends_with(JOURNAL_ENDING)
}

/// Returns whether an object is the first one of a new journal.
pub(in crate::store) fn is_begun_journal(key: &str, bytes: &[u8]) -> bool {
    is_journal(key) && bytes.starts_with(HEAD)
}

pub(super) fn incomplete(key: &str) -> Error {
    Error::new(
        ErrorKind::State,
        format!("the journal {key} lacks one of its numbered objects"),
    )
    .with_hint("restore the object in the store, or import the state, which sets the journal aside")
}

pub(super) fn part(key: &str, folder: &str, number: u64) -> String {
    format!("{key}{PARTS}{folder}/{number:08}")
}
