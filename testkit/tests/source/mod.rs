//! Sources of the repository: files, and the modules that they declare.

use std::{
    fs,
    path::{Path, PathBuf},
};

use syn::Attribute;

/// Returns the root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Parses a file of Rust.
pub(crate) fn parse(file: &Path) -> syn::File {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns the folder of the modules that a file declares.
pub(crate) fn folder_of(file: &Path) -> PathBuf {
    let mut folder = file.with_extension("");
    if folder.ends_with("mod") || folder.ends_with("lib") {
        folder.pop();
    }
    folder
}

/// Returns the file of a module below a folder.
pub(crate) fn file_of(folder: &Path, module: &str) -> PathBuf {
    let file = folder.join(format!("{module}.rs"));
    match file.exists() {
        true => file,
        false => folder.join(module).join("mod.rs"),
    }
}

/// Returns whether an item exists in tests alone.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        is_cfg
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|flag| flag == "test")
    })
}
