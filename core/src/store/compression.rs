//! Compressed objects: the reference engine may write checkpoints and history with gzip or Zstandard.

use std::io::{Read as _, Write as _};

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};

/// Returns whether the ending of a key names a compression.
pub(super) fn is_compressed(key: &str) -> bool {
    key.ends_with(".gz") || key.ends_with(".zst")
}

/// Returns an object's content in the compression that the ending of its key names.
pub(super) fn compress(key: &str, bytes: Bytes) -> Result<Bytes> {
    if key.ends_with(".gz") {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        let compressed = encoder.write_all(&bytes).and_then(|()| encoder.finish());
        let failed = |error| Error::internal(format!("{key} cannot be compressed: {error}"));
        compressed.map(Bytes::from).map_err(failed)
    } else if key.ends_with(".zst") {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        Ok(compress_to_vec(&*bytes, CompressionLevel::Fastest).into())
    } else {
        Ok(bytes)
    }
}

/// Returns the uncompressed content of an object. The ending of its key names the compression.
pub(super) fn expand(key: &str, bytes: Bytes) -> Result<Bytes> {
    let mut expanded = Vec::new();
    let result = if key.ends_with(".gz") {
        flate2::read::MultiGzDecoder::new(&*bytes)
            .read_to_end(&mut expanded)
            .map_err(|error| error.to_string())
    } else if key.ends_with(".zst") {
        zstandard(&bytes, &mut expanded)
    } else {
        return Ok(bytes);
    };
    match result {
        Ok(_) => Ok(expanded.into()),
        Err(reason) => Err(Error::new(
            ErrorKind::State,
            format!("{key} cannot be decompressed: {reason}"),
        )),
    }
}

fn zstandard(mut bytes: &[u8], expanded: &mut Vec<u8>) -> Result<usize, String> {
    let mut decoder =
        ruzstd::decoding::StreamingDecoder::new(&mut bytes).map_err(|error| error.to_string())?;
    decoder.read_to_end(expanded).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_the_key_names_the_compression() {
        let text = Bytes::from("{\"version\":3}".repeat(1000));
        for (key, magic) in [
            ("dev.json", &b"{\"ve"[..]),
            ("dev.json.gz", &[0x1f, 0x8b]),
            ("dev.json.zst", &[0x28, 0xb5, 0x2f, 0xfd]),
        ] {
            let stored = compress(key, text.clone()).unwrap();
            assert!(stored.starts_with(magic), "{key}");
            assert_eq!(stored.len() < text.len(), is_compressed(key), "{key}");
            assert_eq!(expand(key, stored).unwrap(), text, "{key}");
        }
    }

    #[test]
    fn content_of_another_form_is_an_error_that_names_the_key() {
        for key in ["dev.json.gz", "dev.json.zst"] {
            let error = expand(key, Bytes::from_static(b"{}")).unwrap_err();
            assert!(error.message().starts_with(key), "{error}");
        }
    }
}
