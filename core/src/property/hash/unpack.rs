//! Packed archives (tar, compressed tar, zip): their files, for archives that are made of other archives.

use std::io::Read as _;

use bytes::Bytes;

use crate::error::{Error, Result};

/// A packed format, told by the end of the file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Tar,
    TarGzip,
    Zip,
}

impl Format {
    pub(super) fn of(name: &str) -> Option<Self> {
        [
            (".tar", Self::Tar),
            (".tgz", Self::TarGzip),
            (".tar.gz", Self::TarGzip),
            (".zip", Self::Zip),
            (".jar", Self::Zip),
        ]
        .into_iter()
        .find_map(|(end, format)| name.ends_with(end).then_some(format))
    }
}

/// Returns the files of a packed archive in their order, without directories and links.
pub(super) fn files(name: &str, packed: &Bytes) -> Result<Vec<(String, Bytes)>> {
    let files = match Format::of(name) {
        Some(Format::Tar) => tar(packed),
        Some(Format::TarGzip) => {
            let mut unpacked = Vec::new();
            match flate2::read::MultiGzDecoder::new(packed.as_ref()).read_to_end(&mut unpacked) {
                Ok(_) => tar(&unpacked.into()),
                Err(_) => Err("it is not compressed with gzip"),
            }
        }
        Some(Format::Zip) => zip(packed),
        None => Err("its name does not end as that of a known archive format"),
    };
    files.map_err(|problem| Error::invalid(format!("cannot read archive '{name}': {problem}")))
}

type Files = std::result::Result<Vec<(String, Bytes)>, &'static str>;

fn tar(packed: &Bytes) -> Files {
    const CUT: &str = "the tar ends too early";
    let mut files = Vec::new();
    let mut long_name = None;
    let mut offset = 0;
    while let Some(header) = packed.get(offset..offset + 512) {
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        let mut size = number(&header[124..136]).ok_or("a size in the tar is malformed")?;
        let kind = header[156];
        let start = offset + 512;
        let end = start.checked_add(size).ok_or(CUT)?;
        let data = packed.get(start..end).ok_or(CUT)?;
        match kind {
            b'x' => long_name = extended_path(data).or(long_name),
            b'L' => long_name = Some(text(data)),
            b'0' | b'7' | 0 => {
                let name = long_name.take().unwrap_or_else(|| plain_name(header));
                if !name.ends_with('/') {
                    files.push((name, packed.slice(start..end)));
                }
            }
            // Directories, links and devices have no contents whatever their headers say of sizes.
            b'1'..=b'6' => {
                long_name = None;
                size = if kind == b'1' || kind == b'2' { 0 } else { size };
            }
            _ => {}
        }
        offset = start + size.next_multiple_of(512);
    }
    Ok(files)
}

fn plain_name(header: &[u8]) -> String {
    let name = text(&header[..100]);
    let prefix = text(&header[345..500]);
    if header[257..263] == *b"ustar\0" && !prefix.is_empty() {
        format!("{prefix}/{name}")
    } else {
        name
    }
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// Reads a size: octal digits, or with the top bit set a big-endian number.
fn number(field: &[u8]) -> Option<usize> {
    if field[0] & 0x80 != 0 {
        return field[1..]
            .iter()
            .try_fold(usize::from(field[0] & 0x7f), |value, byte| {
                value.checked_mul(256)?.checked_add(usize::from(*byte))
            });
    }
    let text = text(field);
    let digits = text.trim();
    if digits.is_empty() {
        return Some(0);
    }
    usize::from_str_radix(digits, 8).ok()
}

/// Returns the path that an extended header sets.
fn extended_path(records: &[u8]) -> Option<String> {
    let mut rest = records;
    let mut path = None;
    while let Some(space) = rest.iter().position(|byte| *byte == b' ') {
        let length: usize = std::str::from_utf8(&rest[..space]).ok()?.parse().ok()?;
        let record = rest.get(space + 1..length.checked_sub(1)?)?;
        if let Some(value) = record.strip_prefix(b"path=") {
            path = Some(String::from_utf8_lossy(value).into_owned());
        }
        rest = rest.get(length..)?;
    }
    path
}

/// Marks the record at the end of a zip.
const ZIP_END: [u8; 4] = *b"PK\x05\x06";
/// Marks an entry of a zip's directory.
const ZIP_ENTRY: [u8; 4] = *b"PK\x01\x02";

fn zip(packed: &Bytes) -> Files {
    const MALFORMED: &str = "the zip is malformed";
    let short = |offset: usize| -> Option<usize> {
        let bytes = packed.get(offset..offset.checked_add(2)?)?;
        Some(usize::from(u16::from_le_bytes(bytes.try_into().ok()?)))
    };
    let long = |offset: usize| -> Option<usize> {
        let bytes = packed.get(offset..offset.checked_add(4)?)?;
        usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    // The end record has a comment of unknown length behind it.
    let end = packed
        .windows(ZIP_END.len())
        .rposition(|window| window == ZIP_END)
        .ok_or(MALFORMED)?;
    let count = short(end + 10).ok_or(MALFORMED)?;
    let mut offset = long(end + 16).ok_or(MALFORMED)?;
    if count == 0xFFFF || offset == 0xFFFF_FFFF {
        return Err("zip files of more than 65534 entries or 4 GiB are not supported inside other archives");
    }
    let mut files = Vec::with_capacity(count);
    for _ in 0..count {
        if packed.get(offset..offset + 4) != Some(&ZIP_ENTRY) {
            return Err(MALFORMED);
        }
        let field = |at: usize| long(offset + at).ok_or(MALFORMED);
        let length = |at: usize| short(offset + at).ok_or(MALFORMED);
        let (method, checksum) = (length(10)?, field(16)?);
        let (packed_size, size, start) = (field(20)?, field(24)?, field(42)?);
        let (name_length, extra, comment) = (length(28)?, length(30)?, length(32)?);
        let name = packed
            .get(offset + 46..offset + 46 + name_length)
            .ok_or(MALFORMED)?;
        let name = String::from_utf8_lossy(name).into_owned();
        offset += 46 + name_length + extra + comment;
        if name.ends_with('/') {
            continue;
        }
        // The entry's own header repeats the name, and may have other extra fields.
        let header_name = short(start + 26).ok_or(MALFORMED)?;
        let header_extra = short(start + 28).ok_or(MALFORMED)?;
        let start = start + 30 + header_name + header_extra;
        let data = packed.get(start..start + packed_size).ok_or(MALFORMED)?;
        let content = match method {
            0 => packed.slice(start..start + packed_size),
            8 => {
                let mut content = Vec::new();
                // One byte more than promised is enough to notice that the promise was false.
                let limit = size as u64 + 1;
                flate2::read::DeflateDecoder::new(data)
                    .take(limit)
                    .read_to_end(&mut content)
                    .map_err(|_| MALFORMED)?;
                content.into()
            }
            _ => return Err("an entry of the zip is compressed in an unknown way"),
        };
        if content.len() != size || crc32fast::hash(&content) as usize != checksum {
            return Err("an entry of the zip is damaged");
        }
        files.push((name, content));
    }
    Ok(files)
}
