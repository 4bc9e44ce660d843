//! The files below a store's folder, compared before and after an operation.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
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
