//! Differences between two objects: copies of parts of a base, and inserted bytes.

use super::inflate::MAX_COMMIT_SIZE;

/// The size of a copy whose size is given as 0, in bytes.
const DEFAULT_COPY_SIZE: usize = 0x1_0000;

/// Reads numbers and bytes from the beginning of a text.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Reads a number of seven bits a byte, the lowest ones first.
    fn size(&mut self) -> Option<usize> {
        let mut size = 0_u64;
        for shift in (0..u64::BITS - 7).step_by(7) {
            let byte = self.byte()?;
            size |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return usize::try_from(size).ok();
            }
        }
        None
    }

    /// Reads the bytes of a number that the bits name, the lowest one first.
    fn sparse(&mut self, bits: u8, count: u8) -> Option<usize> {
        let mut number = 0;
        for place in (0..count).filter(|place| bits & (1 << place) != 0) {
            number |= usize::from(self.byte()?) << (8 * place);
        }
        Some(number)
    }
}

/// Returns the object that a difference makes of its base.
pub(super) fn apply(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut delta = Reader(delta);
    let (base_size, size) = (delta.size()?, delta.size()?);
    if base_size != base.len() || size > MAX_COMMIT_SIZE {
        return None;
    }
    let mut object = Vec::with_capacity(size);
    while let Some(command) = delta.byte() {
        let part = match command {
            0 => return None,
            1..=0x7f => delta.bytes(usize::from(command))?,
            _ => {
                let start = delta.sparse(command, 4)?;
                let length = match delta.sparse(command >> 4 & 0b111, 3)? {
                    0 => DEFAULT_COPY_SIZE,
                    length => length,
                };
                base.get(start..start.checked_add(length)?)?
            }
        };
        if object.len() + part.len() > size {
            return None;
        }
        object.extend_from_slice(part);
    }
    (object.len() == size).then_some(object)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_copied_and_inserted() {
        // 11 bytes become 9: six copied from 0, then three inserted.
        let delta = [11, 9, 0b1001_0000, 6, 3, b'y', b'o', b'u'];
        assert_eq!(apply(b"hello world", &delta), Some(b"hello you".to_vec()));
        // A copy with a start.
        let delta = [11, 5, 0b1001_0001, 6, 5];
        assert_eq!(apply(b"hello world", &delta), Some(b"world".to_vec()));
    }

    #[test]
    fn a_copy_without_a_size_has_64_kib() {
        let base = vec![7; 0x1_0001];
        let delta = [0x81, 0x80, 0x04, 0x80, 0x80, 0x04, 0b1000_0000];
        assert_eq!(apply(&base, &delta), Some(vec![7; 0x1_0000]));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for delta in [
            &[][..],
            &[11],
            &[10, 1, 1, b'a'],                   // another base
            &[11, 1, 0],                         // a reserved command
            &[11, 1, 2, b'a', b'b'],             // too long
            &[11, 3, 2, b'a', b'b'],             // too short
            &[11, 2, 2, b'a'],                   // cut
            &[11, 5, 0b1001_0001, 7, 5],         // behind the end of the base
            &[11, 0xff, 0xff, 0xff, 0xff, 0x0f], // too large
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert_eq!(apply(b"hello world", delta), None, "{delta:?}");
        }
    }

    proptest! {
        #[test]
        fn any_difference_has_an_end(base: [u8; 3], delta: Vec<u8>) {
            let sized = [&[3, 4], &delta[..]].concat();
            for delta in [&delta, &sized] {
                let length = apply(&base, delta).map_or(0, |object| object.len());
                prop_assert!(length <= MAX_COMMIT_SIZE);
            }
        }
    }
}
