//! Where a repository is: a folder `.git`, or a file of this name that leads to one.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use crate::bounded;

/// The name of the folder, or of the file that leads to it.
const GIT: &str = ".git";
/// What a file `.git` begins with.
const LINK: &[u8] = b"gitdir:";
/// The size of the largest file with a path that is read, in bytes.
const MAX_PATH_FILE_SIZE: u64 = 16 << 10;

/// The folders of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The top folder of the files that are checked out.
    pub(super) root: PathBuf,
    /// The folder with `HEAD`.
    pub(super) own: PathBuf,
    /// The folder with objects, references and configuration: another one only for a further work tree.
    pub(super) common: PathBuf,
}

impl Place {
    /// Looks for a repository in a folder and those above it.
    pub(super) fn above(folder: &Path) -> Option<Self> {
        folder.ancestors().find_map(Self::at)
    }

    /// Returns the repository with this top folder.
    fn at(root: &Path) -> Option<Self> {
        let entry = root.join(GIT);
        let own = match fs::metadata(&entry).ok()?.is_dir() {
            true => entry,
            false => root.join(path(
                bounded::read(&entry, MAX_PATH_FILE_SIZE)?.strip_prefix(LINK)?,
            )?),
        };
        // It can be a link to a branch that has no commit yet.
        fs::symlink_metadata(own.join("HEAD")).ok()?;
        let common = bounded::read(&own.join("commondir"), MAX_PATH_FILE_SIZE);
        let common = common.and_then(|text| path(&text).map(|path| own.join(path)));
        Some(Self {
            root: root.to_owned(),
            common: common.unwrap_or_else(|| own.clone()),
            own,
        })
    }
}

/// Returns the path that is the content of a file.
fn path(text: &[u8]) -> Option<&Path> {
    let text = text.trim_ascii_start();
    let end = text.iter().rposition(|byte| !b"\r\n".contains(byte))?;
    text.get(..=end).map(|text| Path::new(OsStr::from_bytes(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_ends_before_the_newline() {
        assert_eq!(path(b" ../a b \n"), Some(Path::new("../a b ")));
        assert_eq!(path(b"a\r\n"), Some(Path::new("a")));
        assert_eq!(path(b"a"), Some(Path::new("a")));
        assert_eq!(path(b" \n"), None);
    }

    #[test]
    fn a_work_tree_has_a_folder_of_its_own_and_shares_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("main/.git/worktrees/side")).unwrap();
        fs::create_dir_all(at("side/deep/deeper")).unwrap();
        fs::write(at("side/.git"), "gitdir: ../main/.git/worktrees/side\n").unwrap();
        fs::write(at("main/.git/worktrees/side/HEAD"), "").unwrap();
        fs::write(at("main/.git/worktrees/side/commondir"), "../..\n").unwrap();
        let place = Place::above(&at("side/deep/deeper")).unwrap();
        assert_eq!(place.root, at("side"));
        assert_eq!(place.own, at("side/../main/.git/worktrees/side"));
        assert_eq!(place.common, place.own.join("../.."));
    }

    #[test]
    fn what_has_no_head_is_no_repository() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("outer/.git")).unwrap();
        fs::write(at("outer/.git/HEAD"), "").unwrap();
        fs::create_dir_all(at("outer/inner/.git")).unwrap();
        assert_eq!(Place::above(&at("outer/inner")).unwrap().root, at("outer"));
        fs::create_dir_all(at("outer/file")).unwrap();
        fs::write(at("outer/file/.git"), "gitdir: \n").unwrap();
        assert_eq!(Place::above(&at("outer/file")).unwrap().root, at("outer"));
    }
}
