//! Programs of folders: each run is a process of its own, which is gone when the run has ended.

mod folder;
mod node;
mod process;
mod python;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub(crate) use python::folders as python_folders;
use stackwright::program::Program;
use stackwright_project::ProjectFile;

use crate::{
    failure::{Failure, Result},
    invocation::Invocation,
};

/// Returns the program of a project's folder.
///
/// # Errors
/// For a language whose programs are not supported, and one that the project configures in an unknown way.
pub(crate) fn of_folder(
    invocation: &Invocation,
    folder: &Path,
    file: &ProjectFile,
) -> Result<Arc<dyn Program>> {
    match file.runtime.name.as_str() {
        "python" => Ok(Arc::new(python::find(invocation, folder, file)?)),
        "nodejs" => Ok(Arc::new(node::find(invocation, folder, file)?)),
        other => Err(Failure::new(format!(
            "the program in {} cannot run: folders with `runtime: {other}` are not supported, only those with `runtime: python` or \
             `nodejs`, and inline programs",
            folder.display()
        ))),
    }
}

/// Returns the first of the executables that a folder of the search path has.
fn on_path(invocation: &Invocation, names: &[&str]) -> Option<PathBuf> {
    let path = invocation.variable("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .collect();
    let mut candidates = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    candidates.find(|candidate| candidate.is_file())
}
