//! Packed archives (tar, compressed tar, zip): their files, for archives that are made of other archives.

use std::io::Read as _;

use bytes::Bytes;

use super::entries::MAX_UNPACKED_SIZE;
use crate::error::Error;

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
pub(super) fn files(name: &str, packed: &Bytes) -> crate::error::Result<Vec<(String, Bytes)>> {
    let files = match Format::of(name) {
        Some(Format::Tar) => tar(packed),
        Some(Format::TarGzip) => gunzip(packed, MAX_UNPACKED_SIZE).and_then(|unpacked| tar(&unpacked)),
        Some(Format::Zip) => zip(packed),
        None => Err("its name does not end as that of a known archive format"),
    };
    files.map_err(|problem| Error::invalid(format!("cannot read archive '{name}': {problem}")))
}

const TOO_LARGE: &str = "it unpacks to more than 1 GiB";

/// Unpacks at most `most` bytes.
pub(super) fn gunzip(packed: &[u8], most: u64) -> Result<Bytes, &'static str> {
    let mut unpacked = Vec::new();
    let decoder = flate2::read::MultiGzDecoder::new(packed);
    let read = decoder.take(most.saturating_add(1)).read_to_end(&mut unpacked);
    read.map_err(|_| "it is not compressed with gzip")?;
    if unpacked.len() as u64 > most {
        return Err(TOO_LARGE);
    }
    Ok(unpacked.into())
}

type Files = Result<Vec<(String, Bytes)>, &'static str>;

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
/// Marks what leads to the second record at the end of a large zip (zip64), right before the first.
const ZIP64_LOCATOR: [u8; 4] = *b"PK\x06\x07";
const ZIP64_LOCATOR_LENGTH: usize = 20;
/// Marks that record.
const ZIP64_END: [u8; 4] = *b"PK\x06\x06";
/// Marks an entry of a zip's directory.
const ZIP_ENTRY: [u8; 4] = *b"PK\x01\x02";
/// The extra field of an entry with what does not fit its other fields.
const ZIP64_EXTRA: usize = 1;
/// In such another field: the extra field has the value.
const ZIP64_SIZE: usize = 0xFFFF_FFFF;

const MALFORMED: &str = "the zip is malformed";

/// Reads the numbers of a zip, which are little-endian.
#[derive(Clone, Copy)]
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn array<const N: usize>(self, offset: usize) -> Result<[u8; N], &'static str> {
        let end = offset.checked_add(N).ok_or(MALFORMED)?;
        let bytes = self.0.get(offset..end).ok_or(MALFORMED)?;
        bytes.try_into().map_err(|_| MALFORMED)
    }

    fn short(self, offset: usize) -> Result<usize, &'static str> {
        Ok(usize::from(u16::from_le_bytes(self.array(offset)?)))
    }

    fn long(self, offset: usize) -> Result<usize, &'static str> {
        usize::try_from(u32::from_le_bytes(self.array(offset)?)).map_err(|_| MALFORMED)
    }

    fn longest(self, offset: usize) -> Result<usize, &'static str> {
        usize::try_from(u64::from_le_bytes(self.array(offset)?)).map_err(|_| MALFORMED)
    }

    fn marked(self, offset: usize, mark: [u8; 4]) -> bool {
        self.array(offset) == Ok(mark)
    }
}

/// Returns how many entries a zip has and where its directory begins.
fn zip_directory(numbers: Numbers<'_>) -> Result<(usize, usize), &'static str> {
    // The end record has a comment of unknown length behind it.
    let end = numbers
        .0
        .windows(ZIP_END.len())
        .rposition(|window| window == ZIP_END)
        .ok_or(MALFORMED)?;
    let locator = end
        .checked_sub(ZIP64_LOCATOR_LENGTH)
        .filter(|locator| numbers.marked(*locator, ZIP64_LOCATOR));
    if let Some(locator) = locator {
        let end = numbers.longest(locator + 8)?;
        if !numbers.marked(end, ZIP64_END) {
            return Err(MALFORMED);
        }
        return Ok((
            numbers.longest(end.saturating_add(32))?,
            numbers.longest(end.saturating_add(48))?,
        ));
    }
    Ok((numbers.short(end + 10)?, numbers.long(end + 16)?))
}

/// An entry of a zip's directory, without its name.
struct ZipEntry {
    method: usize,
    checksum: usize,
    packed_size: usize,
    size: usize,
    start: usize,
}

impl ZipEntry {
    /// Reads the entry at `offset`, whose extra fields are `extra`.
    fn read(numbers: Numbers<'_>, offset: usize, extra: &[u8]) -> Result<Self, &'static str> {
        let mut entry = Self {
            method: numbers.short(offset + 10)?,
            checksum: numbers.long(offset + 16)?,
            packed_size: numbers.long(offset + 20)?,
            size: numbers.long(offset + 24)?,
            start: numbers.long(offset + 42)?,
        };
        let fields = Numbers(extra);
        let mut at = 0;
        while at + 4 <= extra.len() {
            let (id, length) = (fields.short(at)?, fields.short(at + 2)?);
            if id == ZIP64_EXTRA {
                let mut from = at + 4;
                // Only what does not fit is there, in this order.
                for value in [&mut entry.size, &mut entry.packed_size, &mut entry.start] {
                    if *value == ZIP64_SIZE {
                        *value = fields.longest(from)?;
                        from += 8;
                    }
                }
            }
            at += 4 + length;
        }
        Ok(entry)
    }

    /// Unpacks the entry's file.
    fn content(&self, packed: &Bytes) -> Result<Bytes, &'static str> {
        let numbers = Numbers(packed);
        // The entry's own header repeats the name, and may have other extra fields.
        let headers = self.start.checked_add(30).ok_or(MALFORMED)?;
        let (name, extra) = (numbers.short(headers - 4)?, numbers.short(headers - 2)?);
        let start = headers.checked_add(name + extra).ok_or(MALFORMED)?;
        let end = start.checked_add(self.packed_size).ok_or(MALFORMED)?;
        let data = packed.get(start..end).ok_or(MALFORMED)?;
        let content = match self.method {
            0 => packed.slice(start..end),
            8 => {
                let mut content = Vec::new();
                // One byte more than promised is enough to notice that the promise was false.
                let limit = (self.size as u64).saturating_add(1);
                flate2::read::DeflateDecoder::new(data)
                    .take(limit)
                    .read_to_end(&mut content)
                    .map_err(|_| MALFORMED)?;
                content.into()
            }
            _ => return Err("an entry of the zip is compressed in an unknown way"),
        };
        if content.len() != self.size || crc32fast::hash(&content) as usize != self.checksum {
            return Err("an entry of the zip is damaged");
        }
        Ok(content)
    }
}

fn zip(packed: &Bytes) -> Files {
    let numbers = Numbers(packed);
    let (count, mut offset) = zip_directory(numbers)?;
    let mut files = Vec::new();
    let mut unpacked = 0_u64;
    for _ in 0..count {
        if !numbers.marked(offset, ZIP_ENTRY) {
            return Err(MALFORMED);
        }
        let length = |at: usize| numbers.short(offset + at);
        let (name_length, extra_length, comment_length) = (length(28)?, length(30)?, length(32)?);
        let extra_start = offset + 46 + name_length;
        let name = packed.get(offset + 46..extra_start).ok_or(MALFORMED)?;
        let name = String::from_utf8_lossy(name).into_owned();
        let extra = packed
            .get(extra_start..extra_start + extra_length)
            .ok_or(MALFORMED)?;
        let entry = ZipEntry::read(numbers, offset, extra)?;
        offset = extra_start + extra_length + comment_length;
        if name.ends_with('/') {
            continue;
        }
        unpacked = unpacked.saturating_add(entry.size as u64);
        if unpacked > MAX_UNPACKED_SIZE {
            return Err(TOO_LARGE);
        }
        files.push((name, entry.content(packed)?));
    }
    Ok(files)
}
