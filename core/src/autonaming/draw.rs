//! Deterministic random characters: the same seed gives the same ones on every machine.

use sha2::{Digest as _, Sha256};

/// An endless sequence of bytes: the hashes of the seed's hash and a counter.
pub(super) struct Draw {
    key: [u8; 32],
    counter: u64,
    block: [u8; 32],
    used: usize,
}

impl Draw {
    pub(super) fn new(seed: &[u8]) -> Self {
        Self {
            key: Sha256::digest(seed).into(),
            counter: 0,
            block: [0; 32],
            used: 32,
        }
    }

    fn byte(&mut self) -> u8 {
        if self.used == self.block.len() {
            let block = Sha256::new()
                .chain_update(self.key)
                .chain_update(self.counter.to_le_bytes());
            self.block = block.finalize().into();
            self.counter += 1;
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// Appends `count` characters of `alphabet`, which has 1 to 256 ASCII characters; the distribution is uniform.
    pub(super) fn characters(&mut self, alphabet: &[u8], count: usize, out: &mut String) {
        let fair = 256 - 256 % alphabet.len();
        let mut left = count;
        while left > 0 {
            let byte = usize::from(self.byte());
            if byte < fair {
                out.push(char::from(alphabet[byte % alphabet.len()]));
                left -= 1;
            }
        }
    }

    pub(super) fn uuid(&mut self) -> uuid::Uuid {
        let bytes = std::array::from_fn(|_| self.byte());
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: &[u8], alphabet: &[u8], count: usize) -> String {
        let mut out = String::new();
        Draw::new(seed).characters(alphabet, count, &mut out);
        out
    }

    #[test]
    fn the_same_seed_draws_the_same_and_another_seed_something_else() {
        let alphabet = b"0123456789abcdef";
        assert_eq!(drawn(b"seed", alphabet, 100), drawn(b"seed", alphabet, 100));
        assert_ne!(drawn(b"seed", alphabet, 16), drawn(b"feed", alphabet, 16));
        assert_eq!(Draw::new(b"seed").uuid(), Draw::new(b"seed").uuid());
    }

    #[test]
    fn every_character_is_about_as_likely() {
        let text = drawn(b"seed", b"0123456789", 10_000);
        for digit in '0'..='9' {
            let count = text.matches(digit).count();
            assert!((850..1150).contains(&count), "{digit} came {count} times");
        }
    }
}
