//! A tar of regular files without metadata, byte for byte as written by the reference engine's library.

use super::entries::Content;
use crate::error::Result;

const BLOCK: usize = 512;
/// The maximum length of a name in the name field.
const NAME: usize = 100;
/// The maximum length of a directory in the prefix field.
const PREFIX: usize = 155;
/// The first size that does not fit eleven octal digits.
const TOO_LARGE: u64 = 1 << 33;

/// Passes the bytes of a tar to a sink as files are added.
pub(super) struct Writer<S>(S);

impl<S: FnMut(&[u8])> Writer<S> {
    pub(super) const fn new(sink: S) -> Self {
        Self(sink)
    }

    /// Adds a file.
    pub(super) fn file(&mut self, name: &str, content: &Content) -> Result<()> {
        let size = content.len();
        self.header(name, size);
        content.write_to(&mut self.0)?;
        self.pad(size);
        Ok(())
    }

    /// Writes the two blocks at the end of a tar.
    pub(super) fn finish(mut self) {
        (self.0)(&[0; 2 * BLOCK]);
    }

    fn header(&mut self, name: &str, size: u64) {
        let (prefix, short) = match split(name) {
            Some(parts) => parts,
            None if name.len() <= NAME && name.is_ascii() => ("", name),
            None => return self.extended(name, size),
        };
        if size >= TOO_LARGE {
            return self.extended(name, size);
        }
        let mut block = full_header(short, size);
        block[345..345 + prefix.len()].copy_from_slice(prefix.as_bytes());
        self.sealed(block);
    }

    /// Writes an extended header for a long name or size, and a plain header with the closest values.
    fn extended(&mut self, name: &str, size: u64) {
        let mut records = String::new();
        if !name.is_ascii() || name.len() > NAME {
            records.push_str(&record("path", name));
        }
        if size >= TOO_LARGE {
            records.push_str(&record("size", &size.to_string()));
        }
        let (directory, base) = name.rsplit_once('/').unwrap_or(("", name));
        let record_name = ascii(&super::entries::join(directory, &format!("PaxHeaders.0/{base}")));
        let cut = record_name[..record_name.len().min(NAME)].trim_end_matches('/');
        let mut block = [0; BLOCK];
        put(&mut block, 0, cut);
        octal(&mut block, 100, 8, 0);
        octal(&mut block, 108, 8, 0);
        octal(&mut block, 116, 8, 0);
        octal(&mut block, 124, 12, records.len() as u64);
        octal(&mut block, 136, 12, 0);
        block[156] = b'x';
        self.sealed(block);
        (self.0)(records.as_bytes());
        self.pad(records.len() as u64);

        let size = if size >= TOO_LARGE { 0 } else { size };
        self.sealed(full_header(&ascii(name), size));
    }

    /// Adds format and checksum, and writes the header.
    fn sealed(&mut self, mut block: [u8; BLOCK]) {
        put(&mut block, 257, "ustar\0");
        put(&mut block, 263, "00");
        put(&mut block, 148, "        ");
        let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
        octal(&mut block, 148, 7, sum);
        (self.0)(&block);
    }

    fn pad(&mut self, size: u64) {
        let over = usize::try_from(size % BLOCK as u64).unwrap_or_default();
        if over > 0 {
            (self.0)(&[0; BLOCK][over..]);
        }
    }
}

/// Creates the header of a regular file, without prefix, format and checksum.
fn full_header(name: &str, size: u64) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let cut = &name[..name.len().min(NAME)];
    // A truncated name that ends in a slash would be a directory.
    put(
        &mut block,
        0,
        if name.len() > NAME {
            cut.trim_end_matches('/')
        } else {
            cut
        },
    );
    octal(&mut block, 100, 8, 0o600);
    octal(&mut block, 108, 8, 0);
    octal(&mut block, 116, 8, 0);
    octal(&mut block, 124, 12, size);
    octal(&mut block, 136, 12, 0);
    block[156] = b'0';
    octal(&mut block, 329, 8, 0);
    octal(&mut block, 337, 8, 0);
    block
}

fn put(block: &mut [u8; BLOCK], offset: usize, text: &str) {
    block[offset..offset + text.len()].copy_from_slice(text.as_bytes());
}

/// Writes a number with leading zeros and a closing NUL.
fn octal(block: &mut [u8; BLOCK], offset: usize, length: usize, value: u64) {
    let digits = format!("{value:0width$o}", width = length - 1);
    put(block, offset, &digits);
    block[offset + length - 1] = 0;
}

fn ascii(text: &str) -> String {
    text.chars()
        .filter(|letter| letter.is_ascii() && *letter != '\0')
        .collect()
}

/// Splits a name that is too long for one field into prefix and rest.
fn split(name: &str) -> Option<(&str, &str)> {
    if name.len() <= NAME || !name.is_ascii() {
        return None;
    }
    let searched = &name[..name.len().min(PREFIX + 1)];
    let searched = if name.len() <= PREFIX + 1 {
        searched.strip_suffix('/').unwrap_or(searched)
    } else {
        searched
    };
    let position = searched.rfind('/').filter(|position| *position > 0)?;
    let rest = &name[position + 1..];
    (!rest.is_empty() && rest.len() <= NAME && position <= PREFIX).then_some((&name[..position], rest))
}

/// Creates a record of an extended header: its own length in decimal, name and value.
fn record(name: &str, value: &str) -> String {
    let content = name.len() + value.len() + 3;
    let mut length = content + content.to_string().len();
    if length.to_string().len() != content.to_string().len() {
        length = content + length.to_string().len();
    }
    format!("{length} {name}={value}\n")
}
