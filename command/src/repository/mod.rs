//! The Git repository of a folder: the commit that is checked out, its persons and its title, and the remote `origin`.
//!
//! Files are read in this process; no other one is started, and nothing is written. What cannot be read, is malformed or
//! exceeds a limit is absent: no function returns an error. The submodules are layers: each uses only those above it.

mod discover;
mod id;
mod reference;
mod inflate;
mod delta;
mod pack;
mod object;
mod commit;
mod config;
mod ssh;
mod remote;
#[cfg(test)]
mod made;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::bounded;
use discover::Place;
use id::ObjectId;

pub(crate) use commit::Commit;
pub(crate) use reference::Head;
pub(crate) use remote::Hosted;

/// The size of the largest configuration that is read, in bytes.
const MAX_CONFIG_SIZE: u64 = 1 << 20;

/// The path of the top folder.
const TOP: &str = ".";

/// The repository that a folder belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Repository(Place);

impl Repository {
    /// Finds the repository of a folder, in the folder itself or above it.
    pub(crate) fn above(folder: &Path) -> Option<Self> {
        Place::above(folder).map(Self)
    }

    /// Returns the commit that is checked out; `None` before the first one.
    pub(crate) fn head(&self) -> Option<Head> {
        reference::head(&self.0)
    }

    /// Reads a commit. Those of repositories with SHA-256 are not read.
    pub(crate) fn commit(&self, head: &Head) -> Option<Commit> {
        let id = ObjectId::parse(&head.id)?;
        object::commit(&self.0.common.join("objects"), &id).map(|bytes| Commit::parse(&bytes))
    }

    /// Returns the URL of the remote `origin`, with what the configuration replaces in it. It can contain a password.
    pub(crate) fn origin(&self) -> Option<String> {
        let config = bounded::read(&self.0.common.join("config"), MAX_CONFIG_SIZE)?;
        config::origin(&String::from_utf8_lossy(&config))
    }

    /// Returns the path of a folder within the repository: `.` for the top folder, and `None` for a folder elsewhere.
    pub(crate) fn path_of(&self, folder: &Path) -> Option<String> {
        let path = folder.strip_prefix(&self.0.root).ok()?;
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        Some(match parts.is_empty() {
            true => TOP.to_owned(),
            false => parts.join("/"),
        })
    }
}
