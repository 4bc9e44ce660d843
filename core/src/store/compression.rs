//! Compressed objects: the reference engine may write checkpoints and history with gzip or Zstandard.

use std::io::Read as _;

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};

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
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_ending_of_the_key_names_the_compression() {
        let text = Bytes::from_static(b"{\"version\":3}");
        assert_eq!(expand("dev.json", text.clone()).unwrap(), text);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&text).unwrap();
        assert_eq!(
            expand("dev.json.gz", gzip.finish().unwrap().into()).unwrap(),
            text
        );
        let zstd = ruzstd::encoding::compress_to_vec(&*text, ruzstd::encoding::CompressionLevel::Fastest);
        assert_eq!(expand("dev.json.zst", zstd.into()).unwrap(), text);
        for key in ["dev.json.gz", "dev.json.zst"] {
            let error = expand(key, text.clone()).unwrap_err();
            assert!(error.message().starts_with(key), "{error}");
        }
    }
}
