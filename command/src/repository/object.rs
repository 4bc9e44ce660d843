//! Where objects are: in files of their own, in packs, and in the folders of other repositories.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::{
    id::ObjectId,
    inflate::{MAX_COMMIT_SIZE, inflate},
    pack::{self, Index},
};
use crate::bounded;

/// What the file of a commit begins with, before the size.
const COMMIT: &str = "commit ";
/// The size of the longest header of an object, in bytes.
const MAX_HEADER_SIZE: usize = 32;
/// How many folders of objects are looked at.
const MAX_FOLDERS: usize = 8;
/// How many packs of a folder are looked at.
const MAX_PACKS: usize = 1024;
/// How many packs of a folder are read that have the commit.
const MAX_COPIES: usize = 2;
/// The size of the largest list of other folders that is read, in bytes.
const MAX_ALTERNATES_SIZE: u64 = 64 << 10;

/// Reads a commit from a folder of objects, or from one that it refers to.
pub(super) fn commit(folder: &Path, id: &ObjectId) -> Option<Vec<u8>> {
    let mut folders = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(folder) = folders.get(next).cloned() {
        if let Some(commit) = loose(&folder, id).or_else(|| packed(&folder, id)) {
            return Some(commit);
        }
        for other in alternates(&folder) {
            if folders.len() < MAX_FOLDERS && !folders.contains(&other) {
                folders.push(other);
            }
        }
        next += 1;
    }
    None
}

/// Reads a commit that has a file of its own.
fn loose(folder: &Path, id: &ObjectId) -> Option<Vec<u8>> {
    let file = bounded::open(&folder.join(id.loose_path()))?;
    let mut object = inflate(file, MAX_HEADER_SIZE + MAX_COMMIT_SIZE)?;
    let end = object.iter().take(MAX_HEADER_SIZE).position(|byte| *byte == 0)?;
    let commit = object.split_off(end + 1);
    let header = str::from_utf8(object.get(..end)?).ok()?;
    let size: usize = header.strip_prefix(COMMIT)?.parse().ok()?;
    (commit.len() == size && size <= MAX_COMMIT_SIZE).then_some(commit)
}

/// Reads a commit that is in one of the packs.
fn packed(folder: &Path, id: &ObjectId) -> Option<Vec<u8>> {
    let names = fs::read_dir(folder.join("pack")).ok()?.flatten();
    let indexes = names.map(|name| name.path());
    let indexes = indexes.filter(|path| path.extension() == Some(OsStr::new("idx")));
    let copies = indexes.take(MAX_PACKS).filter_map(|path| {
        let index = Index::read(bounded::open(&path)?)?;
        let place = index.place(id)?;
        Some((path.with_extension("pack"), index, place))
    });
    copies.take(MAX_COPIES).find_map(|(path, index, place)| {
        let pack = bounded::open(&path)?;
        pack::commit(&pack, &index, place)
    })
}

/// Returns the folders with further objects.
fn alternates(folder: &Path) -> Vec<PathBuf> {
    let list = bounded::read(&folder.join("info/alternates"), MAX_ALTERNATES_SIZE);
    let list = list.unwrap_or_default();
    let lines = list.split(|byte| *byte == b'\n');
    let paths = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    paths.map(|line| folder.join(OsStr::from_bytes(line))).collect()
}
