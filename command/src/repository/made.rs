//! Repositories that tests write, without Git.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::ZlibEncoder};
use sha1::{Digest as _, Sha1};

use super::{Repository, id::ObjectId};

/// The text of a commit with this message.
pub(super) fn commit_text(message: &str) -> String {
    format!(
        "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor Ada <ada@example.com> 1 +0000\n\
         committer Bob <bob@example.com> 2 +0100\n\n{message}\n"
    )
}

/// A repository in a temporary folder.
pub(super) struct Made(tempfile::TempDir);

/// An object of a pack.
pub(super) enum Packed {
    Whole(String),
    /// A difference to the object before it, by its place.
    ByPlace(String),
    /// A difference to the object before it, by its id.
    ById(String),
}

impl Packed {
    fn text(&self) -> &str {
        let (Self::Whole(text) | Self::ByPlace(text) | Self::ById(text)) = self;
        text
    }
}

impl Made {
    /// Writes a repository without commits, whose branch is `main`.
    pub(super) fn new() -> Self {
        let made = Self(tempfile::tempdir().unwrap());
        made.write(".git/HEAD", "ref: refs/heads/main\n");
        made
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes a commit into a file of its own below a folder of objects, and returns its id.
    pub(super) fn loose(&self, objects: &str, text: &str) -> String {
        let (id, object) = object(text);
        self.write(&format!("{objects}/{}", id.loose_path()), deflated(&object));
        digits(&id)
    }

    /// Writes a pack, and returns the ids of its objects.
    pub(super) fn pack(&self, name: &str, objects: &[Packed], is_long: bool) -> Vec<String> {
        let mut pack = b"PACK\0\0\0\x02".to_vec();
        pack.extend(u32::try_from(objects.len()).unwrap().to_be_bytes());
        let mut places: Vec<(ObjectId, usize)> = Vec::new();
        for (number, entry) in objects.iter().enumerate() {
            let place = pack.len();
            let text = entry.text();
            let before = || {
                let (id, place) = places[number - 1];
                (id, place, objects[number - 1].text())
            };
            let (kind, base, data) = match entry {
                Packed::Whole(_) => (1, Vec::new(), text.as_bytes().to_vec()),
                Packed::ByPlace(_) => {
                    let (_, base, base_text) = before();
                    (6, distance(place - base), difference(base_text, text))
                }
                Packed::ById(_) => {
                    let (id, _, base_text) = before();
                    (7, id.0.to_vec(), difference(base_text, text))
                }
            };
            pack.extend(header(kind, data.len()));
            pack.extend(base);
            pack.extend(deflated(&data));
            places.push((object(text).0, place));
        }
        let folder = ".git/objects/pack";
        self.write(&format!("{folder}/{name}.idx"), index(&places, is_long));
        self.write(&format!("{folder}/{name}.pack"), pack);
        places.iter().map(|(id, _)| digits(id)).collect()
    }

    /// Reads the repository of a folder.
    pub(super) fn repository(&self, folder: &str) -> Repository {
        Repository::above(&self.path(folder)).unwrap()
    }

    /// Returns the title of the commit that is checked out.
    pub(super) fn title(&self) -> Option<String> {
        let repository = self.repository("");
        let head = repository.head()?;
        repository.commit(&head).map(|commit| commit.title)
    }

    pub(super) fn folder(&self) -> &Path {
        self.0.path()
    }
}

/// Returns the id of a commit, and the object with its header.
fn object(text: &str) -> (ObjectId, Vec<u8>) {
    let object = format!("commit {}\0{text}", text.len()).into_bytes();
    (ObjectId(Sha1::digest(&object).into()), object)
}

pub(super) fn digits(id: &ObjectId) -> String {
    id.loose_path().replace('/', "")
}

pub(super) fn deflated(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Returns the header of an entry.
pub(super) fn header(kind: u8, size: usize) -> Vec<u8> {
    let mut rest = size >> 4;
    let mut header = vec![kind << 4 | (size & 0b1111) as u8];
    while rest > 0 {
        *header.last_mut().unwrap() |= 0x80;
        header.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    header
}

/// Returns the form of a distance to a base.
fn distance(distance: usize) -> Vec<u8> {
    let mut bytes = vec![(distance & 0x7f) as u8];
    let mut rest = distance >> 7;
    while rest > 0 {
        rest -= 1;
        bytes.insert(0, 0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    bytes
}

/// Returns the form of a size in a difference.
fn size(size: usize) -> Vec<u8> {
    let mut rest = size;
    let mut bytes = Vec::new();
    while rest > 0x7f {
        bytes.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

/// Returns a difference: a copy of what both texts begin with, and the rest.
fn difference(base: &str, text: &str) -> Vec<u8> {
    let same = base.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
    let mut delta = [size(base.len()), size(text.len())].concat();
    delta.extend([0b1011_0000, (same & 0xff) as u8, (same >> 8) as u8]);
    for part in text.as_bytes()[same..].chunks(0x7f) {
        delta.push(part.len() as u8);
        delta.extend(part);
    }
    delta
}

/// Returns the index of a pack. Long places have a table of their own.
fn index(places: &[(ObjectId, usize)], is_long: bool) -> Vec<u8> {
    let mut sorted = places.to_vec();
    sorted.sort_by_key(|(id, _)| id.0);
    let mut index = vec![0xff, b't', b'O', b'c', 0, 0, 0, 2];
    for byte in 0..=255 {
        let count = sorted.iter().filter(|(id, _)| id.0[0] <= byte).count();
        index.extend((count as u32).to_be_bytes());
    }
    index.extend(sorted.iter().flat_map(|(id, _)| id.0));
    index.extend(sorted.iter().flat_map(|_| [0; 4]));
    for (number, (_, place)) in sorted.iter().enumerate() {
        let place = if is_long {
            1 << 31 | number as u32
        } else {
            *place as u32
        };
        index.extend(place.to_be_bytes());
    }
    if is_long {
        index.extend(sorted.iter().flat_map(|(_, place)| (*place as u64).to_be_bytes()));
    }
    index
}
