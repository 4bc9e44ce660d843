//! The files below a store's folder, compared before and after an operation, and searched while it runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// The contents of all files below a folder, by relative path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<PathBuf, Vec<u8>>);

impl Files {
    /// Reads all files below `folder`; what cannot be read is left out.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        let mut files = BTreeMap::new();
        gather(folder, folder, &mut files);
        Self(files)
    }

    /// Returns the paths of files that are new, changed or gone in `later`.
    #[must_use]
    pub fn changed(&self, later: &Self) -> Vec<String> {
        let names = self.0.keys().chain(later.0.keys());
        let changed = names.filter(|name| self.0.get(*name) != later.0.get(*name));
        let mut changed: Vec<_> = changed.map(|name| name.display().to_string()).collect();
        changed.sort();
        changed.dedup();
        changed
    }

    /// Returns the paths of files that contain one of `texts`.
    #[must_use]
    pub fn holding(&self, texts: &[String]) -> Vec<String> {
        let holds = |content: &[u8]| {
            let content = String::from_utf8_lossy(content);
            texts.iter().any(|text| content.contains(text.as_str()))
        };
        let files = self.0.iter().filter(|(_, content)| holds(content));
        files.map(|(name, _)| name.display().to_string()).collect()
    }

    /// Returns the paths that contain `part`.
    #[must_use]
    pub fn containing(&self, part: &str) -> Vec<String> {
        let names = self.0.keys().map(|name| name.display().to_string());
        names.filter(|name| name.contains(part)).collect()
    }
}

/// Searches the files below a folder for texts, whenever it is asked to, and keeps what it has found.
#[derive(Debug)]
pub struct FileSearch {
    folder: PathBuf,
    texts: Vec<String>,
    found: Mutex<BTreeSet<String>>,
}

impl FileSearch {
    /// Creates a search that has found nothing.
    #[must_use]
    pub fn new(folder: &Path, texts: Vec<String>) -> Self {
        Self {
            folder: folder.to_owned(),
            texts,
            found: Mutex::default(),
        }
    }

    /// Searches all files as they are now.
    pub fn look(&self) {
        if !self.texts.is_empty() {
            let holding = Files::of(&self.folder).holding(&self.texts);
            self.found
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(holding);
        }
    }

    /// Returns the paths of the files that contained one of the texts.
    #[must_use]
    pub fn found(&self) -> Vec<String> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.iter().cloned().collect()
    }
}

fn gather(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(root, &path, files);
        } else if let (Ok(content), Ok(name)) = (fs::read(&path), path.strip_prefix(root)) {
            files.insert(name.to_owned(), content);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_keeps_what_was_in_files_that_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let search = FileSearch::new(folder.path(), vec!["hidden".to_owned()]);
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(folder.path().join("deep/a"), "all is hidden here").unwrap();
        fs::write(folder.path().join("b"), "nothing").unwrap();
        search.look();
        fs::remove_file(folder.path().join("deep/a")).unwrap();
        search.look();
        assert_eq!(search.found(), ["deep/a"]);
    }
}
