//! Ends: what stays of a journal that was removed, with the digest of the checkpoint that its operation has left.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use bytes::Bytes;

use super::{
    Md5Digest,
    layout::{CHECKPOINT_ENDINGS, JOURNAL_ENDING, JOURNALS, STACKS},
};
use crate::runtime::Runtime;

/// What an end begins with.
const BEGIN: &[u8] = b"ended ";

/// The length of an end: shorter than that of any first object of a journal, whose line also ends.
pub(super) const LENGTH: u64 = 42;

/// The length of a digest in base64, and what separates it from the unique rest of the end. An end without a digest has a UUID
/// there, which has no such character.
const DIGEST: usize = 22;
const SEPARATOR: char = '.';

/// The end of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// The digest of the stack's checkpoint, as it is stored; `None` when it is not known.
    pub checkpoint: Option<Md5Digest>,
}

impl End {
    /// Returns the content of an end, unlike any other: versions may be those of contents.
    pub(super) fn encode(self, runtime: &Runtime) -> Bytes {
        let unique = runtime.random.uuid();
        let name = match self.checkpoint {
            None => unique,
            Some(digest) => {
                let rest = unique.len() - DIGEST - SEPARATOR.len_utf8();
                let unique = unique.replace('-', "");
                format!("{}{SEPARATOR}{}", STANDARD_NO_PAD.encode(digest), &unique[..rest])
            }
        };
        [BEGIN, name.as_bytes()].concat().into()
    }

    /// Parses the first object of a journal; `None` for one that has not ended.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let name = bytes
            .strip_prefix(BEGIN)
            .filter(|_| bytes.len() as u64 == LENGTH)?;
        let digest = std::str::from_utf8(name).ok().and_then(|name| {
            let (digest, _) = name.split_once(SEPARATOR)?;
            STANDARD_NO_PAD.decode(digest).ok()?.try_into().ok()
        });
        Some(Self { checkpoint: digest })
    }
}

/// Returns the key of the journal of a checkpoint's stack; `None` for other objects.
pub(super) fn journal_of(key: &str) -> Option<String> {
    let path = key.strip_prefix(STACKS)?;
    let stack = CHECKPOINT_ENDINGS
        .iter()
        .find_map(|ending| path.strip_suffix(ending))?;
    Some(format!("{JOURNALS}{stack}{JOURNAL_ENDING}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StackName;

    #[tokio::test]
    async fn an_end_has_its_length_and_keeps_the_digest_and_is_unlike_others() {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        for checkpoint in [None, Some([0; 16]), Some([255; 16])] {
            let end = End { checkpoint };
            let (one, other) = (end.encode(&runtime), end.encode(&runtime));
            assert_eq!(one.len() as u64, LENGTH);
            assert_eq!(End::parse(&one), Some(end));
            assert_ne!(one, other);
        }
        for other in ["", "ended ", "parts 01234567-89ab-cdef-0123-456789abcdef"] {
            assert_eq!(End::parse(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn each_form_of_a_checkpoint_has_the_journal_of_its_stack() {
        let name = StackName::new("shop", "dev").unwrap();
        for ending in CHECKPOINT_ENDINGS {
            assert_eq!(journal_of(&name.checkpoint(ending)), Some(name.journal()));
        }
        for other in [
            format!("{}.bak", name.checkpoint(".json")),
            name.journal(),
            format!("{}dev-1.checkpoint.json", name.history()),
        ] {
            assert_eq!(journal_of(&other), None, "{other}");
        }
    }
}
