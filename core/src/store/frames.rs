//! The objects of an encrypted store: sequences of frames, each of which has what one write has added.
//!
//! A frame is encrypted with the object's name and the tag of the frame before as associated data, so that one of another object, one that
//! is missing in between and another order are detected. Frames that are missing at the end are not: their writes may never have been
//! done. An append that a crash has cut short leaves part of a frame, which is read as a zero byte: journals take zeros at their end for
//! what was never written.

use aes_gcm::{
    Aes256Gcm, KeyInit as _,
    aead::{Aead as _, Nonce, Payload},
};
use bytes::Bytes;
use zeroize::Zeroizing;

use super::layout::BACKUP_ENDING;
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
};

/// What each object begins with.
const MAGIC: &[u8] = b"SWS1";
/// The length of a nonce, of a frame's length before it, and of the tag after the content.
const NONCE: usize = 12;
const LENGTH: usize = 4;
const TAG: usize = 16;

/// The end of a frame, which proves its content and its place.
pub(super) type Tag = [u8; TAG];

/// The cipher of a store's objects.
pub(super) struct ObjectCipher {
    cipher: Aes256Gcm,
    runtime: Runtime,
}

impl ObjectCipher {
    pub(super) fn new(key: &Zeroizing<[u8; 32]>, runtime: &Runtime) -> Self {
        Self {
            cipher: Aes256Gcm::new((&**key).into()),
            runtime: runtime.clone(),
        }
    }

    fn frame(&self, key: &str, before: Option<&Tag>, content: &[u8]) -> Result<(Vec<u8>, Tag)> {
        let mut nonce = [0; NONCE];
        self.runtime.random.fill(&mut nonce);
        let place = place(key, before);
        let payload = Payload {
            msg: content,
            aad: &place,
        };
        let too_long = || {
            Error::new(
                ErrorKind::Secrets,
                format!("the object {key:?} is too long to be encrypted"),
            )
        };
        let sealed = self
            .cipher
            .encrypt(&Nonce::<Aes256Gcm>::from(nonce), payload)
            .map_err(|_| too_long())?;
        let length = u32::try_from(sealed.len()).map_err(|_| too_long())?;
        let tag = tag_of(&sealed).ok_or_else(too_long)?;
        Ok(([&length.to_le_bytes(), &nonce[..], &sealed].concat(), tag))
    }

    /// Returns an object with this content, and the tag of its frame.
    pub(super) fn object(&self, key: &str, content: &[u8]) -> Result<(Bytes, Tag)> {
        let (frame, tag) = self.frame(key, None, content)?;
        Ok(([MAGIC, &frame].concat().into(), tag))
    }

    /// Returns the frame that follows the one with the tag `before`, and its own tag.
    pub(super) fn next_frame(&self, key: &str, before: &Tag, content: &[u8]) -> Result<(Bytes, Tag)> {
        let (frame, tag) = self.frame(key, Some(before), content)?;
        Ok((frame.into(), tag))
    }

    /// Returns the content of an object, and the tag of its last frame; `None` when that was cut short.
    pub(super) fn open(&self, key: &str, bytes: &[u8]) -> Result<(Bytes, Option<Tag>)> {
        let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
            return match MAGIC.starts_with(written(bytes)) {
                // The first write was cut short.
                true => Ok((Bytes::from_static(&[0]), None)),
                false => Err(unreadable(key, "it is not encrypted")),
            };
        };
        let mut content = Vec::new();
        let mut before = None;
        for number in 1_usize.. {
            let Some((Frame { nonce, sealed }, after)) = split_frame(rest) else {
                content.push(0);
                return Ok((content.into(), None));
            };
            let place = place(key, before.as_ref());
            let payload = Payload {
                msg: sealed,
                aad: &place,
            };
            match self.cipher.decrypt(&Nonce::<Aes256Gcm>::from(nonce), payload) {
                Ok(opened) => content.extend_from_slice(&opened),
                // Of reserved blocks those are zeros that were not written.
                Err(_) if written(after).is_empty() && sealed.ends_with(&[0]) => {
                    content.push(0);
                    return Ok((content.into(), None));
                }
                Err(_) if number == 1 => {
                    return Err(unreadable(key, "it was changed, or is another object's"));
                }
                Err(_) => {
                    let why = format!(
                        "its part {number} was changed, or does not follow the one before: parts are missing, or not in their order"
                    );
                    return Err(unreadable(key, &why));
                }
            }
            before = tag_of(sealed);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        Ok((content.into(), before))
    }
}

/// Returns what a frame is encrypted with: the object's name and the frame before.
fn place(key: &str, before: Option<&Tag>) -> Vec<u8> {
    let before = before.map_or(&[][..], |tag| &tag[..]);
    // No name has a zero.
    [name_of(key).as_bytes(), &[0], before].concat()
}

fn tag_of(sealed: &[u8]) -> Option<Tag> {
    sealed.last_chunk().copied()
}

/// What one write has encrypted.
struct Frame<'a> {
    nonce: [u8; NONCE],
    sealed: &'a [u8],
}

/// Splits nonce and ciphertext of a frame from what follows; `None` for one that was not written to its end.
fn split_frame(bytes: &[u8]) -> Option<(Frame<'_>, &[u8])> {
    let (length, rest) = bytes.split_at_checked(LENGTH)?;
    let length = usize::try_from(u32::from_le_bytes(length.try_into().ok()?)).ok()?;
    let (nonce, rest) = rest.split_at_checked(NONCE)?;
    let (sealed, after) = rest.split_at_checked(length)?;
    (length >= TAG).then_some((
        Frame {
            nonce: nonce.try_into().ok()?,
            sealed,
        },
        after,
    ))
}

/// Returns the bytes without zeros at their end.
fn written(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    &bytes[..bytes.len() - zeros]
}

/// Returns the name with which an object is encrypted: its backup has the same.
pub(super) fn name_of(key: &str) -> &str {
    key.strip_suffix(BACKUP_ENDING).unwrap_or(key)
}

fn unreadable(key: &str, why: &str) -> Error {
    Error::new(
        ErrorKind::State,
        format!("the object {key:?} of the encrypted store cannot be read: {why}"),
    )
    .with_hint("restore the object from a backup of the store")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::runtime::SeededRandom;

    const KEY: &str = ".pulumi/journals/shop/dev.journal";

    /// Returns a cipher, an object, and its three frames.
    fn sequence() -> (ObjectCipher, Bytes, Vec<Vec<u8>>) {
        let runtime = Runtime {
            random: Arc::new(SeededRandom::new(7)),
            ..Runtime::system(tokio::runtime::Handle::current())
        };
        let cipher = ObjectCipher::new(&Zeroizing::new([7; 32]), &runtime);
        let (first, tag) = cipher.object(KEY, b"one").unwrap();
        let (second, tag) = cipher.next_frame(KEY, &tag, b"two").unwrap();
        let (third, _) = cipher.next_frame(KEY, &tag, b"three").unwrap();
        let frames = vec![first[MAGIC.len()..].to_vec(), second.to_vec(), third.to_vec()];
        (cipher, [MAGIC, &frames.concat()].concat().into(), frames)
    }

    #[tokio::test]
    async fn frames_are_read_in_the_order_of_their_writes_only() {
        let (cipher, whole, frames) = sequence();
        let (content, tag) = cipher.open(KEY, &whole).unwrap();
        assert_eq!(content, "onetwothree");
        assert_eq!(tag, tag_of(&whole));
        for (order, part) in [
            (&[0, 2][..], "its part 2"),
            (&[0, 2, 1], "its part 2"),
            (&[0, 1, 1], "its part 3"),
            (&[0, 0], "its part 2"),
            (&[1, 2], "it was changed"),
            (&[1], "it was changed"),
        ] {
            let frames: Vec<_> = order.iter().map(|index: &usize| frames[*index].clone()).collect();
            let error = cipher.open(KEY, &[MAGIC, &frames.concat()].concat()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::State);
            assert!(
                error.message().contains(KEY) && error.message().contains(part),
                "{order:?}: {error}"
            );
        }
    }

    #[tokio::test]
    async fn a_frame_of_an_earlier_object_with_that_name_is_refused() {
        let (cipher, _, frames) = sequence();
        let (begin, _) = cipher.object(KEY, b"one").unwrap();
        let error = cipher.open(KEY, &[&begin[..], &frames[1]].concat()).unwrap_err();
        assert!(error.message().contains("its part 2"), "{error}");
    }
}
