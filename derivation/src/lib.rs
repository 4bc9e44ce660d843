//! The derivation of a key from a passphrase: slow on purpose.
//!
//! It is a crate of its own so that the profile of development builds optimizes it: the library instantiates its generic code
//! where it is called.
#![forbid(unsafe_code)]

use std::num::NonZeroU32;

use sha2::Sha256;

/// Derives a key of 32 bytes with PBKDF2 over HMAC-SHA-256 (RFC 8018), in the given number of rounds.
#[must_use]
pub fn derive(passphrase: &[u8], salt: &[u8], rounds: NonZeroU32) -> [u8; 32] {
    pbkdf2::pbkdf2_hmac_array::<Sha256, 32>(passphrase, salt, rounds.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_are_those_of_the_published_vectors() {
        // RFC 7914, section 11; the first 32 of 64 bytes.
        let first = [
            0x55, 0xac, 0x04, 0x6e, 0x56, 0xe3, 0x08, 0x9f, 0xec, 0x16, 0x91, 0xc2, 0x25, 0x44, 0xb6, 0x05,
            0xf9, 0x41, 0x85, 0x21, 0x6d, 0xde, 0x04, 0x65, 0xe6, 0x8b, 0x9d, 0x57, 0xc2, 0x0d, 0xac, 0xbc,
        ];
        assert_eq!(derive(b"passwd", b"salt", NonZeroU32::MIN), first);
        let second = [
            0x4d, 0xdc, 0xd8, 0xf6, 0x0b, 0x98, 0xbe, 0x21, 0x83, 0x0c, 0xee, 0x5e, 0xf2, 0x27, 0x01, 0xf9,
            0x64, 0x1a, 0x44, 0x18, 0xd0, 0x4c, 0x04, 0x14, 0xae, 0xff, 0x08, 0x87, 0x6b, 0x34, 0xab, 0x56,
        ];
        let rounds = NonZeroU32::new(80_000).unwrap();
        assert_eq!(derive(b"Password", b"NaCl", rounds), second);
    }
}
