//! Programs of folders: each run is a process of its own, which is gone when the run has ended.

mod process;
mod python;

use std::{path::Path, sync::Arc};

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
        "python" => Ok(Arc::new(python::PythonFolder::find(invocation, folder, file)?)),
        other => Err(Failure::new(format!(
            "the program in {} cannot run: folders with `runtime: {other}` are not supported, only those with `runtime: python`, and \
             inline programs",
            folder.display()
        ))),
    }
}
