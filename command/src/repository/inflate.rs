//! Compressed data of objects.

use std::io::{BufReader, Read};

use flate2::bufread::ZlibDecoder;

/// The size of the largest commit that is read, in bytes; that of a difference between two commits as well.
pub(super) const MAX_COMMIT_SIZE: usize = 1 << 20;
/// How much more compressed data than twice its content an object can have, in bytes.
const MAX_OVERHEAD_SIZE: u64 = 1 << 10;
/// How much compressed data is read at a time, in bytes.
const READ_SIZE: usize = 4 << 10;

/// Returns the data that a source begins with; `None` for more than the limit.
pub(super) fn inflate(source: impl Read, limit: usize) -> Option<Vec<u8>> {
    let size = limit as u64;
    let source = source.take(2 * size + MAX_OVERHEAD_SIZE);
    let mut data = Vec::new();
    let mut decoder = ZlibDecoder::new(BufReader::with_capacity(READ_SIZE, source)).take(size + 1);
    decoder.read_to_end(&mut data).ok()?;
    (data.len() <= limit).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_never_has_content_has_an_end() {
        // The header, and blocks that are empty.
        let endless = [0x78, 0x01]
            .into_iter()
            .chain([0, 0, 0, 0xff, 0xff].into_iter().cycle());
        let bytes: Vec<u8> = endless.take(1 << 20).collect();
        let mut rest = &bytes[..];
        assert_eq!(inflate(&mut rest, 10), None);
        let read = bytes.len() - rest.len();
        assert!(read <= 20 + MAX_OVERHEAD_SIZE as usize, "{read}");
    }
}
