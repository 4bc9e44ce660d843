//! The core has no randomness of its own: simulations with equal seeds must be equal.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Adds the files below a folder.
fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => gather(&path, files),
            false => files.push(path),
        }
    }
}

/// Returns the sources of the core, without its tests.
fn sources() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src");
    let mut files = Vec::new();
    gather(&folder, &mut files);
    let found: Vec<_> = files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .filter(|path| !path.to_string_lossy().contains("tests"))
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect();
    assert!(found.len() > 300, "{} files", found.len());
    found
}

#[test]
fn every_select_of_the_core_has_a_fixed_order() {
    for (path, text) in sources() {
        for (_, body) in text
            .match_indices("select! {")
            .map(|(at, begin)| text.split_at(at + begin.len()))
        {
            assert!(
                body.trim_start().starts_with("biased;"),
                "{}: a select without `biased`: {}",
                path.display(),
                body.lines().take(3).collect::<String>()
            );
        }
    }
}

#[test]
fn no_map_of_the_core_has_a_random_seed() {
    for (path, text) in sources() {
        let imports = text
            .split("\nuse ")
            .skip(1)
            .filter_map(|rest| rest.split(';').next());
        for import in imports.filter(|import| import.starts_with("std::")) {
            let names = import.split(|letter: char| !letter.is_alphanumeric());
            let seeded = names
                .filter(|name| ["HashMap", "HashSet", "RandomState"].contains(name))
                .count();
            assert_eq!(
                seeded,
                0,
                "{}: {import}; FxHashMap and BTreeMap have no seed",
                path.display()
            );
        }
        for seeded in [
            "std::collections::HashMap",
            "std::collections::HashSet",
            "collections::hash_map::RandomState",
        ] {
            assert!(!text.contains(seeded), "{}: {seeded}", path.display());
        }
    }
}
