//! Packs: files with many objects, of which most are differences to others, and their indexes.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt as _,
};

use super::{
    delta,
    id::{self, ObjectId},
    inflate::{MAX_COMMIT_SIZE, inflate},
};

/// What an index of version 2 begins with.
const INDEX_HEADER: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
/// What a pack of version 2 begins with.
const PACK_HEADER: [u8; 8] = *b"PACK\0\0\0\x02";
/// How many ids begin with a byte or a lower one: a number for each byte.
const FANOUT_COUNT: usize = 256;
/// Where the ids of an index begin.
const IDS_START: usize = INDEX_HEADER.len() + 4 * FANOUT_COUNT;
/// The size of what an index has for each object beside its id: a checksum, and a place.
const NUMBER_SIZE: u64 = 4;
/// The bit of a place whose rest is the number of a long one.
const IS_LONG: u32 = 1 << 31;
/// The size of the longest header of an entry, in bytes: ten of the size, and an id.
const MAX_ENTRY_HEADER_SIZE: usize = 10 + id::LENGTH;
/// How many differences lead to a commit.
const MAX_DELTA_DEPTH: usize = 4096;
/// How much data all differences of a commit have, and all that they make, in bytes.
const MAX_TOTAL_SIZE: usize = 8 << 20;

/// The index of a pack.
pub(super) struct Index {
    file: File,
    /// For each byte, how many ids begin with it or a lower one.
    fanout: Vec<u32>,
}

impl Index {
    /// Reads the beginning of an index.
    pub(super) fn read(file: File) -> Option<Self> {
        let mut start = [0; IDS_START];
        file.read_exact_at(&mut start, 0).ok()?;
        let fanout = start.strip_prefix(&INDEX_HEADER)?.chunks_exact(4);
        let fanout = fanout.filter_map(|bytes| bytes.try_into().ok().map(u32::from_be_bytes));
        Some(Self {
            fanout: fanout.collect(),
            file,
        })
    }

    /// Returns where the pack has an object.
    pub(super) fn place(&self, id: &ObjectId) -> Option<u64> {
        let first = usize::from(id.0[0]);
        let mut low = match first.checked_sub(1) {
            Some(before) => *self.fanout.get(before)?,
            None => 0,
        };
        let mut high = *self.fanout.get(first)?;
        while low < high {
            let middle = low + (high - low) / 2;
            let mut found = [0; id::LENGTH];
            let at = IDS_START as u64 + id::LENGTH as u64 * u64::from(middle);
            self.file.read_exact_at(&mut found, at).ok()?;
            match found.cmp(&id.0) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.place_at(middle),
            }
        }
        None
    }

    /// Returns the place of the object with this number.
    fn place_at(&self, number: u32) -> Option<u64> {
        let count = u64::from(*self.fanout.last()?);
        let places = IDS_START as u64 + (id::LENGTH as u64 + NUMBER_SIZE) * count;
        let mut place = [0; 4];
        let at = places + NUMBER_SIZE * u64::from(number);
        self.file.read_exact_at(&mut place, at).ok()?;
        let place = u32::from_be_bytes(place);
        if place & IS_LONG == 0 {
            return Some(u64::from(place));
        }
        let mut long = [0; 8];
        let at = places + NUMBER_SIZE * count + 8 * u64::from(place & !IS_LONG);
        self.file.read_exact_at(&mut long, at).ok()?;
        Some(u64::from_be_bytes(long))
    }
}

/// What an entry of a pack is.
enum Kind {
    Commit,
    /// A difference to the entry at this place.
    DeltaToPlace(u64),
    DeltaTo(ObjectId),
}

/// An entry of a pack.
struct Entry {
    kind: Kind,
    /// The size of its data without compression.
    size: usize,
    /// Where its data begin.
    data: u64,
}

impl Entry {
    /// Reads the header of the entry at a place; `None` for objects that are neither commits nor differences.
    fn read(pack: &File, place: u64) -> Option<Self> {
        let mut buffer = [0; MAX_ENTRY_HEADER_SIZE];
        let length = pack.read_at(&mut buffer, place).ok()?;
        let header = buffer.get(..length)?;
        let mut bytes = header.iter().copied();
        let first = bytes.next()?;
        let size = size(first, &mut bytes)?;
        let kind = match first >> 4 & 0b111 {
            1 => Kind::Commit,
            6 => Kind::DeltaToPlace(place.checked_sub(distance(&mut bytes)?)?),
            7 => {
                let mut id = [0; id::LENGTH];
                for byte in &mut id {
                    *byte = bytes.next()?;
                }
                Kind::DeltaTo(ObjectId(id))
            }
            _ => return None,
        };
        let read = header.len() - bytes.len();
        Some(Self {
            kind,
            size,
            data: place.checked_add(read as u64)?,
        })
    }
}

/// Reads the size of an entry: four bits of the first byte, then seven of each further one, the lowest ones first.
fn size(first: u8, bytes: &mut impl Iterator<Item = u8>) -> Option<usize> {
    let mut size = u64::from(first & 0b1111);
    let (mut byte, mut shift) = (first, 4);
    while byte & 0x80 != 0 {
        byte = bytes.next()?;
        if shift > u64::BITS - 7 {
            return None;
        }
        size |= u64::from(byte & 0x7f) << shift;
        shift += 7;
    }
    usize::try_from(size).ok().filter(|size| *size <= MAX_COMMIT_SIZE)
}

/// Reads how far the base of a difference is before it: seven bits of each byte, the highest ones first.
fn distance(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut byte = bytes.next()?;
    let mut distance = u64::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = bytes.next()?;
        distance = distance.checked_add(1)?.checked_mul(1 << 7)? | u64::from(byte & 0x7f);
    }
    (distance > 0).then_some(distance)
}

/// Reads a file from a place on.
struct Tail<'a> {
    file: &'a File,
    place: u64,
}

impl Read for Tail<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.place)?;
        self.place = self.place.saturating_add(count as u64);
        Ok(count)
    }
}

/// Reads the commit at a place of a pack.
pub(super) fn commit(pack: &File, index: &Index, place: u64) -> Option<Vec<u8>> {
    let mut header = PACK_HEADER;
    pack.read_exact_at(&mut header, 0).ok()?;
    if header != PACK_HEADER {
        return None;
    }
    let mut place = place;
    let mut remaining = MAX_TOTAL_SIZE;
    let mut deltas = Vec::new();
    for _ in 0..=MAX_DELTA_DEPTH {
        let entry = Entry::read(pack, place)?;
        remaining = remaining.checked_sub(entry.size)?;
        let source = Tail {
            file: pack,
            place: entry.data,
        };
        let data = inflate(source, entry.size).filter(|data| data.len() == entry.size)?;
        place = match entry.kind {
            Kind::Commit => return applied(data, deltas, remaining),
            Kind::DeltaToPlace(place) => place,
            Kind::DeltaTo(id) => index.place(&id)?,
        };
        deltas.push(data);
    }
    None
}

/// Applies differences to a base, the last one first.
fn applied(base: Vec<u8>, deltas: Vec<Vec<u8>>, remaining: usize) -> Option<Vec<u8>> {
    let mut remaining = remaining;
    deltas.into_iter().rev().try_fold(base, |base, delta| {
        let object = delta::apply(&base, &delta)?;
        remaining = remaining.checked_sub(object.len())?;
        Some(object)
    })
}
